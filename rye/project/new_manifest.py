"""The ``rye.toml`` that a new project begins with."""

from __future__ import annotations

import json


def new_manifest(name: str, namespace: str | None, registry: str | None) -> str:
    """The text of a manifest that ``rye init`` writes. ``name`` may be any folder's, be it a drive's root or no text."""
    lines = ["[project]", f"name = {_quoted(name.strip() or 'project')}"]
    if namespace:
        lines.append(f"namespace = {_quoted(namespace)}")
    if registry:
        lines.append(f"registry = {_quoted(registry)}")
    return "\n".join([*lines, "", "[dependencies]", ""])


def _quoted(value: str) -> str:
    """A TOML basic string: JSON's, but that DEL is escaped as well, and what is no character becomes a question mark."""
    value = value.encode("utf-8", "replace").decode()
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
