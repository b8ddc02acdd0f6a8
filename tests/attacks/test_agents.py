"""Agents that answer wrongly, and sockets that are not one's own: no byte changes (docs/reference/attacks.md)."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from unittest import mock

import pytest
from msgspec.structs import replace

from rye.limits import AGENT
from rye.signing import ssh_agent
from rye.signing.keys import PrivateKey
from rye.signing.ssh_wire import Reader, string
from rye.signing.verification import verify
from tests.scenes.person import Person
from tests.scenes.ssh_agents import REFUSED, answering_agent, framed, identities, signed

KEY, OTHER = PrivateKey(b"\x01" * 32), PrivateKey(b"\x02" * 32)


def message_of(request: bytes) -> bytes:
    """What is to be signed by a request."""
    reader = Reader(request[1:])
    reader.string(1000)
    return reader.string(AGENT.answer_bytes)


def answers(sign: Callable[[bytes], bytes | None]) -> Callable[[bytes], bytes | None]:
    """An agent that lists ``KEY``, and answers a request to sign the given message so."""
    return lambda request: identities(KEY.public.ssh) if request[0] == 11 else sign(message_of(request))


def honest(message: bytes) -> bytes:
    return signed(KEY.sign(message))


def sshsig(message: bytes) -> bytes:
    """A signature of the form of ``ssh-keygen -Y sign``, which is over a wrapped hash and not over the message."""
    wrapped = b"SSHSIG" + string(b"file") + string(b"") + string(b"sha512") + string(message)
    return signed(KEY.sign(wrapped))


def other_scalar(message: bytes) -> bytes:
    """The same signature with S + L, which a lax verifier accepts as well."""
    signature = KEY.sign(message)
    scalar = int.from_bytes(signature[32:], "little") + 2**252 + 27742317777372353535851937790883648493
    return signed(signature[:32] + scalar.to_bytes(32, "little"))


ATTACKS: dict[str, tuple[Callable[[bytes], bytes | None], str]] = {
    "signs something else": (lambda message: signed(KEY.sign(b"rye.keyset/v1\n")), "ssh-agent-answer"),
    "signs with another key": (lambda message: signed(OTHER.sign(message)), "ssh-agent-answer"),
    "signs in the form SSHSIG": (sshsig, "ssh-agent-answer"),
    "signs with a scalar that is not reduced": (other_scalar, "ssh-agent-answer"),
    "answers with a signature of another type": (lambda m: signed(KEY.sign(m), b"rsa-sha2-512"), "ssh-agent-answer"),
    "answers with a security key's signature": (
        lambda m: signed(KEY.sign(m), b"sk-ssh-ed25519@openssh.com", b"\x01" + bytes(4)),
        "ssh-agent-answer",
    ),
    "answers with flags after the signature": (
        lambda m: signed(KEY.sign(m), ending=b"\x01" + bytes(4)),
        "ssh-agent-answer",
    ),
    "answers with a signature of 63 bytes": (lambda m: signed(KEY.sign(m)[:63]), "ssh-agent-answer"),
    "answers with a signature of 65 bytes": (lambda m: signed(KEY.sign(m) + b"\0"), "ssh-agent-answer"),
    "cuts the answer off": (lambda m: signed(KEY.sign(m))[:40], "ssh-agent-answer"),
    "cuts its length off": (lambda m: b"\0\0", "ssh-agent-answer"),
    "closes without an answer": (lambda m: b"", "ssh-agent-answer"),
    "announces four gigabytes": (lambda m: b"\xff\xff\xff\xff" + bytes(1000), "ssh-agent-answer"),
    "announces a byte more than the limit": (lambda m: framed(bytes(AGENT.answer_bytes + 1)), "ssh-agent-answer"),
    "announces nothing": (lambda m: framed(b""), "ssh-agent-answer"),
    "puts a huge length inside": (lambda m: framed(b"\x0e\xff\xff\xff\xff"), "ssh-agent-answer"),
    "adds a byte": (lambda m: framed(honest(m)[4:] + b"\0"), "ssh-agent-answer"),
    "answers another question": (lambda m: identities(KEY.public.ssh), "ssh-agent-answer"),
    "declines": (lambda m: REFUSED, "ssh-agent-declined"),
    "never answers": (lambda m: None, "ssh-agent-silent"),
}


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    """Someone whose default key is in the agent at ``tmp_path/agent``, and who has an unsigned item."""
    person = Person(tmp_path, "acme")
    person.environment["SSH_AUTH_SOCK"] = str(tmp_path / "agent")
    with answering_agent(tmp_path / "agent", answers(honest)):
        person.ok("keys", "add", "--agent")
    os.unlink(tmp_path / "agent")
    person.directive("work/one", signed=False)
    return person


ITEM = ".ai/directives/work/one.md"


def test_the_undisturbed_agent_signs(rye: Person, tmp_path: Path) -> None:
    with answering_agent(tmp_path / "agent", answers(honest)) as requests:
        rye.ok("sign", ITEM)
    assert [request[0] for request in requests] == [13]
    assert verify(rye.path(ITEM).read_bytes(), "directive", ITEM, [KEY.public]).ok


@pytest.mark.parametrize("name", ATTACKS)
def test_an_agent_that(rye: Person, tmp_path: Path, name: str) -> None:
    answer, code = ATTACKS[name]
    before = rye.path(ITEM).read_bytes()
    quick = replace(AGENT, notice_seconds=0.1, answer_seconds=0.4 if code == "ssh-agent-silent" else 20.0)
    with mock.patch.object(ssh_agent, "AGENT", quick), answering_agent(tmp_path / "agent", answers(answer)):
        error = rye.fails("sign", ITEM, code=code)
    assert error["hint"]
    assert rye.path(ITEM).read_bytes() == before


@pytest.mark.parametrize("silencer", ["--quiet", "--json"])
def test_what_is_signed_is_shown_even_where_notices_are_not_wanted(rye: Person, tmp_path: Path, silencer: str) -> None:
    """The agent's window names at most the key; who asked it for something else must not be able to hide behind `-q`."""

    def slow(message: bytes) -> bytes:
        time.sleep(0.5)
        return honest(message)

    quick = replace(AGENT, notice_seconds=0.1, answer_seconds=20.0)
    with mock.patch.object(ssh_agent, "AGENT", quick), answering_agent(tmp_path / "agent", answers(slow)) as requests:
        result = rye.ok("sign", ITEM, silencer)
    (message,) = map(message_of, requests)
    assert "Asking your agent to sign with 'default'" in result.stderr
    assert f"directive one.md, SHA-256 {message.decode()}" in result.stderr
    assert "Waiting for your agent" not in result.stderr


