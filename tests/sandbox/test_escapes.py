"""Every sandbox escape that we know of is tried inside a sandbox, each next to a control that is allowed to do the same.

One call of :mod:`tests.sandbox.hostile_tool` tries a whole list. The first call has no grants, the second has some. The tool
never runs outside a sandbox. Two variants represent older machines: Landlock version 3, and bubblewrap without Landlock.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rye.runtime.sandbox.bubblewrap import Bubblewrap
from rye.runtime.sandbox.landlock import Landlock
from rye.runtime.sandbox.tool_run import Backend
from rye.runtime.sandboxed_tools import value_of
from tests.sandbox.calling import call, demanded
from tests.sandbox.surroundings import HIDDEN, PROTECTED, SECRET, SHOWN, Surroundings, received, surroundings

pytestmark = pytest.mark.processes
TOOL = Path(__file__).with_name("hostile_tool.py").read_text("utf-8")
ITEM = "tool:acme/test/hostile@1.0.0"
UNIX, IPV4, IPV6, STREAM, DATAGRAM, RAW = 1, 2, 10, 1, 2, 3
_REFUSALS = """
    EACCES EPERM ENOENT EROFS EXDEV ENOSYS EBUSY ENOTSUP EAFNOSUPPORT ECONNREFUSED EINVAL ENOTDIR ESRCH
