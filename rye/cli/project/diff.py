"""``rye diff``: two releases, what is installed against the newest, hand edits, or what overrides make of an item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from rye.cli.console import printable
from rye.cli.options import Session, command
from rye.cli.project.installing import Run, Told
from rye.errors import UsageError
from rye.project.context import require_project
from rye.project.layout import Project, find_project

if TYPE_CHECKING:
    from rye.installation.comparing import Comparison, Version
    from rye.installation.on_disk import Drift
    from rye.installation.sources import Sources
    from rye.installation.verified import VerifiedItem
    from rye.items.reading import HookAction
    from rye.permissions.containment import Change


@command("diff")
@click.argument("items", nargs=-1, metavar="[KIND:]ID[@VERSION] [ID@VERSION]")
@click.option("--edited", is_flag=True, help="Show files below .ai/packages that were edited by hand.")
@click.option("--effective", is_flag=True, help="Show what the overrides in force make of an item.")
@click.pass_obj
def diff(session: Session, items: tuple[str, ...], edited: bool, effective: bool) -> None:
    """Compare releases: text, rights, dependencies, hooks. One ID: what is installed against the newest (or VERSION).

    Both sides come from the registry, verified. Exits 0 whether they differ or not.
    """
    if edited + effective > 1 or (edited and items):
        raise UsageError("contradiction", "--edited goes alone.", "Run `rye diff --edited`.")
    if edited:
        _edited(session)
    elif effective:
        if len(items) != 1:
            raise UsageError("usage", "--effective takes one item.", "Run `rye diff ID --effective`.")
        _effective(session, items[0])
    elif len(items) in (1, 2):
        _releases(session, items)
    else:
        raise UsageError("usage", "Name one or two items.", "Run `rye diff ID@1.0.0 ID@2.0.0` or `rye diff ID`.")


# -- releases ----------------------------------------------------------------------------------------------------------------


def _run(session: Session) -> Run:
    """Works outside a project, too: then the user's registry answers."""
    return Run(session, find_project(session.cwd) or Project(session.cwd.absolute()), Told("rye diff"))


def _releases(session: Session, items: Sequence[str]) -> None:
    from rye.installation.comparing import compare

    run = _run(session)
    with run.sources() as sources, session.console.progress("fetching"):
        old, new = _pair(run, sources, items)
    before, after = _version(old), _version(new)
    _show(session, before, after, compare(before, after))


def _pair(run: Run, sources: Sources, items: Sequence[str]) -> tuple[VerifiedItem, VerifiedItem]:
    from rye.installation.graph import locked_item
    from rye.installation.released import fetch_releases, find_release, identify_one
    from rye.items.identity import parse_reference
    from rye.registry.trust.records import find_locked

    references = [parse_reference(item) for item in items]
    if len(references) == 2:
        wanted = [(identify_one(reference, sources), reference.range) for reference in references]
        records = [find_release(identity, version, sources) for identity, version in wanted]
    else:
        locked = locked_item(run.lock, str(references[0]).partition("@")[0])
        history = sources.histories([locked.identity]).get(locked.identity)
        installed = find_locked(history, locked.identity, locked.version, locked.sha256)
        records = [installed, find_release(locked.identity, references[0].range, sources)]
    old, new = fetch_releases(records, sources)
    return old, new


def _version(item: VerifiedItem) -> Version:
    from rye.installation.comparing import Version

    locked = item.locked
    return Version(
        label=f"{locked.identity}@{locked.version}",
        text=item.data.decode("utf-8"),
        metadata=item.metadata,
        signer=locked.signer,
        attached={entry.path: (entry.sha256, entry.executable) for entry in locked.attached},
    )


def _show(session: Session, old: Version, new: Version, found: Comparison) -> None:
    if session.json:
        session.console.document({"old": old.label, "new": new.label, **found.as_json()})
        return
    if found.equal:
        session.console.data(f"{old.label} and {new.label} are equal")
        return
    sections: list[tuple[str, list[str]]] = [
        ("rights", [f"{s} {c.pattern}{_example(c.witness, c.pattern)}" for s, cs in _rights(found) for c in cs]),
        ("dependencies", [f"+ {r}" for r in found.relations_added] + [f"- {r}" for r in found.relations_removed]),
        ("hooks", [f"+ {_hook(h)}" for h in found.hooks_added] + [f"- {_hook(h)}" for h in found.hooks_removed]),
        ("agent tools", [f"+ {t}" for t in found.tools_added] + [f"- {t}" for t in found.tools_removed]),
        ("attached files", list(found.attached)),
        ("signer", [f"- {old.signer}", f"+ {new.signer}"] if found.signer_changed else []),
    ]
    _lines(session, found.text)
    for title, rows in sections:
        if rows:
            session.console.data(session.console.style(f"{title}:", "strong"))
            _lines(session, [f"  {row}" for row in rows])


