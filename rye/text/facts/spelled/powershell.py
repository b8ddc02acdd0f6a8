"""What PowerShell puts together: ``[char]105``, ``"{1}{0}" -f "x", "ie"``, ``gcm i*x``, ``$t.run``."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from itertools import islice
from typing import Final

from rye.text.facts.spelled.words import MOST_TABLES, SPELLED, WORDS, breaks, in_lines
from rye.text.facts.tables import triggers

_COMMANDS: Final = (
    "Invoke-Expression", "Invoke-RestMethod", "Invoke-WebRequest", "Invoke-Command", "Start-Process",
    "Start-BitsTransfer", "Invoke-Item", "New-Object", "Get-Content", "iex", "irm", "iwr", "icm", "saps", "curl",
    "wget", "IEX",
)  # fmt: skip
_NUMBERS: Final = r"(?:0x[0-9a-fA-F]{2}|\d{2,3})(?:\s{0,4},\s{0,4}(?:0x[0-9a-fA-F]{2}|\d{2,3})){1,200}"
_CHAR_ARRAY = re.compile(
    rf"(?:-join\s{{0,4}})?\(?\s{{0,4}}(?:-join\s{{0,4}}\(?\s{{0,4}})?\[char\[\]\]\s{{0,4}}\(?\s{{0,4}}({_NUMBERS})\s{{0,4}}\)?\s{{0,4}}\)?(?:\s{{0,4}}-join\s{{0,4}}(?:''|\"\"))?"
    rf"|\(?\s{{0,4}}({_NUMBERS})\s{{0,4}}\)?\s{{0,4}}\|\s{{0,4}}(?:%|foreach(?:-object)?)\s{{0,4}}\{{\s{{0,4}}\[char\]\s{{0,4}}\$_\s{{0,4}}\}}\s{{0,4}}\)?(?:\s{{0,4}}-join\s{{0,4}}(?:''|\"\"))?",
    re.IGNORECASE,
)
_CHARS = re.compile(
    r"(?:\[char\]\s{0,4}\(?\s{0,4}(?:0x[0-9a-fA-F]{2}|\d{2,3})\s{0,4}\)?\s{0,4}\+?\s{0,4}){2,200}", re.IGNORECASE
)
_NUMBER = re.compile(r"0x[0-9a-fA-F]{2}|\d{2,3}")
_FORMAT = re.compile(
    r"\(?\s{0,4}[\"']((?:\{\d{1,2}\}|[\w.:/-]){2,200})[\"']\s{0,4}-f\s{0,4}((?:[\"'][^\"'\n]{0,60}[\"']\s{0,4},?\s{0,4}){1,40})\)?",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"(?:-join\s{0,4}\(?\s{0,4})?[\"']([\w:/. "
    r"-]{2,60})[\"']\s{0,4}\[\s{0,4}-1\s{0,4}\.\.\s{0,4}-\d{1,3}\s{0,4}\]\s{0,4}\)?(?:\s{0,4}-join\s{0,4}(?:''|\"\"))?",
    re.IGNORECASE,
)
_REPLACED = re.compile(
    r"[\"']([^\"'\n]{2,100})[\"']\s{0,2}(?:\.replace(?:All)?\(\s?[\"']([^\"'\n]{1,10})[\"']\s?,\s?[\"']([^\"'\n]{0,10})[\"']\s?\)|-c?replace\s{1,4}[\"']([^\"'\n]{1,10})[\"']\s?,\s?[\"']([^\"'\n]{0,10})[\"'])",
    re.IGNORECASE,
)
_FROM_SETTINGS = re.compile(
    r"\(?\s{0,4}(?:\$env:(?:ComSpec|PSModulePath|Public)|\$PSHome|\$ShellId|\$VerbosePreference(?:\.ToString\(\))?)\s{0,4}\[[\d,\s-]{1,20}\](?:\s{0,4}\+\s{0,4}(?:\$\w{2,12}\[\d{1,2}\]|[\"']x[\"'])){0,3}(?:\s{0,4}-join\s{0,4}(?:''|\"\"))?\s{0,4}\)?",
    re.IGNORECASE,
)
_FOUND = re.compile(
    r"\(?\s{0,4}\b(?:get-command|gcm|get-alias|gal)\s+(?:-(?:module|verb|commandtype|type|all)\s+[^\s;|()]{1,80}\s+){0,3}(?:(?P<part>-noun|-verb)\s+|-\w{2,12}\s+)?[\"']?(?P<pattern>[\w-]{0,30}[*?\[][\w*?\[\]-]{0,30})[\"']?\s{0,4}\)?(?:\.(?:Name|Definition))?",
    re.IGNORECASE,
)
_CALLED = re.compile(
    r"(?:(?<=[\s;|({=])|^)[&.][ \t]{0,4}\(?[ \t]{0,4}[\"']([A-Za-z][\w-]{1,30})[\"'][ \t]{0,4}\)?", re.MULTILINE
)


_POWERSHELL_WORDS: Final = triggers("powershell pwsh ps1 iex irm iwr invoke comspec")
_MARKS: Final = (
    "[char", "[Char", "[CHAR", "-join", "-Join", "-f '", '-f "', "-f'", "..-", "ComSpec", "comspec", "PSHome",
    "PSHOME", "pshome", "et-Command", "et-command", "gcm ", "GCM ", "et-Alias", "gal ", "& '", '& "', "&'", "& (",
    "&(", ".('", ". ('", '.("', "ShellId", "VerbosePreference", "@{", ".'",
)  # fmt: skip
_REPLACES: Final = (".replace(", ".Replace(", "-replace", ".replaceAll(")


def _powershell(text: str) -> str:
    """The text with what PowerShell puts together."""
    if "@{" in text:
        text = _hashed(text)
    return in_lines(text, _MARKS, _powershell_line)


def _powershell_line(text: str) -> str:
    for pattern, make in (
        (_CHAR_ARRAY, lambda match: _command(match, _numbers(match[1] or match[2]))),
        (_CHARS, lambda match: _command(match, _numbers(match[0]), " " if match[0][-1:].isspace() else "")),
        (_FORMAT, lambda match: _command(match, _formatted(match[1], WORDS.findall(match[2])))),
        (_BACK, lambda match: _command(match, match[1][::-1])),
        (_FROM_SETTINGS, lambda match: f"'iex'{breaks(match)}"),
        (_FOUND, lambda match: _command(match, _matching(match["pattern"], (match["part"] or "").lower()))),
    ):
        text = pattern.sub(make, text)
    return _CALLED.sub(lambda match: f" {match[1]} ", text)


_HASH = re.compile(r"\$(\w{1,40})[ \t]{0,4}=[ \t]{0,4}@\{([^{}\n]{1,400})\}")
_PAIR = re.compile(r"[\"']?(\w{1,40})[\"']?[ \t]{0,4}=[ \t]{0,4}[\"']([^\"'\n]{1,80})[\"']")
_OF_HASH = re.compile(r"\$(\w{1,40})(?:\.(\w{1,40})|\[[ \t]?[\"'](\w{1,40})[\"'][ \t]?\])")


def _hashed(text: str) -> str:
    """PowerShell's tables: ``$t = @{ run = "iex" }`` and ``$t.run``."""
    tables = {match[1]: dict(_PAIR.findall(match[2])) for match in islice(_HASH.finditer(text), MOST_TABLES)}

    def meaning(match: re.Match[str]) -> str:
        value: str = tables.get(match[1], {}).get(match[2] or match[3], match[0])
        return value

    return _OF_HASH.sub(meaning, text) if tables else text


