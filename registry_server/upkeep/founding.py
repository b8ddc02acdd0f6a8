"""Creating a registry, and its later root statements: who owns it and which keys sign its log.

An owner's key can be kept on another machine: the root statement is drafted here, carried to each owner, signed there
with ``rye-registry root sign``, carried back and published. Only the log's key has to be on the server.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shlex import quote

import sqlalchemy as sa
from msgspec.structs import replace

from registry_server.accounts import registry_keys
from registry_server.accounts.registry_keys import PrivateKey
from registry_server.migrations import opening
from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.clock import steady_seconds
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.sequencer import Receipt, Sequencer
from registry_server.settings import SETTINGS_FILE, Settings
from registry_server.storage import database
from registry_server.storage.schema import log_entries, registry
from registry_server.storage.store_factory import public_objects, upload_objects
from rye.errors import RyeError
from rye.registry.protocol import notes, statements, wire
from rye.registry.protocol.lines import read_origin
from rye.registry.protocol.notes import SignedNote
from rye.registry.protocol.statements import Root, root_key_name

_SETTINGS_TEXT = (
    "# Settings of this registry; docs/reference/registry-settings.md lists them all.\n"
    "# Flags and RYE_REGISTRY_… win over this file.\n"
)


def found(
    data: Path,
    origin: str,
    values: dict[str, str],
    root_key_out: Path | None,
    root_days: int,
    unwritten: Mapping[str, object] = {},
) -> Root:
    """Create a registry in the folder ``data``, all or nothing; returns its root 1. Raises RyeError.

    ``values`` are settings to write into ``registry.toml``; ``unwritten`` ones, such as secrets from the environment,
    are used but not written. With ``root_key_out`` the owner's key is written there and never into the data folder.
    """
    try:
        read_origin(origin)
    except RyeError as error:
        raise RyeError(
            "invalid-value",
            f"{origin!r} is not an origin.",
            "It is the registry's permanent name: lower case, like a host name, e.g. registry.example.org",
            what="origin",
        ) from error
    if (data / SETTINGS_FILE).exists():
        raise RyeError(
            "registry-exists",
            f"There is already a registry in {data}.",
            f"Serve it with `rye-registry serve --data {quote(str(data))}`, or choose another folder with --data.",
        )
    if data.exists() and (not data.is_dir() or any(data.iterdir())):
        raise RyeError("folder-not-empty", f"{data} is not empty.", "Choose another folder with --data.")
    data.parent.mkdir(parents=True, exist_ok=True)
    building = data.parent / f".{data.name}.{os.getpid()}.new"
    building.mkdir(mode=0o755)
    try:
        root = _fill(Settings(data=building, **{**unwritten, **values}), origin, root_key_out, root_days)  # type: ignore[arg-type]
        toml = "".join(f"{name} = {_quoted(value)}\n" for name, value in values.items())
        (building / SETTINGS_FILE).write_text(_SETTINGS_TEXT + toml, encoding="utf-8")
        if data.exists():
            data.rmdir()
        os.replace(building, data)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return root


def _fill(settings: Settings, origin: str, root_key_out: Path | None, root_days: int) -> Root:
    settings.keys.mkdir(mode=0o700)
    owner, log = PrivateKey.generate(root_key_name(origin)), PrivateKey.generate(origin)
    now = datetime.now(UTC).replace(microsecond=0)
    expires = now + timedelta(days=root_days)
    root = Root(origin, 1, None, now, expires, 1, (owner.verifier.key,), (log.verifier.key,))
    note = notes.sign(root.text(), [owner.signer])
    public = public_objects(settings)
    if public.get("head") is not None or public.get("checkpoint") is not None:
        raise RyeError(
            "registry-exists",
            "The store already contains a registry.",
            "Choose an empty folder or prefix. To restore that registry: rye-registry restore --from store",
        )
    engine = opening.open_database(settings, may_create=True)
    try:
        with database.writer(engine) as connection:
            if connection.execute(registry.select()).first() is not None:
                raise RyeError(
                    "registry-exists", "The database already contains a registry.", "Choose an empty database."
                )
            connection.execute(registry.insert().values(key="origin", value=origin))
        registry_keys.write(settings.keys / registry_keys.file_name("log", log), log)
        registry_keys.write(root_key_out or settings.keys / registry_keys.file_name("root", owner), owner)
        # First, so that an unwritable store is noticed before the database has a log.
        public.put("config.json", wire.encode_config(wire.Config(wire.PROTOCOL_VERSION, origin, settings.api)))
        sequencer = Sequencer(engine, public, upload_objects(settings), [log], settings, steady=steady_seconds)
        _accepted(sequencer, note, root)
    except RyeError as error:
        if error.code != "registry-exists":
            _unfound(engine)
        raise
    finally:
        engine.dispose()
    return root


def _unfound(engine: sa.Engine) -> None:
    """Remove the origin from a database whose registry was not created, so that `init` can be run again."""
    with database.writer(engine) as connection:
        if connection.scalar(sa.select(log_entries.c.position).limit(1)) is None:
            connection.execute(registry.delete())


def draft(
    ledger: Ledger,
    *,
    add_owners: Sequence[bytes] = (),
    remove_owners: Sequence[bytes] = (),
    add_logs: Sequence[bytes] = (),
    remove_logs: Sequence[bytes] = (),
    threshold: int | None = None,
    days: int,
) -> Root:
    """Return the next root statement, unsigned: the last one with these changes.

    Raises RyeError ``unknown-key`` and the grammar's.
    """
    last = ledger.roots()[-1]
    for key, owned in [*((key, last.owners) for key in remove_owners), *((key, last.logs) for key in remove_logs)]:
        if key not in owned:
            raise RyeError(
                "unknown-key", "A key to remove is not in the root.", "`rye-registry root show` lists the keys."
            )
    now = datetime.now(UTC).replace(microsecond=0)
    owners = {*last.owners, *add_owners} - set(remove_owners)
    logs = {*last.logs, *add_logs} - set(remove_logs)
    root = replace(
        last,
        number=last.number + 1,
        previous=last.sha256(),
        time=max(now, last.time),
        expires=max(now, last.time) + timedelta(days=days),
        threshold=threshold or last.threshold,
        owners=tuple(owners),
        logs=tuple(logs),
    )
    root.text()  # raises if the grammar does not allow it
    return root


def read_draft(text: str) -> tuple[str, SignedNote | None]:
    """Return a statement's text, from a draft or from a note that others have already signed. Raises RyeError."""
    if "\n\n" in text:
        note = notes.parse(text)
        statements.parse(note.text)
        return note.text, note
    statements.parse(text)
    return text, None


