"""A program's text with its names resolved, line for line: ``sh(x)`` after ``import { execSync as sh }`` becomes
``child_process.execSync(x)``.

Strings that are put together become one (``"ev" + "al"``, ``chr(101)``, ``["e", "val"].join("")``, ``"lave"[::-1]``),
attributes that are named by a string become attributes (``globalThis["eval"]``, ``getattr(os, "system")``), modules that are
loaded by a call become their names (``__import__("os")``, ``require("node:https")``), and other names of what matters here
become the usual one. Nothing is evaluated, every repetition is capped, and no line is added or removed, so places in the text
stay what they were but for the column.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from rye.limits import FACTS
from rye.text.facts.source import Source
from rye.text.facts.spelled import MODULES, PROPERTIES, spelled
from rye.text.facts.tables import triggers, word_set

_NAME: Final = r"[A-Za-z_$][\w$]{0,60}"
#: Functions that mean something only as a part of their module; the others are known by their bare names.
_AMBIGUOUS: Final = word_set(
    "exec run call system popen get post request connect create_connection loads decompress decode b64decode run_path "
    "import_module execv execl execvp spawn Script"
)
_RUNS: Final = (
    r"(?:eval|exec|execSync|execFile|execFileSync|spawn|spawnSync|system|popen|Popen|check_output|run|Function)"
)
#: Words without which a line gives nothing that matters another name.
_ALIAS_WORDS: Final = triggers(
    "import require eval exec function constructor promisify partial system popen spawn child_process subprocess os "
    "getbuiltinmodule urlopen requests"
)
#: Words without which nothing that matters is an attribute or a module that is named by a string.
_ATTRIBUTE_WORDS: Final = triggers(
    "getattr __import__ import_module getbuiltinmodule require eval exec execsync execfile execfilesync spawn "
    "spawnsync system popen function "
    "constructor urlopen atob b64decode decompress loads child_process runinthiscontext runinnewcontext "
    "__dict__ vars globals locals"
)
#: What a line has that gives something another name.
_NAMING: Final = re.compile(
    r"import|require\(|fetch;|child_process|promisify|partial\(|\.constructor|\} ?=|[.\[]e(?:val|xec)|[:,] e(?:val|xec)|"
    r"=[ ]?(?:eval|exec|Function|os\b|builtins|importlib|subprocess|requests\.)"
)
_NAMING_MARKS: Final = (
    *("import", "require(", "fetch;", "child_process", "promisify", "partial(", ".constructor", "} =", "}="),
    *("eval", "exec", "Function", "= os", "=os", "builtins", "subprocess", "requests."),
)
"""What each of these has, found faster."""
_PROPERTY = re.compile(rf"(?:\[(?<=[\w)\]]\[)|\?\.\[(?<=[\w)\]]\?\.\[))\s?[\"'`]({PROPERTIES})[\"'`]\s?\]")
_ATTRIBUTE = re.compile(
    rf"getattr\(\s*({_NAME}(?:\.{_NAME}){{0,3}})\s*,\s*[rbu]?[\"']({_NAME})[\"']\s*(?:,[^()\n]{{0,40}})?\)"
)
_OF_DICTIONARY = re.compile(
    rf"(?:vars\(\s*({_NAME})\s*\)|({_NAME}(?:\.{_NAME}){{0,3}})\.__dict__)\s*(?:\[\s?|\.get\(\s?)[\"']({_NAME})[\"']\s?[\])]"
)
#: ``vars(builtins).exec``, ``sys.modules["os"].system``
_MODULE_BY_CALL = re.compile(
    rf"\bvars\(\s?({_NAME})\s?\)(?=\.)|\bsys\.modules(?:\[\s?|\.get\(\s?)[\"']({MODULES})[\"']\s?[\])](?=\.)"
)
_GLOBAL = re.compile(rf"(?:globals|locals)\(\)(?:\[\s?|\.get\(\s?)[\"'](?:__builtins__)?({_NAME})?[\"']\s?[\])]")
_LOADED = re.compile(
    rf"(?:(?:\bawait\s+)?\b(?:import|require)|__import__|(?:importlib\.)?import_module|process\.getBuiltinModule)\(\s*[rbu]?[\"'`]({MODULES})[\"'`][^()\n]{{0,60}}\)"
)
_BRACKETED_MODULE = re.compile(rf"\(\s*({MODULES})\s*\)(?=\.)")

_ALIASES: Final = (
    #: ``import subprocess as sp``, ``import * as cp from "child_process"``, ``import cp from "child_process"``
    re.compile(rf"\bimport\s+(?P<module>{MODULES})\s+as\s+(?P<name>{_NAME})"),
    re.compile(rf"\bimport\s+(?:\*\s+as\s+)?(?P<name>{_NAME})\s+from\s+[\"'](?P<module>{MODULES})[\"']"),
    #: ``const cp = require("child_process")`` (already resolved), ``run = subprocess.run``, ``e = eval``
    re.compile(
        rf"(?<![\w.$])(?P<name>{_NAME})\s{{0,4}}:?=\s{{0,4}}(?:new\s)?(?:await\s)?(?:(?:(?:util\.)?promisify|(?:functools\.)?partial)\(\s?)?"
        rf"(?:\(\s?0\s?,\s?)?(?P<module>(?:(?:window|globalThis|global|self|builtins|__builtins__)\.)?"
        rf"(?:{MODULES}(?:\.{_NAME}){{0,2}}|{_RUNS}|fetch))(?:\.bind\([^()\n]{{0,40}}\))?\s?\)?\s{{0,4}}(?=[;,\n]|$)"
    ),
)
#: ``make = [].filter.constructor``: the constructor of a function makes functions of text.
_CONSTRUCTOR = re.compile(
    rf"(?<![\w.$])({_NAME})\s{{0,4}}=\s{{0,4}}(?:(?:\[\]|\(?[\"'`]{{2}}\)?|\(?\d\)?)\.\w{{2,20}}\.constructor|"
    rf"[\w.()\[\]\"'{{}}=>* ]{{1,60}}\.constructor\.constructor|"
    rf"\(\s?(?:async\s?)?(?:function\s?\*?\s?\(\)\s?|\(\)\s?=>\s?)\{{\s?\}}\s?\)\.constructor|"
    rf"Object\.getPrototypeOf\(\s?(?:async\s?)?(?:function\s?\*?\s?\(\)|\(\)\s?=>)\s?\{{\s?\}}\s?\)\.constructor|(?:eval|fetch|alert|isNaN|parseInt)\.constructor)\s{{0,4}}(?=[;,\n]|$)"
)
#: ``run = {"a": eval}``: whatever is taken out of it evaluates.
_CONTAINER = re.compile(
    rf"(?<![\w.$])({_NAME})\s{{0,4}}=\s{{0,4}}[\[{{(][^\n=]{{0,200}}?(?<![\w.\"'])(eval|exec|Function)\s?[,}}\])]"
)
#: ``from os import system as s, popen``, ``import { exec as run } from "child_process"``, ``const { exec: run } = require("…")``.
_SEVERAL: Final = (
    re.compile(rf"\bfrom\s+(?P<module>{MODULES})\s+import\s+\(?(?P<names>[\w, \t]{{1,300}})"),
    re.compile(
        rf"\bimport\s+(?:{_NAME}\s?,\s?)?\{{(?P<names>[\w$, \t]{{1,300}})\}}\s+from\s+[\"'](?P<module>{MODULES})[\"']"
    ),
    re.compile(rf"\{{(?P<names>[\w$:, \t]{{1,300}})\}}\s{{0,4}}=\s{{0,4}}(?P<module>{MODULES})\s{{0,4}}(?:[;,\n]|$)"),
)
_ONE = re.compile(rf"({_NAME})\s{{0,4}}(?:(?:\bas\s|:)\s{{0,4}}({_NAME}))?")
_MOST_ALIASES: Final = 32


def resolved(source: Source) -> Source:
    """Return the file with its constants written out and its names resolved; the file itself if that changes nothing. Computed
    once."""
    source = spelled(source)
    known: Source | None = source.kept.get("resolved")
    if known is None:
        text = _resolved(source)
        known = source if text == source.text else Source(source.path, text, source.files)
        known.run_lines, known.original = source.run_lines, source.original
        source.kept["resolved"] = known.kept["resolved"] = known.kept["spelled"] = known
    return known


def _resolved(source: Source) -> str:
    text = source.text
    if source.has(_ATTRIBUTE_WORDS):
        text = _with_attributes(text)
    if any(quoted in text for quoted in _QUOTED_NAMES):
        text = _by_string(text)
    if any(_RENAMES[word] in text for word in _RENAMES.keys() & source.words):
        text = _with_modules(text)
    lines = source.lines_with(_ALIAS_WORDS)
    if not lines and text is source.text:
        return text
    kept = "\n".join(map(source.lines.__getitem__, lines)) if text is source.text else text
    marks = [mark for mark in _NAMING_MARKS if mark in kept]
    naming = [
        line for line in kept.split("\n") if any(mark in line for mark in marks) and _NAMING.search(line) is not None
    ]
    aliases = _aliases("\n".join(naming)) if naming else {}
    for match in list(_CONTAINER.finditer("\n".join(naming)))[:_MOST_ALIASES] if naming else ():
        text = re.sub(rf"(?<![\w.$]){re.escape(match[1])}\[[^\[\]\n]{{1,40}}\](?=\s?\()", match[2], text)
    for name in [name for name in aliases if len(name) <= _SHORT]:
        text = _renamed_nearby(text, name, aliases)
    if aliases:
        names = "|".join(map(re.escape, sorted(aliases, key=len, reverse=True)))
        calls = re.compile(rf"(?<![\w.$\"'`/-])({names})(?=\s?[(.]|\s?`|\s?,\s?[\[\w]|\s?\))")
        text = calls.sub(lambda match: aliases[match[1]], text)
    return text


def _renamed_nearby(text: str, name: str, aliases: dict[str, str]) -> str:
    """The text with a short name resolved only behind the place that gives it its meaning, if other places give it others: packed
    code uses each letter again and again. Then the name is dropped from ``aliases``."""
    given = list(islice(re.finditer(rf"(?<![\w.$]){re.escape(name)}\s{{0,4}}=(?![=>])", text), _MOST_MEANINGS + 1))
    if len(given) <= _MOST_MEANINGS:
        return text
    usual = aliases.pop(name)
    last = usual.rpartition(".")[2]
    calls = re.compile(rf"(?<![\w.$\"'`/-]){re.escape(name)}(?=\s?[(.]|\s?`|\s?\))")
    for match in reversed(
        list(
            islice(
                re.finditer(rf"(?<![\w.$]){re.escape(name)}\s{{0,4}}=[^=;,\n]{{0,60}}\b{last}\b", text), _MOST_ALIASES
            )
        )
    ):
        end = match.end() + FACTS.window_characters
        text = text[: match.end()] + calls.sub(lambda _: usual, text[match.end() : end]) + text[end:]
    return text


_SHORT: Final = 2
_MOST_MEANINGS: Final = 4
"""A short name that is given more values than this means something else in each place."""


#: What a text has that gives a module or a class another name, by a word of it.
_RENAMES: Final = {
    b"std": "use std::",
    b"use": "use function ",
    b"system": "= System.",
    b"java": "import java.",
    b"kotlin": "import kotlin.",
    b"exec": ' "os/exec"',
    b"os": ' "os"',
    b"http": ' "net/http"',
    b"plugin": ' "plugin"',
    b"syscall": ' "syscall"',
}
#: Other names for modules and classes: ``use std::env as e;``, ``e "os/exec"``, ``using P = System.Diagnostics.Process;``,
#: ``use function system as s;``, ``import java.lang.ProcessBuilder as B``.
_RENAMED = re.compile(
    r"^[ \t]*(?:pub[ \t]+)?use[ \t]+(?:function[ \t]+)?"
    rf"(?P<path>(?:std::|\\?)[\w:\\]{{2,80}})[ \t]+as[ \t]+(?P<a>{_NAME})[ \t]*;|"
    rf"^[ \t]*(?:import[ \t]+)?(?P<b>{_NAME})[ \t]+\"(?P<go>os/exec|os|net/http|net|plugin|syscall)\"[ \t]*$|"
    rf"^[ \t]*using[ \t]+(?P<c>{_NAME})[ \t]*=[ \t]*(?P<net>System\.[\w.]{{3,80}})[ \t]*;|"
    rf"^[ \t]*import[ \t]+(?P<java>(?:java|kotlin)\.[\w.]{{3,80}})[ \t]+as[ \t]+(?P<d>{_NAME})[ \t]*;?$",
    re.MULTILINE,
)


def _with_modules(text: str) -> str:
    """The text with the usual names of modules and classes that compiled languages and PHP give others."""
    usual: dict[str, str] = {}
    for match in list(_RENAMED.finditer(text))[:_MOST_ALIASES]:
        name = match["a"] or match["b"] or match["c"] or match["d"]
        path = match["path"] or match["go"] or match["net"] or match["java"]
        last = re.split(r"[:.\\/]", path)[-1]
        usual[name] = path if path.startswith("std::") and last.islower() else last
    if not usual:
        return text
    names = "|".join(map(re.escape, sorted(usual, key=len, reverse=True)))
    return re.sub(rf"(?<![\w.:\"'])(?:{names})(?=::|\.|\()", lambda match: usual[match[0]], text)


_QUOTED_NAMES: Final = tuple(
    f"{quote}{name}{quote}"
    for name in (
        "eval",
        "exec",
        "system",
        "popen",
        "atob",
        "base64_decode",
        "assert",
        "gzinflate",
        "passthru",
        "shell_exec",
        "execSync",
        "Function",
    )
    for quote in "'\""
)
#: A name that holds the name of a function, and where a function is called by it.
_NAMED_BY_STRING = re.compile(
    rf"(?<![\w.])(\$?{_NAME})\s{{0,4}}=\s{{0,4}}[rbu]?[\"'`]({PROPERTIES}|exec|eval|base64_decode|assert|gzinflate|str_rot13|passthru|shell_exec)[\"'`]"
)


def _by_string(text: str) -> str:
    """The text with functions that are called by a name for their name: ``f = "eval"; window[f](x)``, PHP's ``$f(x)``."""
    for match in list(_NAMED_BY_STRING.finditer(text))[:_MOST_ALIASES]:
        name, value = re.escape(match[1]), match[2]
        text = re.sub(rf"\[\s?{name}\s?\](?=\s?\()", f".{value}", text)
        text = re.sub(rf"getattr\(\s*([\w.]{{1,80}})\s*,\s*{name}\s*\)", rf"\1.{value}", text)
        if match[1].startswith("$"):
            text = re.sub(rf"(?<![\w$]){name}(?=\s?\()", value, text)
    return text


