"""``rye publish``: a batch of signed releases, all or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rye.cli.options import Session, command
from rye.cli.registry.registry_access import configured, namespace_of, open_api, open_registry
from rye.errors import RyeError

if TYPE_CHECKING:
    from rye.items.identity import Identity
    from rye.project.registries import Registries
    from rye.publishing.release import Publishable
    from rye.registry.client import RegistryClient
    from rye.registry.protocol.statements import Release
    from rye.registry.protocol.wire import StatementsAnswer
    from rye.registry.transport.api import RegistryApi
    from rye.registry.trust.records import ReleaseRecord
    from rye.signing.keys import PrivateKey


@command("publish")
@click.argument("paths", nargs=-1, metavar="PATH…")
@click.option("--namespace", metavar="NAME", help="Publish under this namespace instead of the project's.")
@click.option("--version", metavar="X.Y.Z", help="Version of an item whose format carries none.")
@click.option("--key", metavar="NAME", help="Sign the release notes with this key instead of the default one.")
@click.option("--dry-run", is_flag=True, help="Show what would become public, and stop.")
@click.option("--allow-uncommitted", is_flag=True, help="Publish files that git has not committed as they are.")
@click.pass_obj
def publish(
    session: Session,
    paths: tuple[str, ...],
    namespace: str | None,
    version: str | None,
    key: str | None,
    dry_run: bool,
    allow_uncommitted: bool,
) -> None:
    """Publish items: those named, or every one of the project whose version is new. One atomic batch, dependencies first.

    What is published is public for ever. Items must be valid and signed by a key of the namespace.
    """
    from rye.cli.publish.owner_statements import keyset_in_force, owner_key
    from rye.cli.trust.key_access import key_store
    from rye.project.context import arguments_or_own_items, read_options
    from rye.publishing.collect import collect
    from rye.publishing.release import check_signature, dependencies_first, release_note
    from rye.signing.keys import PublicKey

    owner = namespace_of(session, namespace)
    found = arguments_or_own_items(session.cwd, paths)
    options = read_options(session.cwd, publishing=True)
    collected = collect(
        ((entry.path, entry.shown) for entry in found), owner, options, version, leave_out_unversioned=not paths
    )
    _tell_left_out(session, collected.without_version, bool(collected.items))
    items = collected.items
    where = configured(session)
    with open_registry(session, where.of(owner)) as client:
        keyset = keyset_in_force(client, owner)
        fresh, unchanged = _new_versions(client, items)
        if not allow_uncommitted and not dry_run:
            _refuse_uncommitted(fresh)
        own = {stored.public: stored.name for stored in key_store().list()}
        for item in fresh:
            check_signature(item, [PublicKey(raw) for raw in keyset.keys], own)
        resolve = _resolver(session, where, client, fresh)
        now = datetime.now(UTC).replace(microsecond=0)
        releases = dependencies_first(
            [release_note(item, client.origin, keyset.number, now, resolve) for item in fresh]
        )
        _list(session, client, fresh, releases, unchanged)
        _warn_of_look_alikes(session, client, fresh)
        if dry_run or not releases:
            _report(session, releases, None, unchanged, dry_run)
            return
        if session.interactive and not session.yes and not session.console.confirm("Publish this for everybody?"):
            raise RyeError("declined", "Nothing was published.")
        private = owner_key(session, keyset, key)
        answer = _upload(session, open_api(session, client), fresh, releases, private)
        _check_logged(client, releases)
    _report(session, releases, answer, unchanged, dry_run)


def _tell_left_out(session: Session, files: Sequence[str], others: bool) -> None:
    """A bare publish goes on without items that no version is known of, and says so; alone, they are an error."""
    if not files:
        return
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    hint = f"Give one: `rye publish {files[0]} --version 1.0.0`."
    if not others:
        raise RyeError("no-version", f"{files[0]}{more} carries no version.", hint)
    session.console.warn(f"{files[0]}{more} carries no version and is left out.", hint)


def _warn_of_look_alikes(session: Session, client: RegistryClient, items: Sequence[Publishable]) -> None:
    """Names that are new in the registry are compared with all others there."""
    from rye.publishing.look_alikes import NameIndex

    records = client.releases([item.identity for item in items])
    new = [item.identity for item in items if not records[item.identity]]
    if not new:
        return
    index = NameIndex(client.names())
    for identity in new:
        near = index.near(identity)
        if near:
            session.console.warn(
                f"{identity} is close to {', '.join(map(str, near[:3]))}: people may take one for the other.",
                "Choose another name unless that is what you mean; a published name stays for ever.",
            )


def _refuse_uncommitted(items: Sequence[Publishable]) -> None:
    from rye.publishing.working_tree import uncommitted

    by_folder: dict[Path, list[Path]] = {}
    for item in items:
        by_folder.setdefault(_checkout(item.path), []).extend(item.paths)
    changed = [name for folder, paths in by_folder.items() for name in uncommitted(paths, folder)]
    if changed:
        raise RyeError(
            "uncommitted",
            f"{changed[0]} is not committed{f', nor are {len(changed) - 1} more files' if len(changed) > 1 else ''}.",
            "Commit first, so that the release can be traced; or give --allow-uncommitted.",
        )


def _checkout(path: Path) -> Path:
    """The folder to ask git about: the nearest one above with a ``.git``, so that one call serves a whole project."""
    for folder in path.absolute().parents:
        if (folder / ".git").exists():
            return folder
    return path.absolute().parent


def _new_versions(client: RegistryClient, items: Sequence[Publishable]) -> tuple[list[Publishable], list[Publishable]]:
    """The items whose version is new, and those that are published already with the same bytes."""
    records = client.releases([item.identity for item in items])
    fresh, unchanged = [], []
    for item in items:
        known = next((r for r in records[item.identity] if r.version == item.version), None)
        if known is None:
            fresh.append(item)
        elif _same(known, item):
            unchanged.append(item)
        else:
            raise RyeError(
                "version-exists",
                f"{item.identity} {item.version} is published with other bytes; a version is never reused.",
                f"Raise the version in {item.shown}, sign it again, and publish."
                if item.metadata.version is not None
                else f"Its format carries no version: give a higher one, `rye publish {item.shown} --version X.Y.Z`.",
            )
    return fresh, unchanged


def _same(known: ReleaseRecord, item: Publishable) -> bool:
    from hashlib import sha256

    release = known.release
    there = {(entry.path, entry.sha256, entry.executable) for entry in release.attached}
    here = {(entry.path, sha256(entry.data).hexdigest(), entry.executable) for entry in item.attached}
    return release.file.sha256 == sha256(item.data).hexdigest() and there == here


def _resolver(
    session: Session, where: Registries, client: RegistryClient, items: Sequence[Publishable]
) -> Callable[[tuple[Identity, ...]], Identity | None]:
    """Finds what references stand for: in the batch, then in the registry of each namespace; one wave for all of them."""
    from rye.items.identity import lookup_key
    from rye.registry.protocol.derivation import candidates

    batch = {(item.identity.kind, lookup_key(item.identity.id)): item.identity for item in items}
    wanted: dict[str, set[str]] = {}
    for item in items:
        for dependency in item.metadata.dependencies:
            for candidate in candidates(item.identity, dependency.reference):
                spellings = {candidate.id, candidate.id.replace("-", "_"), candidate.id.replace("_", "-")}
                wanted.setdefault(candidate.namespace, set()).update(spellings)
    known: dict[tuple[str, str], Identity] = {}
    for namespace, ids in wanted.items():
        known.update(_known(session, where, client, namespace, sorted(ids)))

    def resolve(options: tuple[Identity, ...]) -> Identity | None:
        for option in options:
            key = (option.kind, lookup_key(option.id))
            if key in batch or key in known:
                return batch.get(key) or known[key]
        return None

    return resolve


def _known(
    session: Session, where: Registries, client: RegistryClient, namespace: str, ids: list[str]
) -> dict[tuple[str, str], Identity]:
    from rye.items.identity import Identity, lookup_key

    address = where.by_namespace.get(namespace, where.default)
    if address is None:
        return {}
    if address == client.address:
        kinds = client.kinds_of(ids)
    else:
        with open_registry(session, address) as other:
            kinds = other.kinds_of(ids)
    return {(kind, lookup_key(one)): Identity(kind, one) for one, found in kinds.items() for kind in found}


def _list(
    session: Session,
    client: RegistryClient,
    items: Sequence[Publishable],
    releases: Sequence[Release],
    unchanged: Sequence[Publishable],
) -> None:
    by_identity = {item.identity: item for item in items}
    if releases:
        session.console.say(f"These become public in {client.origin}, for ever:", "strong")
    for release in releases:
        item = by_identity[release.identity]
        session.console.say(f"  {release.identity} {release.version}  {item.size:,} bytes  {item.shown}")
        for entry in item.attached:
            session.console.say(
                f"    {entry.path}  {len(entry.data):,} bytes{'  executable' if entry.executable else ''}"
            )
    if unchanged:
        session.console.say(f"  {len(unchanged)} already published and unchanged")


def _upload(
    session: Session, api: RegistryApi, items: Sequence[Publishable], releases: Sequence[Release], private: PrivateKey
) -> StatementsAnswer:
    from concurrent.futures import ThreadPoolExecutor

    from rye.limits import REGISTRY
    from rye.registry.protocol import notes
    from rye.registry.protocol.notes import Signer, VerifierKey
    from rye.registry.protocol.statements import namespace_key_name

    blobs = {sha256: data for item in items for sha256, data in item.blobs.items()}
    with session.console.progress("uploading", len(blobs)) as advance, ThreadPoolExecutor(REGISTRY.concurrency) as pool:

        def put(entry: tuple[str, bytes]) -> None:
            api.put_blob(*entry)
            advance()

        try:
            list(pool.map(put, blobs.items()))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    signed = []
    for release in releases:
        name = namespace_key_name(release.origin, release.identity.namespace)
        signer = Signer(VerifierKey(name, private.public.raw), private.sign)
        signed.append(notes.sign(release.text(), [signer]).encode())
    return api.post_statements(signed)


def _check_logged(client: RegistryClient, releases: Sequence[Release]) -> None:
    """Do not take the registry's word: read the releases back, with proofs that they are in its log."""
    client.refresh()
    records = client.releases([release.identity for release in releases])
    logged = [
        record
        for release in releases
        for record in records[release.identity]
        if record.version == release.version and record.release.file == release.file
    ]
    if len(logged) != len(releases):
        raise RyeError(
            "not-in-log", "The registry answered, but its log does not show the releases.", "Do not rely on it."
        )
    client.check_logged(logged)


def _report(
    session: Session,
    releases: Sequence[Release],
    answer: StatementsAnswer | None,
    unchanged: Sequence[Publishable],
    dry_run: bool,
) -> None:
    rows = [
        {
            "kind": release.identity.kind,
            "id": release.identity.id,
            "version": release.version,
            "sha256": release.file.sha256,
            "log": answer.results[number].log if answer else None,
        }
        for number, release in enumerate(releases)
    ]
    if session.json:
        skipped = [{"kind": i.identity.kind, "id": i.identity.id, "version": i.version} for i in unchanged]
        session.console.document({"published": rows, "unchanged": skipped, "dry_run": dry_run})
        return
    for row in rows:
        place = f"  log {row['log']}" if row["log"] is not None else ""
        session.console.data(
            f"{'would publish' if dry_run else 'published'} {row['kind']}:{row['id']} {row['version']}{place}"
        )
    if not rows:
        session.console.data("nothing new to publish")
