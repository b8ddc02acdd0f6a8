"""Attacks on the head: time, size, history, form (docs/reference/protocol.md, What a client does, 2 and 3)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from rye.registry.protocol import merkle, notes
from rye.registry.protocol.notes import NoteSignature, SignedNote, encode_base64
from rye.registry.store.state import HeadTags, StateStore
from rye.signing.keys import PrivateKey
from tests.attacks.hostile_server import announces, drips, endless, unchanged
from tests.attacks.named_attacks import of_the_tables
from tests.attacks.signed_items import directive, release
from tests.attacks.simulation import DEPLOY, IMPATIENT, Attack, Attacker, AttackRunner
from tests.registry.simulated_registry import SimulatedRegistry, key, signer
from tests.scenes.effort import rest_thorough

pytestmark = pytest.mark.slow


def other_present(attacker: Attacker) -> SimulatedRegistry:
    """Another history as long as the present, with one release replaced."""
    return attacker.cheat(
        lambda registry: release(registry, DEPLOY, "1.1.0", directive(DEPLOY, "1.1.0", text="Do harm.")), before=True
    )


def rewritten(attacker: Attacker) -> None:
    """A longer history in which a release that the user saw has changed."""
    registry = attacker.present.fork()
    registry.leaves[2] = registry.leaves[3]
    registry.publish()
    attacker.serve(registry)


def seen(attacker: Attacker) -> None:
    """Let the user see the present first."""
    attacker.serve(attacker.present)
    attacker.user.ok("registry", "show", "--json")


def fork(attacker: Attacker) -> None:
    seen(attacker)
    other_present(attacker)


def rollback(attacker: Attacker) -> None:
    seen(attacker)
    attacker.serve(attacker.past)


def from_the_future(attacker: Attacker) -> None:
    attacker.cheat(lambda registry: registry.pass_time(hours=2))


def going_back_in_time(attacker: Attacker) -> None:
    attacker.cheat(lambda registry: registry.pass_time(hours=-2))


def stepping_back(owners: Sequence[PrivateKey] | None, *, off: int = 0) -> Callable[[Attacker], object]:
    """A head with an older time, after a step back in time that strangers signed, or that is for a position further on."""

    def cheat(registry: SimulatedRegistry) -> None:
        registry.pass_time(hours=-2)
        registry.step_back(owners, position=registry.size + off)

    return lambda attacker: attacker.cheat(cheat)


def expired_root(registry: SimulatedRegistry) -> None:
    """Let the root expire half a year from now."""
    registry.add_root(registry.root(expires=registry.now + timedelta(days=4)))


def checkpoint(attacker: Attacker, text: str | None = None, signers: list[notes.Signer] | None = None) -> SignedNote:
    """A checkpoint of the present with another text or other signatures."""
    registry = attacker.present
    return notes.sign(text or registry.checkpoint().text(), registry.log_signers() if signers is None else signers)


def serve_checkpoint(attacker: Attacker, note: SignedNote) -> None:
    registry = attacker.present
    registry.write_files(registry.head(checkpoint=note))
    attacker.serve(registry)


def spelled(attacker: Attacker, old: str, new: str) -> None:
    """Serve the honest checkpoint in another spelling."""
    head = json.loads(attacker.present.files["head"])
    assert old in head["checkpoint"], head["checkpoint"]
    head["checkpoint"] = head["checkpoint"].replace(old, new, 1)
    attacker.replace("head", json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")


def last_base64(attacker: Attacker) -> str:
    return str(json.loads(attacker.present.files["head"])["checkpoint"].split(" ")[-1].strip())


def foreign_base64(text: str) -> str:
    """Another encoding of the same bytes: stray bits in the last character before the padding."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    body = text.rstrip("=")
    assert len(text) - len(body) in (1, 2)
    return body[:-1] + alphabet[alphabet.index(body[-1]) + 1] + "=" * (len(text) - len(body))


def wrong_by_known_key(attacker: Attacker) -> None:
    """A signature line that names the log's key but was made by another."""
    registry = attacker.present
    honest = notes.sign(registry.checkpoint().text(), registry.log_signers())
    forged = key("thief").sign(honest.text.encode())
    serve_checkpoint(
        attacker, SignedNote(honest.text, (NoteSignature(registry.origin, honest.signatures[0].key_id, forged),))
    )


def wrong_beside_a_good_one(attacker: Attacker) -> None:
    """A good signature and a wrong one by the same key: one of the two texts is not the log's."""
    registry = attacker.present
    honest = notes.sign(registry.checkpoint().text(), registry.log_signers()).signatures[0]
    forged = NoteSignature(honest.name, honest.key_id, key("thief").sign(b"text"))
    serve_checkpoint(attacker, SignedNote(registry.checkpoint().text(), (honest, forged)))


def head_proof(attacker: Attacker, proof: list[bytes]) -> None:
    attacker.present.write_files(attacker.present.head(proof=proof))
    attacker.serve(attacker.present)


