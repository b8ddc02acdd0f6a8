"""The one screen before anything is written: what changes, who signed it, what it may do, and what needs a yes (DESIGN §7).

What counts cannot be pushed out of sight by more of the same. On a terminal, of more than ten things of one kind two are
examples and the others a number; alarms stand last, in at most :data:`_ALARM_ROWS` rows directly above the question, below
one line that counts everything. ``d`` at the question shows everything with the texts, ``f`` the attached files. Elsewhere
nothing is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from rye.cli.console import TIER_STYLE, Console, counted, one_line
from rye.consent.ask import Ask
from rye.consent.sorts import SORTS, of_the_lock, row_of
from rye.describing import words
from rye.describing.description import together
from rye.installation.plan import GatheredMention, ItemChange, Plan, by_tier, gather_mentions
from rye.items.agent_tools import shown
from rye.items.consented import HookAction, Run
from rye.layout import Cell, cut, flow
from rye.limits import OVERRIDES
from rye.permissions.comparing import unified
from rye.permissions.risk import Tier, tiers, tools_tier
from rye.workspace.installing.install_request import Proposal, ProposedText
from rye.workspace.trusting.project_changes import shown_lines

if TYPE_CHECKING:
    from rye.describing.description import Description
    from rye.workspace.installing.text_changes import TextChange

_VERBS = {
    "add": ("+", "added"),
    "update": ("^", "info"),
    "downgrade": ("v", "warning"),
    "replace": ("~", "warning"),
    "remove": ("-", "removed"),
    "keep": ("=", "dim"),
}


_MOST, _EXAMPLES = 10, 2
"""Of more than so many things of one kind, a terminal shows so many, and the number of the others."""
_ALARM_ROWS = 9
"""The most rows of a terminal that alarms take; with their heading and the question they are twelve."""

T = TypeVar("T")


class _Screen:
    """Prints a proposal. ``folds``: whether many things of one kind become a number and two examples; ``more``: the words that
    say where the others are; ``answers_d``: whether the question shows everything after a ``d``; ``whole``: whether changed
    texts are shown to the end."""

    def __init__(
        self, console: Console, *, folds: bool, more: str = "", answers_d: bool = False, whole: bool = False
    ) -> None:
        self.console = console
        self.answers_d = answers_d
        self.whole = whole
        self.folds = folds
        self.has_folded = False
        self.several = False
        self.more = more

    def rows(self, rows: Sequence[T], show: Callable[[T], None], noun: str, indent: int) -> None:
        """Print rows of one kind; ``noun`` says what the left out ones are."""
        kept = self.kept(rows)
        for row in kept:
            show(row)
        if len(kept) < len(rows):
            self.left_out(len(rows) - len(kept), noun, indent)

    def kept(self, rows: Sequence[T]) -> Sequence[T]:
        """The rows to print."""
        if not self.folds or len(rows) <= _MOST:
            return rows
        self.has_folded = True
        return rows[:_EXAMPLES]

    def left_out(self, number: int, noun: str, indent: int) -> None:
        """Say how many things of one kind are not shown, and where they are."""
        said = f"{' ' * indent}and {number:,} more: {noun}"
        self.console.tell((said, "warning"), (f"   {self.more}" if self.more else "", "dim"))

    def by_kind(self, rows: Iterable[T], kind: Callable[[T], Hashable]) -> list[list[T]]:
        """The rows of each kind, in order."""
        kinds: dict[Hashable, list[T]] = {}
        for row in rows:
            kinds.setdefault(kind(row), []).append(row)
        return list(kinds.values())


def show_proposal(console: Console, proposal: Proposal, *, asks: bool = False) -> None:
    """Print what the user has not seen of the lock and the project, the plan, the warnings about it, and the alarms last.

    ``asks``: whether a question follows that answers ``d`` with :func:`show_whole`.
    """
    more = "`d` shows all" if asks else "-v shows all"
    _show(_Screen(console, folds=console.folds, more=more, answers_d=asks), proposal)


def show_whole(console: Console, proposal: Proposal) -> None:
    """Print the texts of the items, of updated ones what changes, and then the proposal with nothing left out."""
    _show_texts(console, [text for text in proposal.texts if not text.path])
    _show(_Screen(console, folds=False, whole=True), proposal)


def show_files(console: Console, proposal: Proposal) -> None:
    """Print the attached files, of those that are replaced what changes, and then the alarms."""
    _show_texts(console, [text for text in proposal.texts if text.path])
    _show_alarms(_Screen(console, folds=console.folds, more="`d` shows all"), proposal)


def _show_texts(console: Console, texts: Sequence[ProposedText]) -> None:
    same = [text for text in texts if text.before == text.data]
    for text in texts:
        if text in same:
            continue
        console.gap()
        title = f"{one_line(text.item)}{f', {one_line(text.path)}' if text.path else ''}"
        try:
            whole = text.data.decode()
            before = text.before.decode() if text.before is not None else None
        except UnicodeDecodeError:
            console.tell((f"{title}:", "strong"))
            console.say(f"  {len(text.data):,} bytes that are not text", "dim")
            continue
        if before is not None:
            console.tell((f"{title}, compared with what is installed:", "strong"))
            for line in unified(before, whole, "", "")[2:]:
                style = {"+": "added", "-": "removed", "@": "hint"}.get(line[:1])
                console.tell((f"  {one_line(line)}", style), hang=4, wide=True)
            continue
        console.tell((f"{title}:", "strong"))
        lines = whole.split("\n")
        for number, line in enumerate(lines[:-1] if not lines[-1] else lines, start=1):
            console.tell(f"{number:>5} | {one_line(line)}", hang=8, wide=True)
    if same:
        console.say(
            f"{counted(len(same), 'file')} {'stays as it is' if len(same) == 1 else 'stay as they are'}.", "dim"
        )
    if not texts:
        console.say("There is none.", "dim")


def _show(screen: _Screen, proposal: Proposal) -> None:
    console = screen.console
    _show_unseen(screen, proposal.unseen)
    if proposal.plan is not None:
        _show_plan(screen, proposal.plan, proposal.time, proposal.changed)
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
            found.append(_Alarm(fact, f"{fact}: {one_line(value)}", (one_line(one.item),)))
    return found


def is_alarm(ask: Ask) -> bool:
    """Whether it is an alarm of a text. Nobody is asked about notes, so that what is not a caution is one."""
    if ask.sort not in ("fact", "customization-fact"):
        return False
    from rye.text.facts.fact import CAUTION, FACTS  # few locks bring facts that a person has not seen

    return FACTS.get(ask.text.partition(" ")[0]) != CAUTION


def _mentioned(one: GatheredMention) -> str:
    return f"{one.fact}: {one_line(one.value)}"


def _places(one: GatheredMention) -> tuple[str, ...]:
    return tuple(
        one_line(f"{place.item}, {place.path}:{', '.join(map(str, place.lines))}{' (new)' * place.new}")
        for place in one.places
    )


def _show_alarms(screen: _Screen, proposal: Proposal) -> None:
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
        examples = min(_EXAMPLES, max(0, _ALARM_ROWS // len(kinds) - 1))
        for same in kinds:
            lines.append(f"  ! {same[0].fact}: {counted(len(same), 'alarm')}, {screen.more}")
            lines += [_alarm_line(alarm, console.width, "      ") for alarm in same[:examples]]
    for line in lines:
        console.tell((line, "error"), hang=8, wide=True)


def _alarm_line(alarm: _Alarm, width: int | None, before: str = "  ! ") -> str:
    """An alarm with its first place on one line. ``width``: cut to so many columns; the place keeps a third."""
    more = len(alarm.places) - 1
    place = alarm.places[0] + (f" and {counted(more, 'more place')}" if more else "")
    if width is None:
        return f"{before}{alarm.said}   {place}"
    place = cut(place, width // 3)
    return cut(f"{cut(f'{before}{alarm.said}', width - 4 - len(place))}   {place}", width - 1)


_FIRST = ("signer", "source", "right", "hook", "run")
"""The sorts that are listed before the others."""
_WITH_LINES = frozenset(("right", "hook", "tool", "run", "fact", "signer", "source", "forced", "customization-loss"))
"""The sorts that the plan shows in their own way."""


def _show_differences(screen: _Screen, unseen: Sequence[Ask]) -> None:
    """Print what each customization changes: all of it, or at most :attr:`~rye.limits.OverrideLimits.shown_diff_lines` lines and
    the command that shows the rest."""
    changes = [one for one in unseen if one.sort == "customization" and one.subject is not None]
    for one in screen.kept(changes):
        console, lines = screen.console, one.subject.lines
        console.tell((f"  {one_line(one.text.rpartition(' (')[0])} changes {one.item}:", "strong"), hang=4, wide=True)
        kept = lines if screen.whole else lines[: OVERRIDES.shown_diff_lines]
        for line in kept:
            style = {"+": "added", "-": "removed"}.get(line[:1], "dim")
            console.tell((f"    {one_line(line)}", style), hang=8, wide=True)
        if not lines:
            console.say("    no line of its text", "dim")
        elif len(kept) < len(lines):
            where = f"`{one.subject.command}` shows them{', and so does `d`' if screen.answers_d else ''}"
            console.say(f"    and {len(lines) - len(kept):,} more lines: {where}", "warning")
    if len(screen.kept(changes)) < len(changes):
        screen.left_out(len(changes) - len(screen.kept(changes)), "changed texts", 2)


def _show_unseen(screen: _Screen, unseen: Sequence[Ask]) -> None:
    """Print what the user has not agreed to: first what the project changes about installed items, then what rye.lock, the
    team's record, approves."""
    console = screen.console
    _show_changes(screen, shown_lines(unseen))
    _show_differences(screen, unseen)
    brought = [one for one in unseen if one.sort == "customization-fact" and not is_alarm(one)]
    if brought:
        console.say("  With these changes, the items mention:")
    for same in screen.by_kind(brought, lambda one: one.text.partition(" ")[0]):
        screen.rows(
            same,
            lambda one: console.tell((f"    {one_line(one.text)}   {one.item}", "warning"), hang=8, wide=True),
            same[0].text.partition(" ")[0],
            4,
        )
    runs = [one for one in unseen if one.sort == "customization-run"]
    if runs:
        console.say("  With these changes, the items can run:")
        screen.rows(
            runs,
            lambda one: console.tell((f"    {one_line(one.text)}   {one.item}", "warning"), hang=8, wide=True),
            "files that can run",
            4,
        )
    if of_the_lock(unseen):
        console.say(
            "This project's rye.lock approves the following, which you have not agreed to on this machine:", "strong"
        )
    levels = tiers(one.text for one in unseen if one.sort == "right")
    titled = {sort.name: sort.title for sort in SORTS if sort.title}
    for what, title in ({name: titled[name] for name in _FIRST} | titled).items():
        rows = [one for one in unseen if one.sort == what and not is_alarm(one)]
        if rows:
            console.tell(f"  {title}:")
        if what == "right":
            rows.sort(key=lambda one: levels[one.text], reverse=True)
        kinds = screen.by_kind(rows, lambda one: _kind_of(one, levels))
        room = _shared_width(console, (one_line(one.text) for same in kinds for one in screen.kept(same)))
        for same in kinds:
            _show_approvals(screen, same, title, levels, room)


