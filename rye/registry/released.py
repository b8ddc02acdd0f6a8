"""The verified parts of a release that a registry client returns."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from rye.registry.protocol import wire
from rye.registry.trust.records import ReleaseRecord


class ItemFiles(Struct, frozen=True):
    """The verified bytes of one release."""

    record: ReleaseRecord
    file: bytes
    attached: Mapping[str, bytes]
    """Content by relative path."""


class Proofs(Struct, frozen=True):
    """Proofs that statements are in the log, complete enough to check without the registry."""

    head: str
    """The whole signed head whose checkpoint contains them."""
    lines: tuple[wire.IndexLine, ...]
    """The statements, by position: releases, and the keysets that they depend on."""
    paths: Mapping[int, tuple[bytes, ...]]
    """The inclusion proof of each, by position."""
