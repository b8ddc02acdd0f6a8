"""Opens the registry that a command works on: its settings, database and sequencer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from registry_server.accounts import registry_keys
from registry_server.migrations import opening
from registry_server.sequencer.clock import steady_seconds
from registry_server.sequencer.cosigned_head import read_cosigned
from registry_server.sequencer.head_publication import check_contained
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.sealing import signers_under
from registry_server.sequencer.sequencer import Sequencer
from registry_server.settings import Settings, load
from registry_server.storage import database
from registry_server.storage.store_factory import public_objects, upload_objects
from rye.errors import RyeError
from rye.registry.protocol.statements import Checkpoint, Root


def settings_of(data: Path, flags: dict[str, object | None]) -> Settings:
    """Return the settings of the registry in ``data``; ``flags`` and the environment win over its file."""
    return load(data, flags, os.environ)


@contextmanager
def engine_of(settings: Settings, *, may_create: bool = False) -> Iterator[sa.Engine]:
    """The registry's database, closed at the end of the block. ``may_create``: whether a missing file is created."""
    engine = opening.open_database(settings, may_create=may_create)
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def reading(data: Path) -> Iterator[sa.Connection]:
    """A transaction that reads, and waits for no other."""
    with engine_of(settings_of(data, {})) as engine, database.reader(engine) as connection:
        yield connection


@contextmanager
def changing(data: Path) -> Iterator[sa.Connection]:
    """A transaction that changes tables outside the log."""
    with engine_of(settings_of(data, {})) as engine, database.change(engine) as connection:
        yield connection


@contextmanager
def sequencer_of(settings: Settings, *, accept_clock: bool = False) -> Iterator[Sequencer]:
    """A sequencer that can append to the log, with the log keys of the key folder. What it shows has the witnesses' lines that
    the database has now.

    ``accept_clock``: the operator vouches for this machine's clock.
    """
    with engine_of(settings) as engine:
        log_keys = registry_keys.in_folder(settings.keys, "log")
        stores = public_objects(settings), upload_objects(settings)
        sequencer = Sequencer(engine, *stores, log_keys, settings, steady=steady_seconds)
        sequencer.clock.accepted = accept_clock
        with database.reader(engine) as connection:
            sequencer.learn_cosigned(read_cosigned(connection))
        yield sequencer


def missing_key(settings: Settings, root: Root) -> RyeError | None:
    """Why no head can be signed under this root; None if the key folder has a log key that it lists."""
    try:
        signers_under(root, [key.signer for key in registry_keys.in_folder(settings.keys, "log")])
    except RyeError as error:
        return error
    return None


def contains(engine: sa.Engine, shown: Checkpoint) -> bool:
    """Whether the database now contains this tree."""
    try:
        with database.reader(engine) as connection:
            check_contained(Ledger(connection), shown)
    except RyeError:
        return False
    return True
