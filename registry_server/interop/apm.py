"""apm's registry API, version 1, read-only: ``/apm/v1/packages/NAMESPACE/SKILL/versions`` and ``…/VERSION/download``.

It follows apm's description of the API (docs, reference, Registry HTTP API). A package is a skill, and its archive is
the skill's folder as a ``.tar.gz``; the digest in the list is that of the archive. Every error is a problem document
(RFC 7807). Yanked, revoked and taken-down versions are not listed, and a request for one gets 410. Publishing is not
supported.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from msgspec import Struct

from rye.errors import RyeError

PROBLEM = "application/problem+json"


class Archived(Struct, frozen=True):
    """One version in the list."""

    version: str
    digest: str
    """SHA-256 of the archive."""
    size: int
    published: str


def versions(namespace: str, name: str, archives: Iterable[Archived]) -> bytes:
    """Return the list of a package's versions, in the given order."""
    rows = [
        {
            "version": archive.version,
            "digest": f"sha256:{archive.digest}",
            "published_at": archive.published,
            "size_bytes": archive.size,
        }
        for archive in archives
    ]
    return (json.dumps({"package": f"{namespace}/{name}", "versions": rows}, indent=1) + "\n").encode()


def problem(error: RyeError, status: int, path: str) -> bytes:
    """Return an error as a problem document."""
    extensions = {"code": error.code, **({"hint": error.hint} if error.hint else {})}
    document = {
        "title": error.message[:2000],
        "status": status,
        "detail": error.hint or error.message[:2000],
        "instance": path[:200],
        "extensions": extensions,
    }
    return (json.dumps(document, indent=1) + "\n").encode()
