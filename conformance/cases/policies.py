"""Policies of the owners (``rye.policy/v1``), which bind who joined. To every other client they are entries like others: it
reads past them, whoever signed them, and believes of them in a proof what it believes of any entry.

The contract has no command for who joined. So no case plays a rollback of ``/policy`` against somebody who follows it.
"""

from __future__ import annotations

from collections.abc import Callable

from conformance.cases import case
from conformance.cases.proofs import PDF, proof_of
from conformance.play import Failed, Play
from conformance.simulator.keys import Key
from conformance.simulator.registry import Edit, Registry, same
from conformance.tables import after, row, swap, value, without

PAGE, COMMON = "policy-statement.md", "protocol.md#common-rules"
RULES = (
    'facts.pipe-to-shell "forbid"',
    'forbid ["rye.execute.tool.*"]',
    "limits.calls 20",
    "limits.spend 2.5",
    'namespaces ["acme"]',
    'namespaces ["tools@other.example"]',
    "some-word []",
    "strict true",
)
HARMLESS = (
    "Clients install as before, since nothing that an installation reads names a policy, and they do not follow it."
)
ASKS = "It asks for `/policy` only if it follows the policy"
RULE = "A key is one of `[policy]`, or the name of one of its tables, a dot, and a key in that table."
VALUE = "The value is compact JSON"
NUMBER = "a number from 0 to 2^53−1 with at most four digits after the point and none that it does not need"
MEMBER = "A list has a rule for each member, and one with `[]` if it is empty."


def passed(name: str, quote: str, then: Callable[[Registry], object], *, hides: bool = False) -> None:
    """A client that did not join installs from a log with policies, and asks for none."""

    @case(f"policies/{name}", PAGE, quote)
    def play_passed(play: Play) -> None:
        registry = Registry.fresh()
        registry.release()
        registry.set_policy(*RULES)
        registry.publish()
        play.start(registry)
        then(registry)
        registry.release(version="1.1.0")
        registry.publish()
        play.serve(registry, {"policy": None} if hides else {})
        found = play.good("resolve", names=[PDF])["names"][PDF]["releases"]
        play.expect("the versions", [one["version"] for one in found], ["1.0.0", "1.1.0"])
        play.decisive("fetch", item=PDF, version="1.1.0")
        asked = {path.rpartition("/")[2] for path in play.requested}
        if "head" not in asked or "policy" in asked:
            raise Failed(f"nobody joined, and the client asked for {sorted(asked)}")


STRANGERS = (Key("x"), Key("y"))
passed("the-next-one-is-passed-over", HARMLESS, lambda r: r.set_policy("strict false"))
passed("one-by-strangers-is-passed-over", HARMLESS, lambda r: r.set_policy(by=r.by_owners(*STRANGERS)))
passed("one-with-a-wrong-number-is-passed-over", HARMLESS, lambda r: r.set_policy(number=7))
passed("one-with-another-before-it-is-passed-over", HARMLESS, lambda r: r.set_policy(edit=value("previous", "0" * 64)))
passed("one-that-is-malformed-is-passed-over", HARMLESS, lambda r: r.set_policy("a 1", edit=after("rule", "x y")))
passed("an-older-one-is-shown", ASKS, lambda r: (r.set_policy(), r.policies.append(r.policies[0])))
passed("none-is-shown", ASKS, lambda r: r.set_policy(), hides=True)


def stated(name: str, page: str, quote: str, edit: Edit, *refuses: str, by: tuple[Key, ...] = ()) -> None:
    """A proof that the log has a second policy, after an honest one of the first."""

    @case(f"policies/{name}", page, quote, *refuses)
    def play_stated(play: Play) -> None:
        registry = Registry.fresh()
        first = registry.set_policy(*RULES)
        second = registry.set_policy(*RULES, edit=edit, by=registry.by_owners(*by) if by else None)
        registry.publish()
        play.start(registry)
        play.expect("the type", play.good("verify", proof=proof_of(registry, first))["type"], "rye.policy/v1")
        reply = play.decisive("verify", proof=proof_of(registry, second))
        if not refuses:
            play.expect("the rest", (reply["type"], reply["position"]), ("rye.policy/v1", second))


PROOFS = "protocol.md#proofs-for-others"
stated("a-proof-of-the-next-one", PROOFS, "It proves that the log has the statement", same)
stated("a-proof-of-one-by-strangers", PROOFS, "not that the right keys signed it", same, by=STRANGERS)
stated(
    "a-proof-of-one-of-another-origin",
    PROOFS,
    "The entry is a statement of the checkpoint's origin.",
    value("origin", "other.example"),
    "foreign",
)


@case(
    "policies/one-as-a-snapshot", "statements.md#ryesnapshotv1", "A snapshot is the last leaf", "foreign", "malformed"
)
def as_a_snapshot(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry)
    registry.set_policy(*RULES)
    registry.publish(snapshot=lambda text: registry.policies[0][1].partition("\n\n")[0] + "\n")
    play.serve(registry)
    play.decisive("refresh")


@case(
    "policies/one-in-an-index-file",
    "protocol.md#index-name-map-head",
    "Statements about another name, of another origin or of another type are not in it.",
    "foreign",
)
def in_an_index(play: Play) -> None:
    registry = Registry.fresh()
    registry.release()
    registry.publish()
    play.start(registry)
    play.good("resolve", names=[PDF])
    registry.set_policy(*RULES)
    registry.indexes[PDF].append(registry.policies[0])
    registry.publish()
    play.serve(registry)
    play.decisive("resolve", names=[PDF])


