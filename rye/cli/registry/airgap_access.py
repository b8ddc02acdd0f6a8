"""How commands read a registry from a bundle file: nothing but the file and what this machine trusts already."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Any

import click

from rye.errors import RyeError, UsageError
from rye.project.layout import find_project
from rye.project.lock_file import read_lock
from rye.storage.folders import cache_dir, data_dir

if TYPE_CHECKING:
    from rye.cli.options import Session
    from rye.registry.airgap import Bundle
    from rye.registry.client import AcceptRoot, RegistryClient


_AS_OF = "rye.bundle-as-of"


def bundle_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: ``--bundle`` for a command that installs, and the one escape hatch about a bundle's age beside it."""
    return click.option("--bundle", metavar="FILE", help="Take everything from a bundle file, verified offline.")(
        click.option(
            "--bundle-as-of",
            metavar="DATE",
            expose_value=False,
            callback=_remember,
            help="Take a bundle older than 7 days: judge its age as of this day.",
        )(function)
    )


def _remember(context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    context.meta[_AS_OF] = value


def bundle_opener(session: Session, file: str | None) -> Callable[[str], RegistryClient] | None:
    """Opens registries from a bundle, which must hold what the project's lock names; None where no bundle is given."""
    from rye.cli.registry.registry_access import pin_question
    from rye.registry.airgap import open_bundle

    context = click.get_current_context(silent=True)
    as_of: str | None = context.meta.get(_AS_OF) if context is not None else None
    if file is None:
        if as_of is not None:
            raise UsageError("no-bundle", "--bundle-as-of is about a bundle.", "Give --bundle FILE, too.")
        return None
    bundle = open_bundle(session.path(file))
    day = _day(as_of)
    _check_lock(session, bundle, file)

    def open_one(address: str) -> RegistryClient:
        return open_from_bundle(session, bundle, file, address, pin_question(session), day)

    return open_one


def open_from_bundle(
    session: Session, bundle: Bundle, file: str, address: str, accept_root: AcceptRoot, day: date | None = None
) -> RegistryClient:
    """A client over the bundle; the caller commits and closes it."""
    from rye.registry.airgap import open_client
    from rye.registry.store.cache import Cache
    from rye.registry.store.state import StateStore

    store, cache = StateStore(data_dir() / "registries"), Cache(cache_dir() / "registry")
    try:
        client = open_client(bundle, address, store, cache, accept_root=accept_root, as_of=day)
    except RyeError as error:
        if error.code == "registry-unpinned":
            error.hint = (
                "Compare the fingerprint with the one its operator publishes, then run: "
                f"rye registry add {address} --bundle {file} --fingerprint {error.details.get('fingerprint')}"
            )
        raise
    for warning in client.warnings:
        session.console.warn(warning)
    return client


def _day(text: str | None) -> date | None:
    if text is None:
        return None
    try:
        found = date.fromisoformat(text)
    except ValueError:
        raise UsageError("bad-date", f"{text!r} is not a day.", "Write YYYY-MM-DD.") from None
    if f"{found:%Y-%m-%d}" != text:
        raise UsageError("bad-date", f"{text!r} is not a day.", "Write YYYY-MM-DD.")
    return found


def _check_lock(session: Session, bundle: Bundle, file: str) -> None:
    """Say early, and in words, that a bundle was made for another lock."""
    from rye.project.lock import parse_lock
    from rye.registry.airgap import BundleError

    project = find_project(session.cwd)
    if project is None:
        return
    held = {(item.identity, item.version, item.sha256) for item in parse_lock(bundle.lock.decode("utf-8")).items}
    for item in read_lock(project).items:
        if (item.identity, item.version, item.sha256) not in held:
            raise BundleError(
                "bundle-other-lock",
                f"The bundle {file} was made for another rye.lock: it does not hold {item.identity} {item.version}.",
                "Make one for this lock on a machine with a network: `rye mirror --bundle FILE`.",
            )
