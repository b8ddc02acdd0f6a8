"""The system call filter, as a program for the kernel's BPF machine (seccomp(2); linux/filter.h). Pure.

Every Linux sandbox uses it. It refuses all sockets, debugging, keys, mounts, namespaces, BPF, io_uring and other large parts of
the kernel that no tool needs; system calls newer than :data:`rye.runtime.sandbox.syscalls.NEWEST`; the x32 numbers of x86-64;
and other architectures (the process is killed). If hosts are granted, TCP sockets are allowed, and every ``connect``, to any
address, goes to the supervisor (:mod:`rye.runtime.sandbox.connections`).

Landlock does not cover modes, owners, times and attributes of files, nor signals before version 6. The filter covers these
(:class:`Rules`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from enum import IntEnum

from msgspec import Struct

from rye.runtime.sandbox.syscalls import AUDIT_ARCHITECTURES, NEWEST, numbers

EPERM, EACCES, ENOSYS, ENOTSUP = 1, 13, 38, 95

_KILL_PROCESS, _ERRNO, _NOTIFY, _ALLOW = 0x80000000, 0x00050000, 0x7FC00000, 0x7FFF0000
_LOAD, _EQUAL, _MORE, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x54, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_X32 = 0x40000000

_NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""
_AF_UNIX, _AF_INET, _AF_INET6 = 1, 2, 10
_SOCK_STREAM, _SOCK_SEQPACKET, _SOCK_KIND = 1, 5, 0xF
_MSG_FASTOPEN = 0x20000000
"""A send with this flag connects without ``connect``, and Landlock does not see it."""
_TERMINAL_AND_FILE_CONTROLS = (
    0x5412,  # TIOCSTI: types into the terminal
    0x541C,  # TIOCLINUX: pastes into a console
    0x5423,  # TIOCSETD
    0x540E,  # TIOCSCTTY
    0x8901,  # FIOSETOWN: sends signals to any process
    0x8902,  # SIOCSPGRP
    0x40086602,  # FS_IOC_SETFLAGS: works on a file that is open only for reading
    0x40046602,  # FS_IOC32_SETFLAGS
    0x401C5820,  # FS_IOC_FSSETXATTR
)
_SIGNALS_AND_LEASES = (8, 10, 15, 1024)
"""F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE."""

_REFUSED_CALLS = """
    ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_getfd
    keyctl add_key request_key
    mount umount2 pivot_root chroot move_mount open_tree fsopen fsconfig fsmount fspick mount_setattr statmount listmount
    unshare setns bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register
    kexec_load kexec_file_load init_module finit_module delete_module create_module reboot swapon swapoff syslog acct
    quotactl quotactl_fd settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname iopl ioperm modify_ldt
    lookup_dcookie open_by_handle_at name_to_handle_at fanotify_init fanotify_mark inotify_add_watch vhangup nfsservctl
    uselib _sysctl sysfs mbind set_mempolicy set_mempolicy_home_node migrate_pages move_pages
    shmget shmat shmctl semget semop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink
    sched_setscheduler sched_setparam sched_setattr ioprio_set
"""
_REFUSED = _REFUSED_CALLS.split()
_UNKNOWN = ("clone3", "memfd_create", "memfd_secret")
"""Reported as not existing, so that programs use another way. A filter cannot read the flags of ``clone3``, which are in
memory; memory from ``memfd_create`` is not counted for any process."""
_WITHOUT_EFFECT = ("chmod", "fchmod", "fchmodat", "fchmodat2", "utime", "utimes", "futimesat", "utimensat")
_OWNERS = ("chown", "fchown", "lchown", "fchownat")
_ATTRIBUTES = ("setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr")
_SIGNALS = ("kill", "tkill", "tgkill", "pidfd_send_signal", "rt_sigqueueinfo", "rt_tgsigqueueinfo")


class Network(IntEnum):
    """How much network access a tool gets."""

    NONE = 0
    SUPERVISED = 1
    """TCP sockets whose ``connect`` the supervisor answers; the filter must be loaded with a listener."""


class Rules(Struct, frozen=True):
    """What differs between sandboxes."""

    network: Network = Network.NONE
    same_files: bool = False
    """Files outside belong to the same user, and only Landlock protects them. So changing modes and times has no effect,
    and changing owners and attributes is refused."""
    same_processes: bool = False
    """Processes outside could be signalled. So every signal is refused."""


def program(machine: str, rules: Rules) -> bytes:
    """Return the filter as an array of ``struct sock_filter``. Raises KeyError for an unknown machine."""
    known = numbers(machine)
    code = [
        _load(_ARCHITECTURE),
        _jump(_EQUAL, AUDIT_ARCHITECTURES[machine], 1, 0),
        _return(_KILL_PROCESS),
        _load(_NUMBER),
        _jump(_MORE, NEWEST, 0, 1),  # x32 numbers have a high bit set, so this refuses them as well
        _return(_ERRNO | ENOSYS),
    ]
    for name, body in _bodies(rules).items():
        if name in known:
            code += [_jump(_EQUAL, known[name], 0, len(body)), *body]
    code.append(_return(_ALLOW))
    return b"".join(code)


def _bodies(rules: Rules) -> dict[str, list[bytes]]:
    """Return the filter's instructions for each system call that it names. Every path through them ends in a return."""
    bodies = {name: [_return(_ERRNO | EPERM)] for name in _REFUSED}
    bodies |= {name: [_return(_ERRNO | ENOSYS)] for name in _UNKNOWN}
    bodies["clone"] = _unless_bits(0, _NEW_NAMESPACES)
    bodies["personality"] = _only(0, (0, 0xFFFFFFFF), EPERM)
    bodies["prlimit64"] = bodies["sched_setaffinity"] = _only(0, (0,), EPERM)
    bodies["setpriority"] = [*_argument(1), _jump(_EQUAL, 0, 1, 0), _return(_ERRNO | EPERM), *_only(0, (0,), EPERM)]
    bodies["ioctl"] = _except(1, _TERMINAL_AND_FILE_CONTROLS)
    bodies["fcntl"] = _except(1, _SIGNALS_AND_LEASES)
    bodies |= _sockets(rules.network)
    if rules.same_files:
        bodies |= {name: [_return(_ERRNO | 0)] for name in _WITHOUT_EFFECT}
        bodies |= {name: [_return(_ERRNO | EPERM)] for name in _OWNERS}
        bodies |= {name: [_return(_ERRNO | ENOTSUP)] for name in _ATTRIBUTES}
    if rules.same_processes:
        bodies |= {name: [_return(_ERRNO | EPERM)] for name in _SIGNALS}
    return bodies


