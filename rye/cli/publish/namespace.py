"""``rye namespace``: who may publish under a name. Its owners sign keysets; the registry only logs them (DESIGN §5).

A keyset that needs more signatures than this machine can give is written to a file: each owner runs ``rye namespace sign FILE``
on their own machine, and whoever has the last one runs ``rye namespace submit FILE``.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from rye.cli.main import family
from rye.cli.options import Session, command
from rye.cli.publish.owner_statements import keyset_in_force
from rye.cli.publish.owner_statements import now as _now
from rye.cli.registry.registry_access import configured, open_api, open_registry, show_document
from rye.errors import RyeError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from rye.registry.client import RegistryClient
    from rye.registry.protocol.notes import SignedNote, Signer
    from rye.registry.protocol.statements import Keyset
    from rye.signing.keys import PublicKey

_RECOVERY_MARGIN = timedelta(hours=1)

key_option = click.option(
    "--key", "key_names", multiple=True, metavar="NAME", help="Sign with this key of yours; repeat for more."
)
output_option = click.option("-o", "--output", metavar="FILE", help="Where a keyset goes that more owners must sign.")


@command("claim")
@click.argument("namespace")
@key_option
@click.option(
    "--owner", "owner_files", multiple=True, metavar="FILE", help="Another owner's public key; repeat for more."
)
@click.option(
    "--threshold", type=click.IntRange(1, 16), default=1, show_default=True, help="How many owners must sign."
)
@output_option
@click.pass_obj
def claim(
    session: Session,
    namespace: str,
    key_names: tuple[str, ...],
    owner_files: tuple[str, ...],
    threshold: int,
    output: str | None,
) -> None:
    """Claim NAMESPACE for your key, or for several owners of whom --threshold must sign every change of keys."""
    from rye.items.identity import is_segment
    from rye.registry.protocol.statements import Keyset

    if not is_segment(namespace) or namespace == "root":
        raise UsageError(
            "bad-name",
            f"{namespace!r} cannot be a namespace.",
            "Names: a-z, 0-9, '-' and '_', at most 64; `root` is reserved.",
        )
    own = [_public(name) for name in key_names or (None,)]
    owners = {key.raw for key in (*own, *_key_files(session, owner_files))}
    if threshold > len(owners):
        raise UsageError(
            "bad-threshold", f"{threshold} of {len(owners)} owners cannot sign.", "Name more with --owner."
        )
    with open_registry(session, configured(session).of(namespace)) as client:
        present = client.keysets([namespace])[namespace].current(datetime.now(UTC))
        if present is not None:
            raise _taken(namespace, present.keyset, own)
        _warn_of_look_alikes(session, client, namespace)
        keyset = Keyset(
            origin=client.origin,
            namespace=namespace,
            number=1,
            previous=None,
            time=_now(),
            threshold=threshold,
            keys=tuple(owners),
        )
        _sign_and_send(session, client, keyset, key_names, output)


def _warn_of_look_alikes(session: Session, client: RegistryClient, namespace: str) -> None:
    from rye.publishing.look_alikes import is_close

    near = sorted(name for name in {identity.namespace for identity in client.names()} if is_close(namespace, name))
    if near:
        session.console.warn(
            f"{namespace!r} is close to the namespace {near[0]!r}: people may take one for the other.",
            "Choose another name unless both are yours.",
        )


def _taken(namespace: str, keyset: Keyset, own: list[PublicKey]) -> RyeError:
    if any(key.raw in keyset.keys for key in own):
        return RyeError("namespace-yours", f"{namespace!r} is yours already.", "Go on with `rye publish`.")
    return RyeError(
        "namespace-taken",
        f"The namespace {namespace!r} is taken.",
        f"Choose another, or ask its owners (`rye namespace show {namespace}`) to add your key.",
    )


@command("show")
@click.argument("namespace")
@click.pass_obj
def show(session: Session, namespace: str) -> None:
    """Show a namespace's keys, how many must sign, and its history of keysets."""
    from rye.registry.protocol.lines import write_time
    from rye.signing.keys import PublicKey

    with open_registry(session, configured(session).of(namespace)) as client:
        chain = client.keysets([namespace])[namespace]
        now = client.head.snapshot.time
    current, pending = chain.current(now), chain.pending(now)
    if current is None:
        raise RyeError(
            "no-such-namespace", f"Nobody owns {namespace!r}.", f"`rye namespace claim {namespace}` makes it yours."
        )
    document = {
        "namespace": namespace,
        "number": current.keyset.number,
        "threshold": current.keyset.threshold,
        "keys": [PublicKey(key).fingerprint for key in current.keyset.keys],
        "revoked": [{"key": PublicKey(r.key).fingerprint, "position": r.position} for r in current.keyset.revoked],
        "history": [
            {
                "number": link.keyset.number,
                "position": link.position,
                "time": write_time(link.keyset.time),
                "recovery": write_time(link.keyset.recovery) if link.keyset.recovery else None,
            }
            for link in chain.links
        ],
        "pending_recovery": write_time(pending.keyset.recovery) if pending and pending.keyset.recovery else None,
        "pending_keys": [PublicKey(key).fingerprint for key in pending.keyset.keys] if pending else [],
    }
    text = [
        f"{namespace}: keyset {current.keyset.number}, {current.keyset.threshold} of {len(current.keyset.keys)} sign"
    ]
    text += [f"  key      {fingerprint}" for fingerprint in document["keys"]]  # type: ignore[attr-defined]
    text += [f"  revoked  {PublicKey(r.key).fingerprint} from position {r.position}" for r in current.keyset.revoked]
    if pending is not None:
        text.append(f"  a recovery by the registry's owners takes effect at {document['pending_recovery']}, with")
        text += [f"  key      {fingerprint}" for fingerprint in document["pending_keys"]]  # type: ignore[attr-defined]
        text.append(f"  its present owners can object: rye namespace object {namespace}")
    show_document(session, document, "\n".join(text))


