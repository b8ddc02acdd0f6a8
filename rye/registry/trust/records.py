"""Evaluating an identity's index: its releases, with all later statements about them.

Rules (docs/reference/statements.md); the log's order decides, never a statement's own time:

1. Every statement is signed under the keyset in force (:meth:`rye.registry.trust.keysets.KeysetChain.check`); along the
   index the keyset's number never decreases (``statement-keyset``). An advisory of ``keyset root`` is signed by the root's owners
   (``advisory-signer``).
2. A version is released once (``release-repeated``), before any other statement about it (``release-unknown``).
3. Statements signed only with revoked keys do not count: a release is marked ``revoked``, other statements are dropped.
4. The last yank of a version, the last deprecation, and the last advisory of each number apply, where the registry's owners and
   the namespace have numbers of their own: neither replaces what the other said. A text that was already in the index has no
   effect when it is repeated, whatever signatures it carries: a replay changes nothing.
5. A takedown is signed by the root's owners (``takedown-signer``), about a release and its own files (``release-unknown``,
   ``takedown-foreign``), and permanent: the release stays in the history and is never installed
   (``release-taken-down``).

How old a release, its key and its namespace are, and what happened to the previous signing key (DESIGN 7.1), is derived from the
namespace's chain of keysets, which is in the registry's log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.limits import CONTENT, REGISTRY, ContentLimits, RegistryLimits
from rye.registry.protocol.statements import Advisory, Deprecation, Release, Takedown, Yank
from rye.registry.protocol.wire import IndexLine
from rye.registry.trust.keysets import KeysetChain, Link
from rye.registry.trust.owners import Owners
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import LoggedStatement
from rye.resolution.ranges import Range
from rye.resolution.versions import Version, comparable
from rye.signing.keys import PublicKey
from rye.text.json_reading import UNDECODABLE, msgpack_decoder


class ReleaseRecord(Struct, frozen=True, kw_only=True):
    """One release, verified except for its inclusion in the log (:meth:`rye.registry.client.RegistryClient.prove`)."""

    release: Release
    line: IndexLine
    """Its position in the log and the whole signed note."""
    link: Link
    """The keyset under which it was signed."""
    signers: tuple[bytes, ...]
    """The raw public keys that signed it."""
    withdrawn: frozenset[bytes] = frozenset()
    """Those of them that are revoked for this position. With enough others, the release stays good."""
    revoked: bool = False
    """Whether every signer was revoked for this position, or one by this user. Such a release is never installed
    (``signer-revoked``)."""
    yank: Yank | None = None
    """The yank in force, with its reason."""
    deprecation: Deprecation | None = None
    """The item's deprecation in force."""
    advisories: tuple[Advisory, ...] = ()
    """The advisories whose range contains this version, by number."""
    takedown: Takedown | None = None
    """The first takedown of one of its files; None if there is none."""
    held: str = ""
    """By whose policy it is held back, why, and until when; empty: it is not. A registry that serves another one's releases does
    that."""

    @property
    def counted(self) -> tuple[str, ...]:
        """The fingerprints of the keys that signed it and are not revoked for its position: those that a policy counts."""
        return tuple(PublicKey(key).fingerprint for key in self.signers if key not in self.withdrawn)

    @property
    def identity(self) -> Identity:
        """The item that was released."""
        return self.release.identity

    @property
    def version(self) -> str:
        """The released version."""
        return self.release.version

    @property
    def origin(self) -> str:
        """The registry that logged it."""
        return self.release.origin

    @property
    def is_withdrawn(self) -> bool:
        """Whether it should not be offered: yanked, signed only with revoked keys, taken down, or held back."""
        return self.yank is not None or self.revoked or self.takedown is not None or bool(self.held)


class ItemHistory(Struct, frozen=True):
    """All statements about one identity, in the order of the log."""

    identity: Identity
    records: tuple[ReleaseRecord, ...]
    deprecation: Deprecation | None = None
    advisories: tuple[Advisory, ...] = ()
    """All in force, for any versions."""
    disowned: tuple[str, ...] = ()
    """The numbers of the namespace's advisories that only revoked keys signed, sorted: they are in the index, and count no
    more."""


