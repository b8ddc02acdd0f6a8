"""Signatures that pose as a security key's, and keysets that count one key twice or let go of what they require."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from rye.items.identity import Identity
from rye.registry.protocol import notes
from rye.registry.protocol.lines import StatementError
from rye.registry.protocol.notes import NoteError, Signer, VerifierKey
from rye.registry.protocol.statements import (
    Keyset,
    Require,
    Revocation,
    Root,
    Yank,
    namespace_key_name,
    root_key_name,
)
from rye.registry.trust.keysets import KeysetChain, extend
from rye.registry.trust.owners import Owners
from rye.registry.trust.trust_error import TrustError
from rye.signing.keys import L, PrivateKey, PublicKey, read_public_line
from rye.signing.sign_item import sign
from rye.signing.signing_key import SigningKey
from rye.signing.ssh_wire import SshKey, string
from rye.signing.verification import verify
from tests.scenes.directive_text import directive
from tests.scenes.security_keys import SecurityKey

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PRIVATE = PrivateKey(b"\x07" * 32)
STICK, PLAIN = SecurityKey(PRIVATE), PrivateKey(b"\x08" * 32)
MESSAGE = b"rye.keyset/v1\norigin registry.example.org\n"
ORIGIN = "registry.example.org"


@pytest.mark.parametrize("flags", [1, 5])
def test_presence_and_presence_with_verification_count(flags: int) -> None:
    stick = replace(STICK, flags=flags)
    assert stick.public.verifies(MESSAGE, stick.sign(MESSAGE))
    assert PublicKey(stick.public.raw, verified_only=True).verifies(MESSAGE, stick.sign(MESSAGE)) is (flags == 5)


def other_scalar(signature: bytes) -> bytes:
    scalar = int.from_bytes(signature[32:64], "little") + L
    return signature[:32] + scalar.to_bytes(32, "little") + signature[64:]


def with_flags(flags: int) -> Callable[[], bytes]:
    return lambda: replace(STICK, flags=flags).sign(MESSAGE)


FORGED: dict[str, Callable[[], bytes]] = {
    "without presence": with_flags(0),
    "with verification and without presence": with_flags(4),
    "with a reserved flag": with_flags(3),
    "with an attestation": with_flags(0x41),
    "with an extension block": lambda: replace(STICK, flags=0x81, between=b"\xa1\x63uvm\x80").sign(MESSAGE),
    "with an extension block that no flag tells": lambda: replace(STICK, between=b"\xa1\x63uvm\x80").sign(MESSAGE),
    "with another application": lambda: replace(STICK, claimed="ssh:other").sign(MESSAGE),
    "of the web": lambda: replace(STICK, claimed="https://example.org").sign(MESSAGE),
    "of another message": lambda: STICK.sign(MESSAGE + b"\n"),
    "of another key": lambda: replace(STICK, private=PLAIN).sign(MESSAGE),
    "with flags that were raised afterwards": lambda: STICK.sign(MESSAGE)[:64] + b"\x05" + STICK.sign(MESSAGE)[65:],
    "with a counter that was changed afterwards": lambda: STICK.sign(MESSAGE)[:-1] + b"\x08",
    "with a scalar that is not reduced": lambda: other_scalar(STICK.sign(MESSAGE)),
    "of an ordinary key": lambda: PRIVATE.sign(MESSAGE),
    "of an ordinary key, with flags behind it": lambda: PRIVATE.sign(MESSAGE) + b"\x01\0\0\0\x07",
    "in the form SSHSIG": lambda: STICK.sign(
        b"SSHSIG" + string(b"file") + string(b"") + string(b"sha512") + string(hashlib.sha512(MESSAGE).digest())
    ),
    "cut off": lambda: STICK.sign(MESSAGE)[:-1],
    "with a byte more": lambda: STICK.sign(MESSAGE) + b"\0",
    "of nothing": lambda: bytes(69),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_signature_that_does_not_count(name: str) -> None:
    assert STICK.public.verifies(MESSAGE, STICK.sign(MESSAGE))
    assert not STICK.public.verifies(MESSAGE, FORGED[name]())


def test_a_security_key_s_signature_is_none_of_an_ordinary_key_with_the_same_bytes() -> None:
    assert PRIVATE.public.verifies(MESSAGE, PRIVATE.sign(MESSAGE))
    for signature in (STICK.sign(MESSAGE), STICK.sign(MESSAGE)[:64]):
        assert not PRIVATE.public.verifies(MESSAGE, signature)


def test_a_counter_is_kept_and_not_judged() -> None:
    """An item is verified many times, in any order: a replayed counter says nothing about it."""
    for counter in (0, 7, 7, 2**32 - 1):
        stick = replace(STICK, counter=counter)
        assert stick.public.verifies(MESSAGE, stick.sign(MESSAGE))


MADE_BY_OPENSSH = (
    (
        "AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIBLWQoHQy0MLpnOvboy8KDTj6aKZck0h8KU3lXY8LjGYAAAABHNzaDo=",
        (
            "589c8011eacd11e49fde290156b51cf2f76dd979341661751ed1ff785cc2e4560065aed7c5a670ce7b2730d45f7c745b2777a14996573362a94e34af"
            "40c1a2030112345678"
        ),
        True,
    ),
    (
        "AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIPJEEqxQT6VvtSb2Lf932gQI21pqiU0zJAMhIYo7K8wgAAAAB3NzaDpyeWU=",
        (
            "762a2f42faa8b6d651f3016c721e9ea4b57b16ba69edfc7c92969aea9503f8f1987eff499a0208e38095495c7359b040a97a79b293a9e077f07576e2"
            "f20c8e080112345678"
        ),
        True,
    ),
    (
        "AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIJU/+ERJCb9zxAJrbuR5YIK0Az2ymiujUuy4LUpW4MeCAAAABHNzaDo=",
        (
            "f533d3f6bc3458ea2a84d91680c4b276c513337830412bda9b9a1f274a25a202cb5273a5e79f12571f0490d51839cd0e27eeaa029969bce4d510606e"
            "2674770c0012345678"
        ),
        False,
    ),
)
"""Key, signature of "rye test vector" and LF, and whether it counts: by OpenSSH 9.2's sk-dummy, the last of a key that was made
with no-touch-required, and so without presence."""


@pytest.mark.parametrize(("key", "signature", "counts"), MADE_BY_OPENSSH)
def test_what_openssh_s_authenticator_signed(key: str, signature: str, counts: bool) -> None:
    public = read_public_line(f"sk-ssh-ed25519@openssh.com {key} stick@desk")
    assert public.verifies(b"rye test vector\n", bytes.fromhex(signature)) is counts


# -- items ----------------------------------------------------------------------------------------------------------------


def test_an_item_with_a_security_key_s_line() -> None:
    text = sign(directive("work/one"), "directive", "one.md", STICK, NOW)
    assert verify(text.encode(), "directive", "one.md", [STICK.public]).verdict == "valid"
    assert verify(text.encode(), "directive", "one.md", [PRIVATE.public]).verdict == "untrusted"
    assert sign(text, "directive", "one.md", STICK, NOW) == text
    changed = text.replace("directive", "directive ", 1)
    assert verify(changed.encode(), "directive", "one.md", [STICK.public]).verdict == "modified"


@pytest.mark.parametrize("flags", [0, 4, 0x41, 0x81])
def test_an_item_s_line_without_presence_or_with_other_flags(flags: int) -> None:
    stick = replace(STICK, flags=flags)
    text = sign(directive("work/one"), "directive", "one.md", stick, NOW)
    assert verify(text.encode(), "directive", "one.md", [stick.public]).verdict == "bad-signature"


# -- keysets --------------------------------------------------------------------------------------------------------------


def keyset(
    *keys: PublicKey, before: Keyset | None = None, require: Require | None = None, threshold: int = 1
) -> Keyset:
    return Keyset(
        origin=ORIGIN,
        namespace="acme",
        number=1 if before is None else before.number + 1,
        previous=None if before is None else before.sha256(),
        time=NOW,
        threshold=threshold,
        keys=tuple(key.raw for key in keys),
        require=require,
    )


def signed_by(statement: Keyset, *keys: SigningKey) -> notes.SignedNote:
    name = namespace_key_name(ORIGIN, "acme")
    return notes.sign(statement.text(), [Signer(VerifierKey(name, key.public.raw), key.sign) for key in keys])


def chain_of(statement: Keyset, *keys: SigningKey) -> KeysetChain:
    return extend(KeysetChain(ORIGIN, "acme"), 1, signed_by(statement, *keys), statement, Owners(()))


def test_a_keyset_that_lowers_what_is_required_needs_a_security_key() -> None:
    first = keyset(STICK.public, PLAIN.public, require="hardware")
    chain = chain_of(first, STICK)
    second = keyset(STICK.public, PLAIN.public, before=first)
    with pytest.raises(TrustError) as raised:
        extend(chain, 2, signed_by(second, PLAIN), second, Owners(()))
    assert raised.value.code == "keyset-takeover"
    assert len(extend(chain, 2, signed_by(second, PLAIN, STICK), second, Owners(())).links) == 2


def test_a_recovery_lets_go_of_it_only_when_it_takes_effect() -> None:
    """The registry's owners can give the namespace to an ordinary key, but until then nobody but the stick can object."""
    day = timedelta(days=1)
    root = Root(ORIGIN, 1, None, NOW, NOW + 99 * day, 1, (PLAIN.public.raw,), (PLAIN.public.raw,))
    owners, owner = Owners((root,)), Signer(VerifierKey(root_key_name(ORIGIN), PLAIN.public.raw), PLAIN.sign)
    other = PrivateKey(b"\x09" * 32)
    first = keyset(STICK.public, other.public, require="hardware")
    recovery = structs.replace(keyset(other.public, before=first), recovery=NOW + 4 * day)
    note = notes.add_signatures(signed_by(recovery, other), [owner])
    with pytest.raises(TrustError) as raised:
        extend(chain_of(first, STICK), 2, signed_by(recovery, other), recovery, owners)
    assert raised.value.code == "recovery-signatures"
    chain = extend(chain_of(first, STICK), 2, note, recovery, owners)
    waiting, later = chain.current(NOW + 3 * day), chain.current(NOW + 4 * day)
    assert waiting is not None
    assert later is not None
    assert (waiting.keyset.require, later.keyset.require) == ("hardware", None)
    objection = keyset(STICK.public, before=first)
    with pytest.raises(TrustError) as raised:
        extend(chain, 3, signed_by(objection, other), objection, owners)
    assert raised.value.code == "keyset-signatures"
    extend(chain, 3, signed_by(objection, STICK), objection, owners)