def _kind_of(one: Ask, levels: Mapping[str, Tier]) -> Hashable:
    """What one thing of the lock has in common with others of its sort: a right its tier, what runs and a fact their name."""
    return (
        levels[one.text] if one.sort == "right" else one.text.partition(" ")[0] if one.sort in ("run", "fact") else ""
    )


def _show_approvals(screen: _Screen, rows: Sequence[Ask], title: str, levels: Mapping[str, Tier], room: int) -> None:
    def show(one: Ask) -> None:
        level = levels[one.text] if one.sort == "right" else None
        style = TIER_STYLE[str(level)] if level is not None else "error" if one.sort == "source" else None
        before = f"{level!s:<12} " if level is not None else ""
        screen.console.tell(
            (f"    {before}{one_line(one.text):<{room}}   {one_line(one.item)}", style), hang=8, wide=True
        )

    kind = _kind_of(rows[0], levels)
    screen.rows(rows, show, f"{title.lower()}{f' ({kind!s})' if kind else ''}", 4)


def _show_changes(screen: _Screen, lines: Sequence[str]) -> None:
    """Print headings with their rows: those of a heading begin with two blanks, what belongs to a row with more."""
    headed = False
    title, rows = "", list[list[str]]()

    def show(row: Sequence[str]) -> None:
        for line in row:
            screen.console.tell(one_line(line), hang=4, wide=True)

    for line in (*lines, ""):
        if line.startswith("   ") and rows:
            rows[-1].append(line)
        elif line.startswith(" "):
            rows.append([line])
        else:
            screen.rows(rows, show, title.rstrip(":"), 2)
            title, rows = line, []
            if title:
                screen.console.tell((one_line(title), None if headed else "strong"), hang=4, wide=True)
                headed = True


