"""The part of the screen about what the user has not seen: what the project changes about installed items, and what rye.lock, the
team's record, approves."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from rye.cli.console import TIER_STYLE, one_line
from rye.cli.project.consent_screen import Screen, shared_width
from rye.consent.ask import Ask
from rye.consent.sorts import SORTS, of_the_lock
from rye.describing import words
from rye.describing.right_words import right_words, tool_words
from rye.limits import OVERRIDES
from rye.permissions.risk import Tier, tiers, tool_tier
from rye.workspace.trusting.project_changes import shown_lines

_FIRST = ("signer", "source", "right", "hook", "run")
"""The sorts that are listed before the others."""
OWN = ("origin", "own-key", "own-files")
"""The sorts that are about the project's own items."""


def is_alarm(ask: Ask) -> bool:
    """Whether it is an alarm of a text. Nobody is asked about notes, so that what is not a caution is one."""
    if ask.sort not in ("fact", "customization-fact"):
        return False
    from rye.text.facts.fact import CAUTION, FACTS  # few locks bring facts that a person has not seen

    return FACTS.get(ask.text.partition(" ")[0]) != CAUTION


def show_unseen(screen: Screen, unseen: Sequence[Ask], undeclared: Sequence[str] = ()) -> None:
    """Print what the user has not agreed to: first what the project changes about installed items, then what rye.lock, the
    team's record, approves. ``undeclared``: the items of rye.lock that nothing limits."""
    console = screen.console
    _show_changes(screen, shown_lines(unseen))
    _show_differences(screen, unseen)
    brought = [one for one in unseen if one.sort == "customization-fact" and not is_alarm(one)]
    if brought:
        console.say("  With these changes, the items mention:")
    for same in screen.by_kind(brought, lambda one: one.text.partition(" ")[0]):
        screen.rows(
            same,
            lambda one: console.tell((f"    {_said(one)}   {one.item}", "warning"), hang=8, wide=True),
            same[0].text.partition(" ")[0],
            4,
        )
    runs = [one for one in unseen if one.sort == "customization-run"]
    if runs:
        console.say("  With these changes, the items can run:")
        screen.rows(
            runs,
            lambda one: console.tell((f"    {_said(one)}   {one.item}", "warning"), hang=8, wide=True),
            "files that can run",
            4,
        )
    if of_the_lock(unseen):
        console.say(
            "This project's rye.lock approves the following, which you have not agreed to on this machine:", "strong"
        )
    levels = tiers(one.text for one in unseen if one.sort == "right")
    titled = {sort.name: sort.title for sort in SORTS if sort.title}
    headed = False
    for what, title in ({name: titled[name] for name in _FIRST} | titled).items():
        rows = [one for one in unseen if one.sort == what and not is_alarm(one)]
        if rows and what in OWN and not headed:
            headed = True
            console.say("This project's own items need the following, which you have not agreed to here:", "strong")
        if rows:
            console.tell(f"  {title}:")
        if what == "right":
            rows.sort(key=lambda one: levels[one.text], reverse=True)
        kinds = screen.by_kind(rows, lambda one: _kind_of(one, levels))
        room = shared_width(console, (_said(one) for same in kinds for one in screen.kept(same)))
        for same in kinds:
            _show_approvals(screen, same, title, levels, room)
    if undeclared:
        console.say(f"  {words.NOT_DECLARED[:1].upper()}{words.NOT_DECLARED[1:]}:", "warning")
        screen.rows(undeclared, lambda name: console.tell((f"    {one_line(name)}", "warning")), "not declared", 4)


def _said(one: Ask) -> str:
    """What is asked, on one line: what runs and what a text mentions in the words that every other screen has for it."""
    word, _, rest = one.text.partition(" ")
    if one.sort in ("fact", "customization-fact"):
        return one_line(f"{words.fact_words(word, 'caution')}: {rest}")
    if one.sort in ("run", "customization-run"):
        return one_line(f"{words.RUN_WORDS.get(word, word)} {rest}")
    return one_line(one.text)


