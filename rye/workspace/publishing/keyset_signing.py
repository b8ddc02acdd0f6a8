"""Sign a keyset and log it. If this machine's keys are not enough, a file carries it to the other owners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.registry.protocol import notes
from rye.registry.protocol.notes import NoteError, SignedNote, Signer
from rye.registry.protocol.statements import Keyset
from rye.registry.trust.keysets import namespace_keys
from rye.storage.safe_files import read_bytes
from rye.workspace.publishing.owner_statements import log_note, owner_signer
from rye.workspace.registries.registry_access import configured, open_registry

if TYPE_CHECKING:
    from rye.registry.client import RegistryClient
    from rye.workspace.context import Context
    from rye.workspace.trusting.own_keys import OwnKeys


class Signing(Struct, frozen=True):
    """The keys that sign a keyset (none named: all of the user's owner keys), and the file to write if they are not enough."""

    key_names: tuple[str, ...] = ()
    output: Path | None = None


class KeysetOutcome(Struct, frozen=True):
    """A keyset in the log at position ``log``, or in ``file`` because it needs ``missing``."""

    keyset: Keyset
    log: int | None = None
    file: Path | None = None
    missing: str | None = None


class SignedFile(Struct, frozen=True):
    """How many signatures a keyset file has now."""

    signatures: int


def sign_and_send(
    context: Context, client: RegistryClient, keys: OwnKeys, keyset: Keyset, signing: Signing
) -> KeysetOutcome:
    """Sign with this machine's keys. Publish if that is enough; otherwise write the file for the other owners.

    Raises RyeError ``signatures-missing`` if no file was named.
    """
    _warn_of_fewer(context, keyset)
    before = _in_force(context, client, keyset.namespace)
    note = sign_keyset(keys, keyset, signing.key_names, before)
    missing = _missing(keyset, before, note)
    if not missing:
        return KeysetOutcome(keyset, log=_send(context, client, keyset, note))
    if signing.output is None:
        raise RyeError(
            "signatures-missing",
            f"Keyset {keyset.number} of {keyset.namespace!r} needs {missing}.",
            "Write it to a file with -o FILE. Each of the other owners then runs `rye namespace sign FILE`.",
        )
    write_keyset(signing.output, note)
    return KeysetOutcome(keyset, file=signing.output, missing=missing)


def sign_keyset(keys: OwnKeys, keyset: Keyset, key_names: Sequence[str], before: Keyset | None = None) -> SignedNote:
    """The keyset as a signed note. Without ``key_names``, all of the user's keys in this keyset or the previous one sign."""
    return notes.sign(keyset.text(), _signers(keys, keyset, key_names, before))


def add_signature(
    keys: OwnKeys, path: Path, shown: str, key_names: Sequence[str], agreed: Callable[[str, Sequence[str]], bool]
) -> SignedFile:
    """Sign a keyset that another owner wrote to a file. Raises RyeError ``declined``.

    ``agreed`` gets its text and the fingerprints of the signing keys that the keyset does not list.
    """
    note, keyset = _read(path)
    outside = [key.fingerprint for key in map(keys.public, key_names or (None,)) if key.raw not in keyset.keys]
    if not agreed(note.text, outside):
        raise RyeError("declined", f"You declined to sign {shown}.")
    signed = notes.add_signatures(note, _signers(keys, keyset, key_names))
    path.write_text(signed.encode(), encoding="utf-8")
    return SignedFile(len(signed.signatures))


def submit_keyset(context: Context, path: Path, shown: str) -> KeysetOutcome:
    """Publish a keyset that enough owners signed. Raises RyeError ``signatures-missing``."""
    note, keyset = _read(path)
    with open_registry(context, configured(context).of(keyset.namespace), origin=keyset.origin, writes=True) as client:
        missing = _missing(keyset, _in_force(context, client, keyset.namespace), note)
        if missing is not None:
            raise RyeError(
                "signatures-missing",
                f"Keyset {keyset.number} of {keyset.namespace!r} needs {missing}.",
                f"Have another owner run `rye namespace sign {shown}` first.",
            )
        return KeysetOutcome(keyset, log=_send(context, client, keyset, note))


def write_keyset(path: Path, note: SignedNote) -> None:
    """Write the note to a new file. Raises RyeError ``already-exists``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(note.encode())
    except FileExistsError:
        raise RyeError(
            "already-exists", f"{str(path)!r} already exists.", "Choose another file name for -o.", what="file"
        ) from None


def _warn_of_fewer(context: Context, keyset: Keyset) -> None:
    """Warn if fewer keys can change the keyset than must sign a release: they can lower that number, then release."""
    if keyset.threshold < keyset.release_threshold:
        context.warn(
            f"{keyset.release_threshold} keys must sign a release of {keyset.namespace!r}, but {keyset.threshold} can "
            "change the keys and this number: one who has them can publish alone.",
            f"Give --threshold {keyset.release_threshold} as well.",
        )


def _signers(keys: OwnKeys, keyset: Keyset, key_names: Sequence[str], before: Keyset | None = None) -> list[Signer]:
    both = (keyset, before) if before is not None else (keyset,)
    counting = {key.raw for each in both for key in each.accepted_keys()}
    own = tuple(stored.name for stored in keys.list() if stored.public.raw in counting)
    named = key_names or own or (None,)
    # Where hardware is required, the registry refuses the signatures of the owners' other keys.
    needless = {key for each in both for key in each.keys} - counting
    names = [name for name in named if keys.public(name).raw not in needless] or named
    chosen = [keys.signing_key(name) for name in names]
    return [owner_signer(keyset.origin, keyset.namespace, signing_key) for signing_key in chosen]


def _in_force(context: Context, client: RegistryClient, namespace: str) -> Keyset | None:
    link = client.keysets([namespace])[namespace].current(context.now())
    return link.keyset if link is not None else None


def _missing(keyset: Keyset, before: Keyset | None, note: SignedNote) -> str | None:
    """The signatures that a keyset still needs, in words; None if it can be published."""
    needs = [(keyset, "its own keys")]
    if before is not None and keyset.recovery is None:
        needs.append((before, f"the keys of keyset {before.number}"))
    for required, whose in needs:
        try:
            notes.verify(note, namespace_keys(required), required.threshold)
        except NoteError:
            return f"{required.threshold} signature{'s' if required.threshold > 1 else ''} by {whose}"
    return None


def _send(context: Context, client: RegistryClient, keyset: Keyset, note: SignedNote) -> int:
    def is_there() -> bool:
        chain = client.keysets([keyset.namespace])[keyset.namespace]
        return any(link.keyset == keyset for link in chain.links)

    return log_note(context, client, note.encode(), "keyset", is_there)


def _read(path: Path) -> tuple[SignedNote, Keyset]:
    note = notes.parse(read_bytes(path, notes.MAX_NOTE_BYTES))
    return note, Keyset.parse(note.text)
