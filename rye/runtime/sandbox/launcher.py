"""The program between Rye and a tool: it sets up the sandbox, starts the tool in it, and watches it.

Rye does not import it: :mod:`rye.runtime.sandbox.running` passes its compiled code to a new interpreter (``python -I -S``), so
none of Rye's memory, modules or descriptors get near a tool. It imports only a few built-in modules, because starting is most
of the cost of a call.

There are two processes. The *watcher* stays outside the filter and the restrictions. It adds up what all processes of the tool
use, adopts orphans, and kills all of them when the tool ends, exceeds a limit, or Rye is gone (the control pipe closes). The
*child* gives up its privileges step by step and becomes the tool. If a step fails, the tool does not start, and the step is
reported.

The plan is a dictionary of plain values, written and documented by :mod:`rye.runtime.sandbox.running`.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` imports enum, which costs more than everything else here
import _socket
import ctypes
import marshal
import os
import resource
import select
import time
from typing import Any

_PR_SET_DUMPABLE, _PR_SET_KEEPCAPS, _PR_CAPBSET_DROP, _PR_SET_SECUREBITS = 4, 8, 24, 28
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _AMBIENT_RAISE, _AMBIENT_CLEAR = 36, 38, 47, 2, 4
_NOROOT_FOR_EVER = 0b11
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_PATH_BENEATH = 1
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_FILTER, _NEW_LISTENER = 1, 8
_CAPABILITIES_3 = 0x20080522
_SAMPLE_SECONDS, _WORK_SECONDS = 0.05, 0.5
_FAILED = 125


def launch(plan: dict[str, Any]) -> None:
    """Start the tool, watch it, report to ``plan["status"]``, and end the process."""
    linux = os.uname().sysname == "Linux"
    libc = ctypes.CDLL(None, use_errno=True)
    if linux:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    child = os.fork()
    if child == 0:
        try:
            step = ["start"]
            become(plan, libc, step, linux)
        except BaseException as error:
            tell(plan, {"failed": step[0], "why": str(error)})
        finally:
            os._exit(_FAILED)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    for name in ("result", "calls"):
        if plan[name] >= 0:
            os.close(plan[name])
    Watcher(plan, child, linux).watch()


def wait(channel: int) -> None:
    """Wait for calls on a UNIX socket and fork for each; end when Rye is gone. A message carries the plan's file and the
    descriptors that the plan names."""
    end = _socket.socket(fileno=channel)
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)  # no one waits for the forks
    while True:
        data, extra, _, _ = end.recvmsg(1, _socket.CMSG_SPACE(4 * 16))
        if not data:
            os._exit(0)
        descriptors = [
            int.from_bytes(rights[at : at + 4], "little") for _, _, rights in extra for at in range(0, len(rights), 4)
        ]
        if os.fork() == 0:
            try:
                _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
                end.close()
                take_up(descriptors)
            finally:
                os._exit(_FAILED)
        for descriptor in descriptors:
            os.close(descriptor)


def take_up(descriptors: list[int]) -> None:
    """Become the launcher of one call."""
    os.setsid()
    with open(descriptors[0], "rb") as file:
        plan = marshal.load(file)
    for name, descriptor in zip(plan["names"], descriptors[1:], strict=True):
        plan[name] = descriptor
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.dup2(plan[name], number)
        os.close(plan[name])
    launch(plan)


def tell(plan: dict[str, Any], words: dict[str, Any]) -> None:
    """Write a report: its length, then the report itself."""
    data = marshal.dumps(words)
    os.write(plan["status"], len(data).to_bytes(4, "little") + data)


# -- the child ---------------------------------------------------------------------------------------------------------


def become(plan: dict[str, Any], libc: ctypes.CDLL, step: list[str], linux: bool) -> None:
    """Give up what a tool must not have, and become the tool. Never returns; ``step`` holds the current step."""
    os.setsid()
    status, calls = plan["status"], plan["calls"]
    while status < 4:
        status = os.dup(status)
    while 0 <= calls < 4:
        calls = os.dup(calls)
    plan["status"] = status
    os.set_inheritable(status, False)
    step[0] = "descriptors"
    if plan["result"] >= 0:
        os.dup2(2, 1)
        if plan["result"] != 3:
            os.dup2(plan["result"], 3)
        os.set_inheritable(3, True)
    first = 4 if plan["result"] >= 0 else 3
    kept = sorted({status, calls} - {-1})
    for start, end in zip([first, *(each + 1 for each in kept)], [*kept, os.sysconf("SC_OPEN_MAX")], strict=True):
        os.closerange(start, end)
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(number, _signal.SIG_DFL)  # Python ignores these, and exec would keep them ignored
    _signal.pthread_sigmask(_signal.SIG_SETMASK, [])
    step[0] = "folder"
    os.chdir(plan["cwd"])
    os.umask(0o022)
    step[0] = "objects"
    compare(plan["mounted"], plan["covered"], plan["listed"])
    rules = landlock(plan["landlock"], libc, step) if plan["landlock"] is not None else -1
    step[0] = "limits"
    for name, value in plan["rlimits"]:
        if (which := getattr(resource, name, None)) is not None:
            hard = resource.getrlimit(which)[1]
            lowered = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(which, (lowered, lowered + 1 if name == "RLIMIT_CPU" and lowered < hard else lowered))
    if linux:
        step[0] = "user"
        give_up(plan, libc)
        step[0] = "privileges"
        checked(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    if rules >= 0:
        step[0] = "landlock"
        checked(libc.syscall(_LANDLOCK_RESTRICT, rules, 0))
        os.close(rules)
    if plan["seccomp"]:
        step[0] = "seccomp"
        listener = seccomp(plan["seccomp"], calls >= 0, libc)
        if calls >= 0:
            step[0] = "network"
            hand_over(listener, calls)
            os.close(listener)
            os.close(calls)
    step[0] = "interpreter"
    os.execve(plan["argv"][0], plan["argv"], plan["env"])


def compare(
    mounted: list[tuple[str, tuple[int, int]]], covered: list[tuple[str, tuple[int, int]]], listed: list[str]
) -> None:
    """Check that paths lead to what was surveyed, and that what is hidden cannot be reached: by its path, or by another name that
    it was given meanwhile in one of the folders ``listed``. Raises Replaced."""
    for path, inode in mounted:
        if inode_at(path) != inode:
            raise Replaced(path)
    hidden = {inode for _, inode in covered}
    for path, inode in covered:
        if inode_at(path) == inode:
            raise Replaced(path)
    numbers = {number for _, number in hidden}
    for folder in listed if hidden else ():
        try:
            with os.scandir(folder) as rows:  # the number is that of what a mount covers
                found = [row.name for row in rows if row.inode() in numbers]
        except (FileNotFoundError, NotADirectoryError):
            continue
        for name in found:
            if inode_at(f"{folder}/{name}") in hidden:
                raise Replaced(f"{folder}/{name}")


def inode_at(path: str) -> tuple[int, int] | None:
    """Device and inode of a path, without following a link; None if there is nothing."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class Replaced(Exception):
    """A path is no longer what was surveyed."""


