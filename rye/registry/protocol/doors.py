"""What a registry says about others' registries that it serves: a door to them (docs/reference/doors.md).

``/upstreams.json`` of the registry lists them. Below ``/upstream/ORIGIN``, the registry answers with the static files of the
other one, whose log clients verify as if they read it there. ``held/<hash of an index file>`` is the only file of its own in
there: which releases of that index it holds back. It can only take releases away, never add or change one.

Older clients ask for none of these files.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from rye.registry.protocol import lines, wire
from rye.registry.protocol.lines import StatementError
from rye.registry.protocol.wire import WireError

UPSTREAMS_PATH = "upstreams.json"
MAX_UPSTREAMS_BYTES = 256 * 1024
MAX_HELD_BYTES = 4 * 1024 * 1024
_BELOW = "/upstream/"
Words = Annotated[str, Meta(min_length=1, max_length=300)]


class Upstream(Struct, frozen=True, forbid_unknown_fields=True):
    """Another registry, and the namespaces of it that are served."""

    origin: str
    fingerprint: wire.Sha256
    """Of its root: what a person compares with the one that its own operator publishes."""
    namespaces: Annotated[list[str], Meta(max_length=2_000)]


class Upstreams(Struct, frozen=True, forbid_unknown_fields=True):
    """``/upstreams.json``."""

    upstreams: Annotated[list[Upstream], Meta(max_length=50)]


class HeldRelease(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A release that the registry does not give out."""

    version: Annotated[str, Meta(max_length=256)]
    why: Words
    until: Annotated[str, Meta(max_length=20)] | None = None
    """When that ends; None: not by itself."""


class HeldReleases(Struct, frozen=True, forbid_unknown_fields=True):
    """``held/<hash>``."""

    held: Annotated[list[HeldRelease], Meta(max_length=20_000)]


def door_address(registry: str, origin: str) -> str:
    """Return the address below which ``registry`` serves the files of the registry ``origin``."""
    return f"{registry.rstrip('/')}{_BELOW}{origin}"


def door_host(address: str, origin: str) -> str | None:
    """Return the address of the registry that serves ``origin`` at this address; None if the address is not such a one."""
    end = f"{_BELOW}{origin}"
    return address.removesuffix(end) if address.endswith(end) else None


def held_path(sha256: str) -> str:
    """Return the path of what is held back of an index file, below the door's address."""
    return f"held/{sha256}"


def decode_upstreams(data: bytes) -> tuple[Upstream, ...]:
    """Decode ``/upstreams.json``: each origin and each namespace once. Raises WireError (``upstreams-malformed``)."""
    found = wire.decode_json(_bounded(data, MAX_UPSTREAMS_BYTES), Upstreams, "upstreams-malformed").upstreams
    names = [name for upstream in found for name in upstream.namespaces]
    try:
        for upstream in found:
            lines.read_origin(upstream.origin)
        for name in names:
            lines.read_namespace(name)
    except StatementError as error:
        raise _malformed(error.message) from error
    if len({upstream.origin for upstream in found}) < len(found) or len(set(names)) < len(names):
        raise _malformed("an origin or a namespace is listed twice")
    return tuple(found)


def decode_held(data: bytes) -> dict[str, str]:
    """Decode ``held/<hash>``: why each version is held back, and until when, in words.

    Raises WireError (``upstreams-malformed``).
    """
    held = wire.decode_json(_bounded(data, MAX_HELD_BYTES), HeldReleases, "upstreams-malformed").held
    words: dict[str, str] = {}
    for release in held:
        if not (release.why.isprintable() and release.version.isprintable()):
            raise _malformed("a reason is not printable")
        until = f" until {_date(release.until)}" if release.until is not None else ""
        words[release.version] = f"{release.why}{until}"
    return words


def _date(text: str) -> str:
    try:
        found: datetime = lines.read_time(text)
    except StatementError as error:
        raise _malformed(error.message) from error
    return f"{found:%Y-%m-%d %H:%M} UTC"


def _bounded(data: bytes, most: int) -> bytes:
    if len(data) > most:
        raise _malformed(f"it is larger than {most:,} bytes")
    return data


def _malformed(reason: str) -> WireError:
    return WireError("upstreams-malformed", f"What the registry says about others' registries is malformed: {reason}.")
