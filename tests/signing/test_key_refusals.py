"""Reading keys: each form that is refused, with its code and reason, and the values at each limit."""

from __future__ import annotations

import base64

import pytest

from rye.errors import RyeError
from rye.limits import KEYS
from rye.signing import keys
from rye.signing.keys import KeyFile, PrivateKey, PublicKey, read_pem, read_public_key, strict_base64

KEY = PrivateKey(bytes(range(32)))
PUBLIC = KEY.public
SMALL_ORDER = (1).to_bytes(32, "little")
SPKI = bytes.fromhex("302a300506032b6570032100")
X25519 = bytes.fromhex("302a300506032b656e032100")


class Agreeable:
    """A library that accepts every signature."""

    @staticmethod
    def verifies(_key: bytes, _message: bytes, _signature: bytes) -> bool:
        return True


def test_a_weak_key_or_signature_is_refused_before_the_library_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    good = KEY.sign(b"m")
    monkeypatch.setattr(keys, "_libsodium", lambda: Agreeable)
    assert PUBLIC.verifies(b"m", good) is True
    assert PublicKey(SMALL_ORDER).verifies(b"m", good) is False
    assert PublicKey(bytes(31)).verifies(b"m", good) is False
    assert PUBLIC.verifies(b"m", SMALL_ORDER + good[32:]) is False
    assert PUBLIC.verifies(b"m", good[:32] + b"\xff" * 32) is False
    assert PUBLIC.verifies(b"m", good[:63]) is False
    assert PublicKey(SMALL_ORDER).verifies(b"m", SMALL_ORDER + bytes(32)) is False


def refusal(text: str | bytes) -> str:
    with pytest.raises(RyeError) as caught:
        read_public_key(text.encode() if isinstance(text, str) else text)
    assert caught.value.code == "bad-key"
    return caught.value.message


def pem(der: bytes) -> str:
    return f"-----BEGIN PUBLIC KEY-----\n{base64.b64encode(der).decode()}\n-----END PUBLIC KEY-----\n"


def toml(*lines: str) -> bytes:
    return "\n".join((*lines, f'[public_key]\npem = """\n{PUBLIC.pem}"""\n')).encode()


def test_raw_bytes_that_are_no_usable_key_are_a_bad_key() -> None:
    with pytest.raises(RyeError) as caught:
        PublicKey.from_raw(SMALL_ORDER)
    assert caught.value.code == "bad-key"
    assert caught.value.message.startswith("This is not a usable Ed25519 public key: it is a point of small order")
    assert PublicKey.from_raw(PUBLIC.raw) == PUBLIC


@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_a_seed_of_another_length_is_no_private_key(length: int) -> None:
    with pytest.raises(RyeError) as caught:
        PrivateKey(bytes(length))
    assert (caught.value.code, caught.value.message) == ("bad-key", "An Ed25519 private key has 32 bytes.")


def test_a_private_key_where_a_public_one_is_wanted_is_called_that() -> None:
    assert refusal(KEY.pem()) == "This is a private key, but a public key is needed here."
    both = PUBLIC.pem + KEY.pem()
    assert refusal(both) == "This is a private key, but a public key is needed here."


def test_only_an_ed25519_key_of_32_bytes_is_read() -> None:
    assert read_pem(pem(SPKI + PUBLIC.raw)) == PUBLIC
    for der in (X25519 + PUBLIC.raw, SPKI + PUBLIC.raw + b"\0", SPKI + PUBLIC.raw[:-1], SPKI, X25519, PUBLIC.raw):
        assert refusal(pem(der)) == "The PEM contains a key that is not an Ed25519 key."


def test_a_file_of_the_longest_length_is_read_and_no_longer_one() -> None:
    longest = PUBLIC.pem.encode().ljust(KEYS.file_bytes, b"\n")
    assert read_public_key(longest) == KeyFile(PUBLIC)
    limit = KEYS.file_bytes
    assert refusal(longest + b"\n") == f"The key file has {limit + 1:,} bytes; the limit is {limit:,}."


@pytest.mark.parametrize("claimed", [PUBLIC.key_id, PUBLIC.later_key_id, PUBLIC.fingerprint])
def test_a_key_file_may_name_its_key_in_three_ways(claimed: str) -> None:
    assert read_public_key(toml(f'fingerprint = "{claimed}"')).key == PUBLIC


@pytest.mark.parametrize("claimed", ['""', '"0123456789abcdef"', "5", "[]", f'"{PUBLIC.key_id} "'])
def test_a_key_file_that_names_another_key_is_refused(claimed: str) -> None:
    assert refusal(toml(f"fingerprint = {claimed}")).endswith(f"but its key has {PUBLIC.key_id}.")


@pytest.mark.parametrize(
    ("owner", "read"),
    [
        ('"leo"', "leo"),
        (f'"{"x" * 100}"', "x" * 100),
        (f'"{"x" * 101}"', "x" * 100),
        ("5", None),
        ('["leo"]', None),
        ('"a\\nb"', None),
    ],
)
def test_an_owner_is_printable_text_of_at_most_100_characters(owner: str, read: str | None) -> None:
    assert read_public_key(toml(f"owner = {owner}")) == KeyFile(PUBLIC, read)


def test_a_key_file_with_other_line_endings_is_the_same_key() -> None:
    data = toml('owner = "leo"').replace(b"\n", b"\r\n")
    assert read_public_key(data) == KeyFile(PUBLIC, "leo")


@pytest.mark.parametrize("text", ["é", "!", "eA=", "eA", "eA===", "eB==", "e A==", "eA==\n", "eA==!", "e!A=="])
def test_base64_that_is_not_canonical_is_none(text: str) -> None:
    assert strict_base64(text) is None


def test_canonical_base64_is_its_bytes() -> None:
    assert (strict_base64(""), strict_base64("eA=="), strict_base64("eHk=")) == (b"", b"x", b"xy")
