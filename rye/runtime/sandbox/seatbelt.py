"""macOS's Seatbelt through ``sandbox-exec``. **Untested**: written from public examples of the language, never run on a Mac.

As on Linux, the probe decides: a sandbox that does not refuse what it should is not used. Single hosts cannot be granted,
because the language can only name ports. Memory and processor time of several processes cannot be added up.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from threading import Event

from msgspec import Struct

from rye.items import autorun
from rye.runtime.sandbox import running
from rye.runtime.sandbox.interpreters import own_python
from rye.runtime.sandbox.running import Scene, Walls
from rye.runtime.sandbox.tool_run import Outcome, SandboxUnavailable, ToolRun

_PROGRAM = "/usr/bin/sandbox-exec"
_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/System",
    "/Library/Frameworks",
    "/Library/Apple",
    "/private/etc/ssl",
    "/private/var/db",
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")


class Seatbelt(Struct, frozen=True):
    """The sandbox of macOS."""

    environ: Mapping[str, str]
    name: str = "seatbelt"

    def run(self, tool: ToolRun, cancel: Event) -> Outcome:
        """:meth:`rye.runtime.sandbox.tool_run.Backend.run`."""
        if sys.platform != "darwin" or not os.access(_PROGRAM, os.X_OK):
            raise SandboxUnavailable("Seatbelt is only available on macOS.")
        if tool.profile.network:
            raise SandboxUnavailable(
                "Seatbelt cannot allow single hosts.", "Run the tool on Linux, or without its network grants."
            )
        return running.run(tool, cancel, self.environ, self._walls)

    def _walls(self, scene: Scene) -> Walls:
        _, own = own_python()
        text = profile_text(scene, (*own, *scene.program.exposes))
        return Walls(prefix=lambda _: (_PROGRAM, "-p", text), processes=scene.profile.processes)


def profile_text(scene: Scene, programs: Iterable[Path]) -> str:
    """Return the profile in Seatbelt's language. The last matching rule applies. Pure."""
    profile = scene.profile
    hidden = [*(located.path for located in scene.must_be_covered()), *scene.denied]
    protected = [located.path for survey in scene.writable for located in survey.protected]
    read = [*map(Path, _SYSTEM), *programs, profile.project, scene.folder]
    lines = [
        "(version 1)",
        "(deny default)",
        "(allow process-fork)",
        "(allow process-exec)",
        "(allow signal (target same-sandbox))",
        "(allow sysctl-read)",
        "(allow file-read-metadata)",
        _rule("allow file-read*", [*read, *map(Path, _DEVICES)]),
        _rule("allow file-read* file-write*", profile.write),
        _rule("allow file-write-data", [Path(device) for device in _DEVICES]),
        _rule("deny file-write*", protected),
        _rule("deny file-read* file-write*", hidden),
        _rule("allow file-read* file-write*", [profile.work]),
        *_never_written(),
        "(deny network*)",
    ]
    return "\n".join(line for line in lines if line) + "\n"


def _never_written() -> Iterator[str]:
    """Yield a rule for each name that programs obey anywhere, in any case; Seatbelt's expressions know no case folding."""
    for row in autorun.TABLE:
        for name in row.names if row.where == "anywhere" else ():
            text = "".join(
                f"[{c}{c.upper()}]" if c.isalpha() else f"\\{c}" if c == "." else c for c in name.lstrip("*")
            )
            start = "" if name.startswith("*") else "/"
            yield f'(deny file-write* (regex #"{start}{text}(/|$)"))'


def _rule(words: str, paths: Iterable[Path]) -> str:
    places = " ".join(f"(subpath {_quoted(path)})" for path in dict.fromkeys(paths))
    return f"({words} {places})" if places else ""


def _quoted(path: Path) -> str:
    text = str(path)
    if not text.isprintable():
        raise SandboxUnavailable(f"Seatbelt cannot handle the path {text!r}.", "Rename it to printable characters.")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
