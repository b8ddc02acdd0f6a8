"""The page of a release that waits for a signature: what `rye stage show` shows, as far as it fits. Pure.

The bytes are judged as clients judge them before they install (:mod:`rye.registry.trust.file_acceptance`). What is too much for
the page is counted, and the command that shows everything is on it: the decision is made there, with a key, never here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec import Struct

from registry_server.pages.account import HOME, Signed
from registry_server.pages.frame import Page
from registry_server.pages.limits import PAGES
from rye.installation.comparing import Comparison, Version, compare
from rye.items.published import read_published
from rye.items.reading import HookAction, Metadata, ReadOptions, Run
from rye.items.runs import attached_runs
from rye.permissions.containment import Change
from rye.permissions.risk import by_tier, tiers
from rye.registry.protocol.statements import Release
from rye.registry.protocol.wire import StageRow
from rye.registry.trust.file_acceptance import Refusal, judge_release_file
from rye.registry.trust.records import ReleaseRecord
from rye.signing.keys import PublicKey
from rye.text.facts import Fact, find_facts, severity
from rye.text.facts.decoding import readable_text

_TEXT_CHARACTERS = 6_000
_DIFF_LINES = 120
_LINE_CHARACTERS = 200
_COMPARED_LINES = 3_000
"""A side: comparing costs their product, in the worst case."""
_FACT_BYTES = PAGES.facts_bytes
_T = TypeVar("_T")


class FileRow(Struct, frozen=True):
    path: str
    """Of an attached file; of the item's own, its name's end."""
    size: int
    sha256: str
    executable: bool


class Cut(Struct, frozen=True):
    """A list as far as it fits."""

    rows: tuple[tuple[str, ...], ...] = ()
    more: int = 0
    """Rows that are left out."""


class Differences(Struct, frozen=True):
    """What the stage has beyond the last release, and the other way round."""

    version: str
    path: str
    """Of that release's page."""
    widened: Cut
    """Tier and capability."""
    narrowed: Cut
    added: Cut
    """Agent tools, hooks, runs, relations and files, in words."""
    removed: Cut
    lines: Cut
    """Sign and text of a unified difference."""
    is_whole: bool
    """Whether the texts were compared: not where they are too long."""
    another_signer: bool


class Content(Struct, frozen=True):
    """What the bytes of a stage say."""

    problem: str | None
    """Why clients would refuse them; None: they would not."""
    signer: str | None
    """Fingerprint of the key of the in-file signature."""
    rights: Cut
    """Tier and capability, the riskiest first."""
    tools: str | None
    """Agent tools in words; None: the item has none of its own."""
    hooks: Cut
    runs: Cut
    facts: Cut
    files: tuple[FileRow, ...]
    text: str
    more_text: int
    differences: Differences | None


class StageView(Struct, frozen=True):
    signed: Signed
    stage: StageRow
    content: Content | None
    """None: it waits no more, and its bytes are gone or public."""
    may_reject: bool
    commands: tuple[str, ...]


class Staged(Struct, frozen=True):
    """A release with its bytes. ``keys``: of the keyset in force, raw."""

    release: Release
    data: bytes
    attached: Mapping[str, bytes]
    keys: Sequence[bytes]


def stage_page(signed: Signed, row: StageRow, content: Content | None, may_reject: bool) -> Page:
    commands = (f"rye stage show {row.id}", f"rye stage approve {row.id}")
    view = StageView(signed, row, content, may_reject, commands)
    title = f"{row.kind} {row.name} {row.version}"
    return Page("account/stage.html", view, title, "A release that waits for a signature.", HOME, is_indexed=False)


def content_of(staged: Staged, last: ReleaseRecord | None, last_data: bytes | None, last_path: str) -> Content:
    """``last``: the highest release that is not withdrawn, with its bytes where the store has them."""
    release = staged.release
    judged = judge_release_file(
        release, staged.data, [PublicKey(raw) for raw in staged.keys], ReadOptions(publishing=True)
    )
    problem = judged.reason if isinstance(judged, Refusal) else None
    signer = None if isinstance(judged, Refusal) else judged.signer
    paths = [entry.path for entry in release.attached]
    metadata = (
        read_published(release.identity, release.file.suffix, staged.data, paths).metadata
        if isinstance(judged, Refusal)
        else judged.metadata
    )
    text = readable_text(staged.data)
    entries = [(entry.path, entry.executable, entry.sha256, staged.attached[entry.path]) for entry in release.attached]
    own = metadata.runs if metadata is not None else ()
    runs = sorted({*own, *attached_runs(entries)})
    capabilities = metadata.capabilities if metadata is not None else release.capabilities
    rights = [(str(level), each) for level, group in by_tier(capabilities).items() for each in group]
    tools = metadata.agent_tools if metadata is not None else None
    hooks = [_hook_words(hook) for hook in metadata.hooks] if metadata is not None else []
    return Content(
        problem,
        signer.fingerprint if signer is not None else None,
        _cut(rights),
        None if tools is None else (", ".join(tools.names)[:_LINE_CHARACTERS] or "every tool"),
        _cut([(hook,) for hook in hooks]),
        _cut([_run_words(run) for run in runs]),
        _cut([_fact_words(fact) for fact in _facts(release, text, staged.attached)]),
        (
            FileRow(f"its own file, {release.file.suffix}", release.file.size, release.file.sha256, False),
            *(
                FileRow(entry.path, entry.size, entry.sha256, entry.executable)
                for entry in release.attached[: PAGES.rows]
            ),
        ),
        text[:_TEXT_CHARACTERS],
        max(len(text) - _TEXT_CHARACTERS, 0),
        _differences(release, metadata, signer, text, last, last_data, last_path),
    )


