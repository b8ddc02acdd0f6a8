"""Publishing: find a project's new items, check them, and send them to the log as one signed batch.

What cannot be published is left out with the reason, and what needs it as well; the others are published. A batch that was
interrupted goes on where it ended: what is published already is unchanged.

Every check runs before anything is uploaded, so a dry run fails wherever a publish would: the keyset and the user's key,
git, signatures, references, look-alike names, and the acceptance check that the server and every client use
(:mod:`rye.registry.trust.file_acceptance`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.items.reading import ReadOptions
from rye.publishing.release import Publishable, check_signature, dependencies_first, refuse_secrets, release_note
from rye.registry.protocol.statements import Keyset, Release
from rye.registry.transport.api import RegistryApi
from rye.registry.trust.file_acceptance import Refusal, judge_release_file
from rye.signing.keys import PublicKey
from rye.workspace.publishing.batch import Batch, PublishOutcome, PublishRequest, Refusals
from rye.workspace.publishing.checks import (
    check_token,
    refuse_uncommitted,
    require_key,
    require_single_signature,
    warn_of_absent,
    warn_of_lower,
    warn_of_placeholders,
)
from rye.workspace.publishing.choosing import choose, new_versions
from rye.workspace.publishing.naming import references, with_free_names
from rye.workspace.publishing.owner_statements import keyset_in_force, owner_key, statement_time
from rye.workspace.publishing.sending import check_logged, send, stage
from rye.workspace.registries.registry_access import configured, namespace_of, open_api, open_registry
from rye.workspace.registries.trusted_publishing import publishing_token

if TYPE_CHECKING:
    from rye.project.registries import Registries
    from rye.registry.client import RegistryClient
    from rye.workspace.context import Context
    from rye.workspace.trusting.own_keys import OwnKeys


def publish(
    context: Context, keys: OwnKeys, request: PublishRequest, agreed: Callable[[Batch], bool]
) -> PublishOutcome:
    """Publish items as one batch, without those that cannot be. ``agreed`` gets the batch before anything is sent.

    Raises RyeError, among them ``declined`` and ``uncommitted``; if nothing is left to publish, the first item's error, such as
    ``not-signed``, ``version-exists``, ``name-look-alike``.
    """
    owner = namespace_of(context, request.namespace)
    collected = choose(context, request, owner)
    where = configured(context)
    address = where.of(owner)
    token = publishing_token(context, address, demanded=request.trusted)
    with open_registry(context, address, token=None if token is None else (lambda: token), writes=True) as client:
        api = partial(_api, context, client, token)
        keyset = keyset_in_force(context, client, owner)
        refusals = Refusals(collected.refused)
        records = client.releases([item.identity for item in collected.items])
        restore = request.restore and not request.dry_run
        fresh, unchanged, restored = new_versions(client, records, collected.items, refusals, restore=restore)
        if not request.allow_uncommitted:
            refuse_uncommitted(fresh)
        fresh = with_free_names(context, client, api, fresh, refusals)
        batch = _batch(context, keys, where, client, keyset, fresh, unchanged, refusals)
        batch = replace(batch, restored=restored, registry=address)
        if not batch.releases and not unchanged:
            refusals.end(context)
        warn_of_placeholders(context, batch.items)
        warn_of_absent(context, batch.items)
        warn_of_lower(context, records, batch.items)
        if batch.releases:
            if not request.stage:
                require_single_signature(keyset)
                require_key(keys, keyset, request.key, api)
            check_token(api(), owner, stage=request.stage)
        if not agreed(batch):
            raise RyeError("declined", "Nothing was published.")
        if request.dry_run or not batch.releases:
            return PublishOutcome(batch, None)
        if request.stage:
            return PublishOutcome(batch, None, stage(context, api(), batch))
        signing_key = owner_key(keys, keyset, request.key)
        batch, positions = send(context, api(), batch, signing_key)
        check_logged(client, batch.releases)
    return PublishOutcome(batch, positions)


def _batch(
    context: Context,
    keys: OwnKeys,
    where: Registries,
    client: RegistryClient,
    keyset: Keyset,
    fresh: Sequence[Publishable],
    unchanged: Sequence[Publishable],
    refusals: Refusals,
) -> Batch:
    owners = keyset.accepted_keys()
    own = {stored.public: stored.name for stored in keys.list()}
    now = statement_time(context)
    checked: set[Identity] = set()
    with context.progress("checking", len(fresh)) as advance:
        while True:  # until what is left needs nothing that was left out
            resolve = references(context, where, client, fresh)
            notes_by_identity: dict[Identity, Release] = {}
            left: list[Publishable] = []
            for item in fresh:
                with refusals.of(item, left):
                    if item.identity not in checked:
                        check_signature(item, owners, own)
                    note = release_note(item, client.origin, keyset.number, now, resolve)
                    if item.identity not in checked:
                        _judge(note, item, owners)
                        refuse_secrets(item)
                        checked.add(item.identity)
                        advance()
                    notes_by_identity[item.identity] = note
            if len(left) == len(fresh):
                break
            fresh = left
    releases = dependencies_first(list(notes_by_identity.values()))
    by_identity = {item.identity: item for item in fresh}
    items = tuple(by_identity[release.identity] for release in releases)
    return Batch(
        origin=client.origin,
        releases=tuple(releases),
        items=items,
        alarms=tuple(item.alarms for item in items),
        unchanged=tuple(unchanged),
        refused=tuple(refusals.refused),
    )


def _judge(release: Release, item: Publishable, owners: Sequence[PublicKey]) -> None:
    """Refuse, before the upload, what the server and every client would refuse. Raises RyeError ``invalid-item``."""
    found = judge_release_file(release, item.data, owners, ReadOptions(publishing=True))
    if isinstance(found, Refusal):
        reason = found.reason.rstrip(".")
        hint = found.finding.hint if found.finding is not None else None
        raise RyeError(
            "invalid-item", f"{item.shown} cannot be published: {reason}.", hint or f"Run `rye validate {item.shown}`."
        )


def _api(context: Context, client: RegistryClient, token: str | None) -> RegistryApi:
    """The API with the build server's token, if there is one; otherwise with the user's."""
    return open_api(context, client) if token is None else RegistryApi(client.address, client.api, token)
