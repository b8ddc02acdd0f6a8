"""Agents to sign with: OpenSSH's own, and one that answers as a test says."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from rye.signing.ssh_wire import SshKey, string

needs_ssh_agent = pytest.mark.skipif(
    not all(map(shutil.which, ("ssh-agent", "ssh-add", "ssh-keygen"))), reason="OpenSSH's ssh-agent is not installed"
)
SK_DUMMY = Path("/usr/lib/openssh/regress/misc/sk-dummy/sk-dummy.so")
"""OpenSSH's authenticator in software, of Debian's package openssh-tests."""
needs_sk_dummy = pytest.mark.skipif(
    not SK_DUMMY.is_file(), reason="sk-dummy of Debian's openssh-tests is not installed"
)


class OpenSshAgent:
    """OpenSSH's ssh-agent on a socket of its own. ``folder``: where keys are made."""

    def __init__(self, folder: Path, path: Path):
        self.folder, self.path = folder, path
        self.environment = {"SSH_AUTH_SOCK": str(path), "PATH": os.environ["PATH"], "HOME": str(folder)}

    def make(self, name: str, *options: str, add: tuple[str, ...] = (), passphrase: str = "") -> str:
        """Make a key, add it, and return its line without the comment. ``options``: of ssh-keygen; ``add``: of ssh-add."""
        given = options or ("-t", "ed25519")
        self.call("ssh-keygen", "-q", *given, "-N", passphrase, "-C", f"{name}@desk", "-f", str(self.folder / name))
        self.call("ssh-add", "-q", *add, str(self.folder / name))
        return " ".join((self.folder / f"{name}.pub").read_text().split(" ")[:2])

    def make_security_key(self, name: str, *options: str) -> str:
        """The same with a key of sk-dummy."""
        made = ("-t", "ed25519-sk", "-w", str(SK_DUMMY), *options)
        return self.make(name, *made, add=("-S", str(SK_DUMMY)))

    def call(self, *words: str, stdin: str = "", **environment: str) -> str:
        done = subprocess.run(
            words,
            input=stdin,
            capture_output=True,
            text=True,
            env={**self.environment, **environment},
            timeout=30,
            check=False,
        )
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    def lock(self, word: str, *, unlock: bool = False) -> None:
        """Lock or unlock the agent: ssh-add asks for the word with a program when it has no terminal."""
        asker = self.folder / "ask"
        asker.write_text(f"#!/bin/sh\necho {word}\n")
        asker.chmod(0o700)
        self.call("ssh-add", "-X" if unlock else "-x", SSH_ASKPASS=str(asker), SSH_ASKPASS_REQUIRE="force")


@contextmanager
def openssh_agent(folder: Path, **environment: str) -> Iterator[OpenSshAgent]:
    """Start OpenSSH's ssh-agent, which accepts providers of security keys from anywhere, and end it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "agent"
    running = subprocess.Popen(
        ["ssh-agent", "-D", "-P", "*", "-a", str(path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], **environment},
    )
    try:
        for _ in range(500):
            if path.exists():
                break
            threading.Event().wait(0.01)
        assert path.exists(), "ssh-agent did not start"
        yield OpenSshAgent(folder, path)
    finally:
        running.terminate()
        running.wait(10)


Answer = Callable[[bytes], bytes | None]
"""What an agent answers to a request, without the length; None: never."""


@contextmanager
def answering_agent(path: Path, answer: Answer) -> Iterator[list[bytes]]:
    """An agent on a socket that answers each request as ``answer`` says. Yields the requests so far."""
    requests: list[bytes] = []
    ended = threading.Event()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(0.05)
        thread = threading.Thread(target=_serve, args=(listener, answer, requests, ended))
        thread.start()
        try:
            yield requests
        finally:
            ended.set()
            thread.join()


def _serve(listener: socket.socket, answer: Answer, requests: list[bytes], ended: threading.Event) -> None:
    while not ended.is_set():
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            continue
        with connection:
            connection.settimeout(10)
            size = int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big")
            requests.append(connection.recv(size, socket.MSG_WAITALL))
            answered = answer(requests[-1])
            if answered is None:
                ended.wait(30)
            else:
                with suppress(OSError):  # who asked may have seen enough
                    connection.sendall(answered)


def framed(body: bytes) -> bytes:
    return string(body)


def identities(*keys: SshKey) -> bytes:
    """The answer that lists these keys."""
    listed = b"".join(string(key.blob()) + string(b"a key") for key in keys)
    return framed(bytes([12]) + len(keys).to_bytes(4, "big") + listed)


def signed(signature: bytes, kind: bytes = b"ssh-ed25519", ending: bytes = b"") -> bytes:
    """The answer with a signature."""
    return framed(bytes([14]) + string(string(kind) + string(signature) + ending))


REFUSED = framed(bytes([5]))
