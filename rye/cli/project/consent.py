"""The one screen before anything is written: what changes, who signed it, what it may do, and what needs a yes (DESIGN §7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from rye.cli.console import TIER_STYLE, Console, counted, one_line
from rye.consent.ask import Ask
from rye.consent.sorts import SORTS, of_the_lock, row_of
from rye.installation.plan import ItemChange, Plan, by_tier, gather_mentions
from rye.items.agent_tools import shown
from rye.items.consented import HookAction, Run
from rye.layout import Cell
from rye.permissions.risk import Tier, tiers, tools_tier
from rye.workspace.installing.install_request import Proposal
from rye.workspace.trusting.project_changes import shown_lines

_VERBS = {
    "add": ("+", "added"),
    "update": ("^", "info"),
    "downgrade": ("v", "warning"),
    "replace": ("~", "warning"),
    "remove": ("-", "removed"),
    "keep": ("=", "dim"),
}


def show_proposal(console: Console, proposal: Proposal) -> None:
    """Print the lock's approvals that the user has not seen, the plan, and the warnings about it."""
    show_unseen(console, proposal.unseen)
    if proposal.plan is not None:
        show_plan(console, proposal.plan, proposal.time)
    if proposal.notes:
        console.gap()
    for note in proposal.notes:
        console.warn(one_line(note))
    if proposal.plan is not None:
        _show_counts(console, proposal.plan)


_FIRST = ("signer", "source", "right", "hook", "run")
"""The sorts that are listed before the others."""
_WITH_LINES = frozenset(("right", "hook", "tool", "run", "fact", "signer", "source", "forced"))
"""The sorts that the plan shows in their own way."""


def show_unseen(console: Console, unseen: Sequence[Ask]) -> None:
    """Print what the user has not agreed to: first what the project changes about installed items, then what rye.lock, the
    team's record, approves."""
    for number, line in enumerate(shown_lines(unseen)):
        console.tell((one_line(line), None if number else "strong"), hang=4, wide=True)
    brought = [one for one in unseen if one.sort == "customization-fact"]
    if brought:
        console.say("  With these changes, the items mention:")
    for one in brought:
        console.tell((f"    {one_line(one.text)}   {one.item}", "warning"), hang=8, wide=True)
    if of_the_lock(unseen):
        console.say(
            "This project's rye.lock approves the following, which you have not agreed to on this machine:", "strong"
        )
    levels = tiers(one.text for one in unseen if one.sort == "right")
    titled = {sort.name: sort.title for sort in SORTS if sort.title}
    for what, title in ({name: titled[name] for name in _FIRST} | titled).items():
        rows = [one for one in unseen if one.sort == what]
        if rows:
            console.tell(f"  {title}:")
        if what == "right":
            rows.sort(key=lambda one: levels[one.text], reverse=True)
        room = _shared_width(console, (one_line(one.text) for one in rows))
        for one in rows:
            level = levels[one.text] if what == "right" else None
            style = TIER_STYLE[str(level)] if level is not None else "error" if what == "source" else None
            before = f"{level!s:<12} " if level is not None else ""
            console.tell((f"    {before}{one_line(one.text):<{room}}   {one.item}", style), hang=8, wide=True)


def show_plan(console: Console, plan: Plan, time: datetime) -> None:
    """Print the changes item by item, then what their texts mention, all rights by tier, and hooks."""
    seen: set[object] = set()
    for change in plan.effective:
        _show_item(console, change)
        _show_signer(console, change, time, seen)
        _show_tools(console, change)
        _show_runs(console, change)
        _show_others(console, change)
    _show_mentions(console, plan)
    _show_rights(console, plan)
    _show_hooks(console, plan)


def _show_item(console: Console, change: ItemChange) -> None:
    sign, style = _VERBS[change.action]
    versions = list(dict.fromkeys(item.version for item in (change.old, change.new) if item is not None))
    console.tell((f"  {sign} {change.identity} {' → '.join(versions)}", style))
    if change.forced is not None:
        console.tell((f"      forced by [overrides] of rye.toml: {one_line(change.forced)}", "warning"))
    elif change.forces_anew:
        console.say("      no longer forced by [overrides] of rye.toml", "dim")


