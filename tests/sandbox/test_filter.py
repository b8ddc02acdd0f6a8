"""The system call filter, run by an independent interpreter: every call on the list, every argument that matters."""

from __future__ import annotations

import struct

import pytest

from rye.runtime.sandbox.seccomp import Network, Rules, program
from rye.runtime.sandbox.syscalls import AUDIT_ARCHITECTURES, NEWEST, numbers
from tests.sandbox.bpf import run

ALLOW, KILL, NOTIFY = 0x7FFF0000, 0x80000000, 0x7FC00000
MACHINES = tuple(AUDIT_ARCHITECTURES)


def refused(errno: int) -> int:
    return 0x00050000 | errno


def act(name: str, *arguments: int, machine: str = "x86_64", rules: Rules | None = None) -> int:
    code = program(machine, rules or Rules())
    return run(code, numbers(machine)[name], arguments, AUDIT_ARCHITECTURES[machine])


@pytest.mark.parametrize("machine", MACHINES)
def test_a_program_is_one_that_the_kernel_takes(machine: str) -> None:
    for rules in (Rules(), Rules(Network.SUPERVISED, same_files=True, same_processes=True)):
        code = program(machine, rules)
        instructions = list(struct.iter_unpack("<HBBI", code))
        assert len(code) % 8 == 0
        assert len(instructions) <= 4096
        for at, (operation, when_true, when_false, _) in enumerate(instructions):
            if operation in (0x15, 0x25, 0x45):
                assert at + 1 + max(when_true, when_false) < len(instructions)
        assert instructions[-1][0] == 0x06


@pytest.mark.parametrize("machine", MACHINES)
def test_what_no_tool_needs_is_refused(machine: str) -> None:
    for name in [
        "ptrace",
        "keyctl",
        "bpf",
        "mount",
        "unshare",
        "setns",
        "userfaultfd",
        "io_uring_setup",
        "perf_event_open",
        "open_by_handle_at",
    ]:
        assert act(name, machine=machine) == refused(1), name
    for name in ("memfd_create", "clone3"):
        assert act(name, machine=machine) == refused(38)


@pytest.mark.parametrize("machine", MACHINES)
def test_everyday_calls_are_allowed(machine: str) -> None:
    known = set(numbers(machine).values())
    code = program(machine, Rules())
    everyday = {"x86_64": (0, 1, 9, 57, 59, 60, 231, 257), "aarch64": (56, 63, 64, 93, 94, 221, 222)}[machine]
    for number in everyday:
        assert number not in known
        assert run(code, number, (), AUDIT_ARCHITECTURES[machine]) == ALLOW


def test_another_architecture_is_killed_and_x32_and_the_future_do_not_exist() -> None:
    code = program("x86_64", Rules())
    assert run(code, 11, (), 0x40000003) == KILL  # i386
    assert run(code, 0x40000000 | 0) == refused(38)
    assert run(code, NEWEST + 1) == refused(38)
    assert run(code, NEWEST) == ALLOW
    assert run(code, -1) == refused(38)


def test_a_high_word_changes_nothing() -> None:
    """The kernel reads 32 bits of these arguments, so a filter that compares 64 could be bypassed with high bits set."""
    high = 1 << 32
    assert act("ioctl", 0, 0x5412) == act("ioctl", 0, 0x5412 | high) == refused(1)
    assert act("clone", 0x10000000 | high) == refused(1)
    assert act("socketpair", 1, 2 | high, 0) == refused(13)


def test_every_namespace_is_refused_and_a_thread_is_not() -> None:
    for bit in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert act("clone", bit | 17) == refused(1)
    assert act("clone", 0x3D0F00) == ALLOW


def test_without_a_network_there_are_pairs_of_streams_only() -> None:
    for family in range(50):
        assert act("socket", family, 1, 0) == refused(13)
    assert act("connect") == refused(13)
    assert act("socketpair", 1, 1 | 0x80000, 0) == ALLOW
    assert act("socketpair", 1, 5, 0) == ALLOW
    for family, kind in ((1, 2), (1, 3), (2, 1), (30, 1)):
        assert act("socketpair", family, kind, 0) == refused(13)


def test_with_a_network_there_are_tcp_sockets_whose_connect_is_asked_about() -> None:
    rules = Rules(Network.SUPERVISED)
    for family in (2, 10):
        assert act("socket", family, 1 | 0x800, 0, rules=rules) == ALLOW
        assert act("socket", family, 1, 6, rules=rules) == ALLOW
        for kind, protocol in ((2, 0), (3, 1), (1, 132), (1, 262), (5, 0)):
            assert act("socket", family, kind, protocol, rules=rules) == refused(13)
    for family in (1, 3, 16, 17, 31, 38, 40, 44):
        assert act("socket", family, 1, 0, rules=rules) == refused(13)
    assert act("connect", rules=rules) == NOTIFY
    for name in ("bind", "listen", "accept", "accept4"):
        assert act(name, rules=rules) == refused(13)
    fast_open = 0x20000000
    assert act("sendto", 3, 0, 0, fast_open, rules=rules) == refused(1)
    assert act("sendmsg", 3, 0, fast_open, rules=rules) == refused(1)
    assert act("sendmmsg", 3, 0, 1, fast_open, rules=rules) == refused(1)
    assert act("sendto", 3, 0, 0, 0x4000, rules=rules) == ALLOW


def test_only_the_tool_itself_is_limited_and_scheduled() -> None:
    assert act("prlimit64", 0) == ALLOW
    assert act("prlimit64", 4711) == refused(1)
    assert act("sched_setaffinity", 4711) == refused(1)
    assert act("setpriority", 0, 0) == ALLOW
    assert act("setpriority", 2, 0) == refused(1)
    assert act("setpriority", 0, 4711) == refused(1)


def test_what_landlock_does_not_see_has_no_effect() -> None:
    rules = Rules(same_files=True)
    for name in ("chmod", "fchmodat", "fchmodat2", "utimensat"):
        assert act(name) == ALLOW
        assert act(name, rules=rules) == refused(0)
    assert act("fchownat", rules=rules) == refused(1)
    assert act("setxattr", rules=rules) == refused(95)


def test_where_signals_reach_outside_there_are_none() -> None:
    for name in ("kill", "tgkill", "pidfd_send_signal", "rt_sigqueueinfo"):
        assert act(name) == ALLOW
        assert act(name, rules=Rules(same_processes=True)) == refused(1)
