"""Compare two versions of an item: first what the newer may do that the older may not, then their texts. Pure.

Everything is computed from the signed release notes and the released bytes. What cannot be compared is listed in
``unknown``, so an empty list always means that nothing changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Literal

from msgspec import Struct

from registry_server.pages.examined import facts_in, texts_for_facts
from registry_server.pages.file_changes import Contents, FileChange, file_changes
from rye.describing.right_words import right_words
from rye.items.consented import HookAction, Run
from rye.items.published import read_published
from rye.items.reading import Metadata
from rye.items.runs import attached_runs
from rye.permissions.comparing import Version, compare
from rye.permissions.containment import Change, diff
from rye.permissions.risk import tiers
from rye.registry.protocol.statements import Release
from rye.registry.trust.keysets import KeysetChain
from rye.registry.trust.records import ReleaseRecord, signer_history
from rye.resolution.versions import comparable
from rye.signing.keys import PublicKey
from rye.text.facts import Fact, difference, severity


class Side(Struct, frozen=True):
    """One released version, with the bytes that the store still has."""

    record: ReleaseRecord
    files: Mapping[str, bytes]
    """By path, the item's own file by its name. Files that the store does not have are missing."""

    @property
    def contents(self) -> Contents:
        """The release and its bytes, without its place in the log."""
        return Contents(self.record.release, self.files, self.record.takedown is not None)


# -- what is found ---------------------------------------------------------------------------------------------------------


class VersionRow(Struct, frozen=True, kw_only=True):
    """One of the two versions."""

    version: str
    time: datetime
    """The time in the release note."""
    log: int
    """The release's position in the log."""
    keyset: int
    signers: tuple[str, ...]
    """Fingerprints of the keys that signed it."""
    yanked: str | None
    """Why it was yanked; null: it is not yanked."""
    taken_down: str | None
    """Why files of it were taken down; null: they were not."""
    revoked: bool
    """Whether the keys that signed it are revoked from a position at or before this release."""


class RightRow(Struct, frozen=True):
    """A capability that one version grants and the other does not."""

    capability: str
    tier: str
    words: str
    """What it allows."""
    example: str | None
    """An action that only one version allows; null: too complex to compare in full, which counts as a change."""


class RunChange(Struct, frozen=True):
    """Something that can run and is new, gone or changed."""

    state: Literal["added", "removed", "changed"]
    what: str
    where: str
    action: str
    before: str | None
    """The previous action of something that changed."""
    sha256: str


