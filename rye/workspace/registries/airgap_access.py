"""Read a registry from an air-gap file, using only the file and what this machine already trusts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.project.layout import find_project
from rye.project.lock import parse_lock
from rye.project.lock_file import read_lock
from rye.registry.airgap import AirgapError, AirgapFile, open_airgap, open_client
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from rye.workspace.registries.project_registries import given_demand, pin_question

if TYPE_CHECKING:
    from rye.registry.client import RegistryClient
    from rye.registry.first_contact import AcceptRoot
    from rye.registry.trust.cosigned import WitnessDemand
    from rye.workspace.context import Context


class Airgap(Struct, frozen=True):
    """The air-gap file to read from (``--bundle``)."""

    path: Path
    shown: str
    """The path as the user gave it."""
    as_of: date | None = None
    """The day on which its age is checked; None: today."""


def airgap_opener(context: Context, airgap: Airgap) -> Callable[[str], RegistryClient]:
    """A function that opens registries from the file, which must hold what rye.lock names.

    The caller commits and closes the clients. Raises AirgapError.
    """
    file = open_airgap(airgap.path)
    _check_lock(context, file, airgap.shown)

    def open_one(address: str) -> RegistryClient:
        return _open(context, file, airgap, address, pin_question(context))

    return open_one


def open_from_airgap(
    context: Context, airgap: Airgap, address: str, accept_root: AcceptRoot, witnesses: WitnessDemand | None = None
) -> RegistryClient:
    """A client that reads the registry at ``address`` from the file. The caller commits and closes it. Raises AirgapError."""
    return _open(context, open_airgap(airgap.path), airgap, address, accept_root, witnesses)


def _open(
    context: Context,
    file: AirgapFile,
    airgap: Airgap,
    address: str,
    accept_root: AcceptRoot,
    witnesses: WitnessDemand | None = None,
) -> RegistryClient:
    store, cache = StateStore(context.home.registries), Cache(context.home.registry_cache)
    try:
        demand = witnesses or given_demand(context, address)
        client = open_client(file, address, store, cache, accept_root=accept_root, as_of=airgap.as_of, witnesses=demand)
    except RyeError as error:
        if error.code != "registry-unpinned":
            raise
        hint = (
            "Compare the fingerprint with the one that its operator publishes, then run: "
            f"rye registry add {address} --bundle {airgap.shown} --fingerprint {error.details.get('fingerprint')}"
        )
        raise RyeError(error.code, error.message, hint, details=error.details) from error
    for warning in client.warnings:
        context.warn(warning)
    return client


def _check_lock(context: Context, file: AirgapFile, shown: str) -> None:
    """Fail early with a clear message if the file was made for a different lock."""
    project = find_project(context.cwd)
    if project is None:
        return
    held = {
        (item.identity, item.version, item.sha256) for item in parse_lock(file.lock.decode("utf-8", "replace")).items
    }
    for item in read_lock(project).items:
        if (item.identity, item.version, item.sha256) not in held:
            raise AirgapError(
                "bundle-other-lock",
                f"The bundle {shown} was made for a different rye.lock: it does not contain {item.identity} {item.version}.",
                "Create one for this lock on a machine with a network: `rye mirror --bundle FILE`.",
            )