def _show_plan(screen: _Screen, plan: Plan, time: datetime, changed: Mapping[Any, TextChange]) -> None:
    """Print the changes item by item, then what their texts mention, all rights by tier, and hooks."""
    seen: set[object] = set()

    def show(change: ItemChange) -> None:
        _show_item(screen, change, seen)
        _show_changed(screen, change, changed.get(change.identity))
        _show_signer(screen, change, time, seen)
        _show_description(screen, change, seen)
        _show_tools(screen, change)
        _show_runs(screen, change)
        _show_others(screen, change)

    screen.several = len(plan.effective) > 1
    groups = _plain_groups(screen, plan.effective)
    named = {change.identity for group in groups for change in group}
    others = [change for change in plan.effective if change.identity not in named]
    if not screen.folds or len(others) <= _MOST:
        for change in others:
            show(change)
    else:
        for same in screen.by_kind(others, _alike):
            screen.rows(same, show, f"items {_ACTIONS[same[0].action]} in the same way", 2)
    for group in groups:
        _show_plain(screen, group, seen)
    _show_cautions(screen, plan)
    _show_rights(screen, plan)
    _show_hooks(screen, plan)
    _show_losses(screen, plan)


_ACTIONS = {
    "add": "added",
    "update": "updated",
    "downgrade": "downgraded",
    "replace": "replaced",
    "remove": "removed",
    "keep": "kept",
}


