"""Which calls need a person's approval, and how long it is valid (docs/explanation/runtime.md).

``[policy.approval]`` maps capability patterns to ``ask``, ``deny`` or ``allow``. The most specific matching pattern
applies; if several are equally specific, the strictest. Among the tables of project, user and organization, the
strictest answer applies. If no table matches, calls of the elevated and unrestricted tiers need approval, and others
do not. Signing always does.

An approval is bound to the run, the hash of the item's bytes and the hash of the parameters. It is valid once, for ten
minutes. ``rye approve RUN CALL`` stores it in the run's folder, and it is removed before the call is made.
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

Answer = Literal["allow", "ask", "deny"]
ANSWERS: tuple[Answer, ...] = get_args(Answer)
"""From the mildest to the strictest."""


class Question(Struct, frozen=True, forbid_unknown_fields=True):
    """One call that waits for a person."""

    run: str
    call: int
    """The number of its line in the log."""
    tool: str
    item: str
    """``kind:id@version``."""
    sha256: str
    params_sha256: str
    params: object
    """For a person who is asked while the call waits, as they came; in a file, without secrets."""
    required: str
    asked: str
    """When, in UTC."""
    whole: bool
    """Whether ``params`` are the call's, with nothing cut or replaced: nobody agrees to what they cannot see."""

    @property
    def key(self) -> str:
        return approval_key(self.run, self.sha256, self.params_sha256)


class _Given(Struct, frozen=True, forbid_unknown_fields=True):
    """A person's yes, as its file holds it."""

    key: str
    time: datetime


def approval_key(run: str, item_sha256: str, params_sha256: str) -> str:
    """What a yes is bound to: 64 hex characters."""
    return sha256(f"{run}\n{item_sha256}\n{params_sha256}".encode()).hexdigest()


def answer(capability: str, tables: Iterable[Mapping[str, Answer]], tier: Tier) -> Answer:
    """What happens with a call that asks for ``capability``, of this tier."""
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
    """Questions and answers of one run, in its folder: ``ask-CALL.json`` and ``yes-KEY.json``, each 0600."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._asked: dict[str, int] = {}

    def waiting(self, key: str) -> int | None:
        """The call that asked for this key before."""
        return self._asked.get(key)

    def ask(self, question: Question) -> int:
        """Write a question down for a person; the number of the call that they approve. The same question has one number."""
        known = self._asked.get(question.key)
        if known is not None:
            return known
        if len(self._asked) >= RUNTIME.questions:
            message = f"{RUNTIME.questions} calls of this run wait for a person; no more are taken."
            raise RyeError("declined", message, "Start another run.")
        path = self.folder / f"ask-{question.call}.json"
        write_new(path, msgspec.json.format(msgspec.json.encode(question), indent=2).decode() + "\n")
        self._asked[question.key] = question.call
        return question.call

    def take(self, key: str, now: datetime) -> bool:
        """Whether somebody said yes to this in the last ten minutes. Whatever they said is used up."""
        path = self.folder / f"yes-{key}.json"
        taken = self.folder / f".used-{os.urandom(8).hex()}"
        try:
            os.rename(path, taken)  # one of several takers wins
        except OSError:
            return False
        try:
            given = msgspec.json.decode(read_trusted(taken), type=_Given)
        except (OSError, msgspec.MsgspecError):
            return False
        finally:
            taken.unlink(missing_ok=True)
        self._asked.pop(key, None)
        age = now - given.time
        return given.key == key and timedelta(0) <= age <= timedelta(seconds=RUNTIME.approval_seconds)


def read_question(folder: Path, call: int) -> Question:
    """The question of one call. Raises RyeError ``no-such-call``."""
    try:
        return msgspec.json.decode(read_trusted(folder / f"ask-{call}.json"), type=Question)
    except (OSError, msgspec.MsgspecError) as error:
        hint = f"`rye runs show {folder.name}` shows the calls of the run."
        raise RyeError("no-such-call", f"No call {call} of the run {folder.name} waits for a person.", hint) from error


def approve(folder: Path, question: Question, now: datetime) -> None:
    """Write a person's yes down. Raises RyeError ``no-such-call`` for a question of another run, or one that does not show the
    whole call."""
    if not question.whole:
        raise RyeError(
            "no-such-call", f"The question {question.call} does not show the whole call; nobody can agree to it."
        )
    if question.run != folder.name:
        raise RyeError("no-such-call", f"The question is not one of the run {folder.name}.")
    path = folder / f"yes-{question.key}.json"
    write(
        path, msgspec.json.encode(_Given(question.key, now.astimezone(UTC))).decode()
    )  # an older one counts from now, too
