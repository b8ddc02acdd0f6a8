"""A registry in a folder. No path leaves the folder, not even through links."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from rye.registry.transport.seam import Fetched, FetchError, Request, is_safe_path, not_found, too_large


class FileTransport(Struct, frozen=True):
    """A registry in a folder."""

    folder: Path

    def fetch_many(self, requests: Sequence[Request]) -> list[Fetched]:
        """Read the files from the folder."""
        root = self.folder.resolve()
        return [self._fetch(root, request) for request in requests]

    def close(self) -> None:
        """Do nothing: nothing is open."""

    def _fetch(self, root: Path, request: Request) -> Fetched:
        if not is_safe_path(request.path):
            return FetchError("fetch-unsafe", f"{request.path!r} is not a path below the registry.")
        try:
            target = (root / request.path).resolve(strict=True)
            if not target.is_relative_to(root):
                return FetchError("fetch-unsafe", f"{request.path} leaves the registry's folder through a link.")
            # Non-blocking, so that a named pipe in the folder cannot block the client. Only regular files are read.
            descriptor = os.open(target, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
            with os.fdopen(descriptor, "rb") as file:
                if not target.is_file():
                    return not_found(request.path)
                data = file.read(request.max_bytes + 1)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return not_found(request.path)
        except (OSError, RuntimeError) as error:
            return FetchError("fetch-unreachable", f"{request.path} cannot be read: {error}.")
        return data if len(data) <= request.max_bytes else too_large(request)
