"""Claim a namespace and change its keys. The owners sign every change; the registry only logs it (DESIGN 5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.items.identity import is_segment
from rye.items.look_alikes import is_close
from rye.publishing.next_keyset import next_keyset, refuse_revoked, selected_key, without_key
from rye.registry.protocol.statements import Keyset, Require, Revocation
from rye.registry.protocol.wire import namespace_name
from rye.registry.trust.keysets import Link
from rye.signing.keys import PublicKey
from rye.signing.trust_store import read_key_file
from rye.workspace.confirmation import confirm, confirm_on_terminal
from rye.workspace.publishing.keyset_signing import KeysetOutcome, Signing, sign_and_send, sign_keyset, write_keyset
from rye.workspace.publishing.owner_statements import keyset_in_force, statement_time
from rye.workspace.publishing.similar_names import similar_names
from rye.workspace.registries.registry_access import configured, open_api, open_registry, serving_registry

if TYPE_CHECKING:
    from rye.registry.client import RegistryClient
    from rye.workspace.context import Context
    from rye.workspace.trusting.own_keys import OwnKeys

_RECOVERY_WAIT = timedelta(hours=72)
_RECOVERY_MARGIN = timedelta(hours=1)


class Thresholds(Struct, frozen=True):
    """How many keys must sign from now on. None: no change."""

    changes: int | None = None
    """For changes of the keys."""
    releases: int | None = None
    require: Require | Literal["none"] | None = None
    """Whose signatures count from now on."""


class NamespaceState(Struct, frozen=True):
    """A namespace's chain of keysets in the registry's snapshot."""

    current: Link
    pending: Link | None
    links: tuple[Link, ...]


def claim(
    context: Context,
    keys: OwnKeys,
    namespace: str,
    owner_files: Sequence[Path],
    thresholds: Thresholds,
    signing: Signing,
) -> KeysetOutcome:
    """Claim a namespace for the user's keys and the keys in ``owner_files``. Asks on a terminal if the name is like another.

    Raises RyeError, among them ``declined``.
    """
    if not is_segment(namespace) or namespace == "root":
        raise UsageError(
            "bad-argument",
            f"{namespace!r} is not a valid namespace.",
            "Use at most 64 characters from a-z, 0-9, '-' and '_'. `root` is reserved.",
            what="namespace",
        )
    own = _own(keys, signing)
    owners = {key.raw for key in (*own, *(read_key_file(file)[0] for file in owner_files))}
    threshold, releases = thresholds.changes or 1, thresholds.releases or 1
    require = None if thresholds.require == "none" else thresholds.require
    security_keys = sum(PublicKey(key).hardware for key in owners)
    if require is not None and max(threshold, releases) > security_keys:
        raise UsageError(
            "bad-argument",
            f"{max(threshold, releases)} security keys must sign, but {security_keys} are named.",
            "Name a security key with --key or --owner: `rye keys add --agent` takes one from your agent.",
            what="threshold",
        )
    if max(threshold, releases) > len(owners):
        raise UsageError(
            "bad-argument",
            f"A threshold of {max(threshold, releases)} is too high: only {len(owners)} owners are named.",
            "Name more owners with --owner, or lower the threshold.",
            what="threshold",
        )
    where = configured(context)
    own_registry = where.behind(namespace) or where.of(namespace)  # what it serves from another one is that one's
    with open_registry(context, own_registry, writes=True) as client:
        present = client.keysets([namespace])[namespace].current(context.now())
        if present is not None:
            raise _taken(namespace, present.keyset, own)
        if _warn_of_look_alikes(context, client, namespace):
            question = f"Claim {namespace!r} in {client.origin} all the same? Nobody can give it back."
            confirm_on_terminal(context, question, "nothing was claimed.")
        keyset = Keyset(
            origin=client.origin,
            namespace=namespace,
            number=1,
            previous=None,
            time=statement_time(context),
            threshold=threshold,
            release_threshold=releases,
            require=require,
            keys=tuple(owners),
        )
        return sign_and_send(context, client, keys, keyset, signing)


def state_of(context: Context, namespace: str) -> NamespaceState:
    """A namespace's current and pending keysets, and its history. Raises RyeError ``namespace-unclaimed``."""
    with open_registry(context, serving_registry(context, configured(context), namespace), writes=True) as client:
        chain = client.keysets([namespace])[namespace]
        time = client.head.snapshot.time
    current = chain.current(time)
    if current is None:
        raise RyeError(
            "namespace-unclaimed",
            f"The namespace {namespace!r} has no owner.",
            f"Claim it with `rye namespace claim {namespace}`.",
        )
    return NamespaceState(current, chain.pending(time), tuple(chain.links))


