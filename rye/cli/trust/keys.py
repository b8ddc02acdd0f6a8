"""``rye keys``: the user's own signing keys."""

from __future__ import annotations

import sys

import click

from rye.cli.main import family
from rye.cli.options import Session, command
from rye.cli.trust.own_keys import own_keys
from rye.errors import UsageError
from rye.layout import Column
from rye.limits import KEYS
from rye.signing.key_store import StoredKey
from rye.workspace.confirmation import confirm
from rye.workspace.named_file import NamedFile
from rye.workspace.new_file import write_new
from rye.workspace.publishing.moving_keys import move_key
from rye.workspace.trusting.key_uses import key_uses, removable
from rye.workspace.trusting.trusted_keys import trust_entries


def _place(key: StoredKey) -> str:
    if key.in_agent:
        return "ssh-agent"
    return "sealed file" if key.sealed else "file"


def _show(session: Session, key: StoredKey, done: str) -> None:
    if key.warning:
        session.console.warn(key.warning)
    if session.json:
        session.console.document(key.as_json())
        return
    session.console.data(f"{done} {key.name!r}")
    session.console.data(f"  key id       {key.public.key_id}")
    session.console.data(f"  fingerprint  {key.public.fingerprint}")
    session.console.data(f"  OpenSSH's    {key.public.openssh_fingerprint}")
    if key.in_agent:
        session.console.data(f"  in           your ssh-agent{', a security key' if key.public.hardware else ''}")
    else:
        session.console.data(f"  file         {key.path}{' (sealed)' if key.sealed else ''}")


@command("generate")
@click.option("--name", default="default", show_default=True, help="The name of the key.")
@click.option(
    "--passphrase", is_flag=True, help="Seal the private key with a passphrase (asked, or from RYE_PASSPHRASE)."
)
@click.pass_obj
def generate(session: Session, name: str, passphrase: bool) -> None:
    """Create an Ed25519 key pair and trust it."""
    _show(session, own_keys(session).generate(name, seal=passphrase), "created key")
    session.console.next_step("`rye namespace claim NAME` makes a namespace yours, `rye sign` signs your items.")


@command("add")
@click.option(
    "--agent",
    "selector",
    is_flag=False,
    flag_value="",
    metavar="[FINGERPRINT|COMMENT]",
    help="Take this Ed25519 key of your ssh-agent; without a value its only one.",
)
@click.option("--name", default="default", show_default=True, help="The name of the key here.")
@click.pass_obj
def add_key(session: Session, selector: str | None, name: str) -> None:
    """Use a key of your ssh-agent, and trust it. Only its public half is stored.

    Everything that signs can use it: it is your default key if it is your first, and `--key NAME` names it.
    """
    if selector is None:
        raise UsageError(
            "missing-argument",
            "It is not said where the key is.",
            "`rye keys add --agent` takes one from your ssh-agent; `rye keys import FILE` reads a private key.",
            what="key",
        )
    _show(session, own_keys(session).add_from_agent(selector, name), "added key")
    session.console.next_step("`rye namespace claim NAME` makes a namespace yours, `rye sign` signs your items.")


@command("list")
@click.pass_obj
def list_keys(session: Session) -> None:
    """Show your keys: where each is, which namespaces accept it, and when it signed last; * marks the default.

    Namespaces are those that this machine knows, as of its last look at their registries.
    """
    own = own_keys(session)
    keys = own.list()
    uses = key_uses(session, keys)
    for address, why in uses.unread:
        session.console.warn(f"The namespaces of {address} are not known: {why}")
    used = {key.name: own.store.last_used(key.name) for key in keys}
    for key in keys:
        if key.warning:
            session.console.warn(key.warning)
    if session.json:
        session.console.document(
            {"keys": [{**k.as_json(), "namespaces": uses.as_json(k.name), "last_used": used[k.name]} for k in keys]}
        )
        return
    if not keys:
        session.console.say("No keys yet. `rye keys generate` creates one.")
    session.console.table(
        [
            [
                "*" if k.default else "",
                k.name,
                _place(k),
                ", ".join(
                    f"{said} since {one.since[k.name]:%Y-%m-%d}" for said, one in uses.named(uses.of(k.name)).items()
                )
                or "-",
                (used[k.name] or "never")[:10],
                k.public.key_id,
                k.public.fingerprint,
            ]
            for k in keys
        ],
        ["", "NAME", "WHERE", "NAMESPACES", "SIGNED LAST", "KEY ID", Column("FINGERPRINT", least=16)],
    )


