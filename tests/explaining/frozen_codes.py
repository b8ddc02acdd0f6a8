"""The codes that programs rely on.

``frozen_codes.txt`` has a line ``CODE EXIT`` for each code, and ``CODE EXIT WHAT`` for each thing that shares it.
``make error-pages`` adds the lines of new codes; no line ever goes or changes (docs/reference/versions.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from rye.explaining.table import Area, load

FROZEN = Path(__file__).with_name("frozen_codes.txt")
_KEPT = (
    "Programs rely on it: codes are added, never renamed, removed or given another exit status (docs/reference/versions.md). "
    "Put it back; use a new code for a new meaning."
)


def frozen_lines(areas: Iterable[Area]) -> frozenset[str]:
    """The lines that the table needs."""
    rows = [row for area in areas for row in area.codes]
    return frozenset(
        line
        for row in rows
        for line in (f"{row.code} {row.exit}", *(f"{row.code} {row.exit} {what}" for what in row.what))
    )


def problems(frozen: frozenset[str], needed: frozenset[str]) -> Iterator[str]:
    """What is wrong with a table that needs these lines, and what to do about it."""
    for line in sorted(frozen - needed):
        yield f"{line!r} is in {FROZEN.name} and not in rye/explaining/codes. {_KEPT}"
    for line in sorted(needed - frozen):
        yield f"{line!r} is not in {FROZEN.name}. If the code is new, run `make error-pages`."


def read_frozen() -> frozenset[str]:
    """The lines that are frozen."""
    return frozenset(FROZEN.read_text("utf-8").splitlines())


if __name__ == "__main__":
    old = read_frozen() if FROZEN.is_file() else frozenset()
    exits = {line.split(" ")[0]: line.split(" ")[1] for line in old}
    new = {
        line for line in frozen_lines(load()) if exits.get(line.split(" ")[0], line.split(" ")[1]) == line.split(" ")[1]
    }
    FROZEN.write_text("".join(f"{line}\n" for line in sorted(old | new)), "utf-8")
