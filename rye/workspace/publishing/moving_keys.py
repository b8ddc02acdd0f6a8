"""Moving from one key to another: the new one takes the old one's place in every namespace that this machine can change alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.publishing.next_keyset import next_keyset
from rye.signing.key_store import StoredKey
from rye.workspace.publishing.keyset_signing import Signing, sign_and_send
from rye.workspace.publishing.owner_statements import keyset_in_force, statement_time
from rye.workspace.registries.registry_access import open_registry
from rye.workspace.trusting.key_uses import KeyUses, OwnNamespace, key_uses

if TYPE_CHECKING:
    from rye.workspace.context import Context
    from rye.workspace.trusting.own_keys import OwnKeys


class LeftNamespace(Struct, frozen=True):
    """A namespace that still has the old key, why, and the command that changes it."""

    namespace: str
    why: str
    command: str

    def as_json(self) -> dict[str, str]:
        """An entry of ``left`` of ``rye keys move --json``."""
        return {"namespace": self.namespace, "why": self.why, "command": self.command}


class Moved(Struct, frozen=True):
    """Which namespaces have the new key instead of the old one now."""

    old: StoredKey
    new: StoredKey
    namespaces: tuple[str, ...]
    left: tuple[LeftNamespace, ...]
    unread: tuple[tuple[str, str], ...]
    """Registries that could not be looked at, and why."""

    def as_json(self) -> dict[str, object]:
        """The JSON of ``rye keys move``: the new key, and where it is in force."""
        left = [one.as_json() for one in self.left]
        return {**self.new.as_json(), "namespaces": list(self.namespaces), "left": left}


def move_key(context: Context, keys: OwnKeys, old_name: str, selector: str, new_name: str) -> Moved:
    """Add a key of the agent, and put it in the place of an own key: a keyset of each namespace that both keys sign.

    The old key stays where it is. The new one becomes the default if the old one was and no namespace still needs
    it. Raises what :meth:`OwnKeys.add_from_agent` raises.
    """
    old = keys.store.get(old_name)
    present = keys.stored_from_agent(selector)
    new = present or keys.add_from_agent(selector, new_name)
    if new.public == old.public:
        raise RyeError("nothing-to-do", f"{old.name!r} is this key already.", "`rye keys list` lists your keys.")
    uses: KeyUses = key_uses(context, [old])
    done: list[str] = []
    left: list[LeftNamespace] = []
    for use in uses.namespaces:
        try:
            replaced = _replace(context, keys, use, old, new)
        except RyeError as error:
            command = f"rye namespace keys add {use.namespace} {new.path.with_suffix('.pub')} -o {use.namespace}.keyset"
            left.append(LeftNamespace(use.namespace, error.message, command))
        else:
            done += [use.namespace] if replaced else []
    if old.default and not left:
        keys.store.set_default(new.name)
    return Moved(keys.store.get(old.name), keys.store.get(new.name), tuple(done), tuple(left), uses.unread)


def _replace(context: Context, keys: OwnKeys, use: OwnNamespace, old: StoredKey, new: StoredKey) -> bool:
    """Whether the namespace has the new key instead of the old one now. False: somebody took the old one out."""
    with open_registry(context, use.registry, writes=True) as client:
        before = keyset_in_force(context, client, use.namespace)
        if old.public.raw not in before.keys:
            return new.public.raw in before.keys  # another machine did it, or an interrupted command
        rest = tuple(key for key in before.keys if key not in (old.public.raw, new.public.raw))
        keyset = next_keyset(before, (*rest, new.public.raw), None, statement_time(context))
        sign_and_send(context, client, keys, keyset, Signing())
        return True
