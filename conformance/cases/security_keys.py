"""Security keys (FIDO): what they sign, their blobs, and keysets that require them."""

from __future__ import annotations

from collections.abc import Callable

from conformance.cases import case
from conformance.cases.keysets import (
    HARDWARE,
    KEYSET,
    NAMES,
    PDF,
    A,
    B,
    H,
    chain,
    released,
    signers,
)
from conformance.play import Play
from conformance.simulator.keys import HardwareKey, Key, b64
from conformance.simulator.registry import Edit, Registry

SK = ("security-keys",)
REQUIRED = "With `require hardware`, only the signatures of the keyset's security keys count"
VERIFIED = "With `require hardware-verified`, only those with flags 5."
released(
    "by-a-security-key",
    "Over a message (the text of a note",
    page=HARDWARE,
    needs=SK,
    play_out=lambda r: (r.claim("acme", H, by=signers(A, H)), r.release(by=signers(H))),
)
released(
    "by-a-verified-security-key",
    "5 (present, and verified by PIN or finger)",
    page=HARDWARE,
    needs=SK,
    play_out=lambda r: (r.claim("acme", H, by=signers(A, H)), r.release(by=signers(H.with_flags(5)))),
)


def _with_flags(flags: int) -> Callable[[Registry], object]:
    return lambda r: (r.claim("acme", H, by=signers(A, H)), r.release(by=signers(H.with_flags(flags))))


for flags in (0, 4, 65, 69, 129, 255):
    released(
        f"with-flags-{flags}",
        "Every other value is refused even if it is signed correctly.",
        "signature",
        page=HARDWARE,
        needs=SK,
        play_out=_with_flags(flags),
    )
released(
    "for-another-application",
    "SHA-256(application)",
    "signature",
    page=HARDWARE,
    needs=SK,
    play_out=lambda r: (
        r.claim("acme", H, by=signers(A, H)),
        r.release(by=signers(HardwareKey(H.label, claimed="ssh:other"))),
    ),
)
released(
    "with-a-byte-after-its-counter",
    "without extensions",
    "signature",
    "malformed",
    page=HARDWARE,
    needs=SK,
    play_out=lambda r: (
        r.claim("acme", H, by=signers(A, H)),
        r.release(by=signers(HardwareKey(H.label, extensions=b"x"))),
    ),
)
released(
    "by-a-security-keys-bare-key",
    "the key signs what OpenSSH's PROTOCOL.u2f says",
    "signature",
    page=HARDWARE,
    needs=SK,
    play_out=lambda r: (r.claim("acme", H, by=signers(A, H)), r.release(by=signers(Key(H.label)))),
)
released(
    "by-an-ordinary-key-where-hardware-is-required",
    REQUIRED,
    "signature",
    page=KEYSET,
    needs=SK,
    play_out=lambda r: (r.claim("acme", A, H, require="hardware"), r.release(by=signers(A))),
)
released(
    "by-hardware-where-it-is-required",
    REQUIRED,
    page=KEYSET,
    needs=SK,
    play_out=lambda r: (r.claim("acme", A, H, require="hardware"), r.release(by=signers(H))),
)
released(
    "by-unverified-hardware-where-verified-is-required",
    VERIFIED,
    "signature",
    page=KEYSET,
    needs=SK,
    play_out=lambda r: (
        r.claim("acme", A, H, require="hardware-verified", by=signers(A, H.with_flags(5))),
        r.release(by=signers(H)),
    ),
)
released(
    "by-verified-hardware-where-it-is-required",
    VERIFIED,
    page=KEYSET,
    needs=SK,
    play_out=lambda r: (
        r.claim("acme", A, H, require="hardware-verified", by=signers(A, H.with_flags(5))),
        r.release(by=signers(H.with_flags(5))),
    ),
)
chain(
    "hardware-requirement-lowered-by-hardware",
    "a keyset that lowers it is signed by security keys",
    needs=SK,
    expect=3,
    play_out=lambda r: (r.claim("acme", A, H, require="hardware"), r.claim("acme", A, by=signers(A, H))),
)
chain(
    "hardware-requirement-lowered-by-an-ordinary-key",
    "a keyset that lowers it is signed by security keys",
    "signature",
    needs=SK,
    play_out=lambda r: (r.claim("acme", A, H, require="hardware"), r.claim("acme", A, by=signers(A))),
)
for keys in (A, H):
    released(
        f"by-{'a-security' if keys is H else 'an-ordinary'}-key-after-the-requirement-was-lowered",
        "under the new one, only what it says itself holds",
        page=KEYSET,
        needs=SK,
        revoked=False,
        play_out=lambda r, keys=keys: (  # type: ignore[misc]
            r.claim("acme", A, H, require="hardware"),
            r.claim("acme", A, H, by=signers(A, H)),
            r.release(by=signers(keys)),
        ),
    )
