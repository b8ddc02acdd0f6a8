"""The keys that the user trusts (DESIGN §4): besides ``--trusted-key`` and pinned registries, the only source of trust.

``trusted-keys.toml`` in the user's config folder contains whole keys, each with a label, its source and its date. A key
is trusted from ``add`` until ``remove``; ``revoke`` keeps the entry, so that its signatures are told apart from unknown
ones. The whole file is refused if others can write it or if any part of it is not understood.

Key files inside a project or a package are :class:`Proposal` values. Only ``add`` turns one into trust.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError
from rye.limits import KEYS
from rye.signing.keys import KEY_FILE_FORMS, PublicKey, read_public_key, read_public_text
from rye.signing.signature_line import format_timestamp
from rye.storage import private_files
from rye.storage.places import TRUST_FILE_HEAD, TRUSTED_KEYS
from rye.storage.safe_files import file_lock, open_regular
from rye.text.toml_writing import quoted

PROPOSAL_FOLDERS = ("keys", ".ai/keys")
MAX_PROPOSALS = 100
_LOCK_SECONDS = 10.0
_FIELDS = {"fingerprint", "label", "source", "added", "revoked", "pem"}


class TrustedKey(Struct, frozen=True):
    """One entry. ``source`` says in words where the key came from; times are as in a signature line."""

    key: PublicKey
    label: str
    source: str
    added: str
    revoked: str | None = None
    """When the user revoked the key; None: it is trusted."""

    def as_json(self) -> dict[str, object]:
        """The entry in the JSON of ``rye trust list``."""
        return {
            "fingerprint": self.key.fingerprint,
            "key_id": self.key.key_id,
            "label": self.label,
            "source": self.source,
            "added": self.added,
            "revoked": self.revoked,
        }


class Proposal(Struct, frozen=True):
    """A key file in a project, which ``rye trust add`` can accept. ``key`` is None if it cannot be read."""

    path: Path
    key: PublicKey | None
    owner: str | None = None
    problem: str | None = None


class TrustStore:
    """The trust store in a config folder (:attr:`rye.storage.home.Home.config`)."""

    def __init__(self, folder: Path):
        self.path = folder / TRUSTED_KEYS

    def entries(self) -> tuple[TrustedKey, ...]:
        """Return all entries in the order they were added. Raises RyeError ``bad-trust-store``."""
        try:
            data = private_files.read_trusted_if_any(self.path)
        except private_files.Exposed as error:
            message = f"{error}, so nothing in it can be trusted."
            raise RyeError("bad-trust-store", message, f"Check its content, then run `{error.fix}`.") from error
        except OSError as error:
            raise self._unreadable(str(error)) from error
        if data is None:
            return ()
        if not data.strip():  # a store without keys has a comment
            raise self._unreadable("it is empty, and what it said of keys that you revoked is lost")
        if len(data) > KEYS.trust_file_bytes:
            raise self._unreadable(f"it is larger than {KEYS.trust_file_bytes:,} bytes")
        try:
            document = tomllib.loads(data.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise self._unreadable(str(error)[:200]) from None
        rows = document.pop("key", [])
        if document or not isinstance(rows, list):
            raise self._unreadable("it has something other than [[key]] tables")
        return tuple(self._entry(row) for row in rows)

    def trusted(self) -> tuple[PublicKey, ...]:
        """Return the trusted keys. Raises RyeError ``bad-trust-store``."""
        return tuple(entry.key for entry in self.entries() if entry.revoked is None)

    def revoked(self) -> tuple[PublicKey, ...]:
        """Return the revoked keys. Raises RyeError ``bad-trust-store``."""
        return tuple(entry.key for entry in self.entries() if entry.revoked is not None)

    def find(self, selector: str) -> TrustedKey:
        """Return the only entry with this fingerprint, key id or label.

        Raises RyeError ``unknown-key`` or ``ambiguous-key``.
        """
        matching = [entry for entry in self.entries() if selector in _names(entry)]
        if not matching:
            hint = "`rye trust list` shows the trusted keys."
            raise RyeError("unknown-key", f"No key in the trust store is called {selector!r}.", hint)
        if len(matching) > 1:
            listed = ", ".join(entry.key.fingerprint for entry in matching)
            raise RyeError("ambiguous-key", f"{selector!r} matches several keys: {listed}.", "Give the fingerprint.")
        return matching[0]

    def add(self, key: PublicKey, label: str, source: str, now: datetime) -> TrustedKey:
        """Trust a key; an already trusted one keeps its entry.

        Raises RyeError ``revoked-key``, ``bad-key``, ``invalid-value``.
        """
        if not label.strip() or not label.isprintable() or len(label) > 100:
            raise RyeError(
                "invalid-value",
                f"{label[:100]!r} cannot be a label.",
                "Use 1 to 100 printable characters.",
                what="label",
            )
        checked = PublicKey.from_raw(key.raw)
        with self._locked():
            entries = self.entries()
            present = next((entry for entry in entries if entry.key == checked), None)
            if present is not None and present.revoked is not None:
                message = f"The key {checked.fingerprint} was revoked on {present.revoked}."
                hint = f"To trust it again, run `rye trust remove {checked.fingerprint}` first."
                raise RyeError("revoked-key", message, hint)
            if present is not None:
                return present
            entry = TrustedKey(checked, label, source, format_timestamp(now))
            self._write((*entries, entry))
            return entry

    def remove(self, selector: str) -> TrustedKey:
        """Remove a key: its signatures are ``untrusted`` from now on."""
        with self._locked():
            gone = self.find(selector)
            self._write(entry for entry in self.entries() if entry != gone)
            return gone

    def revoke(self, selector: str, now: datetime) -> TrustedKey:
        """Mark a key as revoked: its signatures are ``revoked`` from now on. Revoking again keeps the first date."""
        with self._locked():
            entry = self.find(selector)
            if entry.revoked is not None:
                return entry
            revoked = replace(entry, revoked=format_timestamp(now))
            self._write(revoked if other == entry else other for other in self.entries())
            return revoked

    def revoke_unknown(self, key: PublicKey, label: str, source: str, now: datetime) -> TrustedKey:
        """Revoke a key that the store does not name: what it signed is ``revoked`` from now on.

        Raises RyeError ``bad-key``.
        """
        checked = PublicKey.from_raw(key.raw)
        with self._locked():
            others = [entry for entry in self.entries() if entry.key != checked]
            then = format_timestamp(now)
            revoked = TrustedKey(checked, label, source, then, then)
            self._write((*others, revoked))
            return revoked

    def _entry(self, row: object) -> TrustedKey:
        if not isinstance(row, dict) or set(row) - _FIELDS or not all(isinstance(value, str) for value in row.values()):
            raise self._unreadable(f"a [[key]] can only have text values for {', '.join(sorted(_FIELDS))}")
        if missing := _FIELDS - {"revoked"} - set(row):
            raise self._unreadable(f"a [[key]] has no {', '.join(sorted(missing))}")
        try:
            key = read_public_text(row["pem"])
        except RyeError as error:
            raise self._unreadable(error.message) from None
        if row["fingerprint"] != key.fingerprint:
            raise self._unreadable(f"the key of {row['label']!r} does not have the stated fingerprint")
        return TrustedKey(key, row["label"], row["source"], row["added"], row.get("revoked"))

    def _write(self, entries: Iterable[TrustedKey]) -> None:
        parts = [TRUST_FILE_HEAD]
        for entry in entries:
            values = (
                ("label", entry.label),
                ("fingerprint", entry.key.fingerprint),
                ("source", entry.source),
                ("added", entry.added),
                ("revoked", entry.revoked),
            )
            lines = (f"{name} = {quoted(value)}" for name, value in values if value is not None)
            parts.append("\n".join(("[[key]]", *lines, f'pem = """\n{entry.key.pem}"""')))
        private_files.write(self.path, "\n\n".join(parts) + "\n")

    def _locked(self) -> AbstractContextManager[object]:
        """Lock the store while it is read and written."""
        private_files.make_folder(self.path.parent)
        return file_lock(self.path.with_name(f".{TRUSTED_KEYS}.lock"), _LOCK_SECONDS)

    def _unreadable(self, why: str) -> RyeError:
        hint = "Fix the file, or delete it and add the keys again with `rye trust add`."
        return RyeError("bad-trust-store", f"{self.path} cannot be read: {why}.", hint)


def proposals(project: Path) -> tuple[Proposal, ...]:
    """Return the key files of a project, sorted by path: only regular files, no links, at most MAX_PROPOSALS."""
    paths = [
        path
        for folder in PROPOSAL_FOLDERS
        if (project / folder).is_dir() and not (project / folder).is_symlink()
        for path in sorted((project / folder).iterdir())
        if path.suffix in (".pem", ".pub", ".toml") and path.is_file() and not path.is_symlink()
    ]
    return tuple(_proposal(path) for path in paths[:MAX_PROPOSALS])


def read_key_file(path: Path) -> tuple[PublicKey, str | None]:
    """Return the key in a file that the user named (``--trusted-key``, ``rye trust add``), and the owner that it
    claims.

    Raises RyeError ``bad-key``, ``no-such-file``.
    """
    try:
        with open_regular(path) as file:
            found = read_public_key(file.read(KEYS.file_bytes + 1))
    except RyeError as error:
        raise RyeError(error.code, f"{path}: {error.message}", error.hint) from None
    except OSError as error:
        message = f"The key file {path} cannot be read: {error.strerror or error}."
        raise RyeError("no-such-file", message, KEY_FILE_FORMS) from None
    return found.key, found.owner


def _proposal(path: Path) -> Proposal:
    try:
        key, owner = read_key_file(path)
    except RyeError as error:
        return Proposal(path, None, problem=error.message)
    return Proposal(path, key, owner)


def _names(entry: TrustedKey) -> frozenset[str]:
    return entry.key.names | {entry.key.later_key_id, entry.label}
