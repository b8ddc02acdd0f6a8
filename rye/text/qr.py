"""A QR code (ISO/IEC 18004) of at most 122 characters, as text of half blocks: version 5, error correction M, mask 0.

Only what a paper key needs: upper-case letters, digits and spaces, in the alphanumeric mode. A reader accepts every mask, so none
is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"
_SIZE = 37
_BLOCKS, _DATA, _CORRECTION = 2, 43, 24
"""Blocks of version 5-M, and the bytes of data and of error correction in each."""
MOST_CHARACTERS = 122
_FORMAT = "101010000010010"
"""The 15 bits that say "M, mask 0"."""
_QUIET = 4
Grid = list[list[bool]]


def picture(text: str) -> str:
    """The code, two rows to a line, dark as blocks, with its quiet zone. Raises ValueError for a text that does not fit."""
    grid = code(text)
    blank = [[False] * (_SIZE + 2 * _QUIET)] * _QUIET
    rows = [*blank, *([False] * _QUIET + row + [False] * _QUIET for row in grid), *blank]
    rows += [[False] * len(rows[0])] * (len(rows) % 2)
    glyphs = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
    return "\n".join(
        "".join(glyphs[pair] for pair in zip(upper, lower, strict=True)).rstrip()
        for upper, lower in zip(rows[::2], rows[1::2], strict=True)
    )


def code(text: str) -> Grid:
    """The modules by row and column; True is dark."""
    grid: Grid = [[False] * _SIZE for _ in range(_SIZE)]
    fixed = _draw_patterns(grid)
    bits = (byte >> shift & 1 for byte in _codewords(text) for shift in range(7, -1, -1))
    for row, column in _path():
        if (row, column) not in fixed:
            grid[row][column] = bool(next(bits, 0)) != ((row + column) % 2 == 0)
    return grid


def _draw_patterns(grid: Grid) -> set[tuple[int, int]]:
    """Draw everything that is not data; return its places."""
    fixed: dict[tuple[int, int], bool] = {}
    for at in range(_SIZE):
        fixed[6, at] = fixed[at, 6] = at % 2 == 0
    for top, left in ((0, 0), (0, _SIZE - 7), (_SIZE - 7, 0)):
        for row in range(-1, 8):
            for column in range(-1, 8):
                if 0 <= top + row < _SIZE and 0 <= left + column < _SIZE:
                    ring = max(abs(row - 3), abs(column - 3))
                    fixed[top + row, left + column] = ring in (0, 1, 3)
    for row in range(-2, 3):
        for column in range(-2, 3):
            fixed[30 + row, 30 + column] = max(abs(row), abs(column)) != 1
    near = [(8, 0), (8, 1), (8, 2), (8, 3), (8, 4), (8, 5), (8, 7), (8, 8), (7, 8)] + [
        (row, 8) for row in range(5, -1, -1)
    ]
    far = [(_SIZE - 1 - at, 8) for at in range(7)] + [(8, _SIZE - 8 + at) for at in range(8)]
    for places in (near, far):
        fixed.update((place, bit == "1") for place, bit in zip(places, _FORMAT, strict=True))
    fixed[_SIZE - 8, 8] = True
    for (row, column), dark in fixed.items():
        grid[row][column] = dark
    return set(fixed)


def _path() -> Iterator[tuple[int, int]]:
    """The places in the order of the bits: pairs of columns from the right, up and down in turn."""
    rows = range(_SIZE)
    for number, right in enumerate([*range(_SIZE - 1, 6, -2), 5, 3, 1]):
        for row in reversed(rows) if number % 2 == 0 else rows:
            yield row, right
            yield row, right - 1


def _codewords(text: str) -> bytes:
    if len(text) > MOST_CHARACTERS or any(character not in _ALPHABET for character in text):
        raise ValueError("the text does not fit into the code")
    values = [_ALPHABET.index(character) for character in text]
    bits = f"0010{len(values):09b}"
    for at in range(0, len(values) - 1, 2):
        bits += f"{values[at] * 45 + values[at + 1]:011b}"
    if len(values) % 2:
        bits += f"{values[-1]:06b}"
    size = _BLOCKS * _DATA
    bits = (bits + "0000")[: size * 8]
    bits += "0" * (-len(bits) % 8)
    data = [int(bits[at : at + 8], 2) for at in range(0, len(bits), 8)]
    data += [(0xEC, 0x11)[at % 2] for at in range(size - len(data))]
    blocks = [data[at : at + _DATA] for at in range(0, size, _DATA)]
    corrections = [_correction(block) for block in blocks]
    return bytes(byte for each in (blocks, corrections) for column in zip(*each, strict=True) for byte in column)


def _product(one: int, other: int) -> int:
    """In GF(2⁸) with x⁸ + x⁴ + x³ + x² + 1."""
    result = 0
    for bit in range(7, -1, -1):
        result = result << 1 ^ (0x11D if result & 0x80 else 0)
        if other >> bit & 1:
            result ^= one
    return result


def _correction(data: list[int]) -> list[int]:
    """The remainder of Reed-Solomon."""
    generator = [1]
    root = 1
    for _ in range(_CORRECTION):
        generator = [high ^ _product(low, root) for high, low in zip([*generator, 0], [0, *generator], strict=True)]
        root = _product(root, 2)

    def step(rest: list[int], byte: int) -> list[int]:
        factor = byte ^ rest[0]
        return [each ^ _product(term, factor) for each, term in zip([*rest[1:], 0], generator[1:], strict=True)]

    return reduce(step, data, [0] * _CORRECTION)