def add_key(
    context: Context, keys: OwnKeys, namespace: str, file: Path, thresholds: Thresholds, signing: Signing
) -> KeysetOutcome:
    """Add the public key in a file. Asks on a terminal. Raises RyeError ``already-exists``, ``revoked-key``, ``declined``."""
    added = read_key_file(file)[0]
    with open_registry(context, configured(context).of(namespace), writes=True) as client:
        before = keyset_in_force(context, client, namespace)
        if added.raw in before.keys:
            raise RyeError(
                "already-exists",
                f"{added.fingerprint} is already a key of {namespace!r}.",
                f"`rye namespace show {namespace}` lists its keys.",
                what="namespace key",
            )
        refuse_revoked(before, [added.raw])
        if any(PublicKey(key).point == added.point for key in before.keys):
            raise RyeError(
                "already-exists",
                f"A key of {namespace!r} has the same 32 bytes as {added.fingerprint}: they would be one key in two forms.",
                f"Remove the other first: `rye namespace show {namespace}` lists them.",
                what="namespace key",
            )
        keyset = next_keyset(
            before,
            (*before.keys, added.raw),
            thresholds.changes,
            statement_time(context),
            release_threshold=thresholds.releases,
            require=thresholds.require,
        )
        question = f"Add {added.fingerprint} to {namespace!r} in {client.origin}, so that it can publish there?"
        confirm_on_terminal(context, question, "nothing was added.")
        return sign_and_send(context, client, keys, keyset, signing)


def remove_key(
    context: Context, keys: OwnKeys, namespace: str, wanted: str, thresholds: Thresholds, signing: Signing
) -> KeysetOutcome:
    """Remove a key. Its earlier signatures stay valid. Asks on a terminal. Raises RyeError, among them ``declined``."""
    with open_registry(context, configured(context).of(namespace), writes=True) as client:
        before = keyset_in_force(context, client, namespace)
        gone = selected_key(namespace, before.keys, wanted)
        keyset = next_keyset(
            before,
            without_key(before, gone),
            thresholds.changes,
            statement_time(context),
            release_threshold=thresholds.releases,
            require=thresholds.require,
        )
        question = (
            f"Remove {PublicKey(gone).fingerprint} from {namespace!r} in {client.origin}, so that it publishes no more?"
        )
        confirm_on_terminal(context, question, "nothing was removed.")
        return sign_and_send(context, client, keys, keyset, signing)


class Revoking(Struct, frozen=True):
    """``wanted``: fingerprint or key id. ``position``: the log position from which the key no longer counts (None: now)."""

    namespace: str
    wanted: str
    position: int | None = None
    thresholds: Thresholds = Thresholds()