def _show_signer(console: Console, change: ItemChange, time: datetime, seen: set[object]) -> None:
    """Print the signer, the key's age and, if the registry changed, the old and new one. An entry that ``rye lock`` wrote is
    treated like any other change. ``seen``: signers already described on this screen; repetition would hide what differs."""
    old, new = change.old, change.new
    if new is None or (change.action == "keep" and old is not None and not old.approved.is_pending):
        return
    history = change.history
    if change.signed_before is not None:
        before = one_line(change.signed_before)
        style = "error" if new.is_unsigned else "warning"
        console.tell((f"{_bang(new.is_unsigned)}{one_line(new.how_signed)}, previously {before}", style))
        if history is not None and history.old_key is not None:
            console.tell(
                (f"      the new key is in keyset {history.keyset}; the old key: {history.old_key}", "warning")
            )
    elif new.source is None and history is not None and (said := _said_of_signer(change)) in seen:
        released = _age(history.released, time, "ago")
        console.tell((f"      {one_line(new.how_signed)} as above, released {released}", "dim"))
        history = None
    else:
        if new.source is None and history is not None:
            seen.add(said)
        mark = "  (new to this project)" if change.signer_new else ""
        who = "source" if new.source is not None else "signer"
        mark += f"  (you never agreed to this {who} before)" if change.signer_unknown else ""
        style = "error" if new.is_unsigned else "dim"
        console.tell((f"{_bang(new.is_unsigned)}{one_line(new.how_signed)}", style), (mark, "warning"), hang=8)
    if new.source is not None:
        where = f"{new.registry}{f' ({new.source.ref})' if new.source.ref else ''}, {new.source.place}"
        console.tell((f"      from {one_line(where)}", "dim"))
    if history is not None:
        released = _age(history.released, time, "ago")
        key, namespace = (_age(since, time, "old") for since in (history.key_since, history.namespace_since))
        console.tell((f"      released {released}, key {key}, namespace {namespace}", "dim"))
    if old is not None and old.registry != new.registry:
        kind = "" if new.source is not None else "the registry "
        moved = f"      from {kind}{one_line(new.registry)}, previously from {one_line(old.registry)}"
        console.say(moved, "warning")


def _said_of_signer(change: ItemChange) -> object:
    """Everything that the screen says about an item's signer, except when the item was released."""
    new, history = change.new, change.history
    assert new is not None
    assert history is not None
    ages = (history.key_since, history.namespace_since)
    return change.identity.namespace, new.signed_by, new.registry, change.signer_new, change.signer_unknown, ages


def _age(then: datetime, now: datetime, word: str) -> str:
    """The time since ``then`` in the largest unit with at least two, and ``word``: ``3 days ago``, ``3 days old``."""
    minutes = int((now - then).total_seconds()) // 60
    for unit, size in (("years", 525_600), ("months", 43_800), ("days", 1_440), ("hours", 60), ("minutes", 1)):
        if minutes >= 2 * size:
            return f"{minutes // size} {unit} {word}"
    return "just now" if minutes >= 0 else "dated in the future"


def _show_tools(console: Console, change: ItemChange) -> None:
    """Print tools of the agent program with their restrictions, never translated (DECISIONS Skills 3)."""
    tools = change.new.tools if change.new is not None else None
    if tools is None or (change.action == "keep" and not change.of("tool")):
        return
    risk = tools_tier(tools)
    listed = ", ".join(map(one_line, shown(tools))) or "none"
    console.tell((f"      tools of the agent program: {listed}", TIER_STYLE[str(risk)] if risk else None))
    if risk is Tier.UNRESTRICTED:
        console.tell((f"{_bang(True)}unrestricted: it may run any command", "error"))
    if change.old is not None:
        for wider in change.of("tool"):
            console.tell((f"      new: {one_line(wider)}", "warning"))


def _bang(bad: bool) -> str:
    """The start of a line about an item. Bad news gets a ``!``, which also shows without colour."""
    return "    ! " if bad else "      "


