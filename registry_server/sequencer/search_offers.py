"""What search offers for each name: the newest release that clients accept.

It is stored outside the log and computed from it: ``rye-registry verify`` computes it again and compares.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

import sqlalchemy as sa

from registry_server.search import documents as search
from registry_server.sequencer import queries
from registry_server.storage.statement_batch import StatementBatch
from rye.items.identity import Identity
from rye.registry.protocol.statements import Root
from rye.registry.protocol.wire import IndexLine
from rye.registry.trust.keysets import KeysetChain
from rye.registry.trust.owners import Owners
from rye.registry.trust.records import ItemHistory, ReleaseRecord, judge
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import read_line
from rye.resolution.versions import Version, comparable


class LogView(Protocol):
    """What these functions read of one transaction's :class:`~registry_server.sequencer.ledger.Ledger`."""

    connection: sa.Connection

    def flush(self) -> None:
        """Write the rows that wait."""

    def chain(self, namespace: str) -> KeysetChain:
        """Return the keysets of a namespace, verified."""

    def roots(self) -> list[Root]:
        """Return all root statements, in order."""

    def index_lines(self, wanted: Iterable[str]) -> Iterator[tuple[str, list[IndexLine]]]:
        """Yield each name with all lines of its index file."""

    def unwritten_releases(self) -> Sequence[Mapping[str, Any]]:
        """Return the rows of ``releases`` that are not in the table yet."""


def refresh(ledger: LogView, name: str, now: datetime) -> None:
    """Update the withdrawn releases of a name, its deprecation and its search entry to what clients read in its
    index.
    """
    ledger.flush()
    try:
        judged = _judged(ledger, name, now)
    except TrustError:
        return  # clients refuse the whole history; `verify` reports it
    withdrawn = {record.version for record in judged.records if record.is_withdrawn}
    queries.DEPRECATE.run(ledger.connection, {"which": name, "is_deprecated": judged.deprecation is not None})
    for version, before in queries.WITHDRAWN.rows(ledger.connection, {"name": name}):
        if bool(before) != (version in withdrawn):
            queries.WITHDRAW.run(ledger.connection, {"which": name, "one": version, "withdrawn": version in withdrawn})
    changes = StatementBatch()
    offer(ledger, [name], changes)
    changes.run(ledger.connection)


def refresh_namespace(ledger: LogView, namespace: str, now: datetime) -> None:
    """Refresh all names of a namespace, after one of its keys was revoked."""
    ledger.flush()
    for (name,) in queries.NAMES_OF_RELEASES.rows(ledger.connection, {"pattern": f"%:{like(namespace)}/%"}):
        refresh(ledger, name, now)


def history(ledger: LogView, name: str, now: datetime) -> tuple[ReleaseRecord, ...]:
    """Return the releases of a name as clients see them; none if they refuse its whole history."""
    try:
        return _judged(ledger, name, now).records
    except TrustError:
        return ()


def item_histories(ledger: LogView, names: Iterable[str], now: datetime) -> Iterator[ItemHistory]:
    """Yield everything in the log about each of these names, as clients see it, without those of which they refuse the whole
    history. The lines of many names are read at once."""
    for name, lines in ledger.index_lines(names):
        try:
            yield _judged(ledger, name, now, lines)
        except TrustError:
            continue


def offer(ledger: LogView, some: Sequence[str], changes: StatementBatch, new: frozenset[str] = frozenset()) -> None:
    """Rebuild the search entries of some names: the newest release that is not withdrawn, or nothing.

    ``changes``: what the ledger writes together with them. ``new``: those of the names that are in no table yet.
    """
    wanted = set(some)
    offered_releases: dict[str, list[_Offered]] = {name: [] for name in some}
    deprecated = dict.fromkeys(some, False)
    written = sorted(wanted - new)
    for name, is_deprecated, *release in queries.OFFERED.rows(ledger.connection, {"some": written}) if written else ():
        deprecated[name] = bool(is_deprecated)
        if release[0] is not None:
            offered_releases[name].append(_Offered(*release))
    for row in ledger.unwritten_releases():
        if row["name"] in wanted and not row["yanked"]:
            offered_releases[row["name"]].append(
                _Offered(row["version"], row["description"], row["keywords"], row["position"])
            )
    offered = []
    for name, releases in offered_releases.items():
        if releases:
            latest = max(releases, key=lambda release: (rank(release.version), -release.position))
            kind, _, identifier = name.partition(":")
            offered.append(
                search.SearchDocument(
                    kind, identifier, latest.version, latest.description, latest.keywords, deprecated[name]
                )
            )
    search.replace(ledger.connection, written, offered, changes)


class _Offered(NamedTuple):
    version: str
    description: str
    keywords: str
    position: int


def rank(version: str) -> tuple[bool, Version]:
    """The order of versions in search: stable before pre-release, then by precedence; incomparable versions last."""
    parsed = comparable(version)
    return (not parsed.is_prerelease, parsed) if parsed is not None else (False, Version.of(0, 0, 0, "0"))


def _judged(ledger: LogView, name: str, now: datetime, lines: Sequence[IndexLine] | None = None) -> ItemHistory:
    """``lines``: those of the name's index file, if already read."""
    kind, _, identifier = name.partition(":")
    identity = Identity(kind, identifier)
    if lines is None:
        lines = dict(ledger.index_lines([name])).get(name, [])
    entries = [read_line(line, name) for line in lines]
    return judge(identity, entries, ledger.chain(identity.namespace), Owners(tuple(ledger.roots())), now)


def like(text: str) -> str:
    """Escape a literal part of a LIKE pattern: names can contain ``_``."""
    return text.replace("!", "!!").replace("_", "!_").replace("%", "!%")