class Judged(Struct, frozen=True):
    """An evaluated history, and the heads for which the result is valid."""

    history: ItemHistory
    last: int
    """The last position in the index: the log must be larger."""
    since: datetime
    """When the last recovery of the namespace's keys took effect: the snapshot must not be older."""


def judge(
    identity: Identity,
    entries: Sequence[LoggedStatement],
    chain: KeysetChain,
    owners: Owners,
    time: datetime,
) -> ItemHistory:
    """Return the history of an identity from its index (checked by ``open_index``).

    ``time`` is the snapshot's. Raises TrustError.
    """
    if not chain.links:
        raise TrustError(
            "namespace-unclaimed",
            f"{identity} is in the index, but no one has claimed the namespace {chain.namespace!r}.",
        )
    releases: dict[str, ReleaseRecord] = {}
    yanks: dict[str, Yank] = {}
    deprecation: Deprecation | None = None
    advisories: dict[tuple[str, bool], Advisory] = {}
    takedowns: dict[str, Takedown] = {}
    disowned: set[str] = set()
    number = 0
    said: set[str] = set()
    for entry in entries:
        statement, position = entry.statement, entry.line.log
        if entry.note.text in said and not isinstance(statement, Release):
            continue
        said.add(entry.note.text)
        if isinstance(statement, Advisory) and statement.keyset is None:
            if not owners.signed(entry.note, position):
                message = f"The advisory {statement.number} about {identity} is not signed by the registry's owners."
                raise TrustError("advisory-signer", message)
            advisories[slot_of(statement)] = statement
            continue
        if isinstance(statement, Takedown):
            _check_takedown(statement, entry, releases, owners)
            takedowns.setdefault(statement.version, statement)
            continue
        if not isinstance(statement, Release | Yank | Deprecation | Advisory):
            raise TrustError(
                "index-foreign", f"The index of {identity} contains a {statement.TITLE} at position {position}."
            )
        signers = chain.check(position, statement, entry.note, time)
        if signers.link.keyset.number < number:
            message = f"The statement at position {position} about {identity} goes back to keyset {signers.link.keyset.number}."
            raise TrustError("statement-keyset", message)
        number = signers.link.keyset.number
        if isinstance(statement, Release):
            if statement.version in releases:
                raise TrustError("release-repeated", f"{identity} {statement.version} has two releases.")
            record = ReleaseRecord(
                release=statement,
                line=entry.line,
                link=signers.link,
                signers=signers.keys,
                withdrawn=signers.withdrawn,
                revoked=signers.revoked,
            )
            releases[statement.version] = record
        elif isinstance(statement, Yank):
            if statement.version not in releases:
                message = (
                    f"A yank at position {position} is about {identity} {statement.version}, which was not released."
                )
                raise TrustError("release-unknown", message)
            if not signers.revoked:
                yanks[statement.version] = statement
        elif signers.revoked:
            if isinstance(statement, Advisory):
                disowned.add(statement.number)
        elif isinstance(statement, Deprecation):
            deprecation = statement if statement.deprecated else None
        else:
            advisories[slot_of(statement)] = statement
    in_force = tuple(advisories[slot] for slot in sorted(advisories))
    stated = {advisory.number for advisory in in_force if advisory.keyset is not None}
    records = tuple(_fold(record, yanks, takedowns, deprecation, in_force) for record in releases.values())
    return ItemHistory(identity, records, deprecation, in_force, tuple(sorted(disowned - stated)))


def slot_of(advisory: Advisory) -> tuple[str, bool]:
    """What a later advisory has to share to replace this one: the number, and whether the registry's owners or the namespace
    state it. Owners sort first."""
    return advisory.number, advisory.keyset is not None


def encode_judged(judged: Judged) -> bytes:
    """Encode a verdict for :mod:`rye.storage.verdicts`."""
    return msgspec.msgpack.encode(judged)


def decode_judged(data: bytes) -> Judged | None:
    """Decode a verdict; None if it does not have the current format."""
    try:
        return msgpack_decoder(Judged).decode(data)
    except (RyeError, *UNDECODABLE):  # statements validate themselves
        return None


