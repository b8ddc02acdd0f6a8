"""The program ``rye-registry``: arguments and printing, nothing else. Data on stdout, words on stderr, ``--json`` one document.

Exit 0: done. 1: failed, or ``verify`` found something. 2: the command's words are wrong.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rye import __version__
from rye.errors import RyeError, UsageError

if TYPE_CHECKING:
    import sqlalchemy as sa

    from registry_server.sequencer import Sequencer
    from registry_server.settings import Settings

DEFAULT_DATA = "rye-registry-data"


@dataclass(slots=True)
class Output:
    """Where results go."""

    json: bool = False

    def result(self, document: dict[str, object], text: str) -> None:
        """What the command is asked for: the document with ``--json``, else the text."""
        click.echo(json.dumps(document, ensure_ascii=False) if self.json else text)

    def say(self, text: str) -> None:
        """Words for a person."""
        if not self.json:
            click.echo(text, err=True)


_output = click.make_pass_decorator(Output, ensure=True)


def _data_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--data",
        type=click.Path(path_type=Path, file_okay=False),
        envvar="RYE_REGISTRY_DATA",
        default=DEFAULT_DATA,
        show_default=True,
        help="The registry's folder.",
    )(command)


def _json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    def remember(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
        if value:
            context.ensure_object(Output).json = True

    return click.option(
        "--json", is_flag=True, expose_value=False, callback=remember, is_eager=True, help="Print one JSON document."
    )(command)


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=True)
@click.version_option(__version__, prog_name="rye-registry")
@_json_option
@click.pass_context
def cli(context: click.Context) -> None:
    """The registry's own program: make one, serve it, give out tokens, copy and check it."""
    context.ensure_object(Output)


@cli.command()
@_data_option
@click.option("--origin", required=True, help="The registry's name for ever, e.g. registry.example.org.")
@click.option(
    "--root-key-out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the owner's key here.",
)
@click.option(
    "--root-days", type=click.IntRange(1, 3650), default=365, show_default=True, help="How long root 1 is valid."
)
@click.option("--database", default="", help="SQLAlchemy address; empty: SQLite in the data folder.")
@click.option("--objects", default="", help="s3://bucket/prefix; empty: public/ in the data folder.")
@click.option("--s3-endpoint", default="", help="Address of an S3-compatible service.")
@_json_option
@_output
def init(
    output: Output,
    data: Path,
    origin: str,
    root_key_out: Path | None,
    root_days: int,
    database: str,
    objects: str,
    s3_endpoint: str,
) -> None:
    """Make a registry: its folder, keys, root statement and first signed head."""
    from registry_server.founding import found

    given = {"database": database, "objects": objects, "s3_endpoint": s3_endpoint}
    root = found(data, origin, {name: value for name, value in given.items() if value}, root_key_out, root_days)
    fingerprint = root.sha256()
    where = root_key_out or data / "keys"
    output.result(
        {"data": str(data), "origin": origin, "fingerprint": fingerprint, "root_key": str(where)},
        f"Registry {origin} is in {data}.\nFingerprint of its root: {fingerprint}",
    )
    output.say(f"The owner's key is in {where}: back it up; whoever has it owns the registry.")
    output.say(f"Next: rye-registry token create NAME --data {data}; rye-registry serve --data {data}")


@cli.command()
@_data_option
@click.option("--host", default=None, help="Address to listen on; default 127.0.0.1.")
@click.option("--port", type=click.IntRange(0, 65535), default=None, help="Port; 0 takes a free one; default 8420.")
@click.option(
    "--ready-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the address there as JSON.",
)
@_json_option
@_output
def serve(output: Output, data: Path, host: str | None, port: int | None, ready_file: Path | None) -> None:
    """Serve the registry until SIGTERM or Ctrl-C."""
    import logging

    from registry_server import keys
    from registry_server.serving import serve as run

    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    settings = _settings(data, {"host": host, "port": port})
    for path in keys.exposed(settings.keys):
        output.say(f"warning: {path} can be read by other users; chmod go-rwx it.")
    if settings.host not in ("127.0.0.1", "::1", "localhost"):
        output.say(f"warning: listening on {settings.host} without TLS; put a proxy that speaks https in front.")

    def announce(url: str) -> None:
        output.result({"url": url, "pid": os.getpid()}, f"Serving on {url}")
        sys.stdout.flush()

    run(settings, ready_file, announce)


