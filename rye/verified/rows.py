"""Whether a row of rye.lock says what its release says. Reviews rely on the row, so a contradiction is an error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rye.errors import RyeError
from rye.items.agent_tools import EVERY
from rye.items.identity import Identity
from rye.items.signed_release import SignedRelease
from rye.project.lock import LockedItem

_WORDS = ("capabilities", "agent_tools", "agent_limits", "runs", "hooks")
RELEASE_FIELDS = ("size", "suffix", "registry", "keyset", "signer", "attached", *_WORDS)
"""What a row says about a release, besides the fields that identify it."""
_LATER = frozenset(("agent_limits", "runs"))
"""Fields that older locks lack. A row without them does not contradict its release; it just approves nothing of that sort."""


def check_words(items: Iterable[LockedItem], signed: Mapping[Identity, SignedRelease]) -> None:
    """Check that each row has its release's rights, tools and hooks. Raises RyeError ``lock-mismatch``."""
    for item in items:
        if item.identity in signed:
            _check(item, signed[item.identity], _WORDS)


def check_row(locked: LockedItem, found: LockedItem) -> None:
    """Check that a row that names the verified release does not contradict it: reviews rely on the row. A row with another source
    or commit, or another place in a folder, does not name this release, even if the bytes are the same.

    Raises RyeError ``lock-mismatch``.
    """
    if (locked.version, locked.sha256, locked.log) != (found.version, found.sha256, found.log):
        return
    if locked.source is None or found.source is None:
        _check(locked, found, (*RELEASE_FIELDS, "source"))
    elif locked.source.origin == found.source.origin and locked.source.commit == found.source.commit:
        fields = tuple(name for name in RELEASE_FIELDS if name != "signer")
        _check(locked, found, fields if found.source.commit is None else (*fields, "source"))


def mismatch(item: LockedItem, what: str) -> RyeError:
    """Return the error for a row that contradicts its release."""
    return RyeError(
        "lock-mismatch",
        f"rye.lock contradicts the release of {item.identity} {item.version}: {what}.",
        "Someone changed rye.lock. Restore it from version control, or delete it and run `rye install`, which asks for every "
        "right again.",
    )


def _check(locked: LockedItem, found: LockedItem | SignedRelease, names: Iterable[str]) -> None:
    for name in names:
        says, true = getattr(locked, name), getattr(found, name)
        if not says and (name in _LATER or (name == "agent_tools" and true == (EVERY,))):
            continue
        if says != true and not (isinstance(says, tuple) and len(says) == len(true) and set(says) == set(true)):
            raise mismatch(locked, name.replace("_", "-"))
