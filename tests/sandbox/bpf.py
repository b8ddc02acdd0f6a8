"""The kernel's filter machine, as far as our programs need it: an independent interpreter for checking them."""

from __future__ import annotations

import struct


def run(program: bytes, number: int, arguments: tuple[int, ...] = (), architecture: int = 0xC000003E) -> int:
    """Return the filter's action for one system call."""
    words = tuple(argument & (1 << 64) - 1 for argument in (*arguments, *[0] * 6)[:6])
    data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, architecture, 0, *words)
    instructions = list(struct.iter_unpack("<HBBI", program))
    at = value = 0
    while True:
        code, when_true, when_false, constant = instructions[at]
        at += 1
        if code == 0x20:
            [value] = struct.unpack_from("<I", data, constant)
        elif code == 0x54:
            value &= constant
        elif code == 0x06:
            return int(constant)
        else:
            tests = {0x15: value == constant, 0x25: value > constant, 0x45: bool(value & constant)}
            at += when_true if tests[code] else when_false
