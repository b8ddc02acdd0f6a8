"""What shells put together: ``$'\\x63url'``, ``/bin/c?rl``, ``$(echo lruc | rev)``, ``set -- curl -s``."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from itertools import islice
from typing import Final

from rye.text.facts.spelled.words import LINE, MOST_TABLES, breaks
from rye.text.facts.tables import triggers, word_set

_ANSI = re.compile(r"(?<![\w$\"'\\])\$'((?:[^'\\\n]|\\[^\n]){1,400})'")
_ANSI_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{2,4})|([0-3]?[0-7]{2})|(.))")
_PATTERN_PATH = re.compile(
    r"(?<![\w.?*\]\[/-])((?:/[\w?*\[\]]{1,12}){1,3})/([\w?*\[\]]{2,12})(?=[\s|;&)\"'`]|$)", re.MULTILINE
)
_IN_PATTERN: Final = ("bin/", "/?", "]n/", "]in/")
_HAS_PATTERN = re.compile(r"/[\w*]{0,10}[?\[][\w*?\[\]]{0,10}")
_FILTERS: Final = triggers("rev tr sed")
_BY_PATTERN: Final = ("curl", "wget", "bash", "sh", "dash", "zsh", "python3", "perl", "base64", "xxd", "nc", "node")
_FOLDERS: Final = ("/bin", "/usr/bin", "/usr/local/bin", "/sbin")
_PIPED_WORD = re.compile(
    r"\$\(\s{0,4}(?:(?:echo|printf)\s+(?:-n\s+|[\"']?%s[\"']?\s+)?(?P<quote>[\"']?)(?P<text>[^\"'`|$\n()]{1,80})(?P=quote)\s{0,4}\|\s{0,4}(?P<filter>rev|tr\s[^|()\n]{1,80}|sed\s[^|()\n]{1,80})|"
    r"(?P<other>rev|tr\s[^|()<\n]{1,80}|sed\s[^|()<\n]{1,80})\s{0,4}<<<\s{0,4}(?P<mark>[\"']?)(?P<words>[^\"'`|$\n()]{1,80})(?P=mark))\s{0,4}\)"
)
_SHELL_WORDS: Final = triggers("sh bash zsh dash ksh ash")
_HAS_HIDDEN_PATTERN = re.compile(r"/\.(?:[a-z]{1,12}[?\[*]|[?\[])")
_SUBSTITUTES = re.compile(r"s(?P<by>[^\w\s\\])(?P<old>[^\n]{1,20}?)(?P=by)(?P<new>[^\n]{0,20}?)(?P=by)g?$")
_SET = re.compile(r"^[ \t]*set[ \t]+--[ \t]+([^\n;&|<>()`]{1,400})$", re.MULTILINE)
_POSITIONAL = re.compile(r"\"?\$(?:([1-9@*])|\{([1-9@*])\})\"?")
_HEADS_FUNCTION = re.compile(r"\b[\w-]+[ \t]*\(\)[ \t]*\{|\bfunction[ \t]+\w")


def _ansi(match: re.Match[str]) -> str:
    """bash's ``$'\\x63url'`` and ``$'\\143url'`` as the string that it is."""
    return "'" + _ANSI_ESCAPE.sub(_ansi_character, match[1]) + "'"


def _ansi_character(match: re.Match[str]) -> str:
    if match[4]:
        return {"n": " ", "t": " ", "\\": "\\"}.get(match[4], match[0] if match[4] in "'\"" else match[4])
    character = chr(int(match[1] or match[2], 16) if match[1] or match[2] else int(match[3], 8) % 256)
    return character if character.isprintable() and character not in "'\"`\\" else " "


def _program(match: re.Match[str]) -> str:
    """``/usr/bin/c?rl`` as the program that it means."""
    folder, name = match[1], match[2]
    if not any(mark in folder + name for mark in "?["):
        return match[0]
    if not any(fnmatchcase(known, folder) for known in _FOLDERS):
        return match[0]
    found = next((known for known in _BY_PATTERN if fnmatchcase(known, name)), None)
    return match[0] if found is None else f"/usr/bin/{found}"


def _filtered(match: re.Match[str]) -> str:
    """``$(echo lruc | rev)`` and ``$(tr x u <<< cxrl)`` as the word that it makes."""
    words = (match["text"] or match["words"]).strip()
    name, _, rest = (match["filter"] or match["other"]).strip().partition(" ")
    arguments = rest.replace('"', " ").replace("'", " ").split()
    made = words[::-1] if name == "rev" else _translated(words, arguments) if name == "tr" else _replaced(words, rest)
    made = made.strip()
    return (
        made + breaks(match) if made and re.fullmatch(r"[\w./:~-]{2,80}(?: [\w./:~-]{1,80}){0,6}", made) else match[0]
    )


def _translated(text: str, arguments: list[str]) -> str:
    if len(arguments) == 2 and arguments[0].startswith("-") and "d" in arguments[0]:
        return "".join(character for character in text if character not in _set(arguments[1]))
    if len(arguments) != 2:
        return ""
    old, new = _set(arguments[0]), _set(arguments[1])
    new += new[-1:] * (len(old) - len(new))
    return text.translate({ord(a): b for a, b in zip(old, new, strict=False)})


