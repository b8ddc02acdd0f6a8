"""Attacks on what witnesses cosigned, against a user who demands two of three (docs/how-to/witnesses.md)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from rye.registry.protocol import notes, wire
from rye.registry.protocol.notes import NoteSignature, SignedNote
from rye.registry.protocol.witness_policy import simple_policy
from rye.registry.store.witness_demands import write_demand
from rye.registry.trust.cosigned import WitnessDemand
from tests.attacks.simulation import INSTALL, Attack, Attacker, AttackRunner, Power
from tests.registry.simulated_registry import SimulatedRegistry, key, signer
from tests.registry.witness_keys import cosigned, ed25519, ml_dsa

pytestmark = pytest.mark.slow

POLICY_FILE = Path(__file__).with_name("two-of-three-witnesses.txt")
WITNESSES = (ed25519("w1"), ed25519("w2"), ml_dsa("w3"))
POLICY = simple_policy([one.verifier for one in WITNESSES], 2)
PINNING = ("registry", "add", "{url}", "--fingerprint", "{pin}", "--witness-policy", str(POLICY_FILE))


def with_cosignatures(head: wire.Head, registry: SimulatedRegistry) -> wire.Head:
    note = cosigned(notes.parse(head.checkpoint), int(registry.now.timestamp()), *WITNESSES)
    return replace(head, checkpoint=note.encode())


def member(head: wire.Head) -> wire.CosignedHead:
    return wire.CosignedHead(head.checkpoint, head.snapshot, head.proof, head.map)


def cosign(files: dict[str, bytes]) -> None:
    """What the honest registry's witnesses did: they cosigned its present head, when it was made."""
    head = wire.decode_head(files["head"])
    time = notes.parse(head.snapshot).text.split("\ntime ")[1].split("\n")[0]
    registry = SimulatedRegistry()
    registry.now = registry.now.fromisoformat(time.replace("Z", "+00:00"))
    files["head"] = wire.encode_head(with_cosignatures(head, registry))


def shows(change: Callable[[wire.Head, Attacker], wire.Head]) -> Callable[[Attacker], None]:
    """Replace the cosigned head that the honest registry shows."""

    def act(attacker: Attacker) -> None:
        head = wire.decode_head(attacker.server.files["head"])
        attacker.replace("head", wire.encode_head(change(head, attacker)))

    return act


def with_lines(change: Callable[[NoteSignature], NoteSignature | None]) -> Callable[[wire.Head, Attacker], wire.Head]:
    """The head with other lines of witnesses; None leaves one out."""

    def changed(head: wire.Head, attacker: Attacker) -> wire.Head:
        note = notes.parse(head.checkpoint)
        lines = [change(line) for line in note.signatures[1:]]
        kept = (note.signatures[0], *(line for line in lines if line is not None))
        return replace(head, checkpoint=SignedNote(note.text, kept).encode())

    return changed


def dated_anew(line: NoteSignature) -> NoteSignature:
    time = int.from_bytes(line.signature[:8], "big") + 3600
    return NoteSignature(line.name, line.key_id, time.to_bytes(8, "big") + line.signature[8:])


def of_another_log(head: wire.Head, attacker: Attacker) -> wire.Head:
    other = SimulatedRegistry(origin="other.example", now=attacker.present.now)
    other.publish()
    return replace(attacker.present.head(), cosigned=member(with_cosignatures(other.head(), other)))


def fork(head: wire.Head, attacker: Attacker) -> wire.Head:
    """A history of the same size that witnesses cosigned beside the one that is shown."""
    other = attacker.past.fork()
    other.now = attacker.present.now
    while other.size < attacker.present.size:
        other.append(other.sign(other.snapshot(), other.log_signers()))
    return replace(attacker.present.head(), cosigned=member(with_cosignatures(other.head(), other)))


def stranger_signed(head: wire.Head, attacker: Attacker) -> wire.Head:
    note = notes.parse(head.checkpoint)
    forged = notes.sign(note.text, [signer(attacker.present.origin, key("stranger"))])
    inner = replace(head, checkpoint=SignedNote(note.text, (*forged.signatures, *note.signatures[1:])).encode())
    return replace(attacker.present.head(), cosigned=member(inner))


def beginning_only(attacker: Attacker) -> None:
    """Hold back what witnesses cosigned after the log's first two entries, from a user who demands them."""
    write_demand(attacker.user.home / "data" / "registries", attacker.present.origin, WitnessDemand(POLICY))
    first = attacker.present.fork()
    del first.leaves[2:]
    head = replace(attacker.present.head(), cosigned=member(with_cosignatures(first.head(), attacker.present)))
    first.write_files()
    attacker.server.files.update({path: data for path, data in first.files.items() if path.startswith("map/")})
    attacker.replace("head", wire.encode_head(head))


def against_witnesses(
    name: str, power: Power, code: str, act: Callable[[Attacker], object], later: timedelta = timedelta(0)
) -> Attack:
    return Attack(
        name=name, power=power, code=code, act=act, start="pinned", command=PINNING, files=cosign, later=later
    )


WITNESSED = (
    against_witnesses(
        "a head that no witness cosigned", "mirror", "witness-quorum", shows(with_lines(lambda line: None))
    ),
    against_witnesses(
        "a head that one of two needed witnesses cosigned",
        "mirror",
        "witness-quorum",
        shows(with_lines(lambda line: line if line.name == "w1" else None)),
    ),
    against_witnesses("cosignatures with a later time", "mirror", "cosignature-wrong", shows(with_lines(dated_anew))),
    against_witnesses(
        "cosignatures that are a day old", "mirror", "witness-frozen", lambda attacker: None, timedelta(hours=25)
    ),
    against_witnesses("a cosigned head of another log", "mirror", "cosigned-head", shows(of_another_log)),
    against_witnesses(
        "a cosigned head that a stranger signed as the log", "mirror", "cosigned-head", shows(stranger_signed)
    ),
    against_witnesses("a cosigned history beside the one that is shown", "log key", "head-fork", shows(fork)),
)
LOCKED = (
    Attack(
        name="a cosigned head from before what rye.lock names",
        power="mirror",
        code="not-cosigned",
        act=beginning_only,
        start="checkout",
        command=INSTALL,
    ),
)


@pytest.mark.parametrize("attack", [*WITNESSED, *LOCKED], ids=lambda attack: attack.name)
def test_only_what_witnesses_cosigned_exists(runner: AttackRunner, attack: Attack) -> None:
    runner.perform(attack)


def test_the_policy_of_these_attacks_demands_two_of_three() -> None:
    assert POLICY_FILE.read_text("utf-8") == POLICY.text
