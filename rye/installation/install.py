"""The steps of one installation, in order. The decisions are made in :mod:`resolving` and :mod:`plan`.

1. ``prepare``: choose releases (from the lock, or by resolving), fetch and verify every byte, compare with what is installed.
2. The caller shows the plan and gets consent (:mod:`rye.installation.plan`).
3. ``changes``: the files, the lock and the manifest as the changes of one transaction. Nothing is written before that.

Between 1 and 2, :mod:`rye.workspace.installing.customization_losses` compares the customizations in force with the versions
about to be installed.

What an item's texts mention that matters for consent and policy (DESIGN 7.2) is computed from verified bytes, and remembered
with the item's other verdicts.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rye.consent.agreement import by_other_rules
from rye.consent.ask import approving
from rye.consent.sorts import SORTS
from rye.describing.description import Description, ages_of, describe
from rye.installation.completeness import reached
from rye.installation.environment import Environment
from rye.installation.held_back import Yanked, moved_back, yanked
from rye.installation.outside_range import overruled
from rye.installation.plan import Consent, ItemChange, Plan, agreed_rows, make_plan
from rye.installation.resolving import Chosen, locked_records
from rye.installation.sources import Record, Sources, fetch_logged, source_item, with_signers
from rye.installation.transaction import Change
from rye.items.identity import Identity
from rye.items.reading import Metadata
from rye.items.signed_release import Mention
from rye.project.forced_versions import unused
from rye.project.lock import Lock, LockedItem, lock_text
from rye.project.lock_file import item_files, item_folder, item_path, source_key, wanted_ranges
from rye.project.manifest import Manifest
from rye.registry.trust.records import ReleaseRecord, advisory_words, check_installable, signer_history
from rye.sources.record import SourceRecord
from rye.storage.verdicts import Verdicts
from rye.text import facts
from rye.text.facts.fact import RULES_VERSION
from rye.text.facts.readable import readable_text
from rye.text.json_reading import UNDECODABLE, msgpack_decoder
from rye.text.lazy import lazy_module
from rye.verified.memory import check_row
from rye.verified.on_disk import INSTALLED, written_text
from rye.verified.release import VerifiedItem, judge_files, judgement_inputs, signed_words, verify_files

if TYPE_CHECKING:
    from rye.registry.ownership import words as owner_words
else:
    owner_words = lazy_module("rye.registry.ownership.words")  # only where a namespace is new to the project


def mentions(files: Mapping[str, bytes]) -> tuple[Mention, ...]:
    """Return the cautions and alarms of one item, alarms first, each at its first position; then one note of each kind, for
    policies. ``files``: bytes by path."""
    texts = {path: readable_text(data) for path, data in files.items()}
    mentions_by_word: dict[object, Mention] = {}
    for fact in facts.find_facts(texts):
        key = fact.fact if fact.level == facts.NOTE else fact.key
        mentions_by_word.setdefault(key, Mention(fact.fact, fact.value, fact.level, fact.path, fact.line))
    return tuple(
        sorted(mentions_by_word.values(), key=lambda m: (-facts.severity(m.level), m.fact, m.path, m.line, m.value))
    )


class Prepared(Struct, frozen=True, kw_only=True):
    """Everything needed to install, verified; nothing is written yet."""

    plan: Plan
    items: Mapping[Identity, VerifiedItem]
    """Every item to install, with its verified bytes."""
    unasked: tuple[LockedItem, ...]
    """Entries of excluded groups: they stay in the lock, but need no consent and are not installed."""
    wanted: Mapping[str, str]
    """The manifest's keys and ranges, for the lock."""
    warnings: tuple[str, ...]
    heads: Mapping[str, str]
    """Origin of each registry that was asked → the signed checkpoint that it showed."""
    yanked: tuple[Yanked, ...] = ()
    """Those of the items to install whose publisher yanked this version; the warnings say so."""

    @property
    def rows(self) -> list[LockedItem]:
        """The rows of the items to install, without approvals."""
        return [item.locked for item in self.items.values()]


def choose_locked(lock: Lock, sources: Sources, environment: Environment) -> dict[Identity, Chosen]:
    """Choose exactly the releases that a lock names."""
    records = locked_records(lock, sources, environment)
    return {
        item.identity: Chosen(records[item.identity], item.dependencies, item.groups, item.forced)
        for item in lock.items
    }