LISTS = {
    "lists a million keys": b"\x0c" + (1_000_000).to_bytes(4, "big"),
    "lists more keys than it sends": b"\x0c\0\0\0\x02" + identities(KEY.public.ssh)[9:],
    "lists a key of 33 bytes": b"\x0c\0\0\0\x01" + string(string(b"ssh-ed25519") + string(bytes(33))) + string(b""),
    "lists a key with a tail": b"\x0c\0\0\0\x01" + string(KEY.public.ssh.blob() + b"\0") + string(b""),
    "has a tail after its list": identities(KEY.public.ssh)[4:] + b"\0",
    "lists in another type": b"\x05\0",
}


@pytest.mark.parametrize("name", LISTS)
def test_an_agent_whose_list(tmp_path: Path, name: str) -> None:
    rye = Person(tmp_path, "acme")
    rye.environment["SSH_AUTH_SOCK"] = str(tmp_path / "agent")
    with answering_agent(tmp_path / "agent", lambda request: framed(LISTS[name])):
        rye.fails(
            "keys", "add", "--agent", code="ssh-agent-locked" if name == "lists in another type" else "ssh-agent-answer"
        )
    os.unlink(tmp_path / "agent")
    assert rye.ok("keys", "list", "--json").json["keys"] == []
    with answering_agent(tmp_path / "agent", answers(honest)):
        rye.ok("keys", "add", "--agent")


def test_a_key_of_small_order_is_not_offered(tmp_path: Path) -> None:
    rye = Person(tmp_path, "acme")
    rye.environment["SSH_AUTH_SOCK"] = str(tmp_path / "agent")
    weak = replace(KEY.public.ssh, point=b"\x01" + bytes(31))
    with answering_agent(tmp_path / "agent", lambda request: identities(weak)):
        rye.fails("keys", "add", "--agent", code="unknown-key")


def test_a_comment_does_not_steer_the_terminal(tmp_path: Path) -> None:
    rye = Person(tmp_path, "acme")
    rye.environment["SSH_AUTH_SOCK"] = str(tmp_path / "agent")
    rows = b"".join(string(key.public.ssh.blob()) + string(b"\x1b[2Jwork\n") for key in (KEY, OTHER))
    with answering_agent(tmp_path / "agent", lambda request: framed(b"\x0c\0\0\0\x02" + rows)):
        message = rye.fails("keys", "add", "--agent", code="ambiguous-key")["message"]
    assert "work" in message
    assert message.isprintable()


def test_an_agent_that_hangs_is_waited_for_with_a_notice(rye: Person, tmp_path: Path) -> None:
    """A person may look for the stick: after the notice, a late answer is as good as an early one."""

    def late(message: bytes) -> bytes:
        time.sleep(0.5)
        return honest(message)

    quick = replace(AGENT, notice_seconds=0.1, answer_seconds=20.0)
    with mock.patch.object(ssh_agent, "AGENT", quick), answering_agent(tmp_path / "agent", answers(late)):
        result = rye.ok("sign", ITEM)
    assert "Waiting for your agent to sign" in result.stderr
    assert AGENT.notice_seconds == 5.0


