"""The initial ``rye.toml`` of a new project."""

from __future__ import annotations

from rye.text.toml_writing import quoted


def new_manifest(name: str, namespace: str | None, registry: str | None) -> str:
    """The text of a manifest that ``rye init`` writes. ``name`` may be any folder's, be it a drive's root or no text."""
    lines = ["[project]", f"name = {quoted(name.strip() or 'project')}"]
    if namespace:
        lines.append(f"namespace = {quoted(namespace)}")
    if registry:
        lines.append(f"registry = {quoted(registry)}")
    return "\n".join([*lines, "", "[dependencies]", ""])
