"""Who is behind a namespace, for pages: what its owners proved and say, and whether the registry saw it again."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from registry_server.pages.addresses import entry_path
from registry_server.upkeep.owner_checks import LastCheck
from rye.registry.ownership.words import METHOD_WORDS, claim_words, organization_words
from rye.registry.protocol.statements.owners import is_loopback_place
from rye.registry.trust.namespace_proofs import NamespaceOwners, StatedProof

ProofState = Literal["there", "gone", "unreachable", "outdated"]


class ProofRow(Struct, frozen=True, kw_only=True):
    """A domain or repository that the owners proved to be theirs."""

    place: str
    link: str | None
    """Its address; null: on the registry's own machine."""
    words: str
    """How it was proved."""
    time: datetime
    """When the registry checked it first."""
    state: ProofState
    """``gone``: the registry looked again and did not find it; ``outdated``: the keys changed since."""
    since: datetime | None
    """Since when it is gone or unreachable."""
    checked: datetime
    """When the registry looked last."""
    log: int
    path: str
    """The path of its log entry."""


class Behind(Struct, frozen=True, kw_only=True):
    """Who is behind a namespace, as far as anybody knows."""

    words: str
    warning: str | None
    """About a well-known organization's name; null: nothing."""
    is_proved: bool
    proofs: tuple[ProofRow, ...]
    about: str | None
    """The owners' own words, which nobody checked."""
    links: tuple[str, ...]
    contact: str | None


def behind_view(owners: NamespaceOwners, seen: dict[tuple[str, int], LastCheck], now: datetime) -> Behind:
    """Return the view. ``seen``: what the registry saw last, by place and position of the proof."""
    rows = tuple(_row(stated, seen.get((stated.proof.place, stated.position))) for stated in owners.proofs)
    there = {row.place for row in rows if row.state in ("there", "unreachable")}
    trusted = replace(owners, proofs=tuple(s for s in owners.proofs if s.proof.place in there or not s.is_current))
    description = owners.description
    return Behind(
        words=claim_words(trusted),
        warning=organization_words(trusted, now),
        is_proved=bool(trusted.current),
        proofs=rows,
        about=description.about if description is not None else None,
        links=description.links if description is not None else (),
        contact=description.contact if description is not None else None,
    )


def _row(stated: StatedProof, seen: LastCheck | None) -> ProofRow:
    proof = stated.proof
    state: ProofState = "there"
    if not stated.is_current:
        state = "outdated"
    elif seen is not None and seen.outcome in ("gone", "stale"):
        state = "gone"
    elif seen is not None and seen.outcome == "unreachable":
        state = "unreachable"
    is_local = is_loopback_place(proof.place)
    address = proof.place if "://" in proof.place else f"https://{proof.place}"
    return ProofRow(
        place=proof.place,
        link=None if is_local else address,
        words=METHOD_WORDS[proof.method],
        time=proof.time,
        state=state,
        since=seen.since if seen is not None and state in ("gone", "unreachable") else None,
        checked=seen.checked if seen is not None else proof.time,
        log=stated.position,
        path=entry_path(stated.position),
    )
