"""The way back from a log that is dated in the future: one step back in time, signed by the registry's owners.

A clock that is wrong once must not end a registry. Clients that refused the future head never remembered it and simply
go on; clients that accepted it, because their own clock was wrong too, accept the older head for the sake of the
statement (:mod:`rye.registry.trust.head_times`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from registry_server.accounts.registry_keys import PrivateKey
from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.clock import Clock
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.sequencer import Sequencer
from registry_server.upkeep.founding import add_signature, read_draft
from rye.errors import RyeError
from rye.registry.protocol import statements
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.statements import ClockStep


def plan(ledger: Ledger, reason: str, now: datetime) -> ClockStep:
    """Draft the step from the newest head back to ``now``. Raises RyeError ``clock-step``, and the grammar's."""
    newest = ledger.published()
    when = now.astimezone(UTC).replace(microsecond=0)
    if newest is None or newest.time <= when:
        dated = "there is no head" if newest is None else f"the newest head is dated {write_time(newest.time)}"
        raise RyeError(
            "clock-step",
            f"The log is not in the future: {dated}, and it is {write_time(when)}.",
            "Nothing needs to be done. If this machine's clock is ahead, set it.",
        )
    step = ClockStep(ledger.origin, newest.size, newest.time, when, reason)
    step.text()  # raises if the grammar does not allow it
    return step


def signed(step: ClockStep, owners: Sequence[PrivateKey]) -> str:
    """Return the statement as a note, signed by each of these owners. Raises RyeError ``wrong-key``."""
    text = step.text()
    for key in owners:
        text = add_signature(text, key).encode()
    return text


def publish(sequencer: Sequencer, text: str) -> ClockStep:
    """Append a signed step, and sign a head with the right time. Raises RyeError ``not-signed``, ``wrong-statement``,
    and the log's.
    """
    _, note = read_draft(text)
    if note is None:
        raise RyeError(
            "not-signed", "The step back is not signed.", "Each owner signs it: rye-registry root sign FILE --key KEY"
        )
    step = statements.parse(note.text)
    if not isinstance(step, ClockStep):
        raise RyeError(
            "wrong-statement",
            f"The file contains another statement: {step.TITLE}.",
            "Create one: rye-registry clock back --reason TEXT --draft FILE",
            what="step back in time",
        )
    sequencer.step_back(Candidate(note, step))
    return step


def problems(clock: Clock, ledger: Ledger) -> list[RyeError]:
    """Return what is wrong with this machine's clock, or with the time of the newest head."""
    published = ledger.published()
    try:
        if published is not None:
            clock.check_shown(published.time, ledger.database_time)
    except RyeError as error:
        return [error]
    return []
