"""How commands reach a registry: which one, pinned by whom, with which token."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rye.errors import RyeError
from rye.project.context import load_manifest
from rye.project.layout import find_project
from rye.project.registries import Registries, normal_address, registries
from rye.project.user_config import credential, read_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rye.cli.options import Session
    from rye.project.manifest import Manifest
    from rye.registry.client import PinProposal, RegistryClient
    from rye.registry.store.cache import Cache
    from rye.registry.transport.api import RegistryApi
    from rye.storage.verdicts import Verdicts


def project_manifest(session: Session) -> Manifest | None:
    """The manifest of the project around, where there is one."""
    project = find_project(session.cwd)
    return load_manifest(project) if project is not None else None


def configured(session: Session) -> Registries:
    """The registries that flag, project and user name."""
    setting = read_settings().get("registry")
    return registries(session.registry, project_manifest(session), setting, session.cwd)


def pin_question(session: Session) -> Callable[[PinProposal], bool] | None:
    """Asks a person whether a new registry is the right one; None where nobody can be asked."""
    if not session.interactive:
        return None

    def ask(proposal: PinProposal) -> bool:
        console = session.console
        console.say(f"First contact with the registry {proposal.origin} at {proposal.address}.", "strong")
        console.say(f"  fingerprint of its root  {proposal.fingerprint}")
        console.say(f"  owners                   {len(proposal.owners)}, {proposal.threshold} of them sign")
        console.say("Compare the fingerprint with the one that its operator publishes.")
        return console.confirm("Pin this registry?")

    return ask


@contextmanager
def open_registry(
    session: Session, address: str, *, fingerprint: str | None = None, origin: str | None = None
) -> Iterator[RegistryClient]:
    """A client with a verified head; what it came to trust is kept when the block ends without an error."""
    from rye.registry.client import RegistryClient

    client = RegistryClient.open(
        address, accept_root=fingerprint or pin_question(session), origin=origin, offline=session.offline
    )
    with client:
        for warning in client.warnings:
            session.console.warn(warning)
        yield client


def client_opener(
    session: Session, bundle: str | None, cache: Cache, verdicts: Verdicts
) -> Callable[[str], RegistryClient]:
    """How installing opens the registry at an address: over the network or from the cache, or from a bundle file alone.

    The caller commits and closes the clients.
    """
    from rye.cli.registry.airgap_access import bundle_opener
    from rye.registry.client import RegistryClient

    from_bundle = bundle_opener(session, bundle)
    if from_bundle is not None:
        return from_bundle

    def open_one(address: str) -> RegistryClient:
        client = RegistryClient.open(
            address, accept_root=pin_question(session), offline=session.offline, cache=cache, verdicts=verdicts
        )
        for warning in client.warnings:
            session.console.warn(warning)
        return client

    return open_one


def open_api(
    session: Session, client: RegistryClient, *, needs_token: bool = True, argument: str | None = None
) -> RegistryApi:
    """The registry's API with the user's token. ``argument``: the address, where the command was given it.

    Raises RyeError ``not-logged-in``.
    """
    from rye.registry.transport.api import RegistryApi

    if session.offline:
        raise RyeError("offline", "This needs the registry's API, and --offline forbids the network.")
    named = session.registry and normal_address(session.registry, session.cwd)
    found = credential(client.address, argument or named)
    if found is None and needs_token:
        raise RyeError(
            "not-logged-in",
            f"You are not logged in to {client.address}.",
            f"`rye login {client.address} --token TOKEN` stores a token; its operator makes one.",
        )
    return RegistryApi(client.address, client.api, found.token if found else None)


def namespace_of(session: Session, given: str | None = None) -> str:
    """The namespace to write to: the one given, else the project's. Raises RyeError ``no-namespace``."""
    manifest = project_manifest(session)
    found = given or (manifest.namespace if manifest is not None else None)
    if found is None:
        raise RyeError(
            "no-namespace",
            "No namespace is given.",
            'Write namespace = "…" into [project] of rye.toml, or give --namespace.',
        )
    return found


def show_document(session: Session, document: dict[str, Any], text: str) -> None:
    """The command's one answer: the document for programs, the text for people."""
    if session.json:
        session.console.document(document)
    else:
        session.console.data(text)
