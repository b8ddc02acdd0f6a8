"""The statements that a registry is made of (docs/reference/statements.md): one frozen value for each, with
its one text.

Rules:

* ``Value.parse(text)`` accepts exactly the texts that ``value.text()`` writes, and ``text()`` refuses a value that breaks
  the grammar. Repeated fields are kept in the order of their lines, whatever order they were given in.
* The first line names the type, so a signature on one statement is never valid for another.
* A statement is a claim. Who had to sign it, and what it must follow, is decided in
  :mod:`rye.registry.trust.keysets` and :mod:`rye.registry.trust.trusted`.
"""

from __future__ import annotations

from rye.registry.protocol.lines import StatementError
from rye.registry.protocol.statements.grammar import Statement
from rye.registry.protocol.statements.owners import Description, OwnerProof
from rye.registry.protocol.statements.ownership import (
    MAX_KEYS,
    MAX_LOG_KEYS,
    MAX_OWNERS,
    RECOVERY_DELAY,
    REQUIRES,
    Keyset,
    Require,
    Revocation,
    Root,
    namespace_key_name,
    root_key_name,
)
from rye.registry.protocol.statements.policy import OrganizationPolicy
from rye.registry.protocol.statements.release import (
    MAX_DESCRIPTION_CHARACTERS,
    MAX_PATH_CHARACTERS,
    AttachedFile,
    FileEntry,
    Hook,
    Relation,
    Release,
    is_attached_path,
)
from rye.registry.protocol.statements.status import MAX_REASON_CHARACTERS, SEVERITIES, Advisory, Deprecation, Yank
from rye.registry.protocol.statements.takedown import MAX_TAKEN_DOWN, Takedown
from rye.registry.protocol.statements.tree import AuditHead, Checkpoint, ClockStep, FormerSnapshot, Snapshot

__all__ = [
    "MAX_DESCRIPTION_CHARACTERS",
    "MAX_KEYS",
    "MAX_LOG_KEYS",
    "MAX_OWNERS",
    "MAX_PATH_CHARACTERS",
    "MAX_REASON_CHARACTERS",
    "MAX_TAKEN_DOWN",
    "RECOVERY_DELAY",
    "REQUIRES",
    "SEVERITIES",
    "TYPES",
    "Advisory",
    "AttachedFile",
    "AuditHead",
    "Checkpoint",
    "ClockStep",
    "Deprecation",
    "Description",
    "FileEntry",
    "FormerSnapshot",
    "Hook",
    "ItemStatement",
    "Keyset",
    "Logged",
    "OfTheLog",
    "OrganizationPolicy",
    "OwnerProof",
    "OwnerStatement",
    "Relation",
    "Release",
    "Require",
    "Revocation",
    "Root",
    "Snapshot",
    "Statement",
    "Takedown",
    "Yank",
    "is_attached_path",
    "namespace_key_name",
    "parse",
    "root_key_name",
]

Logged = (
    Root
    | Keyset
    | Release
    | Yank
    | Deprecation
    | Advisory
    | Takedown
    | OwnerProof
    | Description
    | ClockStep
    | OrganizationPolicy
    | Snapshot
    | FormerSnapshot
)
"""Every statement that can be a leaf of the log."""
OfTheLog = Root | ClockStep | OrganizationPolicy | Snapshot | FormerSnapshot
"""The leaves that are about the registry itself, and in no index file."""
ItemStatement = Release | Yank | Deprecation | Advisory | Takedown
"""The statements in the index file of an identity."""
OwnerStatement = OwnerProof | Description
"""The statements of a namespace's owners about themselves, which are in no index file."""
TYPES: tuple[type[Logged], ...] = (
    Root,
    Keyset,
    Release,
    Yank,
    Deprecation,
    Advisory,
    Takedown,
    OwnerProof,
    Description,
    ClockStep,
    OrganizationPolicy,
    Snapshot,
)
_BY_TITLE: dict[str, type[Logged]] = {kind.TITLE: kind for kind in TYPES}


def parse(text: str) -> Logged:
    """Read a statement of any type by its first line. Raises StatementError (``statement-kind`` for an unknown type)."""
    title = text.split("\n", 1)[0]
    kind = _BY_TITLE.get(title)
    if kind is None:
        raise StatementError("statement-kind", f"{title[:80]!r} is not a statement type that this version knows.")
    if kind is Snapshot and "\nshards " in text:
        kind = FormerSnapshot
    return kind.parse(text)