class SignerChange(Struct, frozen=True):
    """The newer version is signed by other keys."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    why: str | None
    """What happened to the previous key."""
    key_since: datetime
    """When the new key first appeared in a keyset of the namespace."""


class Lists(Struct, frozen=True):
    """What was added and removed, in words."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class Tools(Struct, frozen=True):
    """Changes to the tools of the agent program and to their restrictions, in words."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    any_command: bool = False
    """Whether it can now run any command, and could not before."""


class Hooks(Struct, frozen=True):
    """Hooks that were added and removed."""

    added: tuple[HookAction, ...] = ()
    removed: tuple[HookAction, ...] = ()


class Facts(Struct, frozen=True):
    """Facts that are new and gone."""

    added: tuple[Fact, ...] = ()
    removed: tuple[Fact, ...] = ()


class Rights(Struct, frozen=True):
    """Capabilities that only the newer version grants, and those that only the older one grants."""

    widened: tuple[RightRow, ...] = ()
    narrowed: tuple[RightRow, ...] = ()


class Differences(Struct, frozen=True, kw_only=True):
    """How two releases differ in what they may do and say, where their bytes are available."""

    unknown: tuple[str, ...]
    """What could not be compared, and why."""
    partly: tuple[str, ...]
    """The lists that are incomplete because of it: ``hooks``, ``agent_tools``, ``runs``, ``facts``."""
    rights: Rights
    agent_tools: Tools
    hooks: Hooks
    runs: tuple[RunChange, ...]
    facts: Facts
    relations: Lists
    files: tuple[FileChange, ...]


class Comparison(Differences, frozen=True):
    """Every difference between the versions ``old`` and ``new``."""

    kind: str
    id: str
    old: VersionRow
    new: VersionRow
    order: Literal["forward", "backward", "same"]
    """Whether ``new`` is the later version (``forward``) or the earlier one."""
    equal: bool
    """Only version and signature differ, and everything could be compared."""
    signers: SignerChange | None


PARTS = ("agent_tools", "hooks", "runs", "facts")
"""The lists that can be incomplete."""


# -- comparing -------------------------------------------------------------------------------------------------------------


def compare_sides(old: Side, new: Side, chain: KeysetChain, now: datetime) -> Comparison:
    """Compare two releases. ``now``: the snapshot's time. Never raises because of a file's content."""
    found = differences(old.contents, new.contents)
    signers = _signers(old.record, new.record, chain, now)
    return Comparison(
        **{name: getattr(found, name) for name in Differences.__struct_fields__},
        kind=new.record.identity.kind,
        id=new.record.identity.id,
        old=_row(old.record),
        new=_row(new.record),
        order=_order(old.record, new.record),
        equal=signers is None and _are_none(found),
        signers=signers,
    )


def differences(old: Contents, new: Contents) -> Differences:
    """Return what only one of two releases has. Never raises because of a file's content."""
    before, after = _read(old), _read(new)
    if before.metadata is not None and after.metadata is not None:
        found = compare(Version("", "", before.metadata), Version("", "", after.metadata))
        widened, narrowed = found.widened, found.narrowed
        freed = _any_command(after.metadata) and not _any_command(before.metadata)
        tools = Tools(found.tools_added, found.tools_removed, freed)
        hooks = Hooks(found.hooks_added, found.hooks_removed)
        relations = Lists(found.relations_added, found.relations_removed)
        runs = _runs({*before.metadata.runs, *before.attached}, {*after.metadata.runs, *after.attached})
    else:
        rights = diff(old.release.capabilities, new.release.capabilities)
        widened, narrowed = rights.widened, rights.narrowed
        tools, hooks = Tools(), _noted_hooks(old.release, new.release)
        relations = _noted_relations(old.release, new.release)
        runs = _runs(before.attached, after.attached)
    # A run that is unknown in the newer version is not known to be removed.
    if "runs" in after.partly:
        runs = tuple(run for run in runs if run.state != "removed")
    more, less = map(_by_level, difference(before.facts, after.facts))
    return Differences(
        unknown=tuple(dict.fromkeys((*before.unknown, *after.unknown))),
        partly=tuple(name for name in PARTS if name in before.partly | after.partly),
        rights=Rights(_rights(widened), _rights(narrowed)),
        agent_tools=tools,
        hooks=hooks,
        runs=runs,
        facts=Facts(more, () if "facts" in after.partly else less),
        relations=relations,
        files=tuple(file_changes(old, new)),
    )


def _are_none(found: Differences) -> bool:
    lists = (found.rights.widened, found.rights.narrowed, found.agent_tools.added, found.agent_tools.removed)
    others = (found.hooks.added, found.hooks.removed, found.runs, found.facts.added, found.facts.removed)
    rest = (found.relations.added, found.relations.removed, found.files, found.unknown)
    return not any((*lists, *others, *rest))


class _Content(Struct, frozen=True):
    """What a version's bytes say, where they exist and can be read."""

    metadata: Metadata | None
    attached: tuple[Run, ...]
    """The attached files that can run."""
    facts: tuple[Fact, ...]
    unknown: tuple[str, ...]
    partly: frozenset[str]


def _read(side: Contents) -> _Content:
    release = side.release
    name, unknown = side.own_file, []
    partly: set[str] = set()
    metadata, data = None, side.files.get(name)
    if data is not None:
        paths = [entry.path for entry in release.attached]
        metadata = read_published(release.identity, release.file.suffix, data, paths).metadata
    if metadata is None:
        partly.update(("hooks", "agent_tools", "runs"))
        why = f"its file cannot be read as a {release.identity.kind} under the current rules"
        if data is None:
            partly.add("facts")
            why = "its file was taken down" if side.is_taken_down else "the registry does not have its file"
        unknown.append(
            f"{release.version}: {why}. Rights, hooks and relations come from the signed release note. Agent tools and what the "
            f"file runs are unknown{', and so are its facts' if data is None else ''}."
        )
    present = [entry for entry in release.attached if entry.path in side.files]
    if len(present) < len(release.attached):
        partly.update(("runs", "facts"))
        gone = len(release.attached) - len(present)
        unknown.append(f"{release.version}: {gone} of its attached files are gone, and what they run is unknown.")
    texts, left_out = texts_for_facts(name, side.files)
    if left_out:
        partly.add("facts")
        unknown.append(
            f"{release.version}: it is too large to search all of it for facts. Files left out: {len(left_out)}, including "
            f"{left_out[0]}."
        )
    entries = ((e.path, e.executable, e.sha256, side.files[e.path]) for e in present)
    attached = attached_runs(entries, data or b"")
    return _Content(metadata, attached, facts_in(texts), tuple(unknown), frozenset(partly))


