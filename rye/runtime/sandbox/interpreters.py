"""Which program runs a tool, and the few lines around the tool that implement its contract (docs/how-to/tools.md).

Standard input is one JSON object ``{"parameters", "item", "work"}``; the result is one JSON value. Python and JavaScript tools
run in a frame that calls ``execute(parameters)`` and writes the return value to a separate descriptor, so printed text cannot
be mistaken for the result. A shell tool writes the result to standard output itself.

Interpreters come from system folders or, for Node, from absolute folders of the caller's ``PATH``. They never come from the
project: anyone who can commit can change its virtual environment or ``node_modules``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from rye.errors import RyeError
from rye.limits import SANDBOX
from rye.runtime.sandbox.profile import PATH
from rye.runtime.sandbox.tool_run import ToolRun
from rye.text.json_reading import JsonError, read_json

_PYTHON_FRAME = """\
import json, sys, types
with open(sys.argv[1], "rb") as stream:
    code = compile(stream.read(), sys.argv[1], "exec")
call = json.load(sys.stdin.buffer)
tool = types.ModuleType("tool")
tool.__file__ = sys.argv[1]
sys.modules["tool"] = tool
sys.argv = sys.argv[1:]
exec(code, tool.__dict__)
if not callable(getattr(tool, "execute", None)):
    sys.exit("The tool has no function execute(params).")
value = tool.execute(call["parameters"])
if hasattr(value, "__await__"):
    import asyncio
    async def wait(): return await value
    value = asyncio.run(wait())
text = json.dumps(value, ensure_ascii=False, allow_nan=False)
with open(3, "wb") as result:
    result.write(text.encode("utf-8"))
"""

_SCRIPT_FRAME = """\
import { readFileSync, writeSync } from "node:fs";
import { pathToFileURL } from "node:url";
const call = JSON.parse(readFileSync(0, "utf8"));
const tool = await import(pathToFileURL(process.argv[2]));
if (typeof tool.execute !== "function") {
  console.error("The tool exports no function execute(params).");
  process.exit(1);
}
const value = await tool.execute(call.parameters);
const bytes = Buffer.from(JSON.stringify(value === undefined ? null : value), "utf8");
let at = 0;
while (at < bytes.length) {
  try { at += writeSync(3, bytes, at); } catch (error) { if (error.code !== "EAGAIN") throw error; }
}
process.exit(0);
"""


class Program(Struct, frozen=True):
    """How one tool is started."""

    argv: tuple[str, ...]
    """With :data:`FOLDER` in place of the private copy's folder."""
    files: tuple[tuple[str, bytes], ...]
    """The private copy: names and bytes."""
    stdin: bytes
    env: tuple[tuple[str, str], ...]
    """Variables to add to the profile's."""
    separate_result: bool
    """Whether the result comes on a separate descriptor, and standard output goes to the log."""
    exposes: tuple[Path, ...]
    """The interpreter's files and folders outside the system folders."""


FOLDER = "\x00"
"""Stands for the private copy's folder in :attr:`Program.argv`."""


def program_for(tool: ToolRun, environ: Mapping[str, str]) -> Program:
    """Return how to start the tool. Raises RyeError ``not-runnable`` if there is no interpreter, ``invalid-parameters`` for
    parameters that cannot be passed to it."""
    if len(tool.code) > SANDBOX.code_bytes:
        raise RyeError("not-runnable", f"{tool.item} is larger than {SANDBOX.code_bytes} bytes.", "Split the tool.")
    stdin, parameters = _call(tool)
    if tool.suffix == ".py":
        python, exposes = python_of(tool.profile.project)
        argv: tuple[str, ...] = (str(python), "-I", f"{FOLDER}/frame.py", f"{FOLDER}/tool.py")
        files = (("frame.py", _PYTHON_FRAME.encode()), ("tool.py", tool.code))
        return Program(argv, files, stdin, (), True, exposes)
    if tool.suffix == ".sh":
        bash = _found("bash", (), tool.profile.project)
        if bash is None:
            raise RyeError("not-runnable", f"{tool.item} needs bash, which is not installed.", "Install bash.")
        argv = (str(bash), "--noprofile", "--norc", f"{FOLDER}/tool.sh")
        return Program(argv, (("tool.sh", tool.code),), stdin, shell_variables(parameters), False, ())
    return _script(tool, stdin, environ)


def _call(tool: ToolRun) -> tuple[bytes, dict[str, Any]]:
    if len(tool.parameters) > SANDBOX.parameters_bytes:
        message = f"The parameters are larger than {SANDBOX.parameters_bytes} bytes."
        raise RyeError("invalid-parameters", message, "Write large values to a file, and pass its path.")
    hint = 'Pass an object such as {"path": "README.md"}.'
    try:
        parameters = read_json(tool.parameters)
    except JsonError as error:
        raise RyeError("invalid-parameters", f"The parameters are not JSON: {error}.", hint) from None
    if not isinstance(parameters, dict):
        raise RyeError("invalid-parameters", "The parameters are not a JSON object.", hint)
    call = {"parameters": msgspec.Raw(tool.parameters), "item": tool.item, "work": str(tool.profile.work)}
    return msgspec.json.encode(call), parameters


