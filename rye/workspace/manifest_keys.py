"""The tables of rye.toml as they are written, to look for deprecated keys in (:mod:`rye.deprecations`)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from rye.errors import RyeError
from rye.limits import PROJECT
from rye.project.layout import find_project, read_project_file


def manifest_keys(cwd: Path) -> Mapping[str, object]:
    """The tables of the rye.toml at or above a folder; empty if it is missing or invalid, which the command itself reports."""
    try:
        project = find_project(cwd)
        data = read_project_file(project.manifest_path, PROJECT.manifest_bytes) if project is not None else None
        return tomllib.loads((data or b"").decode("utf-8-sig"))
    except (RyeError, ValueError, RecursionError):
        return {}
