"""Which calls need a person's approval, and how long it is valid (docs/explanation/runtime.md).

``[policy.approval]`` maps capability patterns to ``ask``, ``deny`` or ``allow``. The most specific matching pattern
applies; if several are equally specific, the strictest. Among the tables of project, user and organization, the
strictest answer applies. If no table matches, calls of the elevated and unrestricted tiers need approval, and others
do not. Signing always does.

An approval is bound to the run, the right that the call needs, the hash of the item's bytes and the hash of the parameters:
who lets a text be read does not let it be executed or signed. It is valid once, for ten minutes. ``rye approve RUN CALL``
stores it in the run's folder, and it is removed before the call is made.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from rye.errors import RyeError
from rye.limits import RUNTIME
from rye.permissions.containment import contained
from rye.permissions.risk import Tier
from rye.storage.private_files import read_trusted, write, write_new
from rye.text.json_reading import UNDECODABLE, json_decoder

Answer = Literal["allow", "ask", "deny"]
ANSWERS: tuple[Answer, ...] = get_args(Answer)
"""From the mildest to the strictest."""
NO_ITEM = "0" * 64
"""The hash in a question about a search, which uses no item's bytes."""


class Question(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One call that waits for a person."""

    run: str
    call: int
    """The number of the call's line in the log."""
    tool: str
    item: str
    """``kind:id@version``; of a search, the kind."""
    sha256: str
    """Of the item's bytes; :data:`NO_ITEM` of a search."""
    params_sha256: str
    params: object
    """As received where a person is asked while the call waits; without secrets where stored in a file."""
    required: str
    asked: str
    """The time of the question, in UTC."""
    shown: tuple[str, ...] = ()
    """What a person sees besides the parameters: how the text to be signed changed, and its cautions and alarms."""
    whole: bool
    """Whether ``params`` are complete: nothing cut or replaced. People only agree to what they can see."""

    @property
    def key(self) -> str:
        """The key that an approval of this call is stored under."""
        return approval_key(self.run, self.required, self.sha256, self.params_sha256)


class _Given(Struct, frozen=True, forbid_unknown_fields=True):
    """An approval as stored in its file."""

    key: str
    time: datetime


def approval_key(run: str, required: str, item_sha256: str, params_sha256: str) -> str:
    """Return the hash that binds an approval to run, capability, item and parameters: 64 hex characters."""
    return sha256(f"{run}\n{required}\n{item_sha256}\n{params_sha256}".encode()).hexdigest()


def answer(capability: str, tables: Iterable[Mapping[str, Answer]], tier: Tier) -> Answer:
    """Return what happens to a call that needs ``capability``, which is in tier ``tier``."""
    said = [found for table in tables if (found := _most_specific(capability, table)) is not None]
    if said:
        return max(said, key=ANSWERS.index)
    return "ask" if tier >= Tier.ELEVATED else "allow"


def _most_specific(capability: str, table: Mapping[str, Answer]) -> Answer | None:
    matching = [pattern for pattern in table if fnmatchcase(capability, pattern)]
    innermost = [
        pattern
        for pattern in matching
        if not any(contained(other, [pattern]) and not contained(pattern, [other]) for other in matching)
    ]
    return max((table[pattern] for pattern in innermost), key=ANSWERS.index, default=None)


class ApprovalStore:
    """The questions and approvals of one run, in its folder: ``ask-CALL.json`` and ``yes-KEY.json``, each mode 0600."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._asked: dict[str, int] = {}

    def waiting(self, key: str) -> int | None:
        """Return the number of the call that already asked for this key, or None."""
        return self._asked.get(key)

    def ask(self, question: Question) -> int:
        """Store a question for a person and return the number of the call to approve.

        Asking the same question again returns the first call's number. Raises RyeError ``declined`` when too many
        questions are waiting.
        """
        known = self._asked.get(question.key)
        if known is not None:
            return known
        if len(self._asked) >= RUNTIME.questions:
            message = f"{RUNTIME.questions} calls of this run are already waiting for approval, which is the limit."
            raise RyeError("declined", message, "Approve waiting calls with `rye approve`, or start another run.")
        path = self.folder / f"ask-{question.call}.json"
        write_new(path, msgspec.json.format(msgspec.json.encode(question), indent=2).decode() + "\n")
        self._asked[question.key] = question.call
        return question.call

    def take(self, key: str, now: datetime) -> bool:
        """Whether a person approved this in the last ten minutes. Uses up the approval, valid or not."""
        path = self.folder / f"yes-{key}.json"
        taken = self.folder / f".used-{os.urandom(8).hex()}"
        try:
            os.rename(path, taken)  # atomic: of several callers, one gets it
        except OSError:
            return False
        try:
            given = json_decoder(_Given).decode(read_trusted(taken))
        except (OSError, *UNDECODABLE):
            return False
        finally:
            taken.unlink(missing_ok=True)
        self._asked.pop(key, None)
        age = now - given.time
        return given.key == key and timedelta(0) <= age <= timedelta(seconds=RUNTIME.approval_seconds)


def read_question(folder: Path, call: int) -> Question:
    """Read the question about one call. Raises RyeError ``no-such-entry``."""
    try:
        return json_decoder(Question).decode(read_trusted(folder / f"ask-{call}.json"))
    except (OSError, *UNDECODABLE) as error:
        hint = f"`rye runs show {folder.name}` shows the calls of the run."
        raise RyeError(
            "no-such-entry", f"Run {folder.name} has no call {call} waiting for approval.", hint, what="call"
        ) from error


def approve(folder: Path, question: Question, now: datetime) -> None:
    """Store a person's approval. Raises RyeError ``no-such-entry`` if the question belongs to another run or does not
    show the whole call."""
    if not question.whole:
        raise RyeError(
            "no-such-entry",
            f"Question {question.call} does not show the whole call, so it cannot be approved.",
            what="call",
        )
    if question.run != folder.name:
        raise RyeError(
            "no-such-entry", f"The question belongs to run {question.run}, not to {folder.name}.", what="call"
        )
    path = folder / f"yes-{question.key}.json"
    # replaces an earlier approval, so that its ten minutes start again
    write(path, msgspec.json.encode(_Given(question.key, now.astimezone(UTC))).decode())