def _sockets(network: Network) -> dict[str, list[bytes]]:
    refused = [_return(_ERRNO | EACCES)]
    bodies = dict.fromkeys(("socket", "connect", "bind", "listen", "accept", "accept4"), refused)
    # A pair of datagram sockets could be connected to a named socket later; connected streams cannot.
    bodies["socketpair"] = [
        *_argument(0),
        _jump(_EQUAL, _AF_UNIX, 1, 0),
        _return(_ERRNO | EACCES),
        *_only(1, (_SOCK_STREAM, _SOCK_SEQPACKET), EACCES, mask=_SOCK_KIND),
    ]
    if network is Network.SUPERVISED:
        bodies["connect"] = [_return(_NOTIFY)]
        bodies["socket"] = [
            *_argument(0),
            _jump(_EQUAL, _AF_INET, 2, 0),
            _jump(_EQUAL, _AF_INET6, 1, 0),
            _return(_ERRNO | EACCES),
            *_argument(1),
            _and(_SOCK_KIND),
            _jump(_EQUAL, _SOCK_STREAM, 1, 0),
            _return(_ERRNO | EACCES),
            *_only(2, (0, 6), EACCES),
        ]
        bodies["sendto"] = _unless_bits(3, _MSG_FASTOPEN)
        bodies["sendmsg"] = _unless_bits(2, _MSG_FASTOPEN)
        bodies["sendmmsg"] = _unless_bits(3, _MSG_FASTOPEN)
    return bodies


# -- pieces of a body --------------------------------------------------------------------------------------------------


def _only(argument: int, values: Iterable[int], errno: int, *, mask: int | None = None) -> list[bytes]:
    """Allow only these values of an argument."""
    code = [*_argument(argument), *([] if mask is None else [_and(mask)])]
    for value in values:
        code += [_jump(_EQUAL, value, 0, 1), _return(_ALLOW)]
    return [*code, _return(_ERRNO | errno)]


def _except(argument: int, values: Iterable[int]) -> list[bytes]:
    """Refuse these values of an argument."""
    code = _argument(argument)
    for value in values:
        code += [_jump(_EQUAL, value, 0, 1), _return(_ERRNO | EPERM)]
    return [*code, _return(_ALLOW)]


def _unless_bits(argument: int, bits: int) -> list[bytes]:
    """Refuse the call if any of the bits is set."""
    return [*_argument(argument), _jump(_ANY_BIT, bits, 0, 1), _return(_ERRNO | EPERM), _return(_ALLOW)]


def _argument(number: int) -> list[bytes]:
    """Load an argument's low word. The kernel uses only 32 bits of all arguments compared here. Comparing the high word as
    well would let calls through whose high word is not zero."""
    return [_load(_ARGUMENTS + 8 * number)]


def _load(offset: int) -> bytes:
    return struct.pack("<HBBI", _LOAD, 0, 0, offset)


def _and(mask: int) -> bytes:
    return struct.pack("<HBBI", _AND, 0, 0, mask)


def _jump(test: int, value: int, when_true: int, when_false: int) -> bytes:
    return struct.pack("<HBBI", test, when_true, when_false, value)


def _return(action: int) -> bytes:
    return struct.pack("<HBBI", _RETURN, 0, 0, action)