def shell_variables(parameters: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return a variable ``RYE_PARAM_X`` for every scalar except null and texts that are too long. Raises RyeError
    ``invalid-parameters`` if two names map to the same variable, or a text contains NUL."""
    variables: dict[str, str] = {}
    for name, value in parameters.items():
        if isinstance(value, bool):
            text = "true" if value else "false"
        elif isinstance(value, str | int | float):
            text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        else:
            continue
        variable = f"RYE_PARAM_{re.sub(r'[^A-Z0-9_]', '_', name.upper())}"
        if variable in variables or "\x00" in text or len(name) > 128:
            message = f"The parameter {name!r} cannot be passed as the variable {variable}."
            hint = "Use names that differ in letters or digits, and texts without NUL."
            raise RyeError("invalid-parameters", message, hint)
        if len(text) <= SANDBOX.parameter_characters:
            variables[variable] = text
    return tuple(sorted(variables.items()))


# -- Python ------------------------------------------------------------------------------------------------------------


def own_python() -> tuple[Path, tuple[Path, ...]]:
    """Return the interpreter that runs Rye, without any virtual environment, and its folders outside the system folders."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    return Path(os.path.realpath(base)), _outside_system(Path(os.path.realpath(sys.base_prefix)))


def python_of(project: Path) -> tuple[Path, tuple[Path, ...]]:
    """Return the interpreter for tools: Rye's own, unless the project contains it. Raises RyeError ``not-runnable``."""
    python, exposes = own_python()
    if not python.is_relative_to(project) and not Path(os.path.realpath(sys.base_prefix)).is_relative_to(project):
        return python, exposes
    found = _found("python3", (), project)
    if found is None:
        message = "The only Python on this machine is inside the project, where anyone who can commit could change it."
        raise RyeError("not-runnable", message, "Install python3 with your system's package manager.")
    return found, ()


_SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/sbin")


def _outside_system(prefix: Path) -> tuple[Path, ...]:
    return () if str(prefix) == "/" or any(prefix.is_relative_to(each) for each in _SYSTEM) else (prefix,)


# -- Node --------------------------------------------------------------------------------------------------------------


def _script(tool: ToolRun, stdin: bytes, environ: Mapping[str, str]) -> Program:
    folders = [entry for entry in environ.get("PATH", "").split(os.pathsep) if os.path.isabs(entry)]
    node = _found("node", folders, tool.profile.project)
    if node is None:
        message = f"{tool.item} needs Node.js, which is not installed."
        raise RyeError("not-runnable", message, "Install Node.js 20 or newer, outside the project.")
    flags: tuple[str, ...] = ()
    name = "tool.mjs"
    if tool.suffix == ".ts":
        version = node_version(node)
        if version < (22, 6):
            message = f"{tool.item} is TypeScript, which needs Node.js 22.6 or newer; {node} is {'.'.join(map(str, version))}."
            hint = "Install Node.js 22.6 or newer, outside the project, or write the tool in JavaScript."
            raise RyeError("not-runnable", message, hint)
        flags = ("--experimental-strip-types", "--no-warnings")
        name = "tool.mts"
    argv = (str(node), *flags, f"{FOLDER}/frame.mjs", f"{FOLDER}/{name}")
    files = (("frame.mjs", _SCRIPT_FRAME.encode()), (name, tool.code))
    return Program(argv, files, stdin, (), True, _parts_of_node(node))


def _parts_of_node(node: Path) -> tuple[Path, ...]:
    """Return Node's files outside the system folders: its whole installation, if it has a separate one."""
    if any(node.is_relative_to(each) for each in _SYSTEM):
        return ()
    home = node.parent.parent
    return (home,) if node.parent.name == "bin" and (home / "lib" / "node_modules").is_dir() else (node,)


@cache
def node_version(node: Path) -> tuple[int, ...]:
    """Return the version that this Node reports; (0,) if it reports none."""
    try:
        said = subprocess.run([node, "--version"], capture_output=True, env={}, timeout=10, check=False, cwd="/").stdout
    except (OSError, subprocess.TimeoutExpired):
        return (0,)
    match = re.match(rb"v(\d{1,5})\.(\d{1,5})\.(\d{1,5})", said)
    return tuple(map(int, match.groups())) if match else (0,)


def _found(name: str, folders: Iterable[str], project: Path) -> Path | None:
    """Return the program's real path, searching system folders first and never below the project; None if not found."""
    for folder in [*PATH.split(":"), *folders]:
        path = Path(folder, name)
        real = Path(os.path.realpath(path))
        if path.is_relative_to(project) or real.is_relative_to(project):
            continue
        if real.is_file() and os.access(real, os.X_OK):
            return real
    return None
