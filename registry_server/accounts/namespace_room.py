"""How many bytes the files of one namespace's releases may take together (``namespace_bytes``, ``namespace_quotas``).

A file counts once for each namespace that released it; one that was taken down does not count. The sum is that of the log, so
releases that are sent at the same moment can exceed the limit by what each of them adds.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

import sqlalchemy as sa

from registry_server.accounts import blob_owners
from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.schema import blob_namespaces, takedowns
from rye.errors import RyeError, UsageError
from rye.items.identity import is_segment
from rye.registry.protocol.statements import Release

_QUOTA = re.compile(r"([a-z0-9_-]+)=([1-9][0-9]{0,17})")


class NamespaceRoom:
    """The limits in force. Raises UsageError ``bad-setting`` for a list that cannot be read."""

    def __init__(self, settings: Settings) -> None:
        self._usual = settings.namespace_bytes
        self._special: dict[str, int] = {}
        for text in settings.namespace_quotas:
            match = _QUOTA.fullmatch(text)
            if match is None or not is_segment(match[1]) or match[1] in self._special:
                raise UsageError(
                    "bad-setting",
                    f"namespace_quotas contains {text[:80]!r}.",
                    'Give each namespace once, with a number of bytes: "acme=10737418240".',
                )
            self._special[match[1]] = int(match[2])

    def check(self, engine: sa.Engine, releases: Iterable[Release]) -> None:
        """Check that what these releases add fits. Raises RyeError ``namespace-full``."""
        added: dict[str, dict[str, int]] = defaultdict(dict)
        for release in releases:
            namespace = release.identity.namespace
            if self._special.get(namespace, self._usual):
                added[namespace].update(blob_owners.sizes_of(release))
        if not added:
            return
        blob_owners.catch_up(engine)
        for namespace, sizes in added.items():
            with database.reader(engine) as connection:
                here = set(connection.scalars(_OF_NAMESPACE.where(blob_namespaces.c.namespace == namespace)))
                used = connection.scalar(_SUM.where(blob_namespaces.c.namespace == namespace)) or 0
            fresh = sum(size for sha256, size in sizes.items() if sha256 not in here)
            limit = self._special.get(namespace, self._usual)
            if fresh and used + fresh > limit:
                raise RyeError(
                    "namespace-full",
                    f"The files of {namespace} take {used:,} bytes; with {fresh:,} more they would exceed its {limit:,}.",
                    "Ask the registry's operator for more room, or to take old releases down.",
                )


_KEPT = blob_namespaces.c.sha256.not_in(sa.select(takedowns.c.sha256))
_OF_NAMESPACE = sa.select(blob_namespaces.c.sha256).where(_KEPT)
_SUM = sa.select(sa.func.sum(blob_namespaces.c.size)).where(_KEPT)
