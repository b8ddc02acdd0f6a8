"""Whether an own item may be used: who signed it, and that it lies where it was signed for (DESIGN 6.1)."""

from __future__ import annotations

from rye.customization.effective_text import reader
from rye.errors import RyeError
from rye.items.reading import ReadOptions
from rye.signing.verification import Verification, verify
from rye.workspace.context import Context
from rye.workspace.items.effective_item import EffectiveItem
from rye.workspace.trusting.trusted_keys import trusted_keys

_PLACE_CODES = frozenset({"D010", "R05", "T04"})
"""Findings that an item's text names another place than its file's."""


def signer_of(context: Context, found: EffectiveItem, *, runs: bool) -> str | None:
    """Return the signer of an own item; None if it may be used without a valid signature. ``runs``: it is about to be executed,
    or put where an agent program does that. Raises RyeError if it may not be used."""
    keys = trusted_keys(context.home, ())
    item = found.item
    data = found.signed if found.signed is not None else item.data
    judged = verify(data, item.kind.name, item.path.name, keys.keys, keys.revoked)
    if judged.verdict == "valid" and judged.key is not None:
        if runs:
            _refuse_moved(found)
        return judged.key.fingerprint
    if not runs and judged.verdict in ("unsigned", "untrusted", "partial"):
        return None
    raise _refused(item.shown, judged)


def _refuse_moved(found: EffectiveItem) -> None:
    """Refuse an own item whose signed text says that it is another item: a committer can put a signed file in any place, and
    rights are given to places. Raises RyeError ``modified-item``."""
    item, reading = found.item, found.item.reading
    if found.signed is not None:  # an override does not change what was signed
        reading = reader(item.location, item.shown, ReadOptions())(found.signed.decode("utf-8"))
    for finding in reading.diagnostics:
        if finding.code in _PLACE_CODES:
            raise RyeError(
                "modified-item",
                f"{item.shown} was signed for another place: {finding.message}",
                f"Move the file back, or correct it and run `rye sign {item.shown}`.",
            )


def _refused(shown: str, judged: Verification) -> RyeError:
    code = {"modified": "modified-item", "bad-signature": "modified-item", "revoked": "signer-revoked"}
    return RyeError(
        code.get(judged.verdict, "untrusted"),
        f"{shown} is {judged.verdict}: {judged.detail}",
        f"To execute it, sign it with `rye sign {shown}`, or trust its signer's key with `rye trust add FILE`.",
    )