def _alike(change: ItemChange) -> Hashable:
    """What an item has in common with others, so that two of them stand for all: what is done, what they ask for, and what
    is unusual about who signed them."""
    new = change.new
    asks = frozenset((ask.sort, ask.subject.what if ask.sort == "run" else "") for ask in change.asks)
    unsigned = new is not None and new.is_unsigned
    unknown = change.signer_changed, change.signer_new, change.signer_unknown
    forced = change.forced is not None or change.forces_anew
    tier = tools_tier(new.tools) if new is not None and new.tools is not None else None
    moved = change.old is not None and new is not None and change.old.registry != new.registry
    return change.action, asks, unsigned, unknown, forced, tier, moved


_MOST_NAMES = 40
"""Of items that are alike except for their names, a terminal shows so many names."""
_COMMIT_DIGITS = 8
"""So many digits of a commit are shown on a terminal."""


def _plain_groups(screen: _Screen, changes: Sequence[ItemChange]) -> list[list[ItemChange]]:
    """The items of one state of a source that are added and ask for nothing of their own, several at a time. What their texts
    mention, their rights and their hooks stand below all items, with the items' names. Empty where nothing is left out."""
    if not screen.folds:
        return []
    plain = [change for change in changes if _is_plain(change)]
    return [group for group in screen.by_kind(plain, _said_together) if len(group) > 1]


def _said_together(change: ItemChange) -> Hashable:
    """What such items have in common, so that the screen says it once."""
    return _said_of_source(change), change.description is not None and change.description.declared is False


