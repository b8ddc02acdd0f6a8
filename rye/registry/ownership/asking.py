"""Asking a domain or a repository whose a namespace is. The server does it when a proof is stated and again later, clients do it
themselves (``rye info --check-owner``).

Whoever states a proof chooses the place, so every request is guarded (:mod:`rye.registry.transport.guarded`): public addresses
only, looked up once, no redirects, bounded in time and size. DNS is asked through the resolver of this machine; without DNSSEC
its answer is as good as the way to that resolver.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from http.client import HTTPException
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

from rye import __version__
from rye.errors import RyeError
from rye.extras import extra_missing
from rye.registry.ownership import git_messages
from rye.registry.ownership.documents import (
    RECORD_HOST,
    REPOSITORY_FILE,
    WELL_KNOWN,
    ProofCheck,
    judge_records,
    judge_repository_file,
    judge_well_known,
)
from rye.registry.ownership.git_messages import GitMessageError
from rye.registry.protocol.statements.owners import is_loopback_domain, is_loopback_place
from rye.registry.transport import guarded
from rye.registry.transport.guarded import GuardedAnswer, TooLarge
from rye.registry.trust.keysets import Link
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    import dns.exception as dns_exception
    import dns.resolver as dns_resolver
else:
    dns_exception, dns_resolver = lazy_module("dns.exception"), lazy_module("dns.resolver")  # an extra

FILE_BYTES = 64 * 1024
"""The file of a domain, and that of a repository."""
RECORDS = 64
"""TXT records of one name. A domain with more is not read."""
RECORD_BYTES = 1024
DNS_SECONDS = 5.0

Send = Callable[..., GuardedAnswer]
"""As :func:`rye.registry.transport.guarded.request`."""
ReadRecords = Callable[[str], Sequence[str]]
"""The TXT records of a name. Raises NoRecords."""


class NoRecords(Exception):
    """The records of a name could not be read; the text says why."""


class PlaceAsking(Struct, frozen=True):
    """How places are asked. ``loopback``: whether the registry itself is on this machine, and so its proofs may be as well."""

    loopback: bool = False
    send: Send = guarded.request
    records: ReadRecords | None = None
    """None: through the resolver of this machine."""


def check(asking: PlaceAsking, method: str, place: str, link: Link) -> ProofCheck:
    """Ask a place whether it names the namespace with these keys: the keyset in force."""
    if is_loopback_place(place) and not asking.loopback:
        return ProofCheck("unreachable", f"{place} is this machine, and the registry is not.")
    namespace = link.keyset.namespace
    try:
        match method:
            case "dns":
                return judge_records(_records(asking, place), namespace, link)
            case "file":
                return _of_file(asking, place, namespace, link)
            case _:
                return _of_repository(asking, place, namespace, link)
    except NoRecords as error:
        return ProofCheck("unreachable", f"The TXT records of {RECORD_HOST}.{place} could not be read: {error}.")
    except RyeError as error:
        return ProofCheck("unreachable", error.message)
    except TooLarge:
        return ProofCheck("unreachable", f"{_host(place)} answered with more than is read.")
    except GitMessageError as error:
        return ProofCheck("unreachable", f"{place} could not be read with git's protocol: {str(error)[:200]}.")
    except (OSError, HTTPException, ValueError, UnicodeError) as error:
        why = (getattr(error, "strerror", None) or str(error))[:200].rstrip(".") or type(error).__name__
        return ProofCheck("unreachable", f"{_host(place)} did not answer: {why}.")


def is_on_loopback(address: str) -> bool:
    """Whether a registry's own address is on this machine."""
    host = urlsplit(address).hostname or ""
    return host in ("127.0.0.1", "localhost", "::1")