"""
REFUSED = frozenset(_REFUSALS.split())


def alone() -> Backend:
    """Bubblewrap on a kernel without Landlock."""
    demanded("bubblewrap")
    return Bubblewrap({}, abi=0)


def older() -> Backend:
    """Landlock of Linux 6.2."""
    demanded("landlock")
    return Landlock({}, abi=3)


VARIANTS: dict[str, Callable[[], Backend]] = {
    "bubblewrap": lambda: demanded("bubblewrap"),
    "landlock": lambda: demanded("landlock"),
    "bubblewrap alone": alone,
    "landlock 3": older,
}

Attempt = tuple[str, list[Any]]
"""A verb of the hostile tool and its arguments."""


class Attack:
    """An attempt that must fail and its control, which must succeed. ``granted``: whether the control needs grants."""

    def __init__(self, attempt: Attempt, control: Attempt | None = None, gives: Any = True, *, granted: bool = False):
        self.attempt, self.control, self.gives, self.granted = attempt, control, gives, granted


def attacks(here: Surroundings, work: str) -> dict[str, Attack]:
    """The attacks on these surroundings. ``work`` is a placeholder for the tool's own folder, where it starts."""
    project, outside = str(here.project), str(here.outside)
    secret = f"{outside}/secret.txt"
    shown = f"{project}/shown.txt"
    reads = ("read", [shown])
    kind = {"granted": True}
    found: dict[str, Attack] = {}
    for name in HIDDEN:
        found[f"read {name}"] = Attack(("read", [f"{project}/{name}"]), reads, SECRET)
    for verb in ("read_through_link", "read_by_descriptor"):
        found[f"{verb} .env"] = Attack((verb, [f"{project}/.env"]), ("read", [shown]), SECRET)
        found[f"{verb} outside"] = Attack((verb, [secret]), ("read", [shown]), SECRET)
    found |= {
        "read outside": Attack(("read", [secret]), reads, SECRET),
        "list outside": Attack(("list", [outside]), ("list", [f"{project}/sub/deep"]), [".env", "shown.txt"]),
        "read by a link to .env": Attack(("read", [f"{project}/innocent"]), reads, SECRET),
        "read by a link to the outside": Attack(("read", [f"{project}/way-out"]), reads, SECRET),
        "read by dots": Attack(
            ("read", [f"{project}/../outside/secret.txt"]), ("read", [f"{project}/sub/../shown.txt"]), SECRET
        ),
        "read by /proc/self/root": Attack(("read", [f"/proc/self/root{secret}"]), reads, SECRET),
        "read by /proc/1/root": Attack(("read", [f"/proc/1/root{secret}"]), reads, SECRET),
        "read by a hard link": Attack(
            ("read_through_hard_link", [f"{project}/.env"]), ("read_through_hard_link", ["own"]), "own", granted=False
        ),
        "read after a rename": Attack(
            ("read_after_rename", [f"{project}/.env"]), ("read_after_rename", ["own"]), "own"
        ),
        "read from an open folder": Attack(
            ("read_below_folder", [project, ".env"]), ("read_below_folder", [project, "shown.txt"]), SECRET
        ),
        "handle of a file": Attack(("read_by_handle", [f"{project}/.env"])),
        "another process's environment": Attack(("read", [f"/proc/{here.victim}/environ"])),
        "another process's folder": Attack(("list", [f"/proc/{here.victim}/cwd"])),
        "passwords": Attack(("read", ["/etc/shadow"])),
        "users": Attack(("read", ["/etc/passwd"]), ("read_below_folder", [project, "shown.txt"]), SECRET),
        # writing
        "write to the project": Attack(
            ("write", [f"{project}/new.txt"]), ("write", [f"{project}/free/new.txt"]), **kind
        ),
        "change the project": Attack(("append", [shown]), ("append", [f"{project}/build/old.txt"]), **kind),
        "empty a file": Attack(("empty", [shown]), ("empty", [f"{project}/build/old.txt"]), **kind),
        "remove a file": Attack(("remove", [shown]), ("remove", ["own-2"])),
        "make a folder": Attack(
            ("make_folder", [f"{project}/folder"]), ("make_folder", [f"{project}/free/new"]), **kind
        ),
        "write outside": Attack(("write", [f"{outside}/new.txt"]), ("write", ["new.txt"])),
        "write to /tmp": Attack(("write", ["/tmp/rye-escaped"]), ("write", ["new-2.txt"])),
        "write to /dev": Attack(("write", ["/dev/shm/rye-escaped"]), ("write", ["/dev/null"])),
        "write to /": Attack(("write", ["/rye-escaped"])),
        "write to the private copy": Attack(("append", ["/proc/self/cmdline"])),
        "rename into the project": Attack(
            ("rename_into", ["source", f"{project}/new.txt"]), ("rename_into", ["source", "x"])
        ),
        "link into the project": Attack(("link_into", [f"{project}/hard.txt"]), ("link_into", ["hard.txt"])),
        "link into .git": Attack(("link_into", [f"{project}/.git/hooks"])),
        "rename .claude away": Attack(("rename", [f"{project}/.claude", f"{project}/.claude-old"])),
        "rename build/.git away": Attack(("rename", [f"{project}/build/.git", f"{project}/build/git"])),
        "flags of a file": Attack(("file_flags", [shown])),
        "lease on a file": Attack(("lease", [shown])),
        "owner of a file": Attack(("change_owner", [shown])),
        "attribute of a file": Attack(("attribute", [shown])),
        # processes
        "debug another process": Attack(("trace", [here.victim])),
        "read another's memory": Attack(("read_memory", [here.victim])),
        "end another process": Attack(("signal", [here.victim, 15]), ("forks", [1]), 1),
        "end everything": Attack(("signal", [-here.victim, 15])),
        "end Rye": Attack(("signal", [os.getpid(), 15])),
        "signals by descriptors": Attack(("set_owner", [here.victim])),
        "limits of another process": Attack(("limits_of", [here.victim])),
        # network
        "connect": Attack(("connect", [IPV4, STREAM, ["127.0.0.1", here.tcp]]), None),
        "send datagrams": Attack(("connect", [IPV4, DATAGRAM, ["127.0.0.1", here.udp.getsockname()[1]]])),
        "connect by IPv6": Attack(("connect", [IPV6, STREAM, ["::1", here.tcp6]])),
        "raw packets": Attack(("a_socket", [IPV4, RAW, 1])),
        "packets of the interface": Attack(("a_socket", [17, RAW])),
        "netlink": Attack(("a_socket", [16, RAW])),
        "virtual machine sockets": Attack(("a_socket", [40, STREAM])),
        "kernel crypto": Attack(("a_socket", [38, 5])),
        "bluetooth": Attack(("a_socket", [31, RAW])),
        "a named socket": Attack(("connect", [UNIX, STREAM, here.named]), ("pair_works", []), "through"),
        "an abstract socket": Attack(("connect", [UNIX, STREAM, here.abstract]), ("pair_works", []), "through"),
        "a datagram to a named socket": Attack(("send_to", [UNIX, here.datagrams.getsockname()])),
        "a pair turned to a named socket": Attack(("pair_send_to", [here.datagrams.getsockname()])),
        "a pair connected to a named socket": Attack(("pair_connect", [here.named])),
        "listen": Attack(("listen", [])),
        "connect by a send": Attack(("fast_open", [here.tcp])),
        # the kernel
        "namespaces": Attack(("new_namespaces", [0x10000000])),
        "mount namespace": Attack(("new_namespaces", [0x00020000])),
        "clone into a namespace": Attack(("clone_namespace", [])),
        "type into the terminal": Attack(("control", [0x5412])),
        "paste into the console": Attack(("control", [0x541C])),
    }
    numbers = SYSTEM_CALLS[os.uname().machine]
    for name, number in numbers.items():
        found[f"system call {name}"] = Attack(("system_call", [number, 0, 0, 0, 0, 0, 0]))
    return found