def _differences(
    release: Release,
    metadata: Metadata | None,
    signer: PublicKey | None,
    text: str,
    last: ReleaseRecord | None,
    last_data: bytes | None,
    last_path: str,
) -> Differences | None:
    if metadata is None or last is None or last_data is None:
        return None
    before = judge_release_file(last.release, last_data, [PublicKey(raw) for raw in last.link.keyset.keys])
    if isinstance(before, Refusal):
        return None
    old_text = readable_text(last_data)
    is_whole = max(old_text.count("\n"), text.count("\n")) < _COMPARED_LINES
    found = compare(
        _side(last.release, old_text if is_whole else "", before.metadata, before.signer),
        _side(release, text if is_whole else "", metadata, signer),
    )
    return Differences(
        last.version,
        last_path,
        _rights(found.widened),
        _rights(found.narrowed),
        _cut([(words,) for words in _added(found)]),
        _cut([(words,) for words in _removed(found)]),
        _cut(
            [(line[:1], line[1:].strip("@ ") if line[:2] == "@@" else line[1:]) for line in found.text[2:]], _DIFF_LINES
        ),
        is_whole,
        found.signer_changed,
    )


def _rights(changes: Sequence[Change]) -> Cut:
    levels = tiers(change.pattern for change in changes)
    return _cut([(str(levels[change.pattern]), change.pattern) for change in changes])


def _side(release: Release, text: str, metadata: Metadata, signer: PublicKey | None) -> Version:
    attached = {entry.path: (entry.sha256, entry.executable) for entry in release.attached}
    return Version(release.version, text, metadata, signer.fingerprint if signer is not None else None, attached)


def _added(found: Comparison) -> list[str]:
    files = [f"file {line[2:]}" for line in found.attached if line[0] == "+"]
    changed = [f"changed file {line[2:]}" for line in found.attached if line[0] == "~"]
    hooks = [_hook_words(hook) for hook in found.hooks_added]
    runs = [" ".join(_run_words(run)) for run in found.runs_added]
    return [*found.tools_added, *hooks, *runs, *found.relations_added, *files, *changed]


def _removed(found: Comparison) -> list[str]:
    files = [f"file {line[2:]}" for line in found.attached if line[0] == "-"]
    hooks = [_hook_words(hook) for hook in found.hooks_removed]
    runs = [" ".join(_run_words(run)) for run in found.runs_removed]
    return [*found.tools_removed, *hooks, *runs, *found.relations_removed, *files]


def _facts(release: Release, text: str, attached: Mapping[str, bytes]) -> list[Fact]:
    texts = {release.file.suffix: text}
    room = _FACT_BYTES - len(text)
    for path, data in sorted(attached.items(), key=lambda entry: len(entry[1])):
        room -= len(data)
        if room > 0:
            texts[path] = readable_text(data)
    found: dict[tuple[str, str], Fact] = {}
    for fact in find_facts(texts):
        found.setdefault(fact.key, fact)
    return sorted(found.values(), key=lambda fact: (-severity(fact.level), fact.fact, fact.path, fact.line))


def _hook_words(hook: HookAction) -> str:
    inputs = "".join(f", {name} = {value}" for name, value in hook.inputs)
    return f"when {hook.when}: execute {hook.item_type} {hook.item_id}{inputs}"


def _run_words(run: Run) -> tuple[str, ...]:
    return (run.where, run.action)


def _fact_words(fact: Fact) -> tuple[str, ...]:
    return (fact.level, fact.fact, fact.value, f"{fact.path}:{fact.line}")


def _cut(rows: Sequence[tuple[str, ...]], most: int = PAGES.rows) -> Cut:
    kept = tuple(
        tuple(f"{part[:_LINE_CHARACTERS]}…" if len(part) > _LINE_CHARACTERS else part for part in row)
        for row in rows[:most]
    )
    return Cut(kept, max(len(rows) - most, 0))