def _any_command(metadata: Metadata) -> bool:
    return metadata.agent_tools is not None and metadata.agent_tools.any_command


def _row(record: ReleaseRecord) -> VersionRow:
    return VersionRow(
        version=record.version,
        time=record.release.time,
        log=record.line.log,
        keyset=record.link.keyset.number,
        signers=tuple(PublicKey(key).fingerprint for key in record.signers),
        yanked=record.yank.reason if record.yank is not None else None,
        taken_down=record.takedown.reason if record.takedown is not None else None,
        revoked=record.revoked,
    )


def _order(old: ReleaseRecord, new: ReleaseRecord) -> Literal["forward", "backward", "same"]:
    if old.version == new.version:
        return "same"
    before, after = comparable(old.version), comparable(new.version)
    if before is None or after is None or before == after:
        return "forward" if old.line.log < new.line.log else "backward"
    return "forward" if before < after else "backward"


def _rights(changes: Iterable[Change]) -> tuple[RightRow, ...]:
    """Return rows for the changes, riskiest first."""
    found = list(changes)
    levels = tiers(change.pattern for change in found)
    rows = [(levels[change.pattern], change) for change in found]
    rows.sort(key=lambda row: (-row[0], row[1].pattern))
    return tuple(
        RightRow(change.pattern, str(level), right_words(change.pattern), change.witness) for level, change in rows
    )


def _noted_hooks(old: Release, new: Release) -> Hooks:
    """Compare hooks as the release notes list them, without conditions and inputs."""
    before = [HookAction("", hook.item_type, hook.item_id) for hook in old.hooks]
    after = [HookAction("", hook.item_type, hook.item_id) for hook in new.hooks]
    return Hooks(
        tuple(hook for hook in after if hook not in before), tuple(hook for hook in before if hook not in after)
    )


def _noted_relations(old: Release, new: Release) -> Lists:
    before, after = set(_relations(old)), set(_relations(new))
    return Lists(tuple(sorted(after - before)), tuple(sorted(before - after)))


def _relations(release: Release) -> Iterable[str]:
    for relation, entries in (
        ("depends_on", release.depends_on),
        ("requires", release.requires),
        ("conflicts_with", release.conflicts_with),
    ):
        for entry in entries:
            yield f"{relation} {entry.reference}{'@' + entry.range if entry.range != '*' else ''}"


def _runs(before: Iterable[Run], after: Iterable[Run]) -> tuple[RunChange, ...]:
    """Return what is new or changed, then what was removed."""
    old, new = set(before), set(after)
    gone = {(run.what, run.where): run for run in sorted(old - new)}
    found = []
    for run in sorted(new - old):
        earlier = gone.pop((run.what, run.where), None)
        state: Literal["added", "changed"] = "added" if earlier is None else "changed"
        action = earlier.action if earlier is not None else None
        found.append(RunChange(state, run.what, run.where, run.action, action, run.sha256))
    left = [run for run in sorted(old - new) if gone.get((run.what, run.where)) == run]
    found += [RunChange("removed", run.what, run.where, run.action, None, run.sha256) for run in left]
    return tuple(found)


def _by_level(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    return tuple(sorted(facts, key=lambda fact: (-severity(fact.level), fact.path, fact.line, fact.column)))


def _signers(old: ReleaseRecord, new: ReleaseRecord, chain: KeysetChain, now: datetime) -> SignerChange | None:
    if set(old.signers) == set(new.signers):
        return None
    before = tuple(PublicKey(key).fingerprint for key in old.signers)
    after = tuple(PublicKey(key).fingerprint for key in new.signers)
    lost = next((fingerprint for fingerprint in before if fingerprint not in after), None)
    history = signer_history(chain, new, now, lost)
    return SignerChange(before, after, history.old_key, history.key_since)
