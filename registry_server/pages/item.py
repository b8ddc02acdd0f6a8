"""The page of an item: reads one release and renders its page."""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import replace

from registry_server.pages.addresses import ItemAddress, feed_path, item_feed_path, item_path, versions_path
from registry_server.pages.analysed import analysis_of, description_of
from registry_server.pages.analysis_store import AnalysisStore
from registry_server.pages.closure import Closure, closure_of
from registry_server.pages.dependents import dependents_of, entries_read, uses_of
from registry_server.pages.item_rows import Use, Wanted, item_row, named
from registry_server.pages.item_view import Brought, Dependents, ItemSource, item_view
from registry_server.pages.limits import PAGES
from registry_server.pages.owners import Behind
from registry_server.pages.page_context import Reader, Site
from registry_server.pages.page_drafts import Draft, Maker
from registry_server.pages.page_layout import Page
from registry_server.pages.registry_view import RegistryView, no_such_part
from registry_server.pages.release_analysis import Shown, shown
from registry_server.pages.version_order import in_order, newest_offered
from registry_server.storage import database
from registry_server.storage.objects import Objects
from rye.describing.description import Description, ages_of, together
from rye.describing.words import ShortMark, total_words
from rye.describing.words import marks as short_marks
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.protocol.lines import write_time
from rye.registry.trust.records import ItemHistory, ReleaseRecord, release_files, signer_history


def item_page(address: ItemAddress, part: int = 0) -> Maker:
    """Return the maker of ``/-/KIND/ID[@VERSION]``. ``part``: the piece of the text with which the page begins; 0: the page has
    everything else, too."""

    def draft(registry: RegistryView) -> Draft:
        history, record = chosen(registry, address)
        dependents = dependents_of(registry, record.identity)
        use = uses_of(registry, [record.identity])[record.identity]
        closure = closure_of(registry, record)
        gone = registry.taken_down(release_files(record.release))
        who = registry.behind(record.identity.namespace)
        return Draft(
            (registry.basis(record.identity), gone, dependents, use, closure.basis, who),
            lambda: make(registry, history, record, Around(dependents, use, closure, who)),
            lambda: {"dependents_entries": entries_read(registry)},
        )

    def make(registry: RegistryView, history: ItemHistory, record: ReleaseRecord, around: Around) -> Page:
        identity, release = record.identity, record.release
        analysis, is_short = analysis_of(registry, record)
        may, content = analysis.may, analysis.content
        chain, dependents = registry.chain(identity.namespace), around.dependents
        since = registry.since(identity.namespace)
        ages = ages_of(signer_history(chain, record, since, None))
        source = ItemSource(
            history=history,
            record=record,
            latest=newest_offered(history),
            chain=chain,
            behind=around.who,
            may=may,
            description=replace(analysis.description, ages=ages),
            about=analysis.about,
            hour=registry.now.hour,
            brings=brought(registry, analysis.description, around.closure),
            use=around.use,
            shape=analysis.shape,
            content=content,
            dependents=dependents,
            marks=marks_of(registry, dependents),
            dependents_entries=0 if dependents.is_whole else entries_read(registry),
        )

        def parts(share: float) -> Shown:
            room = int((PAGES.part_characters if part else PAGES.text_characters) * share)
            return shown(analysis.parts.text, part, room, analysis.parts)

        most = max(len(analysis.parts.text.chunks), 1)
        if part >= most:
            raise no_such_part(address.path, most)
        title = f"{identity.kind} {identity.id} {record.version}"
        return Page(
            template="item_text.html" if part else "item.html",
            view=item_view(source, since),
            title=title,
            description=release.description or title,
            path=page_path(address, part),
            status=451 if record.takedown is not None else 200,
            is_indexed=not record.is_withdrawn and not part and record.version == newest_offered(history),
            canonical=item_path(identity),
            feeds=(item_feed_path(identity), feed_path(identity.namespace)),
            data=linked_data(registry, history, record, analysis.description.licence) if not part else None,
            is_partial=not dependents.is_whole,
            is_short=is_short,
            parts=parts,
        )

    return draft


