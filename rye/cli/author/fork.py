"""``rye fork``: make an installed item an item of this project that remembers where it comes from."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.workspace.authoring.forking import fork_item


@command("fork")
@click.argument("item", metavar="[KIND:]ID")
@click.argument("new_id", required=False, metavar="[NEW_ID]")
@click.pass_obj
def fork(session: Session, item: str, new_id: str | None) -> None:
    """Copy an installed item with all its files into this project, to change it as your own.

    Where it comes from is recorded in .ai/origins.toml: `rye diff --origin` shows what you and its author changed since, and
    `rye update --origin` merges the author's newer release into it.
    """
    done = fork_item(session, item, new_id)
    if session.json:
        document: dict[str, object] = {
            "kind": done.kind,
            "id": done.id,
            "path": done.shown,
            "files": list(done.files),
            "origin": {
                "item": str(done.origin.item),
                "version": done.origin.version,
                "digest": done.origin.digest,
                "source": done.origin.source,
                "signer": done.origin.signer,
                "ref": done.origin.ref,
                "commit": done.origin.commit,
            },
        }
        session.console.document(document)
        return
    count = len(done.files)
    more = f" and {count - 1} attached file{'s' * (count > 2)}" if count > 1 else ""
    session.console.data(f"created {done.shown}{more}, from {done.origin.item} {done.origin.version}")
    session.console.say(f"Change it, then sign it: `rye sign {done.shown}`.", "hint")
    if done.origin.is_of_source and done.origin.commit is None:
        said = f"Leave {done.origin.item} installed: `rye update --origin` can only follow it from there."
    else:
        said = f"`rye remove {done.origin.item}` removes the original, which is still installed."
    session.console.say(said, "hint")
