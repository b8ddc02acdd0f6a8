"""Whether a statement may become the log's next entry: checked with the writer's lock held, against the state of that
moment.

Rules, in the order in which :func:`admit` checks them:

1. A statement whose text is already in its name's index is a duplicate, whatever signature lines it has this time: it
   succeeds and changes nothing, so a replay has no effect. New or replayed, each signature line is valid and by a key
   that the registry knows for this purpose (``unknown-signer``, ``note-signature-wrong``).
2. A keyset: the first claims a free namespace (``namespace-taken``, ``name-look-alike``), which does not look like one that
   is served here from another registry (``namespace-elsewhere``); a later one must follow the
   chain (:func:`rye.registry.trust.keysets.extend`). A recovery is public for 72 h from *now* before it takes effect,
   whatever its own time says (``recovery-too-soon``), and no backdated statement replaces one that is in effect
   (``recovery-in-effect``).
3. A statement about an item: by a key of the keyset in force now that is not revoked (``statement-…``,
   ``signer-revoked``).
4. A release: the same bytes again are a duplicate; other bytes under a used version are refused (``version-exists``),
   and so is a new name that looks like one of the same kind (``name-look-alike``). The in-file signature is by a key in
   force (``item-signature``). It cannot be backdated, because users' policies require a minimum age (``time-behind``).
5. Yanks, deprecations and advisories are about existing releases and items (``release-unknown``, ``item-unknown``).
6. Files that were taken down are not released again (``taken-down``). A takedown is about a release and its own files,
   signed by the owners; only the operator's own command can send it (``takedown-signer``, ``takedown-foreign``).
7. A root follows the last one (``root-…``); only the operator's own command can send it.
8. A step back in time is signed by the owners (``clock-signer``), is for the next position, and names the newest head's
   time (``clock-step``); only the operator's own command can send it.
10. An organization's policy follows the one before, is signed by the owners (``policy-…``), is not in the future (``time-ahead``)
   and has not expired (``policy-expired``); only the operator's own command can send it.
9. What owners state about themselves is signed like a statement about an item, is not dated back (``time-behind``), because
   pages show its date, and names the fingerprint of the keyset in force (``statement-keyset``). Whether the place that a
   proof names shows it was checked before, without the lock (:mod:`registry_server.api.proving`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from registry_server.sequencer.acceptance import Candidate, blobs_of, namespace_of
from registry_server.sequencer.columns import content_digest, folded
from registry_server.sequencer.ledger import Ledger
from rye.errors import RyeError
from rye.limits import REGISTRY
from rye.registry.protocol import notes, wire
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.notes import NoteError, VerifierKey
from rye.registry.protocol.statements import (
    RECOVERY_DELAY,
    Advisory,
    ClockStep,
    Deprecation,
    Keyset,
    OrganizationPolicy,
    OwnerStatement,
    Release,
    Root,
    Takedown,
    Yank,
    root_key_name,
)
from rye.registry.protocol.wire import index_name
from rye.registry.trust.head_times import check_step
from rye.registry.trust.keysets import Link, extend, namespace_keys
from rye.registry.trust.namespace_proofs import check_fingerprint
from rye.registry.trust.owners import Owners, owner_keys, signed_by_owners
from rye.registry.trust.policies import check_organization_policy, read_organization_policy
from rye.registry.trust.records import release_files
from rye.registry.trust.trust_error import TrustError

BACKDATING = timedelta(hours=24)
"""How old a release's time may be when it is added to the log."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """The statement is in the log at ``position``; ``duplicate``: it already was."""

    position: int
    duplicate: bool