def prepare(
    lock: Lock,
    manifest: Manifest,
    chosen: Mapping[Identity, Chosen],
    sources: Sources,
    environment: Environment,
    without: frozenset[str] = frozenset(),
    known_signers: frozenset[str] | None = None,
    wanted_before: Manifest | None = None,
    knows_bytes: Callable[[LockedItem], bool] = lambda row: False,
) -> Prepared:
    """Fetch and verify the chosen releases, and compare them with the lock. Raises RyeError, TrustError; writes nothing.

    ``known_signers``: the keys that this user agreed to before; None: no signer counts as new. ``wanted_before``: the manifest
    before this command changed it; None: it did not change. ``knows_bytes``: whether this user agreed to exactly these bytes.

    Items that only the groups in ``without`` need are not installed and need no consent; their existing entries in the lock
    stay as they are.
    """
    left_out = {identity for identity, entry in chosen.items() if set(entry.groups) <= without}
    kept = {item.identity: item for item in lock.items if item.identity in left_out and _is_chosen(item, chosen)}
    verified = verify_chosen({identity: entry for identity, entry in chosen.items() if identity not in kept}, sources)
    check_rows(_at_new_revs(lock, manifest, verified), verified)
    items = {identity: item for identity, item in verified.items() if identity not in left_out}
    environment.require([(item.locked, item.signed.mentions or ()) for item in items.values()])
    before = Lock(lock.wanted, tuple(i for i in lock.items if i.identity not in left_out))
    known = sources.memory.known(before.items)
    before = Lock(before.wanted, with_signers(before.items, known))
    plan = make_plan(
        before,
        [item.locked for item in items.values()],
        mentions=mentions_of(items),
        mentions_before={identity: words.mentions or () for identity, words in known.items()},
        known_signers=known_signers,
        brought=reached(Lock({}, tuple(item.locked for item in items.values())), wanted_before or manifest),
        knows_bytes=knows_bytes,
    )
    plan = _described(_with_histories(plan, chosen, sources), items)
    waiting = [item.locked for identity, item in verified.items() if identity in left_out]
    unasked = (*kept.values(), *unapproved(lock, waiting, mentions_of(verified)))
    installed = {identity: entry for identity, entry in chosen.items() if identity in items}
    moved = [row for row in lock.items if row.identity in installed and not _is_chosen(row, chosen)]
    withdrawn = [identity for identity, entry in installed.items() if entry.record.yank is not None]
    told: tuple[Yanked, ...] = ()
    warnings = [*_warnings(entry.record for entry in installed.values()), *_overruled(manifest, chosen)]
    if withdrawn or moved:
        histories = sources.histories([*withdrawn, *(row.identity for row in moved)])
        told = yanked(manifest, chosen, histories, environment)
        warnings = [*(one.message for one in told), *moved_back(moved, chosen, histories), *warnings]
    return Prepared(
        plan=plan,
        items=items,
        unasked=unasked,
        wanted=wanted_ranges(manifest),
        warnings=tuple(warnings),
        heads=sources.heads(),
        yanked=told,
    )


def mentions_of(items: Mapping[Identity, VerifiedItem]) -> dict[Identity, tuple[Mention, ...]]:
    """Return what verified items mention."""
    return {identity: item.signed.mentions or () for identity, item in items.items()}


def _with_histories(plan: Plan, chosen: Mapping[Identity, Chosen], sources: Sources) -> Plan:
    """Return the plan with the signer history of each new release."""
    shown = [
        (c, record)
        for c in plan.effective
        if c.new is not None
        and (c.action != "keep" or c.needs_consent)
        and isinstance(record := chosen[c.identity].record, ReleaseRecord)
    ]
    names = sorted({change.identity.namespace for change, _ in shown})
    chains = {name: sources.client(name).keysets([name])[name] for name in names}
    known = {change.identity.namespace for change in plan.changes if change.old is not None}
    owners = sources.owners(name for name in names if name not in known)
    dated = {}
    for change, record in shown:
        name = change.identity.namespace
        now = sources.client(name).head.snapshot.time
        history = signer_history(chains[name], record, now, change.signer_before)
        if name in owners:
            said = owner_words.claim_words(owners[name])
            warned = owner_words.organization_words(owners[name], now)
            history = replace(history, owner=said, owner_warning=warned)
        dated[change.identity] = history
    return Plan(tuple(replace(change, history=dated.get(change.identity)) for change in plan.changes))


