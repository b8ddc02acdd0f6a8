"""``rye mirror``: a whole registry as a folder, or what one lock needs as a file. Everything is verified; nothing needs keys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rye.cli.options import Session, command
from rye.cli.registry.registry_access import configured, open_registry, show_document
from rye.errors import RyeError, UsageError
from rye.project.context import require_project
from rye.storage.folders import data_dir

if TYPE_CHECKING:
    from rye.project.lock import Lock
    from rye.registry.airgap import Wanted
    from rye.registry.store.state import StateStore


@command("mirror")
@click.argument("target", metavar="[DIR]", required=False)
@click.option(
    "--bundle",
    metavar="FILE",
    help="Write what this project's rye.lock needs to one file, for `rye install --offline --bundle FILE`.",
)
@click.pass_obj
def mirror(session: Session, target: str | None, bundle: str | None) -> None:
    """Copy the whole registry to DIR, which any web server can serve and every rye can read as file://.

    Incremental: what is there and good stays; an interrupted run is taken up. Every entry of the log, every index file and every
    item is verified before the copy's head is moved on.
    """
    if (target is None) == (bundle is None):
        raise UsageError("usage", "Give either a folder or --bundle FILE.", "`rye mirror --help` shows how it is used.")
    if session.offline:
        raise RyeError("offline", "A copy is made from the network, and --offline forbids it.", "Leave --offline out.")
    if bundle is not None:
        _bundle(session, session.path(bundle))
    else:
        assert target is not None
        _mirror(session, session.path(target))


def _mirror(session: Session, target: Path) -> None:
    from rye.registry import mirroring
    from rye.registry.transport.seam import open_transport

    address = configured(session).main()
    with open_registry(session, address) as client:
        state = client.state
    transport = open_transport(address, mirroring.transport_limits())
    try:
        with session.console.progress("mirroring") as advance:
            done = mirroring.mirror(transport, state, target, advance)
    finally:
        transport.close()
    document: dict[str, object] = {
        "directory": str(target),
        "registry": address,
        "origin": state.origin,
        "size": done.audit.size,
        "before": done.before,
        "releases": done.audit.releases,
        "fetched": done.fetched,
        "bytes": done.bytes,
    }
    new = f"{done.fetched} new files, {done.bytes:,} bytes" if done.fetched else "nothing new"
    show_document(
        session,
        document,
        f"{target} has {state.origin} with {done.audit.size} log entries and {done.audit.releases} releases: {new}",
    )
    session.console.say(f"  read it with --registry {target.resolve().as_uri()}", "hint")


def _bundle(session: Session, file: Path) -> None:
    from rye.project.lock_file import read_lock
    from rye.registry.airgap import write_bundle
    from rye.registry.store.state import StateStore
    from rye.registry.transport.seam import open_transport

    project = require_project(session.cwd)
    lock = read_lock(project)
    if not lock.items:
        raise RyeError("empty-lock", "rye.lock names nothing to bundle.", "Make one with `rye lock` or `rye add`.")
    store = StateStore(data_dir() / "registries")
    wanted = _wanted(session, lock, store)
    with session.console.progress("bundling", len(wanted)) as advance:
        size = write_bundle(file, project.lock_path.read_bytes(), wanted, open_transport, store, advance)
    document: dict[str, object] = {
        "file": str(file),
        "bytes": size,
        "items": len(lock.items),
        "registries": [part.origin for part in wanted],
    }
    show_document(session, document, f"wrote {file}: {len(lock.items)} items, {size:,} bytes")
    session.console.say(f"  where there is no network: rye install --offline --bundle {file}", "hint")


def _wanted(session: Session, lock: Lock, store: StateStore) -> list[Wanted]:
    """What of which registry; every registry is contacted once, so that it is pinned and what the lock says it is."""
    from rye.registry.airgap import Wanted

    where = configured(session)
    parts = []
    for origin in sorted({item.registry for item in lock.items}):
        items = [item for item in lock.items if item.registry == origin]
        addresses = {where.of(item.identity.namespace) for item in items}
        if len(addresses) > 1:
            raise RyeError(
                "other-registry",
                f"The items of {origin} are mapped to several addresses: {', '.join(sorted(addresses))}.",
                "Map all its namespaces to one in [registries] of rye.toml.",
            )
        address = addresses.pop()
        with open_registry(session, address) as client:
            if client.origin != origin:
                raise RyeError(
                    "other-registry",
                    f"{items[0].identity} is locked to the registry {origin}; {address} is {client.origin}.",
                    "Map the namespace to its registry in [registries] of rye.toml.",
                )
        parts.append(Wanted(address, origin, tuple((item.identity, item.version) for item in items)))
    return parts