def admit(
    ledger: Ledger,
    candidate: Candidate,
    now: datetime,
    skew: timedelta = timedelta(minutes=10),
    elsewhere: Collection[str] = (),
) -> Admitted:
    """Append the statement, or find it in the log. ``elsewhere``: namespaces of other registries that this one serves.

    Raises RyeError if it may not be in the log; then nothing was written.
    """
    statement = candidate.statement
    position = ledger.position_of(candidate)
    try:
        if position is not None:
            _check_lines(ledger, candidate)
            return Admitted(position, True)
        if isinstance(statement, Root):
            _check_root(ledger, candidate, statement, now)
            _check_lines(ledger, candidate)
        elif isinstance(statement, Keyset):
            _check_keyset(ledger, candidate, statement, now, skew, elsewhere)
            _check_lines(ledger, candidate)
        elif isinstance(statement, Release | Yank | Deprecation | Advisory):
            checked = _check_signers(ledger, candidate, statement, now)
            _check_lines(ledger, candidate, checked)
            if isinstance(statement, Release):
                earlier = ledger.release(index_name(statement.identity), statement.version)
                if earlier is not None:
                    if earlier.content == content_digest(statement):
                        return Admitted(earlier.position, True)
                    raise RyeError(
                        "version-exists",
                        f"{statement.identity} {statement.version} is published with other content; versions are never reused.",
                        "Raise the version, then sign and publish again.",
                    )
                if statement.time < now - BACKDATING:
                    raise RyeError(
                        "time-behind",
                        f"The release note is dated {statement.time:%Y-%m-%dT%H:%M:%SZ}, which is too long ago.",
                        "Publish again, which writes a new release note. Users' policies count a release's age from its time.",
                    )
            _check_subject(ledger, statement)
        elif isinstance(statement, OwnerStatement):
            current = _check_signed_now(ledger, candidate, statement, now)
            _check_lines(ledger, candidate, current.keys)
            check_fingerprint(statement, current.sha256, ledger.size)
            _check_owners(ledger, candidate, statement, now)
        elif isinstance(statement, Takedown):
            _check_takedown(ledger, candidate, statement)
            _check_lines(ledger, candidate)
        elif isinstance(statement, ClockStep):
            _check_step(ledger, candidate, statement, now)
            _check_lines(ledger, candidate)
        elif isinstance(statement, OrganizationPolicy):
            _check_policy(ledger, candidate, statement, now, skew)
            _check_lines(ledger, candidate)
        else:
            raise RyeError("statement-not-accepted", f"The log itself writes {statement.TITLE} statements.", None)
    except (TrustError, NoteError) as error:
        raise _for_publishers(error) from error
    return Admitted(ledger.append(candidate, now), False)


def _check_lines(ledger: Ledger, candidate: Candidate, checked: Iterable[VerifierKey] = ()) -> None:
    """Rule 1: every signature line proves something.

    Anyone could add other lines to a public statement and send it again.

    ``checked``: keys whose lines have already been verified.
    """
    done = {(key.name, key.key_id) for key in checked}
    if all((line.name, line.key_id) in done for line in candidate.note.signatures):
        return
    statement = candidate.statement
    allowed = {key for root in ledger.roots() for key in owner_keys(root)}
    if isinstance(statement, Root):
        allowed.update(owner_keys(statement))
    elif isinstance(statement, Keyset):
        allowed.update(namespace_keys(statement))
    space = namespace_of(statement)
    if space is not None and not isinstance(statement, Takedown):
        allowed.update(key for link in ledger.chain(space).links for key in link.keys)
    ids = {(key.name, key.key_id) for key in allowed}
    for line in candidate.note.signatures:
        if (line.name, line.key_id) not in ids:
            raise RyeError(
                "unknown-signer",
                f"One signature is by {line.name} ({line.key_id.hex()}), which is not a known signer of this statement.",
                "Send the statement with the signatures of its signers only.",
            )
    notes.verify(candidate.note, allowed)


def _check_root(ledger: Ledger, candidate: Candidate, root: Root, now: datetime) -> None:
    earlier = ledger.roots()
    number = len(earlier) + 1
    if root.origin != ledger.origin:
        raise RyeError(
            "wrong-origin", f"The root is for {root.origin}; this registry is {ledger.origin}.", "Check --data."
        )
    if root.number != number or root.previous != (earlier[-1].sha256() if earlier else None):
        raise RyeError(
            "root-chain",
            f"Root {root.number} does not follow root {number - 1}.",
            "Draft it again: rye-registry root draft -o FILE",
        )
    if root.expires <= now:
        raise RyeError(
            "root-expired",
            f"Root {root.number} has expired before it began.",
            "Draft it again: rye-registry root draft -o FILE",
        )
    needed = [("its own", root), *([(f"root {number - 1}'s", earlier[-1])] if earlier else [])]
    for whose, wanted in needed:
        if not signed_by_owners(candidate.note, [wanted]):
            raise RyeError(
                "root-signatures",
                f"Root {root.number} needs signatures by {wanted.threshold} of {whose} owners ({root_key_name(root.origin)}).",
                "Each owner adds a signature: rye-registry root sign FILE --key KEY",
            )


