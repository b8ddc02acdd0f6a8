"""Open a registry for a use case, with its pin and token, or the registries and sources of a project's items for one run."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from rye.errors import RyeError
from rye.installation.environment import Environment, policy_in_force
from rye.installation.sources import Sources, refuse_own
from rye.project.context import load_manifest
from rye.project.layout import find_project
from rye.project.manifest import Manifest
from rye.project.organizations import read_joined
from rye.project.registries import Registries, normal_address, registries
from rye.project.user_config import OtherPolicies, credential, read_other_policies, read_settings
from rye.registry.client import RegistryClient
from rye.registry.store.cache import Cache, WriteBehindCache
from rye.registry.store.doors import door_at, read_doors
from rye.registry.store.pins import read_addresses
from rye.registry.store.state import StateStore
from rye.registry.transport.api import RegistryApi
from rye.registry.transport.seam import NoAnswer
from rye.text.addresses import is_loopback
from rye.text.json_reading import UNDECODABLE
from rye.text.spelling import close_words
from rye.verified.memory import distrusted_keys
from rye.workspace.registries.project_registries import (
    agreed_doors,
    given_demand,
    given_pins,
    is_known,
    pin_question,
    project_registries,
    require_contact,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rye.installation.silence import NotAsked
    from rye.project.lock import LockedItem
    from rye.registry.first_contact import PinProposal
    from rye.registry.protocol.statements import Keyset
    from rye.registry.trust.cosigned import WitnessDemand
    from rye.sources.book import SourceBook
    from rye.storage.verdicts import Verdicts
    from rye.workspace.context import Context
    from rye.workspace.registries.airgap_access import Airgap


def project_manifest(context: Context) -> Manifest | None:
    """The manifest of the enclosing project; None outside a project."""
    project = find_project(context.cwd)
    return load_manifest(project) if project is not None else None


def configured(context: Context) -> Registries:
    """The registries set by --registry, the project and the user's settings."""
    setting = read_settings(context.home).get("registry")
    return registries(context.registry, project_manifest(context), setting, context.cwd, agreed_doors(context))


@contextmanager
def open_registry(
    context: Context,
    address: str,
    *,
    fingerprint: str | None = None,
    origin: str | None = None,
    named: bool = False,
    token: Callable[[], str | None] | None = None,
    accept_root: Callable[[PinProposal], bool] | None = None,
    witnesses: WitnessDemand | None = None,
    writes: bool = False,
    joins: bool = False,
    asked: RegistryClient | None = None,
) -> Iterator[RegistryClient]:
    """A client with a verified head. Its new trusted state is saved if the block ends without an error.

    ``named``: whether the user gave this address; otherwise it must be pinned, configured, or agreed to
    (:func:`rye.workspace.registries.project_registries.require_contact`). Raises TrustError if ``RYE_PINS`` names a
    different one, even if the registry is already pinned. ``token``: gets the token to use instead of the stored one.
    ``accept_root``: decides at the first contact; None: the user. ``witnesses``: what is demanded of the registry's witnesses
    from now on; None: what ``RYE_PINS`` or this machine demands. ``writes``: the command writes to the registry, so it
    continues from the newest head, whether or not witnesses have cosigned it. ``joins``: follow the policy of its owners.
    ``asked``: one of :func:`ask_at_once`.
    """
    if not named and fingerprint is None:
        require_contact(context, address)
    with _what_was_meant(context, address):
        client = asked or _unasked(
            context,
            address,
            token or reading_token(context, address, address if named else None),
            witnesses or given_demand(context, address),
            writes=writes,
            joins=joins,
        )
        client.opened(fingerprint or accept_root or pin_question(context), origin)
    with client:
        if pin := given_pins(context).get(address):
            pin.require(address, client.origin, client.state.fingerprint)
        _tell_head(context, client)
        yield client


def ask_at_once(context: Context, addresses: Iterable[str]) -> dict[str, RegistryClient]:
    """Ask those of these registries that this user pinned for their heads, all at once, so that those which are silent cost one
    time limit together. Returns their clients, which are then opened one after the other."""
    asked = {
        address: _unasked(context, address, reading_token(context, address), given_demand(context, address))
        for address in addresses
        if context.offline or is_known(context, address)
    }
    for client in asked.values():
        client.ask_ahead()
    return asked


