"""Accept a namespace whose lost keys the registry's owners replaced (docs/reference/statements.md, rye.keyset/v1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.notes import VerifierKey
from rye.registry.trust.trust_error import TrustError
from rye.signing.keys import PublicKey
from rye.workspace.registries.registry_access import configured, open_registry, serving_registry

if TYPE_CHECKING:
    from rye.workspace.context import Context


class Recovery(Struct, frozen=True):
    """A recovery that this user has not accepted. Keys are fingerprints."""

    statement: str
    """The hash of its statement."""
    old_keys: tuple[str, ...]
    new_keys: tuple[str, ...]


def accept_recoveries(
    context: Context, namespace: str, statement: str | None, agreed: Callable[[Recovery], bool]
) -> tuple[Recovery, ...]:
    """Accept the recoveries of a namespace that this user has not accepted, if ``agreed``. ``statement``: only that one.

    Raises RyeError ``declined``, ``other-recovery``, ``recovery-pending``, ``nothing-to-do``.
    """
    accepted: list[Recovery] = []
    with open_registry(context, serving_registry(context, configured(context), namespace)) as client:
        while True:
            try:
                chain = client.keysets([namespace])[namespace]
            except TrustError as error:
                if error.code != "recovery-unaccepted":
                    raise
                found = _recovery(error)
                if statement not in (None, found.statement):
                    raise RyeError(
                        "other-recovery",
                        f"The recovery of {namespace!r} is {found.statement}, not {statement}.",
                        f"Compare it again. To accept it: `rye trust accept {namespace} --statement {found.statement}`.",
                    ) from error
                if not agreed(found):
                    raise RyeError("declined", f"You declined the recovery of {namespace!r}.") from error
                client.accept_recovery(found.statement)
                accepted.append(found)
            else:
                break
        pending = chain.pending(client.head.snapshot.time)
    if not accepted:
        raise _nothing(namespace, write_time(pending.keyset.recovery) if pending and pending.keyset.recovery else None)
    return tuple(accepted)


def _recovery(error: TrustError) -> Recovery:
    details = error.details
    return Recovery(str(details["statement"]), _fingerprints(details["old_keys"]), _fingerprints(details["new_keys"]))


def _fingerprints(vkeys: object) -> tuple[str, ...]:
    assert isinstance(vkeys, list)
    return tuple(PublicKey(VerifierKey.from_vkey(str(vkey)).key).fingerprint for vkey in vkeys)


def _nothing(namespace: str, pending: str | None) -> RyeError:
    if pending is not None:
        return RyeError(
            "recovery-pending",
            f"The recovery of {namespace!r} takes effect at {pending}. Until then its old keys are valid.",
            f"Ask its owners whether they started it. Until then they can object: `rye namespace object {namespace}`.",
        )
    return RyeError("nothing-to-do", f"{namespace!r} has no recovery for you to accept.", "Nothing to do.")
