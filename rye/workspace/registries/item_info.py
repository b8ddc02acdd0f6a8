"""Everything that a registry says about a published item, and where its web page is.

A locked item of ``[sources]`` was not published, so what is said about it comes from rye.lock and its bytes.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.describing.description import Description, ages_of, describe
from rye.errors import RyeError, UsageError
from rye.installation.completeness import locked_item
from rye.installation.install import mentions
from rye.items.agent_tools import AgentTools
from rye.items.consented import Run
from rye.items.identity import Identity, parse_reference
from rye.items.published import read_published
from rye.items.signed_release import Mention, SignedRelease
from rye.limits import CONTENT
from rye.project.context import load_manifest
from rye.project.layout import Project, find_project, read_project_file
from rye.project.lock import LockedItem
from rye.project.lock_file import item_files, item_path, read_lock
from rye.registry.client import RegistryClient
from rye.registry.protocol.page_paths import item_page_path
from rye.registry.trust.keysets import KeysetChain, Link
from rye.registry.trust.namespace_proofs import NamespaceOwners
from rye.registry.trust.records import ItemHistory, ReleaseRecord, latest_release, signer_history
from rye.resolution.ranges import Range
from rye.resolution.versions import comparable
from rye.verified.release import item_runs, judge_files
from rye.workspace.publishing.ownership import CheckedProof, check_owners
from rye.workspace.registries.pinned_registries import cosigners
from rye.workspace.registries.published_items import published, published_release, registry_of
from rye.workspace.registries.registry_access import open_registry
from rye.workspace.trusting.verified_items import require_verified

if TYPE_CHECKING:
    from rye.workspace.context import Context


_NOT_THE_FILE = ("blob-size", "blob-hash")


class ItemInfo(Struct, frozen=True, kw_only=True):
    """A published item: its history, one release, and that release's content."""

    identity: Identity
    origin: str
    """The registry's origin."""
    history: ItemHistory
    record: ReleaseRecord
    """The requested release, or the latest."""
    pending: Link | None
    """A recovery of the namespace that has not taken effect."""
    owners: NamespaceOwners
    """What the namespace's owners stated about themselves."""
    checks: tuple[CheckedProof, ...] | None
    """What this machine saw at the places of their proofs; None: it was not asked to look."""
    content: ItemContent | None
    """None: the release cannot be fetched, or its file is invalid."""
    cosigned_by: tuple[str, ...] = ()
    """Who cosigned the head that all this was read under, and when, if the user demands witnesses."""

    @property
    def description(self) -> Description | None:
        """What people are told about it; of a release that was taken down, that nobody can tell. None: not to be had now."""
        if self.content is None and self.record.takedown is not None:
            release = self.record.release
            return describe(
                self.identity.kind,
                {release.file_name: None},
                release.file_name,
                capabilities=release.capabilities,
                hooks=len(release.hooks),
            )
        return self.content.description if self.content is not None else None


class ItemContent(Struct, frozen=True):
    """Facts from the release's bytes that its release note does not contain."""

    agent_tools: AgentTools | None
    runs: tuple[Run, ...]
    mentions: tuple[Mention, ...]
    description: Description


def item_info(context: Context, reference: str, *, checks_owner: bool = False) -> ItemInfo:
    """What the registry knows about ``[kind:]id[@range]``. ``checks_owner``: ask the places of the owners' proofs, too.

    Raises RyeError, among them ``no-such-item``, ``no-such-version``, and ``blob-size`` and ``blob-hash`` for a registry or
    mirror whose bytes are not those of the release.
    """
    with open_registry(context, registry_of(context, reference)) as client:
        identity, wanted = published(client, reference)
        history = client.histories([identity])[identity]
        chain = client.keysets([identity.namespace])[identity.namespace]
        pending = chain.pending(client.head.snapshot.time)
        record = _chosen(history, wanted, str(identity))
        owners = client.owners([identity.namespace])[identity.namespace]
        return ItemInfo(
            identity=identity,
            origin=client.origin,
            history=history,
            record=record,
            pending=pending,
            owners=owners,
            checks=check_owners(client, owners) if checks_owner else None,
            content=_content(client, chain, record),
            cosigned_by=() if client.cosigned is None else cosigners(client.cosigned),
        )


def _content(client: RegistryClient, chain: KeysetChain, record: ReleaseRecord) -> ItemContent | None:
    try:
        (files,) = client.fetch_items([record])
        metadata = judge_files(files)
    except RyeError as error:
        if error.code in _NOT_THE_FILE:
            raise
        return None
    bytes_by_path = {record.release.file_name: files.file, **files.attached}
    found, runs = mentions(bytes_by_path), item_runs(files, metadata)
    description = describe(
        record.identity.kind,
        bytes_by_path,
        record.release.file_name,
        capabilities=metadata.capabilities,
        tools=metadata.agent_tools,
        hooks=len(metadata.hooks),
        runs=runs,
        mentions=found,
        licence=metadata.licence,
        ages=ages_of(signer_history(chain, record, client.head.snapshot.time, None)),
    )
    return ItemContent(metadata.agent_tools, runs, found, description)


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