released(
    "by-an-ordinary-key-after-verified-became-present",
    REQUIRED,
    "signature",
    page=KEYSET,
    needs=SK,
    play_out=lambda r: (
        r.claim("acme", A, H, require="hardware-verified", by=signers(A, H.with_flags(5))),
        r.claim("acme", A, H, require="hardware", by=signers(A, H.with_flags(5))),
        r.release(by=signers(A)),
    ),
)


def lifted(name: str, *refuses: str, require: str | None) -> None:
    """A recovery to the ordinary key A and another security key, accepted; then A signs a release, and its item."""

    @case(
        f"keysets/recovery-that-{name}",
        KEYSET,
        "It lifts an earlier requirement that it does not repeat, for items too, from its time on.",
        *refuses,
        needs=SK,
    )
    def play_lifted(play: Play) -> None:
        registry = Registry.fresh()
        other = HardwareKey("acme hardware 2")
        registry.claim("acme", A, H, require="hardware")
        registry.release(by=signers(H), version="1.0.0")
        registry.publish()
        play.start(registry)
        play.good("resolve", **NAMES)
        accepted = registry.recover("acme", A, other, require=require, by=[*signers(A, other), *registry.by_owners()])
        registry.wait(hours=73)
        registry.release(by=signers(other), version="1.1.0")
        registry.publish()
        play.serve(registry)
        play.good("fetch", item=PDF, version="1.1.0", accept=accepted)
        registry.release(by=signers(A), version="1.2.0")
        registry.publish()
        play.serve(registry)
        play.decisive("fetch", item=PDF, version="1.2.0")


lifted("lifts-a-requirement-of-hardware", require=None)
lifted("repeats-a-requirement-of-hardware", "signature", require="hardware")
chain(
    "hardware-required-and-not-used",
    REQUIRED,
    "signature",
    needs=SK,
    play_out=lambda r: r.claim("acme", A, H, require="hardware", by=signers(A)),
)
chain(
    "hardware-required-of-too-few",
    "It has at least as many of them as both thresholds say.",
    "malformed",
    needs=SK,
    play_out=lambda r: r.claim("acme", A, H, threshold=2, require="hardware"),
)
chain(
    "hardware-required-of-too-few-for-releases",
    "It has at least as many of them as both thresholds say.",
    "malformed",
    needs=SK,
    play_out=lambda r: r.claim("acme", A, H, release_threshold=2, require="hardware"),
)
chain(
    "the-same-32-bytes-twice",
    "No two `key` lines have the same 32 bytes, in whichever form",
    "malformed",
    needs=SK,
    play_out=lambda r: r.claim("acme", A, HardwareKey(A.label)),
)
chain(
    "the-same-32-bytes-for-two-applications",
    "No two `key` lines have the same 32 bytes, in whichever form",
    "malformed",
    needs=SK,
    play_out=lambda r: r.claim("acme", H, HardwareKey(H.label, application="ssh:other"), by=signers(A, H)),
)
chain(
    "the-32-bytes-of-a-revoked-key",
    "no `key` line has the 32 bytes of a `revoke` line",
    "malformed",
    needs=SK,
    play_out=lambda r: r.claim("acme", HardwareKey(A.label), revoked=[(A, 9)], by=signers(A)),
)
released(
    "revoked-as-an-ordinary-key",
    "no `key` line has the 32 bytes of a `revoke` line",
    page=KEYSET,
    needs=SK,
    revoked=True,
    play_out=lambda r: (
        r.claim("acme", H, by=signers(A, H)),
        r.release(by=signers(H)),
        r.claim("acme", B, revoked=[(Key(H.label), 0)], by=signers(H, B)),
    ),
)