def revoke_key(context: Context, keys: OwnKeys, request: Revoking, signing: Signing) -> KeysetOutcome:
    """Revoke a key: nothing that it signed from a position on is ever installed. Asks first, as this cannot be undone.

    Raises RyeError, among them ``declined``, ``confirmation-needed``.
    """
    namespace, position = request.namespace, request.position
    with open_registry(context, configured(context).of(namespace), writes=True) as client:
        before = keyset_in_force(context, client, namespace)
        links = client.keysets([namespace])[namespace].links
        # A key that was only removed can turn out to be stolen later.
        ever = tuple(dict.fromkeys(key for link in links for key in link.keyset.keys))
        gone = selected_key(namespace, (*before.keys, *ever), request.wanted)
        point = PublicKey(gone).point
        known = next((entry for entry in before.revoked if PublicKey(entry.key).point == point), None)
        if known is not None:
            raise RyeError(
                "revoked-key",
                f"The key is already revoked from position {known.position}.",
                f"`rye namespace show {namespace}` lists revoked keys.",
            )
        size = client.head.checkpoint.size
        if position is not None and position > size:
            raise UsageError(
                "bad-argument",
                f"Position {position} is out of range: the log has {size} entries.",
                "Omit --from.",
                what="position",
            )
        start = size if position is None else position
        keyset = next_keyset(
            before,
            without_key(before, gone),
            request.thresholds.changes,
            statement_time(context),
            release_threshold=request.thresholds.releases,
            require=request.thresholds.require,
            revoked=(*before.revoked, Revocation(gone, start)),
        )
        what = f"{PublicKey(gone).fingerprint} of {namespace!r} from position {start} on"
        confirm(context, f"Permanently revoke {what}?", "nothing was revoked.")
        return sign_and_send(context, client, keys, keyset, signing)


def draft_recovery(context: Context, keys: OwnKeys, namespace: str, signing: Signing, output: Path) -> Keyset:
    """Write the keyset that transfers a namespace with lost keys to the user's keys, for the registry's owners to sign."""
    with open_registry(context, configured(context).of(namespace), writes=True) as client:
        before = keyset_in_force(context, client, namespace)
        now = statement_time(context)
        own = tuple(dict.fromkeys(key.raw for key in _own(keys, signing)))
        refuse_revoked(before, own)
        keyset = next_keyset(
            before, own, 1, now, recovery=now + _RECOVERY_WAIT + _RECOVERY_MARGIN, release_threshold=1, require="none"
        )
        write_keyset(output, sign_keyset(keys, keyset, signing.key_names))
    return keyset


def object_to_recovery(context: Context, keys: OwnKeys, namespace: str, signing: Signing) -> KeysetOutcome:
    """Object to a recovery before it takes effect: the current keys stay. Raises RyeError ``nothing-to-do``."""
    with open_registry(context, configured(context).of(namespace), writes=True) as client:
        before = keyset_in_force(context, client, namespace)
        if client.keysets([namespace])[namespace].pending(context.now()) is None:
            raise RyeError(
                "nothing-to-do",
                f"{namespace!r} has no pending recovery.",
                f"`rye namespace show {namespace}` shows its history.",
            )
        keyset = next_keyset(before, before.keys, None, statement_time(context))
        return sign_and_send(context, client, keys, keyset, signing)


def _own(keys: OwnKeys, signing: Signing) -> list[PublicKey]:
    return [keys.public(name) for name in signing.key_names or (None,)]


def _warn_of_look_alikes(context: Context, client: RegistryClient, namespace: str) -> bool:
    """Return whether there was something to warn of."""
    api = partial(open_api, context, client, needs_token=False)
    names = similar_names(client, api, [namespace_name(namespace)])
    spaces = {name.partition(":")[2].partition("/")[0] for name in names}
    near = sorted(other for other in spaces if is_close(namespace, other))
    if near:
        context.warn(
            f"{namespace!r} is similar to the namespace {near[0]!r}: people may confuse them.",
            "Choose another name unless both are yours.",
        )
    return bool(near)


def _taken(namespace: str, keyset: Keyset, own: Iterable[PublicKey]) -> RyeError:
    if any(key.raw in keyset.keys for key in own):
        return RyeError("namespace-yours", f"You already own {namespace!r}.", "Continue with `rye publish`.")
    return RyeError(
        "namespace-taken",
        f"The namespace {namespace!r} is taken.",
        f"Choose another name, or ask its owners to add your key: `rye namespace show {namespace}` lists them.",
    )
