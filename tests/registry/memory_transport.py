"""A transport that serves a registry's files from a mapping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rye.registry.transport.seam import Fetched, Request, not_found, too_large


class MemoryTransport:
    """``requested`` lists the paths of each wave."""

    def __init__(self, files: Mapping[str, bytes]):
        self.files = files
        self.requested: list[list[str]] = []

    def fetch_many(self, requests: Sequence[Request]) -> list[Fetched]:
        if requests:
            self.requested.append([request.path for request in requests])
        return [self._fetch(request) for request in requests]

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def _fetch(self, request: Request) -> Fetched:
        data = self.files.get(request.path)
        if data is None:
            return not_found(request.path)
        return data if len(data) <= request.max_bytes else too_large(request)
