"""What an item can run on its user's machine without an agent's decision (DESIGN 7.1; DECISIONS Skills 5). Pure.

* ``attached-file``: executable, with a shebang or a script's suffix, a native program, a package, or another ``SKILL.md``:
  programs that search skills' folders load it as a skill, with the hooks and tools of its own frontmatter. Also what some program
  obeys without being asked (:mod:`rye.items.autorun`), and what a text of the item passes to an interpreter, whatever its suffix.
* ``frontmatter-hook``, ``mcp-server``: what an agent program starts because of the frontmatter's ``hooks`` and ``mcpServers``.
* ``inline-command``: what it replaces with its output when it loads a skill: ``!`command` `` and fences that begin with ``!``.
* ``tool-code``: a tool is code, whatever its language. ``tool-needs``: what its ``__needs__`` requests beyond the sandbox.

Consent covers exactly these values: a changed byte is a different run. When in doubt, something counts as a run, because the
agent programs that execute it differ, and no single program's reading is the strictest in every respect.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from rye.items.autorun import folded, is_plugin, obeyed
from rye.items.consented import PACKAGE, PASSED_TO, READ_BY, Run, RunKind
from rye.limits import RUNS
from rye.text.yaml_reading import json_safe

FRONTMATTER_KEYS: dict[str, RunKind] = {"hooks": "frontmatter-hook", "mcpServers": "mcp-server"}
"""Frontmatter keys of skills and agents that make an agent program start something."""


def attached_runs(files: Iterable[tuple[str, bool, str, bytes]], text: bytes) -> tuple[Run, ...]:
    """Return the attached files that can run. ``files``: path, execute bit, SHA-256 and the first ``RUNS.text_bytes`` of each, or
    more; ``text``: the item's own file."""
    every = [(path, executable, digest, head[: RUNS.text_bytes]) for path, executable, digest, head in files]
    plugins = _plugins(path for path, *_ in every)
    found = {path: _runnable(path, executable, head, plugins) for path, executable, _, head in every}
    passed = _passed([path for path, action in found.items() if action is None], [text, *(head for *_, head in every)])
    runs = []
    for path, _, digest, _ in every:
        action = found[path] or passed.get(path)
        if action is not None:
            runs.append(Run("attached-file", path, action, digest))
    return tuple(sorted(runs))


def frontmatter_runs(data: dict[str, Any]) -> tuple[Run, ...]:
    """Return what the frontmatter makes an agent program start, one run per event or server."""
    return tuple(sorted(run for key, what in FRONTMATTER_KEYS.items() for run in _settings(what, key, data.get(key))))


def inline_runs(body: str, where: str) -> tuple[Run, ...]:
    """Return the commands that loading a skill executes, each once. ``where``: the file that contains them."""
    commands = dict.fromkeys(command for command in _commands(body) if command)
    return tuple(sorted(_run("inline-command", where, command) for command in commands))


def code_run(text: str, where: str, language: str) -> Run:
    """Return the run for a tool's own code."""
    return Run("tool-code", where, language, sha256(text.encode()).hexdigest())


def needs_runs(lines: Iterable[tuple[str, str]]) -> tuple[Run, ...]:
    """Return one run for each of a tool's needs, given as key and value (:mod:`rye.items.needs`)."""
    return tuple(_run("tool-needs", key, value) for key, value in lines)


# -- files -------------------------------------------------------------------------------------------------------------

_SCRIPT_SUFFIXES = """
    .sh .bash .zsh .ksh .csh .fish .command .tool .awk .sed .tcl .exp
    .py .pyw .pyc .pyz .pyx .ipynb .js .mjs .cjs .jsx .ts .mts .cts .tsx .rb .pl .pm .php .phar .lua .r .jl .go .rs .swift
    .java .jar .kts .groovy .scala .clj .ex .exs .erl .hs .nim .cr .dart .d .v .zig .m .el .scm
    .ps1 .psm1 .psd1 .bat .cmd .vbs .vbe .jse .wsf .wsh .hta .com .exe .msi .scr .dll .lnk .reg .cpl
    .applescript .scpt .scptd .workflow .app .dylib .so .desktop .service .plist .wasm .mk
"""
_SCRIPTS = frozenset(_SCRIPT_SUFFIXES.split())
_RECORDED_AS_SCRIPTS = frozenset(
    ("makefile", "gnumakefile", "justfile", "rakefile", "dockerfile", "containerfile", "vagrantfile")
)
"""Names of the table that locks have as ``script``. Another word would be another run, and every user would be asked again."""
_PACKAGES = frozenset(
    (".whl", ".egg", ".gem", ".deb", ".rpm", ".apk", ".nupkg", ".vsix", ".xpi", ".crx", ".mcpb", ".dxt")
)
_READ_IN_PLUGINS = frozenset((".md", ".mdc", ".toml", ".json", ".yaml", ".yml"))
"""What agent programs read in ``commands``, ``agents`` and ``hooks``. Scripts there are runs as everywhere."""
_NATIVE = (
    b"\x7fELF",
    b"MZ",
    b"\xcf\xfa\xed\xfe",
    b"\xce\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
    b"\xfe\xed\xfa",
    b"\x00asm",
)