NO_VERSION = "<0.0.0-0"
"""A range that matches no version. It withdraws an advisory (docs/reference/statements.md, rye.advisory/v1)."""


def is_about_nothing(advisory: Advisory) -> bool:
    """Whether the advisory was withdrawn: it matches no version."""
    return advisory.range == NO_VERSION


def advisory_words(advisory: Advisory) -> str:
    """An advisory on one line."""
    return f"advisory {advisory.number} ({advisory.severity}): {advisory.title}"


def advisory_hint(identity: Identity) -> str:
    """What to do about an advisory of an installed version."""
    return f"`rye audit` shows the advisory; `rye update {identity}` looks for an unaffected version."


def concerns(advisory: Advisory, version: str) -> bool:
    """Whether a version is in an advisory's range, including pre-releases. A version that cannot be compared is."""
    try:
        return Version.parse(version) in Range.parse(advisory.range).versions
    except RyeError:
        return True


def latest_release(history: ItemHistory) -> ReleaseRecord | None:
    """Return the highest release that can be chosen, a pre-release only if there is no other; None if there is none."""
    usable = [
        (not version.is_prerelease, version, record)
        for record in history.records
        if not record.is_withdrawn and (version := comparable(record.version)) is not None
    ]
    return max(usable, key=lambda entry: entry[:2], default=(None, None, None))[2]


def find_locked(history: ItemHistory | None, identity: Identity, version: str, sha256: str) -> ReleaseRecord:
    """Return the release that a lock names, from the registry's current index.

    ``history`` None: the identity is not in it.

    Raises TrustError: ``release-vanished``, ``release-changed`` (another file under the same version).
    """
    for record in history.records if history is not None else ():
        if record.version == version:
            found = record.release.file.sha256
            if found != sha256:
                message = f"{identity} {version} was locked with the hash {sha256}; the registry now has {found}."
                raise TrustError("release-changed", message, locked=sha256, found=found)
            return record
    raise TrustError("release-vanished", f"{identity} {version} is locked, but the registry no longer has it.")


PERMANENT = frozenset({"signer-revoked", "release-taken-down"})
"""Codes of errors about a release that stay true, whoever answers later and whoever does not."""


def check_installable(
    record: ReleaseRecord, content: ContentLimits = CONTENT, limits: RegistryLimits = REGISTRY
) -> None:
    """Check a release before any of its files are fetched. A yanked release is allowed.

    Raises TrustError: ``signer-revoked``, ``release-taken-down``, ``release-oversized``, ``release-held``.
    """
    release = record.release
    subject = f"{release.identity} {release.version}"
    if record.revoked:
        raise TrustError(
            "signer-revoked", f"{subject} is signed with a key that was revoked.", position=record.line.log
        )
    if record.takedown is not None:
        is_old = record.takedown.is_retention
        why = f"The registry no longer keeps {subject}" if is_old else f"The registry's owners took {subject} down"
        raise TrustError("release-taken-down", f"{why}: {record.takedown.reason}")
    if record.held:
        raise TrustError("release-held", f"{subject} is held back {record.held}.")
    attached = sum(entry.size for entry in release.attached)
    if (
        release.file.size > limits.item_bytes
        or len(release.attached) > content.attached_files
        or attached > content.attached_bytes
    ):
        message = (
            f"{subject} has {release.file.size:,} bytes and {len(release.attached)} attached files of {attached:,} bytes; "
            f"the limits are {limits.item_bytes:,}, {content.attached_files} and {content.attached_bytes:,}."
        )
        raise TrustError("release-oversized", message)


def without_distrusted(history: ItemHistory, distrusted: frozenset[str]) -> ItemHistory:
    """The same history, in which each release that a key of these fingerprints signed is ``revoked``: keys that this user
    revoked, whatever the namespace's owners think of them."""
    if not distrusted:
        return history
    records = tuple(
        replace(record, revoked=True)
        if any(PublicKey(key).fingerprint in distrusted for key in record.signers)
        else record
        for record in history.records
    )
    return replace(history, records=records)


