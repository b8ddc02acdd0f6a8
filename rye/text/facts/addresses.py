"""Addresses in text: where they are, which host and port they name, and whether an IP address is public.

A host is read as a client would read it: what precedes ``@`` is not a host, ``134744072``, ``0x08080808``, ``010.8.8.8`` and
``8.526344`` are ``8.8.8.8``, and percent escapes and full-width digits are resolved.
Ranges: RFC 1918, 3849, 3927, 4193, 5737, 6598, 6890.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}\Z")
_AUTHORITY = re.compile(r"[^\s/\\?#\"'`<>|^{}()\[\]*,;]*(?:\[[0-9A-Fa-f:.%]{2,60}\][^\s/\\?#\"'`<>|()*,;]{0,10})?")
#: A dot that is written so that nobody follows the address: ``198.51.100[.]7``.
_DEFANGED = re.compile(r"\[(?:\.|dot)\]|\((?:\.|dot)\)|\{(?:\.|dot)\}", re.IGNORECASE)
_HOST = re.compile(r"[\w-](?:[\w.-]*[\w-])?\.?")
_BARE = re.compile(r"(?<![\w.+=-])(?<!/)(\d{1,3}(?:\.\d{1,3}){3})(?![\w-]|\.\d)(?::(\d{1,5})(?!\d))?")
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_FOUR = re.compile(rb"0\.0{1,3}\.0{1,3}\.0")
_DEVICE = re.compile(r"/dev/(?:tcp|udp)/([^\s/\"'$]{1,255})/(\d{1,5})")
_NUMBER = re.compile(r"0[xX][0-9A-Fa-f]*|0[0-7]*|[1-9]\d*")
_DOCUMENTATION_6 = (ipaddress.IPv6Network("2001:db8::/32"), ipaddress.IPv6Network("3fff::/20"))
_EXAMPLES_4 = frozenset(("1.2.3.4", "5.6.7.8"))
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_VERSION_BEFORE = re.compile(
    r"(?:version|ver|release|v|chrome|oid|section|rev|revision|runtime|build|tag|firmware|driver|patch|rfc\W?\d{1,5}"
    r"|(?<![A-Za-z])(?:ec|ec_?numbers?|enzymes?|sections|clauses?|subsections?|paragraphs?|articles?|annex|appendix|chapters?)"
    r"|§)\W{0,5}$",
    re.IGNORECASE,
)


_TITLE = re.compile(r"\.?[ \t|*]{1,8}[A-Z]\w")
_LEAD_CHARACTERS = 20
"""How many marks and blanks can stand before a section's number on its line."""
_MOST_SECTIONS = 30
"""A part of a section's number is at most this."""
_SERIES_CHARACTERS = 80
"""How far after a version a number with the same first parts still counts as another version."""


class Address(NamedTuple):
    """An address in a text. ``host`` is canonical: lower case, no userinfo, an IP address in its usual form."""

    host: str
    port: str
    start: int
    end: int
    text: str
    bare: bool = False
    """Whether nothing but its form says that it is an address: no scheme, no port, no device."""

    @property
    def value(self) -> str:
        """The host, and the port if one is written."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.port else host


def find(text: str) -> Iterator[Address]:
    """Yield every address with a scheme, every bare IPv4 address and every ``/dev/tcp`` path, each form in order."""
    for mark in ("://", ":\\\\"):
        at = text.find(mark)
        while at >= 0:
            scheme = _SCHEME.search(text, max(0, at - 21), at)
            authority = _AUTHORITY.match(text, at + 3)
            if scheme is not None and authority is not None and scheme[0].lower() not in ("file", "data"):
                end = authority.end()
                image = scheme[0].lower() in ("docker", "oci")
                host, port = host_and_port(authority[0].partition("@")[0] if image else authority[0])
                following = text[end : end + 1]
                if (
                    host
                    and not (following and following in "[({" and _DEFANGED.match(text, end) is not None)
                    and (not image or "." in host)
                    and not (following and following in "{$<" and ("." not in host or host.endswith(".")))
                ):
                    yield Address(host.rstrip("."), port, scheme.start(), end, text[scheme.start() : end])
            at = text.find(mark, at + 3)
    if _has_four_parts(text):
        yield from _bare(text)
    if "/dev/" in text:
        for match in _DEVICE.finditer(text):
            host, _ = host_and_port(match[1])
            if host:
                yield Address(host, match[2], match.start(), match.end(), match[0])


def _bare(text: str) -> Iterator[Address]:
    """IPv4 addresses without a scheme, except versions: numbers after a word for versions, and neighbours of the same series."""
    series, series_end = "", 0
    for match in _BARE.finditer(text):
        start = match.start()
        if _VERSION_BEFORE.search(text, max(0, start - 16), start):
            series, series_end = match[1].rsplit(".", 2)[0], match.end()
            continue
        if match[1].rsplit(".", 2)[0] == series and start - series_end <= _SERIES_CHARACTERS:
            continue
        host = ipv4(match[1])
        if host and not match[1].startswith("0") and not _is_section(text, match):
            yield Address(host, match[2] or "", start, match.end(), match[0], bare=not match[2])


def _is_section(text: str, match: re.Match[str]) -> bool:
    """Whether four small numbers begin a heading, a row or a line of contents: ``##### 7.5.9.1 General``."""
    begin = text.rfind("\n", max(0, match.start() - _LEAD_CHARACTERS), match.start()) + 1
    at_start = begin > 0 or match.start() <= _LEAD_CHARACTERS
    return (
        at_start
        and not text[begin : match.start()].strip("# \t|>*-")
        and all(int(part) <= _MOST_SECTIONS for part in match[1].split("."))
        and _TITLE.match(text, match.end()) is not None
    )


