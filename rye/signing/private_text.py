"""Reading a private key's text in either form, PEM or sealed."""

from __future__ import annotations

from rye.errors import RyeError
from rye.signing.keys import PrivateKey
from rye.signing.private_pem import read_private_pem
from rye.signing.sealed_form import is_sealed
from rye.signing.sealing import seal, unseal

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