def add_signature(text: str, key: PrivateKey) -> SignedNote:
    """Sign a draft, or add a signature to the note of a root, a recovery or an advisory.

    Raises RyeError ``wrong-key``.
    """
    statement_text, note = read_draft(text)
    statement = statements.parse(statement_text)
    if key.name != root_key_name(statement.origin):
        raise RyeError(
            "wrong-key",
            f"This is a key of {key.name}, but the statement needs an owner's key: {root_key_name(statement.origin)}.",
            "Use the owner's key of this registry.",
        )
    if note is None:
        return notes.sign(statement_text, [key.signer])
    return notes.add_signatures(note, [key.signer])


def publish(sequencer: Sequencer, text: str) -> Root:
    """Append a root with the signatures of enough owners. Raises RyeError, ``root-signatures`` for one without any."""
    if "\n\n" not in text and isinstance(statements.parse(text), Root):
        raise RyeError(
            "root-signatures",
            "No owner has signed this root yet.",
            "Each owner signs it: rye-registry root sign FILE --key KEY",
        )
    note = notes.parse(text)
    root = Root.parse(note.text)
    _accepted(sequencer, note, root)
    return root


def _accepted(sequencer: Sequencer, note: SignedNote, root: Root) -> None:
    outcome = sequencer.append([[Candidate(note, root)]])[0]
    if not isinstance(outcome, Receipt):
        raise outcome


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
