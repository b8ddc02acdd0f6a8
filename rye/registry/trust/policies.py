"""The policy of a registry's owners for everybody who joined them (``rye.policy/v1``).

Pure. A policy is an entry of the log. ``/policy`` has the newest one in the format of an index file with one line, and nothing in
it is trusted before it is proved to be in the tree.

Rules:

1. It is a policy of this registry (``policy-foreign``), and a threshold of the owners of the root in force at its position signed
   it (``policy-signer``).
2. Each follows the one before: the next number, its hash, and a time that is not earlier (``policy-chain``). Who reads a whole
   log sees that; who joined sees no more than the newest, and demands that its number and position go up.
3. Who has accepted one never goes back: no lower number, no other policy of the same number or at a lower position, and not none
   (``policy-rollback``).
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from rye.errors import RyeError
from rye.registry.protocol import notes, wire
from rye.registry.protocol.cosignatures import CosignerKey
from rye.registry.protocol.notes import SignedNote
from rye.registry.protocol.statements import OrganizationPolicy
from rye.registry.protocol.statements.policy import table_of
from rye.registry.protocol.tiles import Tile
from rye.registry.protocol.wire import IndexLine
from rye.registry.protocol.witness_policy import simple_policy
from rye.registry.trust.cosigned import WitnessDemand
from rye.registry.trust.owners import Owners
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import TrustedHead, TrustedState

POLICY = "policy"
"""The path of the file with the newest policy. A log without one does not have it."""


def encode_newest(line: IndexLine) -> bytes:
    """Return the bytes of ``/policy``."""
    return wire.encode_index([line])


def decode_newest(data: bytes) -> IndexLine:
    """Read ``/policy``. Raises WireError, and TrustError ``policy-foreign`` unless it has exactly one line."""
    lines = wire.decode_index(data)
    if len(lines) != 1:
        raise TrustError("policy-foreign", f"/{POLICY} has {len(lines)} lines instead of one.")
    return lines[0]


def read_organization_policy(line: IndexLine) -> tuple[SignedNote, OrganizationPolicy]:
    """Return the note and the statement of an entry. Raises NoteError, StatementError."""
    note = notes.parse(line.note)
    return note, OrganizationPolicy.parse(note.text)


def check_organization_policy(
    policy: OrganizationPolicy,
    note: SignedNote,
    position: int,
    before: OrganizationPolicy | None,
    origin: str,
    owners: Owners,
) -> None:
    """Rules 1 and 2, for who knows the policy before it. Raises TrustError."""
    _check_signed(policy, note, position, origin, owners)
    number, previous = (before.number + 1, before.sha256()) if before is not None else (1, None)
    if (policy.number, policy.previous) != (number, previous):
        message = f"Policy {policy.number} at entry {position} does not follow policy {number - 1}."
        raise TrustError("policy-chain", message)
    if before is not None and policy.time < before.time:
        raise TrustError("policy-chain", f"Policy {policy.number} is dated before policy {before.number}.")


def another_line(state: TrustedState, size: int, data: bytes | None) -> IndexLine | None:
    """Return the newest policy's line in the log, from the registry's file of it; None if it is the one in force, or newer than
    the head. ``size``: the head's entries; ``data``: None if there is no such file.

    Raises TrustError for a registry that has no policy, or has none any more, and WireError."""
    if data is None:
        if state.policy is not None:
            raise rolled_back(state.origin, "none", read_organization_policy(state.policy)[1].number)
        raise no_policy(state.origin)
    line = decode_newest(data)
    if line.log >= size and state.policy is None:  # the file may be newer than the head
        raise no_policy(state.origin)
    return None if line == state.policy or line.log >= size else line


def accept_organization_policy(
    state: TrustedState, head: TrustedHead, line: IndexLine, fetched: Mapping[Tile, bytes]
) -> TrustedState:
    """Rules 1 and 3: return the state with the newest policy. ``fetched``: the tiles that prove its place.

    Raises TrustError, TileError, NoteError and StatementError.
    """
    note, policy = read_organization_policy(line)
    _check_signed(policy, note, line.log, state.origin, state.owners)
    known = state.policy
    if known is not None:
        seen = read_organization_policy(known)[1]
        if policy == seen:
            return state
        if policy.number <= seen.number or line.log <= known.log:
            raise rolled_back(state.origin, f"policy {policy.number} (entry {line.log})", seen.number)
    head.check_logged([line], fetched)
    return replace(state, policy=line)


def check_stored_policy(state: TrustedState) -> None:
    """Rule 1 for a state of which only the fingerprint is known: its roots follow each other from the first one, and their owners
    signed its policy. Raises TrustError, NoteError and StatementError."""
    proved = TrustedState.pin(state.roots[0].encode(), state.fingerprint, state.origin)
    for root in state.roots[1:]:
        proved = proved.accept_root(root.encode())
    if state.policy is not None:
        note, policy = read_organization_policy(state.policy)
        _check_signed(policy, note, state.policy.log, state.origin, state.owners)


def with_required_witnesses(demand: WitnessDemand | None, line: IndexLine) -> WitnessDemand:
    """Return what a user demands, and the witnesses that a policy requires. Raises NoteError for a key that cannot be read."""
    required = table_of(read_organization_policy(line)[1].rules).get("required-witnesses", [])
    keys = tuple(CosignerKey.from_vkey(str(vkey)) for vkey in required) if isinstance(required, list) else ()
    return replace(demand or WitnessDemand(simple_policy((), 0)), also=keys)


def rolled_back(origin: str, shown: str, number: int) -> TrustError:
    """The error for a registry that shows less than the policy that was seen."""
    message = f"{origin} shows {shown}, but this machine has seen its policy {number}."
    return TrustError("policy-rollback", message, seen=number)


def _check_signed(policy: OrganizationPolicy, note: SignedNote, position: int, origin: str, owners: Owners) -> None:
    if policy.origin != origin:
        raise TrustError("policy-foreign", f"The policy at entry {position} is of {policy.origin}, not of {origin}.")
    if not owners.signed(note, position):
        message = f"Policy {policy.number} at entry {position} is not signed by enough of the owners of {origin}."
        raise TrustError("policy-signer", message)


def no_policy(origin: str) -> RyeError:
    """The error for joining owners who have published no policy."""
    return RyeError(
        "no-such-entry",
        f"{origin} has no policy that you could join.",
        "Its operator publishes one: rye-registry policy publish FILE",
        what="policy",
    )