def landlock(plan: tuple[bytes, list[tuple[str, int, Any, bool]], int], libc: ctypes.CDLL, step: list[str]) -> int:
    """Create a Landlock ruleset from the plan: attributes, paths with their rights, and the rights that files can have.
    Return its descriptor.

    The rule is for the file or folder that is open here. If it is not what was surveyed, it gets no rule. Raises Replaced where
    the plan wants that.
    """
    step[0] = "landlock"
    attributes, paths, of_files = plan
    rules: int = checked(
        libc.syscall(_LANDLOCK_CREATE, ctypes.c_char_p(attributes), ctypes.c_size_t(len(attributes)), 0)
    )
    for path, rights, inode, is_required in paths:
        try:
            descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            if is_required:
                step[0] = "objects"
                raise Replaced(path) from None
            continue
        status = os.fstat(descriptor)
        kind = status.st_mode & 0o170000
        is_it = inode is None or (status.st_dev, status.st_ino) == inode
        if is_required and not is_it:
            step[0] = "objects"
            raise Replaced(path)
        if kind != 0o120000 and is_it:
            rights = rights if kind == 0o040000 else rights & of_files
            rule = rights.to_bytes(8, "little") + descriptor.to_bytes(4, "little", signed=True)
            if rights:
                checked(libc.syscall(_LANDLOCK_ADD, rules, _PATH_BENEATH, ctypes.c_char_p(rule), 0))
        os.close(descriptor)
    return rules


