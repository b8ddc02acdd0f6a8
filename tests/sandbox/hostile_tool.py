"""A tool that tries to escape. It only runs in a sandbox: :mod:`tests.sandbox.test_escapes` sends its text as a tool.

``execute`` gets a list of attempts ``[name, verb, arguments]`` and returns the outcome of each: ``true``, a value, or the name
of the error that refused it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import socket
import subprocess
import sys
import time
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
ARM = os.uname().machine == "aarch64"


def execute(params: dict[str, Any]) -> dict[str, Any]:
    return {name: attempt(verb, arguments) for name, verb, arguments in params["attempts"]}


def attempt(verb: str, arguments: list[Any]) -> Any:
    try:
        value = VERBS[verb](*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return True if value is None else value


def system_call(number: int, *arguments: Any) -> int:
    answer = LIBC.syscall(ctypes.c_long(number), *arguments)
    if answer < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return int(answer)


# -- files


def read(path: str) -> str:
    with open(path, "rb") as stream:
        return stream.read(200).decode("utf-8", "replace")


def write(path: str) -> None:
    with open(path, "w", encoding="ascii") as stream:
        stream.write("taken")


def append(path: str) -> None:
    with open(path, "a", encoding="ascii") as stream:
        stream.write("taken")


def read_through_link(target: str) -> str:
    os.symlink(target, "link")
    try:
        return read("link")
    finally:
        os.unlink("link")


def read_through_hard_link(target: str) -> str:
    os.link(target, "hard")
    try:
        return read("hard")
    finally:
        os.unlink("hard")


def read_after_rename(target: str) -> str:
    os.rename(target, "moved")
    try:
        return read("moved")
    finally:
        os.rename("moved", target)


def read_by_descriptor(target: str) -> str:
    descriptor = os.open(target, os.O_PATH)
    return read(f"/proc/self/fd/{descriptor}")


def read_below_folder(folder: str, name: str) -> str:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    return os.read(os.open(name, os.O_RDONLY, dir_fd=descriptor), 200).decode()


def read_by_handle(target: str) -> str:
    buffer = (ctypes.c_char * 136)()
    ctypes.memmove(buffer, (128).to_bytes(4, sys.byteorder), 4)
    system_call(264 if ARM else 303, -100, target.encode(), buffer, ctypes.byref(ctypes.c_int()), 0)
    return "handle"


def rename_into(source: str, target: str) -> None:
    write(source)
    os.rename(source, target)


def link_into(target: str) -> None:
    write("source")
    try:
        os.link("source", target)
    finally:
        os.unlink("source")


def change_mode(path: str) -> bool:
    before = os.stat(path).st_mode
    os.chmod(path, 0o777)
    return os.stat(path).st_mode != before


def change_mode_of_open(path: str) -> bool:
    before = os.stat(path).st_mode
    with open(path, "rb") as stream:
        os.fchmod(stream.fileno(), 0o777)
    return os.stat(path).st_mode != before


def change_time(path: str) -> bool:
    before = os.stat(path).st_mtime
    os.utime(path, (1, 1))
    return os.stat(path).st_mtime != before


def sparse(path: str, size: int) -> None:
    with open(path, "wb") as stream:
        stream.truncate(size)


def descriptors() -> list[int]:
    found = []
    for number in range(256):
        try:
            os.fstat(number)
        except OSError:
            continue
        found.append(number)
    return found


def environment() -> list[str]:
    return sorted(os.environ)


# -- processes


def read_memory(pid: int) -> None:
    local = (ctypes.c_char * 8)()
    vector = (ctypes.c_size_t * 2)(ctypes.addressof(local), 8)
    system_call(270 if ARM else 310, pid, vector, 1, vector, 1, 0)


def set_owner(pid: int) -> None:
    import fcntl

    reading, _ = os.pipe()
    fcntl.fcntl(reading, 8, pid)


def limits_of(pid: int) -> None:
    import resource

    resource.prlimit(pid, resource.RLIMIT_NOFILE, (10, 10))


def forks(most: int) -> int:
    """How many processes it can have at once, besides itself."""
    waits, ends = os.pipe()
    started: list[int] = []
    with contextlib.suppress(OSError):
        for _ in range(most):
            started.append(os.fork())
            if not started[-1]:
                os.close(ends)
                os._exit(len(os.read(waits, 1)))
    os.close(ends)  # a signal may be refused, even to its own process
    return len([os.waitpid(pid, 0) for pid in started])


def survive(mark: str) -> None:
    """A proper daemon: two forks, its own session, no descriptors."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 256)
            os.execv("/bin/sh", ["/bin/sh", "-c", "sleep 300; :", mark])
        os._exit(0)
    os.wait()
    time.sleep(0.05)


def processes_seen(mark: int) -> list[str]:
    return [name for name in os.listdir("/proc") if name.isdigit() and int(name) == mark]


# -- memory and time


def take(size: int) -> None:
    block = bytearray(size)
    block[::4096] = b"x" * len(block[::4096])


def take_together(processes: int, size: int) -> None:
    for _ in range(processes):
        if os.fork() == 0:
            block = bytearray(size)
            block[::4096] = b"x" * len(block[::4096])
            time.sleep(30)
    time.sleep(30)


def take_shared(size: int) -> None:
    import mmap

    block = mmap.mmap(-1, size)
    for at in range(0, size, 4096):
        block[at] = 1
    time.sleep(30)


