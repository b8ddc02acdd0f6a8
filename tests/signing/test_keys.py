"""Keys as values: PEM, ids, strict Ed25519, sealing (DESIGN §3, §4 Keys; RFC 8032 §5.1)."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.errors import RyeError
from rye.limits import KEYS
from rye.signing.keys import (
    SMALL_ORDER_Y,
    L,
    P,
    PrivateKey,
    PublicKey,
    is_strict_signature,
    key_problem,
    read_pem,
    read_public_key,
)
from rye.signing.private_text import read_private_pem, seal, unseal
from rye.signing.sealed_form import is_sealed
from tests.scenes.effort import tries

pytestmark = pytest.mark.processes

EXAMPLES = tries(100, 5_000)
KEY = PrivateKey(bytes(range(32)))
CHEAP = {"operations": 1, "memory": 8192}


def raw(y: int, sign: int = 0) -> bytes:
    return (y | sign << 255).to_bytes(32, "little")


SMALL_ORDER = [
    raw(y, sign) for value in sorted(SMALL_ORDER_Y) for y in (value, value + P) if y < 2**255 for sign in (0, 1)
]


class TestStrictEd25519:
    def test_rfc_8032_vectors(self) -> None:
        """RFC 8032 §7.1, tests 1 to 3."""
        for seed, public, message, signature in (
            (
                "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
                "",
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
            ),
            (
                "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
                "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
                "72",
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
            ),
            (
                "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
                "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
                "af82",
                "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
            ),
        ):
            key = PrivateKey(bytes.fromhex(seed))
            assert key.public.raw.hex() == public
            assert key.sign(bytes.fromhex(message)).hex() == signature
            assert key.public.verifies(bytes.fromhex(message), bytes.fromhex(signature))

    def test_there_are_fourteen_encodings_of_small_order_points_below_2_255(self) -> None:
        """Eight points; y = 0 and y = 1 have a second encoding (p, p + 1), and the sign bit is free in the encoding."""
        assert len(SMALL_ORDER) == 14
        assert raw(1) in SMALL_ORDER

    @pytest.mark.parametrize("encoded", SMALL_ORDER, ids=bytes.hex)
    def test_no_small_order_key_is_accepted_in_any_encoding(self, encoded: bytes) -> None:
        assert "small order" in (key_problem(encoded) or "")
        with pytest.raises(RyeError, match="small order"):
            PublicKey.from_raw(encoded)

    @pytest.mark.parametrize("encoded", SMALL_ORDER, ids=bytes.hex)
    def test_a_signature_that_fits_every_message_never_verifies(self, encoded: bytes) -> None:
        """With R = A of small order, S = 0 satisfies the cofactored equation for any message."""
        for r in SMALL_ORDER:
            for message in (b"a", b"b", b"c"):
                assert not PublicKey(encoded).verifies(message, r + bytes(32))
                assert not KEY.public.verifies(message, r + bytes(32))

    @pytest.mark.parametrize("y", [P + 2, P + 3, P + 18, 2**255 - 1])
    def test_a_key_whose_y_is_not_reduced_is_refused(self, y: int) -> None:
        assert key_problem(raw(y)) == "its encoding is not canonical"
        assert key_problem(raw(y, 1)) == "its encoding is not canonical"

    def test_a_key_off_the_curve_is_refused(self) -> None:
        problems = [key_problem(raw(y)) for y in range(2, 60)]
        assert problems.count("it is not a point on the curve") > 15
        assert problems.count(None) > 15

    @pytest.mark.parametrize("length", [0, 31, 33, 64])
    def test_a_key_of_another_length_is_refused(self, length: int) -> None:
        assert key_problem(b"\x05" * length) is not None

    def test_s_at_or_above_the_group_order_is_refused(self) -> None:
        """Malleability: S + L signs the same message under the bare equation."""
        good = KEY.sign(b"message")
        s = int.from_bytes(good[32:], "little")
        for other in (s + L, s + 2 * L, s + 8 * L):
            assert not is_strict_signature(good[:32] + other.to_bytes(32, "little"))
            assert not KEY.public.verifies(b"message", good[:32] + other.to_bytes(32, "little"))
        assert not is_strict_signature(good[:32] + L.to_bytes(32, "little"))
        assert is_strict_signature(good[:32] + (L - 1).to_bytes(32, "little"))

    def test_an_r_that_is_not_canonical_or_of_small_order_is_refused(self) -> None:
        s = KEY.sign(b"message")[32:]
        for r in (*SMALL_ORDER, raw(P + 2), raw(2**255 - 1)):
            assert not is_strict_signature(r + s)

    @pytest.mark.parametrize("length", [0, 63, 65])
    def test_a_signature_of_another_length_is_refused(self, length: int) -> None:
        assert not KEY.public.verifies(b"message", bytes(length))

    @settings(max_examples=EXAMPLES)
    @given(st.binary(min_size=32, max_size=32))
    def test_hypothesis_every_made_key_is_usable_and_signs(self, seed: bytes) -> None:
        key = PrivateKey(seed)
        assert key_problem(key.public.raw) is None
        assert key.public.verifies(b"m", key.sign(b"m"))
        assert not key.public.verifies(b"n", key.sign(b"m"))

    @settings(max_examples=EXAMPLES)
    @given(st.integers(0, 511))
    def test_hypothesis_no_changed_bit_of_a_signature_verifies(self, bit: int) -> None:
        signature = bytearray(KEY.sign(b"m"))
        signature[bit // 8] ^= 1 << bit % 8
        assert not KEY.public.verifies(b"m", bytes(signature))

    @settings(max_examples=EXAMPLES)
    @given(st.binary(min_size=32, max_size=32))
    def test_hypothesis_what_is_accepted_as_key_libsodium_finds_on_the_curve(self, encoded: bytes) -> None:
        from nacl.bindings import crypto_core_ed25519_is_valid_point

        if crypto_core_ed25519_is_valid_point(encoded):
            assert key_problem(encoded) is None


class TestNames:
    def test_key_id_and_fingerprints(self) -> None:
        public = KEY.public
        assert public.key_id == hashlib.sha256(public.pem.encode()).hexdigest()[:16]
        assert public.later_key_id == hashlib.sha256(public.raw).hexdigest()
        digest = hashlib.sha256(public.raw).digest()
        assert public.fingerprint == "SHA256:" + base64.b64encode(digest).decode().rstrip("=")

    def test_the_pem_is_what_cryptography_writes(self) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        theirs = Ed25519PublicKey.from_public_bytes(KEY.public.raw)
        assert theirs.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode() == KEY.public.pem

    def test_a_private_key_does_not_show_itself(self) -> None:
        assert repr(KEY) == "PrivateKey()"


class TestReading:
    def test_line_endings_and_blank_lines_around_do_not_change_the_key(self) -> None:
        pem = KEY.public.pem
        for variant in (pem, pem.replace("\n", "\r\n"), "\n\n" + pem + "\n", pem.rstrip("\n"), "\ufeff" + pem):
            assert read_public_key(variant.encode()).key == KEY.public

    def test_a_body_broken_into_lines_is_read(self) -> None:
        head, body, tail = KEY.public.pem.strip().split("\n")
        assert read_pem(f"{head}\n{body[:20]}\n{body[20:]}\n{tail}\n") == KEY.public

    def test_key_toml_gives_key_and_owner(self) -> None:
        text = f'# rye:signed:nonsense\nfingerprint = "{KEY.public.key_id}"\nowner = "leo"\n'
        text += f'attestation = ""\n\n[public_key]\npem = """\n{KEY.public.pem}"""\n'
        for variant in (text, text.replace("\n", "\r\n")):
            found = read_public_key(variant.encode())
            assert (found.key, found.owner) == (KEY.public, "leo")

    def test_a_fingerprint_that_is_another_keys_is_refused(self) -> None:
        text = f'fingerprint = "0123456789abcdef"\n[public_key]\npem = """\n{KEY.public.pem}"""\n'
        with pytest.raises(RyeError, match="says fingerprint"):
            read_public_key(text.encode())

    def test_an_owner_with_control_characters_is_dropped(self) -> None:
        text = f'owner = "\\u001b[31mroot"\n[public_key]\npem = """\n{KEY.public.pem}"""\n'
        assert read_public_key(text.encode()).owner is None

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"\xff\xfe",
            b"x" * (KEYS.file_bytes + 1),
            b"not = [toml",
            b"a = " + b"[" * 5000,
            b"owner = 'x'\n",
            b"public_key = 'x'\n",
            b"[public_key]\npem = 5\n",
            b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
            b"-----BEGIN PUBLIC KEY-----\n!!!!\n-----END PUBLIC KEY-----\n",
            KEY.public.pem.encode() * 2,
            KEY.public.pem.encode() + b"more",
            KEY.public.pem.replace("PUBLIC", "CERTIFICATE").encode(),
            KEY.public.pem.replace("PUBLIC", "PRIVATE").encode(),
        ],
    )
    def test_anything_else_is_refused_with_a_reason(self, data: bytes) -> None:
        with pytest.raises(RyeError) as caught:
            read_public_key(data)
        assert caught.value.code == "bad-key"

    def test_the_refusal_names_every_form_that_is_read(self) -> None:
        with pytest.raises(RyeError) as caught:
            read_public_key(b"rye ssh-ed25519 AAAA")
        assert "PEM file, an OpenSSH line or a key TOML" in (caught.value.hint or "")

    @pytest.mark.parametrize("encoded", SMALL_ORDER[:3], ids=bytes.hex)
    def test_a_small_order_key_in_pem_is_refused(self, encoded: bytes) -> None:
        with pytest.raises(RyeError, match="small order"):
            read_pem(PublicKey(encoded).pem)

    def test_base64_with_stray_bits_is_refused(self) -> None:
        """44 bytes end in one padding character: two bits of the last digit carry nothing and must be zero."""
        pem = KEY.public.pem
        at = pem.index("=") - 1
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        with pytest.raises(RyeError):
            read_pem(pem[:at] + alphabet[alphabet.index(pem[at]) + 1] + pem[at + 1 :])

    def test_private_pem_round_trips_and_foreign_keys_are_refused(self) -> None:
        from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import (
            BestAvailableEncryption,
            Encoding,
            NoEncryption,
            PrivateFormat,
            PublicFormat,
        )

        assert read_private_pem(KEY.pem()) == KEY
        same = Ed25519PrivateKey.from_private_bytes(KEY.seed)
        assert KEY.pem().encode() == same.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        other = generate_private_key(SECP256R1())
        private = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        public = other.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
        encrypted = Ed25519PrivateKey.generate().private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x")
        )
        for reader, text, why in (
            (read_private_pem, private, "not an Ed25519 key"),
            (read_pem, public, "not an Ed25519 key"),
            (read_private_pem, encrypted.decode(), "encrypted"),
            (read_private_pem, "nonsense", "not a private key"),
            (read_private_pem, KEY.public.pem, "not a private key"),
        ):
            with pytest.raises(RyeError, match=why):
                reader(text)


class TestSealing:
    def test_a_sealed_key_opens_with_its_passphrase_only(self) -> None:
        text = seal(KEY, "correct horse", **CHEAP)
        assert is_sealed(text)
        assert KEY.seed.hex() not in text
        assert base64.b64encode(KEY.seed).decode() not in text
        assert unseal(text, "correct horse") == KEY
        with pytest.raises(RyeError) as caught:
            unseal(text, "correct horse ")
        assert caught.value.code == "wrong-passphrase"

    def test_the_default_cost_is_written_down_and_the_same_key_seals_differently_each_time(self) -> None:
        text = seal(KEY, "p")
        assert "operations: 3\nmemory: 268435456\n" in text
        assert seal(KEY, "p", **CHEAP) != seal(KEY, "p", **CHEAP)

    def test_a_passphrase_typed_in_either_normalization_is_the_same(self) -> None:
        assert unseal(seal(KEY, "caf\u00e9", **CHEAP), "cafe\u0301") == KEY

    def test_crlf_does_not_matter_and_an_empty_passphrase_is_refused(self) -> None:
        assert unseal(seal(KEY, "p", **CHEAP).replace("\n", "\r\n"), "p") == KEY
        with pytest.raises(RyeError, match="passphrase is empty"):
            seal(KEY, "")

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("memory: 8192", f"memory: {KEYS.seal_memory + 1}"),
            ("memory: 8192", "memory: 999999999999999"),
            ("memory: 8192", "memory: 08192"),
            ("memory: 8192", "memory: 4096"),
            ("operations: 1", f"operations: {KEYS.seal_operations + 1}"),
            ("operations: 1", "operations: 0"),
            ("operations: 1", "operations: -1"),
            ("version: 1", "version: 2"),
            ("kdf: argon2id", "kdf: none"),
            ("kdf: argon2id\n", ""),
            ("kdf: argon2id\n", "kdf: argon2id\nkdf: argon2id\n"),
            ("version: 1\nkdf: argon2id\n", "kdf: argon2id\nversion: 1\n"),
            ("salt: ", "salt: AAAA"),
            ("secret: ", "secret: !"),
            ("-----END RYE SEALED PRIVATE KEY-----\n", ""),
            ("-----END RYE SEALED PRIVATE KEY-----\n", "-----END RYE SEALED PRIVATE KEY-----\nmore\n"),
        ],
    )
    def test_a_changed_envelope_is_refused_before_any_work_is_done(self, old: str, new: str) -> None:
        text = seal(KEY, "p", **CHEAP)
        assert old in text
        with pytest.raises(RyeError) as caught:
            unseal(text.replace(old, new), "p")
        assert caught.value.code == "bad-key"

    def test_a_sealed_file_that_names_another_public_key_is_refused(self) -> None:
        text = seal(KEY, "p", **CHEAP)
        mine = base64.b64encode(KEY.public.raw).decode()
        other = base64.b64encode(PrivateKey.generate().public.raw).decode()
        with pytest.raises(RyeError, match="does not belong to its private key"):
            unseal(text.replace(mine, other), "p")


def test_reading_a_public_key_needs_neither_cryptography_nor_nacl() -> None:
    code = (
        "import sys\nfrom rye.signing.keys import read_public_key\n"
        f"read_public_key({KEY.public.pem.encode()!r})\n"
        "print([m for m in ('nacl', 'cryptography') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
