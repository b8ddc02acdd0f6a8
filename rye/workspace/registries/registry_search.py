"""Search ids and descriptions, locally and in the project's registries, each only for its own namespaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from rye.errors import RyeError
from rye.installation.shadows import shadow_of
from rye.installation.silence import NotAsked
from rye.items.identity import Identity, is_id
from rye.items.kinds import KINDS
from rye.items.search_words import search_words
from rye.project.context import load_manifest
from rye.project.item_file import load_item
from rye.project.layout import find_project
from rye.project.lock_file import Locks
from rye.project.manifest import Manifest
from rye.project.spaces import SPACES, Spaces
from rye.registry.protocol.wire import MORE, SEARCH_TOTAL, SearchTotal
from rye.registry.trust.records import latest_release
from rye.registry.trust.trust_error import TrustError
from rye.text.ranking.answering import Findable, answers, findable
from rye.text.ranking.scoring import DEPRECATED, Searched, of_kind
from rye.workspace.context import Context
from rye.workspace.items.effective_item import effective_entry, installed_problem
from rye.workspace.registries.registry_access import ask_at_once, configured, open_api, open_registry, serving_registry

if TYPE_CHECKING:
    from rye.project.registries import Registries
    from rye.registry.client import RegistryClient
    from rye.registry.protocol.wire import SearchResult
    from rye.registry.transport.api import RegistryApi

_PAGE = 100
"""Results per request: the servers' default."""
_MAX_READ = SEARCH_TOTAL
"""The most results to read from one registry, including those outside its namespaces."""
_STATIC_MATCHES = 200
"""The most matches whose index is read if a registry has no search API."""


class SearchRequest(Struct, frozen=True):
    """The words to search for, and filters."""

    words: str
    kind: str | None = None
    namespace: str | None = None
    limit: int = 20
    local: bool = False
    """Only the project, installed, user and system spaces."""


class SearchOutcome(Struct, frozen=True):
    """The matches to show, and the total."""

    rows: tuple[dict[str, Any], ...]
    """Best first: ``id``, ``kind``, ``version``, ``description``, ``score``, ``space``, ``deprecated``."""
    total: SearchTotal
    """The total, up to a thousand; beyond that ``"1000+"``."""
    not_searched: tuple[NotAsked, ...] = ()
    """The registries whose items are missing; each was told as a warning."""


def search(context: Context, request: SearchRequest) -> SearchOutcome:
    """Find items. A registry that fails gives a warning, as long as anything else answers."""
    words, kind = of_kind(request.words, request.kind, KINDS)
    request = structs.replace(request, words=words, kind=kind)
    results = _search_local(context, request.words, kind=request.kind, namespace=request.namespace)
    for row in results:
        row["deprecated"] = None
    total: _Count = len(results)
    missing: list[NotAsked] = []
    if not request.local:
        here = {(row["kind"], row["id"]): row for row in results}
        found, count, missing = _in_registries(context, request, bool(results))
        added = []
        for row in found:
            if (there := here.get((row["kind"], row["id"]))) is not None:
                there["deprecated"] = row["deprecated"]
                if row["deprecated"] is not None and there["score"] < 1:  # only the registry knows
                    there["score"] /= DEPRECATED
            else:
                added.append(row)
        results += added
        total = _sum(total, count, -(len(found) - len(added)))
    results.sort(key=lambda row: (-row["score"], row["id"], row["kind"]))
    shown = MORE if total is None or total > SEARCH_TOTAL else total
    return SearchOutcome(tuple(results[: request.limit]), shown, tuple(missing))