def _check_keyset(
    ledger: Ledger, candidate: Candidate, keyset: Keyset, now: datetime, skew: timedelta, elsewhere: Collection[str]
) -> None:
    chain = ledger.chain(keyset.namespace)
    if not chain.links:
        _refuse_look_alike(ledger, index_name(keyset.namespace))
        _refuse_elsewhere(keyset.namespace, elsewhere)
    elif keyset.number == 1:
        raise RyeError(
            "namespace-taken",
            f"The namespace {keyset.namespace} is already claimed.",
            f"Choose another one. To change the keys of your own namespace: rye namespace keys add {keyset.namespace} FILE",
        )
    else:
        last = chain.links[-1].keyset
        # The chain's own rule uses the statement's date, which its signer chooses. Here the real time counts.
        if last.recovery is not None and keyset.number == last.number and now >= last.recovery:
            raise RyeError(
                "recovery-in-effect",
                f"The recovery of {keyset.namespace} is in effect and can no longer be replaced.",
                "Sign keyset statements with the new keys.",
            )
    if keyset.recovery is not None and keyset.recovery < now + RECOVERY_DELAY - skew:
        raise RyeError(
            "recovery-too-soon",
            f"A recovery of {keyset.namespace} must be public for 72 hours before it takes effect.",
            "Create the statement again with a later recovery time.",
        )
    extend(chain, ledger.size, candidate.note, keyset, Owners(tuple(ledger.roots()[-1:])))


def _check_signers(
    ledger: Ledger, candidate: Candidate, statement: Release | Yank | Deprecation | Advisory, now: datetime
) -> tuple[VerifierKey, ...]:
    """Rule 3; returns the keys whose signature lines it verified."""
    identity = statement.identity
    if isinstance(statement, Advisory) and statement.keyset is None:
        if not signed_by_owners(candidate.note, ledger.roots()[-1:]):
            raise RyeError(
                "advisory-signer",
                f"The advisory {statement.number} is not signed by the registry's owners.",
                "Each owner signs it: rye-registry root sign FILE --key KEY",
            )
        return ()
    current = _check_signed_now(ledger, candidate, statement, now)
    if isinstance(statement, Release) and candidate.signer not in {key.raw for key in current.keyset.accepted_keys()}:
        raise RyeError(
            "item-signature",
            f"The file of {identity} is signed by a key that is not in force in {identity.namespace}.",
            "Sign the file again with a key of the namespace: rye sign FILE",
        )
    return current.keys


def _check_signed_now(
    ledger: Ledger,
    candidate: Candidate,
    statement: Release | Yank | Deprecation | Advisory | OwnerStatement,
    now: datetime,
) -> Link:
    """Rule 3: return the keyset in force, whose keys signed the statement."""
    namespace = namespace_of(statement) or ""
    chain = ledger.chain(namespace)
    current = chain.current(now)
    if current is None:
        raise RyeError(
            "namespace-unclaimed",
            f"No one has claimed the namespace {namespace} yet.",
            f"Claim it first: rye namespace claim {namespace}",
        )
    signers = chain.check(ledger.size, statement, candidate.note, now)
    if signers.link != current:
        # Backdated to before a recovery took effect.
        raise RyeError(
            "statement-keyset",
            f"The statement is signed under keyset {signers.link.keyset.number}, but keyset {current.keyset.number} is in force.",
            "Sign it again with a key that is in force.",
        )
    if signers.revoked:
        raise RyeError("signer-revoked", "The key that signed the statement is revoked.", "Sign it with another key.")
    return current


def _check_owners(ledger: Ledger, candidate: Candidate, statement: OwnerStatement, now: datetime) -> None:
    """Rule 9."""
    if statement.time < now - BACKDATING:
        raise RyeError(
            "time-behind",
            f"The statement is dated {write_time(statement.time)}, which is too long ago.",
            "Set this machine's clock and run the command again, which writes a new statement.",
        )
    present = wire.encode_index(ledger.owner_lines([statement.namespace]).get(statement.namespace, ()))
    added = wire.encode_index([wire.IndexLine(ledger.size, candidate.note.encode())])
    if len(present) + len(added) > REGISTRY.owners_bytes:
        raise RyeError(
            "too-many",
            f"The owners of {statement.namespace} stated so much about themselves that clients would not read more.",
            "Everything that was stated stays in force.",
            what="statements",
        )


def _check_subject(ledger: Ledger, statement: Release | Yank | Deprecation | Advisory) -> None:
    name = index_name(statement.identity)
    if isinstance(statement, Release):
        for sha256, reason in ledger.taken_down(blobs_of(statement)).items():
            raise RyeError(
                "taken-down",
                f"The file {sha256} was taken down by the registry's owners: {reason}",
                "Publish another version without it.",
            )
        if not ledger.has_name(name):
            _refuse_look_alike(ledger, name)
    elif isinstance(statement, Yank):
        if ledger.release(name, statement.version) is None:
            raise RyeError(
                "release-unknown",
                f"There is no release {statement.version} of {statement.identity}.",
                f"`rye info {statement.identity}` lists the versions.",
            )
    elif not ledger.has_name(name):
        raise RyeError(
            "item-unknown", f"There is no {statement.identity} in this registry.", "`rye search WORDS` finds names."
        )


