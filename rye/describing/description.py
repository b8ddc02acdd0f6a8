"""What an item may do, what of it can run, what its texts mention, its licence and its size, as one value. Pure.

The consent screen, ``rye info``, the registry's pages and its feeds all make this value from an item's own bytes, and say it with
:mod:`rye.describing.words`. So they cannot disagree about an item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from rye.items.agent_tools import shown
from rye.items.kinds import KINDS
from rye.limits import DESCRIBING
from rye.permissions.risk import Tier, highest, tools_tier
from rye.text.facts.fact import ALARM, CAUTION

if TYPE_CHECKING:
    from rye.items.agent_tools import AgentTools
    from rye.items.consented import Run, RunKind


RUN_ORDER: tuple[RunKind, ...] = (
    "inline-command",
    "frontmatter-hook",
    "mcp-server",
    "tool-needs",
    "tool-code",
    "attached-file",
)
"""Kinds of runs: what starts by itself before what must be started."""


class Ages(Struct, frozen=True):
    """Since when there is a release, its signing key in the namespace, and the namespace."""

    released: datetime
    key_since: datetime
    namespace_since: datetime


class Dated(Protocol):
    """What is known of a release's signer (:class:`rye.registry.trust.records.SignerHistory`)."""

    @property
    def released(self) -> datetime:
        """The time in the release's note."""

    @property
    def key_since(self) -> datetime:
        """When its key first appeared in a keyset of the namespace."""

    @property
    def namespace_since(self) -> datetime:
        """When the namespace was claimed."""


def ages_of(history: Dated | None) -> Ages | None:
    """Return the ages of a release; None without its history."""
    return Ages(history.released, history.key_since, history.namespace_since) if history is not None else None


class Description(Struct, frozen=True, kw_only=True):
    """What people are told about one version of an item."""

    declared: bool | None
    """Whether something limits what it may use: rights that Rye keeps it to, or tools that it names for the agent program. None:
    the question does not arise, since it only names other items."""
    capabilities: tuple[str, ...] = ()
    """The rights that it asks for, sorted."""
    tier: str | None = None
    """The highest tier of its rights and tools; None if it has neither."""
    tools: tuple[str, ...] | None = None
    """The agent program's tools that it names, and its restrictions of them, in words; None: it names none."""
    any_command: bool = False
    """Whether these tools allow any command of a shell."""
    hooks: int = 0
    runs: tuple[tuple[str, int], ...] = ()
    """How many parts can run, by kind of run, in the order in which they are listed."""
    alarms: int = 0
    cautions: int = 0
    licence: str | None = None
    """As its file states it; None: it does not."""
    bytes: int = 0
    """Bytes of its text: its own file and all attached files that are text."""
    files: int = 0
    """Attached files."""
    other_bytes: int = 0
    """Bytes of the attached files that are not text."""
    is_whole: bool = True
    """Whether all of its files could be read and searched."""
    ages: Ages | None = None
    """None: nobody signed it for a registry."""
    is_gone: bool = False
    """Whether its own file's bytes are gone, so that only what its release note says is known."""

    @property
    def tokens(self) -> int:
        """About how many tokens a model reads if it reads all of the text."""
        return tokens_in(self.bytes)

    @property
    def run_count(self) -> int:
        """How many parts can run."""
        return sum(count for _, count in self.runs)


class Mentioned(Protocol):
    """A fact or a mention of a text."""

    @property
    def level(self) -> str:
        """``note``, ``caution`` or ``alarm``."""


def describe(
    kind: str,
    files: Mapping[str, bytes | None],
    own: str,
    *,
    capabilities: Iterable[str] = (),
    tools: AgentTools | None = None,
    hooks: int = 0,
    runs: Iterable[Run] = (),
    mentions: Iterable[Mentioned] = (),
    licence: str | None = None,
    is_whole: bool = True,
    ages: Ages | None = None,
) -> Description:
    """Describe an item.

    ``files``: all its files by path, None for bytes that are gone; ``own``: which of them is its own; ``mentions``: each thing
    that the texts mention, once; ``is_whole``: whether all files were searched for them.
    """
    asked = tuple(sorted(set(capabilities)))
    tiers = [tier for tier in (highest(asked) if asked else None, tools_tier(tools)) if tier is not None]
    levels = Counter(mention.level for mention in mentions)
    kinds = Counter(run.what for run in runs)
    read = {path: data for path, data in files.items() if data is not None}
    text = sum(len(data) for data in read.values() if is_text(data))
    declared = is_declared(kind, asked, tools)
    return Description(
        declared=declared,
        capabilities=asked,
        tier=str(max(tiers)) if tiers else None,
        tools=shown(tools) if tools is not None and declared else None,
        any_command=declared is True and tools_tier(tools) is Tier.UNRESTRICTED,
        hooks=hooks,
        runs=tuple((what, kinds[what]) for what in RUN_ORDER if kinds[what]),
        alarms=levels[ALARM],
        cautions=levels[CAUTION],
        licence=licence,
        bytes=text,
        files=len(files) - (own in files),
        other_bytes=sum(map(len, read.values())) - text,
        is_whole=is_whole and len(read) == len(files),
        ages=ages,
        is_gone=own in files and files[own] is None,
    )


def is_declared(kind: str, capabilities: Sequence[str], tools: AgentTools | None) -> bool | None:
    """Whether something limits an item; None for one whose members say it."""
    row = KINDS.get(kind)
    limited = row.limited if row is not None else "by its tools"
    if limited == "to its members":
        return None
    return (
        limited == "by Rye"
        or bool(capabilities)
        or (tools is not None and (tools.allowed is not None or bool(tools.limits)))
    )


def tokens_in(size: int) -> int:
    """Return about how many tokens so many bytes of text are: one for four bytes of UTF-8, which fits English and, with three
    bytes a letter, Chinese and Japanese too."""
    return -(-size // DESCRIBING.bytes_a_token)


def is_text(data: bytes) -> bool:
    """Whether these are the bytes of a text: UTF-8 without a NUL."""
    if b"\0" in data:
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


class Total(Struct, frozen=True, kw_only=True):
    """What several items may do together."""

    items: int
    undeclared: int
    any_command: int
    rights: tuple[tuple[str, int], ...]
    """How many items ask for rights, by the highest tier of each, the worst first."""
    hooks: int
    runs: int
    alarms: int
    cautions: int
    bytes: int
    is_whole: bool

    @property
    def tokens(self) -> int:
        """About how many tokens all of the text is."""
        return tokens_in(self.bytes)


def together(descriptions: Iterable[Description]) -> Total:
    """Add up several descriptions."""
    every = tuple(descriptions)
    asked = Counter(one.tier for one in every if one.capabilities and one.tier is not None)
    return Total(
        items=len(every),
        undeclared=sum(one.declared is False for one in every),
        any_command=sum(one.any_command for one in every),
        rights=tuple((str(tier), asked[str(tier)]) for tier in reversed(Tier) if asked[str(tier)]),
        hooks=sum(one.hooks for one in every),
        runs=sum(one.run_count for one in every),
        alarms=sum(one.alarms for one in every),
        cautions=sum(one.cautions for one in every),
        bytes=sum(one.bytes for one in every),
        is_whole=all(one.is_whole for one in every),
    )


def counted_document(description: Description | None) -> dict[str, Any]:
    """The fields of a description in the JSON of every surface; null where it is not known."""
    if description is None:
        return dict.fromkeys(COUNTED)
    return {name: getattr(description, name) for name in COUNTED}


COUNTED = ("declared", "alarms", "cautions", "licence", "bytes", "tokens")
"""These fields."""