def _search_local(
    context: Context, query: str, *, kind: str | None = None, namespace: str | None = None
) -> list[dict[str, Any]]:
    """Matches in the project, installed, user and system spaces, best first. Ids hidden by an earlier space are omitted.

    An installed item that was changed is also omitted, since its words might not be its author's. So is one of the project's own
    items with an installed item's id, since the id means the installed one.
    """
    project = find_project(context.cwd)
    locks = Locks()
    installed = locks.rows(project).values() if project is not None else ()
    manifest = load_manifest(project) if project is not None else Manifest()
    rows: dict[tuple[str, str], Findable[dict[str, Any]]] = {}
    spaces = Spaces(context.home, project, manifest.namespace)
    for space in SPACES:
        for entry in spaces.entries_of(space):
            if (kind and entry.location.kind != kind) or (namespace and entry.namespace != namespace):
                continue
            try:
                if entry.editable and project is not None:
                    item = effective_entry(context, entry, project, manifest, locks, spaces=spaces).item
                else:
                    item = load_item(entry.path, kind=entry.location.kind)
            except RyeError:  # one unreadable file must not hide all others; `rye validate` names it
                continue
            if space == "installed" and not entry.editable and installed_problem(context, item, locks) is not None:
                continue
            if project is not None and shadow_of(entry, installed, project.root) is not None:
                continue
            metadata = item.reading.metadata
            description = metadata.description if metadata else ""
            row = {
                "id": entry.id,
                "kind": entry.location.kind,
                "version": metadata.version if metadata else None,
                "description": description,
                "score": 0.0,
                "space": space,
            }
            words = search_words(metadata.keywords if metadata else "", item.text or "", item.suffix)
            searched = Searched(entry.location.kind, entry.id, description, words)
            rows.setdefault((entry.location.kind, entry.id), findable(searched, row))
    return [{**row, "score": points} for points, row in answers(query, list(rows.values()))]


_Count = int | None
"""The total; None: too many to count."""


def _sum(*counts: _Count) -> _Count:
    known = [count for count in counts if count is not None]
    return max(sum(known), 0) if len(known) == len(counts) else None


def _in_registries(
    context: Context, request: SearchRequest, found_here: bool
) -> tuple[list[dict[str, Any]], _Count, list[NotAsked]]:
    """Ask each registry once for its matches and their total. A registry that fails gives a warning.

    A registry that breaks a trust rule is an error. So is every registry failing when nothing was found locally.
    """
    rows: list[dict[str, Any]] = []
    total: _Count = 0
    answered = 0
    missing: list[NotAsked] = []
    try:
        registries = configured(context)
        asked = _asked(context, registries, request.namespace)
    except RyeError as error:
        missing.append(NotAsked("", error))
        asked = {}
    clients = ask_at_once(context, asked)
    for address, namespaces in asked.items():
        try:
            found, count = _in_registry(context, registries, address, request, namespaces, clients.get(address))
        except TrustError:
            raise
        except RyeError as error:
            missing.append(NotAsked(address, error))
        else:
            answered += 1
            rows += found
            total = _sum(total, count)
    none_answered = answered == 0
    for one in missing:
        problem, offline = one.error, one.error.code == "fetch-offline"
        if none_answered and not offline and (not found_here or context.registry is not None):
            raise problem
        why = "its index is not cached, and --offline forbids the network." if offline else problem.message
        hint = "Omit --offline." if offline else problem.hint
        what = "Only local items were searched" if none_answered else f"{one.registry} was not searched"
        context.warn(f"{what}: {why}", hint)
    return rows, total, missing


def _asked(context: Context, registries: Registries, namespace: str | None) -> dict[str, tuple[str, ...] | None]:
    """The registries to ask, each with its namespaces; None: all namespaces that no other registry serves.

    Raises RyeError ``no-registry``, and what :func:`serving_registry` raises.
    """
    if namespace is not None:
        return {serving_registry(context, registries, namespace): (namespace,)}
    asked: dict[str, tuple[str, ...] | None] = {}
    if registries.default is not None or not registries.by_namespace:
        asked[registries.main()] = None
    for name, named in registries.by_namespace.items():
        address = registries.serving(name) or named
        known = asked.get(address, ())
        if known is not None:
            asked[address] = (*known, name)
    return asked


