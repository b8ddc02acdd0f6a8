"""The table of sorts: everything that distinguishes one sort of thing that needs a yes from another.

A new sort is a row here. Its item asks for it (``asked``), rye.lock has it under a key (``keys``), and everything else has a
default: each value is compared by equality, an update that adds one stops, ``--yes`` suffices for a first installation, and
screens list the texts under ``title``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from rye.consent.ask import Ask, Key, hook_text, run_text, tool_texts
from rye.describing.words import RUN_NAMES, mention_words
from rye.items.agent_tools import from_words, widened
from rye.items.consented import Run

if TYPE_CHECKING:
    from rye.consent.ask import Approved
    from rye.consent.rows import Comes, Row

_LISTED = 3
Values = Mapping[str, tuple[Any, ...]]
"""What one sort has, by the names of its keys."""


def _given(sort: Sort, row: Row) -> Iterable[tuple[str, Any]]:
    return [(sort.text(value), value) for value in row.approved.of(sort.name)]


def _beyond(agreed: Values, wanted: Values) -> list[Any]:
    """The values of ``wanted`` that are not among those of ``agreed``."""
    return [value for name, values in wanted.items() for value in values if value not in agreed.get(name, ())]


def _kept(agreed: Values, wanted: Values) -> Values:
    """What of ``agreed`` still counts for an item that asks for ``wanted``."""
    return {name: tuple(value for value in values if value in wanted.get(name, ())) for name, values in agreed.items()}


def _both(ours: Values, theirs: Values) -> Values:
    """What both sides of a merge approve."""
    return _kept(ours, theirs)


def _why(asks: Sequence[Ask], update: bool) -> str:
    return f"{'adds' if update else 'has'} {asks[0].sort}: {some([ask.text for ask in asks])}"


class Sort(Struct, frozen=True, kw_only=True):
    """One sort."""

    name: str
    keys: tuple[Key, ...] = ()
    """Its lists in rye.lock; the first has the sort's name."""
    asked: Callable[[Comes], Values] = lambda comes: {}
    """What an item asks for. What is not in both a row and a release is compared elsewhere (:mod:`rye.consent.changes`)."""
    text: Callable[[Any], str] = str
    """The text of one value."""
    given: Callable[[Sort, Row], Iterable[tuple[str, Any]]] = _given
    """What a row approves: text and value."""
    of: Callable[[Row], str] = lambda row: str(row.identity)
    """What the approval is remembered for."""
    beyond: Callable[[Values, Values], list[Any]] = _beyond
    """What is asked for beyond what was agreed to."""
    kept: Callable[[Values, Values], Values] = _kept
    """What of an approval still counts for a release that asks for something else."""
    both: Callable[[Values, Values], Values] = _both
    """What two rows both approve."""
    covers: Callable[[Sequence[str], str], bool] | None = None
    """Whether remembered texts cover another text of the same item; None: only an equal text does."""
    is_denied: bool = False
    """Whether an item can be installed without it: it is denied then, and no one is asked again."""
    in_lock: bool = True
    """Whether rye.lock approves it; the others are about the project itself."""
    is_last: bool = False
    """Whether only the last text of an item is remembered: a later one takes its place."""
    title: str = ""
    """The heading above its texts, where a screen lists what rye.lock approves."""
    question: str = ""
    """What the question below a plan calls it."""
    why: Callable[[Sequence[Ask], bool], str] = _why
    """Why a change that asks for these waits for a yes; second: whether it is an update."""
    stops: Callable[[Ask], bool] = lambda ask: True
    """Whether it stops an update, until a person says yes or an approval names the item. For others ``--yes`` is enough."""
    stops_always: Callable[[Ask], bool] = lambda ask: False
    """Whether it stops a first installation as well."""
    extra: Callable[[Any], str] = "something that it does not ask for: {}".format
    """One value that rye.lock approves beyond the release, in the words of a problem."""
    json: str = ""
    """The list of a change that ``--json`` prints it in."""
    document: Callable[[Ask], object] = lambda ask: ask.text
    """One entry of that list."""

    def values(self, approved: Approved) -> Values:
        """What of an approval is of this sort."""
        return {key.name: approved.of(key.name) for key in self.keys}


def some(names: Sequence[str]) -> str:
    """The first names, and how many there are besides."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{', '.join(names[:_LISTED])}{more}"


def _rights_beyond(agreed: Values, wanted: Values) -> list[str]:
    return beyond_patterns(agreed["right"], wanted["right"])


def _rights_kept(agreed: Values, wanted: Values) -> Values:
    beyond = set(beyond_patterns(agreed["right"], wanted["right"]))
    return {"right": tuple(pattern for pattern in wanted["right"] if pattern not in beyond)}


def beyond_patterns(agreed: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The patterns that those of ``agreed`` do not contain, exactly (:mod:`rye.permissions.containment`)."""
    if set(wanted) <= set(agreed):
        return []
    from rye.permissions.containment import diff  # slow to load, and needed only for rights that are not word for word

    return [change.pattern for change in diff(agreed, wanted).widened]


