"""Who owns a registry (root), and who owns a namespace (keyset)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar, Literal, get_args

from msgspec import Struct

from rye.registry.protocol import lines
from rye.registry.protocol.lines import Lines, malformed
from rye.registry.protocol.statements.grammar import Statement, keep_sorted, one_of, value_or_none
from rye.signing.keys import PublicKey

Require = Literal["hardware", "hardware-verified"]
REQUIRES: tuple[Require, ...] = get_args(Require)
MAX_OWNERS = 16
MAX_LOG_KEYS = 4
MAX_KEYS = 16
RECOVERY_DELAY = timedelta(hours=72)
"""The least time for which a recovery is public before it takes effect."""


class Root(Statement, frozen=True):
    """``rye.root/v1``: who owns the registry and which keys sign its log."""

    TITLE: ClassVar[str] = "rye.root/v1"
    number: int
    previous: str | None
    """SHA-256 of the text of root ``number - 1``."""
    time: datetime
    expires: datetime
    threshold: int
    owners: tuple[bytes, ...]
    logs: tuple[bytes, ...]

    def __post_init__(self) -> None:
        keep_sorted(self, "owners", lines.write_key)
        keep_sorted(self, "logs", lines.write_key)

    def lines(self) -> list[str]:
        """The lines in the order of the grammar; owners and log keys are sorted."""
        return [
            f"origin {self.origin}",
            f"number {self.number}",
            f"previous {self.previous or '-'}",
            f"time {lines.write_time(self.time)}",
            f"expires {lines.write_time(self.expires)}",
            f"threshold {self.threshold}",
            *(f"owner {lines.write_key(key)}" for key in self.owners),
            *(f"log {lines.write_key(key)}" for key in self.logs),
        ]

    @classmethod
    def read(cls, source: Lines) -> Root:
        """Read the lines and check the numbers, thresholds and times against each other."""
        root = cls(
            origin=source.one("origin", lines.read_origin),
            number=source.one("number", lines.read_positive),
            previous=read_previous(source),
            time=source.one("time", lines.read_time),
            expires=source.one("expires", lines.read_time),
            threshold=source.one("threshold", lines.read_positive),
            owners=source.many("owner", lines.read_key),
            logs=source.many("log", lines.read_key),
        )
        check_previous(root.number, root.previous)
        _check_threshold(root.threshold, len(root.owners), MAX_OWNERS, "owner")
        if not 1 <= len(root.logs) <= MAX_LOG_KEYS:
            raise malformed(f"it has {len(root.logs)} log keys instead of 1 to {MAX_LOG_KEYS}")
        if root.expires <= root.time:
            raise malformed("it expires before it begins")
        return root


class Revocation(Struct, frozen=True):
    """A revoked key: it does not count for entries at ``position`` of the log or later."""

    key: bytes
    position: int

    def write(self) -> str:
        """The value of a ``revoke`` line."""
        return f"{lines.write_owner_key(self.key)} {self.position}"

    @classmethod
    def read(cls, text: str) -> Revocation:
        """Read the value of a ``revoke`` line."""
        key, _, position = text.rpartition(" ")
        return cls(lines.read_owner_key(key), lines.read_number(position))


class Keyset(Statement, frozen=True):
    """``rye.keyset/v1``: which keys own a namespace."""

    TITLE: ClassVar[str] = "rye.keyset/v1"
    namespace: str
    number: int
    previous: str | None
    time: datetime
    threshold: int
    keys: tuple[bytes, ...]
    revoked: tuple[Revocation, ...] = ()
    recovery: datetime | None = None
    """When the new keys take over, signed by the root's owners; None: the old keys signed."""
    release_threshold: int = 1
    """How many of the keys must sign a release."""
    require: Require | None = None
    """Whose signatures count: security keys', or those that also verified the person (PIN, finger). None: all keys'."""

    def __post_init__(self) -> None:
        keep_sorted(self, "keys", lines.write_owner_key)
        keep_sorted(self, "revoked", Revocation.write)

    def lines(self) -> list[str]:
        """The lines in the order of the grammar; keys and revocations are sorted."""
        return [
            f"origin {self.origin}",
            f"namespace {self.namespace}",
            f"number {self.number}",
            f"previous {self.previous or '-'}",
            f"time {lines.write_time(self.time)}",
            f"threshold {self.threshold}",
            *([f"release-threshold {self.release_threshold}"] if self.release_threshold != 1 else []),
            *([f"require {self.require}"] if self.require else []),
            *(f"key {lines.write_owner_key(key)}" for key in self.keys),
            *(f"revoke {revocation.write()}" for revocation in self.revoked),
            *([f"recovery {lines.write_time(self.recovery)}"] if self.recovery else []),
        ]

    def accepted_keys(self) -> tuple[PublicKey, ...]:
        """The keys whose signatures count: all of them, or the security keys if it requires hardware."""
        keys = (PublicKey(key, self.require == "hardware-verified") for key in self.keys)
        return tuple(key for key in keys if self.require is None or key.hardware)

    @classmethod
    def read(cls, source: Lines) -> Keyset:
        """Read the lines and check the thresholds, revocations and recovery against each other."""
        keyset = cls(
            origin=source.one("origin", lines.read_origin),
            namespace=source.one("namespace", lines.read_namespace),
            number=source.one("number", lines.read_positive),
            previous=read_previous(source),
            time=source.one("time", lines.read_time),
            threshold=source.one("threshold", lines.read_positive),
            release_threshold=_release_threshold(source),
            require=source.maybe("require", one_of(*REQUIRES)),
            keys=source.many("key", lines.read_owner_key),
            revoked=source.many("revoke", Revocation.read),
            recovery=source.maybe("recovery", lines.read_time),
        )
        check_previous(keyset.number, keyset.previous)
        _check_threshold(keyset.threshold, len(keyset.keys), MAX_KEYS, "key")
        if keyset.release_threshold > len(keyset.keys):
            raise malformed(
                f"its release-threshold {keyset.release_threshold} is more than its {len(keyset.keys)} keys"
            )
        if max(keyset.threshold, keyset.release_threshold) > len(keyset.accepted_keys()):
            raise malformed(f"it has too few security keys for its thresholds, and it requires {keyset.require}")
        points = {PublicKey(key).point for key in keyset.keys}
        if len(points) != len(keyset.keys):
            raise malformed("two of its keys have the same 32 bytes")
        revoked = [PublicKey(revocation.key).point for revocation in keyset.revoked]
        if len(set(revoked)) != len(revoked):
            raise malformed("it has duplicate revocations of a key")
        if points & set(revoked):
            raise malformed("one of its keys is revoked")
        if keyset.recovery is not None:
            if keyset.number == 1:
                raise malformed("the first keyset of a namespace cannot be a recovery")
            if keyset.recovery - keyset.time < RECOVERY_DELAY:
                raise malformed("a recovery must take effect at least 72 hours after its time")
        return keyset


def root_key_name(origin: str) -> str:
    """Return the key name of the root's owners."""
    return f"{origin}/root"


def namespace_key_name(origin: str, namespace: str) -> str:
    """Return the key name of a namespace's keys."""
    return f"{origin}/{namespace}"


def read_previous(source: Lines) -> str | None:
    """Read the hash of the statement before; ``-``: this is the first."""
    return value_or_none(source, "previous", lines.read_hash)


def _release_threshold(source: Lines) -> int:
    """Written only if it is more than one, so that a keyset has one spelling."""
    found = source.maybe("release-threshold", lines.read_positive)
    if found == 1:
        raise malformed("a release-threshold of 1 must be omitted")
    return found or 1


def check_previous(number: int, previous: str | None) -> None:
    """Require that only the first of a chain names no statement before. Raises StatementError."""
    if (number == 1) != (previous is None):
        raise malformed("only number 1 has no previous statement")


def _check_threshold(threshold: int, count: int, most: int, key: str) -> None:
    if not 1 <= count <= most:
        raise malformed(f"it has {count} {key!r} lines instead of 1 to {most}")
    if threshold > count:
        raise malformed(f"its threshold {threshold} is more than its {count} keys")
