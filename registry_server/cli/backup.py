"""``rye-registry backup`` and ``restore``: the whole registry to one folder, and back."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

import click
import sqlalchemy as sa

from registry_server.accounts import registry_keys
from registry_server.cli.options import Output, data_option, json_option, pass_output
from registry_server.cli.registry_access import contains, engine_of, missing_key, settings_of
from registry_server.migrations import opening
from registry_server.sequencer.ledger import Ledger
from registry_server.settings import SETTINGS_FILE, Settings, from_environment, from_file
from registry_server.storage import database
from registry_server.storage.objects import Objects
from registry_server.storage.store_factory import public_objects
from registry_server.upkeep import audit, restoring, sources
from registry_server.upkeep import backup as backups
from registry_server.upkeep.sources import MANIFEST
from rye.errors import RyeError, UsageError
from rye.limits import KIB
from rye.registry.protocol import wire
from rye.storage.atomic import replace_file

_SETTINGS_BYTES = 256 * KIB
PASSPHRASE = "RYE_REGISTRY_PASSPHRASE"


@click.command("backup")
@click.argument("out", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--with-keys", is_flag=True, help=f"Include the private keys, sealed under {PASSPHRASE} or a prompted passphrase."
)
@data_option
@json_option
@pass_output
def backup(output: Output, out: Path, with_keys: bool, data: Path) -> None:
    """Back up the registry to the folder OUT, while it runs. Incremental: only new blobs are copied."""
    settings = settings_of(data, {})
    passphrase = _passphrase(twice=True) if with_keys else None
    with engine_of(settings) as engine:
        written = backups.write(settings, engine, public_objects(settings), out, passphrase)
    document: dict[str, object] = {
        "directory": str(out),
        "size": written.size,
        "blobs": written.blobs,
        "new": written.new_blobs,
        "keys": written.keys,
    }
    output.result(
        document, f"{out} contains {written.size} log entries and {written.blobs} blobs ({written.new_blobs} new)."
    )
    if not with_keys:
        output.say("It does not contain the private keys: keep a copy of keys/ elsewhere, or use --with-keys.")
    else:
        keys = f"{written.keys} private key{'' if written.keys == 1 else 's'}"
        output.say(f"It contains {keys}, sealed under the passphrase: nobody can open them without it, you neither.")


@click.command("restore")
@click.option(
    "--from",
    "source",
    required=True,
    help="A backup, a mirror, an export or an address; `store` for the registry's own static files.",
)
@click.option(
    "--fingerprint", help="The fingerprint of root 1, as you publish it. Recommended if the database is empty."
)
@click.option(
    "--with-keys",
    is_flag=True,
    help=f"Also restore the sealed keys of a backup, with {PASSPHRASE} or a prompted passphrase.",
)
@data_option
@json_option
@pass_output
def restore(output: Output, source: str, fingerprint: str | None, with_keys: bool, data: Path) -> None:
    """Replay the log and blobs of a copy into an empty or older database. Everything is verified before anything is written."""
    planned = _planned(data, Path(source))
    resumed = None
    if not opening.is_blank(planned):
        with engine_of(planned) as engine:
            resumed = restoring.known_fingerprint(engine)
    if resumed is not None and fingerprint not in (None, resumed):
        raise RyeError(
            "wrong-fingerprint", f"The database's root has the fingerprint {resumed}.", "Check --fingerprint."
        )
    with sources.open_source(source, planned, public_objects(planned)) as opened:
        checked = sources.check(opened, resumed or fingerprint)
        sealed = _unsealed(Path(source)) if with_keys else []
        settings = _prepare(data, Path(source), sealed)
        public = public_objects(settings)
        with engine_of(settings, may_create=True) as engine:
            done = restoring.restore(engine, public, checked)
            problems, can_sign = _look(engine, public, settings, done.origin)
    document: dict[str, object] = {
        "ok": not problems,
        "origin": done.origin,
        "fingerprint": done.fingerprint,
        "size": done.size,
        "entries": done.entries,
        "blobs": done.blobs,
        "problems": problems,
    }
    text = f"{done.origin} has {done.size} log entries; {done.entries} of them and {done.blobs} blobs were restored."
    output.result(document, "\n".join([text, f"Fingerprint of its root: {done.fingerprint}", *problems]))
    if not can_sign:
        output.say(
            f"warning: {settings.keys} contains no log key of this registry. Put it there before you run `rye-registry serve`."
        )
    if problems:
        output.say("hint: `rye-registry rebuild` writes the static files again.")
        sys.exit(1)


def _look(engine: sa.Engine, public: Objects, settings: Settings, origin: str) -> tuple[list[str], bool]:
    """Finish the restored registry; return the problems that `verify` finds, and whether a key of its log is here."""
    if public.get("config.json") is None:
        public.put("config.json", wire.encode_config(wire.Config(wire.PROTOCOL_VERSION, origin, settings.api)))
    seen = audit.look(public)
    with database.reader(engine) as connection:
        ledger = Ledger(connection)
        problems = audit.verify(ledger, public, seen, partial(contains, engine))
        root = ledger.roots()[-1]
    return problems, missing_key(settings, root) is None


def _planned(data: Path, source: Path) -> Settings:
    """Return the settings that the restored registry will have: its own, or else the backup's. Writes nothing."""
    if (data / SETTINGS_FILE).exists():
        return settings_of(data, {})
    kept = _kept_settings(source)
    if kept is not None:
        return from_file(kept, data, {}, os.environ)
    return Settings(data=data, **from_environment(os.environ))  # type: ignore[arg-type]