def linked_data(
    registry: RegistryView, history: ItemHistory, record: ReleaseRecord, licence: str | None
) -> dict[str, object]:
    """Return what programs that read JSON-LD learn of an item (schema.org, SoftwareSourceCode)."""
    identity, release = record.identity, record.release
    first = min(each.release.time for each in history.records)
    return {
        "@context": "https://schema.org",
        "@type": "SoftwareSourceCode",
        "name": identity.id,
        "version": record.version,
        "description": release.description,
        "url": registry.site.address + item_path(identity),
        **({"license": licence} if licence else {}),
        "datePublished": write_time(first),
        "dateModified": write_time(release.time),
        "author": {"@type": "Organization", "name": identity.namespace},
    }


def page_path(address: ItemAddress, part: int) -> str:
    """Return the path of an item's page, or of a later page of its text."""
    return f"{address.path}?part={part}" if part else address.path


class Around(Struct, frozen=True):
    """What of the page depends on other items."""

    dependents: Dependents
    use: Use
    closure: Closure
    who: Behind


def brought(registry: RegistryView, own: Description, closure: Closure) -> Brought | None:
    """Return what an item brings besides itself; None: nothing."""
    if closure.problem is not None:
        return Brought(problem=closure.problem)
    if not closure.records:
        return None
    uses = uses_of(registry, [record.identity for record in closure.records])
    found = [(record, description_of(registry, record)) for record in closure.records]
    known = [description for _, description in found if description is not None]
    rows = tuple(
        item_row(Wanted(record.identity, record.version), None, record, description, uses[record.identity])
        for record, description in found
    )
    total = together([own, *known])
    return Brought(
        words=total_words(total),
        alarms=total.alarms,
        cautions=total.cautions,
        rows=rows,
        problem=None if len(known) == len(found) else TOO_LARGE,
    )


def marks_of(registry: RegistryView, dependents: Dependents) -> dict[str, tuple[ShortMark, ...]]:
    """Return what lists say of the releases that depend on an item, by name."""
    wanted = {row.name: row.version for row in dependents.rows}
    identities = [named(name) for name in wanted]
    marks: dict[str, tuple[ShortMark, ...]] = {}
    for identity, history in registry.histories(identities).items() if identities else ():
        for record in history.records:
            if record.version == wanted[str(identity)]:
                description = description_of(registry, record)
                marks[str(identity)] = short_marks(description) if description is not None else ()
    return marks


TOO_LARGE = "Some of these items are too large to be examined here; see their pages."


def chosen(registry: RegistryView, address: ItemAddress) -> tuple[ItemHistory, ReleaseRecord]:
    """Return the history and release that an address names; without a version, the highest that is not withdrawn.

    Raises RyeError ``not-found``.
    """
    history = registry.released(address.identity, address.path)
    version = address.version if address.version is not None else newest_offered(history)
    record = next((record for record in history.records if record.version == version), None)
    if record is None:
        raise no_such_version(history, version)
    return history, record


def no_such_version(history: ItemHistory, version: str) -> RyeError:
    """Return the error for a version that an item does not have, with those that it has."""
    versions = in_order([record.version for record in history.records])[::-1]
    named = ", ".join(versions[: PAGES.named_versions]) + (", …" if len(versions) > PAGES.named_versions else "")
    hint = f"Versions: {named}. All of them: {versions_path(history.identity)}"
    return RyeError("not-found", f"{history.identity} has no version {version[:80]}.", hint)


def analyse_release(
    engine: sa.Engine, store: Objects, analyses: AnalysisStore, identity: Identity, version: str
) -> None:
    """Analyse a release that is in the log, and store it for the first view of its page. Raises RyeError."""
    with database.reader(engine) as connection:
        registry = RegistryView(connection, store, Site("", "", ""), Reader(), datetime.now(UTC), analyses)
        history = registry.history(identity)
        records = history.records if history is not None else ()
        for record in records:
            if record.version == version:
                analysis_of(registry, record)
