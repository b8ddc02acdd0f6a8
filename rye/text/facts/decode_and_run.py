"""``decode-and-run``: something is decoded or unpacked and then run, so what runs is not what a reader sees."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rye.text.facts import calls, decoders, shell
from rye.text.facts.across import across
from rye.text.facts.fact import DECODE_AND_RUN
from rye.text.facts.flow.passes import Flow
from rye.text.facts.shell import shown
from rye.text.facts.source import Origin, RuleMatch, Source
from rye.text.facts.tables import triggers, word_set

_TRIGGERS = triggers(
    decoders.PROGRAMS
    - word_set(
        "tr jq yq rev b64 python python3 perl ruby node nodejs php deno bun lua printf echo awk gawk mawk nawk age dc morse "
        "compress identify caesar"
    )
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
        "char",
        "bxor",
    }
)
#: Very common words, each with the strings that the text must contain for them to decode something.
_SPELLINGS: Final = (
    (triggers(("tr",)), (b"tr ",)),
    (triggers(("rev",)), (b"rev |", b"rev|", b"| rev", b"|rev", b"rev <", b"rev &lt;", b"{ rev", b"rev)")),
    (triggers(("jq", "yq")), (b"base64d", b"base32d", b"implode", b"@urid")),
    (triggers(("printf",)), (b"printf %o", b"printf %x", b"printf %03o", b"printf %02x")),
    (triggers(("awk", "gawk", "mawk", "nawk")), (b"%c", b"strtonum", b"substr($0,")),
    (triggers(("age", "compress")), (b"-d", b"--decrypt")),
    (
        triggers(("dc", "morse", "caesar", "identify")),
        (b"| dc", b"dc -e", b"| morse", b"| caesar", b"identify -format"),
    ),
)
_LANGUAGES: Final = triggers("python python3 perl ruby node nodejs php deno bun lua")
#: Words of code that decodes, on the command line of a language.
_CODE_WORDS: Final = triggers(
    "b64decode b32decode b85decode fromhex unhexlify decompress decode_base64 decode64 base64_decode unpack pack atob "
    "base64 rot13 "
    "gzinflate fromcharcode strrev hex2bin chr hex maketrans reverse codecs pe"
)
_ENCODED_OPTION = re.compile(
    r"\s[-/]e(?:c|nc(?:o(?:d(?:e(?:d(?:c\w{0,10})?)?)?)?)?)[\s:]+(?P<payload>[A-Za-z0-9+/]{20,100000}={0,2})",
    re.IGNORECASE,
)
_FROM_BASE64 = re.compile(r"frombase64string|gzipstream|deflatestream", re.IGNORECASE)
#: A call that decodes, in PowerShell or in code that a shell passes to an interpreter.
_DECODING_CALL = re.compile(
    rf"{_FROM_BASE64.pattern}|\b(?:urlsafe_|standard_)?b(?:64|32|16|85)decode\b|\bdecode_?(?:base)?64\b|\bbase64_decode\b|\bunhexlify\b|\[char(?:\[\])?\]|^-bxor$|\[array\]::reverse",
    re.IGNORECASE,
)
_POWERSHELL_RUNS = re.compile(
    r"\b(?:iex|invoke-expression|scriptblock\]?::create|assembly\]?::load|invoke-command)\b", re.IGNORECASE
)
_ESCAPED = re.compile(r"(?:\\x[0-9a-fA-F]{2}|\\[0-3][0-7]{2}|\\u00[0-9a-fA-F]{2}){4,}")
_ESCAPED_RUNS = re.compile(
    r"(?:\beval\b|\bexec\b|\|\s{0,20}(?:sudo )?(?:ba|z|da|k)?sh(?![A-Za-z0-9])|\bsh -c|<<<|\biex\b|^\s*\$'|[;&|(]\s*\$'|"
    r"\bFunction\b)"
)


#: Functions that run text: whoever spells their name in escapes hides that something is run.
_EVALUATORS = word_set(
    "eval exec Function atob child_process execSync system popen subprocess base64_decode b64decode require "
    "spawn shell_exec fromCharCode"
)


def _spelled(escapes: str) -> str:
    return _ESCAPE.sub(
        lambda match: chr(int(match[1] or match[2], 16) if match[1] or match[2] else int(match[3], 8) % 128), escapes
    )


_ESCAPE = re.compile(r"\\x([0-9a-fA-F]{2})|\\u00([0-9a-fA-F]{2})|\\([0-3][0-7]{2})")


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield every place where something decoded is run."""
    yield from find_in_commands(source)
    if "\\x" in source.text or "\\1" in source.text or "\\u00" in source.text or "\\0" in source.text:
        yield from _escapes(source)
    if "data:" in source.text or "php://" in source.text:
        yield from _data_addresses(source)
    yield from calls.find(source, calls.DECODED, DECODE_AND_RUN)


