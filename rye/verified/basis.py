"""What a verdict about a row of rye.lock depends on, besides the row and the code that checked it (DESIGN 6.1, Verified here).

This is the only place that says so: a verdict is remembered and looked up under its :class:`Basis`, and any change of a field
forgets it. :meth:`rye.storage.verdicts.Verdicts.key` adds the identity of the running code, on which every verdict depends. A
basis that cannot be determined is None, and then nothing counts as verified: a registry that is not pinned, or a trust store
that cannot be read or that others can write.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import cache

import msgspec
from msgspec import Struct

from rye.project.declared_sources import is_source_origin
from rye.project.lock import LockedItem
from rye.registry.store.pins import Pinned, read_pinned
from rye.storage.home import Home
from rye.storage.places import TRUSTED_KEYS
from rye.storage.private_files import read_trusted
from rye.text.facts.fact import RULES_VERSION

_ABSENT = "absent"


class Basis(Struct, frozen=True, kw_only=True):
    """What the releases of one namespace are checked against. A release of a registry has no ``keys``, an item of ``[sources]``
    only those."""

    rules: int
    """The version of the rules that find what a text mentions."""
    root: str = ""
    """The fingerprint of the registry's root that the user pinned."""
    removal: str = ""
    """Changes whenever the user removes a pin of the registry."""
    keyset: str = ""
    """The hash of the newest keyset of the namespace that this machine has seen; it lists the revoked keys."""
    withdrawn: tuple[str, ...] = ()
    """``kind:id version`` of each release of the namespace that was taken down as far as this machine knows, sorted."""
    keys: str = ""
    """The hash of the user's trust store, which says whose signatures count in ``[sources]``."""

    def encoded(self) -> bytes:
        """The value as bytes; two bases have the same only if all fields are equal."""
        return msgspec.msgpack.encode(self)


BasisOf = Callable[[str, str], Basis | None]
"""The basis for the releases of an origin and a namespace; None: nothing of it counts as verified."""


def registry_basis(pinned: Pinned, namespace: str) -> Basis:
    """The basis for the releases of a namespace in a pinned registry."""
    return Basis(
        rules=RULES_VERSION,
        root=pinned.fingerprint,
        removal=pinned.removal,
        keyset=pinned.keysets.get(namespace, ""),
        withdrawn=pinned.withdrawn_of(namespace),
    )


def source_basis(keys: str | None) -> Basis | None:
    """The basis for the items of a source. ``keys``: from :func:`trusted_keys_hash`."""
    return Basis(rules=RULES_VERSION, keys=keys) if keys is not None else None


def trusted_keys_hash(home: Home) -> str | None:
    """A hash of the user's trust store; None if it cannot be read, or if others can write it."""
    try:
        content = read_trusted(home.config / TRUSTED_KEYS)
    except FileNotFoundError:
        return _ABSENT
    except OSError:
        return None
    return hashlib.sha256(content).hexdigest()


def stored_basis(home: Home) -> BasisOf:
    """A function that returns the bases as this user's files say now. Each registry's files are read once."""
    pinned = cache(lambda origin: read_pinned(home.registries, origin))
    keys = cache(lambda: trusted_keys_hash(home))

    def basis(origin: str, namespace: str) -> Basis | None:
        if is_source_origin(origin):
            return source_basis(keys())
        state = pinned(origin)
        return registry_basis(state, namespace) if state is not None else None

    return basis


def policies_hash(home: Home) -> str:
    """A hash of the user's and the organization's policy. A file that cannot be read counts as none; using it reports why."""
    contents: list[bytes | None] = []
    for file in (home.policy_file, home.organization_policy):
        try:
            contents.append(file.read_bytes())
        except OSError:
            contents.append(None)
    return hashlib.sha256(msgspec.msgpack.encode(contents)).hexdigest()


class LockBasis(Struct, frozen=True, kw_only=True):
    """What the verdict depends on that a whole lock was verified and is complete."""

    lock: bytes
    """The content of rye.lock."""
    manifests: str
    """The text of all manifests, joined; the project's policy, its registries and sources are in them."""
    policies: str
    """A hash of the user's and the organization's policy (:func:`policies_hash`)."""
    rows: tuple[tuple[str, str, Basis], ...]
    """Each origin and namespace in the lock, sorted, with its basis."""

    def encoded(self) -> bytes:
        """The value as bytes; two bases have the same only if all fields are equal."""
        return msgspec.msgpack.encode(self)


def lock_basis(
    lock: bytes, manifests: str, policies: str, items: Iterable[LockedItem], basis: BasisOf
) -> LockBasis | None:
    """The basis for a whole lock with these items; None if that of one of them cannot be determined."""
    rows = []
    for origin, namespace in sorted({(item.registry, item.identity.namespace) for item in items}):
        found = basis(origin, namespace)
        if found is None:
            return None
        rows.append((origin, namespace, found))
    return LockBasis(lock=lock, manifests=manifests, policies=policies, rows=tuple(rows))