def _described(plan: Plan, items: Mapping[Identity, VerifiedItem]) -> Plan:
    """Return the plan with what a person is told about each new version."""

    def of(change: ItemChange) -> Description | None:
        item = items.get(change.identity)
        if item is None or change.new is None or (change.action == "keep" and not change.needs_consent):
            return None
        return describe(
            change.identity.kind,
            {"": item.data, **item.attached},
            "",
            capabilities=item.locked.capabilities,
            tools=item.metadata.agent_tools,
            hooks=len(item.locked.hooks),
            runs=item.locked.runs,
            mentions=item.signed.mentions or (),
            licence=item.metadata.licence,
            ages=ages_of(change.history),
        )

    return Plan(tuple(replace(change, description=of(change)) for change in plan.changes))


def check_rows(rows: Iterable[LockedItem], verified: Mapping[Identity, VerifiedItem]) -> None:
    """Check that rows of a lock match the releases that they name. Raises RyeError ``lock-mismatch``."""
    for row in rows:
        if row.identity in verified:
            check_row(row, verified[row.identity].locked)


def _at_new_revs(lock: Lock, manifest: Manifest, verified: Mapping[Identity, VerifiedItem]) -> Iterator[LockedItem]:
    """The lock's rows. Where rye.toml has another ``rev`` than when the lock was written, with the ref that it means now: the new
    one may lead to the same commit, and then the old ref contradicts nothing."""
    moved = {
        one.origin for one in manifest.sources.values() if lock.wanted.get(source_key(one.name)) not in (None, one.spec)
    }
    for row in lock.items:
        now = verified[row.identity].locked.source if row.identity in verified else None
        if row.source is not None and now is not None and row.source.origin in moved:
            yield replace(row, source=replace(row.source, ref=now.ref))
        else:
            yield row


def _is_chosen(item: LockedItem, chosen: Mapping[Identity, Chosen]) -> bool:
    record = chosen[item.identity].record
    if isinstance(record, SourceRecord):
        same = (item.version, item.sha256, item.source) == (record.version, record.release.file.sha256, record.source)
    else:
        same = (item.version, item.sha256, item.log) == (record.version, record.release.file.sha256, record.line.log)
    return same and item.forced == chosen[item.identity].forced


def verify_chosen(chosen: Mapping[Identity, Chosen], sources: Sources) -> dict[Identity, VerifiedItem]:
    """Fetch bytes and proofs in one wave per registry, and check each item (:mod:`rye.verified.release`)."""
    verified: dict[Identity, VerifiedItem] = {}
    by_client: dict[int, list[ReleaseRecord]] = {}
    for entry in chosen.values():
        if isinstance(entry.record, SourceRecord):
            verified[entry.record.identity] = _source_item(entry, entry.record, sources.verdicts)
            continue
        check_installable(entry.record)
        by_client.setdefault(id(sources.client_of(entry.record)), []).append(entry.record)
    for records in by_client.values():
        for files, judged in zip(
            fetch_logged(sources.client_of(records[0]), records), _judged_before(records, sources.verdicts), strict=True
        ):
            entry = chosen[files.record.identity]
            if judged is None:
                metadata = judge_files(files)
                judged = _Judged(metadata, mentions({files.record.release.file_name: files.file, **files.attached}))
                key = sources.verdicts.key("item", *judgement_inputs(files.record))
                sources.verdicts.put({key: msgspec.msgpack.encode(judged)})
            item = verify_files(
                files, entry.dependencies, entry.groups, judged.metadata, judged.mentions, forced=entry.forced
            )
            verified[files.record.identity] = item
    sources.memory.remember((item.locked, item.signed) for item in verified.values())
    return dict(sorted(verified.items()))


def _source_item(entry: Chosen, record: SourceRecord, verdicts: Verdicts) -> VerifiedItem:
    """Return an item of a source, with its mentions. Its bytes were checked when they were read."""
    files = {record.release.file_name: record.data, **record.attached}
    hashes = [part for path, data in sorted(files.items()) for part in (path, hashlib.sha256(data).digest())]
    key = verdicts.key("mentions", *hashes)
    with contextlib.suppress(*UNDECODABLE):  # written by another version of Rye
        known = verdicts.get([key]).get(key)
        if known is not None:
            found = msgspec.msgpack.decode(known, type=tuple[Mention, ...])
            return source_item(record, entry.dependencies, entry.groups, found, entry.forced)
    found = mentions(files)
    verdicts.put({key: msgspec.msgpack.encode(found)})
    return source_item(record, entry.dependencies, entry.groups, found, entry.forced)


class _Judged(Struct, frozen=True):
    """The cached result of checking one release's bytes."""

    metadata: Metadata
    mentions: tuple[Mention, ...]