@command("export")
@click.argument("name", required=False)
@click.option("--private", is_flag=True, help="Print the private key, as stored.")
@click.option("--paper", is_flag=True, help="Print the private key for paper: words with a checksum, and a QR picture.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE (private keys: readable only by you).")
@click.pass_obj
def export(session: Session, name: str | None, private: bool, paper: bool, output: str | None) -> None:
    """Print a key's public half as PEM (or, with --private, the private one; with --paper, the private one to keep on paper)."""
    own = own_keys(session)
    stored = own.store.get(name)
    if paper:
        text = own.on_paper(stored.name)
        private = True
    else:
        text = own.store.export_private(name) if private else stored.public.pem
    if output is not None:
        write_new(NamedFile(session.path(output), output), text, private=private)
        session.console.say(f"wrote {'private' if private else 'public'} key {stored.name!r} to {output}")
        if paper:
            session.console.say("Print it, then delete the file: whoever has it can sign as you.", "warning")
    if session.json:
        session.console.document({**stored.as_json(), "paper" if paper else "pem": None if output else text})
    elif output is None:
        session.console.data(text, newline=False)


@command("import")
@click.argument("file", metavar="FILE", required=False)
@click.option("--paper", is_flag=True, help="Read the words of a key on paper from standard input.")
@click.option("--name", default="default", show_default=True, help="The name of the key.")
@click.option("--passphrase", is_flag=True, help="Seal the stored key with a new passphrase.")
@click.pass_obj
def import_key(session: Session, file: str | None, paper: bool, name: str, passphrase: bool) -> None:
    """Store a private key (PEM or sealed; with --paper, 18 words) and trust it."""
    own = own_keys(session)
    if paper == (file is not None):
        raise UsageError(
            "missing-argument",
            "It is not said where the key is: a file, or --paper.",
            "`rye keys import FILE` reads a file, `rye keys import --paper` the words of a paper on standard input.",
            what="key",
        )
    if file is not None:
        stored = own.import_from(session.path(file), name, seal=passphrase)
    else:
        if session.interactive:
            session.console.say("Type the 18 words of the paper, then Ctrl-D on a line of its own.")
        typed = sys.stdin.buffer.read(KEYS.file_bytes + 1)[: KEYS.file_bytes]
        stored = own.import_words(typed.decode("utf-8", "replace"), name, seal=passphrase)
    _show(session, stored, "imported key")


@command("default")
@click.argument("name")
@click.pass_obj
def default(session: Session, name: str) -> None:
    """Choose the key that is used when none is named."""
    _show(session, own_keys(session).store.set_default(name), "default key is")


@command("passphrase")
@click.argument("name", required=False)
@click.option("--remove", "unseal", is_flag=True, help="Store the key without a passphrase.")
@click.pass_obj
def passphrase(session: Session, name: str | None, unseal: bool) -> None:
    """Seal a key with a new passphrase, or unseal it. The key and its id stay. A new passphrase is asked for twice.

    Without a terminal, RYE_PASSPHRASE opens the key and RYE_NEW_PASSPHRASE seals it.
    """
    own = own_keys(session)
    stored = own.store.get(name)
    private = own.private(name)
    new = None if unseal else own.new_passphrase("RYE_NEW_PASSPHRASE" if stored.sealed else "RYE_PASSPHRASE")
    _show(session, own.store.reseal(name, private, new), "unsealed key" if unseal else "sealed key")


