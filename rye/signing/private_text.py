"""Reading a private key's text in either form, PEM or sealed. The only user of ``cryptography``, which knows the encodings of
other programs.
"""

from __future__ import annotations

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from rye.errors import RyeError
from rye.signing.keys import ED25519_HINT, PrivateKey
from rye.signing.sealed_form import is_sealed
from rye.signing.sealing import seal, unseal


def read_private_pem(text: str) -> PrivateKey:
    """Read an unencrypted PKCS #8 Ed25519 key. Raises RyeError ``bad-key``."""
    try:
        key = load_pem_private_key(text.encode("utf-8"), password=None)
    except TypeError:
        hint = "Decrypt it with the program that created it, then import it and let Rye seal it."
        raise RyeError("bad-key", "The private key is encrypted in a format that Rye cannot read.", hint) from None
    except (ValueError, UnsupportedAlgorithm):
        raise RyeError("bad-key", "This is not a private key in PEM form.", ED25519_HINT) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise RyeError("bad-key", "The PEM contains a key that is not an Ed25519 key.", ED25519_HINT)
    return PrivateKey(key.private_bytes_raw())


__all__ = ["read_private", "seal"]


def read_private(text: str, passphrase: str | None) -> PrivateKey:
    """Return the key of a sealed text, opened with the passphrase, or of a PEM, which needs none.

    Raises RyeError ``bad-key``, ``wrong-passphrase``, ``passphrase-needed``.
    """
    if not is_sealed(text):
        return read_private_pem(text)
    if passphrase is None:
        raise RyeError("passphrase-needed", "The private key is sealed.", "Enter its passphrase.")
    return unseal(text, passphrase)