_BOTH = {"io_uring_setup": 425, "open_tree": 428, "fsopen": 430, "pidfd_getfd": 438, "memfd_secret": 447, "future": 500}
SYSTEM_CALLS: dict[str, dict[str, int]] = {
    "x86_64": {
        **_BOTH,
        "mount": 165,
        "keyctl": 250,
        "bpf": 321,
        "perf_event_open": 298,
        "userfaultfd": 323,
        "setns": 308,
        "memfd_create": 319,
        "shmget": 29,
        "mq_open": 240,
        "chroot": 161,
        "pivot_root": 155,
        "reboot": 169,
        "kexec_load": 246,
        "open_by_handle_at": 304,
        "x32 getpid": 0x40000000 | 39,
        "clone3": 435,
    },
    "aarch64": {
        **_BOTH,
        "mount": 40,
        "keyctl": 219,
        "bpf": 280,
        "perf_event_open": 241,
        "userfaultfd": 282,
        "setns": 268,
        "memfd_create": 279,
        "shmget": 194,
        "mq_open": 180,
        "chroot": 51,
        "pivot_root": 41,
        "reboot": 142,
    },
}


class Answers:
    """One sandbox's answers to all attacks, and the surroundings afterwards."""

    def __init__(
        self, here: Surroundings, table: Mapping[str, Attack], plain: Mapping[str, Any], granted: Mapping[str, Any]
    ):
        self.here, self.table, self.plain, self.granted = here, table, plain, granted


def granted_attempts(here: Surroundings) -> dict[str, Attempt]:
    """The attacks of the second call: the network controls, and the limits of its grants."""
    return {
        "reach a granted address": ("connect", [IPV4, STREAM, ["127.0.0.1", here.tcp]]),
        "reach it without waiting": ("without_waiting", [["127.0.0.1", here.tcp]]),
        "reach a granted address by IPv6": ("connect", [IPV6, STREAM, ["::1", here.tcp6]]),
        "fetch by the proxy": ("fetch", [f"http://127.0.0.1:{here.web}/a/b?c"]),
        "fetch directly": ("fetch", [f"http://127.0.0.1:{here.web}/a", False]),
        "tunnel by the proxy": ("tunnel", [f"127.0.0.1:{here.tcp}"]),
        "fetch another port": ("fetch", [f"http://127.0.0.1:{here.other_tcp}/"]),
        "tunnel to another port": ("tunnel", [f"127.0.0.1:{here.other_tcp}"]),
        "tunnel to another host": ("tunnel", ["example.com:443"]),
        "tunnel in other words": ("tunnel", [f"localhost:{here.tcp}"]),
        "tunnel by a number": ("tunnel", [f"2130706433:{here.tcp}"]),
        "connect to another port": ("connect", [IPV4, STREAM, ["127.0.0.1", here.other_tcp]]),
        "connect to another address": ("connect", [IPV4, STREAM, ["127.0.0.2", here.tcp]]),
        "connect by a send": ("fast_open", [here.other_tcp]),
        "datagrams": ("connect", [IPV4, DATAGRAM, ["127.0.0.1", here.udp.getsockname()[1]]]),
        "named socket": ("connect", [UNIX, STREAM, here.named]),
        "abstract socket": ("connect", [UNIX, STREAM, here.abstract]),
        "raw": ("a_socket", [IPV4, RAW, 1]),
        "another protocol": ("a_socket", [IPV4, STREAM, 262]),
        "listen": ("listen", []),
        "look up a name": ("look_up", ["example.com"]),
        "environment": ("environment", []),
        "create .gemini": ("make_folder", [f"{here.project}/free/.gemini"]),
        "create a .git file": ("write", [f"{here.project}/free/.git"]),
        "keep in a granted folder": ("write", [f"{here.project}/free/kept.txt"]),
        "secret of a granted folder": ("read", [f"{here.project}/build/.env"]),
        "overwrite a secret": ("write", [f"{here.project}/build/.env"]),
        **{f"protected {name}": ("append", [f"{here.project}/{name}"]) for name in PROTECTED},
        "protected by rename": ("rename", [f"{here.project}/build/.git", f"{here.project}/build/x"]),
    }


