"""Rye as a client under test: ``python -m conformance.clients.rye_client`` speaks CONTRACT.md."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rye import api
from rye.errors import RyeError
from rye.installation.sources import fetch_logged
from rye.items.identity import Identity, parse_reference
from rye.limits import REGISTRY
from rye.registry.client import RegistryClient
from rye.registry.protocol import lines
from rye.registry.protocol.witness_policy import read_policy
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from rye.registry.transport.factory import open_transport
from rye.registry.trust.cosigned import WitnessDemand
from rye.registry.trust.records import ReleaseRecord, find_locked
from rye.signing.keys import PublicKey
from rye.signing.verification import verify as verify_signature
from rye.storage.home import Home
from rye.storage.verdicts import Verdicts
from rye.verified.release import verify_files
from rye.workspace.context import LibraryContext
from rye.workspace.named_file import NamedFile
from rye.workspace.registries.log_audit import check_proof, proof_of

LIMITS = replace(REGISTRY, retry_seconds=0.001)
"""Rye's own, but without its pauses between retries."""

CLASSES = {
    "limit": "note-too-large head-too-large fetch-too-large fetch-endless release-oversized",
    "signature": "root-signatures root-takeover checkpoint-signature snapshot-signature keyset-signatures keyset-takeover "
    "recovery-signatures statement-signer advisory-signer takedown-signer clock-signer note-signature-wrong note-threshold "
    "cosignature-wrong item-unsigned",
    "hash": "map-hash index-hash index-size blob-hash blob-size other-bytes",
    "proof": "snapshot-proof leaf-mismatch tile-root tile-parent tile-size proof-range proof-length proof-root",
    "foreign": "root-origin checkpoint-origin snapshot-origin index-foreign index-position map-place proof-origin clock-step "
    "wrong-statement snapshot-kind",
    "chain": "root-number root-chain root-time snapshot-root keyset-number keyset-chain keyset-revocations recovery-pending",
    "keyset": "statement-keyset statement-unclaimed namespace-unclaimed",
    "history": "release-repeated release-unknown takedown-foreign",
    "rollback": "head-rollback snapshot-time",
    "fork": "head-fork head-inconsistent keyset-fork",
    "vanished": "namespace-vanished release-vanished release-changed takedown-vanished",
    "stale": "head-frozen head-stale witness-frozen",
    "future": "snapshot-future",
    "expired": "root-expired",
    "fingerprint": "root-fingerprint",
    "unpinned": "registry-unpinned",
    "recovery": "recovery-unaccepted",
    "revoked": "signer-revoked",
    "withdrawn": "release-taken-down",
    "witness": "witness-quorum not-cosigned",
    "mismatch": "manifest-mismatch item-misplaced snapshot-map",
    "not-found": "no-such-item no-such-entry",
    "unavailable": "fetch-not-found fetch-status fetch-unreachable fetch-truncated fetch-redirect fetch-unauthorized fetch-slow "
    "fetch-deadline map-missing index-missing tile-missing blob-missing",
    "unsolvable": "unsolvable",
    "malformed": "note-malformed note-base64 note-key-invalid statement-malformed statement-kind statement-key head-malformed "
    "config-malformed protocol-unknown index-malformed map-malformed proof-malformed policy-malformed item-invalid "
    "bundle-malformed head-empty bad-range",
}
"""Class → Rye's codes."""
CLASS_OF = {code: name for name, codes in CLASSES.items() for code in codes.split()}
VERDICTS = {
    "partial": "hash",
    "modified": "hash",
    "bad-signature": "signature",
    "untrusted": "signature",
    "revoked": "revoked",
    "unsigned": "unsigned",
    "malformed": "malformed",
}


class RefusedError(Exception):
    """A class of CONTRACT.md, and why."""


def class_of(error: RyeError) -> str:
    """The class of Rye's error. Some codes say where it was found, and their cause says what it is."""
    if error.code == "item-unsigned":
        return VERDICTS.get(str((error.details or {}).get("verdict")), "signature")
    if error.code in ("index-statement", "cosigned-head", "proof-wrong"):
        cause = error.__cause__
        return class_of(cause) if isinstance(cause, RyeError) else "foreign"
    return CLASS_OF[error.code]


