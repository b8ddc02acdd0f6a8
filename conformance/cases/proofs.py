"""Proofs for others, and what a lock noted: a checkpoint that the log continues, releases that are still there."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable

from conformance.cases import case
from conformance.play import Failed, Play
from conformance.simulator import items, tree
from conformance.simulator.keys import Key, Signer, b64, flipped, note, sha256, text_of
from conformance.simulator.registry import Registry, number_of
from conformance.tables import swap, value

CLIENT, PROOFS, COMMON = "protocol.md#what-a-client-does", "protocol.md#proofs-for-others", "protocol.md#common-rules"
PDF = "skill:acme/pdf"


def with_release(fillers: int = 5) -> Registry:
    registry = Registry.fresh()
    registry.fill(fillers)
    registry.release()
    registry.fill(fillers)
    registry.publish()
    return registry


def proof_of(
    registry: Registry,
    position: int,
    *,
    hashes: list[str] | None = None,
    entry: str | None = None,
    checkpoint: str | None = None,
    index: object = None,
) -> str:
    path = [b64(one) for one in registry.tree.inclusion(position)] if hashes is None else hashes
    shown = registry.leaves[position].decode() if entry is None else entry
    rows = [
        "c2sp.org/tlog-proof@v1",
        f"extra {b64(shown.encode())}",
        f"index {position if index is None else index}",
        *path,
    ]
    return "\n".join([*rows, "", registry.checkpoint if checkpoint is None else checkpoint])


def checked(text: str, registry: Registry, signed: str) -> None:
    """The suite's own check of a proof that a client made."""
    head, _, checkpoint = text.partition("\n\n")
    rows = head.split("\n")
    position = registry.indexes[PDF][0][0]
    if rows[:3] != ["c2sp.org/tlog-proof@v1", f"extra {b64(signed.encode())}", f"index {position}"]:
        raise Failed(f"the proof does not begin with its title, entry and index: {head[:300]!r}")
    hashes = [base64.b64decode(row, validate=True) for row in rows[3:]]
    if (
        text_of(checkpoint) != text_of(registry.checkpoint)
        or registry.checkpoint.splitlines()[-1] not in checkpoint.splitlines()
    ):
        raise Failed(f"the proof has another checkpoint: {checkpoint!r}")
    if tree.follow(tree.leaf_hash(signed.encode()), position, registry.size, hashes) != registry.tree.root:
        raise Failed("the proof does not lead to the root")


def proved(name: str, fillers: int) -> None:
    @case(f"proofs/made-{name}", PROOFS, "`extra` is the base64 of the entry")
    def play_proved(play: Play) -> None:
        registry = with_release(fillers)
        play.start(registry)
        checked(play.decisive("prove", item=PDF, version="1.0.0")["proof"], registry, registry.indexes[PDF][0][1])


proved("in-a-small-log", 0)
proved("in-a-log-of-one-tile", 60)
proved("in-a-log-of-several-tiles", 400)


@case("proofs/made-of-nothing", CLIENT, "A name that the map proves absent does not exist.", "not-found")
def proved_nothing(play: Play) -> None:
    registry = with_release()
    play.start(registry)
    play.good("prove", item=PDF, version="1.0.0")
    play.decisive("prove", item=PDF, version="9.9.9")


@case("proofs/made-of-a-release-that-is-not-logged", CLIENT, "its note is included at its position", "proof")
def proved_unlogged(play: Play) -> None:
    registry = with_release()
    registry.leaves[registry.indexes[PDF][0][0]] = b"other\n"
    registry.hashes[registry.indexes[PDF][0][0]] = tree.leaf_hash(b"other\n")
    registry.publish()
    play.start(registry)
    play.decisive("prove", item=PDF, version="1.0.0")


