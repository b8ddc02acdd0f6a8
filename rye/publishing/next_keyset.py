"""Builds a namespace's next keyset from the current one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

from msgspec.structs import replace

from rye.errors import RyeError, UsageError
from rye.registry.protocol.statements import MAX_KEYS, Keyset, Require, Revocation
from rye.signing.keys import PublicKey


def next_keyset(
    before: Keyset,
    keys: Sequence[bytes],
    threshold: int | None,
    time: datetime,
    *,
    recovery: datetime | None = None,
    revoked: tuple[Revocation, ...] | None = None,
    release_threshold: int | None = None,
    require: Require | Literal["none"] | None = None,
) -> Keyset:
    """Return the keyset that follows ``before``. Both thresholds, and whose signatures count, stay the same unless given: none
    is ever lowered silently.

    Raises UsageError ``bad-argument`` and RyeError ``too-many``.
    """
    wanted = threshold or before.threshold
    if wanted > len(keys):
        raise UsageError(
            "bad-argument",
            f"{wanted} owners must sign for {before.namespace!r}, but only {len(keys)} would be left.",
            f"Say how many must sign from now on: --threshold {len(keys)}.",
            what="threshold",
        )
    releases = release_threshold or before.release_threshold
    if releases > len(keys):
        raise UsageError(
            "bad-argument",
            f"{releases} keys must sign a release of {before.namespace!r}, but only {len(keys)} would be left.",
            f"Say how many must sign from now on: --release-threshold {len(keys)}.",
            what="threshold",
        )
    if len(keys) > MAX_KEYS:
        raise RyeError(
            "too-many",
            f"A namespace has at most {MAX_KEYS} keys.",
            f"Remove one first: `rye namespace keys remove {before.namespace} FINGERPRINT`.",
            what="keys",
        )
    demanded = before.require if require is None else None if require == "none" else require
    security_keys = sum(PublicKey(key).hardware for key in keys)
    if demanded is not None and max(wanted, releases) > security_keys:
        raise UsageError(
            "bad-argument",
            f"{max(wanted, releases)} security keys must sign for {before.namespace!r}, but it would have {security_keys}.",
            "Add a security key first, or in the same command; `--require none` lets other keys sign again.",
            what="threshold",
        )
    return replace(
        before,
        number=before.number + 1,
        previous=before.sha256(),
        time=time,
        recovery=recovery,
        keys=tuple(keys),
        threshold=wanted,
        release_threshold=releases,
        require=demanded,
        revoked=before.revoked if revoked is None else revoked,
    )


def selected_key(namespace: str, keys: Iterable[bytes], wanted: str) -> bytes:
    """Return the key with this fingerprint (either form) or unambiguous key id. Raises RyeError ``unknown-key``."""
    found = {key for key in keys if wanted in PublicKey(key).names}
    if len(found) != 1:
        raise RyeError(
            "unknown-key",
            f"{wanted!r} {'matches more than one' if found else 'is not a'} key of {namespace!r}.",
            f"`rye namespace show {namespace}` lists them.",
        )
    return found.pop()


def without_key(before: Keyset, gone: bytes) -> tuple[bytes, ...]:
    """Return the remaining keys. Raises RyeError ``last-key``."""
    rest = tuple(key for key in before.keys if key != gone)
    if not rest:
        raise RyeError(
            "last-key",
            f"It is the only key of {before.namespace!r}.",
            f"Add another first: `rye namespace keys add {before.namespace} FILE`.",
        )
    return rest


def refuse_revoked(before: Keyset, keys: Iterable[bytes]) -> None:
    """Refuse a key that was revoked in the namespace. Raises RyeError ``revoked-key``."""
    gone = {PublicKey(revocation.key).point for revocation in before.revoked}
    for key in keys:
        if PublicKey(key).point in gone:
            raise RyeError(
                "revoked-key",
                f"{PublicKey(key).fingerprint} was permanently revoked in {before.namespace!r}.",
                "Create another: `rye keys generate`.",
            )
