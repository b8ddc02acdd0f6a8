"""Whose clock is wrong when a head is dated in the future: the registry's, or this machine's. Only words depend on it."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from rye.registry.protocol.lines import write_time
from rye.registry.trust.trust_error import TrustError


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
