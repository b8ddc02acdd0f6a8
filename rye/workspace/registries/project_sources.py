"""The registries and sources of a project's items, opened for one run."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rye.installation.environment import Environment, policy_in_force
from rye.installation.sources import Sources
from rye.project.manifest import Manifest
from rye.project.user_config import OtherPolicies, read_other_policies
from rye.registry.client import RegistryClient
from rye.registry.store.cache import WriteBehindCache
from rye.registry.store.state import StateStore
from rye.registry.transport.seam import NoAnswer
from rye.verified.memory import distrusted_keys
from rye.workspace.registries.project_registries import given_pins, pin_question, project_registries, require_contact
from rye.workspace.registries.registry_access import reading_token

if TYPE_CHECKING:
    from rye.project.lock import LockedItem
    from rye.sources.book import SourceBook
    from rye.workspace.context import Context
    from rye.workspace.registries.airgap_access import Airgap

Outages = Literal["fail", "survive", "survive-patiently"]
"""How a run treats a registry that does not answer: fail; continue with the last verified head after a short wait; or
continue with it after the full wait of a failing run."""


def project_sources(
    context: Context,
    manifest: Manifest,
    root: Path,
    airgap: Airgap | None = None,
    *,
    offline: bool | None = None,
    asks: bool = True,
    outages: Outages = "fail",
    contacts: bool = False,
) -> Sources:
    """The registries of a project; a context manager.

    ``airgap``: a file to read instead of the registries. ``offline``: whether to use only trusted state and cache; None: as
    in the context. ``asks``: whether to ask the user to pin a registry. ``outages``: how to treat a registry that does not
    answer; using its last verified head gives one warning. ``contacts``: whether to contact repositories of ``[sources]``
    that this user never agreed to, because the command names them or trusts the lock.
    """
    cache, verdicts = WriteBehindCache.at(context.home.registry_cache), context.home.verdicts()
    if airgap is not None:
        open_one = importlib.import_module(_AIRGAP).airgap_opener(context, airgap)
    else:
        pins = given_pins(context)

        def open_one(address: str) -> RegistryClient:
            if not (offline if offline is not None else context.offline):
                require_contact(context, address, asks=asks)
            client = RegistryClient.open(
                address,
                store=StateStore(context.home.registries),
                accept_root=pin_question(context, asks=asks),
                offline=context.offline if offline is None else offline,
                survives_outages=outages != "fail",
                patient=outages == "survive-patiently",
                cache=cache,
                verdicts=verdicts,
                token=reading_token(context, address),
                distrusted=distrusted_keys(context.home),
            )
            try:
                if address in pins:
                    pins[address].require(address, client.origin, client.state.fingerprint)
            except BaseException:
                client.close()
                raise
            for warning in client.warnings:
                context.warn(warning)
            if client.outage is not None and outages == "survive":  # the patient round is the second one
                _tell_outage(context, client, client.outage)
            return client

    where = project_registries(context, manifest, root)
    book = None
    if manifest.sources:
        cut_off = context.offline if offline is None else offline
        book = _book(context, manifest, root, offline=cut_off, asks=asks, contacts=contacts)
    return Sources(where, open_one, verdicts, cache.flush, book)


def folders_match(context: Context, manifest: Manifest, root: Path, rows: Sequence[LockedItem]) -> bool:
    """Whether the source folders of these rows still match the rows. Nothing is read if no row has one."""
    if all(row.source is None or row.source.path is None for row in rows):
        return True
    matches: bool = importlib.import_module(_BOOK).folders_match(context, manifest.sources, root, rows)
    return matches


_AIRGAP = "rye.workspace.registries.airgap_access"
"""Imported only for a bundle: other runs do not load the archive reader."""
_BOOK = "rye.workspace.registries.source_book"
"""Imported only for a project with sources: other runs do not load the git modules."""


def _book(context: Context, manifest: Manifest, root: Path, *, offline: bool, asks: bool, contacts: bool) -> SourceBook:
    book: SourceBook = importlib.import_module(_BOOK).source_book(
        context, manifest.sources, root, offline=offline, asks=asks, contacts=contacts
    )
    return book


def _tell_outage(context: Context, client: RegistryClient, outage: NoAnswer) -> None:
    hours = (context.now() - client.head.snapshot.time) // timedelta(hours=1)
    age = f"{hours} hours" if hours > 1 else "less than two hours"
    context.warn(f"{outage.message} Using its last verified state, {age} old.")


def judging_environment(context: Context, manifest: Manifest, others: OtherPolicies | None = None) -> Environment:
    """The current basis for checking releases. ``others``: the policies besides the project's, if already read."""
    policy = policy_in_force(manifest, others if others is not None else read_other_policies(context.home))
    return Environment(manifest.provides, policy, context.now())
