"""The user's own keys on disk (DESIGN §4 Keys).

::

    <config>/keys/            0700
        <name>.key            0600  the private key: PKCS #8 PEM, or sealed (rye.signing.keys)
        <name>.ssh-agent      0600  instead: the private key is in an ssh-agent; the OpenSSH line of its public half
        <name>.pub            0600  the public key in PEM (of a security key its OpenSSH line), to give to others
        <name>.used           0600  when it signed last
        default               the name of the key that signs if none is named: the first one, until changed

A key that is generated, imported or added here is trusted here: anyone who has the private half can vouch for it. A private
key that others can read is reported with the key, and with the command that fixes it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from types import ModuleType

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.items.identity import is_segment
from rye.limits import KEYS
from rye.signing.keys import PrivateKey, PublicKey, read_public_line, read_public_text
from rye.signing.sealed_form import is_sealed
from rye.signing.signature_line import format_timestamp, is_timestamp
from rye.signing.trust_store import TrustStore
from rye.storage import private_files
from rye.storage.safe_files import open_regular

_DEFAULT = "default"
_SUFFIXES = (".key", ".ssh-agent")
_NAMED = 10
"""Keys that a hint names."""


class StoredKey(Struct, frozen=True):
    """One key of the user as listed, without its private half."""

    name: str
    public: PublicKey
    sealed: bool
    default: bool
    path: Path
    """The file of the private key, or the one that says that an agent has it."""
    warning: str | None = None
    """If others can read the private key: what is wrong, and the command that fixes it."""

    @property
    def in_agent(self) -> bool:
        """Whether its private half is in an ssh-agent."""
        return self.path.suffix == ".ssh-agent"

    def as_json(self) -> dict[str, object]:
        """The key in the JSON of ``rye keys list``."""
        return {
            "name": self.name,
            "key_id": self.public.key_id,
            "fingerprint": self.public.fingerprint,
            "openssh_fingerprint": self.public.openssh_fingerprint,
            "place": "ssh-agent" if self.in_agent else "file",
            "hardware": self.public.hardware,
            "sealed": self.sealed,
            "default": self.default,
            "path": str(self.path),
            "warning": self.warning,
        }


class KeyStore:
    """The keys in a config folder (:attr:`rye.storage.home.Home.config`)."""

    def __init__(self, config: Path):
        self.folder = config / "keys"
        self.trust = TrustStore(config)

    def generate(self, name: str, now: datetime, passphrase: str | None = None) -> StoredKey:
        """Generate a key, store it (sealed if there is a passphrase) and trust it. Raises RyeError ``already-exists``."""
        key = PrivateKey.generate()
        return self._store(name, key.public, _private_text(key, passphrase), now, "made on this machine")

    def import_private(
        self, name: str, text: str, now: datetime, passphrase: str | None = None, *, unseal_with: str | None = None
    ) -> StoredKey:
        """Store and trust a private key from PEM or sealed text.

        ``unseal_with`` opens sealed text; ``passphrase`` seals it for the store.
        """
        return self.store_private(name, _read_private(text, unseal_with), now, passphrase, "imported private key")

    def store_private(
        self, name: str, key: PrivateKey, now: datetime, passphrase: str | None, source: str
    ) -> StoredKey:
        """Store and trust a private key that came from elsewhere; ``source`` says from where."""
        return self._store(name, key.public, _private_text(key, passphrase), now, source)

    def add_agent(self, name: str, key: PublicKey, now: datetime) -> StoredKey:
        """Store and trust the public half of a key in an ssh-agent. Raises RyeError ``already-exists``."""
        return self._store(name, key, key.ssh.line() + "\n", now, "in an ssh-agent", ".ssh-agent")

    def list(self) -> tuple[StoredKey, ...]:
        """Return all keys, sorted by name."""
        default = self.default_name()
        return tuple(self._stored(name, default) for name in self._names())

    def _names(self) -> Sequence[str]:
        """The names of all keys, sorted; none of their files is read."""
        files = (path for suffix in _SUFFIXES for path in self.folder.glob(f"*{suffix}"))
        return sorted({path.stem for path in files if is_segment(path.stem)})

    def _instead(self, *, to_sign: bool) -> str:
        """The hint for somebody who needs a key that is not here: which ones are. ``to_sign``: a new one would do, too."""
        names = self._names()
        if not names:
            none = "You have no keys yet, as `rye keys list` shows"
            return f"{none}; `rye keys generate` creates one." if to_sign else f"{none}."
        named = ", ".join(map(repr, names[:_NAMED]))
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        return f"Your keys: {named}{more}. `rye keys list` shows where each is and what accepts it."

    def get(self, name: str | None = None, *, to_sign: bool = False) -> StoredKey:
        """Return the key with this name or fingerprint (either form), or the default key. ``to_sign``: it is to sign something,
        so a new one would do, too. Raises RyeError ``no-key``."""
        default = self.default_name()
        wanted = name if name is not None else default
        if wanted is None:
            raise RyeError("no-key", "There is no key to sign with.", self._instead(to_sign=True))
        if wanted.startswith("SHA256:"):
            stored = next((one for one in self.list() if wanted in one.public.names), None)
            if stored is None:
                raise RyeError(
                    "no-key", f"None of your keys has the fingerprint {wanted!r}.", self._instead(to_sign=to_sign)
                )
            return stored
        if not is_segment(wanted) or not self._path(wanted).is_file():
            raise RyeError("no-key", f"There is no key called {wanted!r}.", self._instead(to_sign=to_sign))
        return self._stored(wanted, default)

    def private(self, name: str | None, passphrase: Callable[[], str]) -> PrivateKey:
        """Return the private half; ``passphrase`` is called only if it is sealed.

        Raises RyeError ``no-key``, ``bad-key``, ``wrong-passphrase``, ``key-in-ssh-agent``.
        """
        stored = self.with_private_file(name)
        text = self._read(stored.path)
        key = _read_private(text, passphrase() if stored.sealed else None)
        if key.public != stored.public:
            message = f"{stored.path} does not belong to {stored.path.with_suffix('.pub')}."
            raise RyeError("bad-key", message, "Restore both files from a backup.")
        return key

    def export_private(self, name: str | None = None) -> str:
        """Return the private key's file as it is stored, sealed or not. Raises RyeError ``no-key``, ``key-in-ssh-agent``."""
        return self._read(self.with_private_file(name).path)

    def with_private_file(self, name: str | None = None) -> StoredKey:
        """Return the key as :meth:`get` does, if its private half is in a file. Raises RyeError ``key-in-ssh-agent``."""
        stored = self.get(name)
        if stored.in_agent:
            message = f"The private half of {stored.name!r} is in your ssh-agent, not with Rye."
            raise RyeError(
                "key-in-ssh-agent", message, "Use the program that keeps it; `ssh-add -l` lists the agent's keys."
            )
        return stored

    def reseal(self, name: str | None, key: PrivateKey, passphrase: str | None) -> StoredKey:
        """Store the private half of ``key`` sealed under another passphrase; None: unsealed.

        Its public half does not change.
        """
        stored = self.get(name)
        if key.public != stored.public:
            raise RyeError(
                "bad-key", f"This is not the private half of {stored.name!r}.", "Name the key that it belongs to."
            )
        private_files.write(stored.path, _private_text(key, passphrase))
        return self.get(stored.name)

    def remove(self, name: str) -> StoredKey:
        """Delete both halves. What the key signed stays trusted until :class:`TrustStore` forgets it.

        Raises RyeError ``default-key`` if it is the default and there are other keys.
        """
        stored = self.get(name)
        if stored.default and len(self.list()) > 1:
            raise RyeError(
                "default-key", f"{name!r} is your default key.", "Choose another first: `rye keys default NAME`."
            )
        stored.path.unlink()
        for suffix in (".pub", ".used"):
            stored.path.with_suffix(suffix).unlink(missing_ok=True)
        if stored.default:
            (self.folder / _DEFAULT).unlink(missing_ok=True)
        return stored

    def mark_used(self, name: str, now: datetime) -> None:
        """Note that the key signs now. A full or read-only disk only costs the note."""
        with contextlib.suppress(OSError):
            private_files.write(self.folder / f"{name}.used", format_timestamp(now) + "\n")

    def last_used(self, name: str) -> str | None:
        """When the key signed last, as in a signature line; None if it never did here, or the note is not one."""
        try:
            text = self._read(self.folder / f"{name}.used").removesuffix("\n")
        except RyeError:
            return None
        return text if is_timestamp(text) else None

    def default_name(self) -> str | None:
        """Return the default key's name; None if there is no key."""
        try:
            name = self._read(self.folder / _DEFAULT).strip()
        except RyeError:
            return None
        return name if is_segment(name) else None

    def set_default(self, name: str) -> StoredKey:
        """Make a key the default. Raises RyeError ``no-key``."""
        stored = self.get(name)
        private_files.write(self.folder / _DEFAULT, stored.name + "\n")
        return self.get(name)

    def _store(
        self, name: str, key: PublicKey, text: str, now: datetime, source: str, suffix: str = ".key"
    ) -> StoredKey:
        if not is_segment(name):
            raise UsageError(
                "bad-argument",
                f"{name!r} cannot be a key's name.",
                "Use a-z, 0-9, - and _, at most 64.",
                what="key name",
            )
        path = self.folder / f"{name}{suffix}"
        private_files.make_folder(self.folder.parent)
        private_files.make_folder(self.folder)
        try:
            if self._path(name).is_file():
                raise FileExistsError
            private_files.write_new(path, text)
        except FileExistsError:
            hint = "Choose another name with --name; a key is never overwritten."
            message = f"There is already a key called {name!r} ({self._path(name)})."
            raise RyeError("already-exists", message, hint, what="key") from None
        try:
            self.trust.add(key, name, source, now)
            path.with_suffix(".used").unlink(missing_ok=True)  # a process may have signed while its key was removed
            private_files.write(path.with_suffix(".pub"), key.pem)
            default = self.default_name()
            if default is None or not self._path(default).is_file():
                private_files.write(self.folder / _DEFAULT, name + "\n")
        except BaseException:
            path.unlink()
            raise
        return self.get(name)

    def _stored(self, name: str, default: str | None) -> StoredKey:
        path = self._path(name)
        if path.suffix == ".ssh-agent":
            return StoredKey(name, read_public_line(self._read(path)), False, name == default, path)
        sealed = is_sealed(self._read(path))
        public = read_public_text(self._read(path.with_suffix(".pub")))
        warning = None
        if private_files.readable_by_others(path):
            warning = f"Other users can read the private key {path}; run `chmod 600 {path}`."
        return StoredKey(name, public, sealed, name == default, path, warning)

    def _path(self, name: str) -> Path:
        """The file of a key. A private key in a file comes first, should both be there."""
        paths = [self.folder / f"{name}{suffix}" for suffix in _SUFFIXES]
        return next((path for path in paths if path.is_file()), paths[0])

    def _read(self, path: Path) -> str:
        try:
            with open_regular(path) as file:
                data = file.read(KEYS.file_bytes + 1)
            if len(data) <= KEYS.file_bytes:
                return data.decode("utf-8")
            why = f"it is larger than {KEYS.file_bytes:,} bytes"
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not text"
        raise RyeError("bad-key", f"{path} cannot be read: {why}.", "Restore the file from a backup.")


def _forms() -> ModuleType:
    """The formats of private keys and their libraries, imported only when a private key is used."""
    from rye.signing import private_text

    return private_text


def _read_private(text: str, passphrase: str | None) -> PrivateKey:
    key: PrivateKey = _forms().read_private(text, passphrase)
    return key


def _private_text(key: PrivateKey, passphrase: str | None) -> str:
    """Return PEM, or the sealed form if there is a passphrase."""
    if passphrase is None:
        return key.pem()
    text: str = _forms().seal(key, passphrase)
    return text