@pytest.fixture(scope="module", params=VARIANTS)
def answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    sandbox = VARIANTS[request.param]()
    base = tmp_path_factory.mktemp("surroundings")
    with surroundings(base) as here:
        own = (here.project / "rye-config",)
        table = attacks(here, "")
        first: list[tuple[str, str, list[Any]]] = [("", "write", [name]) for name in ("own", "own-2")]
        second: list[tuple[str, str, list[Any]]] = []
        for name, attack in table.items():
            first.append((name, *attack.attempt))
            if attack.control is not None:
                (second if attack.granted else first).append((f"control: {name}", *attack.control))
        first[:0] = [("descriptors", "descriptors", []), ("environment", "environment", [])]
        for verb in ("change_mode", "change_mode_of_open", "change_time"):
            first.append((verb, verb, [str(here.project / "shown.txt")]))
        first.append(("survive", "survive", [f"rye-survivor-{base.name}"]))
        second += [(name, verb, arguments) for name, (verb, arguments) in granted_attempts(here).items()]
        plain = value_of(call(sandbox, here.project, TOOL, parameters={"attempts": first}, deny=own), ITEM)
        grants = {
            "write": ["build/", "free/"],
            "network": [f"127.0.0.1:{here.tcp}", f"127.0.0.1:{here.web}", f"[::1]:{here.tcp6}"],
            "env": ["GRANTED", "UNSET"],
        }
        environ = {"GRANTED": "yes", "OTHER": SECRET}
        outcome = call(
            sandbox,
            here.project,
            TOOL,
            parameters={"attempts": second},
            grants=grants,
            environ=environ,
            deny=own,
            seconds=40.0,
        )
        granted = dict(value_of_granted(outcome))
        granted["refused"] = outcome.refused
        assert isinstance(plain, dict)
        yield Answers(here, table, plain, granted)


def value_of_granted(outcome: Any) -> Mapping[str, Any]:
    """The value of the second call. It fails because it creates protected files, but its answers still count here."""
    import msgspec

    value = value_of(msgspec.structs.replace(outcome, refused=()), ITEM)
    assert isinstance(value, dict)
    return value


def test_every_attack_is_refused_and_every_control_is_not(answers: Answers) -> None:
    got_out = {
        name: answers.plain[name]
        for name in answers.table
        if answers.plain[name] not in REFUSED and answers.plain[name] != ""  # a hidden file appears as an empty mount
    }
    assert got_out == {}
    controls = {name: attack for name, attack in answers.table.items() if attack.control is not None}
    failed = {
        name: found
        for name, attack in controls.items()
        if (found := (answers.granted if attack.granted else answers.plain)[f"control: {name}"])
        != (attack.gives if attack.gives != "own" else "taken")
    }
    assert failed == {}


