"""What a call that starts a program runs: its first argument as commands, and what it is fed.

``subprocess.run(["sh", "-c", body])``, ``os.system("sh " + path)``, ``execSync(`bash -c "${body}"`)`` and
``spawnSync("bash", {input: body})`` all run ``body`` or ``path``. The argument is read as a shell would read it: the program, the
script after an interpreter's options, the code after ``-c``. A name elsewhere (``["ffmpeg", "-i", path]``) is data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rye.text.facts import interpreters, shell
from rye.text.facts.file_names import is_data
from rye.text.facts.tables import word_set

_NAME: Final = r"[A-Za-z_$][\w$]{0,60}"
#: A string, an interpreter's own path, or a name with its attributes, indices and calls without arguments.
_TOKEN = re.compile(
    r"(?P<prefix>[rbufRBUF]{0,2})(?P<quote>\"\"\"|'''|[\"'`])(?P<string>.{0,600}?)(?P=quote)|(?P<self>sys\.executable|process\.execPath|process\.argv\[0\]|"
    rf"os\.environ\.SHELL|process\.env\.SHELL)|(?<!\w)(?P<name>{_NAME})(?:(?:\??\.(?P<last>{_NAME})|\[[^\[\]\n]{{0,40}}\])(?:\(\s{{0,3}}(?:[\"'][\w-]{{0,12}}[\"'])?\s{{0,3}}\))?){{0,4}}(?P<call>\()?|(?P<mark>[\[\](){{}},+%])",
    re.DOTALL,
)
#: A name inside a string: ``${body}``, ``{path!r}``, ``#{code}``, ``$file``.
_INSERTED = re.compile(
    rf"[$#]?\{{\s?(?P<a>{_NAME})(?:[.!:\[(][^{{}}\n]{{0,60}})?\s?\}}|\$(?P<b>{_NAME})|%[sr]|\{{\d?\}}"
)
_HOLE: Final = "\ufdd0"
_ARGUMENTS_KEY = re.compile(r"\s*args\s*:")
_FED = re.compile(rf"\b(?:input|stdin)\s{{0,3}}[=:]\s{{0,3}}(?:str\(|[rbf](?=[\"']))?({_NAME})")
_WRAPPERS: Final = word_set("sudo env nohup exec setsid nice time doas command start call open")
_OPENERS: Final = word_set("open start")
_CONVERTS: Final = word_set(
    "str bytes repr quote String shlex Buffer path os fspath join resolve Path abspath File toString split encode decode format "
    "string concat arrayOf listOf vec asList List of as_ref as_str to_string from_utf8 from_utf8_lossy unwrap StrPtr"
)
#: More words of the program after a comma: a string, a list, a name that is no option.
_GOES_ON = re.compile(
    rf"[\[\"'`]|{_NAME}(?:\.{_NAME}){{0,2}}\s*[,)\]]|\{{\s*args\s*:|String::\w|&?(?:{'|'.join(sorted(_CONVERTS))})\("
)
#: Rust's calls that make a string: ``concat!(env!("OUT_DIR"), "/x.rs")``.
_MACRO = re.compile(r"\b(concat|format|vec)!\(")
_VARIABLE_MACRO = re.compile(r"\b(?:option_)?env!\(\s*(\"[^\"\n]{0,80}\")\s*\)")
_SELF: Final = "python3"
_MOST_WORDS: Final = 60


def runs(window: str) -> Iterator[tuple[str, bool]]:
    """Yield what a call with this text after its parenthesis runs: names of the program, and (True) files as they are written."""
    words, rest = _words(window)
    commands = _commands(words)
    interprets = False
    for index, (command, piped) in enumerate(commands):
        at = next(
            (at for at, word in enumerate(command) if shell.program(word) not in _WRAPPERS and "=" not in word), -1
        )
        if at < 0:
            continue
        first = command[at]
        if at and shell.program(command[at - 1]) in _OPENERS:
            yield from ((name, True) for name, _ in _named(first))  # a file is run, an address is shown
            continue
        if not interpreters.is_interpreter(first) and not interpreters.is_expression(first):
            if at == 0 or "/" in first or _HOLE in first or "." in first:
                yield from _named(first)
            continue
        interprets = True
        if piped and index:
            for word in commands[index - 1][0]:
                yield from (named for named in _named(word) if not named[1])
        yield from _script(command[at + 1 :], everything=interpreters.is_expression(first))
    if interprets:
        for match in _FED.finditer(rest):
            yield match[1], False


def program_of(window: str) -> str:
    """The program that a call starts, as it is written; empty if that cannot be told."""
    words, _ = _words(window)
    return next((word for word in words if shell.program(word) not in _WRAPPERS), "")


def starts_interpreter(window: str) -> bool:
    """Whether a call starts a shell or a language without a script or code, so that it runs what it is fed."""
    words, _ = _words(window)
    if not words or not interpreters.is_interpreter(words[0]):
        return False
    return all(word.startswith("-") and not interpreters.takes_code(word) for word in words[1:])


def _script(words: list[str], *, everything: bool) -> Iterator[tuple[str, bool]]:
    """What an interpreter runs of the words after it."""
    for index, word in enumerate(words):
        if everything or interpreters.takes_code(word):
            for code in words[index + (not everything) :]:
                yield from (named for named in _named(code) if not named[1])
            return
        if not word.startswith(("-", "/c", "/k")) and word != "run":
            yield from _named(word)
            return


def _named(word: str) -> Iterator[tuple[str, bool]]:
    """The names that are put into a word, and the last part of the word itself if it is a file that runs."""
    if _HOLE in word:
        yield from ((name, False) for name in word.split(_HOLE)[1::2])
        word = word.rpartition(_HOLE)[2]
        if "/" not in word:
            return
    if not is_data(word):
        yield word.replace("\\", "/"), True


def _commands(words: list[str]) -> list[tuple[list[str], bool]]:
    """The words between operators, each with whether a pipe precedes them."""
    commands: list[tuple[list[str], bool]] = [([], False)]
    for word in words:
        if word in ("|", ";", "&&", "||", "&"):
            commands.append(([], word == "|"))
        else:
            commands[-1][0].append(word)
    return commands


def _words(window: str) -> tuple[list[str], str]:
    """The first argument's words, names between ``_HOLE``, and the rest of the call. ``spawn("sh", ["-c", x])`` has its list."""
    if "!(" in window:
        window = _MACRO.sub(r"\1(", _VARIABLE_MACRO.sub(r"\1", window))
    words: list[str] = []
    depth = inside = skipped = 0
    joined = listed = False
    parts: list[str] = []
    end = 0
    for match in _TOKEN.finditer(window):
        if match.start() < skipped:
            continue
        mark = match["mark"]
        if mark is None:
            text = _text(match)
            if match["call"]:
                depth += 1
            if match["call"] and (match["last"] or match["name"]) in _CONVERTS:
                inside = depth
            else:
                parts.append(text) if joined or not parts else parts.extend((" ", text))
                joined = False
        elif mark in "[({":
            if mark == "{" and not listed:
                arguments = _ARGUMENTS_KEY.match(window, match.end())
                if arguments is None:
                    break
                depth += 1
                skipped = arguments.end()
                continue
            listed = listed or mark == "["
            joined = joined and mark != "["  # ``cmd + [prompt]``: another word
            depth += 1
        elif mark in "])}":
            depth -= 1
            inside = inside if depth >= inside else 0
            if depth < 0:
                end = match.end()
                break
        elif mark in "+%":
            joined = True
        elif mark == ",":
            following = window[match.end() : match.end() + 40].lstrip()
            if depth == 0 and _GOES_ON.match(following) is None:
                end = match.end()
                break
            joined = bool(inside)
            parts.append("/" if inside else " ")
        end = match.end()
    for word in (
        "".join(parts).replace("'", " ").replace('"', " ").replace("|", " | ").replace(";", " ; ").split()[:_MOST_WORDS]
    ):
        words.append(word)
    return words, window[end:]


def _text(match: re.Match[str]) -> str:
    if match["self"]:
        return _SELF
    if match["name"]:
        return f"{_HOLE}{match['name']}{_HOLE}"
    return _INSERTED.sub(
        lambda inner: f"{_HOLE}{inner['a'] or inner['b']}{_HOLE}" if inner["a"] or inner["b"] else "",
        match["string"] or "",
    )
