"""Witnesses: which head a client with a policy takes, and cosignatures that are too few, too old, or wrong."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from conformance.cases import case
from conformance.play import Play
from conformance.simulator.keys import Key, Signer, Witness, b64, flipped, text_of
from conformance.simulator.registry import Registry
from conformance.tables import swap

CLIENT, INDEX, COMMON = "protocol.md#what-a-client-does", "protocol.md#index-name-map-head", "protocol.md#common-rules"
HOW_TO = "../how-to/witnesses.md"
ONE, TWO, THREE = (Witness(f"witness.example/w{n}", Key(f"witness {n}")) for n in (1, 2, 3))
POLICY = f"witness one {ONE.vkey}\nwitness two {TWO.vkey}\nwitness three {THREE.vkey}\ngroup enough 2 one two three\nquorum enough\n"
TAKES = "A client with a policy of witnesses takes the cosigned head"
ENOUGH = "cosigned by enough witnesses no longer ago than the limit"
NEEDS = ("witnesses",)
PDF = "skill:acme/pdf"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Show = Callable[[Registry, Registry], object]


def older(registry: Registry, cosigned: Registry, *by: Witness, **how: object) -> None:
    """Show an older, cosigned head inside of the newest one."""
    registry.set_head(cosigned=cosigned.cosign(*by, **how))  # type: ignore[arg-type]


def itself(registry: Registry, cosigned: Registry, *by: Witness, **how: object) -> None:
    """Show cosignatures at the newest head itself."""
    registry.set_head(**registry.cosign(*by, **how))  # type: ignore[arg-type]


def shown(
    name: str,
    quote: str,
    *refuses: str,
    show: Show,
    page: str = CLIENT,
    size: str = "cosigned",
    policy: str = POLICY,
    age: float = 0,
    policy_age: int | None = None,
) -> None:
    """A user who demands witnesses of a registry that grew by a release after they cosigned. ``size``: whose is expected;
    ``age``: hours that pass until the user asks."""

    @case(f"witnesses/{name}", page, quote, *refuses, needs=NEEDS)
    def play_shown(play: Play) -> None:
        registry = Registry.fresh()
        registry.fill(20)
        registry.publish()
        cosigned = registry.fork()
        registry.wait(minutes=1)
        registry.release()
        registry.publish()
        older(registry, cosigned, ONE, TWO, THREE)
        members: dict[str, object] = {} if policy_age is None else {"policy_age": policy_age}
        play.start(registry, policy=POLICY)
        registry.write(registry.map(), registry.index_files())
        show(registry, cosigned)
        play.newcomer()
        play.move()
        play.serve(registry)
        play.now = registry.now + timedelta(hours=age)
        reply = play.decisive("init", fingerprint=registry.fingerprint, policy=policy, **members)
        if not refuses:
            play.expect("the size", reply["size"], cosigned.size if size == "cosigned" else registry.size)


shown("an-older-head", TAKES, show=lambda r, c: older(r, c, ONE, TWO))
shown(
    "the-newest-head",
    "If witnesses have cosigned the newest head itself, its own checkpoint has these lines",
    page=INDEX,
    size="newest",
    show=lambda r, c: itself(r, c, ONE, TWO),
)
shown(
    "nobody-demands-them",
    "**Head** (JSON",
    page=INDEX,
    size="newest",
    policy="quorum none\n",
    show=lambda r, c: older(r, c),
)
shown("none", ENOUGH, "witness", show=lambda r, c: None)
shown("too-few", ENOUGH, "witness", show=lambda r, c: older(r, c, ONE))
shown("too-few-of-the-newest", ENOUGH, "witness", show=lambda r, c: itself(r, c, THREE))
shown(
    "one-twice",
    "a key counts once whatever it is called",
    "witness",
    page=HOW_TO,
    show=lambda r, c: older(r, c, ONE, ONE),
)
shown(
    "strangers", ENOUGH, "witness", show=lambda r, c: older(r, c, ONE, Witness("witness.example/w4", Key("witness 4")))
)
shown(
    "under-another-name",
    ENOUGH,
    "witness",
    show=lambda r, c: older(r, c, ONE, Witness("witness.example/w4", Key("witness 2"))),
)
shown("one-of-one", ENOUGH, policy=f"witness w {THREE.vkey}\nquorum w\n", show=lambda r, c: older(r, c, THREE))
shown(
    "another-of-one",
    ENOUGH,
    "witness",
    policy=f"witness w {THREE.vkey}\nquorum w\n",
    show=lambda r, c: older(r, c, ONE, TWO),
)
NESTED = f"witness one {ONE.vkey}\nwitness two {TWO.vkey}\nwitness three {THREE.vkey}\ngroup pair 1 one two\ngroup all 2 pair three\nquorum all\n"
shown(
    "a-group-of-groups",
    'For "two of these and one of those", name a file with a',
    page=HOW_TO,
    policy=NESTED,
    show=lambda r, c: older(r, c, TWO, THREE),
)
shown(
    "a-group-of-groups-short-of-one",
    'For "two of these and one of those", name a file with a',
    "witness",
    page=HOW_TO,
    policy=NESTED,
    show=lambda r, c: older(r, c, ONE, TWO),
)
shown("of-24-hours", ENOUGH, age=24, show=lambda r, c: older(r, c, ONE, TWO, time=r.now))
shown("older-than-24-hours", ENOUGH, "stale", age=24.01, show=lambda r, c: older(r, c, ONE, TWO, time=r.now))
shown(
    "one-of-them-older-than-24-hours",
    ENOUGH,
    "stale",
    age=24.01,
    show=lambda r, c: r.set_head(
        cosigned={
            **c.cosign(ONE, time=r.now),
            "checkpoint": str(c.cosign(ONE, time=r.now)["checkpoint"])
            + TWO.line(text_of(c.checkpoint), int(r.now.timestamp()) + 7200),
        }
    ),
)
shown(
    "older-than-24-hours-where-more-is-allowed",
    ENOUGH,
    age=48,
    policy_age=72 * 3600,
    show=lambda r, c: older(r, c, ONE, TWO, time=r.now),
)
shown(
    "older-than-an-hour-where-less-is-allowed",
    ENOUGH,
    "stale",
    age=1.1,
    policy_age=3600,
    show=lambda r, c: older(r, c, ONE, TWO, time=r.now),
)
AHEAD = "not more than 10 min in the future"
shown("10-minutes-ahead", AHEAD, show=lambda r, c: older(r, c, ONE, TWO, time=r.now + timedelta(minutes=10)))
shown(
    "more-than-10-minutes-ahead",
    AHEAD,
    "witness",
    "future",
    show=lambda r, c: older(r, c, ONE, TWO, time=r.now + timedelta(minutes=10, seconds=1)),
)
shown("of-time-zero", ENOUGH, "stale", "witness", show=lambda r, c: older(r, c, ONE, TWO, time=EPOCH))


def line(damage: Callable[[bytes], bytes], witness: Witness = TWO) -> Show:
    """An older head with a good cosignature and a damaged one."""

    def show(registry: Registry, cosigned: Registry) -> None:
        head = cosigned.cosign(ONE, THREE)
        broken = witness.line(text_of(cosigned.checkpoint), int(cosigned.now.timestamp()), damage)
        registry.set_head(cosigned={**head, "checkpoint": f"{head['checkpoint']}{broken}"})

    return show


WRONG = "refuses the note if a known key's signature is wrong"
shown("enough-and-a-wrong-one", WRONG, "signature", page=COMMON, show=line(flipped))
shown("enough-and-a-short-one", WRONG, "signature", "malformed", page=COMMON, show=line(lambda s: s[:-1]))
shown(
    "enough-and-a-wrong-one-of-a-stranger",
    "A verifier ignores signatures of unknown keys",
    page=COMMON,
    show=line(flipped, Witness("witness.example/w4", Key("witness 4"))),
)
shown(
    "cosigning-another-text",
    WRONG,
    "signature",
    page=COMMON,
    show=lambda r, c: r.set_head(
        cosigned={
            **c.head,
            "checkpoint": c.checkpoint
            + ONE.line("other\n", int(c.now.timestamp()))
            + TWO.line(text_of(c.checkpoint), int(c.now.timestamp())),
        }
    ),
)
shown(
    "signing-as-a-log-does",
    ENOUGH,
    "witness",
    show=lambda r, c: r.set_head(
        cosigned={
            **c.head,
            "checkpoint": c.checkpoint + "".join(Signer(w.name, w.key).line(text_of(c.checkpoint)) for w in (ONE, TWO)),
        }
    ),
)

PROVED = "signed by a log key of the root that its snapshot names, proved to be a part of the newest head"


def lied(name: str, *refuses: str, quote: str = PROVED, lie: Callable[[Registry], object], page: str = CLIENT) -> None:
    """The operator makes an older head, which witnesses cosign without looking."""
    shown(f"head-{name}", quote, *refuses, page=page, show=lambda r, c: (lie(c), older(r, c, ONE, TWO)))


def again(registry: Registry, **how: object) -> None:
    registry.leaves.pop()
    registry.hashes.pop()
    registry.publish(**how)  # type: ignore[arg-type]


lied("of-another-history", "fork", lie=lambda c: (c.leaves.pop(), c.hashes.pop(), c.append("other\n"), c.publish()))
lied("of-a-larger-log", "rollback", "fork", lie=lambda c: (c.fill(50), c.publish()))
lied("of-the-same-size-and-another-root", "fork", lie=lambda c: (c.append("other\n"), c.publish()))
lied(
    "not-signed-by-the-log",
    "signature",
    lie=lambda c: again(c, checkpoint_by=[Signer("registry.example", Key("stranger"))]),
)
lied(
    "whose-snapshot-is-not-signed-by-the-log",
    "signature",
    "fork",
    lie=lambda c: again(c, snapshot_by=[Signer("registry.example", Key("stranger"))]),
)
lied(
    "of-another-origin",
    "foreign",
    lie=lambda c: again(
        c,
        checkpoint=swap("registry.example", "other.example"),
        checkpoint_by=[Signer("registry.example", Key("log 1"))],
    ),
)
lied("without-its-proof", "proof", lie=lambda c: c.set_head(proof=[]))
lied("with-another-proof", "proof", lie=lambda c: c.set_head(proof=[b64(bytes(32)), *list(c.head["proof"])[1:]]))  # type: ignore[call-overload]
lied("with-another-map", "mismatch", "foreign", "hash", lie=lambda c: c.set_head(map="0" * 64))
lied("whose-root-does-not-exist", "chain", "foreign", lie=lambda c: again(c, snapshot=swap("root 1", "root 2")))
lied(
    "with-a-head-inside-of-it",
    "malformed",
    quote="an older head with the same four members",
    page=INDEX,
    lie=lambda c: c.set_head(cosigned=c.head),
)


def _policy(name: str, quote: str, *refuses: str, text: str, page: str = HOW_TO) -> None:
    shown(f"policy-{name}", quote, *refuses, page=page, policy=text, show=lambda r, c: older(r, c, ONE, TWO, THREE))


FILE = "A policy is a text file."
_policy("without-LF-at-its-end", "Every line ends with a line feed", "malformed", text=POLICY[:-1])
_policy("without-a-quorum", FILE, "malformed", text=POLICY.replace("quorum enough\n", ""))
_policy("with-two-quorums", FILE, "malformed", text=POLICY + "quorum enough\n")
_policy("with-an-unknown-name", FILE, "malformed", text=POLICY.replace("quorum enough", "quorum others"))
_policy("with-a-group-that-needs-more-than-it-has", FILE, "malformed", text=POLICY.replace("enough 2", "enough 4"))
_policy("with-a-group-that-needs-none", FILE, "malformed", text=POLICY.replace("enough 2", "enough 0"))
_policy("with-a-name-twice", FILE, "malformed", text=POLICY.replace("witness two", "witness one"))
_policy(
    "with-a-key-twice", "a key counts once whatever it is called", "malformed", text=POLICY.replace(TWO.vkey, ONE.vkey)
)
_policy("with-a-key-of-another-id", FILE, "malformed", text=POLICY.replace(ONE.key_id.hex(), "00000000"))
_policy("with-comments", FILE, text="# ours\n\n" + POLICY)
_policy(
    "with-the-registrys-log",
    "`log` lines, if there are any, must have the registry's log key",
    text=f"log {Signer('registry.example', Key('log 1')).vkey}\n{POLICY}",
)
_policy(
    "with-another-log",
    "`log` lines, if there are any, must have the registry's log key",
    "signature",
    "foreign",
    text=f"log {Signer('registry.example', Key('log 2')).vkey}\n{POLICY}",
)
