"""Which namespaces accept the keys of this machine, as of the last look at their registries. Nothing is fetched."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.registry.client import RegistryClient
from rye.registry.protocol.lines import write_time
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from rye.registry.trust.keysets import KeysetChain
from rye.signing.key_store import StoredKey

if TYPE_CHECKING:
    from rye.workspace.context import Context
    from rye.workspace.trusting.own_keys import OwnKeys


class OwnNamespace(Struct, frozen=True, kw_only=True):
    """A namespace that lists a key of this machine."""

    namespace: str
    registry: str
    """The address that is pinned."""
    origin: str
    """What that registry is called; several addresses can show the same one."""
    keys: int
    """How many of its keys count: all, or the security keys if it requires one."""
    since: dict[str, datetime]
    """Each key of this machine that it lists, by name, and since when."""
    accepted: frozenset[str]
    """Those of them that count."""

    def only(self, name: str) -> bool:
        """Whether it accepts no other key of this machine."""
        return self.accepted == {name}


class KeyUses(Struct, frozen=True):
    """The namespaces, and the registries that could not be looked at, with the reason."""

    namespaces: tuple[OwnNamespace, ...]
    unread: tuple[tuple[str, str], ...] = ()

    def of(self, name: str) -> tuple[OwnNamespace, ...]:
        """Those that accept the key with this name."""
        return tuple(one for one in self.namespaces if name in one.accepted)

    def named(self, given: Iterable[OwnNamespace]) -> dict[str, OwnNamespace]:
        """These namespaces by what people call them, each once although several addresses show its registry: with the registry if
        this machine's namespaces are in several."""
        several = len({one.origin for one in self.namespaces}) > 1
        found: dict[str, OwnNamespace] = {}
        for one in given:
            found.setdefault(f"{one.namespace} in {one.origin}" if several else one.namespace, one)
        return found

    def as_json(self, name: str) -> list[dict[str, str]]:
        """``namespaces`` of a key in the JSON of ``rye keys list``."""
        return [
            {"namespace": one.namespace, "registry": one.registry, "since": write_time(one.since[name])}
            for one in self.of(name)
        ]


def key_uses(context: Context, keys: Iterable[StoredKey]) -> KeyUses:
    """Look at what every pinned registry said last about the namespaces that were seen there."""
    names = {stored.public.raw: stored.name for stored in keys}
    store = StateStore(context.home.registries)
    own: list[OwnNamespace] = []
    unread: list[tuple[str, str]] = []
    for address, origin in sorted(store.addresses().items()) if names else ():
        try:
            state = store.load(origin)
            if state is None or not state.keysets:
                continue
            client = RegistryClient.open(address, store=store, cache=Cache(context.home.registry_cache), offline=True)
            chains = client.keysets(sorted(state.keysets))
            time = client.head.snapshot.time
        except RyeError as error:
            unread.append((address, error.message))
            continue
        for namespace, chain in chains.items():
            since = _since(chain, names, time)
            if since:
                current = chain.current(time)
                counting = {key.raw for key in current.keyset.accepted_keys()} if current is not None else set()
                accepted = frozenset(names[key] for key in counting & names.keys())
                own.append(
                    OwnNamespace(
                        namespace=namespace,
                        registry=address,
                        origin=origin,
                        keys=len(counting),
                        since=since,
                        accepted=accepted,
                    )
                )
    return KeyUses(tuple(own), tuple(unread))


def _since(chain: KeysetChain, names: dict[bytes, str], time: datetime) -> dict[str, datetime]:
    """The time of the first keyset since which each key is one of the namespace's without a break."""
    since: dict[str, datetime] = {}
    for key, name in names.items():
        for link in reversed(chain.effective(time)):
            if key not in link.keyset.keys:
                break
            since[name] = link.keyset.recovery or link.keyset.time
    return since


def removable(context: Context, keys: OwnKeys, name: str, *, left: Collection[str] = ()) -> StoredKey:
    """The key with this name, if no namespace but those of ``left`` is left without a key of this machine; of these, a warning
    says so.

    Raises RyeError ``no-key``, ``key-needed``.
    """
    stored = keys.store.get(name)
    uses = key_uses(context, keys.list())
    for address, why in uses.unread:
        context.warn(f"Whether a namespace of {address} needs {stored.name!r} is not known: {why}")
    needing = [use for use in uses.namespaces if use.only(stored.name)]
    if not needing:
        return stored
    told = "; ".join(f"{said} ({_others(use.keys - 1)})" for said, use in uses.named(needing).items())
    message = f"Without {stored.name!r} this machine has no key of {told}."
    if all(use.namespace in left for use in needing):
        context.warn(message)
        return stored
    anyway = [f"--leave-without-key {namespace}" for namespace in dict.fromkeys(use.namespace for use in needing)]
    raise RyeError(
        "key-needed",
        message,
        f"`rye keys move {stored.name} --agent KEY` puts a key of your ssh-agent in its place; "
        f"`{' '.join(['rye keys remove', stored.name, *anyway])}` deletes it all the same.",
    )


def _others(count: int) -> str:
    if count == 0:
        return "nobody else has one: only its registry's owners could then recover it"
    return "1 key of somebody else remains" if count == 1 else f"{count} keys of others remain"