def _unasked(
    context: Context,
    address: str,
    token: Callable[[], str | None],
    witnesses: WitnessDemand | None,
    *,
    writes: bool = False,
    joins: bool = False,
) -> RegistryClient:
    """The client of :func:`open_registry`, before it has asked for anything."""
    return RegistryClient.unasked(
        address,
        store=StateStore(context.home.registries),
        cache=Cache(context.home.registry_cache),
        offline=context.offline,
        token=token,
        distrusted=distrusted_keys(context.home),
        witnesses=witnesses,
        writes=writes,
        joins=joins,
    )


@contextmanager
def _what_was_meant(context: Context, address: str) -> Iterator[None]:
    """Where an address does not answer that is pinned nowhere, the error names a pinned one like it."""
    try:
        yield
    except NoAnswer as error:
        try:
            pinned = read_addresses(context.home.registries)
        except (OSError, *UNDECODABLE):  # opening a registry reports the error
            raise error from None
        near = close_words(address, pinned, likeness=0.85) if address not in pinned else []
        if not near:
            raise
        hint = f"Did you mean {near[0]}, which you pinned? {error.hint or ''}".rstrip()
        raise NoAnswer(error.code, error.message, hint, reason=error.reason, details=error.details) from error


def _tell_head(context: Context, client: RegistryClient) -> None:
    """Tell what a person should know about the head: its age, and what waits for witnesses."""
    for warning in client.warnings:
        context.warn(f"{client.origin}: {warning}")
    if client.waiting is not None:
        context.tell(f"{client.origin}: {client.waiting.told(context.now())}")


def reading_token(context: Context, address: str, argument: str | None = None) -> Callable[[], str | None]:
    """A function that gets the token for a registry that only members may read. It is called when the registry asks.

    ``argument``: the address on the command line, if any. RYE_TOKEN is also sent to the one registry that RYE_PINS names.
    """

    def look_up() -> str | None:
        pins = [pinned for pinned in given_pins(context) if pinned]
        only_pin = pins[0] if len(pins) == 1 else None
        named = argument or (context.registry and normal_address(context.registry, context.cwd)) or only_pin
        door = door_at(read_doors(context.home.registries), address)
        if door is not None:  # the token is the one of the registry that serves it, on the same host
            named = door[0] if named == address else named
        found = credential(context.home, context.environment, door[0] if door is not None else address, named)
        return found.token if found is not None else None

    return look_up


def open_api(
    context: Context, client: RegistryClient, *, needs_token: bool = True, argument: str | None = None
) -> RegistryApi:
    """The registry's API with the user's token. ``argument``: the address on the command line, if any.

    Raises RyeError ``not-logged-in``.
    """
    if context.offline:
        raise RyeError("offline", "This needs the registry's API, and --offline forbids the network.")
    named = context.registry and normal_address(context.registry, context.cwd)
    found = credential(context.home, context.environment, client.address, argument or named)
    if found is None and needs_token:
        raise not_logged_in(client.address)
    return RegistryApi(client.address, client.api, found.token if found else None)


def not_logged_in(address: str) -> RyeError:
    """The error for a command that needs a token for this registry."""
    return RyeError(
        "not-logged-in",
        f"You are not logged in to {address}.",
        f"`rye login {address} --token -` stores a token from its operator. Without --token, log in on a web page."
        + _own_registry(address),
    )


def _own_registry(address: str) -> str:
    """What else helps with a registry on this machine."""
    if not is_loopback(urlsplit(address).hostname or ""):
        return ""
    return " If it is your own, stop it and run `rye registry serve`, which logs you in."


def serving_registry(context: Context, where: Registries, namespace: str) -> str:
    """The address to read a namespace at. Raises RyeError ``no-registry``, ``from-a-source``, and ``namespace-conflict`` if the
    registry that serves it from another one has one of that name itself, by its own log."""
    behind, address = where.behind(namespace), where.of(namespace)
    if behind is not None:
        with open_registry(context, behind) as client:
            refuse_own(client, namespace)
    return address


def namespace_of(context: Context, given: str | None = None) -> str:
    """The namespace to write to: ``given``, otherwise the project's. Raises RyeError ``no-namespace``."""
    manifest = project_manifest(context)
    found = given or (manifest.namespace if manifest is not None else None)
    if found is None:
        write = 'Set namespace = "…" in [project] of rye.toml, or pass --namespace.'
        init = "No rye.toml found. Create one with `rye init --namespace NAME`."
        raise RyeError("no-namespace", "No namespace is set.", init if manifest is None else write)
    return found


