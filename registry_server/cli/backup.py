"""``rye-registry backup`` and ``restore``: the whole registry to one folder, and back."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

import click

from registry_server.accounts import keys
from registry_server.cli.options import Output, data_option, json_option, pass_output
from registry_server.cli.registry_access import contains, engine_of, settings_of
from registry_server.sequencer.ledger import Ledger
from registry_server.settings import SETTINGS_FILE
from registry_server.storage import database
from registry_server.storage.objects import public_objects
from registry_server.upkeep import audit, restoring, sources
from registry_server.upkeep import backup as backups
from rye.errors import RyeError, UsageError
from rye.registry.protocol import wire
from rye.storage.atomic import replace_file

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
    """Replay the log and blobs of a copy into an empty or older database, verifying everything."""
    _prepare(data, Path(source), with_keys)
    settings = settings_of(data, {})
    public = public_objects(settings)
    with engine_of(settings, may_create=True) as engine, sources.open_source(source, settings, public) as opened:
        known = restoring.known_fingerprint(engine)
        if known is not None and fingerprint not in (None, known):
            raise RyeError(
                "wrong-fingerprint", f"The database's root has the fingerprint {known}.", "Check --fingerprint."
            )
        done = restoring.restore(engine, public, sources.check(opened, known or fingerprint))
        if public.get("config.json") is None:
            public.put("config.json", wire.encode_config(wire.Config(wire.PROTOCOL_VERSION, done.origin, settings.api)))
        seen = audit.look(public)
        with database.reader(engine) as connection:
            ledger = Ledger(connection)
            problems = audit.verify(ledger, public, seen, partial(contains, engine))
            can_sign = any(key.verifier.key in ledger.roots()[-1].logs for key in keys.in_folder(settings.keys, "log"))
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


def _prepare(data: Path, source: Path, with_keys: bool) -> None:
    """Create the data folder with settings if it is missing, and copy the backup's keys to it if requested."""
    if not (data / SETTINGS_FILE).exists():
        data.mkdir(parents=True, exist_ok=True)
        kept = source / SETTINGS_FILE
        replace_file(data / SETTINGS_FILE, kept.read_bytes() if kept.is_file() else b"")
        (data / SETTINGS_FILE).chmod(0o600)
    if with_keys:
        if not (source / "keys").is_dir():
            raise RyeError(
                "no-key",
                f"{source} contains no sealed keys.",
                "Put the key files into keys/ yourself, and restore without --with-keys.",
            )
        for name, key in backups.unsealed_keys(source, _passphrase(twice=False)):
            if not (data / "keys" / name).exists():
                keys.write(data / "keys" / name, key)


def _passphrase(*, twice: bool) -> str:
    given = os.environ.get(PASSPHRASE)
    if given is None:
        if not sys.stdin.isatty():
            raise UsageError(
                "no-passphrase",
                "Sealed keys need a passphrase.",
                f"Set {PASSPHRASE}, or run the command in a terminal.",
            )
        given = click.prompt("Passphrase of the keys", hide_input=True, confirmation_prompt=twice, err=True)
    if not given:
        raise UsageError("empty-passphrase", "The passphrase is empty.", f"Set {PASSPHRASE} to a passphrase.")
    return str(given)
