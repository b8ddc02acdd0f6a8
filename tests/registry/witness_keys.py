"""Keys of witnesses for tests. They are the same in every run, and protect nothing."""

from __future__ import annotations

import hashlib

from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey

from rye.registry.protocol import cosignatures
from rye.registry.protocol.cosignatures import Cosigner, CosignerKey
from rye.registry.protocol.notes import SignedNote
from tests.registry.simulated_registry import key


def ed25519(name: str) -> Cosigner:
    """The Ed25519 key of a witness."""
    private = key(f"witness {name}")
    return Cosigner(CosignerKey(name, cosignatures.ED25519, private.public.raw), private.sign)


def ml_dsa(name: str) -> Cosigner:
    """The ML-DSA-44 key of a witness."""
    private = MLDSA44PrivateKey.from_seed_bytes(hashlib.sha256(f"witness {name}".encode()).digest())
    public = private.public_key().public_bytes_raw()
    return Cosigner(CosignerKey(name, cosignatures.ML_DSA_44, public), private.sign)


def cosigned(note: SignedNote, time: int, *cosigners: Cosigner) -> SignedNote:
    """The note with one more line of each of these keys."""
    added = tuple(cosignatures.cosign(note.text, one, time) for one in cosigners)
    return SignedNote(note.text, (*note.signatures, *added))