#: What runs the text of an address that holds its own text: an option that loads a module, PHP's settings, a runtime's program.
_RUNS_DATA = re.compile(
    r"(?:--(?:import|loader|experimental-loader|require|preload|eval)|(?<![\w-])-r)[= ][\"']?data:[^\s\"'`]{0,400}|"
    r"\bauto_(?:prepend|append)_file[\"']?\s*[=:]\s*[\"']?(?:data:|php://)[^\s\"'`]{0,400}|"
    r"\b(?:deno|bun)\s+(?:run\s+)?(?:-\S{1,60}\s){0,6}[\"']?data:[^\s\"'`]{0,400}|"
    r"\b(?:import|from)\s+[\"']data:(?:text|application)/(?:java|type)script[^\"']{0,400}|"
    r"<script\b[^<>\n]{0,200}?\bsrc\s?=\s?[\"']?data:[^\s\"'>]{0,400}|\bimportScripts\(\s*[\"'`]data:[^\"'`]{0,400}",
    re.IGNORECASE,
)


def _data_addresses(source: Source) -> Iterator[RuleMatch]:
    starts = source.text_starts
    for number in sorted({*source.lines_of_bytes(b"data:"), *source.lines_of_bytes(b"php://")}):
        for match in _RUNS_DATA.finditer(source.text, starts[number], starts[number + 1]):
            yield RuleMatch(DECODE_AND_RUN, shown(match[0]), number, match.start() - starts[number])


def find_in_commands(source: Source) -> Iterator[RuleMatch]:
    """Yield every place where commands run something decoded."""
    words = _words(source)
    if source.has(words):
        passed = Flow(source, DECODE_AND_RUN, words, _decodes)
        yield from passed.run()
        source.saved[DECODE_AND_RUN].update(passed.kept.files)
    yield from _encoded_commands(source)


def _words(source: Source) -> frozenset[bytes]:
    """The words of the lines that can bring something in."""
    words = _TRIGGERS
    for more, spellings in _SPELLINGS:
        if source.has(more) and any(spelling in source.lowered for spelling in spellings):
            words |= more
    if (
        source.has(_LANGUAGES)
        and (source.has(_CODE_WORDS) or "[::-1]" in source.text)
        and source.has_code_on_a_command_line(_LANGUAGES)
    ):
        words |= _LANGUAGES
    return words


def find_across(sources: Sequence[Source]) -> Iterator[tuple[Source, RuleMatch]]:
    """Yield what one file of the item decodes and another runs."""
    return across(sources, DECODE_AND_RUN, _words, _decodes)


def _decodes(command: shell.Command, line: str) -> Origin | None:
    decoded = decoders.decoder_of(command)
    if decoded is not None:
        return _origin(command, *decoded)
    if any(_DECODING_CALL.search(word.text) and not _is_named_only(word) for word in command.words):
        return Origin(shown(line[command.words[0].start : command.end]), 0, 0)
    return None


def _is_named_only(word: shell.Word) -> bool:
    """Whether a call of .NET is a bare word: one of a pattern (``iex|frombase64string|…``)."""
    return _FROM_BASE64.fullmatch(word.text) is not None


def _origin(command: shell.Command, index: int, saves: tuple[str, ...]) -> Origin:
    """A decoder's text together with what feeds it: a different payload is a different fact."""
    parts = [_shown(command.words[index:])]
    before = command.before
    while before is not None and len(parts) < 4:
        parts.insert(0, _shown(before.words))
        before = before.before
    return Origin(" | ".join(parts), 0, 0, saves)


def _shown(words: list[shell.Word]) -> str:
    return shown(" ".join(word.text for word in words))


