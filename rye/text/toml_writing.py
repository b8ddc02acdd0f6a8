"""Write strings as TOML values, for files that Rye writes whole."""

from __future__ import annotations

import msgspec


def quoted(value: str) -> str:
    """A TOML basic string: JSON's, except that DEL is escaped as well and a lone surrogate becomes a question mark."""
    value = value.encode("utf-8", "replace").decode()
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")