def _judged_before(records: Sequence[ReleaseRecord], verdicts: Verdicts) -> list[_Judged | None]:
    """Return the cached result of checking each release; None if it was not checked before."""
    decoder = msgpack_decoder(_Judged)
    keys = [verdicts.key("item", *judgement_inputs(record)) for record in records]
    known = verdicts.get(keys)
    found: dict[bytes, _Judged] = {}
    for key, data in known.items():
        with contextlib.suppress(*UNDECODABLE):  # written by another version of Rye
            found[key] = decoder.decode(data)
    return [found.get(key) for key in keys]


def _warnings(records: Iterable[Record]) -> Iterable[str]:
    for record in records:
        name = f"{record.identity}@{record.version}"
        if record.deprecation is not None:
            said = f"{record.identity} is deprecated: {record.deprecation.reason}"
            instead = record.deprecation.replacement
            yield f"{said.removesuffix('.')}. Use {instead} instead." if instead else said
        for advisory in record.advisories:
            yield f"{name}: {advisory_words(advisory)}"


def _overruled(manifest: Manifest, chosen: Mapping[Identity, Chosen]) -> Iterable[str]:
    """Yield warnings: forced versions outside a requested range, and lines of ``[overrides]`` without effect."""
    if not manifest.overrides:
        return
    versions = {identity: entry.record.version for identity, entry in chosen.items()}
    needs = {
        identity: signed_words(entry.record.release).needs(manifest.provides) for identity, entry in chosen.items()
    }
    for one in overruled(manifest, versions, needs):
        if one.askers:
            yield one.message
    for override in unused(manifest.overrides, chosen):
        yield override.unused[0]


def new_lock(prepared: Prepared, consent: Consent, before: Lock) -> Lock:
    """Return the lock after this installation, with its approvals. ``before``: the one in the project."""
    rows = (*agreed_rows(prepared.plan, consent), *prepared.unasked)
    return Lock(prepared.wanted, rows).after(before, prepared.heads)


def changes(
    new: Lock,
    items: Mapping[Identity, VerifiedItem],
    removable: Iterable[str],
    manifests: Mapping[str, str] | None = None,
) -> list[Change]:
    """Return the changes of the files, the lock and the manifests. ``manifests``: new texts by file.

    ``removable``: paths below ``.ai/packages`` that are removed if the new state does not have them.
    """
    writes: list[Change] = []
    keep: set[str] = set()
    here = [item for item in new.items if item.identity in items]
    for item in here:
        if item.is_editable:
            continue
        verified = items[item.identity]
        keep.update(item_files(item))
        writes.append(Change(item_path(item), verified.data))
        writes.extend(
            Change(f"{item_folder(item)}/{entry.path}", verified.attached[entry.path], entry.executable)
            for entry in item.attached
        )
    writes.extend(Change(path, None) for path in sorted(set(removable) - keep))
    writes.append(Change(INSTALLED, written_text(here).encode()))
    writes.append(Change("rye.lock", lock_text(new).encode()))
    writes.extend(Change(file, text.encode()) for file, text in (manifests or {}).items())
    return writes


def unapproved(
    old: Lock, chosen: Iterable[LockedItem], mentions: Mapping[Identity, Iterable[Mention]] | None = None
) -> list[LockedItem]:
    """Return the entries that ``rye lock`` writes for chosen releases.

    Existing approvals are kept as far as the new release still asks for them; nothing is added. In a new or changed entry,
    :attr:`Approved.signer` is the signer of the last approved release (empty if none), so that installing it still asks.
    ``mentions``: cautions and alarms of the chosen releases.
    """
    before = old.by_identity()
    items = []
    for item in chosen:
        was = before.get(item.identity)
        if was is None:
            items.append(replace(item, approved=approving(RULES_VERSION, "")))
            continue
        same = was.release == item.release
        signer = was.approved.signer if same or was.approved.is_pending else was.signer
        words = {mention.word for mention in (mentions or {}).get(item.identity, ())}
        keeps = same and by_other_rules(was)
        given: dict[str, tuple[Any, ...]] = {}
        for sort in SORTS:
            given |= sort.kept(sort.values(was.approved), sort.asked(item))
        given["fact"] = tuple(fact for fact in was.approved.of("fact") if keeps or fact in words)
        rules = was.approved.rules if keeps else RULES_VERSION
        items.append(replace(item, approved=approving(rules, signer, **given)))
    return items