def _rights(found: Comparison) -> list[tuple[str, tuple[Change, ...]]]:
    return [("+", found.widened), ("-", found.narrowed)]


def _example(witness: str | None, pattern: str) -> str:
    return f"   e.g. {witness}" if witness and witness != pattern else ""


def _hook(hook: HookAction) -> str:
    inputs = ", ".join(f"{name}={text!r}" for name, text in hook.inputs)
    return f"when {hook.when}: execute {hook.item_type} {hook.item_id}{f' ({inputs})' if inputs else ''}"


def _lines(session: Session, lines: Sequence[str]) -> None:
    for line in lines:
        mark = line.lstrip(" ")[:1] if not line.startswith(" ") or line.startswith("  ") else ""
        style = {"+": "added", "-": "removed", "@": "info"}.get(mark)
        shown = printable(line).replace("\n", "\\n")
        session.console.data(session.console.style(shown, style) if style else shown)


# -- hand edits --------------------------------------------------------------------------------------------------------------


def _edited(session: Session) -> None:
    from rye.installation.hand_edits import edit_diff
    from rye.installation.on_disk import edited, read_written, scan

    run = Run(session, require_project(session.cwd), Told("rye diff --edited"))
    present = scan(run.project)
    found = edited(run.lock.items, present, read_written(run.project))
    signed = _signed_bytes(run, [entry for entry in found if entry.item is not None])
    rows = [
        {
            "path": entry.path,
            "state": entry.state,
            "diff": "\n".join(edit_diff(run.project, entry, signed.get(entry.path))) or None,
        }
        for entry in found
    ]
    if session.json:
        session.console.document({"files": rows})
        return
    for row in rows:
        lines = str(row["diff"]).split("\n") if row["diff"] else [f"{row['path']} is {row['state']}, and no text"]
        _lines(session, lines)
    if not rows:
        session.console.say("Nothing was edited by hand.")


def _signed_bytes(run: Run, found: Sequence[Drift]) -> dict[str, bytes]:
    """What the lock has for these files: from the cache, else from the registry; checked against the lock's hash."""
    from rye.installation.hand_edits import signed_hash
    from rye.installation.sources import expect_origin

    wanted: dict[str, list[tuple[str, str, int]]] = {}
    for entry in found:
        known = signed_hash(entry)
        if known is not None and entry.item is not None:
            wanted.setdefault(entry.item.identity.namespace, []).append((entry.path, *known))
    signed: dict[str, bytes] = {}
    if not wanted:
        return signed
    origins = {item.identity.namespace: item.registry for item in run.lock.items}
    with run.sources() as sources:
        for namespace, files in wanted.items():
            client = sources.client(namespace)
            expect_origin(client, origins[namespace], f"{namespace!r}")
            blobs = client.fetch_blobs((sha256, size) for _, sha256, size in files)
            signed.update({path: blobs[sha256] for path, sha256, _ in files})
    return signed


# -- overrides ---------------------------------------------------------------------------------------------------------------


def _effective(session: Session, item: str) -> None:
    """What the overrides in force change, on the item as it is here: its text, and what it may do."""
    from rye.customization.effective_diff import effective_diff
    from rye.permissions.containment import diff as compare_rights
    from rye.workspace.effective_item import effective_item, overridden

    target = effective_item(session, item, base=True)
    result = overridden(target, session.now().date())
    before = target.item.reading.metadata
    after = result.reading.metadata if result is not None else before
    rights = compare_rights(before.capabilities if before else (), after.capabilities if after else ())
    document: dict[str, object] = {"diff": "", "overrides": [], "refused": []}
    if result is not None:
        document = effective_diff(result, target.id).as_json()
    if session.json:
        document["capabilities"] = {
            "widened": [change.pattern for change in rights.widened],
            "narrowed": [change.pattern for change in rights.narrowed],
        }
        session.console.document({"id": target.id, "kind": target.item.kind.name, **document})
        return
    for file in result.refused if result is not None else ():
        session.console.warn(
            f"{file.source.shown} is in error and is left out.", f"`rye override check {target.id}` says why."
        )
    if not document["diff"]:
        session.console.data(f"{target.id} is used as it was published")
        return
    _lines(session, str(document["diff"]).rstrip("\n").split("\n"))
    _lines(session, [f"  {s} {c.pattern}" for s, cs in (("+", rights.widened), ("-", rights.narrowed)) for c in cs])
