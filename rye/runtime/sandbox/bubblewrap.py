"""Bubblewrap: separate namespaces for files, processes, network and IPC, plus the system call filter.

The tool's file system is built from nothing: system folders and the project at its own path, both read-only; empty mounts
over hidden paths; then the writable paths. If the kernel has Landlock, the same rights also apply inside: a hidden file that
is replaced during the run loses its mount, but Landlock still refuses it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Event

from msgspec import Struct

from rye.runtime.sandbox import landlock_rights as rights
from rye.runtime.sandbox import places, running, seccomp, users
from rye.runtime.sandbox.interpreters import own_python
from rye.runtime.sandbox.landlock import allowed_paths, version
from rye.runtime.sandbox.profile import PATH
from rye.runtime.sandbox.running import Scene, Walls
from rye.runtime.sandbox.syscalls import AUDIT_ARCHITECTURES
from rye.runtime.sandbox.tool_run import Outcome, SandboxUnavailable, ToolRun

_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_WATCHER = 2
"""Bubblewrap's process and the watcher, which count against the process limit of the tool's user namespace."""


def program() -> Path | None:
    """Return the path of bubblewrap, searched only in system folders; None if not installed."""
    folders = (*PATH.split(":"), "/run/current-system/sw/bin")
    return next((path for folder in folders if os.access(path := Path(folder, "bwrap"), os.X_OK)), None)


class Bubblewrap(Struct, frozen=True):
    """The bubblewrap sandbox; ``abi`` is the Landlock version to use, 0 for none, -1 for the kernel's."""

    environ: Mapping[str, str]
    abi: int = -1
    name: str = "bubblewrap"

    def run(self, tool: ToolRun, cancel: Event) -> Outcome:
        """:meth:`rye.runtime.sandbox.tool_run.Backend.run`."""
        if sys.platform != "linux" or os.uname().machine not in AUDIT_ARCHITECTURES or program() is None:
            raise SandboxUnavailable("Bubblewrap is not installed.", "Debian: apt install bubblewrap.")
        return running.run(tool, cancel, self.environ, self._walls)

    def _walls(self, scene: Scene) -> Walls:
        bwrap = program()
        abi = version() if self.abi < 0 else self.abi
        network = seccomp.Network.SUPERVISED if scene.profile.network else seccomp.Network.NONE
        processes = scene.profile.processes
        if scene.user is None:
            processes += _WATCHER if running.exact_counts() else users.tasks_of_this_user()
        return Walls(
            prefix=lambda descriptor: (str(bwrap), "--args", str(descriptor), "--"),
            arguments=b"".join(os.fsencode(word) + b"\x00" for word in arguments(scene)),
            namespace=True,
            landlock=(rights.handled(abi), _inside(scene), rights.OF_FILES) if abi >= rights.OLDEST else None,
            seccomp=seccomp.program(os.uname().machine, seccomp.Rules(network)),
            processes=processes,
        )


def _inside(scene: Scene) -> list[tuple[str, int]]:
    return [*allowed_paths(scene), ("/proc", rights.READ)]


def arguments(scene: Scene) -> Iterator[str]:
    """Yield bubblewrap's arguments in the order of mounting: later mounts cover earlier ones."""
    profile, user = scene.profile, scene.user
    yield from ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
    yield from ("--die-with-parent", "--new-session", "--as-pid-1", "--hostname", "sandbox")
    if user is None:
        yield from ("--unshare-user", "--cap-drop", "ALL") if os.geteuid() == 0 else ("--unshare-user",)
    else:
        kept = user.capabilities | users.SETUID | users.SETGID | users.SETPCAP | users.KILL
        yield from ("--cap-drop", "ALL")
        for capability, name in users.NAMES.items():
            if kept & capability:
                yield from ("--cap-add", name)
    yield from ("--ro-bind", "/usr", "/usr")
    for link in _LINKS:
        if os.path.islink(link):
            yield from ("--symlink", os.readlink(link), link)
        elif os.path.isdir(link):
            yield from ("--ro-bind", link, link)
    yield from ("--ro-bind-try", "/nix/store", "/nix/store")
    for setting in places.SETTINGS + (("/etc/hosts",) if profile.network else ()):
        yield from ("--ro-bind-try", setting, setting)
    yield from ("--dev", "/dev", "--remount-ro", "/dev", "--proc", "/proc")
    _, own = own_python()
    for path in dict.fromkeys((*own, *scene.program.exposes)):
        yield from ("--ro-bind", str(path), str(path))
    yield from ("--ro-bind", str(profile.project), str(profile.project))
    for path in profile.write:
        yield from ("--bind", str(path), str(path))
    for path in (path for survey in scene.writable for path in survey.protected):
        yield from ("--ro-bind", str(path), str(path))
    hidden = [*scene.readable.hidden, *(path for survey in scene.writable for path in survey.hidden), *scene.denied]
    for path in dict.fromkeys(hidden):
        yield from _covered(path, profile.project)
    yield from ("--bind", str(profile.work), str(profile.work), "--ro-bind", str(scene.folder), str(scene.folder))
    yield from ("--remount-ro", "/", "--chdir", "/")


def _covered(path: Path, project: Path) -> Iterator[str]:
    """Yield the arguments that put an empty mount over a path, if the path is visible at all."""
    if not (path.is_relative_to(project) or any(path.is_relative_to(each) for each in ("/usr", "/nix/store"))):
        return
    if path.is_dir():
        yield from ("--size", str(4096), "--perms", "0500", "--tmpfs", str(path), "--remount-ro", str(path))
    elif path.exists():
        yield from ("--ro-bind", "/dev/null", str(path))