@command("add")
@click.argument("namespace")
@click.argument("file", metavar="FILE")
@click.option("--threshold", type=click.IntRange(1, 16), help="How many owners must sign from now on.")
@key_option
@output_option
@click.pass_obj
def keys_add(
    session: Session, namespace: str, file: str, threshold: int | None, key_names: tuple[str, ...], output: str | None
) -> None:
    """Add the public key in FILE (PEM or key TOML) to a namespace."""
    added = _key_files(session, (file,))[0]
    with open_registry(session, configured(session).of(namespace)) as client:
        before = keyset_in_force(client, namespace)
        if added.raw in before.keys:
            raise RyeError(
                "key-there",
                f"{added.fingerprint} is a key of {namespace!r} already.",
                f"`rye namespace show {namespace}` lists its keys.",
            )
        if any(added.raw == revocation.key for revocation in before.revoked):
            raise RyeError(
                "key-revoked",
                f"{added.fingerprint} was revoked in {namespace!r}, for ever.",
                "Make another: `rye keys generate`.",
            )
        keyset = _next(before, (*before.keys, added.raw), threshold)
        _sign_and_send(session, client, keyset, key_names, output)


@command("remove")
@click.argument("namespace")
@click.argument("fingerprint")
@click.option("--threshold", type=click.IntRange(1, 16), help="How many owners must sign from now on.")
@key_option
@output_option
@click.pass_obj
def keys_remove(
    session: Session,
    namespace: str,
    fingerprint: str,
    threshold: int | None,
    key_names: tuple[str, ...],
    output: str | None,
) -> None:
    """Take a key out of a namespace. What it signed so far stays good; `revoke` is for a stolen key."""
    with open_registry(session, configured(session).of(namespace)) as client:
        before = keyset_in_force(client, namespace)
        gone = _selected(namespace, before.keys, fingerprint)
        keyset = _next(before, _without(before, gone), threshold)
        _sign_and_send(session, client, keyset, key_names, output)


