"""The initial ``rye.toml`` of a new project."""

from __future__ import annotations

from rye.text.toml_writing import quoted


def new_manifest(name: str, namespace: str | None, registry: str | None) -> str:
    """Return the manifest that ``rye init`` writes. ``name`` can be any folder name, even an empty one (a drive's root)."""
    lines = ["[project]", f"name = {quoted(name.strip() or 'project')}"]
    if namespace:
        lines.append(f"namespace = {quoted(namespace)}")
    if registry:
        lines.append(f"registry = {quoted(registry)}")
    return "\n".join([*lines, "", "[dependencies]", ""])
