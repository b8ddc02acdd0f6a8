"""Signing a person's own items: all of them if all are valid, otherwise none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.project.checking import Checked, check_files
from rye.project.context import arguments_or_own_items, read_options
from rye.signing.keys import PublicKey
from rye.signing.last_signed import LastSigned
from rye.signing.sign_item import sign_bytes
from rye.signing.verification import verify
from rye.storage.atomic import Replacement, replace_files

if TYPE_CHECKING:
    from rye.workspace.context import Context
    from rye.workspace.trusting.own_keys import OwnKeys


class SignedItem(Struct, frozen=True):
    """An item, and whether it was signed now."""

    shown: str
    kind: str
    changed: bool
    """False if it was already signed and is unchanged."""
    key: PublicKey


class SignOutcome(Struct, frozen=True):
    """Either ``signed``, or ``invalid`` and then nothing was signed."""

    signed: tuple[SignedItem, ...] = ()
    invalid: tuple[Checked, ...] = ()


def sign_items(
    context: Context, keys: OwnKeys, paths: Sequence[str], kind: str | None = None, key: str | None = None
) -> SignOutcome:
    """Sign the items that need it. ``paths``: default, the project's own. Raises RyeError ``installed-item`` and key errors."""
    checked = check_files(arguments_or_own_items(context.cwd, paths), kind, read_options(context.cwd))
    invalid = tuple(entry for entry in checked if any(d.severity == "error" for d in entry.diagnostics))
    if invalid:
        return SignOutcome(invalid=invalid)
    refuse_installed(checked)
    private = keys.private(key)
    # Without --key, a valid signature by any of this person's keys is kept. Otherwise a new default key would change every
    # file, and with it every version that is already published.
    own = () if key is not None else tuple(stored.public for stored in keys.list())
    now = context.now()
    signed = []
    for entry in checked:
        assert entry.item is not None  # it has no errors
        item = entry.item
        found, name = item.location.kind, item.path.name
        if own and verify(item.data, found, name, own).ok:
            signed.append((item, item.data))
        else:
            signed.append((item, sign_bytes(item.data, found, name, private, now)))
    changed = [(item, data) for item, data in signed if data != item.data]
    replace_files([Replacement(item.path.resolve(), item.shown, item.data, data) for item, data in changed])
    texts = LastSigned(context.home.signed_texts)
    for item, data in changed:
        texts.remember(data, item.location.kind, item.path.name)
    results = [SignedItem(item.shown, item.location.kind, data != item.data, private.public) for item, data in signed]
    return SignOutcome(signed=tuple(results))


def refuse_installed(checked: Sequence[Checked]) -> None:
    """Raise RyeError ``installed-item`` if one is installed: it must stay as its author signed it, byte for byte."""
    for entry in checked:
        if entry.item is not None and entry.item.location.namespace is not None:
            raise RyeError(
                "installed-item",
                f"{entry.shown} is installed, and must stay as its author signed it.",
                "To change it, use `rye override new`.",
            )