def _tools_beyond(agreed: Values, wanted: Values) -> list[str]:
    return list(widened(from_words(agreed["tool"], agreed["limit"]), from_words(wanted["tool"], wanted["limit"])))


def _tools_kept(agreed: Values, wanted: Values) -> Values:
    return {"tool": (), "limit": ()} if _tools_beyond(wanted, agreed) else agreed


def _tools_both(ours: Values, theirs: Values) -> Values:
    """An approval of tools is only valid with its restrictions."""
    return ours if ours == theirs else {"tool": (), "limit": ()}


def _tools_given(sort: Sort, row: Row) -> Iterable[tuple[str, Any]]:
    """Each text with the tool's name and all tools, which say together what it allows."""
    names, limits = row.approved.of("tool"), row.approved.of("limit")
    tools = from_words(names, limits)
    return zip(tool_texts(names, limits), ((name, tools) for name in names), strict=True)


def _signer_given(sort: Sort, row: Row) -> Iterable[tuple[str, Any]]:
    """No owner vouches for a source's items, so each needs consent; the signer of a registry's items is one per namespace."""
    signer = row.approved.signer_of(row.signer)
    if not signer or (row.source is not None) is not (sort.name == "source"):
        return ()
    return [(row.registry if sort.name == "source" else signer, None)]


def _forced_given(sort: Sort, row: Row) -> Iterable[tuple[str, Any]]:
    return [(row.forced, None)] if row.forced is not None else ()


def _why_rights(asks: Sequence[Ask], update: bool) -> str:
    more = ", …" if len(asks) > 1 else ""
    return f"{'widens its rights' if update else 'asks for rights'} ({asks[0].text}{more})"


def _why_tools(asks: Sequence[Ask], update: bool) -> str:
    return f"{'widens its' if update else 'names'} tools of the agent program ({some([ask.text for ask in asks])})"


def _why_runs(asks: Sequence[Ask], update: bool) -> str:
    verb = "adds or changes" if update else "has"
    named = {what: [_run_name(ask.subject) for ask in asks if ask.subject.what == what] for what in RUN_NAMES}
    return " and ".join(f"{verb} {RUN_NAMES[what]} ({some(names)})" for what, names in named.items() if names)


def _run_name(run: Run) -> str:
    if run.what == "tool-needs":
        return f"{run.where} {run.action}"
    return run.action if run.what == "inline-command" else run.where


def _why_facts(asks: Sequence[Ask], update: bool) -> str:
    return some([f"{mention_words(m)} ({m.path}:{m.line})" for m in (ask.subject for ask in asks)])


def _why_signer(asks: Sequence[Ask], update: bool) -> str:
    return " and ".join(asks[0].subject.reasons)


def _stops_for_signer(ask: Ask) -> bool:
    """What rye.toml brings in may be the user's own line, so ``--yes`` is enough there."""
    return bool(ask.subject.changed or ask.subject.unknown)


def _why_texts(asks: Sequence[Ask], update: bool) -> str:
    return "changes a text that nobody signed"


def _why_losses(asks: Sequence[Ask], update: bool) -> str:
    return f"would lose what customizations say ({some([ask.text for ask in asks])})"


def run_document(run: Run) -> dict[str, str]:
    """One thing that can run, as ``--json`` prints it."""
    return {"what": run.what, "where": run.where, "action": run.action, "sha256": run.sha256}


