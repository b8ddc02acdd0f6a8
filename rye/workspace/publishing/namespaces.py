"""Who may publish under a name: claiming it, and every change of its keys. Its owners sign; the registry only logs (DESIGN 5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.items.identity import is_segment
from rye.publishing.look_alikes import is_close
from rye.publishing.next_keyset import next_keyset, refuse_revoked, selected_key, without_key
from rye.registry.protocol.statements import Keyset, Revocation
from rye.registry.trust.keysets import Link
from rye.signing.keys import PublicKey
from rye.signing.trust_store import read_key_file
from rye.workspace.confirmation import confirm
from rye.workspace.publishing.keyset_signing import KeysetOutcome, Signing, sign_and_send, sign_keyset, write_keyset
from rye.workspace.publishing.owner_statements import keyset_in_force, statement_time
from rye.workspace.registries.registry_access import configured, open_registry

if TYPE_CHECKING:
    from rye.registry.client import RegistryClient
    from rye.workspace.context import Context
    from rye.workspace.trusting.own_keys import OwnKeys

_RECOVERY_WAIT = timedelta(hours=72)
_RECOVERY_MARGIN = timedelta(hours=1)


class Thresholds(Struct, frozen=True):
    """How many keys must sign from now on; None: as many as before."""

    changes: int | None = None
    """Changes of the keys."""
    releases: int | None = None


class NamespaceState(Struct, frozen=True):
    """A namespace's chain as the registry's snapshot has it."""

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
    """Claim a namespace for the person's keys, and for those in ``owner_files``. Raises RyeError."""
    if not is_segment(namespace) or namespace == "root":
        raise UsageError(
            "bad-name",
            f"{namespace!r} cannot be a namespace.",
            "Names: a-z, 0-9, '-' and '_', at most 64; `root` is reserved.",
        )
    own = _own(keys, signing)
    owners = {key.raw for key in (*own, *(read_key_file(file)[0] for file in owner_files))}
    threshold, releases = thresholds.changes or 1, thresholds.releases or 1
    if max(threshold, releases) > len(owners):
        raise UsageError(
            "bad-threshold",
            f"{max(threshold, releases)} of {len(owners)} owners cannot sign.",
            "Name more with --owner.",
        )
    with open_registry(context, configured(context).of(namespace)) as client:
        present = client.keysets([namespace])[namespace].current(context.now())
        if present is not None:
            raise _taken(namespace, present.keyset, own)
        _warn_of_look_alikes(context, client, namespace)
        keyset = Keyset(
            origin=client.origin,
            namespace=namespace,
            number=1,
            previous=None,
            time=statement_time(context),
            threshold=threshold,
            release_threshold=releases,
            keys=tuple(owners),
        )
        return sign_and_send(context, client, keys, keyset, signing)


def state_of(context: Context, namespace: str) -> NamespaceState:
    """Keys, how many must sign, and the history of keysets. Raises RyeError ``no-such-namespace``."""
    with open_registry(context, configured(context).of(namespace)) as client:
        chain = client.keysets([namespace])[namespace]
        time = client.head.snapshot.time
    current = chain.current(time)
    if current is None:
        raise RyeError(
            "no-such-namespace", f"Nobody owns {namespace!r}.", f"`rye namespace claim {namespace}` makes it yours."
        )
    return NamespaceState(current, chain.pending(time), tuple(chain.links))


def add_key(
    context: Context, keys: OwnKeys, namespace: str, file: Path, thresholds: Thresholds, signing: Signing
) -> KeysetOutcome:
    """Add the public key in a file. Raises RyeError ``key-there``, ``key-revoked``."""
    added = read_key_file(file)[0]
    with open_registry(context, configured(context).of(namespace)) as client:
        before = keyset_in_force(context, client, namespace)
        if added.raw in before.keys:
            raise RyeError(
                "key-there",
                f"{added.fingerprint} is a key of {namespace!r} already.",
                f"`rye namespace show {namespace}` lists its keys.",
            )
        refuse_revoked(before, [added.raw])
        keyset = next_keyset(
            before,
            (*before.keys, added.raw),
            thresholds.changes,
            statement_time(context),
            release_threshold=thresholds.releases,
        )
        return sign_and_send(context, client, keys, keyset, signing)


def remove_key(
    context: Context, keys: OwnKeys, namespace: str, wanted: str, thresholds: Thresholds, signing: Signing
) -> KeysetOutcome:
    """Take a key out; what it signed so far stays good."""
    with open_registry(context, configured(context).of(namespace)) as client:
        before = keyset_in_force(context, client, namespace)
        gone = selected_key(namespace, before.keys, wanted)
        keyset = next_keyset(
            before,
            without_key(before, gone),
            thresholds.changes,
            statement_time(context),
            release_threshold=thresholds.releases,
        )
        return sign_and_send(context, client, keys, keyset, signing)