def with_held(history: ItemHistory, held: Mapping[str, str]) -> ItemHistory:
    """The same history, in which the releases of these versions are held back. ``held``: the reasons, by version."""
    if not held:
        return history
    records = tuple(
        replace(record, held=held[record.version]) if record.version in held else record for record in history.records
    )
    return replace(history, records=records)


def _check_takedown(
    takedown: Takedown, entry: LoggedStatement, releases: dict[str, ReleaseRecord], owners: Owners
) -> None:
    """Rule 5."""
    subject = f"The takedown at position {entry.line.log} about {takedown.identity} {takedown.version}"
    if not owners.signed(entry.note, entry.line.log):
        raise TrustError("takedown-signer", f"{subject} is not signed by the registry's owners.")
    record = releases.get(takedown.version)
    if record is None:
        raise TrustError("release-unknown", f"{subject} is about a version that was not released.")
    if not set(takedown.files) <= release_files(record.release):
        raise TrustError("takedown-foreign", f"{subject} names a file that the release does not contain.")


def release_files(release: Release) -> frozenset[str]:
    """Return the SHA-256 of each of a release's files."""
    return frozenset((release.file.sha256, *(entry.sha256 for entry in release.attached)))


def _fold(
    record: ReleaseRecord,
    yanks: dict[str, Yank],
    takedowns: dict[str, Takedown],
    deprecation: Deprecation | None,
    advisories: tuple[Advisory, ...],
) -> ReleaseRecord:
    yank = yanks.get(record.version)
    return ReleaseRecord(
        release=record.release,
        line=record.line,
        link=record.link,
        signers=record.signers,
        withdrawn=record.withdrawn,
        revoked=record.revoked,
        yank=yank if yank is not None and yank.yanked else None,
        deprecation=deprecation,
        advisories=tuple(advisory for advisory in advisories if concerns(advisory, record.version)),
        takedown=takedowns.get(record.version),
    )


class SignerHistory(Struct, frozen=True, kw_only=True):
    """Facts about the signer of a release, shown to a person. Times are those in the statements."""

    released: datetime
    key_since: datetime
    """When the key first appeared in a keyset of the namespace."""
    namespace_since: datetime
    keyset: int
    """The keyset under which the key signed."""
    owner: str | None = None
    """Who is behind the namespace, in words; None if the project already has items of it."""
    owner_warning: str | None = None
    """That the namespace has the name of a well-known organization, in words."""
    old_key: str | None = None
    """What happened to the previous signing key: still in the keyset, or why it is not. None if no other key signed before."""


def signer_history(chain: KeysetChain, record: ReleaseRecord, now: datetime, before: str | None) -> SignerHistory:
    """Return the facts. ``now``: the snapshot's time; ``before``: the previous key's fingerprint, if it was a different key."""
    links = chain.effective(now) or (record.link,)
    key = record.signers[0]
    since = next((link.keyset.time for link in links if key in link.keyset.keys), record.link.keyset.time)
    return SignerHistory(
        released=record.release.time,
        key_since=since,
        namespace_since=links[0].keyset.time,
        keyset=record.link.keyset.number,
        old_key=_became_of(before, links) if before is not None else None,
    )


def _became_of(fingerprint: str, links: Iterable[Link]) -> str:
    held: Link | None = None
    gone: Link | None = None
    for link in links:
        if any(PublicKey(key).fingerprint == fingerprint for key in link.keyset.keys):
            held, gone = link, None
        elif held is not None and gone is None:
            gone = link
    if held is None:
        return "it was never in a keyset of this namespace"
    if gone is None:
        return "it is still in the keyset"
    number, day = gone.keyset.number, gone.keyset.time.date()
    if any(PublicKey(entry.key).fingerprint == fingerprint for entry in gone.keyset.revoked):
        return f"keyset {number} of {day} revoked it"
    if gone.keyset.recovery is not None:
        return f"the registry's owners gave the namespace to other keys with keyset {number} of {day}"
    return f"keyset {number} of {day} left it out"
