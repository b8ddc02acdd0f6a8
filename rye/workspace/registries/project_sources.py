"""The registries that a project's items come from, opened for one run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rye.installation.policy_in_force import policy_in_force
from rye.installation.resolving import Environment
from rye.installation.sources import Sources
from rye.project.manifest import Manifest
from rye.registry.client import RegistryClient
from rye.registry.store.write_behind import WriteBehindCache
from rye.storage.folders import cache_dir
from rye.workspace.context import Context
from rye.workspace.registries.airgap_access import airgap_opener
from rye.workspace.registries.pin_question import pin_question
from rye.workspace.registries.project_registries import project_registries, user_verdicts
from rye.workspace.trusting.given_pins import given_pins

if TYPE_CHECKING:
    from rye.workspace.registries.airgap_access import Airgap


def project_sources(
    context: Context,
    manifest: Manifest,
    root: Path,
    airgap: Airgap | None = None,
    *,
    offline: bool | None = None,
    asks: bool = True,
) -> Sources:
    """The registries that a project asks; a context manager.

    ``airgap``: a file that answers in their place. ``offline``: whether only trusted state and cache answer; None: as the
    context says. ``asks``: whether a person may be asked to pin a registry.
    """
    cache, verdicts = WriteBehindCache.at(cache_dir() / "registry"), user_verdicts()
    if airgap is not None:
        open_one = airgap_opener(context, airgap)
    else:
        pins = given_pins(context)

        def open_one(address: str) -> RegistryClient:
            client = RegistryClient.open(
                address,
                accept_root=pin_question(context, asks=asks),
                offline=context.offline if offline is None else offline,
                cache=cache,
                verdicts=verdicts,
            )
            try:
                if address in pins:
                    pins[address].require(address, client.origin, client.state.fingerprint)
            except BaseException:
                client.close()
                raise
            for warning in client.warnings:
                context.warn(warning)
            return client

    return Sources(project_registries(context, manifest, root), open_one, verdicts, cache.flush)


def judging_environment(context: Context, manifest: Manifest) -> Environment:
    """What releases are judged by, now."""
    return Environment(manifest.provides, policy_in_force(manifest), context.now())
