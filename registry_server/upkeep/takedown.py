"""Permanent removal of files: owners sign one takedown statement for each release that contains the file.

The log keeps the releases, whose notes contain hashes and no content. The statement is in the item's index, so every
client learns why a file is missing. The bytes leave the store once the statement is in a signed checkpoint, and are
never accepted again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from registry_server.accounts.registry_keys import PrivateKey
from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.sequencer import Receipt, Sequencer
from registry_server.upkeep.founding import add_signature, read_draft
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.protocol import notes, statements
from rye.registry.protocol.statements import Release, Takedown
from rye.registry.protocol.wire import index_name

_SHA256 = re.compile(r"[0-9a-f]{64}")
_RELEASE = re.compile(r"([a-z]+):([a-z0-9_/-]+)@(\S+)")


@dataclass(frozen=True, slots=True)
class TakedownPlan:
    """The statements of a takedown, and the files of the release that stay because other releases contain them."""

    statements: tuple[Takedown, ...]
    shared: tuple[str, ...]
    """SHA-256 of each. A takedown by this hash removes the file from all releases."""


def plan(ledger: Ledger, target: str, reason: str, now: datetime | None = None) -> TakedownPlan:
    """Draft the statements for ``KIND:ID@VERSION`` or a SHA-256. Raises RyeError ``blob-unknown``,
    ``release-unknown``, ``files-shared``.
    """
    when = (now or datetime.now(UTC)).replace(microsecond=0)
    if _SHA256.fullmatch(target):
        named = [release for release in releases_of(ledger) if target in files_of(release)]
        if not named:
            raise RyeError(
                "blob-unknown", f"No release contains the file {target}.", "`rye info ID` shows an item's files."
            )
        statements = [statement_about(release, [target], when, reason) for release in named]
        return TakedownPlan(tuple(statements), ())
    match = _RELEASE.fullmatch(target)
    release = _release(ledger, match) if match else None
    if release is None:
        raise RyeError(
            "release-unknown",
            f"There is no release {target[:200]!r}.",
            "Give KIND:NAMESPACE/…/NAME@VERSION, or a file's SHA-256.",
        )
    elsewhere: set[str] = set()
    for other in releases_of(ledger):
        if (other.identity, other.version) != (release.identity, release.version):
            elsewhere.update(files_of(other))
    wanted = [sha256 for sha256 in files_of(release) if sha256 not in elsewhere]
    shared = tuple(sorted(set(files_of(release)) & elsewhere))
    if not wanted:
        raise RyeError(
            "files-shared",
            f"Other releases contain all files of {target} as well.",
            f"Take a file down from all of them by its hash: rye-registry takedown {shared[0]} --reason TEXT",
        )
    return TakedownPlan((statement_about(release, wanted, when, reason),), shared)


def signed(takedowns: Iterable[Takedown], owners: Sequence[PrivateKey]) -> list[str]:
    """Return the statements as notes, signed by each of these owners. Raises RyeError."""
    signed_notes = []
    for takedown in takedowns:
        text = takedown.text()
        for key in owners:
            text = add_signature(text, key).encode()
        signed_notes.append(text)
    return signed_notes


def read(texts: Sequence[str]) -> list[tuple[Candidate, Takedown]]:
    """Read signed takedowns. Raises RyeError ``not-signed``, ``wrong-statement``."""
    candidates = []
    for text in texts:
        _, note = read_draft(text)
        if note is None:
            raise RyeError(
                "not-signed", "The takedown is not signed.", "Each owner signs it: rye-registry root sign FILE"
            )
        statement = statements.parse(note.text)
        if not isinstance(statement, Takedown):
            raise RyeError(
                "wrong-statement",
                f"The file contains another statement: {statement.TITLE}.",
                "Create one: rye-registry takedown TARGET --reason TEXT --draft FILE",
                what="takedown",
            )
        candidates.append((Candidate(note, statement), statement))
    return candidates


def publish(sequencer: Sequencer, texts: Sequence[str]) -> list[Takedown]:
    """Append signed takedowns, all or none, and remove the files. Raises what :func:`read` raises, and the log's errors."""
    candidates = read(texts)
    outcome = sequencer.append([[candidate for candidate, _ in candidates]])[0]
    if not isinstance(outcome, Receipt):
        raise outcome
    sequencer.remove_taken_down(sha256 for _, statement in candidates for sha256 in statement.files)
    return [statement for _, statement in candidates]


def refuse_uncovered(ledger: Ledger, asked: Sequence[Takedown], *, is_done: bool = False) -> None:
    """Check that every release that has a file which goes is among the statements. Only then does the release's index say why the
    file is missing, and do those who keep copies delete them. One that was published after the draft would lose it unexplained.

    ``is_done``: the statements are in the log. Raises RyeError ``files-shared``.
    """
    covered = {(one.identity, one.version, sha256) for one in asked for sha256 in one.files}
    going = {sha256 for _, _, sha256 in covered}
    for release in releases_of(ledger):
        for sha256 in going.intersection(files_of(release)):
            if (release.identity, release.version, sha256) not in covered:
                done = "was published meanwhile and has" if is_done else "has"
                end = ". All else is done" if is_done else ", so nothing was taken down"
                raise RyeError(
                    "files-shared",
                    f"{release.identity} {release.version} {done} the file {sha256} as well{end}.",
                    f"Take it down from all of them, with all statements at once: rye-registry takedown {sha256} --reason TEXT",
                )


def statement_about(release: Release, files: Sequence[str], now: datetime, reason: str) -> Takedown:
    """Draft the statement that takes files of a release down. Raises StatementError for a reason that the grammar refuses."""
    # Never earlier than the release: clients go by the log's order, but people read the times.
    time = max(now, release.time)
    takedown = Takedown(release.origin, release.identity, release.version, tuple(sorted(set(files))), time, reason)
    takedown.text()  # raises if the grammar does not allow it
    return takedown


def _release(ledger: Ledger, match: re.Match[str]) -> Release | None:
    try:
        identity = Identity(match[1], match[2])
    except (RyeError, ValueError):
        return None
    row = ledger.release(index_name(identity), match[3])
    if row is None:
        return None
    release = statements.parse(notes.parse(ledger.leaves(row.position, row.position + 1)[0]).text)
    return release if isinstance(release, Release) else None


def placed_releases_of(ledger: Ledger) -> Iterator[tuple[int, Release]]:
    """Yield all releases with their positions, in the order of the log."""
    for position, leaf in ledger.titled(Release.TITLE):
        release = statements.parse(notes.parse(leaf).text)
        if isinstance(release, Release):
            yield position, release


def releases_of(ledger: Ledger) -> Iterator[Release]:
    """Yield all releases, in the order of the log."""
    return (release for _, release in placed_releases_of(ledger))


def files_of(release: Release) -> list[str]:
    """Return the hashes of a release's files."""
    return [release.file.sha256, *(entry.sha256 for entry in release.attached)]
