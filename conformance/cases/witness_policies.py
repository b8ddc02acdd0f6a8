"""Policies of witnesses as users write them (C2SP tlog-policy): what groups and quorums mean, and texts that are none."""

from __future__ import annotations

from conformance.cases import add
from conformance.cases.proofs import vkey
from conformance.cases.witnesses import HOW_TO, NEEDS, ONE, POLICY, THREE, TWO, itself
from conformance.play import Case, Play
from conformance.simulator.keys import Key, Signer, Witness, b64
from conformance.simulator.registry import Registry

FORM = "name a file with a [policy](https://c2sp.org/tlog-policy)"
LOG = Signer("registry.example", Key("log 1")).vkey
OTHER_LOG = Signer("registry.example", Key("stranger")).vkey
FOUR = Witness("witness.example/w4", Key("witness 4"))
WITNESSES = f"witness one {ONE.vkey}\nwitness two {TWO.vkey}\nwitness three {THREE.vkey}\n"


def policy(name: str, text: str, *refuses: str, quote: str = FORM) -> None:
    """A new user gives this policy; witnesses one and two cosigned the newest head."""

    def play_policy(play: Play) -> None:
        registry = Registry.fresh()
        itself(registry, registry, ONE, TWO)
        play.start(registry, policy=POLICY)
        play.newcomer()
        play.decisive("init", fingerprint=registry.fingerprint, policy=text)

    add(Case(f"witness-policies/{name}", HOW_TO, quote, refuses, frozenset(NEEDS), play_policy))


def group(line: str, quorum: str = "enough") -> str:
    return f"{WITNESSES}group {line}\nquorum {quorum}\n"


policy("all-of-those-that-cosigned", group("enough all one two"))
policy("all-and-one-did-not", group("enough all one two three"), "witness")
policy("any-of-which-one-cosigned", group("enough any three two"))
policy("any-of-which-none-cosigned", group("enough any three"), "witness")
policy("three-of-three", group("enough 3 one two three"), "witness")
policy("a-group-in-a-group", group("some any one three\ngroup enough 2 some two"))
policy("a-group-in-a-group-that-is-not-enough", group("some all one three\ngroup enough 2 some two"), "witness")
policy("a-log-that-signed", f"log {LOG}\n{group('enough any one')}")
policy("a-witness-with-an-address", f"witness one {ONE.vkey} https://witness.example/\nquorum one\n")
policy("comments-and-empty-lines", f"# ours\n\n{group('enough any one')}")


def key(name: str, text: str) -> None:
    policy(f"a-key-{name}", f"witness one {text}\nquorum one\n", "malformed")


ID, MATERIAL = ONE.key_id.hex(), b"\x04" + ONE.key.raw
key("without-an-ID", f"{ONE.name}+{b64(MATERIAL)}")
key("that-is-only-a-name", ONE.name)
key("with-an-ID-of-7-digits", f"{ONE.name}+{ID[:7]}+{b64(MATERIAL)}")
key("with-an-ID-of-9-digits", f"{ONE.name}+{ID}0+{b64(MATERIAL)}")
key("with-another-ID", f"{ONE.name}+{TWO.key_id.hex()}+{b64(MATERIAL)}")
key("of-an-unknown-type", vkey(ONE.name, b"\x09" + ONE.key.raw))
key("of-a-log", LOG)
key("of-31-bytes", vkey(ONE.name, MATERIAL[:-1]))
key("of-33-bytes", vkey(ONE.name, MATERIAL + b"x"))
key("of-small-order", vkey(ONE.name, b"\x04" + bytes(32)))
key("without-a-name", vkey("", MATERIAL))


def malformed(name: str, text: str) -> None:
    policy(name, text, "malformed")


policy("a-last-line-without-LF", group("enough any one")[:-1], "malformed", quote="Every line ends with a line feed")
malformed("a-last-comment-without-LF", group("enough any one") + "# ours")
malformed("a-wrong-key-that-no-group-names", f"witness four {LOG}\n{group('enough any one')}")
malformed("a-control-character", group("enough any one").replace("quorum", "# \x07\nquorum"))
malformed("an-unknown-line", f"{group('enough any one')}signer one\n")
malformed("no-quorum", WITNESSES)
malformed("two-quorums", f"{group('enough any one')}quorum one\n")
malformed("a-quorum-of-nobody", group("enough any one", "others"))
malformed("a-quorum-with-two-names", group("enough any one", "enough one"))
malformed("a-quorum-without-a-name", f"{WITNESSES}quorum\n")
malformed("a-log-without-a-key", f"log\n{group('enough any one')}")
malformed("a-log-with-three-words", f"log {LOG} https://log.example/ more\n{group('enough any one')}")
malformed("a-log-twice", f"log {LOG}\nlog {LOG}\n{group('enough any one')}")
malformed("a-witness-without-a-key", f"witness four\n{group('enough any one')}")
malformed("a-witness-with-four-words", f"witness one {ONE.vkey} https://witness.example/ more\nquorum one\n")
malformed("two-witnesses-of-one-name", f"witness one {FOUR.vkey}\n{group('enough any one')}")
malformed("a-witness-called-none", f"witness none {ONE.vkey}\nquorum none\n")
malformed("a-group-called-like-a-witness", group("one any two", "one"))
malformed("a-group-without-members", group("enough any"))
malformed("a-group-of-none-of-them", group("enough 0 one two"))
malformed("a-group-of-more-than-its-members", group("enough 3 one two"))
malformed("a-group-of-a-number-with-a-letter", group("enough 1x one two"))
malformed("a-group-of-some", group("enough some one two"))
malformed("a-group-of-somebody-unknown", group("enough any four"))
malformed("a-group-with-a-member-twice", group("enough 2 one one"))
malformed("a-member-of-two-groups", group("some any one\ngroup enough 2 some one"))
