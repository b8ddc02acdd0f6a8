"""A policy (C2SP tlog-policy): which logs and witnesses are known, and which witnesses together are enough.

Rules, all of the specification, and strict:

* Octets are tab, LF, 0x20 to 0x7E and 0x80 to 0xFF; every line ends in LF. Fields are separated by spaces and tabs. Empty
  lines and lines that begin with ``#`` mean nothing.
* A group names witnesses and groups of earlier lines only, so there are no loops. A name is defined once, is a member at most
  once, and is not ``none``. A group needs from 1 to as many as its members.
* No two logs, and no two witnesses, have the same public key, whatever their names.
* Exactly one quorum. ``quorum none`` demands nothing.

Sizes and numbers are bounded (:data:`MAX_POLICY_BYTES`, :data:`MAX_NAMED`), and nothing is evaluated while reading.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import chain, combinations

from msgspec import Struct

from rye.errors import RyeError
from rye.limits import KIB
from rye.registry.protocol.cosignatures import CosignerKey, split_vkey
from rye.registry.protocol.notes import ED25519, NoteError, VerifierKey
from rye.text.lazy import lazy_pattern

MAX_POLICY_BYTES = 64 * KIB
MAX_NAMED = 32
"""The most logs, witnesses and groups, each: what the specification asks an implementation to support."""
MOST_COMPARED = 12
"""The most witnesses of which every combination is tried."""
NONE = "none"

_SPACE = lazy_pattern(r"[ \t]+")
_FORBIDDEN = lazy_pattern(rb"[\x00-\x08\x0b-\x1f\x7f]")
_THRESHOLD = lazy_pattern(r"[1-9][0-9]{0,3}")

LogKey = VerifierKey | CosignerKey


class PolicyError(RyeError):
    """A file that is not a policy. Code: ``policy-malformed``."""


class Witness(Struct, frozen=True):
    """A witness: its name in the policy, its key, and an address if the policy has one."""

    name: str
    key: CosignerKey
    url: str | None = None


class Group(Struct, frozen=True):
    """Members of whom at least ``least`` must have cosigned."""

    name: str
    least: int
    members: tuple[str, ...]


class Policy(Struct, frozen=True):
    """A policy. :meth:`is_met` evaluates it."""

    text: str
    """The file, byte by byte as latin-1."""
    logs: tuple[LogKey, ...]
    """Empty: the log is known from elsewhere."""
    witnesses: tuple[Witness, ...]
    groups: tuple[Group, ...]
    quorum: str
    """The name of a witness or a group, or ``none``."""

    @property
    def demands(self) -> bool:
        """Whether any cosignature is needed at all."""
        return self.quorum != NONE

    @property
    def keys(self) -> tuple[CosignerKey, ...]:
        """The keys of all witnesses."""
        return tuple(witness.key for witness in self.witnesses)

    def is_met(self, signed: Collection[CosignerKey]) -> bool:
        """Whether the keys that cosigned are enough. Other keys do not count."""
        if not self.demands:
            return True
        met: Mapping[str, bool] = {witness.name: witness.key in signed for witness in self.witnesses}
        for group in self.groups:  # each refers to earlier ones only
            met = {**met, group.name: sum(met[member] for member in group.members) >= group.least}
        return met[self.quorum]

    def demands_less_than(self, other: Policy) -> bool:
        """Whether some cosignatures are enough for this policy and not for the other. With more than :data:`MOST_COMPARED`
        witnesses, whether the two differ."""
        if len(self.witnesses) > MOST_COMPARED:
            return self.text != other.text
        subsets = (combinations(self.keys, count) for count in range(len(self.keys) + 1))
        return any(self.is_met(signed) and not other.is_met(signed) for signed in chain.from_iterable(subsets))

    def names_of(self, signed: Collection[CosignerKey]) -> tuple[str, ...]:
        """The names, for people, of the witnesses whose keys cosigned."""
        return tuple(shown(witness.name) for witness in self.witnesses if witness.key in signed)

    def __str__(self) -> str:
        """The quorum in words."""
        if not self.demands:
            return "no witness is needed"
        found = next((group for group in self.groups if group.name == self.quorum), None)
        if found is None:
            return f"{shown(self.quorum)} must have cosigned"
        return f"{found.least} of {', '.join(map(shown, found.members))} must have cosigned"


def read_policy(data: bytes) -> Policy:
    """Read a policy file. Raises PolicyError ``policy-malformed``."""
    if len(data) > MAX_POLICY_BYTES:
        raise _malformed(f"it has {len(data):,} bytes; the limit is {MAX_POLICY_BYTES:,}")
    if _FORBIDDEN.search(data):
        raise _malformed("it contains a control character other than tab and LF")
    if not data.endswith(b"\n"):
        raise _malformed("its last line does not end with LF, so it may have been cut")
    reading = _Reading(data.decode("latin-1"))
    for number, line in enumerate(reading.text[:-1].split("\n"), 1):
        words = [word for word in _SPACE.split(line) if word]
        if not words or words[0].startswith("#"):
            continue
        read = _LINES.get(words[0])
        if read is None:
            raise _malformed(
                f"line {number} begins with {shown(words[0])[:40]!r}, not with log, witness, group or quorum"
            )
        try:
            read(reading, words[1:])
        except NoteError as error:
            raise _malformed(f"line {number}: {error.message.removesuffix('.')}") from error
        except PolicyError as error:
            raise _malformed(f"line {number}: {error.message}") from error
    return reading.finish()


def simple_policy(keys: Collection[CosignerKey], least: int) -> Policy:
    """The policy that ``least`` of these keys have cosigned; 0: none is needed. Raises PolicyError if there are too few."""
    rows = [f"witness w{number} {key.vkey}" for number, key in enumerate(keys, 1)]
    members = [f"w{number}" for number in range(1, len(keys) + 1)]
    last = [f"group enough {least} {' '.join(members)}", "quorum enough"] if least else ["quorum none"]
    return read_policy("".join(f"{row}\n" for row in [*rows, *last]).encode())


def shown(name: str) -> str:
    """A policy's name as text: UTF-8 where it is."""
    return name.encode("latin-1").decode("utf-8", "replace")


