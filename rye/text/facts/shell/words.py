"""Remove disguises: turn a line into the words that a shell or PowerShell would see, and back into a form for people.

``c""url``, ``c\\url``, ``$(printf 'cu%s' rl)``, ``I`E`X`` and ``$a$b`` with known values become what they mean. Operators in a
quoted word are data: they become private characters here, and ``shown`` turns them back.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rye.text.facts.markup import referred

if TYPE_CHECKING:
    from rye.text.facts.shell.names import Names

#: Replaces a file's line break in a logical line. ``str.isspace`` and ``\s`` treat it as whitespace.
BREAK = "\x1f"
#: Operators inside a quoted word are data. They are private characters while rules examine the line, and are shown as written.
_MASK = str.maketrans("|&;()<>`", "\ue000\ue001\ue002\ue003\ue004\ue005\ue006\ue007")
_SHOWN = str.maketrans("\ue000\ue001\ue002\ue003\ue004\ue005\ue006\ue007" + BREAK, "|&;()<>` ")

_QUOTED_WORD = re.compile(r"(?<!\\)(['\"])([^'\"\s]{1,400})\1")
#: What says that a string of Python is raw or formatted: ``(f"curl …")``.
_PREFIX = re.compile(r"(?:(?<=[(\[=,])|(?<=[(=,] ))[rRbBfFuU]{1,2}(?=[\"'])")
_LIST_COMMA = re.compile(r"['\"]\s*,\s*['\"]")
_CONCATENATED = re.compile(r"['\"]\s?\+\s?['\"]")
#: A name between strings of other languages: ``"curl " & u & " | sh"``, ``'curl ' + u``.
_WITH_NAME = re.compile(r"(?<=[ =/:@-])['\"]\s?[+&]\s?(?:quoted form of )?([A-Za-z_]\w{0,60})(?:\s?[+&]\s?['\"])?")
_PLACEHOLDER = re.compile(r"<([A-Za-z][\w.:/?=%-]{0,200})>")
_BRACES = re.compile(
    r"\{((?:curl|wget|(?:ba|z|da|k)?sh|python3?|perl|ruby|php|node|ncat|nc|openssl|eval|base64),[^\s{}]{1,400})\}"
)
_IEX = re.compile(r"\b(iex|invoke-expression)\s+&(?=\s)", re.IGNORECASE)
#: PowerShell's call operator behind another one: ``$x = & $y``, ``| & $y``.
_CALL_OPERATOR = re.compile(r"(?<=[=(|])[ \t]?&[ \t](?=[$A-Za-z(])")
_IEX_CALL = re.compile(r"\b(iex|invoke-expression)\(", re.IGNORECASE)
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|0?([0-3][0-7]{2}))")
#: Programs whose quoted arguments are expressions of their own language: an operator there is none of the shell.
_FILTERS: Final = ("jq ", "yq ", "tr ", "sed ", "grep ", "bc", "dc")
_FILTER = re.compile(
    r"\b(?:go)?(?:jq|yq|tr|g?sed|[ef]?grep)(?:\s{1,4}(?:--(?:arg|argjson|slurpfile|rawfile)\s{1,4}\w{1,40}|-[\w-]{1,40}|"
    r"'[^'\n]{0,400}'|\"[^\"\n]{0,400}\")){1,8}"
    r"|\becho\s{1,4}(?:-\w{1,3}\s{1,4})?(?:'[^'\n]{0,400}'|\"[^\"\n]{0,400}\")\s{0,4}\|\s{0,4}(?:bc|dc)\b"
)
_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")
#: A line end as a word of its own, which ends no command: ``xargs -d '\\n'``.
_LINE_END_WORD = re.compile(r"(?<![\w\"'])\$?([\"'])(?:\\[nrt0]){1,2}\1(?![\w\"'])")
#: The line end of a format, behind which ``printf`` gets its words: ``printf '%s %s\\n' "$a" "$b"``.
_FORMAT_END = re.compile(r"(\bprintf[ \t]+(?:--[ \t]+)?(['\"])[^'\"\n%]{0,100}%[^'\"\n]{0,100}?)(?:\\[nrt]){1,4}(?=\2)")
_IFS = re.compile(r"\$(?:\{IFS[^}]{0,20}\}|IFS(?:\$\d)?)")
_NOTHING = re.compile(r"\$[@*]|(?<=[A-Za-z])\^(?=[A-Za-z])")
_BACKSLASH_WORD = re.compile(r"[^\s\\]{0,200}\\\S{0,200}")
_BUILT = re.compile(r"\$\([ \t]*(echo|printf)(?:[ \t]+-[neE]{1,3})?[ \t]+([^()$`|;&<>\n\x1f]{1,200})\)")
_BUILT_BETWEEN_TICKS = re.compile(r"`[ \t]*(echo|printf)(?:[ \t]+-[neE]{1,3})?[ \t]+([^()$`|;&<>\n\x1f]{1,200})`")
_TICK_IN_WORD = re.compile(r"(?<=[A-Za-z])`(?=[A-Za-z])")


def plain(text: str, names: Names | None = None, *, code: bool = False, room: int = 0) -> str:
    """Return ``text`` as a shell would see its words: without quotes, escapes and ``$IFS``, with known names expanded.

    ``code``: backquotes are a shell's, not Markdown's. ``room``: how many characters long values may add.
    """
    if "&" in text and ";" in text:
        text = referred(text)
    if "echo" in text or "printf" in text or (code and "`" in text):
        text = _without_built_words(text, code)
    if "printf" in text and "%s" in text:
        text = _PRINTED.sub(_printed, text)
    if "\\" in text:
        text = _without_escapes(text)
    if "sys.executable" in text:
        text = text.replace("sys.executable", '"python3"')
    if "process.execPath" in text:
        text = text.replace("process.execPath", '"node"')
    if "'" in text or '"' in text:
        if any(name in text for name in _FILTERS):
            text = _FILTER.sub(lambda match: _QUOTED.sub(_masked, match[0]), text)
        text = _without_quotes(text)
    if "\\" in text:
        text = _BACKSLASH_WORD.sub(_without_backslashes, text)
    if "<" in text:
        text = _PLACEHOLDER.sub(r" \1 ", text)
    if "{" in text and "," in text:
        text = _BRACES.sub(lambda match: match[1].replace(",", " "), text)
    if "&" in text:
        text = _IEX.sub(r"\1 ", text)
        text = _CALL_OPERATOR.sub(" ", text)
    if "(" in text:
        text = _IEX_CALL.sub(r"\1 (", text)
    if "$" in text or "^" in text:
        text = _NOTHING.sub("", _IFS.sub(" ", text))
    if names is None:
        return text
    known = names.filled_in(text, room)
    if known != text and "$(" in known and ("printf" in known or "echo" in known):
        known = _without_built_words(known, code)
    return known


def _masked(quoted: re.Match[str]) -> str:
    """A quoted expression without operators of the shell; in double quotes, a substitution is one all the same."""
    if quoted[0].startswith('"') and ("$(" in quoted[0] or "`" in quoted[0]):
        return quoted[0]
    return quoted[0].translate(_MASK)


#: A format in which words become parts of one: ``printf '%s=%s\\n' NAME "$value"``.
_PRINTED = re.compile(
    r"(\bprintf[ \t]+(?:--[ \t]+)?)(['\"])((?:[^'\"\n\s%\\]|%s){2,100})(?:\\[nrt]){0,4}\2"
    r"((?:[ \t]+(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[^\s;|&<>()\"'`]{1,200})){1,8})"
)
_PRINTED_WORD = re.compile(r"\"([^\"\n]{0,200})\"|'([^'\n]{0,200})'|(\S+)")


def _printed(match: re.Match[str]) -> str:
    words = [first or second or third for first, second, third in _PRINTED_WORD.findall(match[4])]
    if match[3].count("%s") != len(words) or match[3] == "%s":
        return match[0]
    parts = match[3].split("%s")
    return match[1] + "".join(part + word for part, word in zip(parts, [*words, ""], strict=True))


def _without_built_words(text: str, code: bool) -> str:
    text = _BUILT.sub(_built, text)
    return _TICK_IN_WORD.sub("", _BUILT_BETWEEN_TICKS.sub(_built, text)) if code else text


def _without_escapes(text: str) -> str:
    if "\\x" in text or "\\0" in text or "\\1" in text:
        text = _ESCAPE.sub(_unescaped, text)
    if "\\n" in text:
        if "printf" in text:
            text = _FORMAT_END.sub(r"\1", text)
        text = _LINE_END_WORD.sub("newline", text)
    elif "\\r" in text or "\\t" in text:
        text = _LINE_END_WORD.sub("newline", text)
    return text.replace("\\n", " ; ").replace('\\"', '"').replace("\\'", "'").replace("\\|", "|")


#: A string that is a command of its own: git's ``alias.x='!curl … | sh'``, ``-c core.pager="…"``.
_COMMAND_STRING = re.compile(
    r"(?:(?<=[\s=])(?P<a>[\"'])![ ]?|(?<=\s-c\s)[\w-]{1,30}\.[\w.-]{1,60}=(?P<b>[\"'])!?)"
    r"([A-Za-z][^'\"\n]{2,400})(?:(?P=a)|(?P=b))"
)


def _without_quotes(text: str) -> str:
    if "'!" in text or '"!' in text or " -c " in text:
        text = _COMMAND_STRING.sub(r" ; \3 ; ", text)
    if '"' in text or "'" in text:
        text = _PREFIX.sub("", text)
    text = _LIST_COMMA.sub(lambda match: " " + BREAK * match[0].count(BREAK), text)
    if "+" in text:
        text = _CONCATENATED.sub("", text)
    if "+" in text or "&" in text:
        text = _WITH_NAME.sub(r"$\1", text)
    text = _QUOTED_WORD.sub(_without_quotes_of_word, text)
    return text.replace('"', "").replace("'", "")


def _without_quotes_of_word(match: re.Match[str]) -> str:
    """A quoted word without its quotes. Its operators are only data, unless it has a substitution and either double quotes or
    hidden blanks (``${IFS}``, ``{curl,…}``): then a shell will run it."""
    word = match[2]
    if "$(" in word and (match[1] == '"' or _IFS.search(word) is not None or _BRACES.search(word) is not None):
        return word
    return word.translate(_MASK)


def _built(match: re.Match[str]) -> str:
    """The output of ``$(echo …)`` or ``$(printf …)`` if its words are literal."""
    first, *rest = match[2].replace('"', "").replace("'", "").split() or [""]
    if match[1] != "printf" or "%s" not in first:
        return " ".join((first, *rest))
    for word in rest:
        first = first.replace("%s", word, 1)
    return first.replace("%s", "")


def _unescaped(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16) if match[1] else int(match[2], 8))
    return character if character.isprintable() else " "


def _without_backslashes(match: re.Match[str]) -> str:
    word = match[0]
    is_path = ":\\" in word or "\\\\" in word or word.startswith((".\\", "~\\", "%", "$", "(.\\"))
    return word.replace("\\", "/" if is_path else "")


def unmask(word: str) -> str:
    """Return a word of a logical line with its operators as they were written."""
    return word.translate(_SHOWN)


def shown(text: str) -> str:
    """Return a piece of a logical line for people: operators inside words as written, one space between words."""
    return " ".join(text.translate(_SHOWN).split())