def _in_registry(
    context: Context,
    registries: Registries,
    address: str,
    request: SearchRequest,
    namespaces: tuple[str, ...] | None,
    asked: RegistryClient | None,
) -> tuple[list[dict[str, Any]], _Count]:
    words, kind, limit = request.words, request.kind, request.limit

    def answers_for(identity: Identity) -> bool:
        name = identity.namespace
        return registries.serving(name) == address and (not namespaces or name in namespaces)

    with open_registry(context, address, asked=asked) as client:
        if context.offline or address.startswith("file:") or client.api is None:
            return _static(client, words, kind, answers_for, limit)
        api = open_api(context, client, needs_token=False)
        named: list[SearchResult] = []
        total: _Count = 0
        for namespace in (None,) if namespaces is None else namespaces:
            found, count = _from_api(api, words, kind, namespace, limit, answers_for)
            named += found
            total = _sum(total, count)
        deprecated = _deprecated(context, client, [Identity(found.kind, found.id) for found in named])
    rows: list[dict[str, Any]] = [
        {
            "id": found.id,
            "kind": found.kind,
            "version": found.version,
            "description": found.description,
            "score": min(max(found.score, 0.0), 1.0),  # no registry ranks itself above what others found
            "space": "registry",
            "deprecated": deprecated.get(Identity(found.kind, found.id)),
        }
        for found in named
    ]
    return rows, None if total is None else max(total, len(rows))


def _from_api(
    api: RegistryApi,
    words: str,
    kind: str | None,
    namespace: str | None,
    limit: int,
    answers_for: Callable[[Identity], bool],
) -> tuple[list[SearchResult], _Count]:
    """Up to ``limit`` results within this registry's namespaces, and the total.

    The API proves nothing: results with invalid names or from other registries' namespaces are dropped, and the rest is
    only shown. `rye info` and installing verify.
    """
    kept: list[SearchResult] = []
    offset = left_out = 0
    total: _Count = 0
    while len(kept) < limit and offset < _MAX_READ:
        wanted = min(_PAGE, limit - len(kept)) if left_out == 0 else _PAGE
        answer = api.search(words, kind=kind, namespace=namespace, limit=wanted, offset=offset)
        total = answer.total if isinstance(answer.total, int) else None
        for found in answer.results[:wanted]:
            if found.kind in KINDS and is_id(found.id) and answers_for(Identity(found.kind, found.id)):
                kept.append(found)
            else:
                left_out += 1
        offset += wanted
        if len(answer.results) < wanted:
            break
    return kept[:limit], _sum(total, -left_out)


def _deprecated(context: Context, client: RegistryClient, identities: list[Identity]) -> dict[Identity, str]:
    """The reasons of deprecated items, by item. They come from the log, since search servers do not report them."""
    try:
        histories = client.histories(identities)
    except RyeError as error:
        if isinstance(error, TrustError) and error.code != "recovery-unaccepted":
            raise
        context.warn(f"Cannot tell which items are deprecated: {error.message}", error.hint)
        return {}
    return {name: found.deprecation.reason for name, found in histories.items() if found.deprecation is not None}


def _static(
    client: RegistryClient, words: str, kind: str | None, answers_for: Callable[[Identity], bool], limit: int
) -> tuple[list[dict[str, Any]], int]:
    """Search a registry without a server: matching names first, then as many descriptions as the limit allows."""
    listed = client.names()
    if listed is None:
        raise RyeError(
            "search-unavailable",
            f"The registry {client.origin} has too many names to search without its server.",
            "Name an item with `rye info ID`, or search the address of the registry's server.",
        )
    names = [name for name in listed if (kind is None or name.kind == kind) and answers_for(name)]
    named = [findable(Searched(name.kind, name.id, ""), name) for name in names]
    by_name = dict.fromkeys(name for _, name in answers(words, named)) | dict.fromkeys(names)
    histories = client.histories(list(by_name)[:_STATIC_MATCHES])
    found: list[Findable[dict[str, Any]]] = []
    for identity, history in histories.items():
        latest = latest_release(history)
        if latest is None:
            continue
        description, deprecation = latest.release.description, history.deprecation
        row = {
            "id": identity.id,
            "kind": identity.kind,
            "version": latest.version,
            "description": description,
            "score": 0.0,
            "space": "registry",
            "deprecated": deprecation.reason if deprecation is not None else None,
        }
        searched = Searched(identity.kind, identity.id, description)
        found.append(findable(searched, row, deprecated=deprecation is not None))
    rows = [{**row, "score": points} for points, row in answers(words, found)]
    return rows[:limit], len(rows)
