"""``decode-and-run``: something is decoded or unpacked and run, so that what runs is not what a reader sees."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from rye.text.facts import calls, flow, shell
from rye.text.facts.fact import DECODE_AND_RUN
from rye.text.facts.flow import Flow, Origin
from rye.text.facts.shell import shown
from rye.text.facts.source import Found, Source
from rye.text.facts.tables import triggers, word_set

_ALWAYS: Final = word_set("gunzip zcat bzcat xzcat lzcat zstdcat bunzip2 unxz unlzma unzstd uudecode gzcat rev gpg")
_WITH_OPTION: Final = word_set(
    "base64 gbase64 base32 basenc basez openssl xxd gzip bzip2 xz lzma zstd brotli tr certutil b64 base64url jq sed awk"
)
_IN_CODE: Final = word_set("python python3 perl ruby node php")
_TRIGGERS = triggers(
    (_ALWAYS | _WITH_OPTION) - {"tr", "jq", "sed", "awk", "rev", "b64"}
    | {
        "frombase64string",
        "b64decode",
        "decode_base64",
        "decode64",
        "base64_decode",
        "unhexlify",
        "gzipstream",
        "deflatestream",
        "base64d",
    }
)
_DECODES = re.compile(
    r"-[A-Za-z]*[dD][A-Za-z]*|--d(?:e(?:c(?:ode|ompress)?)?)?|--uncompress|-decode(?:hex)?|/decode(?:hex)?"
)
_CODE_DECODES = re.compile(
    r"b64decode|b32decode|b85decode|fromhex|unhexlify|decompress|decode_base64|decode64|base64_decode|unpack|"
    r"pack\(.?H|atob|"
    r"base64\.|,\s?(?:base64|hex)\)|MIME::Base64|rot.?13|gzinflate|frombase64string",
    re.IGNORECASE,
)
_ROT13 = re.compile(r"\S*(?:a-z\S*n-z|n-z\S*a-m)\S*", re.IGNORECASE)
_ENCODED_OPTION = re.compile(
    r"\s[-/]e(?:c|nc(?:o(?:d(?:e(?:d(?:c\w{0,10})?)?)?)?)?)[\s:]+(?P<payload>[A-Za-z0-9+/]{20,100000}={0,2})",
    re.IGNORECASE,
)
_FROM_BASE64 = re.compile(r"frombase64string|gzipstream|deflatestream", re.IGNORECASE)
_POWERSHELL_RUNS = re.compile(
    r"\b(?:iex|invoke-expression|scriptblock\]?::create|assembly\]?::load|invoke-command)\b", re.IGNORECASE
)
_ESCAPED = re.compile(r"(?:\\x[0-9a-fA-F]{2}|\\[0-3][0-7]{2}|\\u00[0-9a-fA-F]{2}){4,}")
_ESCAPED_RUNS = re.compile(
    r"(?:\beval\b|\bexec\b|\|\s{0,20}(?:sudo )?(?:ba|z|da|k)?sh\b|\bsh -c|<<<|\biex\b|^\s*\$'|[;&|(]\s*\$'|"
    r"\bFunction\b)"
)


def find(source: Source) -> Iterator[Found]:
    """Every place where something decoded is run."""
    words = _TRIGGERS
    if b"tr" in source.words and (b"n-z" in source.lowered or b"a-m" in source.lowered):
        words |= triggers(("tr",))
    if b"rev" in source.words and (
        b"rev |" in source.lowered or b"rev|" in source.lowered or b"| rev" in source.lowered
    ):
        words |= triggers(("rev",))
    if source.has(words):
        passed = Flow(source, DECODE_AND_RUN, words, _decodes)
        yield from passed.run()
        source.saved[DECODE_AND_RUN] = passed.files
    yield from _encoded_commands(source)
    if "\\x" in source.text or "\\1" in source.text or "\\u00" in source.text or "\\0" in source.text:
        yield from _escapes(source)
    yield from calls.find(source, calls.DECODED, DECODE_AND_RUN)


def across(sources: Sequence[Source]) -> Iterator[tuple[Source, Found]]:
    """What one file of the item decodes and another runs."""
    return flow.across(sources, [source.saved.get(DECODE_AND_RUN, {}) for source in sources], DECODE_AND_RUN, _decodes)


def _decodes(command: shell.Command, _: str) -> Origin | None:
    words = command.words
    for index, word in enumerate(words):
        name = shell.program(word.text)
        rest = [other.text for other in words[index + 1 :]]
        if _FROM_BASE64.search(word.text):
            return Origin(_shown(words), 0, 0)
        if name in _ALWAYS:
            if name == "gpg" and not any(_DECODES.fullmatch(other) for other in rest):
                continue
            if name == "rev" and (rest or command.before is None):
                continue
            return _origin(command, index, _unpacked(name, rest))
        if name == "tr":
            if any(_ROT13.fullmatch(other) for other in rest):
                return _origin(command, index, ())
        elif name == "xxd":
            if any(re.fullmatch(r"-[a-z]*r[a-z]*|-revert", other) for other in rest):
                return _origin(command, index, tuple(other for other in rest if not other.startswith("-"))[1:])
        elif name in ("jq", "sed", "awk"):
            if name == "jq" and any("@base64d" in other for other in rest):
                return _origin(command, index, ())
        elif name in _WITH_OPTION:
            if any(_DECODES.fullmatch(other) for other in rest):
                saves = [after for option, after in pairwise(rest) if option in ("-out", "-o", "--output")]
                if name == "certutil":
                    saves = rest[-1:]
                return _origin(command, index, (*saves, *_unpacked(name, rest)))
        elif name in _IN_CODE and _CODE_DECODES.search(" ".join(rest)):
            return _origin(command, index, ())
    return None


def _unpacked(name: str, rest: list[str]) -> tuple[str, ...]:
    """The files that a decompressor leaves behind when it is given files."""
    if name not in ("gunzip", "bunzip2", "unxz", "unzstd", "gzip", "bzip2", "xz", "zstd"):
        return ()
    if any(re.fullmatch(r"-[a-z]*c[a-z]*|--stdout|--to-stdout", other) for other in rest):
        return ()
    return tuple(other.rpartition(".")[0] for other in rest if not other.startswith("-") and "." in other)


def _origin(command: shell.Command, index: int, saves: tuple[str, ...]) -> Origin:
    """The text of a decoder with what feeds it: another payload is another fact."""
    parts = [_shown(command.words[index:])]
    before = command.before
    while before is not None and len(parts) < 4:
        parts.insert(0, _shown(before.words))
        before = before.before
    return Origin(" | ".join(parts), 0, 0, saves)


def _shown(words: list[shell.Word]) -> str:
    return shown(" ".join(word.text for word in words))


_POWERSHELL_WORDS = triggers("powershell pwsh frombase64string gzipstream deflatestream enc encodedcommand ec encoded")


def _encoded_commands(source: Source) -> Iterator[Found]:
    """PowerShell: ``-EncodedCommand`` in any length, and ``FromBase64String`` with something that runs it in the same line."""
    if not source.has(_POWERSHELL_WORDS):
        return
    for line in source.logical_lines(_POWERSHELL_WORDS):
        for text, offset in shell.pieces(line.text):
            has_shell = "powershell" in text.lower() or "pwsh" in text.lower()
            for match in _ENCODED_OPTION.finditer(text) if not has_shell else _encoded_after_shell(text):
                value = shown(f"-EncodedCommand {match['payload']}")
                yield Found(DECODE_AND_RUN, value, *source.place(line, offset + match.start(), match[0].split()[0]))
            decoded = _FROM_BASE64.search(text)
            if decoded is not None and _POWERSHELL_RUNS.search(text):
                start = max(0, decoded.start() - 200)
                value = shown(text[start : decoded.end() + 2000])
                yield Found(DECODE_AND_RUN, value, *source.place(line, offset + decoded.start(), decoded[0]))


_AFTER_SHELL = re.compile(
    r"\s[-/\u2013]e(?:c|n(?:c(?:o(?:d(?:e(?:d(?:c\w{0,10})?)?)?)?)?)?)?[\s:]+(?P<payload>[A-Za-z0-9+/=$]{4,100000})",
    re.IGNORECASE,
)


def _encoded_after_shell(text: str) -> Iterator[re.Match[str]]:
    start = text.lower().find("powershell")
    if start < 0:
        start = text.lower().find("pwsh")
    yield from _AFTER_SHELL.finditer(text, start)


def _escapes(source: Source) -> Iterator[Found]:
    """A run of hex, octal or Unicode escapes in a line that runs text."""
    for number, raw in enumerate(source.lines):
        if "\\" not in raw:
            continue
        for text, offset in shell.pieces(raw):
            match = _ESCAPED.search(text)
            if match is not None and _ESCAPED_RUNS.search(text):
                yield Found(DECODE_AND_RUN, shown(match[0]), number, offset + match.start())