def test_nothing_outside_has_changed(answers: Answers) -> None:
    here = answers.here
    for name in (*HIDDEN, *PROTECTED, *(name for name in SHOWN if not name.startswith("build/"))):
        assert (here.project / name).read_text("utf-8") == SECRET, name
    assert (here.outside / "secret.txt").read_text("utf-8") == SECRET
    assert sorted(path.name for path in here.outside.iterdir()) == ["secret.txt"]
    assert not (here.project / "new.txt").exists()
    assert not Path("/tmp/rye-escaped").exists()
    os.kill(here.victim, 0)
    assert received(here.udp) == b""
    assert received(here.datagrams) == b""


def test_modes_and_times_of_the_project_stay(answers: Answers) -> None:
    for verb in ("change_mode", "change_mode_of_open", "change_time"):
        assert answers.plain[verb] is False or answers.plain[verb] in REFUSED, verb
    assert stat.S_IMODE((answers.here.project / "shown.txt").stat().st_mode) != 0o777


def test_a_tool_has_its_own_descriptors_and_environment_only(answers: Answers) -> None:
    assert answers.plain["descriptors"] == [0, 1, 2, 3]
    assert answers.plain["environment"] == ["HOME", "LANG", "PATH", "TMPDIR", "TZ"]
    proxies = {"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NODE_USE_ENV_PROXY"}
    assert set(answers.granted["environment"]) == {"HOME", "LANG", "PATH", "TMPDIR", "TZ", "GRANTED"} | proxies


def test_nothing_of_a_tool_is_left_running(answers: Answers) -> None:
    assert answers.plain["survive"] is True
    assert running(f"rye-survivor-{answers.here.project.parent.name}") == []


def running(mark: str) -> list[str]:
    """Processes on this machine with a word in their command line."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark.encode() in command:
            found.append(name)
    return found


def test_a_granted_host_is_reached_directly_and_by_the_proxy(answers: Answers) -> None:
    granted = answers.granted
    assert granted["reach a granted address"] == "reached"
    assert granted["reach it without waiting"] == "reached"
    assert granted["fetch by the proxy"] == "page /a/b?c"
    assert granted["fetch directly"] == "page /a"
    assert granted["tunnel by the proxy"] == "reached"
    if answers.here.tcp6:
        assert granted["reach a granted address by IPv6"] == "reached"


def test_a_grant_opens_one_place_and_no_other(answers: Answers) -> None:
    granted = answers.granted
    assert granted["fetch another port"] == "403"
    for name in ("tunnel to another port", "tunnel to another host", "tunnel in other words"):
        assert granted[name] == "HTTP/1.1 403 Forbidden", name
    assert granted["tunnel by a number"] == "HTTP/1.1 400 Bad Request"
    for name in (
        *("connect to another port", "connect to another address", "connect by a send", "datagrams", "named socket"),
        *("abstract socket", "raw", "another protocol", "listen"),
    ):
        assert granted[name] in REFUSED, (name, granted[name])
    assert granted["look up a name"] == "no name"
    assert received(answers.here.udp) == b""


def test_a_grant_never_opens_what_steers_agents_or_holds_secrets(answers: Answers) -> None:
    here, granted = answers.here, answers.granted
    for name in PROTECTED:
        assert granted[f"protected {name}"] in REFUSED, name
    assert granted["protected by rename"] in REFUSED
    assert granted["secret of a granted folder"] in REFUSED | {""}
    assert granted["overwrite a secret"] in REFUSED | {True}  # the write goes to the empty mount and is lost
    assert (here.project / "build/.env").read_text("utf-8") == SECRET
    # No Linux sandbox can refuse a name: created files are moved aside and the call fails.
    assert sorted(granted["refused"]) == [f"{here.project}/free/.gemini", f"{here.project}/free/.git"]
    kept = sorted(path.name for path in (here.project / "free").iterdir())
    assert [name for name in kept if not name.startswith("refused-by-rye-")] == ["kept.txt", "new", "new.txt"]
    assert len(kept) == 5
    assert (here.project / "free/kept.txt").stat().st_uid == os.geteuid()