def handle(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to one request."""
    try:
        answer = COMMANDS[request["command"]](request)
    except RyeError as error:
        return {"ok": False, "error": class_of(error), "detail": f"{error.code}: {error.message}"}
    except RefusedError as error:
        return {"ok": False, "error": error.args[0], "detail": error.args[1]}
    return {"ok": True, **answer}


def _time(request: dict[str, Any]) -> datetime:
    return datetime.strptime(request["now"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def _home(request: dict[str, Any]) -> Home:
    folder = Path(request["home"])
    return Home(folder / "config", folder / "data", folder / "cache", system_space=folder / "system")


def _client(request: dict[str, Any]) -> RegistryClient:
    """A client with a verified head. Leaving it as a context manager remembers what it came to trust."""
    home, url = _home(request), request["url"]
    demand = None
    if "policy" in request:
        policy = read_policy(request["policy"].encode())
        demand = WitnessDemand(policy, request.get("policy_age", REGISTRY.witness_age_seconds))
    client = RegistryClient(
        url,
        open_transport(url, LIMITS),
        StateStore(home.registries),
        Cache(home.registry_cache),
        limits=LIMITS,
        now=lambda: _time(request),
        verdicts=Verdicts(home.data / "verdicts"),
        witnesses=demand,
    )
    try:
        client.refresh(request.get("fingerprint"), request.get("origin"))
        if "accept" in request:
            client.accept_recovery(request["accept"])
    except BaseException:
        client.close()
        raise
    return client


def refresh(request: dict[str, Any]) -> dict[str, Any]:
    """Also ``init``."""
    with _client(request) as client:
        checkpoint, snapshot = client.head.checkpoint, client.head.snapshot
        return {
            "origin": client.origin,
            "root": client.state.root.number,
            "size": checkpoint.size,
            "root_hash": base64.b64encode(checkpoint.root_hash).decode(),
            "time": lines.write_time(snapshot.time),
            "old": bool(client.warnings),
        }


def resolve(request: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    with _client(request) as client:
        if "names" in request:
            wanted = {name: _identity(name) for name in request["names"]}
            histories = client.histories(wanted.values())
            answer["names"] = {name: _history(histories.get(identity)) for name, identity in wanted.items()}
        if "namespaces" in request:
            chains = client.keysets(request["namespaces"])
            answer["namespaces"] = {name: _namespace(client, name) for name in chains}
        if "owners" in request:
            owners = client.owners(request["owners"])
            answer["owners"] = {
                name: {
                    "places": sorted(stated.proof.place for stated in found.current),
                    "about": found.description.about if found.description else None,
                }
                for name, found in owners.items()
            }
        if "requirements" in request:
            context = LibraryContext(cwd=Path(request["home"]), home=_home(request), clock=_time(request))
            chosen = api.resolve(request["requirements"], api.Registry(context, client, ExitStack()))
            answer["chosen"] = {name: release.version for name, release in chosen.items()}
    return answer


def _history(history: Any) -> dict[str, Any] | None:
    if history is None:
        return None
    return {"releases": [_release(record) for record in history.records], "deprecated": history.deprecation is not None}


def _release(record: ReleaseRecord) -> dict[str, Any]:
    return {
        "version": record.version,
        "position": record.line.log,
        "sha256": record.release.file.sha256,
        "keyset": record.release.keyset,
        "yanked": record.yank is not None,
        "revoked": record.revoked,
        "taken_down": record.takedown is not None,
        "advisories": sorted({advisory.number for advisory in record.advisories}),
    }


def _namespace(client: RegistryClient, name: str) -> dict[str, Any] | None:
    chain, time = client.keysets([name])[name], client.head.snapshot.time
    link = chain.current(time)
    if link is None:
        return None
    return {
        "keyset": link.keyset.number,
        "keys": [lines.write_owner_key(key) for key in link.keyset.keys],
        "pending": chain.pending(time) is not None,
    }


def _identity(text: str) -> Identity:
    reference = parse_reference(text)
    return Identity(reference.kind or "", reference.id)


def _found(client: RegistryClient, request: dict[str, Any]) -> ReleaseRecord:
    identity = _identity(request["item"])
    for record in client.releases([identity])[identity]:
        if record.version == request["version"]:
            return record
    raise RefusedError("not-found", f"{identity} {request['version']} does not exist")


def fetch(request: dict[str, Any]) -> dict[str, Any]:
    with _client(request) as client:
        record = _found(client, request)
        [files] = fetch_logged(client, [record])
        verified = verify_files(files, (), ())
        contents = {record.release.file.suffix: verified.data, **verified.attached}
        hashes = {path: hashlib.sha256(data).hexdigest() for path, data in contents.items()}
        return {"position": record.line.log, "files": hashes}


def prove(request: dict[str, Any]) -> dict[str, Any]:
    with _client(request) as client:
        return {"proof": proof_of(client, _found(client, request)).text}


def verify(request: dict[str, Any]) -> dict[str, Any]:
    if "file" in request:
        return _verify_file(request["file"], request["keys"])
    if "proof" in request:
        return _verify_proof(request)
    return _verify_locked(request)


def _verify_file(file: dict[str, Any], keys: list[str]) -> dict[str, Any]:
    public = {PublicKey.from_raw(lines.read_owner_key(key)): key for key in keys}
    found = verify_signature(base64.b64decode(file["data"]), file["kind"], file["name"], public)
    if not found.ok or found.key is None:
        raise RefusedError(VERDICTS[found.verdict], found.detail)
    return {"key": public[found.key]}


def _verify_proof(request: dict[str, Any]) -> dict[str, Any]:
    folder = Path(request["home"])
    path, item = folder / "proof", folder / "item"
    path.write_text(request["proof"], "utf-8", newline="")
    named = None
    if "item" in request:
        item.write_bytes(base64.b64decode(request["item"]))
        named = NamedFile(item, "item")
    found = check_proof(
        _home(request), NamedFile(path, "proof"), sys.stdin.buffer.read, named, request.get("log_keys", ())
    )
    return {"origin": found.origin, "position": found.log, "size": found.size, "type": found.statement.TITLE}


def _verify_locked(request: dict[str, Any]) -> dict[str, Any]:
    locked = request["locked"]
    with _client(request) as client:
        if "checkpoint" in locked:
            client.require_extends(locked["checkpoint"], "the lock")
        rows = [(_identity(row["item"]), row["version"], row["sha256"]) for row in locked.get("releases", ())]
        histories = client.histories(identity for identity, _, _ in rows)
        return {"releases": [_release(find_locked(histories.get(row[0]), *row)) for row in rows]}


COMMANDS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "init": refresh,
    "refresh": refresh,
    "resolve": resolve,
    "fetch": fetch,
    "verify": verify,
    "prove": prove,
}


def main() -> None:
    for line in sys.stdin.buffer:
        sys.stdout.write(json.dumps(handle(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
