"""The user's pins: which registry is at which address, and what this user trusts about it. They are a few small files, and
reading them does not need the trust code.

Three of them are memories of what was seen: the releases that the registry's owners are known here to have taken down, the
advisories (:mod:`rye.registry.store.seen_advisories`), and what a registry that serves this one's files holds back. A takedown is
a statement about one release, so no keyset records it. Entries are never removed: takedowns are permanent. What is held back is
asked each time, and replaced. That memory is for runs in which nobody is asked or answers, so that silence brings nothing back,
and it is written at once, because a release that is held back ends a run. A memory that cannot be read, or that other users can
change, is an error and never an empty one, and is not replaced. Only who forgets a registry's trusted state forgets them, since
another log under the same name never said any of it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError
from rye.registry.protocol.note_text import note_text
from rye.storage.private_files import Exposed, make_folder, read_trusted, read_trusted_if_any, write
from rye.storage.safe_files import file_lock, open_regular
from rye.text.json_reading import UNDECODABLE

_T = TypeVar("_T")
_NAME = "addresses.json"
_REMOVED = "removed-pin"


def addresses_path(folder: Path) -> Path:
    """Return the file of the addresses in the folder of the trusted states."""
    return folder / _NAME


def read_addresses(folder: Path) -> dict[str, str]:
    """Return address → origin; empty if none is pinned. Raises OSError and msgspec.MsgspecError."""
    try:
        return msgspec.json.decode(read_trusted(addresses_path(folder)), type=dict[str, str])
    except FileNotFoundError:
        return {}


def state_path(folder: Path, origin: str) -> Path:
    """Return the file of one registry's trusted state."""
    return folder / hashlib.sha256(origin.encode()).hexdigest()[:32] / "state.json"


def witnesses_path(folder: Path, origin: str) -> Path:
    """Return the file of what the user demands of one registry's witnesses (:mod:`rye.registry.store.witness_demands`)."""
    return state_path(folder, origin).with_name("witnesses.json")


def advisories_path(folder: Path, origin: str) -> Path:
    """Return the file of the advisories that were seen of one registry (:mod:`rye.registry.store.seen_advisories`)."""
    return state_path(folder, origin).with_name("advisories.json")


def has_advisories(folder: Path, origin: str) -> bool:
    """Whether this machine may have seen advisories of a registry: the file is there, or cannot be looked at. It is opened, so
    that :mod:`rye.cli.unchanged` notes it."""
    try:
        with open_regular(advisories_path(folder, origin)):
            return True
    except FileNotFoundError:
        return False
    except OSError:
        return True


def remember_removal(folder: Path, origin: str) -> None:
    """Make everything that was verified under the registry's pin count no more, even if it is pinned again. Raises OSError."""
    path = state_path(folder, origin).with_name(_REMOVED)
    make_folder(path.parent)
    write(path, os.urandom(16).hex())


def last_removal(folder: Path, origin: str) -> str:
    """Return a text that changes with :func:`remember_removal`: ``""`` at first, and a new one each time if it cannot be read."""
    try:
        return read_trusted(state_path(folder, origin).with_name(_REMOVED)).hex()
    except FileNotFoundError:
        return ""
    except OSError:
        return os.urandom(16).hex()


def demanded_witnesses(folder: Path, origin: str) -> str:
    """Return a text that changes with what the user demands of witnesses: ``""`` for nothing, and a new one each time if it
    cannot be read."""
    try:
        return hashlib.sha256(read_trusted(witnesses_path(folder, origin))).hexdigest()
    except FileNotFoundError:
        return ""
    except OSError:
        return os.urandom(16).hex()


_WITNESS_RULE = "\nrule required-witnesses "


def policy_witnesses(policy: str | None) -> str:
    """Return a text that changes with the witnesses that an organization's policy requires. ``policy``: its note; None: there is
    none."""
    if policy is None or _WITNESS_RULE not in policy:
        return ""
    rows = [line for line in policy.split("\n\n")[0].split("\n") if f"\n{line}".startswith(_WITNESS_RULE)]
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


_WITHDRAWN = "withdrawn.json"
_LOCK_SECONDS = 60.0
_UNKNOWN = frozenset({"?"})
"""The content of an unreadable file: it makes every earlier verdict invalid."""


def read_withdrawn(folder: Path, origin: str) -> frozenset[str]:
    """Return ``kind:id version`` of each release; empty if there is no file. ``folder``: that of the trusted states.

    Raises RyeError as :func:`read_memory` does.
    """
    return frozenset(read_memory(_withdrawn_path(folder, origin), list[str], "takedowns") or ())


def remember_withdrawn(folder: Path, origin: str, releases: Iterable[str]) -> None:
    """Add releases; entries that another program adds at the same time are kept. Raises OSError, and RyeError as
    :func:`read_memory` does."""
    added = frozenset(releases)

    def with_added() -> bytes | None:
        known = read_withdrawn(folder, origin)
        return None if added <= known else msgspec.json.encode(sorted(known | added))

    remember(_withdrawn_path(folder, origin), with_added)


def read_memory(path: Path, kind: type[_T], what: str) -> _T | None:
    """Return what a file remembers of a registry; None if there is no file. ``what``: the noun for what it remembers.

    Raises RyeError ``state-damaged``, ``state-exposed``.
    """
    try:
        data = read_trusted_if_any(path)
        return None if data is None else msgspec.json.decode(data, type=kind)
    except Exposed as error:
        hint = f"Run `{error.fix}`, then `rye audit` in each project: it asks the registries again."
        raise RyeError("state-exposed", f"{error}, so nothing in it can be trusted.", hint) from error
    except (OSError, RyeError, *UNDECODABLE) as error:  # statements validate themselves
        raise damaged_memory(path, what, error) from error