def test_a_keyset_that_raises_it_is_signed_by_one_that_then_counts() -> None:
    first = keyset(STICK.public, PLAIN.public)
    chain = chain_of(first, PLAIN)
    second = keyset(STICK.public, PLAIN.public, before=first, require="hardware")
    with pytest.raises(TrustError) as raised:
        extend(chain, 2, signed_by(second, PLAIN), second, Owners(()))
    assert raised.value.code == "keyset-signatures"
    extend(chain, 2, signed_by(second, PLAIN, STICK), second, Owners(()))


def test_presence_alone_does_not_count_where_verification_is_required() -> None:
    verified = replace(STICK, flags=5)
    first = keyset(STICK.public, require="hardware-verified")
    with pytest.raises(TrustError):
        chain_of(first, STICK)
    chain = chain_of(first, verified)
    second = keyset(STICK.public, before=first, require="hardware")
    with pytest.raises(TrustError):
        extend(chain, 2, signed_by(second, STICK), second, Owners(()))
    extend(chain, 2, signed_by(second, verified), second, Owners(()))


def test_one_key_in_two_forms_is_no_keyset() -> None:
    other = SecurityKey(PRIVATE, application="ssh:other")
    for twice in ((STICK.public, PRIVATE.public), (STICK.public, other.public)):
        with pytest.raises(StatementError, match="same 32 bytes"):
            keyset(*twice, threshold=2).text()
    keyset(STICK.public, PLAIN.public, threshold=2).text()