def _is_plain(change: ItemChange) -> bool:
    new = change.new
    if change.action != "add" or change.old is not None or new is None or new.source is None:
        return False
    is_special = change.forced is not None or change.pulled_in or new.tools is not None
    if any(
        mention.is_alarm for mention in change.mentions
    ):  # among items with "nothing that can run" it would look harmless
        return False
    return not is_special and not any(ask.sort == "run" or ask.sort not in _WITH_LINES for ask in change.asks)


def _show_plain(screen: _Screen, group: Sequence[ItemChange], seen: set[object]) -> None:
    """Print such items as one paragraph with their names, and once where they come from."""
    names = [str(change.identity) for change in group]
    kept = names[:_MOST_NAMES]
    described = _is_described(screen, group[0], seen)
    like = ", as above" if described else ""
    descriptions = [change.description for change in group if change.description is not None]
    size = f"; {_size_of(descriptions)}" if descriptions and not _licences(descriptions) else ""
    screen.console.tell((f"  + {len(names)} items with nothing that can run", "added"), (f"{like}{size}:", "dim"))
    more = f", and {len(names) - len(kept):,} more ({screen.more})" if len(kept) < len(names) else ""
    screen.has_folded |= bool(more)
    start = f"{group[0].identity.kind}:{group[0].identity.namespace}/"
    shown_names = [names[0], *(name.removeprefix(start) for name in kept[1:])]
    screen.console.tell((f"      {', '.join(shown_names)}{more}", "added"), hang=6, wide=True)
    _show_described(screen, descriptions, seen)
    if not described:
        _show_source(screen, group[0], seen, with_place=False)


def _show_described(screen: _Screen, descriptions: Sequence[Description], seen: set[object]) -> None:
    """Print once what items that are alike have in common; their licences and size, if any states a licence."""
    if not descriptions:
        return
    if descriptions[0].declared is False and words.may_use(descriptions[0]).words not in seen:
        screen.console.tell((f"      each {words.NOT_DECLARED}", "warning"), hang=6)
    if _licences(descriptions):
        licences = [one_line(words.licence_words(one)) for one in descriptions]
        said = "each" if len(set(licences)) == 1 else "the first"
        screen.console.tell(
            (f"      licence of {said}: {licences[0]}; together {_size_of(descriptions)}", "dim"), hang=6
        )


def _licences(descriptions: Iterable[Description]) -> set[str]:
    """The licences that are stated."""
    return {one.licence for one in descriptions if one.licence is not None}


def _size_of(descriptions: Sequence[Description]) -> str:
    total = together(descriptions)
    return f"{words.byte_count(total.bytes)}, {words.token_count(total.tokens)}"


def _is_described(screen: _Screen, change: ItemChange, seen: set[object]) -> bool:
    """Whether the screen said where an item of a source comes from, so that a terminal only refers to it."""
    new = change.new
    is_new = change.old is None and new is not None and new.source is not None
    return screen.folds and is_new and _said_of_source(change) in seen


def _said_of_source(change: ItemChange) -> Hashable:
    """Everything that the screen says about where an item of a source comes from, except its file."""
    new = change.new
    ref = new.source.ref if new is not None and new.source is not None else None
    signed = (new.registry, new.how_signed) if new is not None else None
    return change.identity.namespace, ref, signed, change.signer_new, change.signer_unknown


def _show_source(screen: _Screen, change: ItemChange, seen: set[object], *, with_place: bool = True) -> None:
    """Print where an item of a source comes from; what was said of it before is not repeated, except its file."""
    console, new = screen.console, change.new
    assert new is not None
    assert new.source is not None
    if _is_described(screen, change, seen):
        return
    place = f", {one_line(new.source.place)}" if with_place else ""
    signed, commit = new.how_signed, new.source.commit
    if screen.folds and commit is not None:  # rye.lock has all of it
        signed = signed.replace(commit, commit[:_COMMIT_DIGITS])
    if _said_of_source(change) in seen:
        console.tell((f"      {one_line(signed)} as above{place}", "dim"))
        return
    seen.add(_said_of_source(change))
    mark = "  (new to this project)" if change.signer_new else ""
    mark = "  (you never agreed to this source before)" if change.signer_unknown else mark
    style = "error" if new.is_unsigned else "dim"
    console.tell((f"{_bang(new.is_unsigned)}{one_line(signed)}", style), (mark, "warning"), hang=8)
    where = f"{new.registry}{f' ({new.source.ref})' if new.source.ref else ''}"
    console.tell((f"      from {one_line(where)}{place}", "dim"))


