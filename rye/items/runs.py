"""What an item can run on its user's machine without an agent's decision (DESIGN 7.1; DECISIONS Skills 5). Pure.

* ``attached-file``: executable, with a shebang, with a script's suffix or a build file's name, a native program, or another
  ``SKILL.md``: programs that search skills' folders load it as a skill, with the hooks and tools of its own frontmatter.
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
from pathlib import PurePosixPath
from typing import Any

from rye.items.consented import Run, RunKind
from rye.limits import RUNS
from rye.text.yaml_reading import json_safe

FRONTMATTER_KEYS: dict[str, RunKind] = {"hooks": "frontmatter-hook", "mcpServers": "mcp-server"}
"""Frontmatter keys of skills and agents that make an agent program start something."""


def attached_runs(files: Iterable[tuple[str, bool, str, bytes]]) -> tuple[Run, ...]:
    """Return the attached files that can run. ``files``: path, execute bit, SHA-256 and at least the first bytes of each."""
    runs = []
    for path, executable, digest, head in files:
        action = _runnable(path, executable, head[: RUNS.head_bytes])
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
_BUILD_FILES = frozenset(
    ("makefile", "gnumakefile", "justfile", "rakefile", "dockerfile", "containerfile", "vagrantfile")
)
_NATIVE = (
    b"\x7fELF",
    b"MZ",
    b"\xcf\xfa\xed\xfe",
    b"\xce\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
    b"\xfe\xed\xfa",
    b"\x00asm",
)


def _runnable(path: str, executable: bool, head: bytes) -> str | None:
    """What makes a file run, or None."""
    if head.startswith(b"#!"):
        line = head[2:].split(b"\n", 1)[0].decode("utf-8", "replace").strip()
        return _cut(f"#!{line}") + (", executable" if executable else "")
    if executable:
        return "executable"
    if head.startswith(_NATIVE):
        return "native program"
    name = PurePosixPath(path).name.lower()
    if name == "skill.md":
        return "another skill"
    return "script" if PurePosixPath(name).suffix in _SCRIPTS or name in _BUILD_FILES else None


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
