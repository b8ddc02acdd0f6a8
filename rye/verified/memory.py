"""Rows of rye.lock that this user's Rye verified in full (DESIGN 6.1, Verified here).

Rules:

* A row is remembered once its release was found in the log, its signer is in the keyset, its in-file signature is
  valid and its bytes are the signed ones. Only :meth:`Memory.remember` writes rows, and only with results of
  :func:`rye.verified.release.verify_files`.
* The key is everything that the row says about its release, and what it was checked against (its :class:`Basis`). So when
  this machine learns of a revocation, or its user removes the registry's pin, the result is a cache miss, and the row is checked
  again. A row that differs in any way is a different row. Approvals and groups come from the project, not from the release, so
  they are not part of the key.
* The value is what the signed release says: rights, tools, hooks, runs, cautions and alarms, and relations.
* Rows are stored in the user's data folder. Nothing that comes with a repository can put a row there.
* A row of an editable folder is never remembered, because the folder can change at any time.

This is the only place that says what a verdict about a row depends on, besides the row and the code: it is remembered
and looked up under its :class:`Basis`, and any change of a field forgets it. :meth:`rye.storage.verdicts.Verdicts.key`
adds the identity of the running code, on which every verdict depends. A basis that cannot be determined is None, and
then nothing counts as verified: a registry that is not pinned, or a trust store that cannot be read or that others can
write.

A verified row must also agree with its release in all that it says about it, because reviews rely on the row:
:func:`check_words` and :func:`check_row` refuse one that does not.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from rye.errors import RyeError
from rye.items.agent_tools import EVERY
from rye.items.identity import Identity
from rye.items.signed_release import SignedRelease
from rye.project.declared_sources import is_source_origin
from rye.project.lock import LockedItem
from rye.project.user_config import policy_contents
from rye.registry.store.pins import Pinned, read_pinned
from rye.storage.home import Home
from rye.storage.places import TRUST_FILE_HEAD, TRUSTED_KEYS
from rye.storage.private_files import read_trusted_if_any
from rye.storage.verdicts import Verdicts
from rye.text.facts.fact import RULES_VERSION
from rye.text.json_reading import UNDECODABLE, msgpack_decoder
from rye.text.lazy import lazy_module, lazy_pattern

if TYPE_CHECKING:
    from rye.signing import trust_store
else:
    trust_store = lazy_module(
        "rye.signing.trust_store"
    )  # only for a user who revoked a key, or whose trust store is damaged

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
    witnesses: str = ""
    """Changes with what the user demands of the registry's witnesses: what was verified under another policy, or under none, was
    perhaps never cosigned."""
    keyset: str = ""
    """The hash of the newest keyset of the namespace that this machine has seen; it lists the revoked keys."""
    withdrawn: tuple[str, ...] = ()
    """``kind:id version`` of each release of the namespace that was taken down as far as this machine knows, sorted."""
    distrusted: tuple[str, ...] = ()
    """The fingerprints of the keys that the user revoked, sorted."""
    keys: str = ""
    """The hash of the user's trust store, which says whose signatures count in ``[sources]``."""

    def encoded(self) -> bytes:
        """The value as bytes; two bases have the same only if all fields are equal."""
        return msgspec.msgpack.encode(self)


BasisOf = Callable[[str, str], Basis | None]
"""The basis for the releases of an origin and a namespace; None: nothing of it counts as verified."""


def registry_basis(pinned: Pinned, namespace: str, distrusted: frozenset[str] = frozenset()) -> Basis:
    """The basis for the releases of a namespace in a pinned registry. ``distrusted``: from :func:`distrusted_keys`."""
    return Basis(
        rules=RULES_VERSION,
        root=pinned.fingerprint,
        removal=pinned.removal,
        witnesses=pinned.witnesses,
        keyset=pinned.keysets.get(namespace, ""),
        withdrawn=pinned.withdrawn_of(namespace),
        distrusted=tuple(sorted(distrusted)),
    )


def source_basis(keys: str | None) -> Basis | None:
    """The basis for the items of a source. ``keys``: from :func:`trusted_keys_hash`."""
    return Basis(rules=RULES_VERSION, keys=keys) if keys is not None else None


def trusted_keys_hash(home: Home) -> str | None:
    """A hash of the user's trust store; None if it cannot be read, or if others can write it."""
    try:
        content = read_trusted_if_any(home.config / TRUSTED_KEYS)
    except OSError:
        return None
    return _ABSENT if content is None else hashlib.sha256(content).hexdigest()


def distrusted_keys(home: Home) -> frozenset[str]:
    """The fingerprints of the keys that the user revoked (``rye trust revoke``): nothing that they signed is used, whoever else
    vouches for it. Raises RyeError ``bad-trust-store`` if the trust store cannot be read, or if others can write it."""
    try:
        content = read_trusted_if_any(home.config / TRUSTED_KEYS)
        if content is None or _REVOKES_NOTHING.fullmatch(content.decode("utf-8")):
            return frozenset()
    except (OSError, UnicodeDecodeError):
        pass  # the store's own reader says what is wrong
    return frozenset(key.fingerprint for key in trust_store.TrustStore(home.config).revoked())