def _set(words: str) -> str:
    words = words.replace("[:upper:]", "A-Z").replace("[:lower:]", "a-z").replace("[:digit:]", "0-9")

    def between(match: re.Match[str]) -> str:
        return "".join(map(chr, range(ord(match[1]), min(ord(match[2]), ord(match[1]) + 127) + 1)))

    return re.sub(r"([ -~])-([ -~])", between, words)


def _replaced(text: str, command: str) -> str:
    match = _SUBSTITUTES.search(command.strip().removeprefix("-E ").strip("\"' "))
    return text.replace(match["old"], match["new"]) if match is not None else ""


def positional(text: str) -> str:
    """What ``set --`` gives to ``"$@"`` and ``$1``, up to the next one or a function, whose parameters are its own."""
    parts, done = [], 0
    for match in islice(_SET.finditer(text), MOST_TABLES):
        words = match[1].split()
        follows = _SET.search(text, match.end())
        heads = _HEADS_FUNCTION.search(text, match.end())
        end = min(follows.start() if follows else len(text), heads.start() if heads else len(text))
        if match.start() < done:
            continue

        def meaning(used: re.Match[str], words: list[str] = words) -> str:
            which = used[1] or used[2]
            if which in "@*":
                return " ".join(words)
            return words[int(which) - 1] if int(which) <= len(words) else used[0]

        parts += [text[done : match.end()], _POSITIONAL.sub(meaning, text[match.end() : end])]
        done = end
    return "".join((*parts, text[done:]))


#: The words behind the code of ``sh -c``, which are its ``$0``, ``$1`` …: on a command line, or as a list.
_TEXT: Final = r"\"(?:[^\"\\\n]|\\.){0,400}\"|'[^'\n]{0,400}'"
_GIVEN_WORDS = re.compile(
    rf"\b(?:ba|z|da|k|a)?sh[\"']?[,\s]{{1,40}}[\"']?-[a-z]{{0,3}}c[a-z]?[\"']?[,\s]{{1,40}}(?P<code>{_TEXT})"
    rf"(?P<rest>(?:[,\s]{{1,40}}(?:{_TEXT}|[\w./:@=~+-]{{1,200}})){{1,10}})"
)
_GIVEN_WORD = re.compile(rf"{_TEXT}|[\w./:@=~+-]{{1,200}}")
_GIVEN = re.compile(r"(?:\\?\")?\$(?:([0-9@*])|\{([0-9@*])\})(?:\\?\")?")
_CODE_OPTIONS: Final = ("sh -c", '-c"', "-lc", "-ec", "-euc")
_GIVEN_MARKS: Final = ("$0", "$1", "$@")
#: A hidden file or folder by a pattern, and those that matter.
_PATTERN_HIDDEN = re.compile(r"(?<![\w.*?\]])\.[\w*?\[\]!-]{2,20}")
_HIDDEN_NAMES: Final = tuple(
    f".{name}"
    for name in sorted(
        word_set(
            "ssh aws gnupg kube docker netrc env npmrc pypirc bashrc zshrc profile claude codex gemini cursor config mozilla "
            "git-credentials password-store electrum bitcoin ethereum"
        )
    )
)
_LETTERS: Final = 2
"""How many characters of a pattern have to be written out."""


def _with_given(match: re.Match[str]) -> str:
    """``sh -c '"$0" "$1" | "$2"' curl https://… sh`` with the words in their places."""
    words = [word.strip("\"'") for word in _GIVEN_WORD.findall(match["rest"])]

    def meaning(used: re.Match[str]) -> str:
        which = used[1] or used[2]
        if which in "@*":
            return " ".join(words[1:])
        return words[int(which)] if int(which) < len(words) else used[0]

    code = _GIVEN.sub(meaning, match["code"])
    if code == match["code"] or len(code) > LINE:
        return match[0]
    return match[0][: match.start("code") - match.start()] + code + breaks(match)


def with_given_words(text: str, words: frozenset[bytes]) -> str:
    """The text with the words that follow the code of ``sh -c`` in the places where the code uses them."""
    if (
        not _SHELL_WORDS.isdisjoint(words)
        and any(mark in text for mark in _GIVEN_MARKS)
        and any(option in text for option in _CODE_OPTIONS)
    ):
        return _GIVEN_WORDS.sub(_with_given, text)
    return text


def _hidden_name(match: re.Match[str]) -> str:
    """``.s?h`` as the folder that it means."""
    pattern = match[0]
    if (
        not any(mark in pattern for mark in "?*[")
        or sum(map(str.isalnum, re.sub(r"\[[^\]]*\]", "", pattern))) < _LETTERS
    ):
        return pattern
    return next((name for name in _HIDDEN_NAMES if fnmatchcase(name, pattern)), pattern)


def in_shells(text: str, words: frozenset[bytes]) -> str:
    """The text with what shells put together as it is meant."""
    if "/." in text and _HAS_HIDDEN_PATTERN.search(text) is not None:
        text = _PATTERN_HIDDEN.sub(_hidden_name, text)
    if "$'" in text:
        text = _ANSI.sub(_ansi, text)
    if any(mark in text for mark in _IN_PATTERN) and _HAS_PATTERN.search(text) is not None:
        text = _PATTERN_PATH.sub(_program, text)
    if "$(" in text and not _FILTERS.isdisjoint(words):
        text = _PIPED_WORD.sub(_filtered, text)
    return positional(text) if "set -- " in text else text