def with_replaced(text: str) -> str:
    """A line with ``"ixex".replace("x", "")`` as the name that it makes."""
    return _REPLACED.sub(
        lambda match: _command(match, match[1].replace(match[2] or match[4], match[3] or match[5] or "")), text
    )


def _numbers(text: str) -> str:
    return "".join(
        chr(int(number, 0) % 128)
        for number in (part.lstrip("0") if part[:2] not in ("0x", "0X") else part for part in _NUMBER.findall(text))
        if number
    )


def _formatted(text: str, words: list[str]) -> str:
    return re.sub(r"\{(\d{1,2})\}", lambda match: words[int(match[1])] if int(match[1]) < len(words) else "", text)


def _matching(pattern: str, part: str) -> str:
    """The command that a pattern means, or the first of those whose verb or noun it means."""
    pattern = {"-noun": f"*-{pattern}", "-verb": f"{pattern}-*"}.get(part, pattern)
    return next((name for name in _COMMANDS if fnmatchcase(name.lower(), pattern.lower())), "")


def _command(match: re.Match[str], value: str, more: str = "") -> str:
    """The name of a command, a program or an address that is spelled in another way; other text stays."""
    known = value.lower() in _COMMANDS_LOWERED or SPELLED.fullmatch(value) is not None
    return f"'{value}'{more}{breaks(match)}" if known else match[0]


_COMMANDS_LOWERED: Final = frozenset(name.lower() for name in _COMMANDS)


def in_powershell(path: str, text: str, words: frozenset[bytes]) -> str:
    """The text with what PowerShell puts together as it is meant; ``replace`` on a literal string in any language."""
    if path.lower().endswith((".ps1", ".psm1")) or not _POWERSHELL_WORDS.isdisjoint(words):
        text = _powershell(text)
    return in_lines(text, _REPLACES, with_replaced) if "eplace" in text else text