@command("revoke")
@click.argument("namespace")
@click.argument("fingerprint")
@click.option(
    "--from", "position", type=click.IntRange(0), help="Log position from which it no longer counts; default: now."
)
@click.option("--threshold", type=click.IntRange(1, 16), help="How many owners must sign from now on.")
@key_option
@output_option
@click.pass_obj
def revoke(
    session: Session,
    namespace: str,
    fingerprint: str,
    position: int | None,
    threshold: int | None,
    key_names: tuple[str, ...],
    output: str | None,
) -> None:
    """Revoke a key of a namespace: what it signed from --from on is never installed again, earlier releases stay good."""
    from rye.registry.protocol.statements import Revocation

    with open_registry(session, configured(session).of(namespace)) as client:
        before = keyset_in_force(client, namespace)
        links = client.keysets([namespace])[namespace].links
        # A key that was only taken out can turn out to be stolen later.
        ever = tuple(dict.fromkeys(key for link in links for key in link.keyset.keys))
        gone = _selected(namespace, (*before.keys, *ever), fingerprint)
        known = next((revocation for revocation in before.revoked if revocation.key == gone), None)
        if known is not None:
            raise RyeError(
                "key-revoked",
                f"The key is revoked from position {known.position} already.",
                f"`rye namespace show {namespace}` lists what is revoked.",
            )
        size = client.head.checkpoint.size
        if position is not None and position > size:
            raise UsageError(
                "bad-position", f"The log has {size} entries; position {position} is beyond it.", "Leave --from out."
            )
        keyset = _next(
            before,
            _without(before, gone),
            threshold,
            revoked=(*before.revoked, Revocation(gone, size if position is None else position)),
        )
        _sign_and_send(session, client, keyset, key_names, output)


@command("recover")
@click.argument("namespace")
@key_option
@click.option(
    "-o", "--output", metavar="FILE", required=True, help="Where the draft goes that the registry's owners sign."
)
@click.pass_obj
def recover(session: Session, namespace: str, key_names: tuple[str, ...], output: str) -> None:
    """Draft a recovery of a namespace whose keys are lost, for your key.

    The registry's owners sign the draft (`rye-registry root sign FILE`), then `rye namespace submit FILE` publishes it. It takes
    effect after 72 hours in public, and every user of the namespace is asked.
    """
    with open_registry(session, configured(session).of(namespace)) as client:
        before = keyset_in_force(client, namespace)
        now = _now()
        own = tuple(dict.fromkeys(_public(name).raw for name in key_names or (None,)))
        if any(revocation.key in own for revocation in before.revoked):
            raise RyeError(
                "key-revoked", "The key was revoked in this namespace, for ever.", "Make another: `rye keys generate`."
            )
        keyset = _next(before, own, 1, time=now, recovery=now + timedelta(hours=72) + _RECOVERY_MARGIN)
        note = _signed(session, keyset, key_names)
        _write(session.path(output), note)
    show_document(
        session,
        {"file": output, "namespace": namespace, "number": keyset.number},
        f"wrote {output}; the registry's owners sign it with `rye-registry root sign {output} --key FILE`",
    )


@command("object")
@click.argument("namespace")
@key_option
@output_option
@click.pass_obj
def object_(session: Session, namespace: str, key_names: tuple[str, ...], output: str | None) -> None:
    """Object to a recovery that has not taken effect: the present keys stay, and the recovery is gone."""
    with open_registry(session, configured(session).of(namespace)) as client:
        before = keyset_in_force(client, namespace)
        if client.keysets([namespace])[namespace].pending(datetime.now(UTC)) is None:
            raise RyeError(
                "nothing-to-do",
                f"No recovery of {namespace!r} is waiting.",
                f"`rye namespace show {namespace}` shows its history.",
            )
        _sign_and_send(session, client, _next(before, before.keys, None), key_names, output)


@command("sign")
@click.argument("file", metavar="FILE")
@key_option
@click.pass_obj
def sign(session: Session, file: str, key_names: tuple[str, ...]) -> None:
    """Add your signature to a keyset that another owner wrote to FILE. Shows what it says first."""
    from rye.registry.protocol import notes

    path = session.path(file)
    note, keyset = _read(path)
    session.console.say(note.text.rstrip())
    for name in key_names or (None,):
        key = _public(name)
        if key.raw not in keyset.keys:
            session.console.warn(
                f"Your key {key.fingerprint} is not among the new keys; it counts only as one of those before."
            )
    if session.interactive and not session.yes and not session.console.confirm("Sign this change of keys?"):
        raise RyeError("declined", "It was not signed.")
    signed = notes.add_signatures(note, _signers(session, keyset, key_names))
    path.write_text(signed.encode(), encoding="utf-8")
    show_document(
        session,
        {"file": file, "signatures": len(signed.signatures)},
        f"signed {file} ({len(signed.signatures)} signatures); the last owner runs `rye namespace submit {file}`",
    )