SORTS: tuple[Sort, ...] = (
    Sort(
        name="right",
        keys=(Key("right", "approved"),),
        asked=lambda comes: {"right": comes.capabilities},
        beyond=_rights_beyond,
        kept=_rights_kept,
        covers=lambda agreed, text: not beyond_patterns(agreed, (text,)),
        title="Rights",
        question="these rights",
        why=_why_rights,
        extra="the right {}, which it does not ask for".format,
        json="asks",
        document=lambda ask: {
            "capability": ask.subject.pattern,
            "tier": str(ask.subject.tier),
            "example": ask.subject.witness,
        },
    ),
    Sort(
        name="hook",
        keys=(Key("hook", "approved-hooks", "hooks"),),
        asked=lambda comes: {"hook": comes.hooks},
        text=hook_text,
        is_denied=True,
        title="Hooks",
        question="these hooks",
        why=lambda asks, update: "adds hooks" if update else "has hooks",
        extra=lambda hook: f"a hook that it does not have: execute {hook.item_type} {hook.item_id}",
        json="hooks",
        document=lambda ask: {
            "when": ask.subject.when,
            "item_type": ask.subject.item_type,
            "item_id": ask.subject.item_id,
            "inputs": dict(ask.subject.inputs),
        },
    ),
    Sort(
        name="tool",
        keys=(Key("tool", "approved-tools"), Key("limit", "approved-limits")),
        asked=lambda comes: {"tool": comes.agent_tools, "limit": comes.agent_limits},
        given=_tools_given,
        beyond=_tools_beyond,
        kept=_tools_kept,
        both=_tools_both,
        title="Tools of the agent program",
        question="these rights",
        why=_why_tools,
        extra="more of the agent program's tools than it asks for: {}".format,
        json="agent_tools",
    ),
    Sort(
        name="run",
        keys=(Key("run", "approved-runs", "runs"),),
        asked=lambda comes: {"run": comes.runs},
        text=run_text,
        title="What can run",
        question="its executable code",
        why=_why_runs,
        extra=lambda run: f"code to run that it does not contain: {run.what} {run.where}",
        json="runs",
        document=lambda ask: run_document(ask.subject),
    ),
    Sort(
        name="fact",
        keys=(Key("fact", "approved-facts"),),
        title="What the texts mention",
        why=_why_facts,
        stops_always=lambda ask: bool(ask.subject.is_alarm),
    ),
    Sort(
        name="signer",
        given=_signer_given,
        of=lambda row: row.identity.namespace,
        title="Keys that sign its items",
        why=_why_signer,
        stops=_stops_for_signer,
    ),
    Sort(
        name="source",
        given=_signer_given,
        title="Items without a publisher's signature, and their sources",
        why=_why_signer,
        stops=_stops_for_signer,
        stops_always=lambda ask: bool(ask.subject.editable),
    ),
    Sort(
        name="unsigned-text",
        in_lock=False,
        is_last=True,
        title="Texts that nobody signed, and that rye.lock moved since you installed here last",
        question="changed texts that nobody signed",
        why=_why_texts,
        stops=lambda ask: False,
    ),
    Sort(
        name="forced",
        given=_forced_given,
        title="Versions that [overrides] of rye.toml forces, whatever other items require",
        why=lambda asks, update: f"is forced by [overrides] of rye.toml ({asks[0].text})",
        stops=lambda ask: False,
    ),
    Sort(
        name="customization-loss",
        title="Customizations that would be lost",
        question="the loss of these customizations",
        why=_why_losses,
        stops_always=lambda ask: True,
        in_lock=False,
        json="lost",
        document=lambda ask: ask.subject.as_json(),
    ),
    Sort(name="text", title="Texts that were approved under older rules, by their hash"),
    Sort(name="state", in_lock=False, is_last=True),
    Sort(name="deploy"),
    Sort(name="customization", in_lock=False),
    Sort(name="customization-state", in_lock=False, is_last=True),
    Sort(name="customization-fact", in_lock=False),
    Sort(name="customization-run", in_lock=False),
    Sort(name="origin", in_lock=False, title="What this project's forks follow with `rye update --origin`"),
    Sort(
        name="own-key",
        in_lock=False,
        title="Keys below .ai/keys that sign this project's own items, which are then used and run",
    ),
    Sort(name="own-files", in_lock=False, title="Files of this project's own items, which no signature covers"),
    Sort(name="project", in_lock=False),
    Sort(name="grant", in_lock=False),
)


def sort_of(name: str) -> Sort | None:
    """The row of a name; None for a name that another version of Rye stored."""
    return _by_name(SORTS).get(name)


def is_last(name: str) -> bool:
    """Whether only the last text of a sort is remembered of each item."""
    sort = sort_of(name)
    return sort is not None and sort.is_last


def row_of(ask: Ask) -> Sort:
    """The row of what a change asks for."""
    return _by_name(SORTS)[ask.sort]


def approves_nothing(approved: Approved) -> bool:
    """Whether a row approves nothing that could not be denied, as if another version of Rye wrote it."""
    return not any(approved.of(sort.name) for sort in SORTS if not sort.is_denied)


def lock_keys() -> tuple[Key, ...]:
    """The keys of rye.lock that approve something."""
    return _keys(SORTS)


def approvals(rows: Iterable[Row]) -> frozenset[Ask]:
    """Everything that these rows approve. A row that ``rye lock`` wrote and no one installed keeps the earlier approvals."""
    return frozenset(
        Ask(sort.of(row), sort.name, text, subject)
        for row in rows
        for sort in SORTS
        for text, subject in sort.given(sort, row)
    )


def of_the_lock(asks: Iterable[Ask]) -> list[Ask]:
    """Those that rye.lock approves, without those about customizations, grants and the project."""
    return [ask for ask in asks if (sort := sort_of(ask.sort)) is not None and sort.in_lock]


@lru_cache(maxsize=2)
def _by_name(sorts: tuple[Sort, ...]) -> dict[str, Sort]:
    return {sort.name: sort for sort in sorts}


@lru_cache(maxsize=2)
def _keys(sorts: tuple[Sort, ...]) -> tuple[Key, ...]:
    return tuple(key for sort in sorts for key in sort.keys)
