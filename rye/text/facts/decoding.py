"""Bytes of an attached file as the text that facts are looked for in (DESIGN §7.2).

Every file is read, because a shell reads every file: it skips NULs, stumbles over the first bytes of an image and runs the next
line. So neither a mark at the beginning nor a share of strange bytes takes a file out of the list.
"""

from __future__ import annotations

import re
from typing import Final

_BINARY_SHARE: Final = 10
"""Percent of control characters above which only runs of printable characters are kept, as ``strings`` keeps them."""
_CONTROL: Final = bytes(sorted({*range(32), 127} - {*b"\t\n\r\f\v\x1b"}))
_MARKS: Final = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")
#: What stays of a binary file: line ends, so that lines are the file's, and runs that can hold a command.
_BETWEEN: Final = b"\x1e"
"""Separates two runs; the rules read it as the end of a command."""
_RUNS = re.compile(rb"[\t -~]{3,}|\n")


def readable_text(data: bytes) -> str:
    """The text of a file, with its own lines. Never raises; empty where there is nothing to read.

    NULs are left out, as a shell leaves them out; that reads UTF-16, too, whose words of ASCII are what the rules look for. Bytes
    that are no UTF-8 are replaced. Of images, fonts, archives and programs the runs of printable characters are kept.
    """
    plain = data[len(mark) :] if (mark := next(filter(data.startswith, _MARKS), b"")) else data
    if b"\0" in plain:
        plain = plain.replace(b"\0", b"")
    controls = len(plain) - len(plain.translate(None, _CONTROL))
    if controls * 100 > len(plain) * _BINARY_SHARE:
        plain = _BETWEEN.join(_RUNS.findall(plain)).replace(_BETWEEN + b"\n" + _BETWEEN, b"\n")
    return plain.decode("utf-8", "replace")
