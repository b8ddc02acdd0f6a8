"""Keys that would make ``tomllib`` slow: it takes quadratic time on a dotted key, so 40 kB of ``a.a.a…`` take it twenty seconds.

Looked for before any TOML that somebody else may have written is parsed. Linear: an attempt begins only where a part of a key can
begin, and takes a bounded number of parts.
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
    """Whether something in the text looks like a key of more than ``parts`` parts; text inside strings counts, too."""
    if text.count(".") < parts or not any(line.count(".") >= parts for line in text.split("\n")):
        return False  # a key stands on one line
    return _long_key(parts).search(text) is not None
