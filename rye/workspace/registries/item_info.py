"""Everything that a registry says about a published item."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.installation.install import mentions
from rye.items.agent_tools import AgentTools
from rye.items.consented import Run
from rye.items.identity import Identity
from rye.items.signed_release import Mention
from rye.registry.client import RegistryClient
from rye.registry.trust.keysets import Link
from rye.registry.trust.records import ItemHistory, ReleaseRecord, latest_release
from rye.resolution.ranges import Range
from rye.resolution.versions import comparable
from rye.verified.release import item_runs, judge_files
from rye.workspace.registries.published_items import published, registry_of
from rye.workspace.registries.registry_access import open_registry

if TYPE_CHECKING:
    from rye.workspace.context import Context


class ItemInfo(Struct, frozen=True):
    """A published item: its history, one release, and that release's content."""

    identity: Identity
    origin: str
    """The registry's origin."""
    history: ItemHistory
    record: ReleaseRecord
    """The requested release, or the latest."""
    pending: Link | None
    """A recovery of the namespace that has not taken effect."""
    content: ItemContent | None
    """None: the release cannot be fetched, or its file is invalid."""


class ItemContent(Struct, frozen=True):
    """Facts from the release's bytes that its release note does not contain."""

    agent_tools: AgentTools | None
    runs: tuple[Run, ...]
    mentions: tuple[Mention, ...]


def item_info(context: Context, reference: str) -> ItemInfo:
    """What the registry knows about ``[kind:]id[@range]``. Raises RyeError, among them ``no-such-item``, ``no-such-version``."""
    with open_registry(context, registry_of(context, reference)) as client:
        identity, wanted = published(client, reference)
        history = client.histories([identity])[identity]
        pending = client.keysets([identity.namespace])[identity.namespace].pending(client.head.snapshot.time)
        record = _chosen(history, wanted, str(identity))
        return ItemInfo(identity, client.origin, history, record, pending, _content(client, record))


def _content(client: RegistryClient, record: ReleaseRecord) -> ItemContent | None:
    try:
        (files,) = client.fetch_items([record])
        metadata = judge_files(files)
    except RyeError:
        return None
    found = mentions({record.release.file_name: files.file, **files.attached})
    return ItemContent(metadata.agent_tools, item_runs(files, metadata), found)


def _chosen(history: ItemHistory, wanted: str | None, name: str) -> ReleaseRecord:
    if wanted is None:
        found = latest_release(history) or (history.records[-1] if history.records else None)
    else:
        versions_wanted = Range.parse(wanted)
        known = [(version, r) for r in history.records if (version := comparable(r.version)) is not None]
        matching = [(version, r) for version, r in known if version in versions_wanted]
        found = max(matching, key=lambda entry: entry[0], default=(None, None))[1]
    if found is None:
        versions = ", ".join(record.version for record in history.records[-10:])
        raise RyeError("no-such-version", f"{name} has no version {wanted or ''}.", f"Its versions: {versions}.")
    return found