# -- tokens --------------------------------------------------------------------------------------------------------------


@cli.group(no_args_is_help=True)
def token() -> None:
    """Upload tokens: who may send statements."""


@token.command("create")
@click.argument("name")
@click.option(
    "--namespace", "namespaces", multiple=True, help="Bind the token to this namespace; repeatable. None: any."
)
@_data_option
@_json_option
@_output
def token_create(output: Output, name: str, namespaces: tuple[str, ...], data: Path) -> None:
    """Make a token and print it: the only time that it is shown."""
    from registry_server import tokens

    with _transaction(data) as connection:
        made = tokens.create(connection, name, namespaces, _now())
    output.result({"token": made, "name": name, "namespaces": sorted(set(namespaces))}, made)
    output.say("Keep it secret. Log in with it: rye login")


@token.command("list")
@_data_option
@_json_option
@_output
def token_list(output: Output, data: Path) -> None:
    """List all tokens, without their secrets."""
    from registry_server import tokens

    with _transaction(data) as connection:
        found = tokens.listing(connection)
    rows = [
        f"{account.token}  {'revoked' if account.revoked else 'active '}  {account.name}  "
        f"{', '.join(account.namespaces) or 'any namespace'}"
        for account in found
    ]
    output.result({"tokens": [account.as_json() for account in found]}, "\n".join(rows) or "No tokens.")


@token.command("revoke")
@click.argument("token_id")
@_data_option
@_json_option
@_output
def token_revoke(output: Output, token_id: str, data: Path) -> None:
    """Make a token worthless. TOKEN_ID: its 16 digits, as `token list` shows them."""
    from registry_server import tokens

    with _transaction(data) as connection:
        account = tokens.revoke(connection, token_id, _now())
    output.result(account.as_json(), f"Revoked {account.token} ({account.name}).")


# -- copies and checks -----------------------------------------------------------------------------------------------------


@cli.command("export")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@_data_option
@_json_option
@_output
def export_command(output: Output, directory: Path, data: Path) -> None:
    """Copy the static registry to DIRECTORY: any web server can serve it, or read it as file://. Incremental."""
    from registry_server.audit import export
    from registry_server.ledger import Ledger
    from registry_server.objects import public_objects

    settings = _settings(data, {})
    with _transaction(data) as connection:
        origin = Ledger(connection).origin
    count = sum(1 for _ in export(public_objects(settings), origin, directory))
    output.result({"directory": str(directory), "files": count}, f"{count} new files in {directory}.")


@cli.command()
@_data_option
@_json_option
@_output
def verify(output: Output, data: Path) -> None:
    """Compute everything again from the log's entries and compare it with what is served."""
    from registry_server import audit, database
    from registry_server.ledger import Ledger
    from registry_server.objects import public_objects

    settings = _settings(data, {})
    with _engine(settings) as engine, database.reader(engine) as connection:  # publishes go on meanwhile
        ledger = Ledger(connection)
        problems = audit.verify(ledger, public_objects(settings))
        size = ledger.size
    text = "\n".join(problems) or f"Everything is as the {size} entries of the log make it."
    output.result({"ok": not problems, "size": size, "problems": problems}, text)
    if problems:
        output.say("hint: rye-registry rebuild writes static files again; missing blobs come from a backup.")
        sys.exit(1)


@cli.command()
@_data_option
@click.option(
    "--prune",
    is_flag=True,
    help="Also delete what no head leads to and is over a day old.",
)
@_json_option
@_output
def rebuild(output: Output, data: Path, prune: bool) -> None:
    """Write every static file again from the database."""
    from registry_server import audit, database
    from registry_server.ledger import Ledger
    from registry_server.objects import public_objects

    settings = _settings(data, {})
    public = public_objects(settings)
    with _engine(settings) as engine, database.writer(engine) as connection:
        ledger = Ledger(connection)
        written = audit.recompute(ledger, public)
        published = ledger.published()
        if published is not None:
            public.put("checkpoint", published.checkpoint)
            public.put("head", published.document)
        pruned = audit.prune(ledger, public, datetime.now(UTC).timestamp() - 86_400) if prune else 0
    text = f"{len(written.files)} files are as they should be; {pruned} old ones were deleted."
    output.result({"files": len(written.files), "pruned": pruned, "size": written.size}, text)


