"""Reads what the admission of a batch's releases depends on, for all of them with one query.

Pure but for the query itself, which :meth:`registry_server.sequencer.ledger.Ledger.prepare` runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from registry_server.sequencer import queries
from registry_server.sequencer.acceptance import Candidate, blobs_of
from registry_server.sequencer.columns import folded, name_of, text_sha256
from registry_server.sequencer.pending_writes import KnownRelease, PendingWrites
from registry_server.storage.prepared import Row
from rye.registry.protocol.statements import Release


@dataclass(frozen=True, slots=True)
class BatchSubjects:
    """What the releases of a batch are about."""

    texts: dict[str, set[bytes]] = field(default_factory=dict)
    """Name → SHA-256 of the statements' texts."""
    versions: set[tuple[str, str]] = field(default_factory=set)
    """Names and versions."""
    blobs: set[str] = field(default_factory=set)
    namespaces: set[str] = field(default_factory=set)

    @staticmethod
    def of(candidates: Iterable[Candidate]) -> BatchSubjects:
        """Return it for the releases among the candidates."""
        wanted = BatchSubjects()
        for candidate in candidates:
            statement = candidate.statement
            if isinstance(statement, Release):
                name = name_of(statement)
                wanted.texts.setdefault(name, set()).add(text_sha256(candidate.note.text))
                wanted.versions.add((name, statement.version))
                wanted.blobs.update(blobs_of(statement))
                wanted.namespaces.add(statement.identity.namespace)
        return wanted

    def parameters(self) -> dict[str, list[str]]:
        """Return the parameters of :data:`registry_server.sequencer.queries.BATCH`, without the times."""
        return {
            "namespaces": sorted(self.namespaces),
            "folds": sorted(set(map(folded, self.texts))),
            "names": sorted(self.texts),
            "versions": sorted({version for _, version in self.versions}),
            "blobs": sorted(self.blobs),
        }


@dataclass(frozen=True, slots=True)
class RegistryFacts:
    """The part of the answer that is about the registry, not about the releases."""

    roots: list[bytes]
    """The notes of all roots, in order."""
    recovered: list[str]
    """Namespaces whose recovery took effect since the newest head."""


def learn(pending: PendingWrites, wanted: BatchSubjects, rows: Iterable[Row]) -> RegistryFacts:
    """Add the answer to a batch's facts. What has no row is known not to exist."""
    pending.texts.update(((name, sha256), None) for name, some in wanted.texts.items() for sha256 in some)
    pending.names.update(dict.fromkeys(wanted.texts, False))
    pending.folds.update(dict.fromkeys(map(folded, wanted.texts)))
    pending.releases.update(dict.fromkeys(wanted.versions))
    pending.reasons.update(dict.fromkeys(wanted.blobs))
    keysets: dict[str, list[tuple[int, bytes]]] = {namespace: [] for namespace in wanted.namespaces}
    roots: list[bytes] = []
    recovered: set[str] = set()
    # In the order of the log: of several texts or takedowns, the first counts.
    for kind, what, number, data, first, second in sorted(rows, key=_place):
        match kind:
            case queries.ROOT_ROW:
                roots.append(bytes(data))
            case queries.KEYSET_ROW:
                keysets[what].append((number, bytes(data)))
            case queries.FOLD_ROW:
                pending.folds[first] = what
                pending.names[what] = True
            case queries.TEXT_ROW:
                if bytes(data) in wanted.texts[what] and pending.texts[what, bytes(data)] is None:
                    pending.texts[what, bytes(data)] = number
            case queries.RELEASE_ROW:
                pending.releases[what, first] = KnownRelease(number, second)
            case queries.TAKEDOWN_ROW:
                pending.reasons[what] = pending.reasons[what] or first
            case queries.RECOVERED_ROW:
                recovered.add(what)
    pending.keysets.update((namespace, tuple(entries)) for namespace, entries in keysets.items())
    return RegistryFacts(roots, sorted(recovered))


def _place(row: Sequence[int]) -> int:
    return row[2]