@command("submit")
@click.argument("file", metavar="FILE")
@click.pass_obj
def submit(session: Session, file: str) -> None:
    """Publish a keyset that enough owners signed."""
    note, keyset = _read(session.path(file))
    with open_registry(session, configured(session).of(keyset.namespace), origin=keyset.origin) as client:
        missing = _missing(client, keyset, note)
        if missing is not None:
            raise RyeError(
                "signatures-missing",
                f"Keyset {keyset.number} of {keyset.namespace!r} needs {missing}.",
                f"Another owner runs `rye namespace sign {file}` first.",
            )
        _send(session, client, keyset, note)


# -- how a keyset comes about ---------------------------------------------------------------------------------------------


def _public(name: str | None) -> PublicKey:
    from rye.cli.trust.key_access import key_store

    return key_store().get(name).public


def _key_files(session: Session, files: tuple[str, ...]) -> list[PublicKey]:
    from rye.signing.trust_store import read_key_file

    return [read_key_file(session.path(file))[0] for file in files]


def _next(before: Keyset, keys: tuple[bytes, ...], threshold: int | None, **changes: object) -> Keyset:
    """The keyset after ``before``. The threshold stays unless the person says otherwise: it is never lowered silently."""
    from msgspec.structs import replace

    from rye.registry.protocol.statements import MAX_KEYS

    wanted = threshold or before.threshold
    if wanted > len(keys):
        raise UsageError(
            "bad-threshold",
            f"{wanted} owners must sign for {before.namespace!r}, and {len(keys)} would be left.",
            f"Say how many must sign from now on: --threshold {len(keys)}.",
        )
    if len(keys) > MAX_KEYS:
        raise RyeError(
            "too-many-keys",
            f"A namespace has at most {MAX_KEYS} keys.",
            f"Take one out first: `rye namespace keys remove {before.namespace} FINGERPRINT`.",
        )
    changed = {"time": _now(), "recovery": None, **changes, "keys": keys, "threshold": wanted}
    return replace(before, number=before.number + 1, previous=before.sha256(), **changed)


def _selected(namespace: str, keys: tuple[bytes, ...], fingerprint: str) -> bytes:
    """The one of ``keys`` that the person means: by fingerprint, or by key id where that is only one's."""
    from rye.signing.keys import PublicKey

    found = {key for key in keys if fingerprint in (PublicKey(key).fingerprint, PublicKey(key).key_id)}
    if len(found) != 1:
        raise RyeError(
            "unknown-key",
            f"{fingerprint!r} is {'more than one' if found else 'no'} key of {namespace!r}.",
            f"`rye namespace show {namespace}` lists them.",
        )
    return found.pop()


def _without(before: Keyset, gone: bytes) -> tuple[bytes, ...]:
    rest = tuple(key for key in before.keys if key != gone)
    if not rest:
        raise RyeError(
            "last-key",
            f"It is the only key of {before.namespace!r}.",
            f"Add another first: `rye namespace keys add {before.namespace} FILE`.",
        )
    return rest


def _signers(
    session: Session, keyset: Keyset, key_names: tuple[str, ...], before: Keyset | None = None
) -> list[Signer]:
    """Signers with the keys named or, with none named, with every key of this machine that owns it now or before."""
    from rye.cli.trust.key_access import key_store, signing_key
    from rye.registry.protocol.notes import Signer as NoteSigner
    from rye.registry.protocol.notes import VerifierKey
    from rye.registry.protocol.statements import namespace_key_name

    name = namespace_key_name(keyset.origin, keyset.namespace)
    owners = {*keyset.keys, *(before.keys if before is not None else ())}
    own = tuple(stored.name for stored in key_store().list() if stored.public.raw in owners)
    keys = [signing_key(session, key) for key in key_names or own or (None,)]
    return [NoteSigner(VerifierKey(name, key.public.raw), key.sign) for key in keys]


def _signed(session: Session, keyset: Keyset, key_names: tuple[str, ...], before: Keyset | None = None) -> SignedNote:
    from rye.registry.protocol import notes

    return notes.sign(keyset.text(), _signers(session, keyset, key_names, before))