@pytest.mark.parametrize("revoked", [STICK.public, PRIVATE.public])
@pytest.mark.parametrize("signer", [STICK, PRIVATE])
def test_a_revocation_stops_the_key_in_both_forms(signer: SigningKey, revoked: PublicKey) -> None:
    """A keyset cannot revoke both, so the thief of a key that was in a namespace in two forms would keep one."""
    first = keyset(PLAIN.public, signer.public)
    second = structs.replace(keyset(PLAIN.public, before=first), revoked=(Revocation(revoked.raw, 5),))
    chain = extend(chain_of(first, PLAIN), 7, signed_by(second, PLAIN), second, Owners(()))
    yank = Yank(ORIGIN, Identity("directive", "acme/work/one"), "1.0.0", True, 1, NOW, "why")
    note = notes.sign(
        yank.text(), [Signer(VerifierKey(namespace_key_name(ORIGIN, "acme"), signer.public.raw), signer.sign)]
    )
    assert [chain.check(position, yank, note, NOW).revoked for position in (4, 5, 6)] == [False, True, True]


def test_one_key_in_two_forms_counts_once_in_a_note() -> None:
    name = namespace_key_name(ORIGIN, "acme")
    keys = [VerifierKey(name, STICK.public.raw), VerifierKey(name, PRIVATE.public.raw)]
    note = notes.sign("text\n", [Signer(keys[0], STICK.sign), Signer(keys[1], PRIVATE.sign)])
    assert len(notes.verify(note, keys, 1)) == 2
    with pytest.raises(NoteError) as raised:
        notes.verify(note, keys, 2)
    assert raised.value.code == "note-threshold"