def give_up(plan: dict[str, Any], libc: ctypes.CDLL) -> None:
    """Become the plan's user, and drop all capabilities except the plan's."""
    user, kept = plan["user"], plan["capabilities"]
    privileged = os.geteuid() == 0
    if user is not None:
        libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
    if privileged:
        for number in range(64):
            if not kept >> number & 1:
                libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
        libc.prctl(_PR_SET_SECUREBITS, _NOROOT_FOR_EVER | (1 << 4 if user is not None else 0), 0, 0, 0)
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    else:
        kept = 0
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_3, 0)
    low, high = kept & 0xFFFFFFFF, kept >> 32
    checked(libc.capset(header, (ctypes.c_uint32 * 6)(low, low, low, high, high, high)))
    libc.prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR, 0, 0, 0)
    for number in range(64):
        if kept >> number & 1:
            checked(libc.prctl(_PR_CAP_AMBIENT, _AMBIENT_RAISE, number, 0, 0))


def seccomp(code: bytes, listen: bool, libc: ctypes.CDLL) -> int:
    """Install the filter. With ``listen``, return the descriptor that receives its notifications, otherwise 0."""

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]

    program = Program(len(code) // 8, code)
    number = _SECCOMP[os.uname().machine]
    return checked(libc.syscall(number, _SET_FILTER, _NEW_LISTENER if listen else 0, ctypes.byref(program)))


def hand_over(descriptor: int, channel: int) -> None:
    """Send a descriptor to Rye over a UNIX socket."""
    end = _socket.socket(fileno=channel)
    rights = descriptor.to_bytes(4, "little", signed=True)
    end.sendmsg([b"x"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
    end.detach()


def checked(answer: int) -> int:
    """Return a system call's result. Raises OSError if it failed."""
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer


# -- the watcher -------------------------------------------------------------------------------------------------------


class Watcher:
    """The process outside the sandbox: adds up resource use, adopts orphans, kills, and reports."""

    def __init__(self, plan: dict[str, Any], child: int, linux: bool):
        self.plan, self.child, self.linux = plan, child, linux
        self.status: int | None = None
        self.reason: str | None = None
        self.others_seconds = 0.0
        self.ticks = os.sysconf("SC_CLK_TCK")

    def watch(self) -> None:
        """Watch until the tool ends, exceeds a limit, or Rye is gone; then end it. Never returns."""
        poll = select.poll()
        poll.register(self.plan["control"], select.POLLIN | select.POLLHUP)
        if hasattr(os, "pidfd_open"):
            poll.register(os.pidfd_open(self.child), select.POLLIN)
            sample = _SAMPLE_SECONDS
        else:
            sample = _SAMPLE_SECONDS / 10
        measured = time.monotonic()
        while True:
            ready = [descriptor for descriptor, _ in poll.poll(sample * 1000)]
            self.reap()
            if self.status is not None or self.plan["control"] in ready:
                break
            if self.linux:
                self.reason = self.exceeded()
            if self.reason is None and time.monotonic() - measured >= _WORK_SECONDS:
                self.reason = self.overflowing()
                measured = time.monotonic()
            if self.reason is not None:
                break
        self.end()

    def end(self) -> None:
        """Kill what is left, wait until it is gone, report, and exit."""
        if self.plan["namespace"]:
            self.kill_namespace()
        else:
            self.kill_all()
        report = {"status": self.status, "reason": self.reason, "processor": self.processor_seconds({})}
        tell(self.plan, report)
        os._exit(0)

    def reap(self) -> None:
        """Collect the exit status of everything that ended: the tool, and adopted orphans."""
        while True:
            try:
                pid, status, *_ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.child:
                self.status = status

    def kill_namespace(self) -> None:
        """Kill every other process of the namespace, whose first process this is, so that all become its children."""
        with Suppressed():
            os.kill(-1, 9)
        while True:
            try:
                pid, status = os.waitpid(-1, 0)
            except ChildProcessError:
                return
            if pid == self.child:
                self.status = status

    def kill_all(self) -> None:
        """Stop all processes, so that none can start another, then kill them. On other systems, kill the process group."""
        if not self.linux:
            with Suppressed():
                os.killpg(self.child, 9)
            self.reap()
            return
        stopped: set[int] = set()
        while fresh := set(self.processes()) - stopped:
            for pid in fresh:
                self.signal(pid, 19)
            stopped |= fresh
        while left := self.processes():
            for pid in left:
                self.signal(pid, 9)
            time.sleep(0.001)
            self.reap()
        self.reap()

    def signal(self, pid: int, number: int) -> None:
        """Send a signal; a process that is already gone is fine."""
        with Suppressed():
            os.kill(pid, number)

    def processes(self) -> list[int]:
        """Return the ids of all running processes of the tool."""
        if self.plan["namespace"]:
            return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]
        numbers: list[int] = []
        waiting = [os.getpid()]
        while waiting:
            children = self.children_of(waiting.pop())
            numbers += children
            waiting += children
        return numbers

    def children_of(self, pid: int) -> list[int]:
        """Return a process's children from the kernel's list; without one, by checking the parent of every process."""
        children: list[int] = []
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                children += map(int, read(f"/proc/{pid}/task/{thread}/children").split())
        except FileNotFoundError:
            if os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
                return children
            for name in filter(str.isdigit, os.listdir("/proc")):
                if (fields := stat_fields(name)) and int(fields[1]) == pid:
                    children.append(int(name))
        except OSError:
            pass
        return children

    def exceeded(self) -> str | None:
        """Return the limit that all processes together exceed, or None."""
        memory = 0
        times: dict[int, float] = {}
        for pid in self.processes():
            try:
                for line in read(f"/proc/{pid}/status").split("\n"):
                    if line.startswith(("RssAnon:", "RssShmem:")):
                        memory += int(line.split()[1]) * 1024
            except OSError:
                continue
            if fields := stat_fields(pid):
                times[pid] = sum(int(field) for field in fields[11:15]) / self.ticks
        if memory > self.plan["memory"]:
            return "memory"
        return "processor time" if self.processor_seconds(times) > self.plan["processor"] else None

    def processor_seconds(self, times: dict[int, float]) -> float:
        """Return the processor time of the ended processes plus ``times``, that of the running ones."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return ended.ru_utime + ended.ru_stime + sum(times.values())

    def overflowing(self) -> str | None:
        """Return the limit that the work folder exceeds, in size or number of entries, or None."""
        total = entries = 0
        waiting = [self.plan["cwd"]]
        while waiting:
            try:
                with os.scandir(waiting.pop()) as found:
                    for entry in found:
                        entries += 1
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
            except OSError:
                continue
            if total > self.plan["work_bytes"] or entries > self.plan["work_entries"]:
                return "files in the work folder"
        return None


class Suppressed:
    """``contextlib.suppress(OSError)``; importing contextlib costs more than everything else here."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, OSError)


def read(path: str) -> str:
    """Return the content of a file as ASCII."""
    with open(path, encoding="ascii", errors="replace") as stream:
        return stream.read()


def stat_fields(pid: int | str) -> list[str] | None:
    """Return the fields of ``/proc/PID/stat`` after the name: state, parent, …; None if the process is gone."""
    try:
        return read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    except OSError:
        return None