def _sign_and_send(
    session: Session, client: RegistryClient, keyset: Keyset, key_names: tuple[str, ...], output: str | None
) -> None:
    """Sign with the keys of this machine; publish when that is enough, else write the file for the other owners."""
    link = client.keysets([keyset.namespace])[keyset.namespace].current(datetime.now(UTC))
    note = _signed(session, keyset, key_names, link.keyset if link is not None else None)
    missing = _missing(client, keyset, note)
    if not missing:
        _send(session, client, keyset, note)
        return
    if output is None:
        raise RyeError(
            "signatures-missing",
            f"Keyset {keyset.number} of {keyset.namespace!r} needs {missing}.",
            "Write it to a file for the other owners with -o FILE; each runs `rye namespace sign FILE`.",
        )
    _write(session.path(output), note)
    show_document(
        session,
        {"file": output, "namespace": keyset.namespace, "number": keyset.number, "missing": missing},
        f"wrote {output}; it needs {missing}: the other owners run `rye namespace sign {output}`, "
        f"then `rye namespace submit {output}`",
    )


def _missing(client: RegistryClient, keyset: Keyset, note: SignedNote) -> str | None:
    """What a keyset still needs, in words; None when it can be published."""
    from rye.registry.protocol import notes
    from rye.registry.protocol.notes import NoteError
    from rye.registry.trust.keysets import namespace_keys

    before = client.keysets([keyset.namespace])[keyset.namespace].current(datetime.now(UTC))
    needs = [(keyset, "its own keys")]
    if before is not None and keyset.recovery is None:
        needs.append((before.keyset, f"the keys of keyset {before.keyset.number}"))
    for required, whose in needs:
        try:
            notes.verify(note, namespace_keys(required), required.threshold)
        except NoteError:
            return f"{required.threshold} signature{'s' if required.threshold > 1 else ''} by {whose}"
    return None


def _send(session: Session, client: RegistryClient, keyset: Keyset, note: SignedNote) -> None:
    answer = open_api(session, client).post_statements([note.encode()])
    client.refresh()
    chain = client.keysets([keyset.namespace])[keyset.namespace]
    if not any(link.keyset == keyset for link in chain.links):
        raise RyeError(
            "not-in-log", "The registry answered, but its log does not show the keyset.", "Do not rely on it."
        )
    show_document(
        session,
        {"namespace": keyset.namespace, "number": keyset.number, "log": answer.results[0].log},
        f"keyset {keyset.number} of {keyset.namespace} is in the log at position {answer.results[0].log}",
    )


def _read(path: Path) -> tuple[SignedNote, Keyset]:
    from rye.project.item_file import read_bytes
    from rye.registry.protocol import notes
    from rye.registry.protocol.statements import Keyset

    note = notes.parse(read_bytes(path, notes.MAX_NOTE_BYTES))
    return note, Keyset.parse(note.text)


def _write(path: Path, note: SignedNote) -> None:
    if path.exists():
        raise RyeError("file-exists", f"{str(path)!r} exists.", "Give another name to -o.")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(note.encode(), encoding="utf-8")


keys = family(
    "keys",
    "The keys of a namespace.",
    {
        "add": ("rye.cli.publish.namespace:keys_add", "Add a key."),
        "remove": ("rye.cli.publish.namespace:keys_remove", "Take a key out."),
    },
)
namespace = family(
    "namespace",
    "Who may publish under a name.",
    {
        "claim": ("rye.cli.publish.namespace:claim", "Claim a namespace for your key."),
        "show": ("rye.cli.publish.namespace:show", "Show its keys and history."),
        "keys": ("rye.cli.publish.namespace:keys", "Add or remove keys."),
        "revoke": ("rye.cli.publish.namespace:revoke", "Revoke a stolen key."),
        "recover": ("rye.cli.publish.namespace:recover", "Draft a recovery when all keys are lost."),
        "object": ("rye.cli.publish.namespace:object_", "Object to a recovery that waits."),
        "sign": ("rye.cli.publish.namespace:sign", "Add your signature to a keyset file."),
        "submit": ("rye.cli.publish.namespace:submit", "Publish a keyset that enough owners signed."),
    },
)
