"""Where a granted host may lead, address by address, and what the proxy reads as a request (docs/how-to/tools.md).

Whoever owns a name decides what it resolves to, and the tool decides what it sends.
"""

from __future__ import annotations

import pytest

from rye.runtime.sandbox.granted_hosts import (
    BadRequest,
    Request,
    may_connect,
    may_connect_directly,
    parse_request,
    plain,
)
from rye.runtime.sandbox.profile import HostPort

NAME = HostPort("api.example.com", 443)
_OWN = """
    127.0.0.1 127.255.255.254 10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 0.1.2.3
    198.18.0.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
    ::1 :: fe80::1 fe80::1%eth0 fc00::1 fdff::1 fec0::1 feff::1 ff02::1 ff0e::1
    ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:0.0.0.0 ::127.0.0.1 ::93.184.215.14 ::ffff:0:127.0.0.1
    64:ff9b::127.0.0.1 64:ff9b::169.254.169.254 64:ff9b::93.184.215.14 64:ff9b:1::127.0.0.1 64:ff9b:1:ffff:a:0:7f00:1
    2002:7f00:1::1 2002:a00:1::1 2002:a9fe:a9fe::1 2002:5db8:d70e::1 2001::1 2001:0:102:304::80ff:fffe 2001:db8::1 100::1
"""
_PUBLIC = (
    "93.184.215.14 8.8.8.8 223.255.255.1 2606:2800:21f:cb07:6820:80da:af6b:8b2c ::ffff:93.184.215.14 2003::1 2400::1"
)


@pytest.mark.parametrize("address", _OWN.split())
def test_a_name_leads_nowhere_into_a_network_of_ones_own(address: str) -> None:
    assert may_connect(NAME, address) is False
    assert may_connect_directly([NAME], address, 443) is None


@pytest.mark.parametrize("address", _PUBLIC.split())
def test_a_name_leads_to_every_public_address_and_only_by_its_name(address: str) -> None:
    assert may_connect(NAME, address) is True
    assert may_connect_directly([NAME], address, 443) is None


@pytest.mark.parametrize("address", ["10.0.0.1", "93.184.215.14", "::1", "fe80::1", "2606:2800::1"])
def test_a_granted_address_is_that_address_and_no_other(address: str) -> None:
    granted = HostPort(address, 80)
    assert may_connect(granted, address) is True
    assert may_connect_directly([NAME, granted], address, 80) is granted
    assert may_connect_directly([granted], address, 81) is None
    for other in ("10.0.0.2", "93.184.215.15", "127.0.0.1", "::2", "fe80::2", "2606:2800::2"):
        assert may_connect(granted, other) is False
        assert may_connect_directly([granted], other, 80) is None


def test_localhost_is_every_loopback_address_and_nothing_else() -> None:
    granted = HostPort("localhost", 80)
    for address in ("127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"):
        assert may_connect(granted, address) is True
        assert may_connect_directly([granted], address, 80) is granted
    for address in ("10.0.0.1", "0.0.0.0", "::", "93.184.215.14", "::ffff:10.0.0.1", "64:ff9b::127.0.0.1"):
        assert may_connect(granted, address) is False
        assert may_connect_directly([granted], address, 80) is None


def test_of_several_grants_the_one_that_covers_the_address_is_found() -> None:
    first, second = HostPort("10.0.0.1", 80), HostPort("10.0.0.2", 80)
    assert may_connect_directly([first, second], "10.0.0.2", 80) is second
    assert may_connect_directly([], "10.0.0.2", 80) is None


def test_an_address_is_read_without_its_zone_and_out_of_ipv6() -> None:
    assert str(plain("fe80::1%eth0")) == "fe80::1"
    assert str(plain("::ffff:10.0.0.1")) == "10.0.0.1"
    assert str(plain("10.0.0.1")) == "10.0.0.1"
    with pytest.raises(ValueError, match="does not appear"):
        plain("localhost")


# Requests


def forwarded(head: bytes) -> list[str]:
    found = parse_request(head)
    assert found.tunnel is False
    assert found.place == HostPort("h.example", 80)
    return found.forward.decode("latin-1").split("\r\n")


def test_a_tunnel_is_passed_on_and_an_address_is_made_a_path() -> None:
    assert parse_request(b"CONNECT H.example.:8443 HTTP/1.0\r\n\r\n") == Request(HostPort("h.example", 8443), True, b"")
    assert forwarded(b"GET http://h.example HTTP/1.1\r\n\r\n") == [
        "GET / HTTP/1.1",
        "Host: h.example",
        "Connection: close",
        "",
        "",
    ]
    assert forwarded(b"PUT HTTP://h.example:80/a/b?c=http://d HTTP/1.0\r\n\r\n")[0] == "PUT /a/b?c=http://d HTTP/1.0"
    assert parse_request(b"GET http://[2001:db8::1]/ HTTP/1.1").place == HostPort("2001:db8::1", 80)
    assert parse_request(b"GET http://[2001:db8::1]:8080/ HTTP/1.1").place == HostPort("2001:db8::1", 8080)


def test_headers_for_the_proxy_stay_there_and_all_others_are_passed_on() -> None:
    dropped = ("Connection: close", "Proxy-Connection: x", "PROXY-AUTHORIZATION: s", "keep-alive : 1", "connection:a:b")
    kept = ("Host: h.example", "X: é", "Y: Connection", "Z: a: connection")
    lines = [line for pair in zip((*kept, ""), dropped, strict=True) for line in pair if line]
    head = "\r\n".join(["GET http://h.example/ HTTP/1.1", *lines, "", ""]).encode("latin-1")
    assert forwarded(head) == ["GET / HTTP/1.1", *kept, "Connection: close", "", ""]


@pytest.mark.parametrize(
    "head",
    [
        "", "GET", "GET / HTTP/1.1", "GET http://h.example/ HTTP/2", "GET http://h.example/", "GET  http://h.example/ HTTP/1.1",
        "GET http://h.example/ HTTP/1.1 x", "GET https://h.example/ HTTP/1.1", "GET ftp://h.example/ HTTP/1.1",
        "GET http HTTP/1.1",
        "GET http:h.example HTTP/1.1", "GET x http://h.example/ HTTP/1.1", "GET x://http://h.example/ HTTP/1.1",
        "GET http:/// HTTP/1.1", "GET http:// HTTP/1.1", "GET http://u@h.example/ HTTP/1.1", "GET http://u:p@h.example/ HTTP/1.1",
        "GET http://h.example:0/ HTTP/1.1", "GET http://h.example:x/ HTTP/1.1", "GET http://h.example:65536/ HTTP/1.1",
        "GET http://*.example/ HTTP/1.1", "GET http://[::1/ HTTP/1.1", "CONNECT h.example HTTP/1.1", "CONNECT 0x7f.1:80 HTTP/1.1",
        "CONNECT 2130706433:80 HTTP/1.1", "CONNECT http://h.example:80 HTTP/1.1", "connect h.example:80 HTTP/1.1",
    ],
)  # fmt: skip
def test_anything_else_is_no_request(head: str) -> None:
    with pytest.raises(BadRequest):
        parse_request(head.encode() + b"\r\n\r\n")


def test_a_user_in_an_address_is_refused_by_name() -> None:
    for target in ("http://u@h.example/", "http:///a", "http://@/"):
        with pytest.raises(BadRequest, match="not a plain host name"):
            parse_request(f"GET {target} HTTP/1.1".encode())
