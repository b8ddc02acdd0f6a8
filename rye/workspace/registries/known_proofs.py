"""Proofs that releases are in a registry's log, made from what this machine already has. Nothing is fetched."""

from __future__ import annotations

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.project.context import load_manifest
from rye.project.layout import Project
from rye.project.lock_file import read_lock
from rye.registry.protocol import wire
from rye.registry.protocol.tlog_proof import TlogProof
from rye.registry.trust.records import find_locked
from rye.workspace.context import Context
from rye.workspace.registries.registry_access import project_sources


def known_proof(context: Context, project: Project, kind: str, item_id: str, version: str | None) -> str | None:
    """The C2SP tlog-proof of an installed release; None if it is not installed, or trusted state and cache are not enough."""
    if not project.lock_path.exists():
        return None
    row = read_lock(project).find(Identity(kind, item_id))
    if row is None or row.source is not None or row.version != version:
        return None
    try:
        with project_sources(context, load_manifest(project), project.root, offline=True, asks=False) as sources:
            client = sources.client(row.identity.namespace)
            history = sources.releases([row.identity]).get(row.identity)
            record = find_locked(history, row.identity, row.version, row.sha256)
            paths = client.prove([record]).paths
            checkpoint = wire.decode_head((client.state.head or "").encode()).checkpoint
            return TlogProof(record.line.note, record.line.log, paths[record.line.log], checkpoint).text()
    except (RyeError, OSError, KeyError):
        return None
