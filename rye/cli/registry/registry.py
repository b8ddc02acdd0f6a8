"""``rye registry``: the registries that you pinned, and a registry of your own on this machine."""

from __future__ import annotations

import click
from msgspec.structs import asdict

from rye.cli.main import family
from rye.cli.options import Session, command
from rye.errors import UsageError
from rye.layout import Column
from rye.limits import OWN_PORT
from rye.workspace.named_file import NamedFile
from rye.workspace.registries.pinned_registries import pin_lines, pinned_registries, trusted_state


@command("add")
@click.argument("address")
@click.option("--fingerprint", metavar="HASH", help="Pin it if its root has this fingerprint.")
@click.option("--bundle", metavar="FILE", help="Read it from a bundle file, on a machine without a network.")
@click.option("--default", "make_default", is_flag=True, help="Use it where nothing else names a registry.")
@click.option(
    "--witness-policy", metavar="FILE", help="Trust only what these witnesses have cosigned (C2SP tlog-policy)."
)
@click.option("--max-witness-age", metavar="AGE", help="How old their cosignatures may be, such as 36h (default: 24h).")
@click.option(
    "--upstream",
    "upstreams",
    metavar="HASH",
    multiple=True,
    help="Also read, through it, the other registry whose root has this fingerprint. Repeatable.",
)
@click.option("--no-witness-policy", is_flag=True, help="Stop demanding witnesses, after a question on a terminal.")
@click.pass_obj
def add(
    session: Session,
    address: str,
    fingerprint: str | None,
    bundle: str | None,
    make_default: bool,
    witness_policy: str | None,
    max_witness_age: str | None,
    no_witness_policy: bool,
    upstreams: tuple[str, ...],
) -> None:
    """Pin a registry: from now on only this registry, with this history, is accepted at this address.

    If it serves namespaces of other registries, these are pinned as well, each with its own fingerprint and history.

    With --witness-policy, entries of its log count only once enough independent witnesses have cosigned them.
    """
    from rye.workspace.registries.airgap_access import Airgap
    from rye.workspace.registries.pinning import (  # loads a TOML editor, which listing never needs
        PinRequest,
        pin_registry,
    )
    from rye.workspace.registries.witness_policies import demand_in_file

    if (witness_policy is None and max_witness_age is not None) or (witness_policy is not None and no_witness_policy):
        hint = "--max-witness-age belongs to --witness-policy FILE, and --no-witness-policy to neither."
        raise UsageError("usage", "The options for witnesses contradict each other.", hint)
    airgap = Airgap(session.path(bundle), bundle) if bundle is not None else None
    demand = None
    if witness_policy is not None:
        file = NamedFile(session.path(witness_policy), witness_policy)
        demand = demand_in_file(session, file, max_witness_age)
    request = PinRequest(
        address=address,
        fingerprint=fingerprint,
        bundle=airgap,
        make_default=make_default,
        witnesses=demand,
        drops_witnesses=no_witness_policy,
        upstreams=upstreams,
    )
    done = pin_registry(session, request)
    policy = f"; from now on, {demand.policy}" if demand is not None else ""
    session.console.answer(
        {"registry": done.registry, "origin": done.origin, "fingerprint": done.fingerprint, "size": done.size},
        f"pinned {done.origin} at {done.registry} ({done.size} log entries){policy}",
    )


@command("remove")
@click.argument("address")
@click.option(
    "--forget-trusted-history",
    is_flag=True,
    help="Also forget its root, its largest log, and the takedowns and advisories that were seen, for instance because it was "
    "founded again. The next contact counts as the first, and a rollback goes unnoticed.",
)
@click.pass_obj
def remove(session: Session, address: str, forget_trusted_history: bool) -> None:
    """Unpin an address, and forget what was verified under its pin: installed items of the registry no longer count. The
    registry's trusted root and log stay unless you add --forget-trusted-history."""
    from rye.workspace.registries.pinning import unpin_registry  # as above

    done = unpin_registry(session, address, forget_trusted_history=forget_trusted_history)
    session.console.answer(
        {"registry": done.registry, "origin": done.origin, "history_forgotten": forget_trusted_history},
        f"unpinned {done.registry}" + (f" and forgot {done.origin}" if forget_trusted_history else ""),
    )