def _runnable(path: str, executable: bool, head: bytes, plugins: frozenset[str]) -> str | None:
    """What makes a file run, or None. ``plugins``: from :func:`_plugins`."""
    if head.startswith(b"#!"):
        line = head[2 : RUNS.head_bytes].split(b"\n", 1)[0].decode("utf-8", "replace").strip()
        return _cut(f"#!{line}") + (", executable" if executable else "")
    if executable:
        return "executable"
    if head.startswith(_NATIVE):
        return "native program"
    name = folded(PurePosixPath(path).name)
    if name == "skill.md":
        return "another skill"
    suffix = PurePosixPath(name).suffix
    if suffix in _SCRIPTS or name in _RECORDED_AS_SCRIPTS:
        return "script"
    return PACKAGE if suffix in _PACKAGES else _obeyed(path, head, plugins)


def _plugins(paths: Iterable[str]) -> frozenset[str]:
    """The folders that agent programs may load as a plugin: the item's own, and each with the manifest of a plugin."""
    manifests = (PurePosixPath(path) for path in paths)
    return frozenset(("", *(_folder(path) for path in manifests if is_plugin((folded(path.name),)))))


def _folder(path: PurePosixPath) -> str:
    return "/".join(map(folded, path.parent.parts))


def _obeyed(path: str, head: bytes, plugins: frozenset[str]) -> str | None:
    """Which program obeys the file without being asked, by its name or that of a folder above it."""
    for place in (PurePosixPath(path), *PurePosixPath(path).parents):
        row = obeyed(place.name, at_root=_folder(place) in plugins)
        if row is None or (row.where == "root" and not _is_read_in_plugins(path, place)):
            continue
        if folded(place.name) == "package.json" and not _has_scripts(head):
            continue
        return f"{READ_BY}{row.obeyed_by}"
    is_manifest = is_plugin((folded(PurePosixPath(path).name),))
    return f"{READ_BY}agent programs, as the manifest of a plugin" if is_manifest else None


def _is_read_in_plugins(path: str, folder: PurePosixPath) -> bool:
    return path != folder.as_posix() and PurePosixPath(folded(PurePosixPath(path).name)).suffix in _READ_IN_PLUGINS


def _has_scripts(head: bytes) -> bool:
    """Whether a ``package.json`` has scripts, at any depth. One that is too long or cannot be read counts as having some."""
    found: list[str] = []

    def look(pairs: list[tuple[str, Any]]) -> bool:
        found.extend(key for key, value in pairs if key in ("scripts", "gypfile") and value is not False)
        return bool(pairs)

    if len(head) >= RUNS.text_bytes:
        return True
    try:
        json.loads(head, object_pairs_hook=look)
    except (ValueError, RecursionError):
        return True
    return bool(found)


# -- files that a text passes to an interpreter ------------------------------------------------------------------------