def _show_item(screen: _Screen, change: ItemChange, seen: set[object]) -> None:
    console, (sign, style) = screen.console, _VERBS[change.action]
    versions = list(dict.fromkeys(item.version for item in (change.old, change.new) if item is not None))
    like = "   as above" if _is_described(screen, change, seen) else ""
    console.tell((f"  {sign} {change.identity} {' → '.join(versions)}", style), (like, "dim"))
    if change.forced is not None:
        console.tell((f"      forced by [overrides] of rye.toml: {one_line(change.forced)}", "warning"))
    elif change.forces_anew:
        console.say("      no longer forced by [overrides] of rye.toml", "dim")


def _show_changed(screen: _Screen, change: ItemChange, changed: TextChange | None) -> None:
    """Print how much of an updated item's text is new, and what shows it. Both versions of a release can be compared at any time;
    those of a source only before the update."""
    old, new = change.old, change.new
    if changed is None or old is None or new is None:
        return
    counts = (("+", changed.added), ("-", changed.removed))
    lines = ", ".join(sign + counted(count, "line") for sign, count in counts if count)
    said = [f"text changed ({lines})"] if lines else []
    words = {"+": "new", "-": "gone", "~": "changed"}
    said += [f"{one_line(file[2:])} {words[file[0]]}" for file in screen.kept(changed.files)]
    if len(screen.kept(changed.files)) < len(changed.files):
        said.append(f"{len(changed.files) - len(screen.kept(changed.files))} more files")
    name = str(change.identity)
    command = (
        f": `rye diff {name}@{old.version} {name}@{new.version}`" if new.source is None and old.source is None else ""
    )
    screen.console.tell((f"      {', '.join(said)}{command}", "warning"), hang=8, wide=True)


def _show_signer(screen: _Screen, change: ItemChange, time: datetime, seen: set[object]) -> None:
    """Print the signer, the key's age and, if the registry changed, the old and new one. An entry that ``rye lock`` wrote is
    treated like any other change. ``seen``: signers already described on this screen; repetition would hide what differs."""
    console, old, new = screen.console, change.old, change.new
    if new is None or (change.action == "keep" and old is not None and not old.approved.is_pending):
        return
    stays = old is not None and change.signed_before is None and old.registry == new.registry
    if new.source is not None and (old is None or (screen.folds and stays)):
        _show_source(screen, change, seen, with_place=not (screen.folds and screen.several))
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
        released = words.age(history.released, time, "ago")
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
        console.tell((f"      {words.age_words(history, time)}", "dim"))
        _show_owner(console, change, seen)
    if old is not None and old.registry != new.registry:
        kind = "" if new.source is not None else "the registry "
        moved = f"      from {kind}{one_line(new.registry)}, previously from {one_line(old.registry)}"
        console.say(moved, "warning")


def _show_owner(console: Console, change: ItemChange, seen: set[object]) -> None:
    """Print who is behind a namespace that is new to the project, once."""
    namespace, history = change.identity.namespace, change.history
    if history is None or history.owner is None or (said := ("owner", namespace)) in seen:
        return
    seen.add(said)
    console.tell((f"      {namespace}: {one_line(history.owner)}", "dim"), hang=8)
    if history.owner_warning is not None:
        console.tell((f"{_bang(True)}{one_line(history.owner_warning)}", "warning"), hang=8)


def _said_of_signer(change: ItemChange) -> object:
    """Everything that the screen says about an item's signer, except when the item was released."""
    new, history = change.new, change.history
    assert new is not None
    assert history is not None
    ages = (history.key_since, history.namespace_since)
    return change.identity.namespace, new.signed_by, new.registry, change.signer_new, change.signer_unknown, ages