def _rule(old: str, new: str) -> Edit:
    return swap(f"rule {old}\n", f"rule {new}\n")


def _more_rules(count: int) -> Edit:
    """Besides the eight that are there."""
    return after("rule", "\n".join(f"rule z.x{number:03} 1" for number in range(count)))


FORBID = 'forbid ["rye.execute.tool.*"]'
for name, quote, edit, refuses in (
    row("without-a-contact", "contact <https address or mailto:> ?", without("contact")),
    row("without-rules", "* at most 500", lambda t: "".join(x for x in t.splitlines(True) if not x.startswith("rule"))),
    row("a-decimal-number-that-is-whole", NUMBER, _rule("limits.calls 20", "limits.calls 20.0")),
    row("zero", NUMBER, _rule("limits.calls 20", "limits.calls 0")),
    row("the-largest-number", NUMBER, _rule("limits.calls 20", "limits.calls 9007199254740991")),
    row("a-word-that-nobody-knows", "Any key is well formed.", _rule("strict true", "tomorrow true")),
    row("a-text-with-escapes", "In text, only", _rule(FORBID, 'forbid ["\\"\\\\\\n\\u001f/ü"]')),
    row("number-zero", "number <n, from 1>", value("number", "0"), "malformed"),
    row("a-first-one-with-one-before-it", "or - for 1", value("number", "1"), "malformed"),
    row("a-second-one-with-none-before-it", "or - for 1", value("previous", "-"), "malformed"),
    row("a-hash-in-capitals", "previous <sha256 of the text of policy n−1", value("previous", "A" * 64), "malformed"),
    row("that-expires-at-its-time", "it expires after its time", value("expires", "2026-03-01T12:00:00Z"), "malformed"),
    row("without-an-end", "expires <time>", without("expires"), "malformed"),
    row("without-a-time", "time <time>", without("time"), "malformed"),
    row("a-contact-by-script", "contact <https address or mailto:>", value("contact", "javascript:alert(1)"), "malformed"),
    row("two-contacts", "unknown or duplicate lines", after("contact", "contact mailto:us@acme.example"), "malformed"),
    row("a-line-more", "unknown or duplicate lines", after("rule", "x y"), "malformed"),
    row("a-rule-twice", "without duplicates", after("rule", "rule strict true"), "malformed"),
    row("rules-in-another-order", "sorted by their bytes", after("rule", "rule a 1"), "malformed"),
    row("501-rules", "* at most 500", _more_rules(493), "malformed", "limit"),
    row("500-rules", "* at most 500", _more_rules(492)),
    row("a-key-in-capitals", RULE, _rule("strict true", "strictY true"), "malformed"),
    row("a-key-with-an-empty-name", RULE, _rule("strict true", "strict. true"), "malformed"),
    row("a-rule-without-a-value", "rule <key> <JSON>", _rule("strict true", "strict"), "malformed"),
    row("two-spaces", VALUE, _rule("strict true", "strict  true"), "malformed"),
    row("null", VALUE, _rule("strict true", "strict null"), "malformed"),
    row("a-table", VALUE, _rule("strict true", 'strict {"a":1}'), "malformed"),
    row("a-list-in-a-list", VALUE, _rule(FORBID, 'forbid [["a"]]'), "malformed"),
    row("a-list-with-two-members", MEMBER, _rule(FORBID, 'forbid ["a","b"]'), "malformed"),
    row("a-list-with-a-space", VALUE, _rule(FORBID, 'forbid [ "a"]'), "malformed"),
    row("an-empty-list-that-has-a-member", MEMBER, _rule('namespaces ["tools@other.example"]', "namespaces []"), "malformed"),
    row("a-list-and-a-value", "So a table has exactly one text.", _rule('namespaces ["acme"]', 'namespaces "acme"'), "malformed"),
    row("two-values-of-a-key", "So a table has exactly one text.", _rule("strict true", "strict false\nrule strict true"), "malformed"),
    row("a-key-that-is-a-table-and-a-value", RULE, _rule("limits.calls 20", "limits 20"), "malformed"),
    row("a-number-with-an-exponent", NUMBER, _rule("limits.calls 20", "limits.calls 2e1"), "malformed"),
    row("a-number-with-a-zero-at-its-end", NUMBER, _rule("limits.spend 2.5", "limits.spend 2.50"), "malformed"),
    row("a-number-with-a-zero-before-it", NUMBER, _rule("limits.calls 20", "limits.calls 020"), "malformed"),
    row("a-number-below-zero", NUMBER, _rule("limits.calls 20", "limits.calls -20"), "malformed"),
    row("a-number-with-five-digits", NUMBER, _rule("limits.spend 2.5", "limits.spend 2.00005"), "malformed"),
    row("a-number-of-2^53", NUMBER, _rule("limits.calls 20", "limits.calls 9007199254740992"), "malformed", "limit"),
    row("a-text-with-a-needless-escape", "In text, only", _rule(FORBID, 'forbid ["\\u0061"]'), "malformed"),
    row("a-text-with-an-escaped-slash", "In text, only", _rule(FORBID, 'forbid ["a\\/b"]'), "malformed"),
    row("a-text-with-half-of-a-pair", "Text is UTF-8", _rule(FORBID, 'forbid ["\\ud800"]'), "malformed"),
):  # fmt: skip
    stated(f"grammar-{name}", COMMON if quote.startswith(("unknown or", "Text is")) else PAGE, quote, edit, *refuses)