def blob(name: str, quote: str, change: Callable[[bytes], bytes], *refuses: str) -> None:
    """A security key's line with another blob."""
    line(name, quote, lambda text: text.replace(b64(H.blob), b64(change(H.blob))), *refuses)


def line(name: str, quote: str, edit: Edit, *refuses: str) -> None:
    """A keyset with a security key, in which ``edit`` changes the key's line."""
    chain(
        f"security-key-{name}",
        quote,
        *refuses,
        page=HARDWARE,
        needs=SK,
        play_out=lambda r: r.claim("acme", A, H, by=signers(A), edit=edit),
    )


WRITTEN = "Its blob is three strings"
line("that-is-no-base64", WRITTEN, lambda t: t.replace(b64(H.blob), "!" * 20), "malformed")
line("without-a-blob", WRITTEN, lambda t: t.replace(b64(H.blob), ""), "malformed")
line("without-padding", WRITTEN, lambda t: t.replace(b64(H.blob), b64(H.blob + b"x").rstrip("=")), "malformed")
line("under-another-type", WRITTEN, lambda t: t.replace("sk-ssh-ed25519@openssh.com ", "ssh-ed25519 "), "malformed")
blob("as-it-is", "Its blob is three strings", bytes)
blob("with-bytes-after-it", "Nothing follows", lambda b: b + b"\0", "malformed")
blob("of-another-type", "sk-ssh-ed25519@openssh.com", lambda b: b.replace(b"sk-ssh", b"sk-foo"), "malformed")
blob("cut-off", "each with its length before it", lambda b: b[:-1], "malformed")
APPLICATION = "1 to 256 bytes of printable ASCII without spaces"
blob("with-the-first-and-last-letter", APPLICATION, lambda b: b[:-8] + bytes([0, 0, 0, 2]) + b"!~")
blob("with-a-letter-after-the-last", APPLICATION, lambda b: b[:-8] + bytes([0, 0, 0, 1]) + b"\x7f", "malformed")
blob(
    "with-an-empty-application",
    "1 to 256 bytes of printable ASCII without spaces",
    lambda b: b[:-8] + bytes(4),
    "malformed",
)
blob(
    "with-a-space-in-its-application",
    "1 to 256 bytes of printable ASCII without spaces",
    lambda b: b[:-4] + b"s h:",
    "malformed",
)
blob(
    "with-an-application-of-257-bytes",
    "1 to 256 bytes of printable ASCII without spaces",
    lambda b: b[:-8] + (257).to_bytes(4, "big") + b"s" * 257,
    "malformed",
    "limit",
)
blob(
    "with-a-key-of-31-bytes",
    "the Ed25519 public key, 32 bytes",
    lambda b: b.replace(bytes([0, 0, 0, 32]) + H.raw, bytes([0, 0, 0, 31]) + H.raw[:31]),
    "malformed",
)
blob(
    "with-a-key-of-small-order",
    "the 32 bytes keep the",
    lambda b: b.replace(H.raw, bytes([1]) + bytes(31)),
    "malformed",
)
chain(
    "security-key-with-a-comment",
    "OpenSSH's line without a comment",
    "malformed",
    needs=SK,
    play_out=lambda r: r.claim("acme", A, H, by=signers(A), edit=lambda t: t.replace(H.line, H.line + " me@home")),
)