def test_an_agent_that_drips_is_given_up(rye: Person, tmp_path: Path) -> None:
    """The time is for the whole answer, not for each byte of it."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "agent"))
        listener.listen()
        child = os.fork()
        if child == 0:  # pragma: no cover - another process
            with suppress(OSError):
                connection, _ = listener.accept()
                connection.sendall((200).to_bytes(4, "big"))
                for _ in range(1_000):
                    connection.sendall(b"\x0e")
                    time.sleep(0.05)
            os._exit(0)
        quick = replace(AGENT, notice_seconds=0.1, answer_seconds=0.5)
        began = time.monotonic()
        with mock.patch.object(ssh_agent, "AGENT", quick):
            rye.fails("sign", ITEM, code="ssh-agent-silent")
        assert time.monotonic() - began < 20
        os.waitpid(child, 0)


# -- the socket -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how",
    [
        "in the project",
        "a link of the project",
        "below a linked folder of the project",
        "a relative path",
        "below a link to the project",
    ],
)
def test_a_socket_that_the_project_could_have_put_there(rye: Person, tmp_path: Path, how: str) -> None:
    inside = rye.folder / "agent"
    elsewhere = tmp_path / "agent"
    (tmp_path / "link").symlink_to(rye.folder)
    if how == "a link of the project":
        inside.symlink_to(elsewhere)
    if how == "below a linked folder of the project":
        (rye.folder / "linked").symlink_to(tmp_path)
        inside.symlink_to(elsewhere)
    place = {
        "a relative path": "agent",
        "below a link to the project": str(tmp_path / "link" / "agent"),
        "below a linked folder of the project": str(rye.folder / "linked" / "agent"),
    }.get(how, str(inside))
    with answering_agent(elsewhere if inside.is_symlink() else inside, answers(honest)) as requests:
        rye.fails("sign", ITEM, code="ssh-agent-socket", env={"SSH_AUTH_SOCK": place})
        assert requests == []
    inside.unlink()
    elsewhere.unlink(missing_ok=True)
    with answering_agent(elsewhere, answers(honest)):
        rye.ok("sign", ITEM)


def test_from_a_folder_of_the_project_it_is_still_the_project_s(rye: Person) -> None:
    below = rye.elsewhere(rye.folder / ".ai" / "directives" / "work")
    with answering_agent(rye.folder / "agent", answers(honest)) as requests:
        below.fails("sign", "one.md", code="ssh-agent-socket", env={"SSH_AUTH_SOCK": str(rye.folder / "agent")})
    assert requests == []


def test_a_socket_in_the_checkout_that_the_project_is_a_part_of(rye: Person, tmp_path: Path) -> None:
    with answering_agent(tmp_path / "agent", answers(honest)) as requests:
        (tmp_path / ".git").mkdir()
        error = rye.fails("sign", ITEM, code="ssh-agent-socket")
        assert "checkout" in error["message"]
        assert requests == []
        (tmp_path / ".git").rmdir()
        rye.ok("sign", ITEM)


def test_a_file_that_is_no_socket(rye: Person, tmp_path: Path) -> None:
    (tmp_path / "agent").write_text("")
    rye.fails("sign", ITEM, code="ssh-agent-socket")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a socket to another user")
def test_a_socket_of_another_user(rye: Person, tmp_path: Path) -> None:
    with answering_agent(tmp_path / "agent", answers(honest)) as requests:
        os.chown(tmp_path / "agent", 65534, 65534)
        rye.fails("sign", ITEM, code="ssh-agent-socket")
        assert requests == []
        os.chown(tmp_path / "agent", 0, 0)
        rye.ok("sign", ITEM)


@pytest.mark.skipif(os.geteuid() != 0 or sys.platform != "linux", reason="only root can become another user")
def test_another_user_s_program_behind_a_socket_of_one_s_own(rye: Person, tmp_path: Path) -> None:
    """The file says root, but who listens is another: as if it had been replaced after the look."""
    program = """
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
os.setuid(65534)
listener.listen()
print("ready", flush=True)
listener.settimeout(20)
listener.accept()[0].recv(1000)
"""
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "agent")], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        assert (tmp_path / "agent").stat().st_uid == 0
        error = rye.fails("sign", ITEM, code="ssh-agent-socket")
        assert "another user" in error["message"]


# -- what gets the way to the agent ---------------------------------------------------------------------------------------


def test_the_way_to_the_agent_cannot_be_granted_to_a_tool(rye: Person) -> None:
    manifest = '[project]\nname = "acme"\nnamespace = "acme"\n[sandbox."tool:acme/x/y"]\nenv = ["{}"]\n'
    rye.write("rye.toml", manifest.format("GITHUB_TOKEN"))
    rye.ok("list")
    rye.write("rye.toml", manifest.format("SSH_AUTH_SOCK"))
    result = rye.run("list", "--json")
    assert result.code != 0
    assert "SSH_AUTH_SOCK" in result.error["message"]
