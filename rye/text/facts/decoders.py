"""Programs that decode or unpack, one row each: what makes them decode, and where they write the result."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Final, NamedTuple

from rye.text.facts.shell import Command, program
from rye.text.facts.tables import word_set

Saves = Callable[[list[str]], tuple[str, ...]]

_OPTION = r"(?:-[A-Za-z]*[dD][A-Za-z]*|--d(?:e(?:c(?:ode|ompress)?)?)?|--uncompress|-decode(?:hex)?|/decode(?:hex)?)"
_DECODES: Final = re.compile(rf"(?:^|\x00){_OPTION}(?:$|\x00)")
_TO_STDOUT: Final = re.compile(r"-[a-z]*c[a-z]*|--stdout|--to-stdout")
_INTO: Final = frozenset(("-out", "-o", "--output"))


def _nothing(_: list[str]) -> tuple[str, ...]:
    return ()


def _unpacked(arguments: list[str]) -> tuple[str, ...]:
    """The files that a decompressor writes when it is given files."""
    if any(_TO_STDOUT.fullmatch(argument) for argument in arguments):
        return ()
    return tuple(argument.rpartition(".")[0] for argument in _operands(arguments) if "." in argument)


def _output(arguments: list[str]) -> tuple[str, ...]:
    return tuple(after for option, after in pairwise(arguments) if option in _INTO)


def _last(arguments: list[str]) -> tuple[str, ...]:
    return tuple(arguments[-1:])


def _second(arguments: list[str]) -> tuple[str, ...]:
    return tuple(_operands(arguments)[1:])


def _operands(arguments: list[str]) -> list[str]:
    return [argument for argument in arguments if not argument.startswith("-")]


class Decoder(NamedTuple):
    """How a group of programs decodes."""

    programs: frozenset[str]
    when: re.Pattern[str] | None = None
    """Must match the arguments, joined with NULs; None for a program that always decodes."""
    saves: Saves = _nothing
    """The files that it writes on its own."""
    piped: bool = False
    """Whether it counts only after a pipe."""


_DECODERS: Final = (
    Decoder(word_set("gunzip bunzip2 unxz unzstd"), saves=_unpacked),
    Decoder(word_set("zcat bzcat xzcat lzcat zstdcat gzcat unlzma")),
    Decoder(word_set("7z 7za 7zz unzip unrar bsdtar"), re.compile(r"(?:^|\x00)(?:-h?p[^\x00]|-P|--passphrase)")),
    Decoder(word_set("uudecode"), saves=_output),
    Decoder(word_set("gzip bzip2 xz zstd"), _DECODES, _unpacked),
    Decoder(
        word_set("base64 gbase64 base32 basenc basez b64 base64url openssl lzma brotli gpg"), _DECODES, saves=_output
    ),
    Decoder(word_set("certutil"), re.compile(r"(?:^|\x00)[-/]decode(?:hex)?(?:$|\x00)", re.IGNORECASE), _last),
    Decoder(word_set("xxd"), re.compile(r"(?:^|\x00)(?:-[a-z]*r[a-z]*|-revert)(?:$|\x00)"), _second),
    Decoder(word_set("rev"), re.compile(r"^$"), piped=True),
    Decoder(word_set("tr"), re.compile(r"a-z[^\x00]*n-z|n-z[^\x00]*a-m", re.IGNORECASE)),
    Decoder(word_set("jq"), re.compile(r"@base64d")),
    Decoder(
        word_set("python python3 perl ruby node php"),
        re.compile(
            r"b64decode|b32decode|b85decode|fromhex|unhexlify|decompress|decode_base64|decode64|base64_decode|unpack|"
            r"pack\(.?H|atob|base64\.|,[\s\x00]?(?:base64|hex)\)|MIME::Base64|rot.?13|gzinflate|frombase64string",
            re.IGNORECASE,
        ),
    ),
)
_BY_PROGRAM: Final = {name: decoder for decoder in _DECODERS for name in decoder.programs}

PROGRAMS: Final = frozenset(_BY_PROGRAM)
"""Every program that can decode."""


def decoder_of(command: Command) -> tuple[int, tuple[str, ...]] | None:
    """Return the index of the decoding word in ``command`` and the files that it writes, or None if nothing decodes."""
    for index, word in enumerate(command.words):
        decoder = _BY_PROGRAM.get(program(word.text))
        if decoder is None or (decoder.piped and command.before is None and not command.here):
            continue
        arguments = [other.text for other in command.words[index + 1 :]]
        if decoder.when is None or (decoder.piped and command.here) or decoder.when.search("\0".join(arguments)):
            return index, decoder.saves(arguments)
    return None