class ItemPage(Struct, frozen=True):
    """An item and the address of its page."""

    identity: Identity
    address: str


def item_page(context: Context, reference: str) -> ItemPage:
    """The page of ``[kind:]id[@version]``, which must be published.

    Raises RyeError ``no-such-item``, ``no-such-version`` and, for a registry that is read from a folder, ``no-page``.
    """
    registry = registry_of(context, reference)
    with open_registry(context, registry) as client:
        identity, version = published(client, reference)
        if version is not None:
            version = published_release(client, reference).version
    address = page_address(registry, identity, version)
    if address is None:
        raise RyeError(
            "no-page",
            f"{registry} is a folder. Only a registry server has pages.",
            f"Name the server: `rye info {reference} --web --registry https://ADDRESS`.",
        )
    return ItemPage(identity, address)


def page_address(registry: str, identity: Identity, version: str | None = None) -> str | None:
    """The address of an item's page; None for a registry without a web address. ``version``: None for the newest."""
    if not registry.startswith(("https://", "http://")):
        return None
    return registry.rstrip("/") + item_page_path(identity, version)


class SourceInfo(Struct, frozen=True):
    """A locked item and the facts of its bytes."""

    row: LockedItem
    """The row, with the signer of the verified release."""
    words: SignedRelease
    description: Description | None
    """None: it is read from its folder each time, or its installed files are not those of the lock."""


_COMMIT_DIGITS = 7


def whole_reference(context: Context, text: str) -> str:
    """``[kind:]id[@range]`` with the id of the installed item that a name without a namespace means; as it is if there is none.

    Raises UsageError ``ambiguous``.
    """
    reference = parse_reference(text)
    project = find_project(context.cwd)
    if "/" in reference.id or project is None:
        return text
    name, at, wanted = text.partition("@")
    try:
        return f"{locked_item(read_lock(project), name).identity}{at}{wanted}"
    except UsageError:
        raise
    except RyeError:  # another project's, or a lock that cannot be read: what is published may be meant
        return text


def source_info(context: Context, reference: str) -> SourceInfo | None:
    """The locked item of ``reference`` (``[kind:]id[@range]``); None if it is not from a source of the enclosing project.

    Raises RyeError ``not-installed``, ``no-such-version``, ``unverified-item``.
    """
    project = find_project(context.cwd)
    if project is None or not project.manifest_path.exists():
        return None
    manifest = load_manifest(project)
    if parse_reference(reference).id.partition("/")[0] not in manifest.sources:
        return None
    return _of(context, project, reference)


def _of(context: Context, project: Project, reference: str) -> SourceInfo:
    name, _, wanted = reference.partition("@")
    row = locked_item(read_lock(project), name)
    if wanted and not _is_version(row, wanted):
        message = f"{row.identity} is installed in version {row.version}, not {wanted}."
        hint = f"`rye info {row.identity}` shows what is installed; `rye outdated` looks for a newer version."
        raise RyeError("no-such-version", message, hint)
    words = require_verified(context, project, [row])[row.identity]
    return SourceInfo(row.with_signer(words.signed_by), words, _described(project, row, words))


def _is_version(row: LockedItem, wanted: str) -> bool:
    """Whether a range, or the first digits of a commit as in ``rye diff``, is of the installed item."""
    commit = row.source.commit if row.source is not None else None
    if wanted == row.version or (commit is not None and len(wanted) >= _COMMIT_DIGITS and commit.startswith(wanted)):
        return True
    version = comparable(row.version)
    return version is not None and version in Range.parse(wanted)


def _described(project: Project, row: LockedItem, words: SignedRelease) -> Description | None:
    """Describe an installed item, from the bytes that rye.lock names."""
    files: dict[str, bytes] = {}
    for path, (sha256, _) in item_files(row).items():
        data = read_project_file(project.root / path, CONTENT.attached_bytes)
        if data is None or hashlib.sha256(data).hexdigest() != sha256:
            return None
        files[path] = data
    own = item_path(row)
    if own not in files:
        return None
    metadata = read_published(row.identity, row.suffix, files[own], [file.path for file in row.attached]).metadata
    return describe(
        row.kind,
        files,
        own,
        capabilities=row.capabilities,
        tools=row.tools,
        hooks=len(row.hooks),
        runs=words.runs,
        mentions=words.mentions or (),
        licence=metadata.licence if metadata is not None else None,
    )
