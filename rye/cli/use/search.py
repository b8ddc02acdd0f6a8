"""``rye search`` and ``rye info``: what there is, here and in the registries, and everything about one item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rye.cli.options import Session, command
from rye.cli.registry.registry_access import configured, open_api, open_registry
from rye.errors import RyeError
from rye.items.identity import Identity, is_id
from rye.items.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from rye.project.registries import Registries
    from rye.registry.client import RegistryClient
    from rye.registry.protocol.wire import SearchResult
    from rye.registry.transport.api import RegistryApi
    from rye.registry.trust.records import ItemHistory, ReleaseRecord

_PAGE = 100
"""Results of one request; what servers give by default."""
_MAX_READ = 2000
"""Results of one registry that are read at the most, those that are not its own to give included."""
_STATIC_MATCHES = 200
"""Matches whose index is read where a registry has no search of its own."""


@command("search")
@click.argument("query", nargs=-1, required=True)
@click.option("--kind", type=click.Choice(list(KINDS)), help="Only items of this kind.")
@click.option("--namespace", metavar="NAME", help="Only items of this namespace.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many at the most.")
@click.option("--local", is_flag=True, help="Only the project, installed, user and system spaces.")
@click.pass_obj
def search(
    session: Session, query: tuple[str, ...], kind: str | None, namespace: str | None, limit: int, local: bool
) -> None:
    """Find items by words in their id and description: local ones and the registries'.

    Each registry that the project names is asked for the namespaces that are mapped to it, and for no others.
    """
    from rye.cli.console import printable
    from rye.workspace.local_search import search_local

    words = " ".join(query)
    results = search_local(session, words, kind=kind, namespace=namespace)
    for row in results:
        row["deprecated"] = None
    total = len(results)
    if not local:
        here = {(row["kind"], row["id"]): row for row in results}
        found, count = _in_registries(session, words, kind, namespace, limit, bool(results))
        added = []
        for row in found:
            if (there := here.get((row["kind"], row["id"]))) is not None:
                there["deprecated"] = row["deprecated"]
            else:
                added.append(row)
        results += added
        total += count - (len(found) - len(added))
    results.sort(key=lambda row: (-row["score"], row["id"], row["kind"]))
    shown = results[:limit]
    if session.json:
        session.console.document({"results": shown, "total": total})
        return
    if not shown:
        session.console.say(f"Nothing matches {words!r}.")
    session.console.table(
        [
            [
                f"{r['kind']}:{r['id']}",
                printable(r["version"] or "-"),
                r["space"],
                ("(deprecated) " if r["deprecated"] is not None else "") + printable(r["description"]),
            ]
            for r in shown
        ],
        ["ITEM", "VERSION", "WHERE", "DESCRIPTION"],
    )
    if total > len(shown):
        session.console.say(f"{total - len(shown)} more; --limit shows them.")


def _in_registries(
    session: Session, words: str, kind: str | None, namespace: str | None, limit: int, found_here: bool
) -> tuple[list[dict[str, Any]], int]:
    """What the registries have and how much there is, each asked once; what one of them cannot answer is a warning.

    A registry that breaks a rule of trust is never only a warning, nor is it one that none answers where nothing else was found.
    """
    from rye.registry.trust.trust_error import TrustError

    rows: list[dict[str, Any]] = []
    total = answered = 0
    failed: list[tuple[str, RyeError]] = []
    try:
        registries = configured(session)
        asked = _asked(registries, namespace)
    except RyeError as error:
        failed.append(("", error))
        asked = {}
    for address, namespaces in asked.items():
        try:
            found, count = _in_registry(session, registries, address, words, kind, namespaces, limit)
        except TrustError:
            raise
        except RyeError as error:
            failed.append((address, error))
        else:
            answered += 1
            rows += found
            total += count
    none_answered = answered == 0
    for address, problem in failed:
        offline = problem.code == "fetch-offline"
        if none_answered and not offline and (not found_here or session.registry is not None):
            raise problem
        why = "what the registry has is not cached, and this is offline." if offline else problem.message
        hint = "Run it without --offline." if offline else problem.hint
        what = "Only local items were searched" if none_answered else f"{address} was not searched"
        session.console.warn(f"{what}: {why}", hint)
    return rows, total


def _asked(registries: Registries, namespace: str | None) -> dict[str, tuple[str, ...] | None]:
    """The registries to ask, and the namespaces to ask each for; None: for all of which no other one answers.

    Raises RyeError ``no-registry``.
    """
    if namespace is not None:
        return {registries.of(namespace): (namespace,)}
    asked: dict[str, tuple[str, ...] | None] = {}
    if registries.default is not None or not registries.by_namespace:
        asked[registries.main()] = None
    for name, address in registries.by_namespace.items():
        known = asked.get(address, ())
        if known is not None:
            asked[address] = (*known, name)
    return asked


def _in_registry(
    session: Session,
    registries: Registries,
    address: str,
    words: str,
    kind: str | None,
    namespaces: tuple[str, ...] | None,
    limit: int,
) -> tuple[list[dict[str, Any]], int]:
    def answers_for(identity: Identity) -> bool:
        name = identity.namespace
        return registries.by_namespace.get(name, registries.default) == address and (
            not namespaces or name in namespaces
        )

    with open_registry(session, address) as client:
        if session.offline or address.startswith("file:") or client.api is None:
            return _static(client, words, kind, answers_for, limit)
        api = open_api(session, client, needs_token=False)
        named: list[SearchResult] = []
        total = 0
        for namespace in (None,) if namespaces is None else namespaces:
            found, count = _from_api(api, words, kind, namespace, limit, answers_for)
            named += found
            total += count
        deprecated = _deprecated(session, client, [Identity(found.kind, found.id) for found in named])
    rows: list[dict[str, Any]] = [
        {
            "id": found.id,
            "kind": found.kind,
            "version": found.version,
            "description": found.description,
            "score": found.score,
            "space": "registry",
            "deprecated": deprecated.get(Identity(found.kind, found.id)),
        }
        for found in named
    ]
    return rows, max(total, len(rows))


def _from_api(
    api: RegistryApi,
    words: str,
    kind: str | None,
    namespace: str | None,
    limit: int,
    answers_for: Callable[[Identity], bool],
) -> tuple[list[SearchResult], int]:
    """Results that this registry may give, as many as are wanted where there are so many, and how many there are.

    The API proves nothing: what is no name, or is another registry's to say, is left out; the rest is only shown. `rye info` and
    installing verify.
    """
    kept: list[SearchResult] = []
    offset = total = left_out = 0
    while len(kept) < limit and offset < _MAX_READ:
        wanted = min(_PAGE, limit - len(kept)) if left_out == 0 else _PAGE
        answer = api.search(words, kind=kind, namespace=namespace, limit=wanted, offset=offset)
        total = answer.total
        for found in answer.results[:wanted]:
            if found.kind in KINDS and is_id(found.id) and answers_for(Identity(found.kind, found.id)):
                kept.append(found)
            else:
                left_out += 1
        offset += wanted
        if len(answer.results) < wanted:
            break
    return kept[:limit], max(total - left_out, 0)


def _deprecated(session: Session, client: RegistryClient, identities: list[Identity]) -> dict[Identity, str]:
    """Why items should no longer be used, by those that should not; the log says it, search servers do not."""
    from rye.registry.trust.trust_error import TrustError

    try:
        histories = client.histories(identities)
    except RyeError as error:
        if isinstance(error, TrustError) and error.code != "recovery-unaccepted":
            raise
        session.console.warn(f"Which items are deprecated is not known: {error.message}", error.hint)
        return {}
    return {name: found.deprecation.reason for name, found in histories.items() if found.deprecation is not None}


def _static(
    client: RegistryClient, words: str, kind: str | None, answers_for: Callable[[Identity], bool], limit: int
) -> tuple[list[dict[str, Any]], int]:
    """Search a registry that is only files: names that match first; of the others as many descriptions as may be read."""
    from rye.workspace.local_search import score

    names = [name for name in client.names() if (kind is None or name.kind == kind) and answers_for(name)]
    by_score = sorted(names, key=lambda identity: -score(words, identity.id, ""))  # stable: else in the names' order
    histories = client.histories(by_score[:_STATIC_MATCHES])
    rows: list[dict[str, Any]] = []
    for identity, history in histories.items():
        latest = latest_release(history)
        if latest is None:
            continue
        description = latest.release.description
        found = score(words, identity.id, description)
        if found == 0:
            continue
        rows.append(
            {
                "id": identity.id,
                "kind": identity.kind,
                "version": latest.version,
                "description": description,
                "score": found,
                "space": "registry",
                "deprecated": history.deprecation.reason if history.deprecation is not None else None,
            }
        )
    rows.sort(key=lambda row: (-row["score"], row["id"], row["kind"]))
    return rows[:limit], len(rows)


def latest_release(history: ItemHistory) -> ReleaseRecord | None:
    """The highest release that may be chosen; a pre-release only where there is nothing else. None: there is none."""
    from rye.resolution.versions import Version

    usable = [record for record in history.records if record.yank is None and not record.revoked]

    def rank(record: ReleaseRecord) -> tuple[bool, Version]:
        version = Version.parse(record.version)
        return not version.is_prerelease, version

    return max(usable, key=rank, default=None)


@command("info")
@click.argument("item", metavar="[KIND:]ID[@VERSION]")
@click.pass_obj
def info(session: Session, item: str) -> None:
    """Show a published item: its versions, signer, rights, dependencies, and whether it was yanked or deprecated."""
    from rye.cli.publish.owner_statements import published, registry_of
    from rye.permissions.risk import tier
    from rye.registry.protocol.lines import write_time
    from rye.signing.keys import PublicKey

    with open_registry(session, registry_of(session, item)) as client:
        identity, wanted = published(client, item)
        history = client.histories([identity])[identity]
        origin = client.origin
        pending = client.keysets([identity.namespace])[identity.namespace].pending(client.head.snapshot.time)
    record = _chosen(history, wanted, str(identity))
    release = record.release
    document: dict[str, Any] = {
        "kind": identity.kind,
        "id": identity.id,
        "version": release.version,
        "description": release.description,
        "registry": origin,
        "time": write_time(release.time),
        "log": record.line.log,
        "keyset": release.keyset,
        "signers": [PublicKey(key).fingerprint for key in record.signers],
        "pending_recovery": write_time(pending.keyset.recovery) if pending and pending.keyset.recovery else None,
        "pending_keys": [PublicKey(key).fingerprint for key in pending.keyset.keys] if pending else [],
        "size": release.file.size,
        "sha256": release.file.sha256,
        "attached": [{"path": a.path, "size": a.size, "executable": a.executable} for a in release.attached],
        "depends_on": [f"{r.identity}@{r.range}" for r in release.depends_on],
        "requires": [f"{r.identity or r.reference}@{r.range}" for r in release.requires],
        "conflicts_with": [f"{r.identity}@{r.range}" for r in release.conflicts_with],
        "capabilities": [{"capability": c, "tier": str(tier(c))} for c in release.capabilities],
        "hooks": [f"{hook.item_type} {hook.item_id}" for hook in release.hooks],
        "yanked": record.yank.reason if record.yank else None,
        "revoked": record.revoked,
        "deprecated": history.deprecation.reason if history.deprecation else None,
        "replacement": str(history.deprecation.replacement)
        if history.deprecation and history.deprecation.replacement
        else None,
        "advisories": [
            {"number": a.number, "severity": a.severity, "range": a.range, "title": a.title} for a in record.advisories
        ],
        "versions": [
            {
                "version": r.version,
                "time": write_time(r.release.time),
                "yanked": r.yank is not None,
                "yank_reason": r.yank.reason if r.yank is not None else None,
                "revoked": r.revoked,
            }
            for r in history.records
        ],
    }
    if session.json:
        session.console.document(document)
        return
    from rye.cli.use.show import _lines

    versions = [v["version"] + (f" (yanked: {v['yank_reason']})" if v["yanked"] else "") for v in document["versions"]]
    rights = [f"{c['tier']}  {c['capability']}" for c in document["capabilities"]]
    flat = {**document, "versions": versions, "capabilities": rights, "revoked": "yes" if record.revoked else None}
    for line in _lines(flat):
        session.console.data(line)


def _chosen(history: ItemHistory, wanted: str | None, name: str) -> ReleaseRecord:
    if wanted is None:
        found = latest_release(history) or (history.records[-1] if history.records else None)
    else:
        from rye.resolution.ranges import Range
        from rye.resolution.versions import Version

        matching = [r for r in history.records if Version.parse(r.version) in Range.parse(wanted)]
        found = max(matching, key=lambda r: Version.parse(r.version), default=None)
    if found is None:
        versions = ", ".join(record.version for record in history.records[-10:])
        raise RyeError("no-such-version", f"{name} has no version {wanted or ''}.", f"There are: {versions}.")
    return found