def _show_tools(screen: _Screen, change: ItemChange) -> None:
    """Print tools of the agent program with their restrictions, never translated (DECISIONS Skills 3)."""
    tools = change.new.tools if change.new is not None else None
    if tools is None or (change.action == "keep" and not change.of("tool")):
        return
    risk = tools_tier(tools)
    console, names = screen.console, [one_line(name) for name in shown(tools)]
    kept = screen.kept(names)
    more = f" and {len(names) - len(kept):,} more ({screen.more})" if len(kept) < len(names) else ""
    listed = f"{', '.join(kept)}{more}" or "none"
    if change.description is None or change.description.declared is not False:  # otherwise said in other words
        console.tell((f"      {words.tools_words([listed])}", TIER_STYLE[str(risk)] if risk else None))
    if risk is Tier.UNRESTRICTED:
        console.tell((f"{_bang(True)}{words.ANY_COMMAND}", "error"))
    if change.old is not None:
        screen.rows(
            change.of("tool"),
            lambda wider: console.tell((f"      new: {one_line(wider)}", "warning")),
            "new tools of the agent program",
            6,
        )


def _bang(bad: bool) -> str:
    """The start of a line about an item. Bad news gets a ``!``, which also shows without colour."""
    return "    ! " if bad else "      "


_STYLES: Mapping[words.Level, str] = {"plain": "dim", "caution": "warning", "alarm": "error"}


def _show_description(screen: _Screen, change: ItemChange, seen: set[object]) -> None:
    """Print what pages say as well: that nothing limits the item, how many warnings it has, its licence and its size. Of several
    items, a terminal shows only what was not said of one above; cautions are below all items, with their places."""
    description = change.description
    if description is None or change.action == "keep":
        return
    console = screen.console
    may = words.may_use(description)
    is_one_of_many = screen.folds and screen.several
    if description.declared is not True and not (is_one_of_many and may.words in seen):
        seen.add(may.words)
        console.tell((f"      {may.words}", _STYLES[may.level]))
    warned = words.warnings(description)
    if warned.level == "alarm" or (warned.level != "plain" and not is_one_of_many):
        console.tell((f"      {warned.words}", _STYLES[warned.level]))
    licence = f"licence {one_line(words.licence_words(description))}"
    if not is_one_of_many:
        console.tell((f"      {licence}; {words.size_words(description)}", "dim"), hang=8)
    elif description.licence is not None and licence not in seen:
        seen.add(licence)
        console.tell((f"      {licence}", "dim"), hang=8)


def _show_runs(screen: _Screen, change: ItemChange) -> None:
    """Print everything that can run and is not yet approved, each by name."""

    def show(run: Run) -> None:
        screen.console.tell((f"      {run_line(run)}{_run_mark(change, run)}", "warning"))

    def show_files(files: Sequence[Run]) -> None:
        """One paragraph for attached files: those that are run in the same way together, and then how."""
        said = [
            f"{', '.join(one_line(run.where) for run in same)}: {_short_action(same[0])}{_run_mark(change, same[0])}"
            for same in screen.by_kind(files, lambda run: (run.action, _run_mark(change, run)))
        ]
        word = f"{words.RUN_WORDS['attached-file']}{'s' if len(files) > 1 else ''}"
        screen.console.tell((f"      {word} {'; '.join(said)}", "warning"), hang=8, wide=True)

    attached = [run for run in change.of("run") if run.what == "attached-file"]
    together = screen.folds and 0 < len(attached) <= _MOST
    if together:
        show_files(attached)
    for same in screen.by_kind(change.of("run"), lambda run: (run.what, _how(run))):
        if not (together and same[0].what == "attached-file"):
            screen.rows(same, show, words.RUN_NAMES[same[0].what], 6)


def _short_action(run: Run) -> str:
    """The action; a first line that names its interpreter says already that the file is meant to be executed."""
    return one_line(run.action.removesuffix(", executable") if run.action.startswith("#!") else run.action)


