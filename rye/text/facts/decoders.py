"""Programs that decode or unpack, one row each: what makes them decode, and where they write the result."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Final, NamedTuple

from rye.text.facts.shell import Command, program
from rye.text.facts.tables import word_set

Saves = Callable[[list[str]], tuple[str, ...]]

_OPTION = (
    r"(?:-[A-Za-z]*[dD][A-Za-z]*|--d(?:e(?:c(?:ode|ompress|rypt)?)?)?|--uncompress|-decode(?:hex)?|/decode(?:hex)?)"
)
_DECODES: Final = re.compile(rf"(?:^|\x00){_OPTION}(?:$|\x00)")
_TO_STDOUT: Final = re.compile(r"-[a-z]*c[a-z]*|--stdout|--to-stdout")
_PACKED: Final = re.compile(r"\.\w{1,5}$")
_INTO: Final = frozenset(("-out", "-o", "--output"))


def _nothing(_: list[str]) -> tuple[str, ...]:
    return ()


def _unpacked(arguments: list[str]) -> tuple[str, ...]:
    """The files that a decompressor writes when it is given files."""
    if any(_TO_STDOUT.fullmatch(argument) for argument in arguments):
        return ()
    return tuple(argument.rpartition(".")[0] for argument in _operands(arguments) if _PACKED.search(argument))


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
    Decoder(word_set("gunzip bunzip2 unxz unzstd uncompress unlz4 lunzip"), saves=_unpacked),
    Decoder(word_set("zcat bzcat xzcat lzcat zstdcat gzcat unlzma lz4cat unpigz pbunzip2 funzip")),
    Decoder(word_set("7z 7za 7zz unzip unrar bsdtar"), re.compile(r"(?:^|\x00)(?:-h?p[^\x00]|-P|--passphrase)")),
    Decoder(word_set("uudecode uudeview"), saves=_output),
    Decoder(word_set("gzip bzip2 xz zstd pigz pbzip2 lz4 lzop lzip compress brotli lzma snzip"), _DECODES, _unpacked),
    Decoder(
        word_set(
            "base64 gbase64 base32 basenc basez b64 base64url base58 base91 base85 base45 zbase32 ascii85 openssl gpg "
            "gpg2 age rage "
            "ccrypt mcrypt aespipe qprint punycode"
        ),
        _DECODES,
        saves=_output,
    ),
    Decoder(word_set("ccat gpgv ccdecrypt")),
    Decoder(word_set("mimencode mmencode"), re.compile(r"(?:^|\x00)-[a-z]*u")),
    Decoder(word_set("ansible-vault"), re.compile(r"^decrypt")),
    Decoder(word_set("certutil"), re.compile(r"(?:^|\x00)[-/]decode(?:hex)?(?:$|\x00)", re.IGNORECASE), _last),
    Decoder(word_set("xxd"), re.compile(r"(?:^|\x00)(?:-[a-z]*r[a-z]*|-revert)(?:$|\x00)"), _second),
    Decoder(word_set("iconv recode"), re.compile(r"utf-?(?:7|16|32)|ebcdic|cp037|base64|\.\.", re.IGNORECASE)),
    Decoder(word_set("rev"), piped=True),
    Decoder(word_set("rot13 caesar morse unroff")),
    Decoder(word_set("dc"), re.compile(r"\d{3,}[^\x00]*P")),
    #: Exchanges letters, or drops characters between them. Dropping only line ends, blanks, quotes or digits is layout.
    Decoder(
        word_set("tr"),
        re.compile(
            r"^(?!-[a-z]*d)(?:-[cCst]{1,3}\x00)?(?!(?:\[:(?:upper|lower):\]|\[?(?:A-Z|a-z)\]?)\x00(?:\[:(?:upper|lower):\]|\[?(?:A-Z|a-z)\]?)(?:$|\x00))(?!newline|space)(?=[^\x00]*[^\s\x00\\;,:\"'0-9])[^\x00]+\x00(?!newline)(?=[^\x00]*[A-Za-z/|$])[^\x00]+|"
            r"^-[a-z]*d[a-z]*\x00(?!newline|\[:(?:space|blank|cntrl|digit):\](?:$|\x00))(?=[^\x00]*[A-Za-z#@%~^_.+!?=*-])[^\x00]+"
        ),
        piped=True,
    ),
    Decoder(word_set("printf"), re.compile(r"^[\"']?(?:\\\\)?%0?[1-9]?[oxX][\"']?(?:$|\x00)")),
    Decoder(
        word_set("steghide stegseek zsteg outguess stegsnow stepic"),
        re.compile(r"extract|(?:^|\x00)-(?:sf|r|E|d|C)\b|\.(?:png|jpe?g|bmp|gif|txt)"),
    ),
    Decoder(
        word_set("exiftool identify exiv2 zbarimg"),
        re.compile(r"(?:^|\x00)(?:-b|-p|-format|-pt|--raw|-q)(?:$|\x00)|%c"),
    ),
    Decoder(
        word_set("sqlite3 duckdb psql mysql mariadb clickhouse-client"),
        re.compile(r"unhex|from_base64|\bdecode\b|base64decode", re.IGNORECASE),
    ),
    Decoder(word_set("jq yq gojq jaq dasel"), re.compile(r"@base(?:64|32)d|implode|@urid")),
    Decoder(
        word_set("awk gawk mawk nawk"),
        re.compile(r"%c|strtonum|substr\(\$0,\s?i"),
    ),
    Decoder(
        word_set("python python3 perl ruby node nodejs php deno bun lua"),
        re.compile(
            r"b64decode|b32decode|b85decode|a85decode|fromhex|unhexlify|a2b_|decompress|decode_base64|decode64|base64_decode|unpack|codecs|"
            r"pack\(.?H|atob|base64\.|,[\s\x00]?(?:base64|hex)\)|MIME::Base64|rot.?13|gzinflate|frombase64string|fromcharcode|strrev|hex2bin|"
            r"convert_uudecode|\[::-1\]|\bchr\(|\bchr\x00|\bhex\(|maketrans|\.reverse|\breverse\b|\.chr\b|\.hex\b|\by/|\btr/",
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
        if decoder.when is None or decoder.when.search("\0".join(arguments)):
            return index, decoder.saves(arguments)
    return None