_SHELLS = "sh|bash|dash|ash|zsh|ksh|fish"
_LANGUAGES = (
    "python[0-9.]*|pypy[0-9.]*|uv|node|nodejs|deno|bun|tsx|ts-node|ruby|perl|php|lua|luajit|julia|rscript|groovy|elixir"
)
_OTHERS = "pwsh|powershell|osascript|wscript|cscript|tclsh|expect"
_INTERPRETER = re.compile(rf"(?<![\w.-])({_SHELLS}|{_LANGUAGES}|{_OTHERS})(?:\.exe)?(?=[ \t<])", re.IGNORECASE)
_SOURCED = re.compile(r"(?:^|[;&|`])[ \t]*(\.|source)(?=[ \t])", re.IGNORECASE | re.MULTILINE)
_SINK = re.compile(
    rf"\|\s*(?:sudo[ \t]+)?(?:/[\w/]+/)?({_SHELLS}|{_LANGUAGES}|{_OTHERS})(?:[ \t]+-s?)?[ \t]*(?=$|[;&|`\"')])",
    re.I | re.M,
)
_WORD = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|<\(|[^\s;|&<>]+")
_TAG = re.compile(r"</?[A-Za-z][\w-]*(?:[ \t][^<>\n]{0,200})?>")
_NO_FILE = {
    "shell": re.compile(r"-\w*c"),
    "python": re.compile(r"-\w*[cm]"),
    "powershell": re.compile(r"(?i)-(?:c|command|e|ec|enc\w*)$"),
    "other": re.compile(r"-\w*[eEcp]\b"),
}
"""Options after which an interpreter runs no file, but code or a module."""
_KINDS = dict.fromkeys(_SHELLS.split("|"), "shell") | {"pwsh": "powershell", "powershell": "powershell"}
_SUBCOMMANDS = frozenset(("run", "exec", "--"))
_AROUND = "\"'`()[]{}*_,:.!?"
_LOOKED_AT = 300
"""Characters of a command that are looked at, before or after the interpreter."""


def _passed(paths: Iterable[str], texts: Iterable[bytes]) -> dict[str, str]:
    """What makes each of these files run that some text passes to an interpreter.

    A file counts if its name fits, whatever folder the text names: commands change folders, and variables stand for them.
    """
    wanted: dict[str, list[str]] = {}
    for path in paths:
        wanted.setdefault(PurePosixPath(path).name.casefold(), []).append(path)
    found: dict[str, str] = {}
    for data in texts if wanted else ():
        text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\\\n", "  ")
        folded = text.casefold()
        if not any(name in folded for name in wanted):
            continue  # most texts name no file, and looking for interpreters takes most of the time of adding a collection
        plain = _TAG.sub(" ", text)
        for by, word in {*_arguments(text), *(_arguments(plain) if plain != text else ())}:
            for path in wanted.get(word.strip(_AROUND).replace("\\", "/").rpartition("/")[2].casefold(), ()):
                action = f"{PASSED_TO}{by}"
                found[path] = min(found.get(path, action), action)
    return found


def _arguments(text: str) -> Iterator[tuple[str, str]]:
    """Every interpreter in a text with each word that may be the file that it runs."""
    for match in _INTERPRETER.finditer(text):
        name = match[1].lower()
        for word in _file_words(name, text[match.end() : match.end() + _LOOKED_AT].split("\n", 1)[0]):
            yield name, word
    for match in _SOURCED.finditer(text):
        words = _WORD.finditer(text[match.end() : match.end() + _LOOKED_AT].split("\n", 1)[0])
        yield from (("the shell", word[0]) for word in islice(words, 1))
    for match in _SINK.finditer(text):
        before = text[max(0, match.start() - _LOOKED_AT) : match.start()].rpartition("\n")[2]
        if before.lstrip().startswith("|") and not before.endswith("\\"):
            continue  # cells of a Markdown table
        yield from ((match[1].lower(), word[0]) for word in _WORD.finditer(before))


def _file_words(name: str, rest: str) -> Iterator[str]:
    """The words after an interpreter that may be a file: the first that is no option, and after an option one more, which is the
    file if the first was the option's value."""
    kind = "python" if name.startswith(("python", "pypy")) else _KINDS.get(name, "other")
    left, is_list = 1, False
    for match in _WORD.finditer(rest):
        word = match[0]
        if is_list or word.startswith(("<(", "$(", '"$(')):
            is_list = True
            yield word
        elif word.startswith("-") and word != "--":
            if _NO_FILE[kind].match(word) and not word.startswith("--"):
                return
            left = 2
        elif word.lower() not in _SUBCOMMANDS:
            yield word
            left -= 1
            if not left:
                return


# -- settings and commands ---------------------------------------------------------------------------------------------


def _settings(what: RunKind, key: str, value: Any) -> Iterator[Run]:
    if value in (None, "", [], {}):
        return
    if isinstance(value, dict):
        for name, part in value.items():
            yield _run(what, f"{key}.{name}", _written(part))
    else:
        for part in value if isinstance(value, list) else [value]:
            yield _run(what, key, _written(part))


def _written(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(json_safe(value), ensure_ascii=False, sort_keys=True, separators=(", ", ": "))


def _commands(body: str) -> Iterator[str]:
    """Every ``!`…` `` not preceded by a backtick, and every fence that begins with ``!``, anywhere."""
    for match in re.finditer(r"(?<!`)!`([^`]+)`", body):
        yield match[1].strip()
    for fence in ("```!", "~~~!"):
        start = body.find(fence)
        while start >= 0:
            begin = start + len(fence)
            end = body.find(fence[:3], begin)
            yield body[begin : end if end >= 0 else len(body)].strip()
            start = body.find(fence, end + 3) if end >= 0 else -1


def _run(what: RunKind, where: str, action: str) -> Run:
    return Run(what, _cut(where), _cut(action), sha256(action.encode("utf-8", "surrogatepass")).hexdigest())


def _cut(text: str) -> str:
    limit = RUNS.action_characters
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
