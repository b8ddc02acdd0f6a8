"""What this machine knows about the rows of a project's lock: which were verified here, who signed those of sources, and what
the files on disk are worth. Fetches nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.project.layout import Project
from rye.project.lock import LockedItem
from rye.storage.home import Home
from rye.verified.memory import check_words, distrusted_keys, policies_hash, user_memory
from rye.verified.on_disk import find_drift
from rye.verified.require import verified_before
from rye.workspace.installing.project_state import bytes_of, joined_manifests

_WORST_FIRST = ("revoked", "changed", "unverified", "missing", "wrong-flag")


def states_of(home: Home, project: Project, items: Sequence[LockedItem]) -> Mapping[Identity, str]:
    """For each row ``ok``, ``editable`` or the worst of ``revoked``, ``changed``, ``unverified``, ``missing``, ``wrong-flag``."""
    verified = verified_here(home, project, items)
    distrusted: frozenset[str] = frozenset()
    with contextlib.suppress(RyeError):  # with a trust store that cannot be read, nothing counts as verified
        distrusted = distrusted_keys(home)
    drifted: dict[Identity, set[str]] = {}
    for entry in find_drift(project, items):
        if entry.item is not None:
            drifted.setdefault(entry.item.identity, set()).add(entry.state)
    states = {}
    for item in items:
        problems = drifted.get(item.identity, set())
        if item.identity not in verified:
            problems = problems | {"unverified"}
        if item.signer in distrusted:
            problems = problems | {"revoked"}
        worst = next((state for state in _WORST_FIRST if state in problems), "ok")
        states[item.identity] = "editable" if item.is_editable else worst
    return states


def with_found_signers(home: Home, items: tuple[LockedItem, ...]) -> tuple[LockedItem, ...]:
    """Rows of sources with the signers found when they were verified here, because the lock has none."""
    given = [item for item in items if item.source is not None]
    if not given:
        return items
    known = verified_before(home, given)
    return tuple(item.with_signer(known[item.identity].signed_by) if item.identity in known else item for item in items)


def verified_here(home: Home, project: Project, items: Sequence[LockedItem]) -> set[Identity]:
    """The rows that were verified here and match their releases."""
    lock, manifests = bytes_of(project.lock_path) or b"", joined_manifests(project)
    with user_memory(home) as memory:
        if memory.knows_whole(lock, manifests, policies_hash(home), items):
            return {item.identity for item in items}
        signed = memory.known(items)
    verified = set()
    for item in items:
        if item.identity in signed:
            with contextlib.suppress(RyeError):
                check_words([item], signed)
                verified.add(item.identity)
    return verified