def last_seen_keyset(context: Context, namespace: str) -> Keyset | None:
    """A namespace's keyset from its pinned registry, as of the last read.

    Nothing is fetched: None if it is not cached or not verified.
    """
    seen = last_seen_keysets(context, namespace)
    return seen[0] if seen else None


def last_seen_keysets(context: Context, namespace: str) -> tuple[Keyset, ...]:
    """The same with the keysets before it, the one in force first. Empty if none is in force."""
    try:
        client = RegistryClient.open(
            configured(context).of(namespace),
            store=StateStore(context.home.registries),
            cache=Cache(context.home.registry_cache),
            offline=True,
        )
        chain = client.keysets([namespace])[namespace]
        now = chain.current(client.head.snapshot.time)
    except RyeError:
        return ()
    if now is None:
        return ()
    return (now.keyset, *(link.keyset for link in chain.links if link.keyset.number < now.keyset.number))


Outages = Literal["fail", "survive", "survive-patiently", "hold"]
"""How a run treats a registry that does not answer: fail; continue with the last verified head after a short wait; continue with
it after the full wait of a failing run; or go on with those that answer after the same wait, and hold what the others have in
rye.lock (:attr:`rye.installation.sources.Sources.not_asked`), which the caller must report. A wrong answer always fails."""


def project_sources(
    context: Context,
    manifest: Manifest,
    root: Path,
    airgap: Airgap | None = None,
    *,
    offline: bool | None = None,
    asks: bool = True,
    outages: Outages = "fail",
    contacts: bool = False,
    rejudges: bool = False,
    silent: Mapping[str, NoAnswer] = MappingProxyType({}),
) -> Sources:
    """The registries of a project; a context manager.

    ``airgap``: a file to read instead of the registries. ``offline``: whether to use only trusted state and cache; None: as
    in the context. ``asks``: whether to ask the user to pin a registry. ``outages``: how to treat a registry that does not
    answer; using its last verified head gives one warning. ``contacts``: whether to contact repositories of ``[sources]``
    that this user never agreed to, because the command names them or trusts the lock. ``rejudges``: raise RyeError
    ``policy-changed`` when a newer policy of a joined organization arrives, because the caller has read the old one. ``silent``:
    the addresses of registries that fell silent when this command tried before, and why; they are not asked again.
    """
    cache, verdicts = WriteBehindCache.at(context.home.registry_cache), context.home.verdicts()
    where = project_registries(context, manifest, root)
    holds = outages == "hold"
    book = None
    if manifest.sources:
        cut_off = context.offline if offline is None else offline
        book = _book(context, manifest, root, offline=cut_off, asks=asks, contacts=contacts)
    if airgap is not None:
        open_one = importlib.import_module(_AIRGAP).airgap_opener(context, airgap)
        return Sources(where, open_one, verdicts, cache.flush, book, holds=holds)
    opening = _Opening(
        context,
        where,
        cache,
        verdicts,
        offline=context.offline if offline is None else offline,
        asks=asks,
        outages=outages,
        rejudges=rejudges,
        silent=silent,
    )

    def finish() -> None:
        opening.close()
        cache.flush()

    return Sources(where, opening.open, verdicts, finish, book, holds=holds, ask_ahead=opening.ask_ahead)


