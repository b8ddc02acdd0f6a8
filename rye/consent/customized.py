"""A project's customizations as something that needs a yes, and what is remembered of those a user agreed to (DESIGN 6.1). Pure.

A yes is for the exact bytes of one file, for one item. That a file which the user agreed to counts no longer is one more state of
it, with a text of its own in place of the hash, so that it is asked about, agreed to and remembered like any other.

The state that was agreed to last is remembered beside that, one for each file and item, with the whole hash: the bytes are in the
user's cache by it, and a later question shows what became of them. Agreements from before that have no such line.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from rye.consent.ask import Ask
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    import json
    import shlex
else:  # only for unusual paths, and for a question
    json, shlex = lazy_module("json"), lazy_module("shlex")

Sort = Literal["override", "overlay", "role-directives"]
Lost = Literal["", "is gone", "no longer counts"]
LOST: tuple[Lost, ...] = ("is gone", "no longer counts")
"""Why a file that the user agreed to changes its item no longer: nothing is there, or what is there is not for the item."""
UNKNOWN = ""
"""The last state of an agreement from before states were remembered, or of a file that could not be read."""
_ASKED, _STATE = "customization", "customization-state"
_OWN = " own"
"""Follows the last state of a file that changes an item of the project itself."""
_ABOUT = f'", "{_ASKED}'
"""What every line about customizations contains."""


class Customization(Struct, frozen=True, order=True, kw_only=True):
    """One file of the project that changes one item, or did when the user agreed to it."""

    shown: str
    """The file, relative to the project."""
    item: str
    """``kind:id``."""
    sort: Sort
    sha256: str | None
    """The hash of its bytes, and of the contents that belong to it; None if it cannot be read or does not count."""
    lost: Lost = ""
    kept: tuple[bytes, ...] = ()
    """What the hash is of, then the contents that belong to it."""
    own: bool = False
    """Whether the item is the project's own."""

    @property
    def approval(self) -> Ask:
        """The approval to store for it: these bytes, for this item."""
        said = self.lost or (f"sha256 {self.sha256[:32]}" if self.sha256 is not None else "cannot be read")
        return Ask(self.item, _ASKED, f"{self.shown} ({said})")

    @property
    def does(self) -> str:
        """What it does to its item: a verb whose object is the item."""
        return f"{self.lost}, which changes" if self.lost else "changes"

    @property
    def history(self) -> str:
        """The command that shows what it said before."""
        return f"git log -p -- {shlex.quote(self.shown)}"

    @property
    def state(self) -> Ask:
        """What is remembered with its approval, in place of what was before: the state that the user agreed to last."""
        state = self.lost or self.sha256 or UNKNOWN
        return Ask(f"{self.item} {self.shown}", _STATE, f"{state}{_OWN}" if self.own else state)


class ShownChange(Struct, frozen=True):
    """What a customization changes, for the question about it: the subject of its :class:`~rye.consent.ask.Ask`."""

    change: Customization
    lines: tuple[str, ...] = ()
    """Of a unified difference from what it replaces, without line ends."""
    command: str = ""
    """Shows all of it."""
    replaces: tuple[Customization, ...] = ()
    """The files that the user agreed to and that count no longer, of which the difference tells as well."""
    is_whole: bool = True
    """Whether the lines are all that there is to show. False: another one of the item shows what they change together, or nothing
    can be compared."""
    not_kept: bool = False
    """Whether the user agreed to another text, which is not at hand, so that it is not compared with."""


def is_lost(ask: Ask) -> bool:
    """Whether it asks about a file that counts no longer."""
    return ask.sort == _ASKED and ask.text.endswith(tuple(f" ({lost})" for lost in LOST))


@lru_cache(maxsize=4)
def agreed_files(lines: frozenset[str]) -> Mapping[str, Mapping[str, str]]:
    """The customizations to whose bytes a user agreed, by ``kind:id`` and by file, each with the state that they agreed to last:
    a hash, one of :data:`LOST`, or :data:`UNKNOWN`. ``lines``: :attr:`rye.consent.agreement.Agreement.lines`."""
    files: dict[str, dict[str, str]] = {}
    states: dict[str, str] = {}
    for line in lines:
        if _ABOUT not in line:
            continue
        parts = _parts(line)
        if len(parts) != 3:
            continue
        item, sort, text = parts
        if sort == _STATE:
            states[item] = text.removesuffix(_OWN)
        elif sort == _ASKED:
            shown, _, said = text.rpartition(" (")
            if said.startswith("sha256 "):
                files.setdefault(item, {})[shown] = UNKNOWN
    for item, known in files.items() if states else ():
        for shown in known:
            known[shown] = states.get(f"{item} {shown}", UNKNOWN)
    return files


def agreed_own(lines: frozenset[str], name: str) -> frozenset[str]:
    """The files to whose last state a user agreed for ``kind:id`` as an item of the project itself."""
    about = (_parts(line) for line in lines if _STATE in line and _OWN in line)
    found = (one for one in about if len(one) == 3 and one[1] == _STATE and one[2].endswith(_OWN))
    return frozenset(item.partition(" ")[2] for item, _, _ in found if item.startswith(f"{name} "))


def _parts(line: str) -> list[str]:
    """Item, sort and text of a line."""
    return line[2:-2].split('", "') if "\\" not in line else _unusual(line)


def _unusual(line: str) -> list[str]:
    """The parts of a line with characters that JSON escapes; reading JSON takes longer than splitting."""
    try:
        parts = json.loads(line)
    except (ValueError, RecursionError):  # not an approval
        return []
    return parts if isinstance(parts, list) and all(isinstance(part, str) for part in parts) else []
