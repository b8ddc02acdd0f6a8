"""Unexamined releases, as the log of an older registry, a restored one or an operator may have them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.sequencer import Receipt
from rye.items.identity import Identity
from rye.registry.protocol import notes, statements
from rye.registry.protocol.statements import AttachedFile, FileEntry, Release
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher


def append(local: LocalRegistry, publisher: Publisher, statement: statements.Statement) -> Receipt:
    """Put a statement into the log, signed by the publisher alone."""
    note = notes.parse(publisher.note(statement))
    parsed = statements.parse(note.text)
    return local.service.sequencer.submit([Candidate(note, parsed, publisher.key.public.raw)]).result(30)


def put(
    local: LocalRegistry,
    publisher: Publisher,
    identity: Identity,
    version: str,
    data: bytes,
    attached: Mapping[str, bytes | tuple[bytes, bool]] = {},
    **changes: Any,
) -> Release:
    """Release bytes unchanged. ``attached``: files by path; a pair also has the executable bit."""
    files = {path: found if isinstance(found, tuple) else (found, False) for path, found in attached.items()}
    for content in (data, *(content for content, _ in files.values())):
        local.service.uploads.put(hashlib.sha256(content).hexdigest(), content)
    suffix = {"skill": "SKILL.md", "tool": ".py"}.get(identity.kind, ".md")
    release = publisher.release(
        "x",
        data,
        version,
        **{
            "identity": identity,
            "file": FileEntry(suffix, len(data), hashlib.sha256(data).hexdigest()),
            "attached": tuple(
                AttachedFile(path, len(content), hashlib.sha256(content).hexdigest(), executable)
                for path, (content, executable) in files.items()
            ),
            "capabilities": (),
            **changes,
        },
    )
    append(local, publisher, release)
    return release