def _kept_settings(source: Path) -> Path | None:
    """Return the settings in a backup. Those in any other folder are not the operator's."""
    kept = source / SETTINGS_FILE
    if not ((source / MANIFEST).is_file() and kept.is_file()):
        return None
    if kept.stat().st_size > _SETTINGS_BYTES:
        raise RyeError("bad-config", f"{kept} has more than {_SETTINGS_BYTES:,} bytes.", "Use another backup.")
    return kept


def _prepare(data: Path, source: Path, sealed: list[tuple[str, registry_keys.PrivateKey]]) -> Settings:
    """Create the data folder with settings if it is missing, and write the backup's keys to it."""
    if not (data / SETTINGS_FILE).exists():
        data.mkdir(parents=True, exist_ok=True)
        kept = _kept_settings(source)
        replace_file(data / SETTINGS_FILE, kept.read_bytes() if kept is not None else b"")
        (data / SETTINGS_FILE).chmod(0o600)
    for name, key in sealed:
        if not (data / "keys" / name).exists():
            registry_keys.write(data / "keys" / name, key)
    return settings_of(data, {})


def _unsealed(source: Path) -> list[tuple[str, registry_keys.PrivateKey]]:
    """Return the private keys of a backup. Raises RyeError ``no-key``, ``wrong-passphrase``."""
    if not (source / "keys").is_dir():
        raise RyeError(
            "no-key",
            f"{source} contains no sealed keys.",
            "Put the key files into keys/ yourself, and restore without --with-keys.",
        )
    try:
        return backups.unsealed_keys(source, _passphrase(twice=False))
    except RyeError as error:
        if error.code != "wrong-passphrase":
            raise
        raise RyeError(
            error.code,
            f"The passphrase does not open the sealed keys in {source}, or their files were changed. Nothing was restored.",
            f"Set {PASSPHRASE} to the passphrase of this backup. If it is lost, restore without --with-keys, and put a copy of "
            "the key files into keys/ before you serve.",
        ) from error


def _passphrase(*, twice: bool) -> str:
    given = os.environ.get(PASSPHRASE)
    if given is None:
        if not sys.stdin.isatty():
            raise UsageError(
                "missing-argument",
                "Sealed keys need a passphrase.",
                f"Set {PASSPHRASE}, or run the command in a terminal.",
                what="passphrase",
            )
        given = click.prompt("Passphrase of the keys", hide_input=True, confirmation_prompt=twice, err=True)
    if not given:
        raise UsageError(
            "missing-argument", "The passphrase is empty.", f"Set {PASSPHRASE} to a passphrase.", what="passphrase"
        )
    return str(given)
