"""What a domain or a repository says to prove that it and a namespace have the same owners. Pure.

* ``https://DOMAIN/.well-known/rye-namespaces.json``: ``{"namespaces": [{"namespace": "acme", "keyset": "<fingerprint>"}]}``
* a TXT record of ``_rye.DOMAIN``: ``rye-namespace=acme keyset=<fingerprint>``
* the file ``.rye-namespace`` at the root of a repository: a signed note, so that a copy in another repository proves nothing

Each names the namespace and the fingerprint of its keyset: the SHA-256 of the statement, which names the registry and all
keys. So it proves nothing for another registry, another namespace or other keys.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from rye.errors import RyeError
from rye.registry.protocol import lines, notes
from rye.registry.protocol.lines import Lines
from rye.registry.protocol.notes import NoteError
from rye.registry.protocol.statements import Statement
from rye.registry.protocol.statements.owners import read_repository
from rye.registry.trust.keysets import Link
from rye.text.json_reading import JsonError, read_typed_json

WELL_KNOWN = "/.well-known/rye-namespaces.json"
RECORD_HOST = "_rye"
REPOSITORY_FILE = ".rye-namespace"

Outcome = Literal["found", "stale", "gone", "unreachable"]
"""``found``: the place names the namespace and the keyset in force. ``stale``: it names the namespace with another fingerprint.
``gone``: it answered, and does not name it. ``unreachable``: it could not be asked, or its answer is not to be read."""


class ProofCheck(Struct, frozen=True):
    """What was seen at a place."""

    outcome: Outcome
    detail: str
    """One sentence for people."""


class _Named(Struct, frozen=True, forbid_unknown_fields=True):
    namespace: Annotated[str, Meta(max_length=64)]
    keyset: Annotated[str, Meta(max_length=64)]


class _WellKnown(Struct, frozen=True, forbid_unknown_fields=True):
    namespaces: Annotated[list[_Named], Meta(max_length=1000)]


class RepositoryFile(Statement, frozen=True):
    """``rye.repository/v1``: the signed text of ``.rye-namespace``. It is never in a log."""

    TITLE = "rye.repository/v1"
    namespace: str
    repository: str
    keyset: int
    fingerprint: str

    def lines(self) -> list[str]:
        """The lines in the order of the grammar."""
        return [
            f"origin {self.origin}",
            f"namespace {self.namespace}",
            f"repository {self.repository}",
            f"keyset {self.keyset}",
            f"fingerprint {self.fingerprint}",
        ]

    @classmethod
    def read(cls, source: Lines) -> RepositoryFile:
        """Read the lines."""
        return cls(
            origin=source.one("origin", lines.read_origin),
            namespace=source.one("namespace", lines.read_namespace),
            repository=source.one("repository", read_repository),
            keyset=source.one("keyset", lines.read_positive),
            fingerprint=source.one("fingerprint", lines.read_hash),
        )


def well_known_file(namespace: str, link: Link) -> str:
    """Return the file for a domain, for this namespace alone."""
    return f'{{"namespaces": [{{"namespace": "{namespace}", "keyset": "{link.sha256}"}}]}}\n'


def record(namespace: str, link: Link) -> str:
    """Return the text of the TXT record."""
    return f"rye-namespace={namespace} keyset={link.sha256}"


def repository_file(link: Link, repository: str) -> RepositoryFile:
    """Return the statement whose signed note is the file for a repository."""
    keyset = link.keyset
    return RepositoryFile(keyset.origin, keyset.namespace, repository, keyset.number, link.sha256)


def judge_well_known(data: bytes, namespace: str, link: Link) -> ProofCheck:
    """What the file of a domain says."""
    try:
        named = read_typed_json(data, _WellKnown).namespaces
    except JsonError:
        return ProofCheck("gone", f"{WELL_KNOWN} is not of the form that proves a namespace.")
    found = [entry.keyset for entry in named if entry.namespace == namespace]
    return _judge(found, link, WELL_KNOWN, f"{WELL_KNOWN} does not name {namespace}.")


def judge_records(texts: Sequence[str], namespace: str, link: Link) -> ProofCheck:
    """What the TXT records of a domain say. Other records, of other programs, are none of ours."""
    form = re.compile(rf"rye-namespace={re.escape(namespace)} keyset=([0-9a-f]{{64}})")
    found = [match[1] for text in texts if (match := form.fullmatch(text))]
    return _judge(found, link, "A TXT record", f"No TXT record names {namespace}.")


def judge_repository_file(data: bytes, namespace: str, repository: str, link: Link) -> ProofCheck:
    """What the file at the root of a repository says, and whether a key of the namespace signed it."""
    try:
        note = notes.parse(data)
        said = RepositoryFile.parse(note.text)
    except (NoteError, RyeError):
        return ProofCheck("gone", f"{REPOSITORY_FILE} is not a signed file that proves a namespace.")
    if (said.origin, said.namespace) != (link.keyset.origin, namespace):
        return ProofCheck("gone", f"{REPOSITORY_FILE} is about the namespace {said.namespace} of {said.origin}.")
    if said.repository != repository:
        return ProofCheck("gone", f"{REPOSITORY_FILE} is for {said.repository}: a copy proves nothing.")
    if said.fingerprint != link.sha256:
        return _judge([said.fingerprint], link, REPOSITORY_FILE, "")
    try:
        notes.verify(note, link.keys)
    except NoteError:
        return ProofCheck("gone", f"{REPOSITORY_FILE} is not signed by a key of the namespace.")
    return ProofCheck("found", f"{REPOSITORY_FILE} names {namespace} and its keys.")


def _judge(fingerprints: Sequence[str], link: Link, where: str, absent: str) -> ProofCheck:
    namespace = link.keyset.namespace
    if link.sha256 in fingerprints:
        return ProofCheck("found", f"{where} names {namespace} and its keys.")
    if fingerprints:
        return ProofCheck("stale", f"{where} names {namespace} with the fingerprint of other keys.")
    return ProofCheck("gone", absent)