class _Reading:
    """What the lines so far define."""

    def __init__(self, text: str):
        self.text = text
        self.logs: list[LogKey] = []
        self.witnesses: list[Witness] = []
        self.groups: list[Group] = []
        self.quorums: list[str] = []
        self.members: set[str] = set()

    def log(self, words: list[str]) -> None:
        _count(words, 1, 2, "log VKEY [URL]")
        _bound(self.logs, "logs")
        key = _log_key(_utf8(words[0]))
        if any(key.key == other.key for other in self.logs):
            raise _reason("another log has the same key")
        self.logs.append(key)

    def witness(self, words: list[str]) -> None:
        _count(words, 2, 3, "witness NAME VKEY [URL]")
        _bound(self.witnesses, "witnesses")
        self._define(words[0])
        key = CosignerKey.from_vkey(_utf8(words[1]))
        if any(key.key == other.key.key for other in self.witnesses):
            raise _reason("another witness has the same key, and a key counts once")
        self.witnesses.append(Witness(words[0], key, _utf8(words[2]) if len(words) == 3 else None))

    def group(self, words: list[str]) -> None:
        _count(words, 3, 2 + 2 * MAX_NAMED, "group NAME all|any|NUMBER MEMBER…")
        _bound(self.groups, "groups")
        name, least, members = words[0], words[1], tuple(words[2:])
        self._define(name)
        for member in members:
            if member not in self._defined():
                raise _reason(f"{shown(member)!r} is not defined on an earlier line")
            if member in self.members:
                raise _reason(f"{shown(member)!r} is a member already; each name is a member once")
            self.members.add(member)
        self.groups.append(Group(name, _least(least, len(members)), members))

    def quorum(self, words: list[str]) -> None:
        _count(words, 1, 1, "quorum NAME")
        if words[0] != NONE and words[0] not in self._defined():
            raise _reason(f"{shown(words[0])!r} is not defined on an earlier line")
        if self.quorums:
            raise _reason("there is a quorum already")
        self.quorums.append(words[0])

    def finish(self) -> Policy:
        if not self.quorums:
            raise _malformed("it has no quorum line")
        return Policy(self.text, tuple(self.logs), tuple(self.witnesses), tuple(self.groups), self.quorums[0])

    def _defined(self) -> set[str]:
        return {witness.name for witness in self.witnesses} | {group.name for group in self.groups}

    def _define(self, name: str) -> None:
        if name == NONE:
            raise _reason("'none' has a meaning of its own and cannot be defined")
        if name in self._defined():
            raise _reason(f"{shown(name)!r} is defined already")


_LINES: dict[str, Callable[[_Reading, list[str]], None]] = {
    "log": _Reading.log,
    "witness": _Reading.witness,
    "group": _Reading.group,
    "quorum": _Reading.quorum,
}


def _log_key(text: str) -> LogKey:
    material = split_vkey(text)[2]
    return VerifierKey.from_vkey(text) if material[:1] == ED25519 else CosignerKey.from_vkey(text)


def _least(word: str, members: int) -> int:
    if word in ("all", "any"):
        return members if word == "all" else 1
    if _THRESHOLD.fullmatch(word) is None or not 1 <= int(word) <= members:
        raise _reason(f"a group of {members} needs all, any, or a number from 1 to {members}, not {shown(word)[:40]!r}")
    return int(word)


def _count(words: list[str], least: int, most: int, form: str) -> None:
    if not least <= len(words) <= most:
        raise _reason(f"its form is: {form}")


def _bound(found: list[LogKey] | list[Witness] | list[Group], what: str) -> None:
    if len(found) >= MAX_NAMED:
        raise _reason(f"there are more than {MAX_NAMED} {what}")


def _utf8(word: str) -> str:
    try:
        return word.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        raise _reason("a key or address is not UTF-8") from None


def _reason(text: str) -> PolicyError:
    return PolicyError("policy-malformed", text)


def _malformed(reason: str) -> PolicyError:
    return PolicyError(
        "policy-malformed",
        f"This is not a witness policy: {reason}.",
        "Its form is in https://c2sp.org/tlog-policy. Get the file again, or correct it.",
    )