_TRUSTED_ENTRY = (
    r'\n\n\[\[key\]\]\nlabel = "[^"\\\n]*"\nfingerprint = "[^"\\\n]*"\nsource = "[^"\\\n]*"\nadded = "[^"\\\n]*"\n'
    r'pem = """\n-----BEGIN PUBLIC KEY-----\n[A-Za-z0-9+/=\n]+\n-----END PUBLIC KEY-----\n"""'
)
_REVOKES_NOTHING = lazy_pattern(f"{TRUST_FILE_HEAD.replace('.', '[.]')}(?:{_TRUSTED_ENTRY})*\n")
"""A trust store as Rye writes it, to its end, without a revocation. The reader of trust stores, which takes longer to import,
decides about any other one: what is missing of a damaged file may have been a revocation."""


def stored_basis(home: Home) -> BasisOf:
    """A function that returns the bases as this user's files say now. Each registry's files are read once."""
    pinned = cache(lambda origin: read_pinned(home.registries, origin))
    keys = cache(lambda: trusted_keys_hash(home))

    @cache
    def distrusted() -> frozenset[str] | None:
        try:
            return distrusted_keys(home)
        except RyeError:
            return None

    def basis(origin: str, namespace: str) -> Basis | None:
        if is_source_origin(origin):
            return source_basis(keys())
        state, revoked = pinned(origin), distrusted()
        return registry_basis(state, namespace, revoked) if state is not None and revoked is not None else None

    return basis


def policies_hash(home: Home) -> str:
    """A hash of the policies besides the project's. A file that cannot be read counts as none; using it reports why."""
    return hashlib.sha256(msgspec.msgpack.encode(policy_contents(home))).hexdigest()


class LockBasis(Struct, frozen=True, kw_only=True):
    """What the verdict depends on that a whole lock was verified and is complete."""

    lock: bytes
    """The content of rye.lock."""
    manifests: str
    """The text of all manifests, joined; the project's policy, its registries and sources are in them."""
    policies: str
    """A hash of the policies besides the project's (:func:`policies_hash`)."""
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


@contextlib.contextmanager
def user_memory(home: Home) -> Iterator[Memory]:
    """What rye verified before for this user."""
    verdicts = home.verdicts()
    try:
        yield Memory(verdicts, stored_basis(home))
    finally:
        verdicts.close()


class Memory:
    """What was verified before, as far as it still counts."""

    def __init__(self, verdicts: Verdicts, basis: BasisOf) -> None:
        """``basis``: what rows are checked against now."""
        self._verdicts = verdicts
        self._basis = basis

    def known(self, items: Iterable[LockedItem]) -> dict[Identity, SignedRelease]:
        """Return what the signed releases of these rows say, for those that were verified on this machine before."""
        basis = cache(self._basis)
        identities = {key: item.identity for item in items if (key := self._row_key(item, basis)) is not None}
        decoder = msgpack_decoder(SignedRelease)
        signed: dict[Identity, SignedRelease] = {}
        for key, data in self._verdicts.get(identities).items():
            with contextlib.suppress(*UNDECODABLE):  # written by another version of Rye
                signed[identities[key]] = decoder.decode(data)
        return signed

    def remember(self, rows: Iterable[tuple[LockedItem, SignedRelease]]) -> None:
        """Remember rows that were just verified."""
        basis = cache(self._basis)
        values = {
            key: msgspec.msgpack.encode(signed)
            for item, signed in rows
            if (key := self._row_key(item, basis)) is not None
        }
        self._verdicts.put(values)

    def knows_whole(self, lock: bytes, manifests: str, policies: str, items: Sequence[LockedItem]) -> bool:
        """Whether exactly this lock with these items was verified and complete: one look-up. See
        :class:`rye.verified.memory.LockBasis`."""
        key = self._lock_key(lock, manifests, policies, items)
        return key is not None and key in self._verdicts.get([key])

    def remember_whole(self, lock: bytes, manifests: str, policies: str, items: Sequence[LockedItem]) -> None:
        """Remember that it was. A locked or full disk only costs speed."""
        key = self._lock_key(lock, manifests, policies, items)
        if key is not None:
            self._verdicts.put({key: b""})
            self._verdicts.flush()

    def _row_key(self, item: LockedItem, basis: BasisOf) -> bytes | None:
        checked_against = basis(item.registry, item.identity.namespace)
        if checked_against is None or item.is_editable:
            return None
        row = (
            item.kind,
            item.id,
            item.version,
            item.size,
            item.sha256,
            item.suffix,
            item.registry,
            item.log,
            item.keyset,
            item.signer if item.source is None else item.registry,  # the row does not decide who signed it
            sorted(item.attached),
            *(() if item.source is None else (item.source,)),
        )
        return self._verdicts.key("row", checked_against.encoded(), msgspec.msgpack.encode(row))

    def _lock_key(self, lock: bytes, manifests: str, policies: str, items: Sequence[LockedItem]) -> bytes | None:
        basis = lock_basis(lock, manifests, policies, items, self._basis)
        return self._verdicts.key("whole lock", basis.encoded()) if basis is not None else None


_WORDS = ("capabilities", "agent_tools", "agent_limits", "runs", "hooks")
RELEASE_FIELDS = ("size", "suffix", "registry", "keyset", "signer", "attached", *_WORDS)
"""What a row says about a release, besides the fields that identify it."""
_LATER = frozenset(("agent_limits", "runs"))
"""Fields that older locks lack. A row without them does not contradict its release; it just approves nothing of that sort. The
same is true of single runs that older versions of Rye did not count."""


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
        if name == "runs":
            true = tuple(run for run in true if run in says or not run.is_counted_later)
        if says != true and not (isinstance(says, tuple) and len(says) == len(true) and set(says) == set(true)):
            raise mismatch(locked, name.replace("_", "-"))
