"""What the owners of a namespace say about themselves: proofs of who they are, and a description.

These statements are leaves of the log, but in no index file and not in the name map: whoever installs an item never reads them,
so a client that does not know them is not disturbed. The file ``/owners/<namespace>`` lists them (docs/reference/statements.md).
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar
from urllib.parse import urlsplit

from rye.registry.protocol import lines
from rye.registry.protocol.lines import Lines, malformed
from rye.registry.protocol.statements.grammar import Statement, keep_sorted, one_of
from rye.text.lazy import lazy_pattern

MAX_ADDRESS_CHARACTERS = 300
MAX_ABOUT_CHARACTERS = 300
MAX_LINKS = 5
METHODS = ("file", "dns", "repository")
"""A file below ``/.well-known`` of a domain, a TXT record of a domain, a signed file at the root of a repository."""

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = lazy_pattern(rf"(?:{_LABEL}\.)+(?=[a-z0-9-]*[a-z]){_LABEL}")
_LOOPBACK = lazy_pattern(r"(?:127\.0\.0\.1|localhost):[1-9][0-9]{0,4}")
_PATH = lazy_pattern(r"(?:/[A-Za-z0-9_~%!$&'()*+,;=:@-][A-Za-z0-9._~%!$&'()*+,;=:@-]*)+")
_HIDDEN_PATH = lazy_pattern(r"(?i)%(?:2e|2f|5c)")
"""A dot, slash or backslash that servers read as one: ``/acme/%2e%2e/other`` looks like acme's, and is other's."""
_MAIL = lazy_pattern(r"mailto:[A-Za-z0-9.!#$%&'*+/=_`{|}~-]{1,64}@(?P<domain>[a-z0-9.-]+)")


class OwnerProof(Statement, frozen=True):
    """``rye.proof/v1``: whoever holds the keys of a namespace also controls a domain or a repository. The last statement about
    a place counts."""

    TITLE: ClassVar[str] = "rye.proof/v1"
    namespace: str
    proved: bool
    """False: withdrawn."""
    method: str
    """One of :data:`METHODS`."""
    place: str
    """The domain, or the repository's address."""
    keyset: int
    fingerprint: str
    """SHA-256 of that keyset's text, which the domain or the repository names."""
    time: datetime

    def lines(self) -> list[str]:
        """The lines in the order of the grammar."""
        return [
            f"origin {self.origin}",
            f"namespace {self.namespace}",
            f"state {'proved' if self.proved else 'withdrawn'}",
            f"method {self.method}",
            f"place {self.place}",
            f"keyset {self.keyset}",
            f"fingerprint {self.fingerprint}",
            f"time {lines.write_time(self.time)}",
        ]

    @classmethod
    def read(cls, source: Lines) -> OwnerProof:
        """Read the lines; the place must be of the method's kind."""
        origin = source.one("origin", lines.read_origin)
        namespace = source.one("namespace", lines.read_namespace)
        proved = source.one("state", one_of("proved", "withdrawn")) == "proved"
        method = source.one("method", one_of(*METHODS))
        return cls(
            origin=origin,
            namespace=namespace,
            proved=proved,
            method=method,
            place=source.one("place", read_repository if method == "repository" else read_domain),
            keyset=source.one("keyset", lines.read_positive),
            fingerprint=source.one("fingerprint", lines.read_hash),
            time=source.one("time", lines.read_time),
        )

    @property
    def is_of_domain(self) -> bool:
        """Whether it is about a domain, not a repository."""
        return self.method != "repository"


class Description(Statement, frozen=True):
    """``rye.description/v1``: what a namespace is for, in its owners' words. The last one counts."""

    TITLE: ClassVar[str] = "rye.description/v1"
    namespace: str
    about: str
    links: tuple[str, ...]
    contact: str | None
    """An address with ``https:`` or ``mailto:``."""
    keyset: int
    time: datetime

    def __post_init__(self) -> None:
        keep_sorted(self, "links", str)

    def lines(self) -> list[str]:
        """The lines in the order of the grammar; links are sorted."""
        return [
            f"origin {self.origin}",
            f"namespace {self.namespace}",
            f"about {self.about}",
            *(f"link {link}" for link in self.links),
            *([f"contact {self.contact}"] if self.contact else []),
            f"keyset {self.keyset}",
            f"time {lines.write_time(self.time)}",
        ]

    @classmethod
    def read(cls, source: Lines) -> Description:
        """Read the lines; there are at most 5 links."""
        description = cls(
            origin=source.one("origin", lines.read_origin),
            namespace=source.one("namespace", lines.read_namespace),
            about=source.one("about", lines.text_reader(MAX_ABOUT_CHARACTERS)),
            links=source.many("link", read_link),
            contact=source.maybe("contact", read_contact),
            keyset=source.one("keyset", lines.read_positive),
            time=source.one("time", lines.read_time),
        )
        if len(description.links) > MAX_LINKS:
            raise malformed(f"it has {len(description.links)} links instead of at most {MAX_LINKS}")
        return description


def read_domain(text: str) -> str:
    """Read a domain in its ASCII form: at least two labels, lower case, the last with a letter. ``localhost`` and ``127.0.0.1``
    need a port, and are for registries on the same machine."""
    if len(text) > 253 or (_DOMAIN.fullmatch(text) is None and not is_loopback_domain(text)):
        raise malformed(f"{text[:80]!r} is not a domain such as acme.example")
    return text


def read_repository(text: str) -> str:
    """Read the address of a repository: ``https://HOST/PATH`` without query, fragment, password and final slash.
    ``http:`` is for registries on the same machine."""
    scheme, host, path = _address(text)
    is_loopback = scheme == "http" and is_loopback_domain(host)
    if not path or not (is_loopback or (scheme == "https" and _DOMAIN.fullmatch(host))):
        raise malformed(f"{text[:80]!r} is not the address of a repository such as https://host.example/acme/skills")
    return text


def read_link(text: str) -> str:
    """Read a link: ``https://HOST`` with or without a path."""
    scheme, host, _ = _address(text.removesuffix("/"))
    if scheme != "https" or _DOMAIN.fullmatch(host) is None:
        raise malformed(f"{text[:80]!r} is not a link such as https://acme.example/about")
    return text


def read_contact(text: str) -> str:
    """Read how to reach the owners: a link, or ``mailto:NAME@DOMAIN``."""
    mail = _MAIL.fullmatch(text) if len(text) <= MAX_ADDRESS_CHARACTERS else None
    if mail is None:
        return read_link(text)
    read_domain(mail["domain"])
    return text


def is_loopback_domain(text: str) -> bool:
    """Whether it names this machine, with a port."""
    return _LOOPBACK.fullmatch(text) is not None


def is_loopback_place(place: str) -> bool:
    """Whether a proof's place is on this machine."""
    return is_loopback_domain(urlsplit(place).netloc if "://" in place else place)


def _address(text: str) -> tuple[str, str, str]:
    """Scheme, host with port, and path of an address with exactly these; empty texts for any other."""
    if len(text) > MAX_ADDRESS_CHARACTERS or "://" not in text:
        return "", "", ""
    scheme, _, rest = text.partition("://")
    host, slash, path = rest.partition("/")
    path = slash + path
    is_plain = not path or (_PATH.fullmatch(path) and not _HIDDEN_PATH.search(path))
    return (scheme, host, path) if is_plain else ("", "", "")