class _Opening:
    """Opens the registries of one run. Those that will be needed together are asked at once (:meth:`ask_ahead`); what a person is
    told and asked, and in which order, depends only on the order in which they are opened."""

    def __init__(
        self,
        context: Context,
        where: Registries,
        cache: Cache,
        verdicts: Verdicts,
        *,
        offline: bool,
        asks: bool,
        outages: Outages,
        rejudges: bool,
        silent: Mapping[str, NoAnswer],
    ) -> None:
        """The options are those of :func:`project_sources`."""
        self._context = context
        self._where = where
        self._cache = cache
        self._verdicts = verdicts
        self._offline = offline
        self._asks = asks
        self._outages = outages
        self._rejudges = rejudges
        self._silent = silent
        self._pins = given_pins(context)
        self._asked: dict[str, RegistryClient] = {}
        """Clients whose request for the head is under way."""

    def ask_ahead(self, addresses: Iterable[str]) -> None:
        """Ask registries that this user pinned for their heads, all at once. Nobody else is contacted."""
        if self._offline:
            return
        for address in addresses:
            if address not in self._asked and address not in self._silent and is_known(self._context, address):
                self._asked[address] = client = self._client(address)
                client.ask_ahead()

    def open(self, address: str) -> RegistryClient:
        """Return a client with a verified head. Raises as :meth:`RegistryClient.open` does, and RyeError ``registry-unpinned``,
        ``declined`` and ``policy-changed``."""
        context, where = self._context, self._where
        if not self._offline:
            others = (where.default, *where.by_namespace.values())
            require_contact(context, address, others, asks=self._asks)
        client = self._asked.pop(address, None) or self._client(address)
        with _what_was_meant(context, address):
            try:
                client.opened(pin_question(context, asks=self._asks))
            except NoAnswer as error:
                if client.fell_silent is None or self._outages == "fail":
                    raise
                client = self._client(address, error)  # what it showed could not be proved: as if it had shown nothing
                client.opened()
        try:
            if address in self._pins:
                self._pins[address].require(address, client.origin, client.state.fingerprint)
        except BaseException:
            client.close()
            raise
        _tell_head(context, client)
        if client.took_policy:
            client.commit()
            if self._rejudges:
                client.close()
                raise RyeError("policy-changed", f"{client.origin} has a newer policy.", "Run the command again.")
        if client.outage is not None and self._outages == "survive":  # the patient round is the second one
            _tell_outage(context, client, client.outage)
        return client

    def close(self) -> None:
        """Close the connections to those that were asked and not needed after all."""
        for client in self._asked.values():
            client.close()

    def _client(self, address: str, silence: NoAnswer | None = None) -> RegistryClient:
        return RegistryClient.unasked(
            address,
            store=StateStore(self._context.home.registries),
            offline=self._offline,
            survives_outages=self._outages != "fail",
            patient=self._outages in ("survive-patiently", "hold"),
            silence=silence or self._silent.get(address),
            cache=self._cache,
            verdicts=self._verdicts,
            token=reading_token(self._context, address),
            distrusted=distrusted_keys(self._context.home),
            witnesses=given_demand(self._context, address),
        )


def folders_match(context: Context, manifest: Manifest, root: Path, rows: Sequence[LockedItem]) -> bool:
    """Whether the source folders of these rows still match the rows. Nothing is read if no row has one."""
    if all(row.source is None or row.source.path is None for row in rows):
        return True
    matches: bool = importlib.import_module(_BOOK).folders_match(context, manifest.sources, root, rows)
    return matches


_AIRGAP = "rye.workspace.registries.airgap_access"
"""Imported only for a bundle: other runs do not load the archive reader."""
_BOOK = "rye.workspace.registries.source_book"
"""Imported only for a project with sources: other runs do not load the git modules."""


def _book(context: Context, manifest: Manifest, root: Path, *, offline: bool, asks: bool, contacts: bool) -> SourceBook:
    book: SourceBook = importlib.import_module(_BOOK).source_book(
        context, manifest.sources, root, offline=offline, asks=asks, contacts=contacts
    )
    return book


STAYS = "What it has in rye.lock stays as it is."
"""What follows for a run that moves only what those who answer have."""


UNCHECKED = "Whether what it has was yanked, taken down or revoked since then was not checked."
"""What follows for a run that uses what is locked."""
NOTHING_NEWER = "What it has that is newer is not known."
"""What follows for a run that compares."""


def tell_not_asked(context: Context, sources: Sources, what_follows: str) -> tuple[NotAsked, ...]:
    """Warn about each who did not answer, and return them; none if the run did not go on without them. ``what_follows``: a
    sentence about what they have."""
    silent = sources.not_asked if sources.holds else ()
    for one in silent:
        context.warn(one.told(f"{what_follows}{_unseen_policy(context, one.registry)}"), one.error.hint)
    return silent


def _unseen_policy(context: Context, address: str) -> str:
    """What silence means to who joined the organization behind a registry; empty for all others."""
    if all(row.address != address for row in read_joined(context.home)):
        return ""
    return " You follow its policy, and a newer one could not be looked for."


def _tell_outage(context: Context, client: RegistryClient, outage: NoAnswer) -> None:
    hours = (context.now() - client.head.snapshot.time) // timedelta(hours=1)
    age = f"{hours} hours" if hours > 1 else "less than two hours"
    unseen = _unseen_policy(context, client.address)
    context.warn(f"{outage.message} Using its last verified state, {age} old.{unseen}")


def judging_environment(context: Context, manifest: Manifest, others: OtherPolicies | None = None) -> Environment:
    """The current basis for checking releases. ``others``: the policies besides the project's, if already read."""
    if others is None:
        others = read_other_policies(context.home, context.now())
    policy = policy_in_force(manifest, others)
    return Environment(manifest.provides, policy, context.now())
