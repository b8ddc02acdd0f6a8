"""Detect keys that make ``tomllib`` slow. It takes quadratic time on dotted keys: 40 kB of ``a.a.a…`` take twenty seconds.

Checked before Rye parses any TOML that someone else may have written. Linear: a match starts only where a key part can start,
and has a bounded number of parts.
"""

from __future__ import annotations

import re
from functools import cache

from rye.limits import CONTENT


@cache
def _long_key(parts: int) -> re.Pattern[str]:
    part = r"(?>[A-Za-z0-9_-]+|\"[^\"\n]*\"|'[^'\n]*')"
    return re.compile(rf"(?<![A-Za-z0-9_-]){part}(?>[ \t]*\.[ \t]*{part}){{{parts}}}")


def has_long_key(text: str, parts: int = CONTENT.toml_depth) -> bool:
    """Whether anything in the text looks like a key of more than ``parts`` parts, even inside a string."""
    if text.count(".") < parts or not any(line.count(".") >= parts for line in text.split("\n")):
        return False  # a key is always on one line
    return _long_key(parts).search(text) is not None