def proof(
    name: str,
    quote: str,
    *refuses: str,
    page: str = PROOFS,
    make: Callable[[Registry, int], str] = proof_of,
    members: Callable[[Registry], dict[str, object]] = lambda r: {},
    before: Callable[[Registry], object] = lambda r: None,
) -> None:
    """``verify`` of a proof by a user who has pinned the registry, after an honest one."""

    @case(f"proofs/{name}", page, quote, *refuses)
    def play_proof(play: Play) -> None:
        registry = with_release()
        play.start(registry)
        position = registry.indexes[PDF][0][0]
        play.good("verify", proof=proof_of(registry, position))
        before(registry)
        reply = play.decisive("verify", proof=make(registry, position), **members(registry))
        if not refuses:
            play.expect("the position", reply["position"], position)
            play.expect(
                "the rest",
                (reply["origin"], reply["size"], reply["type"]),
                (registry.origin, registry.size, "rye.release/v1"),
            )


LEADS = "The entry's hash and the hashes lead to the checkpoint's root"
proof("good", LEADS)
proof(
    "good-with-its-file",
    "`file` of the entry's release",
    members=lambda r: {"item": base64.b64encode(items.signed(items.skill(), Key("acme 1"))).decode()},
)
proof(
    "with-another-file",
    "`file` of the entry's release",
    "hash",
    members=lambda r: {"item": base64.b64encode(b"other").decode()},
)
proof(
    "good-with-the-logs-key",
    "or a verifier key that the user has",
    members=lambda r: {"log_keys": [r.by_log()[0].vkey]},
)
proof(
    "with-another-key-than-the-logs",
    "signed by a log key of the root in force, or a verifier key that the user has",
    "signature",
    members=lambda r: {"log_keys": [Signer("registry.example", Key("stranger")).vkey]},
)
proof(
    "with-a-key-of-another-log",
    "of the log that the user means",
    "foreign",
    members=lambda r: {"log_keys": [Signer("other.example", Key("log 1")).vkey]},
)
proof(
    "with-a-key-whose-id-is-wrong",
    "The key ID is C2SP's",
    "malformed",
    page=COMMON,
    members=lambda r: {"log_keys": [_wrong_id(r.by_log()[0].vkey)]},
)
proof(
    "with-a-changed-hash",
    LEADS,
    "proof",
    make=lambda r, p: proof_of(r, p, hashes=[b64(bytes(32)), *[b64(h) for h in r.tree.inclusion(p)[1:]]]),
)
proof(
    "with-a-hash-less",
    LEADS,
    "proof",
    make=lambda r, p: proof_of(r, p, hashes=[b64(h) for h in r.tree.inclusion(p)[:-1]]),
)
proof(
    "with-a-hash-more",
    LEADS,
    "proof",
    make=lambda r, p: proof_of(r, p, hashes=[*[b64(h) for h in r.tree.inclusion(p)], b64(bytes(32))]),
)
proof("with-a-short-hash", LEADS, "malformed", make=lambda r, p: proof_of(r, p, hashes=[b64(bytes(31))]))
proof(
    "with-65-hashes",
    "at most 64",
    "malformed",
    "limit",
    "proof",
    make=lambda r, p: proof_of(r, p, hashes=[b64(bytes(32))] * 65),
)
proof("of-another-position", LEADS, "proof", make=lambda r, p: proof_of(r, p, index=p + 1))
proof("of-a-position-outside-of-the-log", LEADS, "proof", make=lambda r, p: proof_of(r, p, index=r.size))
proof(
    "of-another-entry",
    LEADS,
    "proof",
    make=lambda r, p: proof_of(r, p, entry=r.leaves[p].decode().replace("Fills", "Pills")),
)
proof(
    "with-a-wrong-checkpoint-signature",
    "is signed by a log key",
    "signature",
    make=lambda r, p: proof_of(
        r, p, checkpoint=note(text_of(r.checkpoint)) + r.by_log()[0].line(text_of(r.checkpoint), flipped)
    ),
)
proof(
    "with-a-checkpoint-of-a-stranger",
    "is signed by a log key",
    "signature",
    make=lambda r, p: proof_of(
        r, p, checkpoint=note(text_of(r.checkpoint), Signer("registry.example", Key("stranger")))
    ),
)
proof(
    "with-a-checkpoint-of-another-origin",
    "of the log that the user means",
    "foreign",
    "unpinned",
    make=lambda r, p: proof_of(
        r, p, checkpoint=note(text_of(r.checkpoint).replace("registry", "other"), Signer("other.example", Key("log 1")))
    ),
)
proof(
    "with-an-empty-checkpoint", "c2sp.org/tlog-proof@v1", "malformed", make=lambda r, p: proof_of(r, p, checkpoint="")
)
proof(
    "without-a-checkpoint",
    "c2sp.org/tlog-proof@v1",
    "malformed",
    make=lambda r, p: proof_of(r, p).split("\n\n")[0] + "\n",
)
proof("of-another-version", "c2sp.org/tlog-proof@v1", "malformed", make=lambda r, p: swap("@v1", "@v2")(proof_of(r, p)))
proof(
    "without-its-entry",
    "`extra` is the base64 of the entry",
    "malformed",
    make=lambda r, p: "\n".join(row for row in proof_of(r, p).split("\n") if not row.startswith("extra ")),
)
proof(
    "with-an-index-with-a-leading-zero",
    "without leading zeros",
    "malformed",
    page=COMMON,
    make=lambda r, p: proof_of(r, p, index=f"0{p}"),
)
proof(
    "with-an-entry-without-padding",
    "padded and canonical",
    "malformed",
    page=COMMON,
    make=lambda r, p: "\n".join(
        row.rstrip("=") + "A" if row.startswith("extra") else row for row in proof_of(r, p).split("\n")
    ),
)
proof("with-CR-LF", "lines end in LF", "malformed", page=COMMON, make=lambda r, p: proof_of(r, p).replace("\n", "\r\n"))
proof(
    "of-an-entry-that-is-no-statement",
    "The entry is a statement of the checkpoint's origin",
    "malformed",
    make=lambda r, p: proof_of(r, number_of(r, b"filler")),
)
proof(
    "of-an-entry-of-another-origin",
    "The entry is a statement of the checkpoint's origin",
    "foreign",
    before=lambda r: _foreign(r),
    make=lambda r, p: proof_of(r, r.size - 2),
)
proof("that-is-empty", "c2sp.org/tlog-proof@v1", "malformed", make=lambda r, p: "")


