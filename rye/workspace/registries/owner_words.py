"""Who is behind a namespace, as commands say it: for people, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rye.registry.ownership.words import claim_words, organization_words, proof_words
from rye.registry.protocol.lines import write_time
from rye.registry.trust.namespace_proofs import NamespaceOwners
from rye.workspace.publishing.ownership import CheckedProof


def owner_document(
    owners: NamespaceOwners, now: datetime, checks: Sequence[CheckedProof] | None = None
) -> dict[str, Any]:
    """The JSON of ``owner``. ``checks``: what this machine saw at the places; None: it did not look."""
    seen = {each.stated.position: each.checked for each in checks or ()}
    description = owners.description
    return {
        "claimed": write_time(owners.claimed) if owners.claimed is not None else None,
        "words": claim_words(owners),
        "warning": organization_words(owners, now),
        "proofs": [
            {
                "method": stated.proof.method,
                "place": stated.proof.place,
                "time": write_time(stated.proof.time),
                "log": stated.position,
                "current": stated.is_current,
                "found": seen[stated.position].outcome if stated.position in seen else None,
                "detail": seen[stated.position].detail if stated.position in seen else None,
            }
            for stated in owners.proofs
        ],
        "description": description.about if description is not None else None,
        "links": list(description.links) if description is not None else [],
        "contact": description.contact if description is not None else None,
    }


def owner_lines(owners: NamespaceOwners, now: datetime, checks: Sequence[CheckedProof] | None = None) -> list[str]:
    """The same for people: one line for the claim, one for each proof."""
    seen = {each.stated.position: each.checked for each in checks or ()}
    lines = [claim_words(owners)]
    warning = organization_words(owners, now)
    if warning is not None:
        lines.append(f"! {warning}")
    for stated in owners.proofs:
        proof, checked = stated.proof, seen.get(stated.position)
        line = f"{proof.place}  {proof_words(proof)}"
        if not stated.is_current:
            line += "; the keys changed since, so it no longer counts"
        elif checked is not None and checked.outcome == "found":
            line += "; checked from here now: still there"
        elif checked is not None and checked.outcome == "unreachable":
            line += f"; could not be checked from here: {checked.detail}"
        elif checked is not None:
            line += f"; no longer there: {checked.detail}"
        lines.append(line)
    return lines
