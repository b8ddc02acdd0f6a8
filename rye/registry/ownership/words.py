"""Who is behind a namespace, in the same sentences in the client, on pages and in JSON. Pure.

A domain is always shown in its ASCII form: a name with other letters can look like someone else's, its ``xn--`` form cannot.

A young name like that of a well-known organization (``organizations.toml``) is pointed out, until its owners prove that the
organization's domain is theirs.
"""

from __future__ import annotations

import tomllib
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

from rye.items.identity import fold
from rye.registry.protocol.statements import OwnerProof
from rye.registry.trust.namespace_proofs import NamespaceOwners, StatedProof

YOUNG = timedelta(days=30)
"""How long after its claim such a name is pointed out."""
_FILE = Path(__file__).with_name("organizations.toml")
METHOD_WORDS = {
    "file": "by a file on its website",
    "dns": "by a DNS record",
    "repository": "by a signed file in it",
}


def claim_words(owners: NamespaceOwners) -> str:
    """Say who the name's owners are, as far as anybody knows."""
    if owners.claimed is None:
        return "nobody has claimed the name"
    day = f"{owners.claimed:%Y-%m-%d}"
    if not owners.proofs:
        return f"claimed on {day} by whoever came first; nobody checked the name"
    if owners.current:
        return f"claimed on {day}; its owners proved that {places_words(owners.current)} theirs"
    return f"claimed on {day}; its keys changed since its owners proved anything, so nothing is proved now"


def places_words(proofs: tuple[StatedProof, ...]) -> str:
    """List places with their verb: ``acme.example is``, ``acme.example and https://… are``."""
    places = [stated.proof.place for stated in proofs]
    if len(places) == 1:
        return f"{places[0]} is"
    return f"{', '.join(places[:-1])} and {places[-1]} are"


def proof_words(proof: OwnerProof) -> str:
    """Say how and when a place was proved; the registry checked it on that day."""
    return f"{METHOD_WORDS[proof.method]}, checked by the registry on {proof.time:%Y-%m-%d}"


def organization_words(owners: NamespaceOwners, now: datetime) -> str | None:
    """Warn of a young namespace with a well-known organization's name; None if there is nothing to warn of."""
    found = impersonated(owners, now)
    return None if found is None or owners.claimed is None else _impersonation(found, owners, now)


def _impersonation(found: Organization, owners: NamespaceOwners, now: datetime) -> str:
    assert owners.claimed is not None
    days = max((now - owners.claimed).days, 0)
    age = "today" if days == 0 else "yesterday" if days == 1 else f"{days} days ago"
    return (
        f"{owners.namespace} is like the name of {found.title} ({found.domains[0]}), but was claimed {age}, "
        "and nobody proved that it is theirs"
    )


class Organization(Struct, frozen=True, forbid_unknown_fields=True):
    """One organization."""

    title: str
    names: tuple[str, ...]
    """The namespaces that people would take for its own."""
    domains: tuple[str, ...]


def impersonated(owners: NamespaceOwners, now: datetime) -> Organization | None:
    """Return the organization whose name a young namespace has, unless its owners proved that the organization's domain is
    theirs."""
    if owners.claimed is None or now - owners.claimed >= YOUNG:
        return None
    found = organizations().get(fold(owners.namespace))
    if found is None or any(
        _is_of(found, stated.proof.place) for stated in owners.current if stated.proof.is_of_domain
    ):
        return None
    return found


@lru_cache(maxsize=1)
def organizations() -> dict[str, Organization]:
    """The organizations by each of their names, letters that look alike folded."""
    read = msgspec.convert(tomllib.loads(_FILE.read_text("utf-8")), dict[str, list[Organization]])
    return {fold(name): organization for organization in read["organization"] for name in organization.names}


def _is_of(organization: Organization, domain: str) -> bool:
    return any(domain == own or domain.endswith(f".{own}") for own in organization.domains)
