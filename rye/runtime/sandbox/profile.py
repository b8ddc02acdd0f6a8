"""What one tool call may touch: the operator's grants and the limits, never what the package asks for
(docs/how-to/tools.md). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from rye.errors import RyeError
from rye.items.needs import NOTHING, Needs, place_of
from rye.limits import SANDBOX

PATH = "/usr/local/bin:/usr/bin:/bin"
_LANGUAGE = re.compile(r"[A-Za-z0-9_.@-]{1,64}")
_ZONE = re.compile(r"[A-Za-z0-9_+<>,.:/-]{1,128}")


class HostPort(Struct, frozen=True, order=True):
    """A lower-case host name or an address, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Profile(Struct, frozen=True, kw_only=True):
    """What the sandbox allows one call. All paths are absolute and contain no symbolic links."""

    project: Path
    """The project's folder; the tool sees it at the same path."""
    work: Path
    """An empty folder for this call only: the tool starts in it, may write to it, and has it as HOME and TMPDIR."""
    deny: tuple[Path, ...]
    """Never readable, wherever they are: Rye's own folders."""
    caches: tuple[Path, ...] = ()
    """Those of ``deny`` that are large and hold nothing secret: links to their files are not looked for."""
    journals: Path | None = None
    """The folder of the journals of calls (:mod:`rye.runtime.sandbox.journal`), which lies in ``deny``; None: there are none."""
    write: tuple[Path, ...] = ()
    """Granted folders and files of the project."""
    folders: tuple[Path, ...] = ()
    """The granted paths that are folders, and are created if missing."""
    network: tuple[HostPort, ...] = ()
    """Reachable through ``http_proxy`` and ``https_proxy``; no other network access exists."""
    env: tuple[tuple[str, str], ...] = ()
    """The whole environment, sorted by name."""
    memory: int = SANDBOX.memory_bytes
    cpu_seconds: int = SANDBOX.cpu_seconds
    processes: int = SANDBOX.processes
    file_bytes: int = SANDBOX.file_bytes
    seconds: float = SANDBOX.seconds
    """Wall-clock seconds until every process of the tool is killed."""


def profile_for(
    project: Path,
    work: Path,
    environ: Mapping[str, str],
    grants: Needs = NOTHING,
    *,
    deny: tuple[Path, ...],
    caches: tuple[Path, ...] = (),
    journals: Path | None = None,
    withheld: frozenset[str] = frozenset(),
    seconds: float = SANDBOX.seconds,
) -> Profile:
    """Return the profile of a call. ``project`` and ``work`` are real paths; ``withheld``: variables that cannot be granted
    (the keys of models). Granted variables that are not set are left out. Raises RyeError ``not-runnable``."""
    for name in grants.env:
        if name in withheld:
            raise RyeError(
                "not-runnable",
                f"[sandbox] grants {name} to a tool, but it contains the key of a model.",
                "Remove it from env in rye.toml. A tool never gets a model's key.",
            )
    if project == Path(project.anchor):
        raise RyeError("not-runnable", "The project is the whole file system.", "Run tools in a project's folder.")
    home = str(work)
    language, zone = environ.get("LANG", ""), environ.get("TZ", "")
    given = {name: environ[name] for name in grants.env if name in environ}
    ours = {
        "PATH": PATH,
        "LANG": language if _LANGUAGE.fullmatch(language) else "C.UTF-8",
        "TZ": zone if _ZONE.fullmatch(zone) else "UTC",
        "HOME": home,
        "TMPDIR": home,
    }
    return Profile(
        project=project,
        work=work,
        deny=deny,
        caches=caches,
        journals=journals,
        write=tuple(project / path for path in grants.write),
        folders=tuple(project / path for path in grants.write if path.endswith("/")),
        network=tuple(HostPort(*place_of(place)) for place in grants.network),
        env=tuple(sorted({**given, **ours}.items())),
        seconds=min(seconds, SANDBOX.seconds),
    )