def _has_four_parts(text: str) -> bool:
    """Whether the text contains four numbers with dots between them."""
    zeros = text.encode("utf-8", "replace").translate(_DIGITS)
    return b"0.0" in zeros and _FOUR.search(zeros) is not None


def host_and_port(authority: str) -> tuple[str, str]:
    """Split what is between ``//`` and the path into ``(host, port)``; ``("", "")`` if it names no host."""
    authority = authority.rpartition("@")[2].rstrip(".:!")
    if "$" in authority and ipv4(authority.partition("$")[0]):
        authority = authority.partition("$")[0]
    if authority.startswith("["):
        inside, _, rest = authority[1:].partition("]")
        host = ipv6(inside)
        return host, rest[1:] if rest.startswith(":") and rest[1:].isdigit() else ""
    host, _, port = authority.partition(":")
    if "%" in host or not host.isascii():
        host = unicodedata.normalize("NFKC", unquote(host)).replace("\u3002", ".")
    if not _HOST.fullmatch(host):
        return "", ""
    host = host.lower().rstrip(".")
    port = port if port.isascii() and port.isdigit() and len(port) <= 5 else ""
    return ipv4(host) or host, port


def ipv4(host: str) -> str:
    """Convert an IPv4 address in any form that ``inet_aton`` accepts to dotted decimal; anything else gives ``""``."""
    if not host[:1].isdigit() or len(host) > 60:
        return ""
    parts = host.split(".")
    if len(parts) > 4 or not all(_NUMBER.fullmatch(part) for part in parts):
        return ""
    numbers = [
        int(part, 16 if part[:2] in ("0x", "0X") and len(part) > 2 else 8 if part[0] == "0" and part.isdigit() else 10)
        if part.lower() != "0x"
        else 0
        for part in parts
    ]
    if any(number > 255 for number in numbers[:-1]) or numbers[-1] >= 256 ** (5 - len(numbers)):
        return ""
    whole = numbers[-1]
    for index, number in enumerate(numbers[:-1]):
        whole += number << (24 - 8 * index)
    return str(ipaddress.IPv4Address(whole))


def ipv6(text: str) -> str:
    """Return the shortest form of an IPv6 address, or the IPv4 address that it maps; anything else gives ``""``."""
    try:
        address = ipaddress.IPv6Address(text.partition("%")[0])
    except ValueError:
        return ""
    inner = address.ipv4_mapped or address.sixtofour
    if inner is None and address in _NAT64:
        inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return str(inner) if inner is not None else str(address)


def is_public_ip(host: str) -> bool:
    """Whether ``host`` is an IP address that anyone could own.

    Loopback, private, shared, link-local, multicast, reserved and documentation ranges are not public, nor are the two that
    people write as examples, ``1.2.3.4`` and ``5.6.7.8``.
    """
    if not host or host in _EXAMPLES_4 or not (host[0].isdigit() or ":" in host):
        return False
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    if address.version == 6 and any(address in network for network in _DOCUMENTATION_6):
        return False
    return address.is_global and not address.is_multicast


def is_own_machine(host: str) -> bool:
    """Whether ``host`` is the machine that reads the text."""
    return (
        host in ("localhost", "::1", "0.0.0.0", "host.docker.internal")
        or host.startswith("127.")
        or host.endswith(".localhost")
    )