def damaged_memory(path: Path, what: str, error: Exception) -> RyeError:
    """The error for a memory that cannot be read."""
    return RyeError(
        "state-damaged",
        f"The {what} that this machine has seen cannot be read from {path}: {error!s:.300}.",
        "Restore the file from a backup, or delete it and run `rye audit` in each project: it asks the registries again.",
    )


def forget_memories(folder: Path, origin: str) -> None:
    """Forget the takedowns, advisories and holds that were seen of a registry. Raises OSError."""
    seen = (_withdrawn_path, advisories_path, _held_path)
    for path in (path_of(folder, origin) for path_of in seen):
        if os.path.lexists(path):
            with file_lock(path.with_name(f"{path.name}.lock"), _LOCK_SECONDS):
                path.unlink(missing_ok=True)


def remember(path: Path, changed: Callable[[], bytes | None]) -> None:
    """Keep something that was seen of a registry in a file of its state. ``changed``: reads the file and returns its new content;
    None: it stays. It is asked again under a lock, so that what another program adds at the same time is kept. Raises OSError."""
    if changed() is None:
        return
    make_folder(path.parent)
    with file_lock(path.with_name(f"{path.name}.lock"), _LOCK_SECONDS):
        content = changed()
        if content is not None:
            write(path, content.decode())


Held = Mapping[str, Mapping[str, str]]
"""``kind:id`` → version → why a release is held back, in words."""


def read_held(folder: Path, origin: str, address: str) -> dict[str, dict[str, str]]:
    """Return what a registry that serves the files of ``origin`` at ``address`` held back when it was asked last. Raises RyeError
    as :func:`read_memory` does."""
    return _held(folder, origin).get(address, {})


def remember_held(folder: Path, origin: str, address: str, told: Held) -> None:
    """Remember what was told about these items, in place of what was told about them before. Raises OSError, and RyeError as
    :func:`read_memory` does."""

    def changed() -> bytes | None:
        known = _held(folder, origin)
        before = known.get(address, {})
        kept = {name: words for name, words in before.items() if name not in told}
        now = kept | {name: dict(words) for name, words in told.items() if words}
        return None if now == before else msgspec.json.encode({**known, address: now}, order="deterministic")

    remember(_held_path(folder, origin), changed)


def _held(folder: Path, origin: str) -> dict[str, dict[str, dict[str, str]]]:
    kind = dict[str, dict[str, dict[str, str]]]
    return read_memory(_held_path(folder, origin), kind, "releases that are held back") or {}


def _held_path(folder: Path, origin: str) -> Path:
    return state_path(folder, origin).with_name("held.json")


def _withdrawn_path(folder: Path, origin: str) -> Path:
    return state_path(folder, origin).with_name(_WITHDRAWN)


class Pinned(Struct, frozen=True, kw_only=True):
    """The part of a registry's trusted state that releases are checked against."""

    fingerprint: str
    """SHA-256 of the text of the registry's first root, which the user pinned."""
    removal: str
    """Changes whenever a pin of the registry is removed (:func:`rye.registry.store.pins.last_removal`)."""
    keysets: Mapping[str, str]
    """Namespace → SHA-256 of its newest keyset that was seen. A keyset lists the revoked keys."""
    withdrawn: frozenset[str]
    """``kind:id version`` of the releases that were taken down as far as this machine knows; ``?`` if it cannot tell."""
    witnesses: str = ""
    """Changes with what the user and an organization's policy demand of the registry's witnesses (:func:`demanded_witnesses`)."""

    def withdrawn_of(self, namespace: str) -> tuple[str, ...]:
        """Return the releases of one namespace that were taken down, sorted."""
        return tuple(sorted(release for release in self.withdrawn if _is_of(release, namespace)))


def read_pinned(folder: Path, origin: str) -> Pinned | None:
    """Return what the user trusts about a registry. ``folder``: that of the trusted states.

    None if it is pinned at no address, or if a file cannot be read (:class:`rye.registry.store.state.StateStore` reports why).
    """
    try:
        if origin not in read_addresses(folder).values():
            return None
        state = msgspec.json.decode(read_trusted(state_path(folder, origin)), type=_State)
    except (OSError, *UNDECODABLE):
        return None
    if state.origin != origin or not state.roots:
        return None
    fingerprint = hashlib.sha256(note_text(state.roots[0]).encode()).hexdigest()
    keysets = {name: keyset.sha256 for name, keyset in state.keysets.items()}
    found = make_pinned(folder, origin, fingerprint, keysets)
    return replace(found, witnesses=found.witnesses + policy_witnesses(state.policy.note if state.policy else None))


def make_pinned(
    folder: Path, origin: str, fingerprint: str, keysets: Mapping[str, str], withdrawn: Iterable[str] = ()
) -> Pinned:
    """Return the value for a state in memory. ``withdrawn``: takedowns seen by this run, besides those seen before."""
    try:
        known = read_withdrawn(folder, origin)
    except RyeError:  # reported where the registry is asked
        known = _UNKNOWN
    return Pinned(
        fingerprint=fingerprint,
        removal=last_removal(folder, origin),
        keysets=keysets,
        withdrawn=known.union(withdrawn),
        witnesses=demanded_witnesses(folder, origin),
    )


def _is_of(release: str, namespace: str) -> bool:
    return release == "?" or release.partition(":")[2].startswith(f"{namespace}/")


class _Keyset(Struct, frozen=True):
    sha256: str


class _State(Struct, frozen=True):
    origin: str
    roots: list[str]
    keysets: dict[str, _Keyset] = {}
    policy: _Policy | None = None


class _Policy(Struct, frozen=True):
    note: str
