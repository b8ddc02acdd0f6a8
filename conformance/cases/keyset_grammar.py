"""The grammar of keysets."""

from __future__ import annotations

from conformance.cases.keysets import KEYSET, NAMES, A, B, C
from conformance.simulator.keys import Key, sha256
from conformance.simulator.registry import Edit, Registry
from conformance.tables import after, edited, row, swap, value, without


def _claim(registry: Registry, edit: Edit) -> dict[str, object]:
    registry.claim("acme", A, B, threshold=2, edit=edit)
    registry.publish()
    return {}


def _many(count: int) -> Edit:
    def edit(text: str) -> str:
        lines = [line for line in text.splitlines(keepends=True) if not line.startswith("key ")]
        return "".join([*lines, *sorted(f"key {Key(f'many {n}').line}\n" for n in range(count))])

    return edit


def _more(count: int) -> Edit:
    """So many keys more."""

    def edit(text: str) -> str:
        lines = text.splitlines(keepends=True)
        keys = [line for line in lines if line.startswith("key ")] + [
            f"key {Key(f'many {n}').line}\n" for n in range(count)
        ]
        return "".join([line for line in lines if not line.startswith("key ")] + sorted(keys))

    return edit


edited(
    "keysets/grammar", KEYSET, _claim,
    [
        row("a-threshold-of-zero", "threshold <t>", value("threshold", "0"), "malformed"),
        row("a-threshold-above-its-keys", "*t* of its own keys", value("threshold", "3"), "malformed"),
        row("no-keys", "* 1 to 16", _many(0), "malformed"),
        row("sixteen-keys", "* 1 to 16", _more(14)),
        row("no-previous", "previous <sha256 of the text of keyset n−1, or ->", value("previous", "-"), "malformed"),
        row("seventeen-keys", "* 1 to 16", _many(17), "malformed", "limit"),
        row("a-release-threshold-of-one", "? from 2 to the number of keys", after("threshold", "release-threshold 1"), "malformed"),
        row("a-release-threshold-above-its-keys", "? from 2 to the number of keys", after("threshold", "release-threshold 3"), "malformed"),
        row("an-unknown-requirement", "require <hardware or hardware-verified>", after("threshold", "require paper"), "malformed"),
        row("lines-in-another-order", "in exactly the order below", lambda t: without("threshold")(t) + "threshold 2\n", "malformed"),
        row("keys-in-another-order", "sorted by their bytes", lambda t: "".join([*t.splitlines(True)[:-2], *t.splitlines(True)[:-3:-1]]), "malformed"),
        row("a-key-twice", "without duplicates", lambda t: t + t.splitlines(True)[-1], "malformed"),
        row("the-namespace-root", "The namespace `root` is reserved.", value("namespace", "root"), "malformed", "foreign"),
        row("a-namespace-in-capitals", "namespace <segment>", value("namespace", "Acme"), "malformed", "foreign"),
        row("a-namespace-of-two-segments", "namespace <segment>", value("namespace", "acme/x"), "malformed", "foreign"),
        row("a-namespace-that-is-a-device", "no Windows device name among them", value("namespace", "con"), "malformed", "foreign"),
        row("a-revocation-without-a-position", "revoke <public key or security key> <log position>", after("key", f"revoke {C.line}"), "malformed"),
        row("a-revocation-at-minus-one", "revoke <public key or security key> <log position>", after("key", f"revoke {C.line} -1"), "malformed"),
        row("a-previous-in-capitals", "previous <sha256 of the text of keyset n−1, or ->", lambda t: value("previous", sha256("x").upper())(t), "malformed"),
        row("a-number-above-2-to-the-53", "at most 2^53−1", value("number", str(2**53)), "malformed"),
        row("a-line-of-more-than-2048-bytes", "No line is longer than 2,048 bytes", after("key", "revoke " + "A" * 2050), "malformed", "limit"),
        row("a-title-with-a-space", "The first line names its type", swap("rye.keyset/v1\n", "rye.keyset/v1 \n"), "malformed"),
    ],
    members=NAMES,
)  # fmt: skip
