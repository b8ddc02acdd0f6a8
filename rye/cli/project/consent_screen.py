"""The screen that a proposal is printed on, where many things of one kind become a number and two examples, and the rows that
other commands print as well."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from rye.cli.console import Console, one_line
from rye.describing import words
from rye.items.consented import HookAction, Run

MOST, EXAMPLES = 10, 2
"""Of more than so many things of one kind, a terminal shows so many, and the number of the others."""
T = TypeVar("T")


class Screen:
    """Prints a proposal. ``folds``: whether many things of one kind become a number and two examples; ``sums_up``: whether the
    proposal is long and nobody is asked about it, so that each sort of things is about a line; ``more``: the words that say where
    the others are; ``answers_d``: whether the question shows everything after a ``d``; ``whole``: whether changed texts are shown
    to the end."""

    def __init__(
        self,
        console: Console,
        *,
        folds: bool,
        sums_up: bool = False,
        more: str = "",
        answers_d: bool = False,
        whole: bool = False,
    ) -> None:
        self.console = console
        self.answers_d = answers_d
        self.whole = whole
        self.folds = folds or sums_up
        self.sums_up = sums_up
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
        if not self.folds or len(rows) <= MOST:
            return rows
        self.has_folded = True
        return rows[: 1 if self.sums_up else EXAMPLES]

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


_WIDEST_COLUMN = 48


def shared_width(console: Console, texts: Iterable[str]) -> int:
    """The width that aligns what follows these texts; texts that are too long for it are not counted."""
    most = min(_WIDEST_COLUMN, console.width // 2)
    return max((len(text) for text in texts if len(text) <= most), default=0)


def run_line(run: Run) -> str:
    """What can run, where, and the exact action, on one line."""
    return one_line(words.run_words(run))


def show_hook(
    console: Console, hook: HookAction, before: str = "", indent: str = "  ", style: str | None = None
) -> None:
    """A hook's condition, exact action and inputs. ``before``: the start of its first line."""
    console.tell((f"{before}when {one_line(hook.when)}", style))
    console.tell(f"{indent}execute {one_line(hook.item_type)} {one_line(hook.item_id)}")
    for name, text in hook.inputs:
        console.tell(f"{indent}  {one_line(name)} = {one_line(text)}")