def key(name: str, make: Callable[[str, bytes, bytes], str]) -> None:
    """A verifier key that is none. ``make`` gets the name, the key ID and the type with the key."""

    def given(registry: Registry) -> dict[str, object]:
        signer = registry.by_log()[0]
        return {"log_keys": [make(signer.name, signer.key_id, signer.key.material)]}

    proof(f"with-a-key-{name}", "The key ID is C2SP's", "malformed", page=COMMON, members=given)


def vkey(name: str, material: bytes) -> str:
    """A verifier key whose ID is right."""
    return f"{name}+{hashlib.sha256(name.encode() + bytes([10]) + material).hexdigest()[:8]}+{b64(material)}"


key("of-another-type", lambda n, i, m: vkey(n, b"\x02" + m[1:]))
key("of-31-bytes", lambda n, i, m: vkey(n, m[:-1]))
key("of-33-bytes", lambda n, i, m: vkey(n, m + b"x"))
key("of-another-type-and-32-bytes", lambda n, i, m: vkey(n, b"\xff" + m[1:]))
key("whose-name-has-a-space", lambda n, i, m: vkey(n + " x", m))
key("without-a-name", lambda n, i, m: vkey("", m))
key("that-is-only-a-name", lambda n, i, m: n)
key("without-an-ID", lambda n, i, m: f"{n}+{b64(m)}")
key("with-an-ID-of-7-digits", lambda n, i, m: f"{n}+{i.hex()[:7]}+{b64(m)}")
key("with-an-ID-of-9-digits", lambda n, i, m: f"{n}+{i.hex()}0+{b64(m)}")
key("with-an-ID-in-capitals", lambda n, i, m: vkey(n, m).replace(i.hex(), i.hex().upper()))
key("without-padding", lambda n, i, m: vkey(n, m).rstrip("=") + ("" if vkey(n, m).endswith("=") else "A"))


