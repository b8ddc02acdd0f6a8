"""The part of the screen about each item of a plan: what happens to it, who signed it, what it is, and what of it can run."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rye.cli.console import TIER_STYLE, Console, counted, one_line
from rye.cli.project.consent_screen import MOST, Screen, run_line
from rye.consent.ask import Ask
from rye.consent.sorts import row_of
from rye.describing import words
from rye.describing.description import together
from rye.describing.right_words import tool_words
from rye.installation.plan import ItemChange, Plan
from rye.items.agent_tools import shown
from rye.items.consented import Run
from rye.limits import CONSENT
from rye.permissions.risk import Tier, tools_tier

if TYPE_CHECKING:
    from rye.describing.description import Description
    from rye.items.agent_tools import AgentTools
    from rye.workspace.installing.text_changes import TextChange

_VERBS = {
    "add": ("+", "added"),
    "update": ("^", "info"),
    "downgrade": ("v", "warning"),
    "replace": ("~", "warning"),
    "remove": ("-", "removed"),
    "keep": ("=", "dim"),
}
_ACTIONS = {
    "add": "added",
    "update": "updated",
    "downgrade": "downgraded",
    "replace": "replaced",
    "remove": "removed",
    "keep": "kept",
}
_WITH_LINES = frozenset(
    ("right", "hook", "tool", "run", "fact", "signer", "source", "unsigned-text", "forced", "customization-loss")
)
"""The sorts that the plan shows in their own way."""
_MOST_NAMES = 40
"""Of items that are alike except for their names, a terminal shows so many names."""
_COMMIT_DIGITS = 8
"""So many digits of a commit are shown on a terminal."""
_STYLES: Mapping[words.Level, str] = {"plain": "dim", "caution": "warning", "alarm": "error"}


def show_items(screen: Screen, plan: Plan, time: datetime, changed: Mapping[Any, TextChange]) -> None:
    """Print the changes item by item."""
    seen: set[object] = set()

    def show(change: ItemChange) -> None:
        _show_item(screen, change, seen)
        _show_changed(screen, change, changed.get(change.identity))
        _show_signer(screen, change, time, seen)
        _show_description(screen, change, seen)
        _show_tools(screen, change, seen)
        _show_runs(screen, change)
        _show_others(screen, change)

    screen.several = len(plan.effective) > 1
    groups = _plain_groups(screen, plan.effective)
    named = {change.identity for group in groups for change in group}
    others = [change for change in plan.effective if change.identity not in named]
    if not screen.folds or len(others) <= MOST:
        for change in others:
            show(change)
    else:
        kinds = screen.by_kind(others, _alike)
        if screen.sums_up:
            kinds.sort(key=len, reverse=True)
        for same in kinds[: CONSENT.kinds] if screen.sums_up else kinds:
            screen.rows(same, show, f"items {_ACTIONS[same[0].action]} in the same way", 2)
        if screen.sums_up and len(kinds) > CONSENT.kinds:
            screen.left_out(sum(map(len, kinds[CONSENT.kinds :])), "items that ask for something else", 2)
    if screen.sums_up and len(groups) > CONSENT.kinds:
        groups.sort(key=len, reverse=True)
        for group in groups[: CONSENT.kinds]:
            _show_plain(screen, group, seen)
        screen.left_out(sum(map(len, groups[CONSENT.kinds :])), "items with nothing that can run", 2)
        return
    for group in groups:
        _show_plain(screen, group, seen)


def _alike(change: ItemChange) -> Hashable:
    """What an item has in common with others, so that two of them stand for all: what is done, what they ask for, and what
    is unusual about who signed them."""
    new = change.new
    asks = frozenset((ask.sort, ask.subject.what if ask.sort == "run" else "") for ask in change.asks)
    unsigned = new is not None and new.is_unsigned
    unknown = change.signer_changed, change.signer_new, change.namespace_new, change.signer_unknown
    forced = change.forced is not None or change.forces_anew
    tier = tools_tier(new.tools) if new is not None and new.tools is not None else None
    moved = change.old is not None and new is not None and change.old.registry != new.registry
    return change.action, asks, unsigned, unknown, forced, tier, moved


def _plain_groups(screen: Screen, changes: Sequence[ItemChange]) -> list[list[ItemChange]]:
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


def _show_plain(screen: Screen, group: Sequence[ItemChange], seen: set[object]) -> None:
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


def _show_described(screen: Screen, descriptions: Sequence[Description], seen: set[object]) -> None:
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


def _is_described(screen: Screen, change: ItemChange, seen: set[object]) -> bool:
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


def _show_source(screen: Screen, change: ItemChange, seen: set[object], *, with_place: bool = True) -> None:
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
    mark = "  (you never agreed to this source before)" if change.signer_unknown else _new_words(change)
    style = "error" if new.is_unsigned else "dim"
    console.tell((f"{_bang(new.is_unsigned)}{one_line(signed)}", style), (mark, "warning"), hang=8)
    where = f"{new.registry}{f' ({new.source.ref})' if new.source.ref else ''}"
    console.tell((f"      from {one_line(where)}{place}", "dim"))


def _show_item(screen: Screen, change: ItemChange, seen: set[object]) -> None:
    console, (sign, style) = screen.console, _VERBS[change.action]
    versions = list(dict.fromkeys(item.version for item in (change.old, change.new) if item is not None))
    like = "   as above" if _is_described(screen, change, seen) else ""
    console.tell((f"  {sign} {change.identity} {' → '.join(versions)}", style), (like, "dim"))
    if change.forced is not None:
        console.tell((f"      forced by [overrides] of rye.toml: {one_line(change.forced)}", "warning"))
    elif change.forces_anew:
        console.say("      no longer forced by [overrides] of rye.toml", "dim")


def _show_changed(screen: Screen, change: ItemChange, changed: TextChange | None) -> None:
    """Print how much of an updated item's text is new, and what shows it: two releases or two commits can be compared at any
    time, what a folder had only before the update."""
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
    command = f": `{changed.command}`" if changed.command is not None else ""
    screen.console.tell((f"      {', '.join(said)}{command}", "warning"), hang=8, wide=True)


def _show_signer(screen: Screen, change: ItemChange, time: datetime, seen: set[object]) -> None:
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
        who = "source" if new.source is not None else "signer"
        mark = _new_words(change)
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


def _new_words(change: ItemChange) -> str:
    """What is new about the signer of an item, or about its source if nobody signed it: the namespace itself, or only who signs
    for it. A key that signs for another namespace of the project is new for this one."""
    if not change.signer_new:
        return ""
    namespace = change.identity.namespace
    return (
        f"  ({namespace} is new to this project)"
        if change.namespace_new
        else f"  (new for {namespace} in this project)"
    )


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


def _show_tools(screen: Screen, change: ItemChange, seen: set[object]) -> None:
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
        _show_what_tools_allow(screen, tools, seen)
    if risk is Tier.UNRESTRICTED:
        console.tell((f"{_bang(True)}{words.ANY_COMMAND}", "error"))
    if not change.is_first:
        screen.rows(
            change.of("tool"),
            lambda wider: console.tell((f"      new: {one_line(wider)}", "warning")),
            "new tools of the agent program",
            6,
        )


def _show_what_tools_allow(screen: Screen, tools: AgentTools, seen: set[object]) -> None:
    """Print a sentence about each tool that the screen shows; of several items, a terminal shows one only once."""
    for name in screen.kept(tools.names):
        said = tool_words(name, tools)
        if not (screen.folds and screen.several and said in seen):
            screen.console.tell((f"        {one_line(name)}: {said}", "dim"), hang=10, wide=True)
        seen.add(said)


def _bang(bad: bool) -> str:
    """The start of a line about an item. Bad news gets a ``!``, which also shows without colour."""
    return "    ! " if bad else "      "


def _show_description(screen: Screen, change: ItemChange, seen: set[object]) -> None:
    """Print what pages say as well: that nothing limits the item, how many warnings it has, its licence and its size. Of several
    items, a terminal shows only what was not said of one above; cautions are below all items, with their places."""
    description = change.description
    if description is None or not change.is_shown:
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


def _show_runs(screen: Screen, change: ItemChange) -> None:
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
    together = screen.folds and 0 < len(attached) <= MOST
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


def _run_mark(change: ItemChange, run: Run) -> str:
    if change.old is None or change.is_first:
        return ""
    same = any((known.what, known.where) == (run.what, run.where) for known in change.old.approved.of("run"))
    return " (changed)" if same and run.what in ("attached-file", "tool-code") else " (new)"


def _show_others(screen: Screen, change: ItemChange) -> None:
    """Print what else it asks for, by the headings of the table of sorts."""

    def show(ask: Ask) -> None:
        screen.console.tell((f"      {row_of(ask).title}: {one_line(ask.text)}", "warning"))

    others = [ask for ask in change.asks if ask.sort not in _WITH_LINES]
    for same in screen.by_kind(others, lambda ask: ask.sort):
        screen.rows(same, show, row_of(same[0]).title.lower(), 6)