def test_a_keyset_that_requires_hardware_has_enough_of_it() -> None:
    with pytest.raises(StatementError, match="too few security keys"):
        keyset(PLAIN.public, require="hardware").text()
    with pytest.raises(StatementError, match="too few security keys"):
        keyset(STICK.public, PLAIN.public, require="hardware", threshold=2).text()
    keyset(STICK.public, PLAIN.public, require="hardware").text()


LINES: dict[str, Callable[[str], str]] = {
    "with a comment": lambda line: line + " stick@desk",
    "with two spaces": lambda line: line.replace(" ", "  "),
    "without its type": lambda line: line.split(" ")[1],
    "of an ordinary key": lambda line: PLAIN.public.ssh.line(),
    "with a byte more": lambda line: "sk-ssh-ed25519@openssh.com " + notes.encode_base64(STICK.public.raw + b"\0"),
    "without padding": lambda line: line.rstrip("="),
    "of small order": lambda line: SshKey(b"\x01" + bytes(31), "ssh:").line(),
    "with a space in its application": lambda line: SshKey(PRIVATE.public.raw, "ssh: x").line(),
}


@pytest.mark.parametrize("name", LINES)
def test_a_second_spelling_of_a_security_key_is_refused(name: str) -> None:
    text = keyset(STICK.public).text()
    line = STICK.public.ssh.line()
    assert Keyset.parse(text).text() == text
    with pytest.raises(StatementError):
        Keyset.parse(text.replace(line, LINES[name](line)))


def test_a_verifier_key_of_a_security_key_comes_back() -> None:
    key = VerifierKey("acme", STICK.public.raw)
    assert VerifierKey.from_vkey(key.vkey) == key
    for material in (b"\x01" + STICK.public.raw, b"\xff" + PLAIN.public.raw, b"\xff" + STICK.public.raw + b"\0"):
        with pytest.raises(NoteError):
            VerifierKey.from_vkey(f"acme+{key.key_id.hex()}+{notes.encode_base64(material)}")