class Revoking(Struct, frozen=True):
    """``wanted``: fingerprint or key id; ``position``: from where in the log it no longer counts (None: from now on)."""

    namespace: str
    wanted: str
    position: int | None = None
    thresholds: Thresholds = Thresholds()


def revoke_key(context: Context, keys: OwnKeys, request: Revoking, signing: Signing) -> KeysetOutcome:
    """Revoke a key: what it signed from a position on is never installed again. This cannot be undone, so it asks first.

    Raises RyeError, among them ``declined``, ``confirmation-needed``.
    """
    namespace, position = request.namespace, request.position
    with open_registry(context, configured(context).of(namespace)) as client:
        before = keyset_in_force(context, client, namespace)
        links = client.keysets([namespace])[namespace].links
        # A key that was only taken out can turn out to be stolen later.
        ever = tuple(dict.fromkeys(key for link in links for key in link.keyset.keys))
        gone = selected_key(namespace, (*before.keys, *ever), request.wanted)
        known = next((revocation for revocation in before.revoked if revocation.key == gone), None)
        if known is not None:
            raise RyeError(
                "key-revoked",
                f"The key is revoked from position {known.position} already.",
                f"`rye namespace show {namespace}` lists what is revoked.",
            )
        size = client.head.checkpoint.size
        if position is not None and position > size:
            raise UsageError(
                "bad-position", f"The log has {size} entries; position {position} is beyond it.", "Leave --from out."
            )
        start = size if position is None else position
        keyset = next_keyset(
            before,
            without_key(before, gone),
            request.thresholds.changes,
            statement_time(context),
            release_threshold=request.thresholds.releases,
            revoked=(*before.revoked, Revocation(gone, start)),
        )
        what = f"{PublicKey(gone).fingerprint} of {namespace!r} from position {start} on"
        confirm(context, f"Revoke {what}, for ever?", "nothing was revoked.")
        return sign_and_send(context, client, keys, keyset, signing)


def draft_recovery(context: Context, keys: OwnKeys, namespace: str, signing: Signing, output: Path) -> Keyset:
    """Write the keyset that gives a namespace whose keys are lost to the person's keys; the registry's owners sign it."""
    with open_registry(context, configured(context).of(namespace)) as client:
        before = keyset_in_force(context, client, namespace)
        now = statement_time(context)
        own = tuple(dict.fromkeys(key.raw for key in _own(keys, signing)))
        refuse_revoked(before, own)
        keyset = next_keyset(before, own, 1, now, recovery=now + _RECOVERY_WAIT + _RECOVERY_MARGIN, release_threshold=1)
        write_keyset(output, sign_keyset(keys, keyset, signing.key_names))
    return keyset


def object_to_recovery(context: Context, keys: OwnKeys, namespace: str, signing: Signing) -> KeysetOutcome:
    """Object to a recovery that has not taken effect: the present keys stay. Raises RyeError ``nothing-to-do``."""
    with open_registry(context, configured(context).of(namespace)) as client:
        before = keyset_in_force(context, client, namespace)
        if client.keysets([namespace])[namespace].pending(context.now()) is None:
            raise RyeError(
                "nothing-to-do",
                f"No recovery of {namespace!r} is waiting.",
                f"`rye namespace show {namespace}` shows its history.",
            )
        keyset = next_keyset(before, before.keys, None, statement_time(context))
        return sign_and_send(context, client, keys, keyset, signing)


def _own(keys: OwnKeys, signing: Signing) -> list[PublicKey]:
    return [keys.public(name) for name in signing.key_names or (None,)]


def _warn_of_look_alikes(context: Context, client: RegistryClient, namespace: str) -> None:
    near = sorted(
        name for name in {identity.namespace for identity in client.names() or ()} if is_close(namespace, name)
    )
    if near:
        context.warn(
            f"{namespace!r} is close to the namespace {near[0]!r}: people may take one for the other.",
            "Choose another name unless both are yours.",
        )


def _taken(namespace: str, keyset: Keyset, own: Iterable[PublicKey]) -> RyeError:
    if any(key.raw in keyset.keys for key in own):
        return RyeError("namespace-yours", f"{namespace!r} is yours already.", "Go on with `rye publish`.")
    return RyeError(
        "namespace-taken",
        f"The namespace {namespace!r} is taken.",
        f"Choose another, or ask its owners (`rye namespace show {namespace}`) to add your key.",
    )