def honest_proof(attacker: Attacker, position: int | None = None) -> list[bytes]:
    registry = attacker.present
    at = registry.size - 1 if position is None else position
    return merkle.inclusion_proof(at, registry.size, registry.reader())


def json_head(attacker: Attacker, change: dict[str, object]) -> None:
    head = {**json.loads(attacker.present.files["head"]), **change}
    attacker.replace("head", json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")


def repeated_member(attacker: Attacker) -> None:
    data = attacker.present.files["head"].decode()
    attacker.replace("head", ('{"proof":[],' + data[1:]).encode())


def last_leaf(build: Callable[[SimulatedRegistry], SignedNote]) -> Callable[[Attacker], None]:
    """End the tree in this note instead of the honest snapshot."""

    def act(attacker: Attacker) -> None:
        registry = attacker.present.fork()
        registry.leaves[-1] = build(registry).encode()
        registry.write_files()
        attacker.serve(registry)

    return act


def never_changed(attacker: Attacker) -> None:
    """The user's copy has an ETag, and the mirror always answers that nothing changed."""
    states = StateStore(Path(attacker.user.environment["RYE_DATA_DIR"]) / "registries")
    state = states.load(attacker.past.origin)
    assert state is not None
    assert state.head is not None
    HeadTags(states.folder).remember(attacker.server.url, state.head, '"1"')
    attacker.fault("head", unchanged)


TIME_AND_HISTORY = (
    Attack(name="a smaller head than the one seen", power="mirror", code="head-rollback", act=rollback),
    Attack(name="the same size with another root hash", power="log key", code="head-fork", act=fork),
    Attack(name="a larger head that rewrites what was seen", power="log key", code="head-inconsistent", act=rewritten),
    Attack(
        name="a head that nobody renewed for eight days",
        power="mirror",
        code="head-stale",
        act=lambda attacker: None,
        later=timedelta(days=8),
    ),
    Attack(
        name="the very head that was seen, for eight days",
        power="mirror",
        code="head-frozen",
        act=lambda attacker: attacker.serve(attacker.past),
        later=timedelta(days=8),
    ),
    Attack(
        name="a head that is said not to have changed, for eight days",
        power="mirror",
        code="head-frozen",
        act=never_changed,
        later=timedelta(days=8),
    ),
    Attack(
        name="a head that is said not to have changed, though nothing was asked",
        power="mirror",
        code="fetch-status",
        act=lambda attacker: attacker.fault("head", unchanged),
    ),
    Attack(name="a head from the future", power="log key", code="snapshot-future", act=from_the_future),
    Attack(name="a new head with an older time", power="log key", code="snapshot-time", act=going_back_in_time),
    Attack(
        name="a step back in time that strangers signed",
        power="log key",
        code="clock-signer",
        act=stepping_back([key("stranger 1"), key("stranger 2")]),
    ),
    Attack(
        name="a step back in time for another position",
        power="log key",
        code="clock-step",
        act=stepping_back(None, off=2),
    ),
    Attack(
        name="a fresh head under an expired root",
        power="log key",
        code="root-expired",
        act=lambda attacker: None,
        build=expired_root,
        later=timedelta(days=5),
    ),
)

BYTES = (
    Attack(
        name="an oversized head",
        power="mirror",
        code="fetch-too-large",
        act=lambda attacker: attacker.fault("head", announces(50_000_000)),
    ),
    Attack(
        name="an endless head",
        power="mirror",
        code="fetch-endless",
        act=lambda attacker: attacker.fault("head", endless),
    ),
    Attack(
        name="a head that drips",
        power="mirror",
        code="fetch-slow",
        act=lambda attacker: attacker.fault("head", drips(attacker.present.files["head"])),
        limits=IMPATIENT,
    ),
    Attack(
        name="an empty head", power="mirror", code="head-malformed", act=lambda attacker: attacker.replace("head", b"")
    ),
    Attack(
        name="a head that is not JSON",
        power="mirror",
        code="head-malformed",
        act=lambda attacker: attacker.replace("head", b"\x80{["),
    ),
    Attack(
        name="a head that is nested without end",
        power="mirror",
        code="head-malformed",
        act=lambda attacker: attacker.replace("head", b"[" * 60_000),
    ),
    Attack(name="a head with a member that stands twice", power="mirror", code="head-malformed", act=repeated_member),
    Attack(
        name="a head with a member too many",
        power="mirror",
        code="head-malformed",
        act=lambda attacker: json_head(attacker, {"next": "evil"}),
    ),
    Attack(name="no head", power="mirror", code="fetch-not-found", act=lambda attacker: attacker.replace("head", None)),
)

CHECKPOINTS = (
    Attack(
        name="a checkpoint by an unknown signer",
        power="mirror",
        code="checkpoint-signature",
        act=lambda attacker: serve_checkpoint(
            attacker, checkpoint(attacker, signers=[signer(attacker.present.origin, key("thief"))])
        ),
        cause="note-threshold",
    ),
    Attack(
        name="a checkpoint by a key of another role",
        power="namespace key",
        code="checkpoint-signature",
        act=lambda attacker: serve_checkpoint(
            attacker, checkpoint(attacker, signers=[signer(attacker.present.origin, key("acme 1"))])
        ),
        cause="note-threshold",
    ),
    Attack(
        name="a forged signature in the log key's name",
        power="mirror",
        code="checkpoint-signature",
        act=wrong_by_known_key,
        cause="note-signature-wrong",
    ),
    Attack(
        name="a forged signature beside a good one",
        power="mirror",
        code="checkpoint-signature",
        act=wrong_beside_a_good_one,
        cause="note-signature-wrong",
    ),
    Attack(
        name="a checkpoint of another origin",
        power="log key",
        code="checkpoint-origin",
        act=lambda attacker: serve_checkpoint(
            attacker, checkpoint(attacker, attacker.present.checkpoint(origin="other.example").text())
        ),
    ),
    Attack(
        name="an extension line in the checkpoint",
        power="log key",
        code="statement-malformed",
        act=lambda attacker: serve_checkpoint(
            attacker, checkpoint(attacker, attacker.present.checkpoint().text() + "extra 1\n")
        ),
    ),
    Attack(
        name="a size with a leading zero",
        power="log key",
        code="statement-malformed",
        act=lambda attacker: serve_checkpoint(
            attacker,
            checkpoint(
                attacker,
                attacker.present.checkpoint()
                .text()
                .replace(f"\n{attacker.present.size}\n", f"\n0{attacker.present.size}\n"),
            ),
        ),
    ),
    Attack(
        name="a size in other digits than ASCII's",
        power="log key",
        code="statement-malformed",
        act=lambda attacker: serve_checkpoint(
            attacker,
            checkpoint(
                attacker,
                attacker.present.checkpoint().text().replace(f"\n{attacker.present.size}\n", "\n\u0661\u0662\n"),
            ),
        ),
    ),
    Attack(
        name="a signature that is not base64",
        power="mirror",
        code="note-base64",
        act=lambda attacker: spelled(attacker, last_base64(attacker), "!" + last_base64(attacker)[1:]),
    ),
    Attack(
        name="a signature in base64 that is not canonical",
        power="mirror",
        code="note-base64",
        act=lambda attacker: spelled(attacker, last_base64(attacker), foreign_base64(last_base64(attacker))),
    ),
    Attack(
        name="text after the last signature",
        power="mirror",
        code="note-malformed",
        act=lambda attacker: spelled(attacker, last_base64(attacker) + "\n", last_base64(attacker) + "\nand more\n"),
    ),
    Attack(
        name="CR LF in a signed note",
        power="mirror",
        code="note-malformed",
        act=lambda attacker: spelled(attacker, "\n", "\r\n"),
    ),
    Attack(
        name="a control character in a signed note",
        power="mirror",
        code="note-malformed",
        act=lambda attacker: spelled(attacker, "registry", "\u001bregistry"),
    ),
    Attack(
        name="thirty-three signature lines",
        power="mirror",
        code="note-malformed",
        act=lambda attacker: spelled(
            attacker,
            last_base64(attacker) + "\n",
            (last_base64(attacker) + "\n") + f"— x {encode_base64(bytes(68))}\n" * 32,
        ),
    ),
)

SNAPSHOTS = (
    Attack(
        name="a snapshot of another registry",
        power="log key",
        code="snapshot-origin",
        act=last_leaf(
            lambda registry: registry.sign(registry.snapshot(origin="other.example"), registry.log_signers())
        ),
    ),
    Attack(
        name="a snapshot that the log did not sign",
        power="namespace key",
        code="snapshot-signature",
        act=last_leaf(lambda registry: registry.sign(registry.snapshot(), registry.namespace_signers("acme"))),
    ),
    Attack(
        name="a log that is empty",
        power="log key",
        code="head-empty",
        act=lambda attacker: serve_checkpoint(
            attacker, checkpoint(attacker, attacker.present.checkpoint(size=0).text())
        ),
    ),
)

PROOFS = (
    Attack(
        name="a proof of the snapshot with a hash too many",
        power="mirror",
        code="snapshot-proof",
        act=lambda attacker: head_proof(attacker, [*honest_proof(attacker), bytes(32)]),
        cause="proof-length",
    ),
    Attack(
        name="a proof of the snapshot with a hash too few",
        power="mirror",
        code="snapshot-proof",
        act=lambda attacker: head_proof(attacker, honest_proof(attacker)[:-1]),
        cause="proof-length",
    ),
    Attack(
        name="a proof of the snapshot for another place",
        power="mirror",
        code="snapshot-proof",
        act=lambda attacker: head_proof(attacker, [bytes(32), *honest_proof(attacker)[1:]]),
        cause="proof-root",
    ),
)


@pytest.mark.parametrize(
    "attack",
    rest_thorough(8, [*TIME_AND_HISTORY, *BYTES, *CHECKPOINTS, *SNAPSHOTS, *PROOFS], of_the_tables),
    ids=lambda attack: attack.name,
)
def test_the_head_is_what_the_registry_signed(runner: AttackRunner, attack: Attack) -> None:
    runner.perform(attack)