_POWERSHELL_WORDS = triggers("powershell pwsh frombase64string gzipstream deflatestream enc encodedcommand ec encoded")


def _encoded_commands(source: Source) -> Iterator[RuleMatch]:
    """PowerShell: any abbreviation of ``-EncodedCommand``, and ``FromBase64String`` on a line that also runs something."""
    if not source.has(_POWERSHELL_WORDS):
        return
    for line in source.logical_lines(_POWERSHELL_WORDS):
        for text, offset in shell.pieces(line.text):
            has_shell = "powershell" in text.lower() or "pwsh" in text.lower()
            for match in _ENCODED_OPTION.finditer(text) if not has_shell else _encoded_after_shell(text):
                if _STANDS_FOR.fullmatch(match["payload"]) is not None:
                    continue  # a word that stands for the payload
                value = shown(f"-EncodedCommand {match['payload']}")
                yield RuleMatch(DECODE_AND_RUN, value, *source.place(line, offset + match.start(), match[0].split()[0]))
            decoded = next(filter(_is_used, _FROM_BASE64.finditer(text)), None)
            if decoded is not None and _POWERSHELL_RUNS.search(text):
                start = max(0, decoded.start() - 200)
                value = shown(text[start : decoded.end() + 2000])
                yield RuleMatch(DECODE_AND_RUN, value, *source.place(line, offset + decoded.start(), decoded[0]))


def _is_used(match: re.Match[str]) -> bool:
    """Whether a name of .NET is called, or made: not one word of a list or a pattern."""
    if match[0].lower() != "frombase64string":
        return not shown(match.string[match.end() : match.end() + 1]).startswith("|")
    after = shown(match.string[match.end() : match.end() + _CALL_CHARACTERS])
    return _CALLED.match(after) is not None or match.string[: match.start()].rstrip(" \t\"'").endswith(("=", "::"))


_CALLED = re.compile(r"[\"')\]}]{0,4}[ \t]{0,4}(?:\(|\.\s?Invoke)", re.IGNORECASE)
_CALL_CHARACTERS: Final = 20
_STANDS_FOR = re.compile(r"[a-z]{1,80}(?:64)?")
_AFTER_SHELL = re.compile(
    r"\s[-/\u2013]e(?:c|n(?:c(?:o(?:d(?:e(?:d(?:c\w{0,10})?)?)?)?)?)?)?[\s:]+(?P<payload>[A-Za-z0-9+/=$]{4,100000})(?![\w-])",
    re.IGNORECASE,
)


def _encoded_after_shell(text: str) -> Iterator[re.Match[str]]:
    start = text.lower().find("powershell")
    if start < 0:
        start = text.lower().find("pwsh")
    yield from _AFTER_SHELL.finditer(text, start)


def _around(text: str, match: re.Match[str], code: bool) -> str:
    """What can run escapes: the text on both sides; in a sentence, only the rest of their code span."""
    first, last = max(0, match.start() - _SIDE), min(len(text), match.end() + _SIDE)
    if not code:
        opens, closes = text.rfind("`", first, match.start()), text.find("`", match.end(), last)
        if opens >= 0 and closes >= 0:
            first, last = opens + 1, closes
    return text[first:last]


_SIDE: Final = 400
"""How far from escapes something that runs them can stand: a line of packed code has thousands of characters."""


def _escapes(source: Source) -> Iterator[RuleMatch]:
    """A run of hex, octal or Unicode escapes on a line that runs text."""
    for number, raw in enumerate(source.lines):
        if "\\" not in raw:
            continue
        for text, offset in shell.pieces(raw):
            match = _ESCAPED.search(text)
            named = match is not None and source.is_code(
                number
            )  # a sentence that spells a function's name runs nothing
            if (
                match is not None
                and named
                and any(_spelled(escaped[0]) in _EVALUATORS for escaped in _ESCAPED.finditer(text))
            ):
                yield RuleMatch(DECODE_AND_RUN, shown(match[0]), number, offset + match.start())
                continue
            if match is not None and _ESCAPED_RUNS.search(_around(text, match, source.is_code(number))):
                yield RuleMatch(DECODE_AND_RUN, shown(match[0]), number, offset + match.start())
