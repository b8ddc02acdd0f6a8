"""What a release's own bytes say of it: rights, tools, hooks, what can run, and what its texts mention. Pure.

The questions are those of consent (DESIGN §7): capabilities and hooks as the item declares them, tools of the agent program with
what restricts them, runs (:mod:`rye.items.runs`), facts (:mod:`rye.text.facts`). Where clients refuse the bytes, the page says
why and shows what can be read all the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from registry_server.pages.limits import PAGES
from rye.errors import RyeError
from rye.installation.mentions import item_file_name
from rye.items.agent_tools import AgentTools
from rye.items.published import read_published
from rye.items.reading import HookAction, Metadata, Run
from rye.items.runs import attached_runs
from rye.permissions.risk import Tier, highest
from rye.permissions.tool_risk import tools_tier
from rye.registry.trust.file_acceptance import Refusal, judge_release_file
from rye.registry.trust.records import ReleaseRecord
from rye.signing.keys import PublicKey
from rye.text.facts import Fact, find_facts, severity
from rye.text.facts.decoding import readable_text


class Examined(Struct, frozen=True):
    """What a release may do. ``capabilities`` are the release note's: they are there whatever became of the bytes."""

    capabilities: tuple[str, ...]
    tools: AgentTools | None = None
    hooks: tuple[HookAction, ...] = ()
    runs: tuple[Run, ...] = ()
    problem: str | None = None
    """Why clients refuse the file, or why there is none to read."""
    unread: tuple[str, ...] = ()
    """Attached files whose bytes could not be read: nobody looked whether they can run."""

    @property
    def tier(self) -> Tier | None:
        """The worst tier of capabilities and agent tools; None where it has neither."""
        found = [highest(self.capabilities)] if self.capabilities else []
        tools = tools_tier(self.tools)
        return max([*found, *([tools] if tools is not None else [])], default=None)


class Facts(Struct, frozen=True):
    """What the texts of a release mention, each thing once, the gravest first."""

    facts: tuple[Fact, ...] = ()
    unread: tuple[str, ...] = ()
    """Files that were not looked into: too much text, or bytes that are gone."""


def examine(record: ReleaseRecord, data: bytes | None, attached: Mapping[str, bytes | None]) -> Examined:
    """``data``: the item's own file; ``attached``: by path. None: the bytes are not there."""
    release = record.release
    if data is None:
        return Examined(
            release.capabilities,
            problem="its file is not there",
            unread=tuple(path for path, content in attached.items() if content is None),
        )
    found = judge_release_file(release, data, [PublicKey(raw) for raw in record.link.keyset.keys])
    problem = None
    metadata: Metadata | None
    if isinstance(found, Refusal):
        problem = found.reason
        metadata = _read_anyway(record, data)
    else:
        metadata = found.metadata
    heads = [
        (entry.path, entry.executable, entry.sha256, attached.get(entry.path) or b"") for entry in release.attached
    ]
    own = metadata.runs if metadata is not None else ()
    return Examined(
        tuple(sorted({*release.capabilities, *(metadata.capabilities if metadata is not None else ())})),
        metadata.agent_tools if metadata is not None else None,
        metadata.hooks if metadata is not None else (),
        tuple(sorted({*own, *attached_runs(heads)})),
        problem,
        tuple(entry.path for entry in release.attached if attached.get(entry.path) is None),
    )


def _read_anyway(record: ReleaseRecord, data: bytes) -> Metadata | None:
    """What a file that clients refuse says, as far as it can be read."""
    release = record.release
    try:
        paths = [entry.path for entry in release.attached]
        return read_published(release.identity, release.file.suffix, data, paths).metadata
    except RyeError:
        return None


def facts_of(record: ReleaseRecord, data: bytes | None, attached: Mapping[str, bytes | None]) -> Facts:
    """Facts of the item's own file, then of attached files, the small ones first, as far as there is room."""
    files = {item_file_name(record): data, **attached}
    texts: dict[str, str] = {}
    unread = []
    room = PAGES.facts_bytes
    for path, content in sorted(files.items(), key=lambda entry: (entry[1] is not data, len(entry[1] or b""))):
        if content is None or len(content) > room:
            unread.append(path)
            continue
        texts[path] = readable_text(content)
        room -= len(content)
    found: dict[tuple[str, str], Fact] = {}
    for fact in find_facts(texts):
        found.setdefault(fact.key, fact)
    worst_first = sorted(found.values(), key=lambda fact: (-severity(fact.level), fact.fact, fact.path, fact.line))
    return Facts(tuple(worst_first), tuple(sorted(unread)))
