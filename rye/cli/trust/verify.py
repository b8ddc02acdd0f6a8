"""``rye verify``: the verdict on each file's signature. Everything but ``valid`` exits 1 (DESIGN §4)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from rye.cli.console import printable
from rye.cli.kind_choice import kind_option
from rye.cli.options import Session, command
from rye.errors import RyeError

if TYPE_CHECKING:
    from rye.project.signatures import Judged
    from rye.signing.keys import PublicKey

_STYLE = {"valid": "ok", "partial": "warning", "unsigned": "warning", "untrusted": "warning"}


@command("verify")
@click.argument("paths", nargs=-1, metavar="PATH…")
@kind_option()
@click.option("--trusted-key", "trusted", multiple=True, metavar="FILE", help="Trust this key (PEM or key TOML), too.")
@click.pass_obj
def verify(session: Session, paths: tuple[str, ...], kind: str | None, trusted: tuple[str, ...]) -> int:
    """Check the signatures of items against the keys that you trust.

    PATH is a file, a folder or a pattern; none: the project's own items and the installed ones. For an installed item the keys
    of its namespace count, too, as the registry that you pinned has them.
    """
    from rye.cli.trust.key_access import pinned_keys, trusted_keys
    from rye.project.context import arguments_or_all_items
    from rye.project.signatures import Judged, verify_file
    from rye.signing.verification import Verification

    keys = trusted_keys(session, trusted)
    found = arguments_or_all_items(session.cwd, paths)
    pinned: dict[str, tuple[PublicKey, ...]] = {}
    results: list[dict[str, object]] = []
    counts: Counter[str] = Counter()
    for entry in found:
        try:
            namespace = _namespace(entry.path)
            if namespace is not None and namespace not in pinned:
                pinned[namespace] = pinned_keys(session, namespace)
            trusted_here = (*keys.keys, *pinned.get(namespace or "", ()))
            judged = verify_file(entry.path, entry.shown, kind, trusted_here, keys.revoked)
            if namespace is not None and judged.verification.verdict == "untrusted":
                gone = (*keys.revoked, *_revoked(session, entry.path, namespace))
                judged = verify_file(entry.path, entry.shown, kind, trusted_here, gone)
            judged = _with_attached(entry.path, judged)
        except RyeError as error:
            if len(found) == 1:
                raise
            judged = Judged(kind, Verification("malformed", f"{error.message} {error.hint or ''}".strip()))
        counts[judged.verification.verdict] += 1
        results.append({"path": entry.shown, "kind": judged.kind, **judged.verification.as_json()})
        _print(session, entry.shown, judged.verification.verdict, judged.verification.detail)
    if session.json:
        session.console.document({"results": results, "counts": dict(sorted(counts.items()))})
    elif len(results) > 1:
        session.console.say(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    return 0 if set(counts) <= {"valid"} else 1


def _namespace(path: Path) -> str | None:
    """What an installed item is published under; None for others."""
    from rye.items.location import locate

    location = locate(path.absolute())
    return location.namespace if location is not None else None


def _revoked(session: Session, path: Path, namespace: str) -> list[PublicKey]:
    """Keys that the namespace revoked, as far as is known here, for where the log has an installed item.

    What was logged before a revocation is none of its business; where rye.lock does not have the item, every one counts.
    """
    from rye.cli.registry.registry_access import configured
    from rye.items.location import locate
    from rye.project.context import require_project
    from rye.project.lock_file import read_lock
    from rye.registry.client import RegistryClient
    from rye.signing.keys import PublicKey

    place = locate(path.absolute())
    try:
        client = RegistryClient.open(configured(session).of(namespace), offline=True)
        link = client.keysets([namespace])[namespace].current(client.head.snapshot.time)
        items = read_lock(require_project(session.cwd)).items
    except RyeError:
        return []
    meant = [i.log for i in items if place and (i.kind, i.id) == (place.kind, f"{namespace}/{place.local_id}")]
    gone = link.keyset.revoked if link is not None else ()
    return [PublicKey(one.key) for one in gone if not meant or meant[0] >= one.position]


def _with_attached(path: Path, judged: Judged) -> Judged:
    """An installed skill is more than its signed file: a changed, missing or extra file beside it makes it modified."""
    if judged.kind != "skill" or not judged.verification.ok:
        return judged
    from rye.installation.attached_check import attached_problem

    problem = attached_problem(path)
    if problem is None:
        return judged
    return replace(judged, verification=replace(judged.verification, verdict="modified", detail=problem, coverage=None))


def _print(session: Session, shown: str, verdict: str, detail: str) -> None:
    styled = session.console.style(verdict, _STYLE.get(verdict, "removed"))
    session.console.data(f"{styled}{' ' * (14 - len(verdict))}{printable(shown)}")
    if verdict != "valid":
        session.console.say(f"  {detail}", "dim")
