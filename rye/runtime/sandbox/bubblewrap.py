"""Bubblewrap: separate namespaces for files, processes, network and IPC, plus the system call filter.

The tool's file system is built from nothing: system folders and the project at its own path, both read-only; empty mounts
over hidden paths; then the writable paths, in which each folder above something protected is a mount of its own, so that it
cannot be renamed. Mounting goes by name, so the launcher compares device and inode of each mount with what was surveyed, inside
and before the tool starts. If the kernel has Landlock, the same rights also apply inside: a hidden file that is replaced during
the run loses its mount, and Landlock still refuses it. What is only read-only in a granted folder, and contains secrets, is built
anew from its other parts, since Landlock allows everything in a folder or nothing.
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
from rye.runtime.sandbox.exposure import Located
from rye.runtime.sandbox.interpreters import own_python
from rye.runtime.sandbox.landlock import allowed_paths, rule_for, version
from rye.runtime.sandbox.profile import PATH
from rye.runtime.sandbox.running import Rule, Scene, Walls
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


def _inside(scene: Scene) -> list[Rule]:
    """The rules of Landlock inside. What is protected is a read-only mount, so the folder around it can be changed. If a mount
    is lost because another program replaces the file meanwhile, the sweep finds a new file under that name."""
    return [
        *allowed_paths(scene),
        *(rule_for(each, rights.CHANGE, is_required=True) for survey in scene.writable for each in survey.extendable),
        ("/proc", rights.READ, None, False),
    ]


def arguments(scene: Scene) -> Iterator[str]:
    """Yield bubblewrap's arguments in the order of mounting: later mounts cover earlier ones."""
    profile, user = scene.profile, scene.user
    yield from ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
    yield from ("--new-session", "--as-pid-1", "--hostname", "sandbox")
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
    yield from ("--dev", "/dev", "--proc", "/proc")
    _, own = own_python()
    for path in dict.fromkeys((*own, *scene.program.exposes)):
        yield from ("--ro-bind", str(path), str(path))
    yield from ("--ro-bind", str(profile.project), str(profile.project))
    for granted in scene.opened.writes:
        yield from ("--bind", str(granted.path), str(granted.path))
    for located in scene.kept_in_place():  # a mount cannot be renamed
        yield from ("--bind", str(located.path), str(located.path))
    hidden = {located.path: located.is_folder for located in scene.must_be_covered()}
    for located in (located for survey in scene.writable for located in survey.protected):
        parts = scene.without_secrets(located)
        yield from _in_parts(located, parts, hidden, scene) if parts else _read_only(located.path)
    for path, is_folder in hidden.items():
        yield from _cover(path, is_folder)
    for path in scene.denied:
        if path.exists() and any(path.is_relative_to(each) for each in ("/usr", "/nix/store")):
            yield from _cover(path, path.is_dir())
    yield from ("--bind", str(profile.work), str(profile.work), "--ro-bind", str(scene.folder), str(scene.folder))
    yield from ("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/")  # last: a project may be in /dev/shm


def _read_only(path: Path) -> Iterator[str]:
    yield from ("--ro-bind", str(path), str(path))


def _in_parts(folder: Located, parts: list[Located], hidden: dict[Path, bool], scene: Scene) -> Iterator[str]:
    """Yield the arguments that build a folder anew from what may be read in it. What is hidden there leaves ``hidden``."""
    yield from ("--size", str(1 << 20), "--perms", "0755", "--tmpfs", str(folder.path))
    for part in parts:
        if part in scene.readable.allowed:
            yield from _read_only(part.path)
        elif part.path != folder.path:
            yield from ("--dir", str(part.path))
    for path in [path for path in hidden if path.is_relative_to(folder.path)]:
        yield from _cover(path, hidden.pop(path))
    yield from ("--remount-ro", str(folder.path))


def _cover(path: Path, is_folder: bool) -> Iterator[str]:
    """Yield the arguments that put something empty over a path."""
    if is_folder:
        yield from ("--size", str(4096), "--perms", "0500", "--tmpfs", str(path), "--remount-ro", str(path))
    else:
        yield from ("--ro-bind", "/dev/null", str(path))
