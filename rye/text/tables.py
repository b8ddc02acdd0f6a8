"""Typed access to the tables of TOML files that people write. Unknown keys are errors, with a suggestion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rye.errors import RyeError
from rye.text.spelling import close_words


class ManifestError(RyeError):
    """``rye.toml`` cannot be read; the message says where and why."""

    def __init__(self, message: str, hint: str | None = None, source: str = "rye.toml"):
        super().__init__("bad-manifest", f"{source}: {message}", hint)


class TableReader:
    """Typed access to a TOML table; every error names the key."""

    def __init__(self, source: str) -> None:
        self.source = source

    def fail(self, message: str, hint: str | None = None) -> ManifestError:
        """Return the error for this file."""
        return ManifestError(message, hint, self.source)

    def known(self, table: Mapping[str, Any], where: str, allowed: set[str]) -> None:
        """Require that the table has no other keys."""
        for key in table:
            if key not in allowed:
                near = close_words(key, sorted(allowed))
                hint = f"Did you mean {near[0]!r}?" if near else f"Known here: {', '.join(sorted(allowed))}."
                raise self.fail(f"unknown key {key!r}{f' in [{where}]' if where else ''}.", hint)

    def table(self, table: Mapping[str, Any], key: str) -> dict[str, Any]:
        """Return the table of a key; empty if there is none."""
        value = table.get(key, {})
        if not isinstance(value, dict):
            raise self.fail(f"{key!r} must be a table.", f"Write [{key}].")
        return value

    def text(self, table: Mapping[str, Any], where: str, key: str) -> str | None:
        """Return a text; None if there is none."""
        value = table.get(key)
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise self.fail(f"[{where}] {key} must be text.", f'Write {key} = "…", in quotes, or leave the line out.')
        return value

    def texts(self, table: Mapping[str, Any], where: str, key: str) -> tuple[str, ...]:
        """Return a list of texts; empty if there is none."""
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(entry, str) and entry for entry in value):
            raise self.fail(f"[{where}] {key} must be a list of non-empty strings.", f'Write {key} = ["…"].')
        return tuple(value)

    def flag(self, table: Mapping[str, Any], where: str, key: str, *, default: bool = False) -> bool:
        """Return true or false."""
        value = table.get(key, default)
        if not isinstance(value, bool):
            raise self.fail(
                f"[{where}] {key} must be true or false.", f"Write {key} = true or {key} = false, without quotes."
            )
        return value