@command("move")
@click.argument("old", metavar="OLD")
@click.option(
    "--agent",
    "selector",
    required=True,
    metavar="FINGERPRINT|COMMENT",
    help="The key of your ssh-agent that takes its place; a security key, too.",
)
@click.option("--name", help="The name of the new key here (default: OLD-agent).")
@click.pass_obj
def move(session: Session, old: str, selector: str, name: str | None) -> None:
    """Put a key of your ssh-agent in the place of the key OLD, in every namespace that this machine can change alone.

    Each change is signed by both. What the old key signed stays valid, and the old key stays where it is.
    """
    confirm(session, f"Replace {old!r} by {selector!r} in your namespaces?", "nothing was changed.")
    moved = move_key(session, own_keys(session), old, selector, name or f"{old}-agent")
    for address, why in moved.unread:
        session.console.warn(f"The namespaces of {address} are not known: {why}")
    if session.json:
        session.console.document(moved.as_json())
        return
    session.console.data(f"{moved.new.name!r} is in your ssh-agent: {moved.new.public.fingerprint}")
    for namespace in moved.namespaces:
        session.console.data(f"  {namespace}: it replaced {moved.old.name!r}")
    for one in moved.left:
        session.console.data(f"  {one.namespace}: still {moved.old.name!r}. {one.why}")
        session.console.data(f"    run `{one.command}`")
    if not moved.namespaces and not moved.left:
        session.console.say(f"No namespace that this machine knows accepts {moved.old.name!r}.")
    session.console.say(
        f"Items that {moved.old.name!r} signed and that are not published yet: `rye sign --force` signs them again."
    )
    session.console.next_step(f"`rye keys remove {moved.old.name}` deletes the old key, once nothing needs it.")


@command("remove")
@click.argument("name")
@click.option(
    "--leave-without-key",
    "namespace",
    multiple=True,
    metavar="NAMESPACE",
    help="Even if this namespace is then left without a key of this machine. Repeatable.",
)
@click.pass_obj
def remove(session: Session, name: str, namespace: tuple[str, ...]) -> None:
    """Delete one of your keys permanently. Asks first; without a terminal it needs --yes.

    Refuses where a namespace would be left without a key of this machine. The key stays in namespaces until
    `rye namespace keys remove`, and in your trust store until `rye trust remove`.
    """
    own = own_keys(session)
    stored = removable(session, own, name, left=namespace)
    what = f"Forget the key {stored.name!r}" if stored.in_agent else f"Delete the private key {stored.name!r}"
    question = f"{what} ({stored.public.fingerprint}){'' if stored.in_agent else ' permanently'}?"
    confirm(session, question, "no key was deleted.")
    _show(session, own.store.remove(stored.name), "forgot key" if stored.in_agent else "deleted key")
    if any(entry.key == stored.public and not entry.revoked for entry in trust_entries(session.home)):
        said = f"What it signed is still trusted here. `rye trust remove {stored.public.key_id}` ends that."
        session.console.say(said, "hint")


keys = family(
    "keys",
    "Manage your own signing keys.",
    {
        "generate": ("rye.cli.trust.keys:generate", "Create a key pair and trust it."),
        "add": ("rye.cli.trust.keys:add_key", "Use a key of your ssh-agent."),
        "list": ("rye.cli.trust.keys:list_keys", "Show your keys."),
        "export": ("rye.cli.trust.keys:export", "Print a key's public half."),
        "import": ("rye.cli.trust.keys:import_key", "Store a private key."),
        "default": ("rye.cli.trust.keys:default", "Choose the default key."),
        "passphrase": ("rye.cli.trust.keys:passphrase", "Seal a key with a new passphrase, or unseal it."),
        "move": ("rye.cli.trust.keys:move", "Put a key of your ssh-agent in another's place."),
        "remove": ("rye.cli.trust.keys:remove", "Delete a key."),
    },
)