def _with_attributes(text: str) -> str:
    if (
        "import(" in text
        or "__import__" in text
        or "import_module" in text
        or "require(" in text
        or "getBuiltinModule" in text
    ):
        text = _LOADED.sub(lambda match: match[1].removeprefix("node:"), text)
        text = _BRACKETED_MODULE.sub(r"\1", text)
    if '["' in text or "['" in text or "[`" in text:
        text = _PROPERTY.sub(r".\1", text)
    if ".__dict__." in text:
        text = text.replace(".__dict__.", ".")
    if "vars(" in text or "sys.modules" in text or "dir(" in text:
        text = _MODULE_BY_CALL.sub(lambda match: match[1] or match[2], text)
    if "getattr" in text:
        text = _ATTRIBUTE.sub(r"\1.\2", text)
    if "__dict__" in text or "vars(" in text:
        text = _OF_DICTIONARY.sub(lambda match: f"{match[1] or match[2]}.{match[3]}", text)
    if "globals()" in text or "locals()" in text:
        text = _GLOBAL.sub(lambda match: match[1] or "builtins", text)
    return text


def _aliases(text: str) -> dict[str, str]:
    """Other names for modules and functions that matter, with the usual name; at most ``_MOST_ALIASES``."""
    aliases: dict[str, str] = {}
    for pattern in _SEVERAL:
        for match in pattern.finditer(text):
            module = match["module"].removeprefix("node:")
            for name, other in _ONE.findall(match["names"]):
                if (other or name in _AMBIGUOUS) and len(aliases) < _MOST_ALIASES:
                    aliases[other or name] = f"{module}.{name}"
    for match in _CONSTRUCTOR.finditer(text):
        aliases[match[1]] = "Function"
    for pattern in _ALIASES:
        for match in pattern.finditer(text):
            name, module = match["name"], match["module"].removeprefix("node:")
            module = re.sub(r"^(?:window|globalThis|global|self|builtins|__builtins__)\.", "", module)
            head, dot, rest = module.partition(".")
            module = aliases.get(head, head) + dot + rest
            if name != module and len(aliases) < _MOST_ALIASES:
                aliases[name] = module
    return aliases
