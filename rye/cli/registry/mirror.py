"""``rye mirror``: copy a whole registry to a folder, or what one lock needs to a file. Verifies everything; needs no keys."""

from __future__ import annotations

from pathlib import Path

import click

from rye.cli.console import counted
from rye.cli.options import Session, command
from rye.errors import UsageError
from rye.workspace.registries.registry_copies import mirror_registry, write_airgap_file


@command("mirror")
@click.argument("target", metavar="[DIR]", required=False)
@click.option(
    "--bundle",
    metavar="FILE",
    help="Write what this project's rye.lock needs to one file, for `rye install --offline --bundle FILE`.",
)
@click.pass_obj
def mirror(session: Session, target: str | None, bundle: str | None) -> None:
    """Copy the whole registry to DIR, which any web server can serve and any rye can read as file://.

    Incremental: existing valid files stay, and an interrupted run resumes. Every log entry, index file and item is verified
    before the copy's head moves.
    """
    if target is not None and bundle is None:
        _mirror(session, session.path(target))
    elif bundle is not None and target is None:
        _airgap(session, session.path(bundle))
    else:
        raise UsageError("usage", "Give either a folder or --bundle FILE.", "`rye mirror --help` shows how it is used.")


def _mirror(session: Session, target: Path) -> None:
    copied = mirror_registry(session, target)
    done = copied.done
    document: dict[str, object] = {
        "directory": str(target),
        "registry": copied.registry,
        "origin": copied.origin,
        "size": done.audit.size,
        "before": done.before,
        "releases": done.audit.releases,
        "fetched": done.fetched,
        "bytes": done.bytes,
    }
    new = f"{done.fetched} new files, {done.bytes:,} bytes" if done.fetched else "nothing new"
    session.console.answer(
        document,
        f"{target} has {copied.origin} with {done.audit.size} log entries and {done.audit.releases} releases: {new}",
    )
    session.console.say(f"  read it with --registry {target.resolve().as_uri()}", "hint")


def _airgap(session: Session, file: Path) -> None:
    written = write_airgap_file(session, file)
    document: dict[str, object] = {
        "file": str(file),
        "bytes": written.size,
        "items": written.items,
        "registries": list(written.origins),
    }
    session.console.answer(document, f"wrote {file}: {counted(written.items, 'item')}, {written.size:,} bytes")
    session.console.say(f"  where there is no network: rye install --offline --bundle {file}", "hint")