@case("proofs/of-a-registry-that-is-not-pinned", PROOFS, "signed by a log key of the root in force", "unpinned")
def proof_unpinned(play: Play) -> None:
    registry = with_release()
    play.now = registry.now
    play.decisive("verify", proof=proof_of(registry, registry.indexes[PDF][0][0]))


@case("proofs/with-the-logs-key-by-someone-who-pinned-nothing", PROOFS, "or a verifier key that the user has")
def proof_with_key(play: Play) -> None:
    registry = with_release()
    play.now = registry.now
    play.decisive("verify", proof=proof_of(registry, registry.indexes[PDF][0][0]), log_keys=[registry.by_log()[0].vkey])


def _wrong_id(vkey: str) -> str:
    name, key_id, key = vkey.split("+", 2)
    return f"{name}+{'0' * len(key_id)}+{key}"


def _foreign(registry: Registry) -> None:
    registry.release("skill:acme/x", edit=value("origin", "other.example"))
    registry.publish()


# What a lock noted

NOTED = "A checkpoint that was noted elsewhere, such as in `rye.lock`, is proved to be continued in the same way."
LOCKED = "and a locked release must be there, with its hash"


def noted(name: str, *refuses: str, make: Callable[[Registry, Registry], str], quote: str = NOTED) -> None:
    """``make`` gets the registry as it was when the lock was made, and as it is now."""

    @case(f"locks/{name}", CLIENT, quote, *refuses)
    def play_noted(play: Play) -> None:
        registry = with_release()
        old = registry.fork()
        registry.fill(300)
        registry.publish()
        play.start(registry)
        play.good("verify", locked={"checkpoint": old.checkpoint})
        play.decisive("verify", locked={"checkpoint": make(old, registry)})


def _empty(registry: Registry, root: bytes) -> str:
    """What the log signed before its first entry, with this root hash."""
    return note(tree.checkpoint_text(registry.origin, 0, root), *registry.by_log())


def _longer(registry: Registry) -> Registry:
    more = registry.fork()
    more.fill(10)
    more.publish()
    return more


def _other(registry: Registry, fillers: int = 0) -> Registry:
    other = Registry.fresh()
    other.append("another history\n")
    other.fill(registry.size - other.size - 1 + fillers)
    other.publish()
    return other


noted("an-older-checkpoint", make=lambda old, new: old.checkpoint)
noted("the-present-checkpoint", make=lambda old, new: new.checkpoint)
noted("a-checkpoint-of-an-empty-log", make=lambda old, new: _empty(old, tree.Tree([]).root))
noted("a-checkpoint-of-an-empty-log-with-another-root", "fork", make=lambda old, new: _empty(old, old.tree.root))
noted("a-newer-checkpoint", "rollback", make=lambda old, new: _longer(new).checkpoint)
noted("a-checkpoint-of-another-history", "fork", make=lambda old, new: _other(old).checkpoint)
noted("a-checkpoint-of-another-history-of-the-same-size", "fork", make=lambda old, new: _other(new).checkpoint)
noted(
    "a-checkpoint-of-another-origin",
    "foreign",
    make=lambda old, new: note(
        text_of(old.checkpoint).replace("registry", "other"), Signer("other.example", Key("log 1"))
    ),
)
noted(
    "a-checkpoint-of-a-stranger",
    "signature",
    make=lambda old, new: note(text_of(old.checkpoint), Signer("registry.example", Key("stranger"))),
)
noted(
    "a-checkpoint-with-a-wrong-signature",
    "signature",
    make=lambda old, new: note(text_of(old.checkpoint)) + old.by_log()[0].line(text_of(old.checkpoint), flipped),
)
noted("no-checkpoint", "malformed", make=lambda old, new: "nothing\n")
noted(
    "a-checkpoint-of-four-lines",
    "malformed",
    make=lambda old, new: note(text_of(old.checkpoint) + "x\n", *old.by_log()),
)