_RUN_WORDS = {
    "attached-file": "executable file",
    "frontmatter-hook": "hook of the agent program",
    "mcp-server": "MCP server",
    "inline-command": "command that runs on loading",
    "tool-code": "code",
    "tool-needs": "needs beyond the sandbox,",
}


def _show_runs(console: Console, change: ItemChange) -> None:
    """Print everything that can run and is not yet approved, each by name."""
    for run in change.of("run"):
        console.tell((f"      {run_line(run)}{_run_mark(change, run)}", "warning"))


def run_line(run: Run) -> str:
    """What can run, where, and the exact action, on one line."""
    return f"{_RUN_WORDS[run.what]} {one_line(run.where)}: {one_line(run.action)}"


def _show_others(console: Console, change: ItemChange) -> None:
    """Print what else it asks for, by the headings of the table of sorts."""
    for ask in change.asks:
        if ask.sort not in _WITH_LINES:
            console.tell((f"      {row_of(ask).title}: {one_line(ask.text)}", "warning"))


def _run_mark(change: ItemChange, run: Run) -> str:
    if change.old is None:
        return ""
    same = any((known.what, known.where) == (run.what, run.where) for known in change.old.approved.of("run"))
    return " (changed)" if same and run.what in ("attached-file", "tool-code") else " (new)"


def _show_mentions(console: Console, plan: Plan) -> None:
    """Print the cautions and alarms of the texts, alarms first: what a text mentions is not a verdict on it. The same mention in
    several places is one line with its places below, so that repetition does not hide the others."""
    gathered = gather_mentions(plan.effective)
    if gathered:
        console.gap()
        console.say("What the texts mention:", "strong")
    for one in gathered:
        places = [
            one_line(f"{place.item}, {place.path}:{', '.join(map(str, place.lines))}{' (new)' * place.new}")
            for place in one.places
        ]
        alone = f"   {places[0]}" if len(places) == 1 else ""
        said = f"{'  ! ' if one.is_alarm else '    '}{one.fact}: {one_line(one.value)}"
        console.tell((said, "error" if one.is_alarm else "warning"), alone, hang=8)
        for place in () if alone else places:
            console.tell(f"      {place}", hang=8)


def _show_rights(console: Console, plan: Plan) -> None:
    asked = by_tier(plan.changes)
    room = _shared_width(console, (_asked(change, right.pattern) for rows in asked.values() for change, right in rows))
    if asked:
        console.gap()
        console.say("Rights asked for:", "strong")
    for level, rows in asked.items():
        console.tell((f"  {level}", TIER_STYLE[str(level)]))
        for change, right in rows:
            example = f"   e.g. {one_line(right.witness)}" if right.witness and right.witness != right.pattern else ""
            asks = (
                f"    {_asked(change, right.pattern):<{room}}",
                None if level is Tier.SAFE else TIER_STYLE[str(level)],
            )
            console.tell(asks, f"   {change.identity.id}", (example, "dim"), hang=8, wide=True)


def _asked(change: ItemChange, pattern: str) -> str:
    return one_line(pattern) + (" (beyond what was approved)" if change.old is not None else "")


_WIDEST_COLUMN = 48


