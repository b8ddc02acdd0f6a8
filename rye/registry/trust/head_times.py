"""Heads that are dated in the future: whose clock is wrong, and how the log comes back by a step that its owners signed
(``rye.clock/v1``).

Pure. A step is an entry of the log, so it is valid at one position only, and a client that has seen that position
never uses it again. ``/clock`` lists all steps of a log in the format of an index file; nothing in it is trusted before
it is proved to be in the tree.

Rules:

1. The entry's position is the one that the statement names, and the snapshot right before it has the time that it
   names (``clock-step``).
2. A threshold of the owners of the root in force there signed it (``clock-signer``). A client that does not know which one
   that was takes those since the head that it accepted last: nobody who owned the registry only before that can sign one.
3. After it, no snapshot is older than its time (``snapshot-time``).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from msgspec import Struct

from rye.registry.protocol import notes, wire
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.notes import SignedNote
from rye.registry.protocol.statements import ClockStep
from rye.registry.protocol.wire import IndexLine
from rye.registry.trust.owners import Owners
from rye.registry.trust.trust_error import TrustError

CLOCK = "clock"
"""The path of the file that lists all steps. A log without any does not have it."""


def encode_steps(lines: Iterable[IndexLine]) -> bytes:
    """Return the bytes of ``/clock``: one line for each step, in the log's order."""
    return wire.encode_index(lines)


def check_step(
    step: ClockStep, note: SignedNote, position: int, before: datetime | None, origin: str, owners: Owners
) -> None:
    """Rules 1 and 2. ``before``: the time of the snapshot right before the entry; None: another entry is there.

    Raises TrustError ``clock-step``, ``clock-signer``.
    """
    if step.origin != origin or step.position != position or before is None or step.before != before:
        message = (
            f"The step back in time at entry {position} is for entry {step.position} of {step.origin}, after a snapshot "
            f"dated {write_time(step.before)}."
        )
        raise TrustError("clock-step", message)
    if not owners.signed(note, position):
        raise TrustError(
            "clock-signer",
            f"The step back in time at entry {position} is not signed by enough of the registry's owners.",
        )


def steps_between(
    data: bytes, origin: str, owners: Owners, sizes: tuple[int, int], times: tuple[datetime, datetime]
) -> tuple[IndexLine, ...]:
    """Return the steps that let an older snapshot follow a newer one; none if these do not allow it.

    ``data``: ``/clock``. ``sizes`` and ``times``: of the log when its head was last accepted, and now. The caller proves
    that each step is in the tree at its position, before it believes them. Raises TrustError and WireError.
    """
    known, size = sizes
    newest, time = times
    used: list[IndexLine] = []
    for line in wire.decode_index(data):
        if time >= newest:
            break
        if not known <= line.log < size:
            continue
        note = notes.parse(line.note)
        step = ClockStep.parse(note.text)
        # Which snapshot came right before is the log's own business, and auditors check it: it was no older than ours.
        check_step(step, note, line.log, step.before if step.before >= newest else None, origin, owners)
        newest = step.time
        used.append(line)
    return tuple(used) if time >= newest else ()


class Clues(Struct, frozen=True):
    """What else tells the time. Neither is trusted: a head in the future is refused whatever they say."""

    verified: datetime | None = None
    """The time of the newest head that was accepted before."""
    answered: datetime | None = None
    """The ``Date`` header of the answer that brought the head."""


def in_the_future(time: datetime, now: datetime, skew: timedelta, clues: Clues) -> TrustError:
    """Return ``snapshot-future`` for a head of that ``time``, in the words that fit the clues."""
    said = f"The registry's snapshot is dated {write_time(time)}, which is in the future"
    mine = f"this machine's clock says {write_time(now.replace(microsecond=0))}"
    verified, answered = clues.verified, clues.answered
    behind = next((other for other in (verified, answered) if other is not None and other > now + skew), None)
    if behind is not None:
        source = "the registry was already at" if behind is verified else "its answer is dated"
        error = TrustError("snapshot-future", f"{said}: {mine}, but {source} {write_time(behind)}.")
        error.hint = "This machine's clock seems to be behind. Set it, then run the command again."
    elif answered is not None and time > answered + skew:
        error = TrustError("snapshot-future", f"{said}: {mine}, and the answer itself is dated {write_time(answered)}.")
        error.hint = (
            "This machine's clock is right: the registry's was ahead when it signed. Tell its operator: `rye-registry clock "
            "back` is the way back. Nothing of that head was remembered."
        )
    else:
        error = TrustError("snapshot-future", f"{said}: {mine}.")
    return error
