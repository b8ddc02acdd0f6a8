"""``rye-registry root``: statements about who owns the registry, drafted here, signed by each owner, published here."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import click

from registry_server.accounts import audit_events, registry_keys
from registry_server.accounts.times import now_text
from registry_server.cli.drafts import owners_here
from registry_server.cli.options import Output, accept_clock_option, data_option, json_option, pass_output
from registry_server.cli.registry_access import reading, sequencer_of, settings_of
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.sequencer import Sequencer
from registry_server.storage import database
from registry_server.upkeep import founding
from rye.errors import RyeError
from rye.registry.protocol.lines import read_key, read_origin
from rye.registry.protocol.notes import encode_base64
from rye.registry.protocol.statements import root_key_name


@click.group(no_args_is_help=True)
def root() -> None:
    """Manage root statements: who owns the registry, which keys sign its log, until when."""


@root.command("show")
@data_option
@json_option
@pass_output
def root_show(output: Output, data: Path) -> None:
    """Show the root in force, and the fingerprint that clients pin."""
    with reading(data) as connection:
        all_roots = Ledger(connection).roots()
    text = all_roots[-1].text()
    fingerprint = all_roots[0].sha256()
    document: dict[str, object] = {"fingerprint": fingerprint, "number": all_roots[-1].number, "text": text}
    document["expires"] = f"{all_roots[-1].expires:%Y-%m-%dT%H:%M:%SZ}"
    output.result(document, f"{text}\nfingerprint of root 1: {fingerprint}")


@root.command("key")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--origin", required=True, help="The registry's origin.")
@click.option("--log", "is_log", is_flag=True, help="Create a key for the log, not for an owner.")
@json_option
@pass_output
def root_key(output: Output, file: Path, origin: str, is_log: bool) -> None:
    """Create a key on its owner's machine, and print the public half for `root draft`."""
    read_origin(origin)
    key = registry_keys.PrivateKey.generate(origin if is_log else root_key_name(origin))
    registry_keys.write(file, key)
    public = encode_base64(key.verifier.key)
    output.result({"file": str(file), "public_key": public, "vkey": key.verifier.vkey}, public)


@root.command("draft")
@click.option(
    "-o",
    "--output",
    "target",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="Write the draft to this file.",
)
@click.option("--add-owner", multiple=True, help="Public key (base64) of a new owner.")
@click.option("--remove-owner", multiple=True, help="Public key of an owner to remove.")
@click.option("--add-log", multiple=True, help="Public key (base64) of a new log key.")
@click.option("--remove-log", multiple=True, help="Public key of a log key to remove.")
@click.option("--threshold", type=click.IntRange(1, 16), help="How many owners must sign.")
@click.option("--days", type=click.IntRange(1, 3650), default=365, show_default=True, help="How long it is valid.")
@data_option
@json_option
@pass_output
def root_draft(
    output: Output,
    target: Path,
    add_owner: tuple[str, ...],
    remove_owner: tuple[str, ...],
    add_log: tuple[str, ...],
    remove_log: tuple[str, ...],
    threshold: int | None,
    days: int,
    data: Path,
) -> None:
    """Write the next root statement, unsigned, for the owners to sign."""
    with reading(data) as connection:
        drafted = founding.draft(
            Ledger(connection),
            add_owners=_public_keys(add_owner),
            remove_owners=_public_keys(remove_owner),
            add_logs=_public_keys(add_log),
            remove_logs=_public_keys(remove_log),
            threshold=threshold,
            days=days,
        )
    _write_new(target, drafted.text())
    output.result({"file": str(target), "number": drafted.number, "text": drafted.text()}, drafted.text())
    output.say(
        f"Next, each owner signs it: `rye-registry root sign {target} --key KEY`. Then: `rye-registry root publish {target}`"
    )


@root.command("sign")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--key", "key_file", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The owner's key file."
)
@json_option
@pass_output
def root_sign(output: Output, file: Path, key_file: Path) -> None:
    """Add an owner's signature to FILE: a root draft, a recovery, an advisory, a step back in time. Works on any machine."""
    text = _read_text(file)
    statement, _ = founding.read_draft(text)
    key = registry_keys.read(key_file)
    output.say(f"Signing:\n\n{statement}", wraps=False)
    note = founding.add_signature(text, key)
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    temporary.write_text(note.encode(), encoding="utf-8", newline="\n")
    os.replace(temporary, file)
    document: dict[str, object] = {"file": str(file), "signatures": len(note.signatures)}
    output.result(document, f"{file} has {len(note.signatures)} signature{'s' if len(note.signatures) > 1 else ''}.")


@root.command("publish")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--log-key",
    type=click.Path(path_type=Path, dir_okay=False),
    help="First copy this log key to the key folder.",
)
@accept_clock_option
@data_option
@json_option
@pass_output
def root_publish(output: Output, file: Path, log_key: Path | None, accept_clock: bool, data: Path) -> None:
    """Add a root to the log that enough owners signed. If log keys changed, restart the servers afterwards."""
    settings = settings_of(data, {})
    if log_key is not None:
        key = registry_keys.read(log_key)
        registry_keys.write(settings.keys / registry_keys.file_name("log", key), key)
    with sequencer_of(settings, accept_clock=accept_clock) as sequencer:
        published = founding.publish(sequencer, _read_text(file))
        _record(sequencer, published.number)
    _print_root(output, published.number, published.expires)


@root.command("renew")
@click.option(
    "--key",
    "key_files",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="An owner's key file; repeatable.",
)
@click.option("--days", type=click.IntRange(1, 3650), default=365, show_default=True, help="How long it is valid.")
@accept_clock_option
@data_option
@json_option
@pass_output
def root_renew(output: Output, key_files: tuple[Path, ...], days: int, accept_clock: bool, data: Path) -> None:
    """Draft, sign and publish a root with new dates, using the owners' keys on this machine."""
    settings = settings_of(data, {})
    owners = owners_here(settings, key_files, "with `rye-registry root draft -o FILE`.")
    with sequencer_of(settings, accept_clock=accept_clock) as sequencer:
        with database.reader(sequencer.engine) as connection:
            text = founding.draft(Ledger(connection), days=days).text()
        for key in owners:
            text = founding.add_signature(text, key).encode()
        published = founding.publish(sequencer, text)
        _record(sequencer, published.number)
    _print_root(output, published.number, published.expires)


def _record(sequencer: Sequencer, number: int) -> None:
    with database.change(sequencer.engine) as connection:
        audit_events.record(connection, now_text(), "root.publish", f"root:{number}")


def _print_root(output: Output, number: int, expires: datetime) -> None:
    until = f"{expires:%Y-%m-%dT%H:%M:%SZ}"
    output.result({"number": number, "expires": until}, f"Root {number} is in force; it expires {until}.")


def _public_keys(texts: tuple[str, ...]) -> list[bytes]:
    return [read_key(text) for text in texts]


def _read_text(file: Path) -> str:
    try:
        with file.open(encoding="utf-8", newline="") as opened:
            return opened.read(100_000)
    except (OSError, UnicodeDecodeError) as error:
        raise RyeError(
            "unreadable", f"{file} cannot be read: {registry_keys.reason_of(error)}.", "Check the path."
        ) from error


def _write_new(file: Path, text: str) -> None:
    try:
        with file.open("x", encoding="utf-8", newline="\n") as opened:
            opened.write(text)
    except OSError as error:
        raise RyeError(
            "cannot-write", f"{file} cannot be written: {error.strerror}.", "Choose another file."
        ) from error