def burn() -> None:
    while True:
        pass


def burn_in_children() -> None:
    while True:
        if os.fork() == 0:
            end = time.monotonic() + 0.2
            while time.monotonic() < end:
                pass
            os._exit(0)
        os.wait()


def flood(descriptor: int) -> None:
    block = b"x" * 65536
    while True:
        os.write(descriptor, block)


def sleep(seconds: float) -> None:
    subprocess.Popen(["/bin/sleep", "300"], start_new_session=True)
    time.sleep(seconds)


def many_files(count: int) -> None:
    for number in range(count):
        open(str(number), "wb").close()
    time.sleep(30)


# -- network


def connect(family: int, kind: int, address: Any) -> str:
    with socket.socket(family, kind) as end:
        end.settimeout(5)
        end.connect(tuple(address) if isinstance(address, list) else address)
        if kind == socket.SOCK_DGRAM:
            end.send(b"taken")
            return "sent"
        return end.recv(20).decode()


def send_to(family: int, address: Any) -> None:
    with socket.socket(family, socket.SOCK_DGRAM) as end:
        end.sendto(b"taken", tuple(address) if isinstance(address, list) else address)


def pair_send_to(address: str) -> None:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"taken", address)


def pair_connect(address: str) -> None:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    one.connect(address)


def pair_works() -> str:
    one, other = socket.socketpair()
    one.sendall(b"through")
    return other.recv(20).decode()


def a_socket(family: int, kind: int, protocol: int = 0) -> None:
    socket.socket(family, kind, protocol).close()


def listen() -> None:
    socket.create_server(("127.0.0.1", 0)).close()


def fast_open(port: int) -> None:
    with socket.socket() as end:
        end.sendto(b"taken", 0x20000000, ("127.0.0.1", port))


def look_up(name: str) -> str:
    try:
        return str(socket.getaddrinfo(name, 80))
    except socket.gaierror:
        return "no name"


def fetch(url: str, proxied: bool = True) -> str:
    import urllib.error
    import urllib.request

    handlers = [] if proxied else [urllib.request.ProxyHandler({})]
    try:
        with urllib.request.build_opener(*handlers).open(url, timeout=5) as answer:
            return str(answer.read(200).decode())
    except urllib.error.HTTPError as error:
        return f"{error.code}"


def tunnel(place: str, first: str = "hello") -> str:
    """The outcome of a connection through ``https_proxy``."""
    with socket.create_connection(("127.0.0.1", 3128), 5) as end:
        end.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
        answer = end.recv(200).decode()
        if " 200 " not in answer:
            return answer.split("\r\n")[0]
        end.sendall(first.encode())
        while more := end.recv(200).decode():
            answer += more
        return answer.partition("\r\n\r\n")[2]


def without_waiting(place: list[Any]) -> str:
    """Connect as event loops do."""
    import asyncio

    async def main() -> str:
        reader, writer = await asyncio.open_connection(*place)
        writer.write(b"hello")
        answer = await reader.read(20)
        writer.close()
        return answer.decode()

    return asyncio.run(asyncio.wait_for(main(), 5))


# -- the kernel


def trace(pid: int) -> None:
    system_call(117 if ARM else 101, 16, pid, 0, 0)


def new_namespaces(flags: int) -> None:
    system_call(97 if ARM else 272, flags)


def clone_namespace() -> None:
    pid = system_call(220 if ARM else 56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)


def control(request: int) -> None:
    import fcntl

    fcntl.ioctl(0, request, b"x")


def file_flags(path: str) -> None:
    import fcntl

    with open(path, "rb") as stream:
        fcntl.ioctl(stream.fileno(), 0x40086602, (0x80).to_bytes(8, "little"))


def lease(path: str) -> None:
    import fcntl

    with open(path, "rb") as stream:
        fcntl.fcntl(stream.fileno(), 1024, fcntl.F_WRLCK)


VERBS = {
    **{each.__name__: each for each in (read, write, append, read_through_link, read_through_hard_link)},
    **{each.__name__: each for each in (read_after_rename, read_by_descriptor, read_below_folder, read_by_handle)},
    **{each.__name__: each for each in (rename_into, link_into, change_mode, change_mode_of_open, change_time)},
    **{each.__name__: each for each in (sparse, descriptors, environment, read_memory, set_owner, limits_of, forks)},
    **{each.__name__: each for each in (survive, processes_seen, take, take_together, take_shared, burn)},
    **{each.__name__: each for each in (burn_in_children, flood, sleep, many_files, connect, send_to, pair_send_to)},
    **{each.__name__: each for each in (pair_connect, pair_works, a_socket, listen, fast_open, look_up, fetch)},
    **{each.__name__: each for each in (tunnel, without_waiting, trace, new_namespaces, clone_namespace, control)},
    **{each.__name__: each for each in (file_flags, lease)},
    "list": lambda path: sorted(os.listdir(path)),
    "make_folder": os.mkdir,
    "remove": os.unlink,
    "rename": os.rename,
    "empty": lambda path: os.truncate(path, 0),
    "change_owner": lambda path: os.chown(path, 1, 1),
    "attribute": lambda path: os.setxattr(path, "user.taken", b"1"),
    "signal": os.kill,
    "system_call": system_call,
}