@case("locks/a-checkpoint-of-a-log-key-that-was-replaced", "protocol.md#what-a-client-does", NOTED)
def replaced_key(play: Play) -> None:
    registry = with_release()
    old = registry.checkpoint
    registry.logs = (Key("log 2"),)
    registry.add_root()
    registry.publish()
    play.start(registry)
    play.decisive("verify", locked={"checkpoint": old})


def locked(
    name: str,
    quote: str,
    *refuses: str,
    row: Callable[[str], dict[str, str]],
    then: Callable[[Registry], object] = lambda r: None,
    **expected: object,
) -> None:
    @case(f"locks/release-{name}", CLIENT, quote, *refuses)
    def play_locked(play: Play) -> None:
        registry = with_release()
        play.start(registry)
        honest = {"item": PDF, "version": "1.0.0", "sha256": sha256(items.signed(items.skill(), Key("acme 1")))}
        play.good("verify", locked={"releases": [honest]})
        then(registry)
        registry.wait(minutes=1)
        registry.publish()
        play.serve(registry)
        reply = play.decisive("verify", locked={"releases": [{**honest, **row(honest["sha256"])}]})
        for member, wanted in expected.items():
            play.expect(member, reply["releases"][0][member], wanted)


locked("that-is-there", LOCKED, row=lambda h: {})
locked("with-another-hash", LOCKED, "vanished", row=lambda h: {"sha256": "0" * 64})
locked("of-another-version", LOCKED, "vanished", row=lambda h: {"version": "9.9.9"})
locked("of-an-unknown-item", LOCKED, "vanished", row=lambda h: {"item": "skill:acme/none"})
locked("that-was-yanked", LOCKED, row=lambda h: {}, then=lambda r: r.yank(), yanked=True)
locked(
    "that-was-left-out-of-the-index",
    LOCKED,
    "vanished",
    row=lambda h: {},
    then=lambda r: r.indexes[PDF].clear() or r.release(version="2.0.0"),
)
locked("whose-item-was-left-out-of-the-map", LOCKED, "vanished", row=lambda h: {}, then=lambda r: r.indexes.pop(PDF))


def rows(name: str, edit: Callable[[list[str]], list[str]]) -> None:
    """A proof whose rows before the checkpoint are changed: title, entry, index, hashes."""

    def make(registry: Registry, position: int) -> str:
        head, _, checkpoint = proof_of(registry, position).partition("\n\n")
        return "\n".join(edit(head.split("\n"))) + "\n\n" + checkpoint

    proof(f"with-{name}", "c2sp.org/tlog-proof@v1", "malformed", make=make)


rows("nothing-but-its-title", lambda r: r[:1])
rows("no-index", lambda r: r[:2])
rows("its-entry-without-a-key", lambda r: [r[0], r[1].removeprefix("extra "), *r[2:]])
rows("its-index-without-a-key", lambda r: [*r[:2], r[2].removeprefix("index "), *r[3:]])
rows("index-and-entry-exchanged", lambda r: [r[0], r[2], r[1], *r[3:]])
rows("an-entry-that-is-not-UTF-8", lambda r: [r[0], f"extra {b64(bytes([255]))}", *r[2:]])


@case("proofs/of-the-only-entry-of-a-log", PROOFS, LEADS)
def only_entry(play: Play) -> None:
    registry = Registry()
    registry.add_root()
    registry.publish()
    play.start(registry)
    entry = registry.leaves[0]
    checkpoint = note(tree.checkpoint_text(registry.origin, 1, tree.leaf_hash(entry)), *registry.by_log())
    text = proof_of(registry, 0, hashes=[], checkpoint=checkpoint)
    play.expect("the type", play.decisive("verify", proof=text)["type"], "rye.root/v1")
