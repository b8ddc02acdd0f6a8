"""The checks of a request that need no lock: authority, signatures in files, content. Threads and workers run them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from types import MappingProxyType

import sqlalchemy as sa

from registry_server.accounts import blob_owners
from registry_server.accounts.quotas import NamespaceRoom
from registry_server.accounts.scopes import scope_of
from registry_server.accounts.tokens import Account
from registry_server.sequencer.acceptance import Candidate, examine, namespace_of, read_note
from registry_server.sequencer.chains import chains_of
from registry_server.settings import Settings
from registry_server.storage.objects import Objects
from rye.errors import RyeError
from rye.registry.protocol import wire
from rye.registry.protocol.statements import Keyset, Release
from rye.signing.keys import PublicKey


class Examination:
    """Checks statements and the bytes that they refer to."""

    def __init__(self, engine: sa.Engine, origin: str, public: Objects, uploads: Objects, settings: Settings) -> None:
        self._engine = engine
        self._origin = origin
        self._public = public
        self._uploads = uploads
        self._settings = settings
        self._room = NamespaceRoom(settings)

    def read(self, texts: Sequence[str]) -> list[Candidate]:
        """Check the statements by themselves. Raises RyeError for the first fault."""
        now = datetime.now(UTC)
        return [read_note(text, self._origin, now, self._settings.clock_skew_seconds) for text in texts]

    def look_into(
        self,
        account: Account,
        candidates: Sequence[Candidate],
        scopes: Sequence[str] = (),
        sent: Mapping[str, bytes] = MappingProxyType({}),
        *,
        keeps: bool = False,
    ) -> list[Candidate]:
        """Check the statements and their files. ``scopes``: the token needs one of these; empty: whatever each
        statement needs. ``sent``: files of this request by their SHA-256; others are read from the store. ``keeps``: whether
        these are kept as uploads, once nothing is wrong with them.

        Raises RyeError for the first fault.
        """
        now = datetime.now(UTC)
        keys_of: dict[str, list[PublicKey]] = {}
        namespaces = {namespace_of(candidate.statement) or "" for candidate in candidates}
        chains = chains_of(self._engine, self._origin, sorted(namespaces))
        for candidate in candidates:
            namespace = namespace_of(candidate.statement) or ""
            self._check_authority(account, not chains[namespace].links, candidate, scopes)
            if namespace not in keys_of:
                current = chains[namespace].current(now)
                keys_of[namespace] = list(current.keyset.accepted_keys()) if current else []
            if isinstance(candidate.statement, Keyset):
                # The new keyset's demands first: of two keys with the same bytes, the first counts.
                keys_of[namespace] = [*candidate.statement.accepted_keys(), *keys_of[namespace]]
        self._room.check(self._engine, [each.statement for each in candidates if isinstance(each.statement, Release)])
        examined = [
            examine(
                candidate,
                partial(self._readable_blob, account, sent),
                keys_of[namespace_of(candidate.statement) or ""],
            )
            for candidate in candidates
        ]
        if keeps:
            self._keep(sent)
        return examined

    def _keep(self, files: Mapping[str, bytes]) -> None:
        """Keep files until the batch that publishes them, except public ones: when a request is sent again, no batch would."""
        for sha256, data in files.items():
            if self._public.get(wire.blob_path(sha256)) != data:
                self._uploads.put_soon(sha256, data)  # durable before the batch that publishes it is committed

    def read_blob(self, sha256: str) -> bytes | None:
        """Return an uploaded or published blob; None if it does not exist."""
        data = self._uploads.get(sha256)
        return data if data is not None else self._public.get(wire.blob_path(sha256))

    def _readable_blob(self, account: Account, sent: Mapping[str, bytes], sha256: str) -> bytes | None:
        """Like :meth:`read_blob`, without published bytes that the account may not read: releasing them would reveal
        them."""
        data = sent.get(sha256)
        if data is None:
            data = self._uploads.get(sha256)
        if data is None and self._settings.read == "namespaces" and account.readable is not None:
            owners = blob_owners.owners(self._engine, sha256)
            if not any(account.may_read(namespace) for namespace in owners):
                return None
        return data if data is not None else self._public.get(wire.blob_path(sha256))

    def _check_authority(self, account: Account, is_free: bool, candidate: Candidate, scopes: Sequence[str]) -> None:
        """Check scope and namespace. ``is_free``: no one has claimed the namespace. Raises RyeError
        ``insufficient-scope``, ``wrong-namespace``, ``claims-closed``."""
        require_scope(account, *(scopes or (scope_of(candidate.statement),)))
        namespace = namespace_of(candidate.statement) or ""
        may_claim = is_free and self._settings.open_claims and account.is_bound_to(namespace)
        if not account.may_write(namespace) and not may_claim:
            raise RyeError("wrong-namespace", _not_for(account, namespace), _hint_for(account, namespace))
        if not self._settings.open_claims and not account.namespaces and account.account is None and is_free:
            raise RyeError(
                "claims-closed",
                f"No one has claimed {namespace}, and on this registry the operator assigns namespaces.",
                f"Ask its operator for a token: rye-registry token create NAME --namespace {namespace}",
            )


def by_hash(files: Sequence[bytes]) -> dict[str, bytes]:
    """The files by their SHA-256."""
    return {hashlib.sha256(data).hexdigest(): data for data in files}


def require_scope(account: Account, *scopes: str) -> None:
    """Require one of these scopes of the token. Raises RyeError ``insufficient-scope``."""
    if not any(account.has(scope) for scope in scopes):
        raise RyeError(
            "insufficient-scope",
            f"The token {account.name} has the scopes {', '.join(account.scopes)}; this needs {' or '.join(scopes)}.",
            f"Ask the operator for a token with it: rye-registry token create NAME --scope {scopes[0]}",
        )


def _not_for(account: Account, namespace: str) -> str:
    if not account.is_bound_to(namespace):
        return f"The token {account.name} is for {', '.join(account.namespaces)}, not for {namespace}."
    return f"The account of the token {account.name} has no role that allows publishing in {namespace}."


def _hint_for(account: Account, namespace: str) -> str:
    if not account.is_bound_to(namespace):
        return f"Use a token for {namespace}: rye-registry token create NAME --namespace {namespace}"
    return f"The operator gives it one: rye-registry role add {namespace} --account NAME --role publisher"
