"""Which addresses a grant covers, and what a tool can send to the proxy."""

from __future__ import annotations

import socket

import pytest

from rye.runtime.sandbox.connections import Supervisor
from rye.runtime.sandbox.granted_hosts import (
    BadRequest,
    Request,
    may_connect,
    may_connect_directly,
    parse_request,
)
from rye.runtime.sandbox.profile import HostPort

NAME = HostPort("api.example.com", 443)
_PRIVATE = """
    127.0.0.1 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 255.255.255.255 240.0.0.1
    ::1 :: fe80::1 fe80::1%eth0 fc00::1 ff02::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe
    2002:7f00:1::1 2002:a00:1::1 2001:db8::1 fec0::1 feff::1 64:ff9b:1::7f00:1 64:ff9b:1:ffff:a:0:7f00:1
    2001:0:102:304::80ff:fffe 64:ff9b::e000:1 ::7f00:1 ::ffff:0:7f00:1
"""


@pytest.mark.parametrize("address", _PRIVATE.split())
def test_a_name_leads_to_no_private_address(address: str) -> None:
    assert not may_connect(NAME, address)


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "::ffff:93.184.215.14"])
def test_a_name_leads_to_public_addresses(address: str) -> None:
    assert may_connect(NAME, address)


def test_an_address_is_granted_as_itself_alone() -> None:
    here = HostPort("127.0.0.1", 80)
    assert may_connect(here, "127.0.0.1")
    assert may_connect(here, "::ffff:127.0.0.1")
    assert not may_connect(here, "127.0.0.2")
    assert may_connect(HostPort("localhost", 80), "127.0.0.9")
    assert not may_connect(HostPort("localhost", 80), "10.0.0.1")


def test_only_addresses_are_connected_to_directly() -> None:
    network = (NAME, HostPort("10.0.0.1", 5432), HostPort("localhost", 80))
    assert may_connect_directly(network, "10.0.0.1", 5432) == network[1]
    assert may_connect_directly(network, "::1", 80) == network[2]
    assert may_connect_directly(network, "10.0.0.1", 5433) is None
    assert may_connect_directly(network, "93.184.215.14", 443) is None


def test_a_tunnel_and_an_absolute_address_are_requests() -> None:
    assert parse_request(b"CONNECT API.example.com:443 HTTP/1.1\r\nHost: other\r\n\r\n") == Request(NAME, True)
    head = b"GET http://api.example.com:443/a?b#c HTTP/1.1\r\nHost: api.example.com\r\n"
    head += b"Connection: keep-alive\r\nProxy-Connection: x\r\nA: b"
    assert parse_request(head) == Request(
        NAME,
        False,
        b"GET /a?b#c HTTP/1.1\r\nHost: api.example.com:443\r\nA: b\r\nConnection: close\r\n\r\n",
    )
    assert parse_request(b"GET http://api.example.com HTTP/1.1\r\n").place == HostPort("api.example.com", 80)


@pytest.mark.parametrize("header", [b"Host: other.example", b"host : other.example", b"HOST:\tother.example"])
def test_a_request_is_for_the_host_that_was_granted(header: bytes) -> None:
    """Many hosts share an address, and the header chooses among them."""
    request = parse_request(b"GET http://api.example.com/a HTTP/1.1\r\n" + header)
    assert request.forward == b"GET /a HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"GET http://api.example.com/a\nHost:other HTTP/1.1",
        b"GET http://api.example.com/ HTTP/1.1\r\nA: b\nHost: other",
        b"GET http://api.example.com/ HTTP/1.1\r\nA: b\rHost: other",
        b"GET http://api.example.com/ HTTP/1.1\r\n X: other",
        b"\x16\x03\x01\x02\x00",
        b"GET / HTTP/1.1",
        b"GET https://api.example.com/ HTTP/1.1",
        b"GET http://user@api.example.com/ HTTP/1.1",
        b"CONNECT api.example.com HTTP/1.1",
        b"CONNECT 0x7f.1:80 HTTP/1.1",
        b"CONNECT a:1:2 HTTP/1.1",
        b"CONNECT api.example.com:443 HTTP/1.1 x",
        b"CONNECT api.example.com:443 SSH/2",
    ],
)
def test_anything_else_is_no_request(head: bytes) -> None:
    with pytest.raises(BadRequest):
        parse_request(head)


def test_the_address_that_was_checked_is_the_one_that_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is looked up only once, so its owner cannot change the answer in between."""
    asked: list[str] = []
    connected: list[str] = []

    def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["10.0.0.1", "93.184.215.14", "127.0.0.1"] if len(asked) == 1 else ["127.0.0.1"]

    def connect(address: str, port: int) -> socket.socket:
        connected.append(address)
        raise OSError("nobody is there")

    monkeypatch.setattr("rye.runtime.sandbox.connections._connected", connect)
    one, other = socket.socketpair()
    with one, other:
        supervisor = Supervisor(one, (NAME,), resolve)
        with pytest.raises(OSError, match="nobody is there"):
            supervisor._upstream(Request(NAME, True))
        assert (asked, connected) == (["api.example.com"], ["93.184.215.14"])
        with pytest.raises(OSError, match="private address"):
            supervisor._upstream(Request(NAME, True))
        assert connected == ["93.184.215.14"]
