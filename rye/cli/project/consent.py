"""The one screen before anything is written: what changes, who signed it, what it may do, and what needs a yes (DESIGN §7).

What counts cannot be pushed out of sight by more of the same. On a terminal, of more than ten things of one kind two are
examples and the others a number; alarms stand last, in at most :data:`_ALARM_ROWS` rows directly above the question, below
one line that counts everything. ``d`` at the question shows everything with the texts, ``f`` the attached files. Elsewhere
nothing is left out. Only where nobody is asked, because ``--yes`` was given and answers all that it may, a change of more than
:attr:`~rye.limits.ConsentLimits.whole_items` items is summed up in a screen or two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from rye.cli.console import TIER_STYLE, Console, counted, one_line
from rye.cli.project.consent_items import show_items
from rye.cli.project.consent_screen import EXAMPLES, Screen, shared_width, show_hook
from rye.cli.project.consent_unseen import OWN, is_alarm, show_unseen
from rye.cli.shown_texts import lines_of, show_lines, show_texts, title_of
from rye.consent.ask import Ask
from rye.consent.sorts import SORTS, of_the_lock
from rye.describing.right_words import right_words
from rye.describing.words import fact_words
from rye.installation.plan import GatheredMention, ItemChange, Plan, by_tier, gather_mentions
from rye.layout import Cell, cut, flow
from rye.limits import CONSENT, OVERRIDES
from rye.permissions.risk import Tier, tools_tier
from rye.workspace.installing.install_request import Proposal

_COMPARED = "what is installed"


def show_proposal(console: Console, proposal: Proposal, *, asks: bool = False, is_agreed: bool = False) -> None:
    """Print what the user has not seen of the lock and the project, the plan, the warnings about it, and the alarms last.

    ``asks``: whether a question follows that answers ``d`` with :func:`show_whole`. ``is_agreed``: whether nothing of it needs a
    yes any more, with ``--yes``.
    """
    more = "`d` shows all" if asks else "-v shows all"
    count = len(proposal.plan.effective) if proposal.plan is not None else 0
    sums_up = is_agreed and not asks and not console.verbose and count > CONSENT.whole_items
    _show(Screen(console, folds=console.folds, sums_up=sums_up, more=more, answers_d=asks), proposal)


def show_whole(console: Console, proposal: Proposal) -> None:
    """Print the texts of the items, of updated ones what changes, and then the proposal with nothing left out."""
    if texts := [text for text in proposal.texts if not text.path]:
        show_texts(console, texts, _COMPARED)
    _show(Screen(console, folds=False, whole=True), proposal)


def show_files(console: Console, proposal: Proposal) -> None:
    """Print the attached files, of those that are replaced what changes, and then the alarms."""
    show_texts(console, [text for text in proposal.texts if text.path], _COMPARED)
    _show_alarms(Screen(console, folds=console.folds, more="`d` shows all"), proposal)


def _show(screen: Screen, proposal: Proposal) -> None:
    console = screen.console
    if proposal.unseen:
        show_unseen(screen, proposal.unseen, proposal.undeclared)
    if proposal.plan is not None:
        show_items(screen, proposal.plan, proposal.time, proposal.changed)
        _show_cautions(screen, proposal.plan)
        _show_rights(screen, proposal.plan)
        _show_hooks(screen, proposal.plan)
        _show_losses(screen, proposal.plan)
        _show_unsigned(screen, proposal)
    notes = [one_line(note) for note in proposal.notes]
    if notes:
        console.gap()
    if screen.folds and len(notes) > 1:
        kept = screen.kept(notes)
        more = f" And {len(notes) - len(kept)} more: {screen.more}." if len(kept) < len(notes) else ""
        console.warn(" ".join(note if note.endswith((".", "!", "?")) else f"{note}." for note in kept) + more)
    else:
        for note in notes:
            console.warn(note)
    if proposal.plan is not None:
        _show_counts(screen, proposal.plan)
    _show_alarms(screen, proposal)


def _show_cautions(screen: Screen, plan: Plan) -> None:
    """Print the cautions of the texts: what a text mentions is not a verdict on it. The same mention in several places is one
    line with its places below, so that repetition does not hide the others."""
    gathered = [one for one in gather_mentions(plan.effective) if not one.is_alarm]
    if gathered:
        screen.console.gap()
        screen.console.say("What the texts mention:", "strong")
    shared = {f"{change.identity.kind}:{change.identity.namespace}/" for change in plan.effective}
    start = shared.pop() if screen.folds and len(shared) == 1 and len(plan.effective) > 1 else ""

    def show(one: GatheredMention, indent: int = 4) -> None:
        places = tuple(place.removeprefix(start) for place in _places(one))
        kept = tuple(screen.kept(places))
        more = f"and {len(places) - len(kept):,} more places" if len(kept) < len(places) else ""
        said = one_line(one.value) if indent > 4 else _mentioned(one)
        _show_places(screen.console, f"{' ' * indent}{said}", "warning", (*kept, more) if more else kept)

    for same in screen.by_kind(gathered, lambda one: one.fact):
        if screen.sums_up:
            places = sum(len(one.places) for one in same)
            example = f"   {_mentioned(same[0]).removeprefix(f'{_word(same[0])}: ')}   {_places(same[0])[0]}"
            line = cut(
                f"    {_word(same[0])}: {counted(places, 'place')}, for example{example}", screen.console.width - 1
            )
            screen.console.tell((line, "warning"), hang=8, wide=True)
        elif screen.folds and len(same) > 1:
            screen.console.say(f"    {_word(same[0])}:", "warning")
            screen.rows(same, partial(show, indent=6), _word(same[0]), 6)
        else:
            screen.rows(same, show, _word(same[0]), 4)


def _word(one: GatheredMention) -> str:
    """What a fact says, in the words that pages have for it."""
    return fact_words(one.fact, "alarm" if one.is_alarm else "caution")


def _mentioned(one: GatheredMention) -> str:
    return f"{_word(one)}: {one_line(one.value)}"


def _places(one: GatheredMention) -> tuple[str, ...]:
    return tuple(
        one_line(f"{place.item}, {place.path}:{', '.join(map(str, place.lines))}{' (new)' * place.new}")
        for place in one.places
    )


def _show_places(console: Console, said: str, style: str, places: Sequence[str]) -> None:
    """Print a mention with its one place, or with its places below."""
    alone = f"   {places[0]}" if len(places) == 1 else ""
    console.tell((said, style), alone, hang=8, wide=True)
    for place in () if alone else places:
        console.tell(f"      {place}", hang=8)


def _show_rights(screen: Screen, plan: Plan) -> None:
    console, asked = screen.console, by_tier(plan.changes)
    room = shared_width(
        console,
        (_asked(change, right.pattern) for rows in asked.values() for change, right in screen.kept(rows)),
    )
    if asked:
        console.gap()
        console.say("Rights asked for:", "strong")
    for level, rows in asked.items():
        console.tell((f"  {level}", TIER_STYLE[str(level)]))
        style = None if level is Tier.SAFE else TIER_STYLE[str(level)]

        def show(row: tuple[ItemChange, Any], style: str | None = style) -> None:
            change, right = row
            example = f"   e.g. {one_line(right.witness)}" if right.witness and right.witness != right.pattern else ""
            asks = f"    {_asked(change, right.pattern):<{room}}", style
            console.tell(asks, f"   {change.identity.id}", (example, "dim"), hang=8, wide=True)
            console.tell((f"      {right_words(right.pattern)}", "dim"), hang=8, wide=True)

        screen.rows(rows, show, f"{level} rights", 4)


def _asked(change: ItemChange, pattern: str) -> str:
    return one_line(pattern) + ("" if change.is_first else " (beyond what was approved)")


def _show_hooks(screen: Screen, plan: Plan) -> None:
    console = screen.console
    hooks = [(change, hook) for change in plan.changes for hook in change.of("hook")]
    if hooks:
        console.gap()
        console.say("Hooks, denied until approved:", "strong")
    screen.rows(hooks, lambda row: show_hook(console, row[1], f"    {row[0].identity.id}: ", "      "), "hooks", 4)


_LOST_LINES = 40
"""The most lines of lost text that a terminal shows before the question."""


def _show_losses(screen: Screen, plan: Plan) -> None:
    """Print what customizations would lose: for each its place, what happens to it, and its text."""
    console, left = screen.console, _LOST_LINES
    losses = [(change, loss) for change in plan.effective for loss in change.of("customization-loss")]
    if losses:
        console.gap()
        console.say("Customizations that would be lost:", "error")

    def show(row: tuple[ItemChange, Any]) -> None:
        nonlocal left
        change, loss = row
        console.tell((f"  ! {one_line(str(loss))}", "error"), f"   {change.identity}", hang=8)
        text = loss.text[:left] if screen.folds else loss.text
        for line in text:
            console.tell((f"      - {one_line(line)}".rstrip(), "removed"), hang=8)
        if len(text) < len(loss.text):
            screen.has_folded = True
            screen.left_out(len(loss.text) - len(text), f"lines of {one_line(loss.shown)}", 6)
        left -= len(text)

    screen.rows(losses, show, "lost customizations", 4)


def _show_unsigned(screen: Screen, proposal: Proposal) -> None:
    """Print the lines that change in texts that nobody signed: on a terminal, whether it asks or not. Before the answer to ``d``
    they have been shown."""
    if proposal.plan is None or screen.whole or not (screen.folds or screen.answers_d):
        return
    named = {f"{c.identity} {c.new.version}" for c in proposal.plan.effective if c.new and c.of("unsigned-text")}
    named |= {f"{one.item} {one.subject.row.version}" for one in proposal.unseen if one.sort == "unsigned-text"}
    texts = [text for text in proposal.texts if text.item in named and text.before != text.data]
    if not texts:
        return
    console, left, hidden = screen.console, OVERRIDES.shown_diff_lines, 0
    console.gap()
    console.say("Changed texts that nobody signed:", "error")
    for text in texts:
        lines = lines_of(text)
        kept = lines[:left] if lines is not None and screen.folds else lines
        if kept or lines is None:
            console.tell((f"  {title_of(text)}:", "strong"), hang=4, wide=True)
            show_lines(console, text, kept)
        shown = len(kept or ())
        left, hidden = left - shown, hidden + len(lines or ()) - shown
    if hidden:
        screen.has_folded = True
        where = "`d` shows them" if screen.answers_d else "`rye diff ID` shows them"
        if any(text.path for text in texts) and screen.answers_d:
            where += ", `f` those of attached files"
        console.say(f"  and {counted(hidden, 'more line')}: {where}", "warning")


def _show_counts(screen: Screen, plan: Plan) -> None:
    """Sum up what several items ask for, or one that fills the screen, the worst first, in one line above the alarms."""
    changes, console = plan.effective, screen.console
    if len(changes) < 2 and _lines(changes) <= _SCREEN and not screen.has_folded:
        return
    asked = by_tier(changes)
    news = gather_mentions(changes, only_new=True)
    commands = sum(
        tools_tier(change.new.tools) is Tier.UNRESTRICTED for change in changes if change.new and change.of("tool")
    )
    alarms = sum(one.is_alarm for one in news)
    added = (c.description for c in changes if c.is_first)
    undeclared = sum(one is not None and one.declared is False for one in added)
    told: list[tuple[int, str, str, str | None]] = [
        (sum(len(c.of("customization-loss")) for c in changes), "lost customization", "lost customizations", "error"),
        (commands, "may run any command", "may run any command", "error"),
        *((len(rows), f"{level} right", f"{level} rights", TIER_STYLE[str(level)]) for level, rows in asked.items()),
        (alarms, "alarm", "alarms", "error"),
        (len(news) - alarms, "caution", "cautions", "warning"),
        (sum(len(change.of("run")) for change in changes), "thing that can run", "things that can run", "warning"),
        (sum(len(change.of("hook")) for change in changes), "hook", "hooks", "warning"),
        (undeclared, "not declared", "not declared", "warning"),
        (sum(c.new.is_unsigned for c in changes if c.new and c.of("source")), "not signed", "not signed", "error"),
        (
            sum(len(change.of("unsigned-text")) for change in changes),
            "changed text that nobody signed",
            "changed texts that nobody signed",
            "error",
        ),
        (
            len({_signer(c) for c in changes if c.signer_unknown and not c.of("source")}),
            "unknown signer",
            "unknown signers",
            "warning",
        ),
        (
            len({c.new.registry for c in changes if c.new and c.signer_unknown and c.of("source")}),
            "new source",
            "new sources",
            "warning",
        ),
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
    texts += [right_words(right) for right in texts]
    texts += [run.action for change in changes for run in change.of("run")]
    texts += [mention.value for change in changes for mention in change.mentions]
    hooks = [hook for change in changes for hook in change.of("hook")]
    texts += [
        text for hook in hooks for text in (hook.when, hook.item_id, *(f"{name}{text}" for name, text in hook.inputs))
    ]
    return sum(1 + len(one_line(text)) // 80 for text in texts)


def _signer(change: ItemChange) -> str:
    return change.new.signed_by if change.new is not None else ""


_ALARM_ROWS = 9
"""The most rows of a terminal that alarms take; with their heading and the question they are twelve."""


def _show_alarms(screen: Screen, proposal: Proposal) -> None:
    """Print every alarm; on a terminal in as few rows as it has for them: whole, cut, or as the number of each sort."""
    alarms = _alarms(proposal)
    if not alarms:
        return
    console = screen.console
    console.gap()
    console.say("Alarms in the texts:", "error")
    if not screen.folds:
        for alarm in alarms:
            _show_places(console, f"  ! {alarm.said}", "error", alarm.places)
        return
    lines = [_alarm_line(alarm, None) for alarm in alarms]
    if sum(len(flow([(line, None)], console.width, 8, hard=True)) for line in lines) > _ALARM_ROWS:
        lines = [_alarm_line(alarm, console.width) for alarm in alarms]
    if len(lines) > _ALARM_ROWS:
        lines = []
        kinds = screen.by_kind(alarms, lambda alarm: alarm.fact)
        examples = min(EXAMPLES, max(0, _ALARM_ROWS // len(kinds) - 1))
        for same in kinds:
            lines.append(f"  ! {fact_words(same[0].fact, 'alarm')}: {counted(len(same), 'alarm')}, {screen.more}")
            lines += [_alarm_line(alarm, console.width, "      ") for alarm in same[:examples]]
    for line in lines:
        console.tell((line, "error"), hang=8, wide=True)


class _Alarm(Struct, frozen=True):
    """One alarm with its places."""

    fact: str
    said: str
    places: tuple[str, ...]


def _alarms(proposal: Proposal) -> list[_Alarm]:
    """What the texts of the plan mention, and what a person has not seen of the lock and the project."""
    mentions = gather_mentions(proposal.plan.effective) if proposal.plan is not None else []
    found = [_Alarm(one.fact, _mentioned(one), _places(one)) for one in mentions if one.is_alarm]
    for one in proposal.unseen:
        if is_alarm(one):
            fact, _, value = one.text.partition(" ")
            found.append(_Alarm(fact, f"{fact_words(fact, 'alarm')}: {one_line(value)}", (one_line(one.item),)))
    return found


def _alarm_line(alarm: _Alarm, width: int | None, before: str = "  ! ") -> str:
    """An alarm with its first place on one line. ``width``: cut to so many columns; the place keeps a third."""
    more = len(alarm.places) - 1
    place = alarm.places[0] + (f" and {counted(more, 'more place')}" if more else "")
    if width is None:
        return f"{before}{alarm.said}   {place}"
    place = cut(place, width // 3)
    return cut(f"{cut(f'{before}{alarm.said}', width - 4 - len(place))}   {place}", width - 1)


def question(proposal: Proposal) -> str:
    """The question below the screen."""
    plan = proposal.plan
    if plan is None or not proposal.waiting:
        return question_about(proposal.unseen)
    asks = [ask for change in plan.changes for ask in change.asks]
    asked = {ask.sort for ask in asks}
    alarms = ["these alarms"] if any(ask.sort == "fact" and ask.subject.is_alarm for ask in asks) else []
    named = dict.fromkeys([*alarms, *(sort.question for sort in SORTS if sort.question and sort.name in asked)])
    *first, last = list(named) or [""]
    with_them = f"{', '.join(first)} and {last}" if first else last
    return f"Install this, with {with_them}?" if with_them else "Install this?"


def question_about(unseen: Sequence[Ask]) -> str:
    """The question below what the user has not seen."""
    parts = {
        "what rye.lock approves": bool(of_the_lock(unseen)),
        "these changed texts": any(one.sort == "unsigned-text" for one in unseen),
        "these changes": any(one.sort in ("customization", "grant") for one in unseen),
        "this project's own items": any(one.sort in OWN for one in unseen),
    }
    first, *others = [part for part, asked in parts.items() if asked] or list(parts)[:1]
    return f"Agree to {first}{''.join(f', and to {part}' for part in others)}?"


def changed_counts(changes: Iterable[ItemChange]) -> str:
    """``added 2, removed 1``; empty if nothing changed."""
    names = {"add": "added", "update": "updated", "downgrade": "downgraded", "replace": "replaced", "remove": "removed"}
    actions = [change.action for change in changes]
    counts = {said: actions.count(action) for action, said in names.items()}  # type: ignore[arg-type]
    return ", ".join(f"{said} {count}" for said, count in counts.items() if count)
