"""The filter of system calls, as a program for the kernel's BPF machine (seccomp(2); linux/filter.h). Pure.

Every Linux sandbox gets it. It refuses sockets of every family, debugging, keys, mounts, namespaces, BPF, io_uring and other
large parts of the kernel that no tool needs; whatever is newer than :data:`rye.runtime.sandbox.syscalls.NEWEST`; another
architecture (the process is killed) and the x32 numbers of x86-64. Where hosts are granted, TCP sockets exist, and each
``connect`` is handed to the supervisor (:mod:`rye.runtime.sandbox.connections`), whatever address it names.

Landlock knows nothing of modes, owners, times and attributes of files, nor, before version 6, of signals. The filter makes up
for that (:class:`Rules`).
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
"""A send with it connects, and neither ``connect`` nor Landlock hears of it."""
_TERMINAL_AND_FILE_CONTROLS = (
    0x5412,  # TIOCSTI: types into the terminal
    0x541C,  # TIOCLINUX: pastes into a console
    0x5423,  # TIOCSETD
    0x540E,  # TIOCSCTTY
    0x8901,  # FIOSETOWN: sends signals to whom it likes
    0x8902,  # SIOCSPGRP
    0x40086602,  # FS_IOC_SETFLAGS, which a file that is open for reading takes
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
"""Programs have another way when these do not exist. The flags of ``clone3`` lie in memory, where no filter can look; what
``memfd_create`` holds is memory of no process."""
_WITHOUT_EFFECT = ("chmod", "fchmod", "fchmodat", "fchmodat2", "utime", "utimes", "futimesat", "utimensat")
_OWNERS = ("chown", "fchown", "lchown", "fchownat")
_ATTRIBUTES = ("setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr")
_SIGNALS = ("kill", "tkill", "tgkill", "pidfd_send_signal", "rt_sigqueueinfo", "rt_tgsigqueueinfo")


class Network(IntEnum):
    """What of it a tool gets."""

    NONE = 0
    SUPERVISED = 1
    """TCP sockets whose ``connect`` the supervisor answers; the filter has to be loaded with a listener."""


class Rules(Struct, frozen=True):
    """What differs from sandbox to sandbox."""

    network: Network = Network.NONE
    same_files: bool = False
    """Files outside are the user's own and only Landlock keeps them: changing modes and times has no effect, and
    changing owners and attributes is refused."""
    same_processes: bool = False
    """Processes outside can be signalled: every signal is refused."""


def program(machine: str, rules: Rules) -> bytes:
    """The filter as an array of ``struct sock_filter``. Raises KeyError for a machine whose numbers are not known."""
    known = numbers(machine)
    code = [
        _load(_ARCHITECTURE),
        _jump(_EQUAL, AUDIT_ARCHITECTURES[machine], 1, 0),
        _return(_KILL_PROCESS),
        _load(_NUMBER),
        _jump(_MORE, NEWEST, 0, 1),  # x32 numbers have a high bit, so they end here, too
        _return(_ERRNO | ENOSYS),
    ]
    for name, body in _bodies(rules).items():
        if name in known:
            code += [_jump(_EQUAL, known[name], 0, len(body)), *body]
    code.append(_return(_ALLOW))
    return b"".join(code)


def _bodies(rules: Rules) -> dict[str, list[bytes]]:
    """What the filter does at each call that it knows. Every body ends in a return on all its ways."""
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
    # Pairs of datagram sockets can be pointed at a named socket afterwards; connected streams cannot.
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
    """Allow these values of an argument and nothing else."""
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
    """Refuse where any of the bits is set."""
    return [*_argument(argument), _jump(_ANY_BIT, bits, 0, 1), _return(_ERRNO | EPERM), _return(_ALLOW)]


def _argument(number: int) -> list[bytes]:
    """Load the low word. The kernel takes all arguments that are compared here as 32 bits, so the high word says nothing:
    comparing it would let a call through whose high word is not zero."""
    return [_load(_ARGUMENTS + 8 * number)]


def _load(offset: int) -> bytes:
    return struct.pack("<HBBI", _LOAD, 0, 0, offset)


def _and(mask: int) -> bytes:
    return struct.pack("<HBBI", _AND, 0, 0, mask)


def _jump(test: int, value: int, when_true: int, when_false: int) -> bytes:
    return struct.pack("<HBBI", test, when_true, when_false, value)


def _return(action: int) -> bytes:
    return struct.pack("<HBBI", _RETURN, 0, 0, action)
