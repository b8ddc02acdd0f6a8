"""Receivers inside a company (``webhook_networks``): only in listed networks, over https, at the address that was checked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from registry_server.accounts import guarded_http
from registry_server.accounts.guarded_http import listed_networks, refuse_address
from registry_server.accounts.times import now_text
from registry_server.api.delivering import Deliverer
from registry_server.settings import load
from rye.errors import RyeError
from tests.registry.test_http_tls import Authority
from tests.scenes.effort import rest_thorough
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher
from tests.scenes.registry_process import init, run

LOOPBACK = listed_networks(["127.0.0.0/8"])
HOST = "ci.corp.internal"


class Receiver(HTTPServer):
    """A receiver with a certificate for its name."""

    def __init__(self, authority: Authority) -> None:
        self.bodies: list[bytes] = []
        super().__init__(("127.0.0.1", 0), self.handler())
        self.socket = authority.server(HOST).wrap_socket(self.socket, server_side=True)

    def handler(self) -> Any:
        bodies = self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Print nothing."""

        return Handler

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self.server_address[1]}/rye"


@pytest.fixture
def receiver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    server = Receiver(authority)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def here(_host: str, _port: int) -> list[str]:
    return ["127.0.0.1"]


def code_of(call: Any, *given: Any, **named: Any) -> str:
    with pytest.raises(RyeError) as raised:
        call(*given, **named)
    return raised.value.code


@pytest.mark.processes
def test_a_delivery_arrives_inside_and_only_where_the_file_lists_the_network(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    with LocalRegistry(data, 'webhooks = false\nwebhook_networks = ["127.0.0.0/8"]\n') as local:
        run("webhook", "add", receiver.url, "--data", str(data))
        assert local.statements(local.token(), Publisher("acme").claim()).status_code == 200
        posts = partial(
            guarded_http.post, resolve=here, inside=listed_networks(local.service.settings.webhook_networks)
        )
        assert Deliverer(local.service.engine, local.service.origin, posts).round() == 1
        assert [json.loads(body)["event"] for body in receiver.bodies] == ["keyset"]
        local.owner("other")
        closed = Deliverer(local.service.engine, local.service.origin, partial(guarded_http.post, resolve=here))
        assert closed.round(now_text()) == 1  # the control: without the list nothing arrives, and it is given up
        shown = json.loads(run("webhook", "deliveries", "--data", str(data), "--json").stdout)["deliveries"]
    assert len(receiver.bodies) == 1
    assert sorted(row["state"] for row in shown) == ["delivered", "given up"]


@pytest.mark.processes
def test_another_name_and_plain_http_are_refused_inside_as_well(receiver: Receiver) -> None:
    post = partial(guarded_http.post, body=b"{}", headers={}, resolve=here, inside=LOOPBACK)
    assert post(receiver.url) == 200
    assert code_of(post, receiver.url.replace(HOST, "other.corp.internal")) == "delivery-failed"
    assert code_of(post, receiver.url.replace("https", "http")) == "delivery-failed"
    assert len(receiver.bodies) == 1


@pytest.mark.parametrize(
    "resolved",
    rest_thorough(
        4,
        [
            ["10.30.0.1"],
            ["10.20.0.1", "10.30.0.1"],
            ["10.20.0.1", "127.0.0.1"],
            ["169.254.169.254"],
            ["::ffff:10.30.0.1"],
            ["fe80::1%eth0"],
            ["64:ff9b::a14:1"],
            [],
        ],
    ),
    ids=str,
)
def test_every_address_must_be_public_or_listed_and_the_checked_one_is_used(resolved: list[str]) -> None:
    """DNS rebinding: the name is resolved once, and what was checked is connected to."""
    connected: list[str] = []

    def connect(address: str, port: int, host: str) -> Any:
        connected.append(address)
        raise OSError("not here")

    inside = listed_networks(["10.20.0.0/16", "fd00:1::/32"])

    def post(addresses: list[str]) -> str:
        return code_of(
            guarded_http.post,
            f"https://{HOST}/",
            b"",
            {},
            resolve=lambda *_: addresses,
            connect=connect,
            inside=inside,
        )

    assert post(resolved) == ("private-address" if resolved else "delivery-failed")
    assert connected == []
    for good in (["10.20.0.1"], ["::ffff:10.20.0.1"], ["fd00:1::5", "93.184.216.34"]):  # the control
        assert post(good) == "delivery-failed"
    assert connected == ["10.20.0.1", "::ffff:10.20.0.1", "fd00:1::5"]


@pytest.mark.parametrize(
    "network",
    ["0.0.0.0/0", "::/0", "169.254.0.0/16", "169.254.169.254", "168.0.0.0/5", "fe80::/64", "10.0.0.1/8", "intern", ""],
)
def test_a_network_that_opens_too_much_or_is_none_is_refused(network: str) -> None:
    assert code_of(listed_networks, [network]) == "bad-setting"
    assert len(listed_networks(["10.0.0.0/8", "127.0.0.1", "::1"])) == 3


def test_only_the_file_can_list_networks(tmp_path: Path) -> None:
    init(tmp_path)
    assert code_of(load, tmp_path, {}, {"RYE_REGISTRY_WEBHOOK_NETWORKS": "10.0.0.0/8"}) == "bad-setting"
    with (tmp_path / "registry.toml").open("a") as file:
        file.write('webhook_networks = ["10.0.0.0/8"]\n')
    assert load(tmp_path, {}, {}).webhook_networks == ("10.0.0.0/8",)


@pytest.mark.parametrize("host", ["10.20.1.1", "ci.corp.internal", "localhost"])
def test_an_address_is_accepted_when_it_is_added_only_with_a_list(host: str) -> None:
    assert code_of(refuse_address, host) == "private-address"
    refuse_address(host, listed_networks(["10.20.0.0/16"]))
    assert code_of(refuse_address, "10.21.0.1", listed_networks(["10.20.0.0/16"])) == "private-address"
    assert code_of(refuse_address, "0x7f000001", listed_networks(["10.20.0.0/16"])) == "private-address"
