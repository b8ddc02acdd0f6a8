"""Files with a JSON object that a command reads, such as inputs or a context."""

from __future__ import annotations

import sys
from typing import Any

from rye.cli.options import Session
from rye.workspace.given_file import given_object
from rye.workspace.named_file import NamedFile


def read_object(session: Session, file: str, what: str, example: str) -> dict[str, Any]:
    """The object in ``file`` (``-``: standard input). Raises like :func:`rye.workspace.given_file.given_object`."""
    return given_object(NamedFile(session.path(file), file), sys.stdin.buffer.read, what, example)
