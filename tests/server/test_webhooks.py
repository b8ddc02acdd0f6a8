"""Webhooks (design/server.md 4): signed, tried again, recorded, and never sent into the server's own network."""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import socket
from collections.abc import Mapping
from typing import Any

import pytest

from registry_server.accounts import guarded_http, webhooks
from registry_server.accounts.times import after, now_text
from registry_server.api.delivering import Deliverer
from registry_server.storage import database
from rye.errors import RyeError
from rye.registry.transport.guarded import is_public
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher
from tests.scenes.registry_process import run

URL = "https://hooks.example.com/rye"
PRIVATE = [
    *("127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1"),
    *("255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fec0::1", "ff02::1"),
    *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:a00:1", "::127.0.0.1", "64:ff9b::a9fe:a9fe"),
    *("2002:a9fe:a9fe::1", "2001:0:a9fe:a9fe::1", "192.0.2.1", "not an address", ""),
]


class TestAddresses:
    @pytest.mark.parametrize("address", PRIVATE)
    def test_what_is_not_public(self, address: str) -> None:
        assert not is_public(address)

    @pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "::ffff:93.184.216.34"])
    def test_what_is(self, address: str) -> None:
        assert is_public(address)

    @pytest.mark.parametrize("private", ["127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1"])
    def test_a_name_with_one_private_address_among_others_is_sent_nothing(self, private: str) -> None:
        for addresses in ([private], ["93.184.216.34", private], [private, "93.184.216.34"]):
            with pytest.raises(RyeError) as caught:
                guarded_http.post(URL, b"x", {}, Addresses(addresses), self._never)
            assert caught.value.code == "private-address"

    def test_the_connection_goes_to_the_address_that_was_checked(self) -> None:
        looks: list[str] = []

        def resolve(host: str, port: int) -> list[str]:
            looks.append(host)
            return ["93.184.216.34"] if len(looks) == 1 else ["127.0.0.1"]

        connected: list[tuple[str, int, str]] = []

        def connect(address: str, port: int, host: str) -> Any:
            connected.append((address, port, host))
            return FakeSocket(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\nContent-Length: 0\r\n\r\n")

        assert guarded_http.post(URL, b"x", {}, resolve, connect) == 302  # and nothing follows it
        assert connected == [("93.184.216.34", 443, "hooks.example.com")]
        assert looks == ["hooks.example.com"]

    @staticmethod
    def _never(address: str, port: int, host: str) -> socket.socket:
        raise AssertionError(f"connected to {address}")


class Addresses:
    """A name with these addresses."""

    def __init__(self, found: list[str]) -> None:
        self.found = found

    def __call__(self, host: str, port: int) -> list[str]:
        return self.found


class FakeSocket(io.BytesIO):
    """Answers one request."""

    def makefile(self, *_: object, **__: object) -> Any:
        return io.BytesIO(self.getvalue())

    def sendall(self, data: bytes) -> None:
        """Discard the request."""

    def settimeout(self, seconds: float) -> None:
        """Ignore the timeout: it never waits."""


class Receiver:
    def __init__(self) -> None:
        self.seen: list[tuple[str, bytes, Mapping[str, str]]] = []
        self.status: int | None = 200

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        self.seen.append((url, body, headers))
        if self.status is None:
            raise RyeError("delivery-failed", "It does not answer.", None)
        return self.status


def add(local: LocalRegistry, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("webhook", "add", URL, *words, "--data", str(local.data), "--json").stdout)
    return found


def remove(local: LocalRegistry, made: dict[str, Any]) -> None:
    run("webhook", "remove", made["id"], "--data", str(local.data))


def test_what_is_logged_is_told_once_signed_and_only_what_was_asked_for(local: LocalRegistry) -> None:
    receiver = Receiver()
    deliverer = Deliverer(local.service.engine, local.service.origin, receiver.post)
    acme, other = Publisher("acme"), Publisher("other")
    for publisher in (acme, other):
        local.statements(local.token(), publisher.claim())
    made = add(local, "--namespace", "acme", "--event", "release")
    assert deliverer.round() == 0  # no events from before
    for publisher in (acme, other):
        assert local.publish(publisher, "a/told", local.token()).status_code == 200
    assert local.statements(local.token(), acme.yank("a/told")).status_code == 200
    assert deliverer.round() == 1
    ((url, body, headers),) = receiver.seen
    document = json.loads(body)
    assert (url, document["event"], document["item"]) == (URL, "release", "directive:acme/a/told")
    expected = hmac.new(made["secret"].encode(), body, hashlib.sha256).hexdigest()
    assert headers["X-Rye-Signature"] == f"sha256={expected}"
    assert deliverer.round() == 0
    (row,) = json.loads(run("webhook", "deliveries", "--data", str(local.data), "--json").stdout)["deliveries"]
    assert (row["state"], row["attempts"], row["status"]) == ("delivered", 1, 200)
    assert made["secret"] not in run("webhook", "list", "--data", str(local.data)).stdout
    remove(local, made)


def test_what_fails_is_tried_again_later_and_later_and_then_given_up(local: LocalRegistry) -> None:
    receiver = Receiver()
    deliverer = Deliverer(local.service.engine, local.service.origin, receiver.post)
    made = add(local)
    assert local.statements(local.token(), Publisher("slow").claim()).status_code == 200
    now = now_text()
    for status in (500, 302, 404, None):
        receiver.status = status
        assert deliverer.round(now) == 1
        assert deliverer.round(now) == 0
        now = after(now, webhooks.PAUSES[len(receiver.seen) - 1])
    for pause in webhooks.PAUSES[4:]:
        assert deliverer.round(now) == 1
        now = after(now, pause)
    assert deliverer.round(now) == 1
    assert deliverer.round(after(now, 86_400)) == 0
    with database.reader(local.service.engine) as connection:
        (row,) = webhooks.history(connection, 1, made["id"])
    assert (row["due"], row["delivered"], row["attempts"]) == (None, None, len(webhooks.PAUSES) + 1)
    remove(local, made)


@pytest.mark.parametrize(
    "url",
    [
        *(
            "http://hooks.example.com",
            "https://127.0.0.1/x",
            "https://[::1]/x",
            "https://[::ffff:10.0.0.1]/",
            "ftp://x",
        ),
        *("https://localhost/x", "https://user:pw@hooks.example.com/", "https://", "https://x:0/", "https://a b/"),
    ],
)
def test_an_address_that_is_none_is_refused_at_once(local: LocalRegistry, url: str) -> None:
    done = run("webhook", "add", url, "--data", str(local.data), "--json", check=False)
    assert (done.returncode, json.loads(done.stdout)["error"]["code"] in ("invalid-value", "private-address")) == (
        1,
        True,
    )


def test_nothing_is_sent_before_the_operator_says_so(local: LocalRegistry) -> None:
    assert not local.service.settings.webhooks
    assert local.service.deliverer._rounds.is_running is False


@pytest.mark.parametrize("host", ["0x7f000001", "2130706433", "127.1", "017700000001", "10.1", "0xa9fea9fe"])
def test_a_private_address_is_refused_in_every_spelling_that_a_resolver_takes(host: str) -> None:
    with pytest.raises(RyeError) as raised:
        guarded_http.refuse_address(host)
    assert raised.value.code == "private-address"


@pytest.mark.parametrize("host", ["93.184.216.34", "hooks.example.com", "0x5db8d822"])
def test_a_public_address_and_a_name_are_not_refused(host: str) -> None:
    guarded_http.refuse_address(host)