def _show_changes(screen: Screen, lines: Sequence[str]) -> None:
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


def _show_differences(screen: Screen, unseen: Sequence[Ask]) -> None:
    """Print what each customization changes: all of it, or at most :attr:`~rye.limits.OverrideLimits.shown_diff_lines` lines and
    the command that shows the rest."""
    changes = [one for one in unseen if one.sort == "customization" and one.subject is not None]
    changes = [one for one in changes if one.subject.is_whole or one.subject.not_kept]
    for one in screen.kept(changes):
        console, subject, lines = screen.console, one.subject, one.subject.lines
        change = subject.change
        said = f"{change.shown} changes {one.item}:"
        if change.lost:
            said = f"{change.shown}, which you agreed to, {change.lost}. Without it, {one.item} changes:"
        console.tell((f"  {one_line(said)}", "strong"), hang=4, wide=True)
        for other in subject.replaces:
            told = one_line(f"{other.shown}, which you agreed to, {other.lost}")
            console.tell((f"    {told}", "warning"), hang=8, wide=True)
        if subject.not_kept:
            said = f"What you agreed to before is not kept here; `{one_line(subject.change.history)}` shows it."
            more = " Compared with what counts without it:" if lines else ""
            console.tell((f"    {said}{more}", "warning"), hang=8, wide=True)
        kept = lines if screen.whole else lines[: OVERRIDES.shown_diff_lines]
        for line in kept:
            style = {"+": "added", "-": "removed"}.get(line[:1], "dim")
            console.tell((f"    {one_line(line)}", style), hang=8, wide=True)
        if not lines and not subject.not_kept:
            console.say("    no line of its text", "dim")
        elif len(kept) < len(lines):
            where = f"`{one.subject.command}` shows them{', and so does `d`' if screen.answers_d else ''}"
            console.say(f"    and {len(lines) - len(kept):,} more lines: {where}", "warning")
    if len(screen.kept(changes)) < len(changes):
        screen.left_out(len(changes) - len(screen.kept(changes)), "changed texts", 2)


def _kind_of(one: Ask, levels: Mapping[str, Tier]) -> Hashable:
    """What one thing of the lock has in common with others of its sort: a right its tier, what runs and a fact their name."""
    return (
        levels[one.text] if one.sort == "right" else one.text.partition(" ")[0] if one.sort in ("run", "fact") else ""
    )


def _show_approvals(screen: Screen, rows: Sequence[Ask], title: str, levels: Mapping[str, Tier], room: int) -> None:
    def show(one: Ask) -> None:
        level = levels[one.text] if one.sort == "right" else None
        style = TIER_STYLE[str(level)] if level is not None else "error" if one.sort == "source" else None
        before = f"{level!s:<12} " if level is not None else ""
        screen.console.tell((f"    {before}{_said(one):<{room}}   {one_line(one.item)}", style), hang=8, wide=True)
        if level is not None:
            screen.console.tell((f"                   {right_words(one.text)}", "dim"), hang=21, wide=True)
        if one.sort == "unsigned-text":
            screen.console.tell((f"      `{one_line(one.subject.command)}` shows it", "dim"), hang=8, wide=True)
        if one.sort == "tool" and one.subject is not None:
            name, tools = one.subject
            screen.console.tell((f"      {tool_words(name, tools)}", "dim"), hang=8, wide=True)
            if tool_tier(name, tools) is Tier.UNRESTRICTED:
                screen.console.tell((f"    ! {words.ANY_COMMAND}", "error"))

    kind = _kind_of(rows[0], levels)
    if rows[0].sort == "fact":
        kind = words.fact_words(str(kind), "caution")
    elif rows[0].sort == "run":
        kind = words.RUN_WORDS.get(str(kind), kind)
    screen.rows(rows, show, f"{title.lower()}{f' ({kind!s})' if kind else ''}", 4)