# -- the root --------------------------------------------------------------------------------------------------------------


@cli.group(no_args_is_help=True)
def root() -> None:
    """Root statements: who owns the registry, which keys sign its log, until when."""


@root.command("show")
@_data_option
@_json_option
@_output
def root_show(output: Output, data: Path) -> None:
    """Show the root in force and the fingerprint that clients pin."""
    from registry_server.ledger import Ledger

    with _transaction(data) as connection:
        all_roots = Ledger(connection).roots()
    text = all_roots[-1].text()
    fingerprint = all_roots[0].sha256()
    document: dict[str, object] = {"fingerprint": fingerprint, "number": all_roots[-1].number, "text": text}
    document["expires"] = f"{all_roots[-1].expires:%Y-%m-%dT%H:%M:%SZ}"
    output.result(document, f"{text}\nfingerprint of root 1: {fingerprint}")


@root.command("key")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--origin", required=True, help="The registry's origin.")
@click.option("--log", "is_log", is_flag=True, help="A key for the log instead of an owner.")
@_json_option
@_output
def root_key(output: Output, file: Path, origin: str, is_log: bool) -> None:
    """Make a key, on whatever machine its owner keeps it, and print the public half for `root draft`."""
    from registry_server import keys
    from rye.registry.lines import read_origin
    from rye.registry.notes import encode_base64
    from rye.registry.statements import root_key_name

    read_origin(origin)
    key = keys.PrivateKey.generate(origin if is_log else root_key_name(origin))
    keys.write(file, key)
    public = encode_base64(key.verifier.key)
    output.result({"file": str(file), "public_key": public, "vkey": key.verifier.vkey}, public)


@root.command("draft")
@click.option(
    "-o",
    "--output",
    "target",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="Where to write it.",
)
@click.option("--add-owner", multiple=True, help="Public key (base64) of a new owner.")
@click.option("--remove-owner", multiple=True, help="Public key of an owner to drop.")
@click.option("--add-log", multiple=True, help="Public key of a new log key.")
@click.option("--remove-log", multiple=True, help="Public key of a log key to drop.")
@click.option("--threshold", type=click.IntRange(1, 16), help="How many owners must sign.")
@click.option("--days", type=click.IntRange(1, 3650), default=365, show_default=True, help="How long it is valid.")
@_data_option
@_json_option
@_output
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
    from registry_server import founding
    from registry_server.ledger import Ledger

    with _transaction(data) as connection:
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
        f"Each owner signs it: rye-registry root sign {target} --key KEY. Then: rye-registry root publish {target}"
    )


@root.command("sign")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--key", "key_file", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The owner's key file."
)
@_json_option
@_output
def root_sign(output: Output, file: Path, key_file: Path) -> None:
    """Add an owner's signature to FILE: a root draft, a recovery or an advisory. Needs no registry at hand."""
    from registry_server import founding, keys

    text = _read_text(file)
    statement, _ = founding.read_draft(text)
    output.say(f"Signing:\n\n{statement}")
    note = founding.add_signature(text, keys.read(key_file))
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    temporary.write_text(note.encode(), encoding="utf-8", newline="\n")
    os.replace(temporary, file)
    document: dict[str, object] = {"file": str(file), "signatures": len(note.signatures)}
    output.result(document, f"{file} has {len(note.signatures)} signature(s).")


@root.command("publish")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--log-key",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Take this log key in first.",
)
@_data_option
@_json_option
@_output
def root_publish(output: Output, file: Path, log_key: Path | None, data: Path) -> None:
    """Put a root that enough owners signed into the log. Restart servers afterwards when log keys changed."""
    from registry_server import founding, keys

    settings = _settings(data, {})
    if log_key is not None:
        key = keys.read(log_key)
        keys.write(settings.keys / keys.file_name("log", key), key)
    with _sequencer(settings) as sequencer:
        published = founding.publish(sequencer, _read_text(file))
    _print_root(output, published.number, published.expires)


