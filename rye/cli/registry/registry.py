"""``rye registry``: which registries you pinned, and one of your own on this machine."""

from __future__ import annotations

from contextlib import AbstractContextManager

import click

from rye.cli.main import family
from rye.cli.options import Session, command
from rye.errors import RyeError
from rye.project.registries import normal_address
from rye.project.user_config import read_settings
from rye.registry.client import RegistryClient
from rye.registry.protocol.lines import write_key, write_time
from rye.registry.store.state import StateStore
from rye.storage.folders import data_dir
from rye.workspace.airgap_access import Airgap, open_from_airgap
from rye.workspace.pin_question import pin_question
from rye.workspace.registry_access import configured, open_registry


@command("add")
@click.argument("address")
@click.option("--fingerprint", metavar="HASH", help="Pin it when its root has this fingerprint.")
@click.option("--bundle", metavar="FILE", help="Read it from a bundle file, on a machine without a network.")
@click.option("--default", "make_default", is_flag=True, help="Use it when nothing else names a registry.")
@click.pass_obj
def add(session: Session, address: str, fingerprint: str | None, bundle: str | None, make_default: bool) -> None:
    """Pin a registry: from now on only this registry, with this history, is accepted at this address."""
    where = normal_address(address, session.cwd)
    with _opened(session, where, fingerprint, bundle) as client:
        origin, found, size = client.origin, client.state.fingerprint, client.head.checkpoint.size
    if make_default or read_settings().get("registry") is None:
        from rye.project.user_config_writing import set_setting  # an editor of TOML, which listing never needs

        set_setting("registry", where)
    session.console.answer(
        {"registry": where, "origin": origin, "fingerprint": found, "size": size},
        f"pinned {origin} at {where} ({size} log entries)",
    )


def _opened(
    session: Session, where: str, fingerprint: str | None, bundle: str | None
) -> AbstractContextManager[RegistryClient]:
    if bundle is None:
        return open_registry(session, where, fingerprint=fingerprint)
    accept = fingerprint or pin_question(session)
    return open_from_airgap(session, Airgap(session.path(bundle), bundle), where, accept)


@command("remove")
@click.argument("address")
@click.option(
    "--forget-trusted-history",
    is_flag=True,
    help="Forget its root and largest log, too: the next contact is a first one, and a rollback goes unnoticed.",
)
@click.pass_obj
def remove(session: Session, address: str, forget_trusted_history: bool) -> None:
    """Unpin an address. What is trusted of the registry itself stays, unless you say otherwise."""
    where = normal_address(address, session.cwd)
    store = StateStore(data_dir() / "registries")
    origin = store.origin_at(where)
    if origin is None:
        raise RyeError("not-pinned", f"No registry is pinned at {where}.", "`rye registry list` shows those there are.")
    from rye.project.user_config_writing import forget_credential, set_setting

    store.forget_address(where)
    forget_credential(where)
    if read_settings().get("registry") == where:
        set_setting("registry", None)
    if forget_trusted_history:
        store.forget(origin)
    session.console.answer(
        {"registry": where, "origin": origin, "history_forgotten": forget_trusted_history},
        f"unpinned {where}" + (f" and forgot {origin}" if forget_trusted_history else ""),
    )


@command("list")
@click.pass_obj
def list_registries(session: Session) -> None:
    """Show the registries that you pinned, with the largest log that was seen of each."""
    store = StateStore(data_dir() / "registries")
    default = read_settings().get("registry")
    rows = []
    for address, origin in sorted(store.addresses().items()):
        state = store.load(origin)
        checkpoint = state.checkpoint if state else None
        rows.append(
            {
                "registry": address,
                "origin": origin,
                "fingerprint": state.fingerprint if state else None,
                "size": checkpoint.size if checkpoint else None,
                "default": address == default,
            }
        )
    if session.json:
        session.console.document({"registries": rows})
        return
    session.console.table(
        [
            ["*" if r["default"] else "", str(r["origin"]), str(r["registry"]), str(r["size"]), str(r["fingerprint"])]
            for r in rows
        ],
        ["", "ORIGIN", "ADDRESS", "LOG SIZE", "FINGERPRINT"],
    )


@command("show")
@click.argument("address", required=False)
@click.pass_obj
def show(session: Session, address: str | None) -> None:
    """Show what is trusted of a registry now: its root, its owners, its head."""
    where = normal_address(address, session.cwd) if address else configured(session).main()
    with open_registry(session, where) as client:
        root, head = client.state.root, client.head
        document: dict[str, object] = {
            "registry": where,
            "origin": client.origin,
            "fingerprint": client.state.fingerprint,
            "root": root.number,
            "root_expires": write_time(root.expires),
            "owners": [write_key(key) for key in root.owners],
            "threshold": root.threshold,
            "log_keys": [write_key(key) for key in root.logs],
            "size": head.checkpoint.size,
            "root_hash": head.checkpoint.root_hash.hex(),
            "snapshot_time": write_time(head.snapshot.time),
        }
    lines = [
        f"{name.replace('_', ' '):<15}{', '.join(v) if isinstance(v, list) else v}" for name, v in document.items()
    ]
    session.console.answer(document, "\n".join(lines))


@command("serve")
@click.option("--data", metavar="DIR", help="Data folder; default: one in your data folder, made when it is missing.")
@click.option("--port", type=click.IntRange(0, 65535), default=8420, show_default=True, help="0 takes a free one.")
@click.pass_obj
def serve(session: Session, data: str | None, port: int) -> None:
    """Run a registry of your own on this machine, with everything defaulted. Ctrl-C ends it.

    The first run makes the registry, a token for you, and pins it. For a team's registry see `rye-registry`.
    """
    from rye.cli.registry.registry_serve import serve_default

    serve_default(session, session.path(data) if data else data_dir() / "registry", port)


registry = family(
    "registry",
    "Registries that you pinned, and one of your own.",
    {
        "add": ("rye.cli.registry.registry:add", "Pin a registry."),
        "list": ("rye.cli.registry.registry:list_registries", "Show pinned registries."),
        "remove": ("rye.cli.registry.registry:remove", "Unpin a registry."),
        "show": ("rye.cli.registry.registry:show", "Show what is trusted of a registry."),
        "serve": ("rye.cli.registry.registry:serve", "Run a registry on this machine."),
    },
)
