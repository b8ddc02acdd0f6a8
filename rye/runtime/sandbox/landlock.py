"""Landlock and seccomp: file rights and a system call filter, available to any user, without a helper program.

Landlock has no deny rules, so everything that a tool may touch is listed. What it does not cover, the filter refuses: sockets
(Landlock only knows TCP ports), modes, times and attributes of files, and signals before version 6. Names and sizes of files
outside stay visible to a tool that guesses their paths.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping
from threading import Event

from msgspec import Struct

from rye.runtime.sandbox import landlock_rights as rights
from rye.runtime.sandbox import places, running, seccomp, users
from rye.runtime.sandbox.exposure import Located
from rye.runtime.sandbox.interpreters import own_python
from rye.runtime.sandbox.running import Rule, Scene, Walls
from rye.runtime.sandbox.syscalls import AUDIT_ARCHITECTURES
from rye.runtime.sandbox.tool_run import Outcome, SandboxUnavailable, ToolRun

_CREATE_RULESET, _VERSION = 444, 1


def version() -> int:
    """Return the kernel's Landlock ABI version; 0 if not supported."""
    if sys.platform != "linux" or os.uname().machine not in AUDIT_ARCHITECTURES:
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, int(libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)))


class Landlock(Struct, frozen=True):
    """The sandbox of Landlock and seccomp; ``abi``: the Landlock version to use."""

    environ: Mapping[str, str]
    abi: int
    name: str = "landlock"

    def run(self, tool: ToolRun, cancel: Event) -> Outcome:
        """:meth:`rye.runtime.sandbox.tool_run.Backend.run`."""
        if self.abi < rights.OLDEST:
            raise SandboxUnavailable(
                f"This kernel's Landlock is too old to protect files: version {self.abi}, needed is {rights.OLDEST}.",
                "Use Linux 6.2 or later, or install bubblewrap (Debian: apt install bubblewrap).",
            )
        return running.run(tool, cancel, self.environ, self._walls)

    def _walls(self, scene: Scene) -> Walls:
        network = seccomp.Network.SUPERVISED if scene.profile.network else seccomp.Network.NONE
        rules = seccomp.Rules(network, same_files=True, same_processes=self.abi < rights.SIGNALS_SINCE)
        return Walls(
            landlock=(rights.handled(self.abi), allowed_paths(scene), rights.OF_FILES),
            seccomp=seccomp.program(os.uname().machine, rules),
            processes=scene.profile.processes + (users.tasks_of_this_user() if scene.user is None else 0),
        )


def allowed_paths(scene: Scene) -> list[Rule]:
    """Return every path that the tool may touch, with its rights. Rights of overlapping rules add up.

    What lies in the project has the device and inode that were surveyed. If it has others when the rules are made, a rule for
    reading is left out, and one for writing fails the call.
    """
    holes = (scene.profile.project, *scene.denied)
    _, own = own_python()
    rules: list[Rule] = []
    for path in (*places.real(places.PROGRAMS), *own, *scene.program.exposes):
        rules += [(str(each), rights.RUN, None, False) for each in places.around(path, holes)]
    settings = places.SETTINGS + (("/etc/hosts",) if scene.profile.network else ())
    rules += [(str(path), rights.READ, None, False) for path in places.real(settings)]
    rules += [(path, rights.READ_FILE | rights.WRITE_FILE, None, False) for path in places.DEVICES]
    rules.append((str(scene.folder), rights.RUN, None, False))
    rules += [rule_for(located, rights.RUN) for located in scene.readable.allowed]
    rules += [rule_for(located, rights.READ_DIR) for located in scene.readable.listed]
    for survey in scene.writable:
        rules += [rule_for(located, rights.CHANGE, is_required=True) for located in survey.allowed]
    rules.append((str(scene.profile.work), rights.CHANGE, None, False))
    return rules


def rule_for(located: Located, right: int, *, is_required: bool = False) -> Rule:
    """The rule for what was surveyed; ``is_required``: whether the call fails if something else is there now."""
    return str(located.path), right, located.inode, is_required
