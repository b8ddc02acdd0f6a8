"""A file's bytes as text that the rules read (DESIGN §7.2).

Every file is read, because a shell reads every file: it skips NULs, fails on the first bytes of an image, and runs the next line.
So neither a magic number nor a share of binary bytes exempts a file.
"""

from __future__ import annotations

import re
from typing import Final

_BINARY_SHARE: Final = 10
"""Above this percentage of control characters, only runs of printable characters are kept, as ``strings`` does."""
_CONTROL: Final = bytes(sorted({*range(32), 127} - {*b"\t\n\r\f\v\x1b"}))
_MARKS: Final = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")
_BETWEEN: Final = b"\x1e"
"""Separates two runs. The rules treat it as the end of a command."""
_RUNS = re.compile(rb"[\t -~]{3,}|\n")
"""Kept of a binary file: line ends, so that line numbers match the file, and runs long enough to hold a command."""


def readable_text(data: bytes) -> str:
    """Return a file's text with its own lines. Never raises; empty if there is nothing to read.

    NULs are dropped, as a shell drops them. That makes the ASCII words in UTF-16 readable as well, and the rules look only for
    those. Bytes that are not UTF-8 are replaced. Of images, fonts, archives and programs, runs of printable characters remain.
    """
    plain = data[len(mark) :] if (mark := next(filter(data.startswith, _MARKS), b"")) else data
    if b"\0" in plain:
        plain = plain.replace(b"\0", b"")
    controls = len(plain) - len(plain.translate(None, _CONTROL))
    if controls * 100 > len(plain) * _BINARY_SHARE:
        plain = _BETWEEN.join(_RUNS.findall(plain)).replace(_BETWEEN + b"\n" + _BETWEEN, b"\n")
    return plain.decode("utf-8", "replace")