def _of_file(asking: PlaceAsking, domain: str, namespace: str, link: Link) -> ProofCheck:
    scheme = "http" if is_loopback_domain(domain) else "https"
    answer = _get(asking, f"{scheme}://{domain}{WELL_KNOWN}", FILE_BYTES)
    if answer.status in (404, 410):
        return ProofCheck("gone", f"{domain} has no {WELL_KNOWN}.")
    _require_ok(answer, domain)
    return judge_well_known(answer.body, namespace, link)


def _of_repository(asking: PlaceAsking, repository: str, namespace: str, link: Link) -> ProofCheck:
    offered = _get(asking, f"{repository}/info/refs?service=git-upload-pack", FILE_BYTES)
    if offered.status in (401, 403, 404, 410):
        return ProofCheck("gone", f"There is no public repository at {repository}.")
    _require_ok(offered, repository)
    if not git_messages.speaks_version_2(offered.body):
        raise GitMessageError("it does not offer version 2 with filters")
    commit = git_messages.read_head(_post(asking, repository, git_messages.head_request(), FILE_BYTES))
    trees = _post(asking, repository, git_messages.trees_request(commit), git_messages.MAX_PACK_BYTES)
    found = git_messages.file_at_root(git_messages.read_pack(trees), commit, REPOSITORY_FILE.encode())
    if found is None:
        return ProofCheck("gone", f"{repository} has no {REPOSITORY_FILE} at the root of its main branch.")
    sent = _post(asking, repository, git_messages.object_request(found), FILE_BYTES)
    data = git_messages.blob(git_messages.read_pack(sent), found)
    return judge_repository_file(data, namespace, repository, link)


def _get(asking: PlaceAsking, url: str, most: int) -> GuardedAnswer:
    return asking.send("GET", url, None, _headers(), most_bytes=most, loopback=asking.loopback)


def _post(asking: PlaceAsking, repository: str, body: bytes, most: int) -> bytes:
    headers = {**_headers(), "Content-Type": "application/x-git-upload-pack-request"}
    url = f"{repository}/git-upload-pack"
    answer = asking.send("POST", url, body, headers, most_bytes=most, loopback=asking.loopback)
    _require_ok(answer, repository)
    return answer.body


def _headers() -> dict[str, str]:
    return {"User-Agent": f"rye/{__version__}", "Git-Protocol": "version=2", "Accept-Encoding": "identity"}


def _require_ok(answer: GuardedAnswer, place: str) -> None:
    if 300 <= answer.status < 400:
        where = answer.location[:200].encode("ascii", "replace").decode()
        raise RyeError("proof-unreachable", f"{place} redirects to {where!r}, and a redirect proves nothing.", None)
    if answer.status != 200:
        raise RyeError("proof-unreachable", f"{place} answered with the status {answer.status}.", None)


def _records(asking: PlaceAsking, domain: str) -> Sequence[str]:
    texts = (asking.records or txt_records)(f"{RECORD_HOST}.{domain}")
    if len(texts) > RECORDS:
        raise NoRecords(f"there are {len(texts)}, and at most {RECORDS} are read")
    if any(len(text) > RECORD_BYTES for text in texts):
        raise NoRecords(f"one has more than {RECORD_BYTES} characters")
    return texts


def txt_records(name: str, resolver: dns_resolver.Resolver | None = None) -> list[str]:
    """The TXT records of a name, from the resolver of this machine. Raises NoRecords, and RyeError ``extra-missing``."""
    try:
        make = dns_resolver.Resolver
    except ImportError:
        raise extra_missing("dnspython", "dns") from None
    try:
        asked = resolver or make()
        answer = asked.resolve(f"{name}.", "TXT", search=False, lifetime=DNS_SECONDS)
    except (dns_resolver.NXDOMAIN, dns_resolver.NoAnswer):
        return []
    except (dns_exception.DNSException, OSError, ValueError) as error:
        raise NoRecords(str(error)[:200].rstrip(".") or type(error).__name__) from error
    return [b"".join(row.strings).decode("ascii", "replace") for row in answer]


def _host(place: str) -> str:
    return urlsplit(place).netloc if "://" in place else place