@root.command("renew")
@click.option(
    "--key",
    "key_files",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Owners' key files.",
)
@click.option("--days", type=click.IntRange(1, 3650), default=365, show_default=True, help="How long it is valid.")
@_data_option
@_json_option
@_output
def root_renew(output: Output, key_files: tuple[Path, ...], days: int, data: Path) -> None:
    """Draft, sign and publish a root that differs only in its dates, with the owners' keys at hand."""
    from registry_server import database, founding, keys
    from registry_server.ledger import Ledger

    settings = _settings(data, {})
    owners = [keys.read(path) for path in key_files] or keys.in_folder(settings.keys, "root")
    if not owners:
        raise RyeError(
            "no-key",
            "No owner's key is in the key folder.",
            "Give it with --key; or carry a draft to its owner: rye-registry root draft -o FILE",
        )
    with _sequencer(settings) as sequencer:
        with database.reader(sequencer.engine) as connection:
            text = founding.draft(Ledger(connection), days=days).text()
        for key in owners:
            text = founding.add_signature(text, key).encode()
        published = founding.publish(sequencer, text)
    _print_root(output, published.number, published.expires)


# -- what commands share ---------------------------------------------------------------------------------------------------


def _print_root(output: Output, number: int, expires: datetime) -> None:
    until = f"{expires:%Y-%m-%dT%H:%M:%SZ}"
    output.result({"number": number, "expires": until}, f"Root {number} is in force; it expires {until}.")


def _settings(data: Path, flags: dict[str, object | None]) -> Settings:
    from registry_server.settings import load

    return load(data, flags, os.environ)


@contextmanager
def _engine(settings: Settings) -> Iterator[sa.Engine]:
    from registry_server import database

    engine = database.connect(settings.database_url, wait_seconds=settings.database_wait_seconds)
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def _transaction(data: Path) -> Iterator[sa.Connection]:
    """One transaction with the writer's lock: commands are rare, and simple is safe."""
    from registry_server import database

    with _engine(_settings(data, {})) as engine, database.writer(engine) as connection:
        yield connection


@contextmanager
def _sequencer(settings: Settings) -> Iterator[Sequencer]:
    from registry_server import keys
    from registry_server.objects import public_objects, upload_objects
    from registry_server.sequencer import Sequencer

    with _engine(settings) as engine:
        log_keys = keys.in_folder(settings.keys, "log")
        yield Sequencer(engine, public_objects(settings), upload_objects(settings), log_keys, settings)


def _public_keys(texts: tuple[str, ...]) -> list[bytes]:
    from rye.registry.lines import read_key

    return [read_key(text) for text in texts]


def _read_text(file: Path) -> str:
    try:
        with file.open(encoding="utf-8", newline="") as opened:
            return opened.read(100_000)
    except (OSError, UnicodeDecodeError) as error:
        raise RyeError("no-file", f"{file} cannot be read: {error}", "Check the path.") from error


def _write_new(file: Path, text: str) -> None:
    try:
        with file.open("x", encoding="utf-8", newline="\n") as opened:
            opened.write(text)
    except OSError as error:
        raise RyeError(
            "cannot-write", f"{file} cannot be written: {error.strerror}.", "Choose another file."
        ) from error


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def main() -> None:
    """Run, and turn every failure into an exit with words: never a traceback."""
    as_json = "--json" in sys.argv[1:]
    try:
        cli.main(standalone_mode=False)
    except RyeError as error:
        _fail(error, as_json)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.UsageError as error:
        usage = error.ctx.command_path if error.ctx else "rye-registry"
        _fail(UsageError("usage", error.format_message(), f"{usage} --help shows how."), as_json)
    except click.ClickException as error:
        _fail(RyeError("failed", error.format_message(), None), as_json)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(
            RyeError("system", f"{where}{error.strerror or error}.", "Check the path, its owner and the disk."), as_json
        )


def _fail(error: RyeError, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(error.as_json(), ensure_ascii=False))
    else:
        click.echo(f"error: {error.message}", err=True)
        if error.hint:
            click.echo(f"hint: {error.hint}", err=True)
    sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
