"""The maker of an item's page: what is read of one release, and the page that is made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from registry_server.pages.addresses import ItemAddress, item_path
from registry_server.pages.dependents import dependents_of, entries_read
from registry_server.pages.desk import Maker
from registry_server.pages.diff import newest_offered
from registry_server.pages.examined import Examined, Facts, examine, facts_of
from registry_server.pages.frame import Page
from registry_server.pages.item_view import Content, Found, item_view
from registry_server.pages.kept import Kept
from registry_server.pages.limits import PAGES
from registry_server.pages.look import Look
from registry_server.pages.shape import Shape, shape_of
from rye.installation.mentions import item_file_name
from rye.items.kinds import KINDS
from rye.registry.protocol.wire import blob_path
from rye.registry.trust.records import ItemHistory, ReleaseRecord
from rye.text.content import hidden_characters

Bytes = Mapping[str, bytes | None]
"""A release's files by path, the item's own under its name; None: the bytes are gone."""


def item_page(address: ItemAddress) -> Maker:
    """The maker of ``/-/KIND/ID[@VERSION]``."""

    def make(look: Look) -> Page:
        history, record = chosen(look, address)
        identity, release = record.identity, record.release
        files = files_of(look, record)
        name = item_file_name(record)
        dependents = dependents_of(look, identity)
        page = item_path(identity, record.version)
        found = Found(
            history=history,
            record=record,
            latest=newest_offered(history),
            chain=look.chain(identity.namespace),
            examined=examined_of(record, lambda: files),
            facts=mentioned(record, files),
            shape=_shape(record, files[name]),
            content=content_of(name, files[name], f"{page}/source", release.file.sha256, is_markdown(record))
            if files[name] is not None
            else None,
            dependents=dependents,
            dependents_entries=0 if dependents.is_whole else entries_read(look),
        )
        title = f"{identity.kind} {identity.id} {record.version}"
        return Page(
            "item.html",
            item_view(found, look.since(identity.namespace)),
            title,
            release.description or title,
            address.path,
            status=451 if record.takedown is not None else 200,
            is_indexed=not record.is_withdrawn,
            is_partial=not dependents.is_whole,
            json_fields=lambda: {"dependents_entries": entries_read(look)},
        )

    return make


def chosen(look: Look, address: ItemAddress) -> tuple[ItemHistory, ReleaseRecord]:
    """The release that an address names; without a version the highest that is not withdrawn. Raises RyeError ``not-found``."""
    history = look.history(address.identity)
    if history is None or not history.records:
        raise look.missing(address.path)
    version = address.version if address.version is not None else newest_offered(history)
    record = next((record for record in history.records if record.version == version), None)
    if record is None:
        raise look.missing(address.path)
    return history, record


def files_of(look: Look, record: ReleaseRecord) -> Bytes:
    """The bytes of a release. Of one that was taken down there are none, whatever the store still has."""
    release = record.release
    hashes = {item_file_name(record): release.file.sha256, **{e.path: e.sha256 for e in release.attached}}
    if record.takedown is not None:
        return dict.fromkeys(hashes)
    found = look.files(record.identity.namespace, list(dict.fromkeys(hashes.values())))
    return {path: found[sha256] for path, sha256 in hashes.items()}


_examined: Kept[tuple[str, str], Examined] = Kept(PAGES.examined)
_facts: Kept[tuple[str, str], Facts] = Kept(PAGES.examined)
_shapes: Kept[str, tuple[Shape | None]] = Kept(PAGES.examined)


def _key(record: ReleaseRecord) -> tuple[str, str]:
    """The signed note, which fixes every byte by its hash, and the keyset."""
    return record.line.note, record.link.sha256


def examined_of(record: ReleaseRecord, read: Callable[[], Bytes]) -> Examined:
    """What a release may do. A function of note, keyset and bytes, so it is kept where all bytes are there."""
    known = _examined.get(_key(record))
    if known is not None and record.takedown is None:
        return known
    own, attached, is_whole = _parted(record, read())
    made = examine(record.release, record.link.keyset.keys, own, attached)
    if is_whole:
        _examined.put(_key(record), made)
    return made


def mentioned(record: ReleaseRecord, files: Bytes) -> Facts:
    """What its texts mention, kept in the same way."""
    own, attached, is_whole = _parted(record, files)
    known = _facts.get(_key(record)) if is_whole else None
    if known is None:
        known = facts_of(record.release, own, attached)
        if is_whole:
            _facts.put(_key(record), known)
    return known


def _shape(record: ReleaseRecord, data: bytes | None) -> Shape | None:
    """What it takes, returns and does, kept in the same way."""
    if data is None:
        return None
    known = _shapes.get(record.line.note)
    if known is None:
        known = (shape_of(record.release, data),)
        _shapes.put(record.line.note, known)
    return known[0]


def _parted(record: ReleaseRecord, files: Bytes) -> tuple[bytes | None, Bytes, bool]:
    """The item's own file, the attached ones, and whether all are there."""
    name = item_file_name(record)
    attached = {path: data for path, data in files.items() if path != name}
    return files[name], attached, None not in files.values()


def is_markdown(record: ReleaseRecord) -> bool:
    """Whether the item's own file is Markdown."""
    return KINDS[record.identity.kind].formats.get(record.release.file.suffix) == "markdown"


def content_of(name: str, data: bytes | None, page: str, sha256: str, is_markdown: bool) -> Content:
    """A file as a page shows it."""
    text = None
    if data is not None:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = None
    shown = text[: PAGES.markdown_characters] if text is not None else None
    return Content(
        name=name,
        size=len(data or b""),
        lines=text.count("\n") + (not text.endswith("\n")) if text else 0,
        text=shown,
        is_cut=text is not None and shown is not None and len(shown) < len(text),
        is_markdown=is_markdown and text is not None,
        hidden=len(hidden_characters(text)) if text else 0,
        path=page,
        blob=f"/{blob_path(sha256)}",
    )
