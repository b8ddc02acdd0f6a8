"""Metadata that formats other than directives declare: a version, and dependencies on other items (DESIGN §6).

A version is exact SemVer; ``1`` and ``1.0`` are read as ``1.0.0`` (DECISIONS Skills 2). A dependency is a string
``[kind:]id[@range]`` in a list named ``dependencies``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from rye.items.identity import is_id
from rye.items.kinds import KINDS
from rye.items.reading import Dependency
from rye.items.version_text import is_range, version_problem
from rye.limits import RESOLUTION
from rye.text.diagnostics import Diagnostic

_SHORT = re.compile(r"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*))?")
_DEPENDENCIES = 1000

LineOf = Callable[..., int | None]
"""Returns the file's line of a path in the metadata, e.g. ``("dependencies", 0)``."""


def normalized_version(value: Any) -> str | None:
    """Return ``X.Y.Z[-pre][+build]`` for a version as written (string or whole number), or None if it is not a version."""
    text = _completed(value)
    return text if text is not None and version_problem(text) is None else None


def _completed(value: Any) -> str | None:
    """A version as written, with its missing parts added; None if it is neither a string nor a whole number."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    if isinstance(value, int) and not 0 <= value <= RESOLUTION.version_number:
        return str(value) if value < 0 else f"{RESOLUTION.version_number + 1}.0.0"
    text = str(value).strip()
    if len(text) <= RESOLUTION.version_characters and _SHORT.fullmatch(text):
        return text + (".0" if "." in text else ".0.0")
    return text


def version_of(value: Any, code: str, name: str, line: int | None, diagnostics: list[Diagnostic]) -> str | None:
    """Return the version declared under the key ``name``. If it is invalid, add an error to ``diagnostics``."""
    if value is None:
        return None
    text = _completed(value)
    problem = version_problem(text) if text is not None else "is not a semantic version"
    if problem is None:
        return text
    hint = "Write it as X.Y.Z, e.g. 1.0.0."
    if isinstance(value, float):
        hint = 'Put it in quotes, e.g. "1.0": without quotes it is a number, and 1.10 becomes 1.1.'
    diagnostics.append(Diagnostic("error", code, f"{name} {problem}: {_short(value)}.", line, hint=hint))
    return None


def parse_dependency(text: str, line: int | None = None) -> Dependency | None:
    """Parse ``[kind:]id[@range]``; None if it is malformed."""
    reference, at, wanted = (part.strip() for part in text.partition("@"))
    kind, colon, identifier = reference.rpartition(":")
    if (colon and kind not in KINDS) or not is_id(identifier) or (at and not is_range(wanted)):
        return None
    return Dependency("depends_on", reference, wanted or None, line)


def dependencies_of(
    value: Any, code: str, line_of: LineOf, diagnostics: list[Diagnostic], *path: str | int
) -> tuple[Dependency, ...]:
    """Return the dependencies listed at ``path``. Each malformed entry adds an error to ``diagnostics``."""
    if value is None:
        return ()
    hint = "Use strings of the form [kind:]namespace/category/name[@range], e.g. tool:acme/file-system/read@^1.2."
    shown = ".".join(str(part) for part in path)
    if not isinstance(value, list):
        diagnostics.append(
            Diagnostic("error", code, f"{shown} must be a list of references.", line_of(*path), hint=hint)
        )
        return ()
    if len(value) > _DEPENDENCIES:
        message = f"{shown} lists more than {_DEPENDENCIES} dependencies."
        diagnostics.append(Diagnostic("error", code, message, line_of(*path)))
        return ()
    dependencies: list[Dependency] = []
    for index, entry in enumerate(value):
        line = line_of(*path, index)
        dependency = parse_dependency(entry, line) if isinstance(entry, str) else None
        if dependency is None:
            message = f"{shown}[{index}] is not a reference: {_short(entry)}."
            diagnostics.append(Diagnostic("error", code, message, line, hint=hint))
        else:
            dependencies.append(dependency)
    return tuple(dependencies)


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "…"
