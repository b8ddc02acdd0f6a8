"""Find out from a release's own bytes what it may do, what can run, and what its texts mention. Pure.

It asks what consent asks (DESIGN §7): declared capabilities and hooks, tools of the agent program with their
restrictions, runs (:mod:`rye.items.runs`), and facts (:mod:`rye.text.facts`). If clients refuse the bytes, the page
says why and still shows what can be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from registry_server.pages.limits import PAGES
from rye.describing.description import Description, describe
from rye.errors import RyeError
from rye.items.agent_tools import AgentTools
from rye.items.consented import HookAction, Run
from rye.items.published import read_published
from rye.items.reading import Metadata, ReadOptions
from rye.items.runs import attached_runs
from rye.permissions.risk import Tier, highest, tools_tier
from rye.registry.protocol.statements import Release
from rye.registry.trust.file_acceptance import Refusal, judge_release_file
from rye.signing.keys import PublicKey
from rye.text import facts
from rye.text.facts import Fact, severity
from rye.text.facts.readable import readable_text

_INSTALLING = ReadOptions()


class Examined(Struct, frozen=True, kw_only=True):
    """What a release may do. ``capabilities`` include those of the release note, which remain even if the bytes are
    gone."""

    capabilities: tuple[str, ...]
    tools: AgentTools | None = None
    hooks: tuple[HookAction, ...] = ()
    runs: tuple[Run, ...] = ()
    problem: str | None = None
    """Why clients refuse the file, or why it cannot be read."""
    unread: tuple[str, ...] = ()
    """Attached files whose bytes are gone, so it is unknown whether they can run."""
    licence: str | None = None
    about: str = ""
    """The item's description, as its file has it; empty: clients refuse the file, or it is gone."""
    signer: str | None = None
    """The fingerprint of the key that signed the file; None: clients refuse the file, or it is gone."""

    @property
    def tier(self) -> Tier | None:
        """The highest tier of capabilities and agent tools; None: it has neither."""
        found = [highest(self.capabilities)] if self.capabilities else []
        tools = tools_tier(self.tools)
        return max([*found, *([tools] if tools is not None else [])], default=None)


class Facts(Struct, frozen=True):
    """What the texts of a release mention, each fact once, most severe first."""

    facts: tuple[Fact, ...] = ()
    unread: tuple[str, ...] = ()
    """Files that were not searched: too much text, or their bytes are gone."""


def examine(
    release: Release,
    keys: Sequence[PublicKey],
    data: bytes | None,
    attached: Mapping[str, bytes | None],
    options: ReadOptions = _INSTALLING,
) -> Examined:
    """Return what a release may do.

    ``keys``: the raw keys of the release's keyset; ``data``: the item's own file; ``attached``: the other files by
    path. None in place of bytes: they are gone.
    """
    return examine_item(release, keys, data, attached, options)[0]


def examine_item(
    release: Release,
    keys: Sequence[PublicKey],
    data: bytes | None,
    attached: Mapping[str, bytes | None],
    options: ReadOptions = _INSTALLING,
) -> tuple[Examined, object | None]:
    """Return the same, and the item as the reader of its kind returned it; None if it cannot be read."""
    if data is None:
        gone = tuple(path for path, content in attached.items() if content is None)
        return Examined(capabilities=release.capabilities, problem="its file is gone", unread=gone), None
    found = judge_release_file(release, data, keys, options)
    problem = signer = None
    metadata: Metadata | None
    value: object | None
    if isinstance(found, Refusal):
        problem = found.reason
        metadata, value = _read_anyway(release, data)
    else:
        metadata, value, signer = found.metadata, found.value, found.signer.fingerprint
    heads = [
        (entry.path, entry.executable, entry.sha256, attached.get(entry.path) or b"") for entry in release.attached
    ]
    own = metadata.runs if metadata is not None else ()
    examined = Examined(
        capabilities=tuple(sorted({*release.capabilities, *(metadata.capabilities if metadata is not None else ())})),
        tools=metadata.agent_tools if metadata is not None else None,
        hooks=metadata.hooks if metadata is not None else (),
        runs=tuple(sorted({*own, *attached_runs(heads, data)})),
        problem=problem,
        licence=metadata.licence if metadata is not None else None,
        about=metadata.description if metadata is not None and problem is None else "",
        unread=tuple(entry.path for entry in release.attached if attached.get(entry.path) is None),
        signer=signer,
    )
    return examined, value


def _read_anyway(release: Release, data: bytes) -> tuple[Metadata | None, object | None]:
    """Read a file that clients refuse, as far as possible."""
    try:
        paths = [entry.path for entry in release.attached]
        reading = read_published(release.identity, release.file.suffix, data, paths)
    except RyeError:
        return None, None
    return reading.metadata, reading.value


def facts_of(release: Release, data: bytes | None, attached: Mapping[str, bytes | None]) -> Facts:
    """Return the facts of the item's own file and of attached ones, up to the limit."""
    name = release.file_name
    texts, unread = texts_for_facts(name, {name: data, **attached})
    found: dict[tuple[str, str], Fact] = {}
    for fact in facts_in(texts):
        found.setdefault(fact.key, fact)
    worst_first = sorted(found.values(), key=lambda fact: (-severity(fact.level), fact.fact, fact.path, fact.line))
    return Facts(tuple(worst_first), tuple(unread))


def described(release: Release, examined: Examined, facts: Facts, files: Mapping[str, bytes | None]) -> Description:
    """Describe a release as the client describes it (:mod:`rye.describing`), without its ages, which are of the log."""
    return describe(
        release.identity.kind,
        files,
        release.file_name,
        capabilities=examined.capabilities,
        tools=examined.tools,
        hooks=len(examined.hooks),
        runs=examined.runs,
        mentions=facts.facts,
        licence=examined.licence,
        is_whole=examined.problem is None and not facts.unread,
    )


def texts_for_facts(own: str, files: Mapping[str, bytes | None]) -> tuple[dict[str, str], list[str]]:
    """Return the texts to search for facts, and the paths of files that are left out or gone.

    The item's ``own`` file comes first, then the others from small to large, up to the limit.
    """
    texts: dict[str, str] = {}
    unread = []
    room = PAGES.facts_bytes
    for path, content in sorted(files.items(), key=lambda entry: (entry[0] != own, len(entry[1] or b""))):
        if content is None or len(content) > room:
            unread.append(path)
            continue
        texts[path] = readable_text(content)
        room -= len(content)
    return texts, sorted(unread)


def facts_in(texts: Mapping[str, str]) -> tuple[Fact, ...]:
    """Call :func:`rye.text.facts.find_facts` with a cache: a hostile text costs seconds, and a stage's page uses the facts
    in two places: for what it may do and for what changes."""
    return _facts_in(tuple(sorted(texts.items())))


@lru_cache(maxsize=8)
def _facts_in(texts: tuple[tuple[str, str], ...]) -> tuple[Fact, ...]:
    return facts.find_facts(dict(texts))  # its rules take longest to import of all that a server has: on first use