@command("list")
@click.option("--pins", is_flag=True, help="Print the lines of a pins file for build servers (RYE_PINS).")
@click.pass_obj
def list_registries(session: Session, pins: bool) -> None:
    """Show the registries that you pinned, with the largest log seen of each. `*` marks the default.

    A narrow terminal cuts fingerprints: `rye registry show ADDRESS` has all of one.
    """
    rows = pinned_registries(session.home)
    if pins:
        lines = pin_lines(rows)
        session.console.answer({"pins": lines}, "\n".join(lines))
        return
    if session.json:
        session.console.document({"registries": [asdict(row) for row in rows]})
        return
    if not rows:
        session.console.say("No registry is pinned. `rye registry add ADDRESS --default` pins one.")
    session.console.table(
        [["*" if r.default else "", r.origin, r.registry, str(r.size), str(r.fingerprint)] for r in rows],
        ["", Column("ORIGIN", least=12), "ADDRESS", "LOG SIZE", Column("FINGERPRINT", least=8)],
    )


@command("show")
@click.argument("address", required=False)
@click.pass_obj
def show(session: Session, address: str | None) -> None:
    """Show a registry's trusted state: its root, its owners, its head."""
    document = asdict(trusted_state(session, address))
    lines = [
        f"{name.replace('_', ' '):<16}{(', '.join(v) or 'none') if isinstance(v, tuple) else v}"
        for name, v in document.items()
    ]
    session.console.answer(document, "\n".join(lines))


@command("check")
@click.argument("address")
@click.option(
    "--wait",
    type=click.FloatRange(0, 86400),
    default=0.0,
    metavar="SECONDS",
    help="Wait this long for a publish, then look whether the old head still comes.",
)
@click.pass_obj
def check(session: Session, address: str, wait: float) -> int:
    """Check a registry's proxy or CDN, or the web server of a mirror: whether readers get the newest head, unchanged files and
    the headers that caches need; and whether the registry knows this address as its own. Anyone can run it; it changes nothing.

    Exits 1 if something must be changed; each finding says what.
    """
    from rye.workspace.registries.front_checking import check_registry  # httpx, which the others do not need

    report = check_registry(session, address, wait)
    if session.json:
        session.console.document({"ok": report.ok, **asdict(report), "findings": [asdict(f) for f in report.findings]})
        return 0 if report.ok else 1
    for finding in report.findings:
        session.console.line(f"{finding.level}: {finding.path}: {finding.message} ({finding.code})")
        session.console.line(f"    {finding.change}")
    if not report.findings:
        session.console.data(f"{report.origin}: {report.size} entries, {report.asked} requests: no problems found")
    return 0 if report.ok else 1


@command("serve")
@click.option(
    "--data", metavar="DIR", help="The registry's data folder (default: one in your data folder, created if missing)."
)
@click.option("--port", type=click.IntRange(0, 65535), default=OWN_PORT, show_default=True, help="0 picks a free port.")
@click.option(
    "--accept-clock",
    is_flag=True,
    help="This machine's clock is right, although the registry was off for over 36 hours.",
)
@click.pass_obj
def serve(session: Session, data: str | None, port: int, accept_clock: bool) -> None:
    """Run a registry of your own on this machine, with default settings. Ctrl-C stops it.

    The first run creates the registry and a token for you, and pins it. For a team's registry see `rye-registry`.
    """
    from rye.cli.registry.registry_serve import serve_default
    from rye.workspace.registries.own_registry import default_folder

    serve_default(
        session, session.path(data) if data else default_folder(session.home), port, accept_clock=accept_clock
    )


registry = family(
    "registry",
    "Pin registries, or run your own.",
    {
        "add": ("rye.cli.registry.registry:add", "Pin a registry."),
        "list": ("rye.cli.registry.registry:list_registries", "Show pinned registries."),
        "remove": ("rye.cli.registry.registry:remove", "Unpin a registry."),
        "show": ("rye.cli.registry.registry:show", "Show a registry's trusted state."),
        "check": ("rye.cli.registry.registry:check", "Check a registry's proxy or CDN."),
        "serve": ("rye.cli.registry.registry:serve", "Run a registry on this machine."),
    },
)