def _shared_width(console: Console, texts: Iterable[str]) -> int:
    """The width that aligns what follows these texts; texts that are too long for it are not counted."""
    most = min(_WIDEST_COLUMN, console.width // 2)
    return max((len(text) for text in texts if len(text) <= most), default=0)


def _show_counts(console: Console, plan: Plan) -> None:
    """Sum up what several items ask for, or one that fills the screen, the worst first, in one line above the question."""
    changes = plan.effective
    if len(changes) < 2 and _lines(changes) <= _SCREEN:
        return
    asked = by_tier(changes)
    news = gather_mentions(changes, only_new=True)
    commands = sum(
        tools_tier(change.new.tools) is Tier.UNRESTRICTED for change in changes if change.new and change.of("tool")
    )
    alarms = sum(one.is_alarm for one in news)
    told: list[tuple[int, str, str, str | None]] = [
        (commands, "may run any command", "may run any command", "error"),
        *((len(rows), f"{level} right", f"{level} rights", TIER_STYLE[str(level)]) for level, rows in asked.items()),
        (alarms, "alarm", "alarms", "error"),
        (len(news) - alarms, "caution", "cautions", "warning"),
        (sum(len(change.of("run")) for change in changes), "thing that can run", "things that can run", "warning"),
        (sum(len(change.of("hook")) for change in changes), "hook", "hooks", "warning"),
        (len({_signer(c) for c in changes if c.signer_unknown}), "unknown signer", "unknown signers", "warning"),
        (sum(change.signer_changed for change in changes), "change of signer", "changes of signer", "warning"),
    ]
    console.gap()
    spans: list[Cell] = [(counted(len(changes), "item"), "strong")]
    for number, one, more, style in told:
        if number:
            spans.extend([":  " if len(spans) == 1 else "  ", (f"{number} {one if number == 1 else more}", style)])
    console.tell(*spans)


_SCREEN = 16
"""After this many lines of authors' text, the first ones may have scrolled out of sight when the question is asked."""


def _lines(changes: Sequence[ItemChange]) -> int:
    """About how many lines of a terminal the authors' texts on this screen take."""
    texts = [right.pattern for change in changes for right in change.of("right")]
    texts += [run.action for change in changes for run in change.of("run")]
    texts += [mention.value for change in changes for mention in change.mentions]
    hooks = [hook for change in changes for hook in change.of("hook")]
    texts += [
        text for hook in hooks for text in (hook.when, hook.item_id, *(f"{name}{text}" for name, text in hook.inputs))
    ]
    return sum(1 + len(one_line(text)) // 80 for text in texts)


def _signer(change: ItemChange) -> str:
    return change.new.signed_by if change.new is not None else ""


def _show_hooks(console: Console, plan: Plan) -> None:
    hooks = [(change, hook) for change in plan.changes for hook in change.of("hook")]
    if hooks:
        console.gap()
        console.say("Hooks, denied until approved:", "strong")
    for change, hook in hooks:
        show_hook(console, hook, f"    {change.identity.id}: ", "      ")


def show_hook(
    console: Console, hook: HookAction, before: str = "", indent: str = "  ", style: str | None = None
) -> None:
    """A hook's condition, exact action and inputs. ``before``: the start of its first line."""
    console.tell((f"{before}when {one_line(hook.when)}", style))
    console.tell(f"{indent}execute {one_line(hook.item_type)} {one_line(hook.item_id)}")
    for name, text in hook.inputs:
        console.tell(f"{indent}  {one_line(name)} = {one_line(text)}")


def question(proposal: Proposal) -> str:
    """The question below the screen."""
    plan = proposal.plan
    if plan is None or not proposal.waiting:
        return question_about(proposal.unseen)
    asked = {ask.sort for change in plan.changes for ask in change.asks}
    named = dict.fromkeys(sort.question for sort in SORTS if sort.question and sort.name in asked)
    *first, last = list(named) or [""]
    with_them = f"{', '.join(first)} and {last}" if first else last
    return f"Install this, with {with_them}?" if with_them else "Install this?"


def question_about(unseen: Sequence[Ask]) -> str:
    """The question below :func:`show_unseen`."""
    changes = any(one.sort in ("customization", "grant") for one in unseen)
    if not changes:
        return "Agree to what rye.lock approves?"
    return (
        "Agree to what rye.lock approves, and to these changes?" if of_the_lock(unseen) else "Agree to these changes?"
    )


def changed_counts(changes: Iterable[ItemChange]) -> str:
    """``added 2, removed 1``; empty if nothing changed."""
    names = {"add": "added", "update": "updated", "downgrade": "downgraded", "replace": "replaced", "remove": "removed"}
    actions = [change.action for change in changes]
    counts = {said: actions.count(action) for action, said in names.items()}  # type: ignore[arg-type]
    return ", ".join(f"{said} {count}" for said, count in counts.items() if count)