def _check_takedown(ledger: Ledger, candidate: Candidate, takedown: Takedown) -> None:
    if takedown.origin != ledger.origin:
        raise RyeError(
            "wrong-origin", f"The takedown is for {takedown.origin}; this registry is {ledger.origin}.", "Check --data."
        )
    if not signed_by_owners(candidate.note, ledger.roots()[-1:]):
        raise RyeError(
            "takedown-signer",
            f"The takedown needs signatures by {ledger.roots()[-1].threshold} of the registry's owners.",
            "Each owner adds a signature: rye-registry root sign FILE --key KEY",
        )
    row = ledger.release(index_name(takedown.identity), takedown.version)
    if row is None:
        raise RyeError(
            "release-unknown",
            f"There is no release {takedown.version} of {takedown.identity}.",
            f"`rye info {takedown.identity}` lists the versions.",
        )
    release = Release.parse(notes.parse(ledger.leaves(row.position, row.position + 1)[0]).text)
    if not set(takedown.files) <= release_files(release):
        raise RyeError(
            "takedown-foreign",
            "The takedown names a file that the release does not contain.",
            "Draft it again: rye-registry takedown TARGET --reason TEXT --draft FILE",
        )


def _check_step(ledger: Ledger, candidate: Candidate, step: ClockStep, now: datetime) -> None:
    newest = ledger.published()
    before = newest.time if newest is not None and newest.size == ledger.size else None
    check_step(step, candidate.note, ledger.size, before, ledger.origin, Owners(tuple(ledger.roots()[-1:])))
    if not step.time <= now < step.before:
        raise TrustError(
            "clock-step", f"The statement steps back to {write_time(step.time)}, but it is {write_time(now)}."
        )


def _check_policy(
    ledger: Ledger, candidate: Candidate, policy: OrganizationPolicy, now: datetime, skew: timedelta
) -> None:
    newest = ledger.newest_policy()
    before = read_organization_policy(newest)[1] if newest is not None else None
    owners = Owners(tuple(ledger.roots()[-1:]))
    check_organization_policy(policy, candidate.note, ledger.size, before, ledger.origin, owners)
    if policy.time > now + skew:
        raise RyeError(
            "time-ahead",
            f"The policy's time {write_time(policy.time)} is in the future.",
            "Set the clock of the machine that drafts it, then draft it again.",
        )
    if policy.expires <= now:
        raise RyeError(
            "policy-expired",
            f"The policy expires at {write_time(policy.expires)}, before it is published.",
            "Set a later `expires` in its file, and publish that.",
        )


def _refuse_look_alike(ledger: Ledger, name: str) -> None:
    other = ledger.look_alike(name)
    if other is not None:
        raise RyeError(
            "name-look-alike",
            f"{name} looks too much like {other}, which exists: `._-` do not count, `l` and `i` count as 1, `o` as 0.",
            "Choose a name that cannot be mistaken for it.",
        )


def _refuse_elsewhere(namespace: str, elsewhere: Collection[str]) -> None:
    fold = folded(index_name(namespace))
    other = next((name for name in elsewhere if folded(index_name(name)) == fold), None)
    if other is not None:
        raise RyeError(
            "namespace-elsewhere",
            f"This registry serves the namespace {other!r} of another registry, so {namespace!r} cannot be claimed here.",
            "Choose another name. The operator decides what is served: [[upstream]] in registry.toml.",
        )


_HINTS = {
    "statement-keyset": "Sign again under the namespace's newest keyset: rye publish does.",
    "statement-signer": "Sign with a key of the namespace: `rye namespace show NAMESPACE` lists them.",
    "clock-signer": "Each of the registry's owners adds a signature: rye-registry root sign FILE --key KEY",
    "clock-step": "Draft it again, after setting this machine's clock: rye-registry clock back --reason TEXT --draft FILE",
    "policy-signer": "Each of the registry's owners adds a signature: rye-registry root sign FILE --key KEY",
    "policy-chain": "Draft it again: rye-registry policy publish FILE --draft DRAFT",
    "keyset-chain": "Run the command again: it starts from the newest keyset.",
    "keyset-number": "Run the command again: it starts from the newest keyset.",
    "keyset-takeover": "Sign a change of keys with the namespace's current keys.",
    "recovery-signatures": "Each of the registry's owners signs a recovery: rye-registry root sign FILE --key KEY",
    "note-signature-wrong": "The note was changed after it was signed. Sign it again.",
}


def _for_publishers(error: RyeError) -> RyeError:
    """Return the same error with advice for the person who sends a statement, not for one who reads it."""
    return RyeError(error.code, error.message, _HINTS.get(error.code, "Create the statement again, then sign it."))
