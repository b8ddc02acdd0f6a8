"""What this user demands of a registry's witnesses, beside its trusted state, and the evidence of forks, beside all of them.

Rules:

* ``witnesses.json`` holds the policy byte by byte, and the age that cosignatures may have. It is the user's own: no project can
  write it. A file that cannot be read, or that others can change, is an error, and never means that nothing is demanded.
* ``../evidence/HASH.json`` holds two signed heads that contradict each other, once for the same two. Nothing is deleted; at most
  :data:`MOST_EVIDENCE` are kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from rye.errors import RyeError
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.witness_policy import PolicyError, read_policy
from rye.registry.store.pins import witnesses_path
from rye.registry.trust.cosigned import WitnessDemand
from rye.storage.private_files import Exposed, make_folder, read_trusted, read_trusted_if_any, write
from rye.text.json_reading import UNDECODABLE

MOST_EVIDENCE = 100
_VERSION = 1
_EVIDENCE = "evidence"


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    policy: str
    max_age_seconds: int


class Evidence(Struct, frozen=True, kw_only=True):
    """Two signed heads that cannot both be true."""

    rule: str
    """The code of the rule that was broken."""
    message: str
    registry: str
    """The address that showed the second one."""
    observed: str
    heads: dict[str, str]
    """``trusted`` and ``offered``: whole signed checkpoints."""

    @property
    def origin(self) -> str:
        """The registry, as the first head names it."""
        return self.heads.get("trusted", "").partition("\n")[0]


def read_demand(folder: Path, origin: str) -> WitnessDemand | None:
    """Return what the user demands; None if nothing. ``folder``: that of the trusted states.

    Raises RyeError ``bad-witnesses``.
    """
    path = witnesses_path(folder, origin)
    try:
        data = read_trusted_if_any(path)
    except Exposed as error:
        raise _bad(path, str(error), f"Run `{error.fix}`, then check the policy: `rye registry show`.") from error
    except OSError as error:
        raise _bad(path, str(error)) from error
    if data is None:
        return None
    try:
        file = msgspec.json.decode(data, type=_File)
        if file.version != _VERSION or file.max_age_seconds < 1:
            raise _bad(path, "it is of another version of Rye")
        return WitnessDemand(read_policy(file.policy.encode("latin-1")), file.max_age_seconds)
    except (PolicyError, *UNDECODABLE) as error:
        raise _bad(path, str(error)[:300]) from error


def write_demand(folder: Path, origin: str, demand: WitnessDemand | None) -> None:
    """Store what the user demands; None: nothing. Raises OSError."""
    path = witnesses_path(folder, origin)
    if demand is None:
        path.unlink(missing_ok=True)
        return
    make_folder(path.parent)
    write(path, msgspec.json.encode(_File(_VERSION, demand.policy.text, demand.max_age_seconds)).decode())


def keep_evidence_of(folder: Path, error: RyeError, address: str, now: datetime) -> Path | None:
    """Keep the heads in an error, if it has any, for good. Return the file; None if there is none, or too many already, or if it
    cannot be written: the error itself has the heads."""
    evidence = evidence_of(error, address, now)
    if evidence is None:
        return None
    try:
        return _keep(folder, evidence)
    except OSError:
        return None


def _keep(folder: Path, evidence: Evidence) -> Path | None:
    place = folder.with_name(_EVIDENCE)
    path = place / f"{_name(evidence.heads)}.json"
    if path.exists():
        return path
    make_folder(place)
    if sum(1 for _ in place.glob("*.json")) >= MOST_EVIDENCE:
        return None
    write(path, msgspec.json.format(msgspec.json.encode(evidence), indent=1).decode() + "\n")
    return path


def kept_evidence(folder: Path) -> list[tuple[Path, Evidence]]:
    """Return all evidence about all registries, oldest first. Files that cannot be read are left out."""
    pairs = []
    for path in folder.with_name(_EVIDENCE).glob("*.json"):
        try:
            pairs.append((path, msgspec.json.decode(read_trusted(path), type=Evidence)))
        except (OSError, *UNDECODABLE):
            continue
    return sorted(pairs, key=lambda one: (one[1].observed, one[0].name))


def evidence_of(error: RyeError, address: str, now: datetime) -> Evidence | None:
    """Return the evidence in an error; None if it has none."""
    heads = error.details.get("evidence")
    if not isinstance(heads, Mapping):
        return None
    kept = {str(name): str(note) for name, note in heads.items()}
    time = write_time(now.replace(microsecond=0))
    return Evidence(rule=error.code, message=error.message, registry=address, observed=time, heads=kept)


def _name(heads: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(heads, sort_keys=True).encode()).hexdigest()[:32]


def _bad(path: Path, reason: str, hint: str | None = None) -> RyeError:
    return RyeError(
        "bad-witnesses",
        f"The policy of witnesses {path} cannot be read: {reason}.",
        hint or "Give the policy again, on a terminal: `rye registry add ADDRESS --witness-policy FILE`.",
    )