def _how(run: Run) -> str:
    """What makes an attached file run: a line that names its interpreter, its name or its mode. Empty for what is no file."""
    return "" if run.what != "attached-file" else "#!" if run.action.startswith("#!") else run.action


def run_line(run: Run) -> str:
    """What can run, where, and the exact action, on one line."""
    return one_line(words.run_words(run))


def _show_others(screen: _Screen, change: ItemChange) -> None:
    """Print what else it asks for, by the headings of the table of sorts."""

    def show(ask: Ask) -> None:
        screen.console.tell((f"      {row_of(ask).title}: {one_line(ask.text)}", "warning"))

    others = [ask for ask in change.asks if ask.sort not in _WITH_LINES]
    for same in screen.by_kind(others, lambda ask: ask.sort):
        screen.rows(same, show, row_of(same[0]).title.lower(), 6)


_LOST_LINES = 40
"""The most lines of lost text that a terminal shows before the question."""


def _show_losses(screen: _Screen, plan: Plan) -> None:
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


def _run_mark(change: ItemChange, run: Run) -> str:
    if change.old is None:
        return ""
    same = any((known.what, known.where) == (run.what, run.where) for known in change.old.approved.of("run"))
    return " (changed)" if same and run.what in ("attached-file", "tool-code") else " (new)"


def _show_cautions(screen: _Screen, plan: Plan) -> None:
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
        said = _mentioned(one).removeprefix(f"{one.fact}: ") if indent > 4 else _mentioned(one)
        _show_places(screen.console, f"{' ' * indent}{said}", "warning", (*kept, more) if more else kept)

    for same in screen.by_kind(gathered, lambda one: one.fact):
        if screen.folds and len(same) > 1:
            screen.console.say(f"    {same[0].fact}:", "warning")
            screen.rows(same, partial(show, indent=6), same[0].fact, 6)
        else:
            screen.rows(same, show, same[0].fact, 4)


def _show_places(console: Console, said: str, style: str, places: Sequence[str]) -> None:
    """Print a mention with its one place, or with its places below."""
    alone = f"   {places[0]}" if len(places) == 1 else ""
    console.tell((said, style), alone, hang=8, wide=True)
    for place in () if alone else places:
        console.tell(f"      {place}", hang=8)


def _show_rights(screen: _Screen, plan: Plan) -> None:
    console, asked = screen.console, by_tier(plan.changes)
    room = _shared_width(
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

        screen.rows(rows, show, f"{level} rights", 4)


def _asked(change: ItemChange, pattern: str) -> str:
    return one_line(pattern) + (" (beyond what was approved)" if change.old is not None else "")


_WIDEST_COLUMN = 48


def _shared_width(console: Console, texts: Iterable[str]) -> int:
    """The width that aligns what follows these texts; texts that are too long for it are not counted."""
    most = min(_WIDEST_COLUMN, console.width // 2)
    return max((len(text) for text in texts if len(text) <= most), default=0)


def _show_counts(screen: _Screen, plan: Plan) -> None:
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
    added = (change.description for change in changes if change.old is None)
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
    texts += [run.action for change in changes for run in change.of("run")]
    texts += [mention.value for change in changes for mention in change.mentions]
    hooks = [hook for change in changes for hook in change.of("hook")]
    texts += [
        text for hook in hooks for text in (hook.when, hook.item_id, *(f"{name}{text}" for name, text in hook.inputs))
    ]
    return sum(1 + len(one_line(text)) // 80 for text in texts)


def _signer(change: ItemChange) -> str:
    return change.new.signed_by if change.new is not None else ""


def _show_hooks(screen: _Screen, plan: Plan) -> None:
    console = screen.console
    hooks = [(change, hook) for change in plan.changes for hook in change.of("hook")]
    if hooks:
        console.gap()
        console.say("Hooks, denied until approved:", "strong")
    screen.rows(hooks, lambda row: show_hook(console, row[1], f"    {row[0].identity.id}: ", "      "), "hooks", 4)


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
    """The question below what the user has not seen."""
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
