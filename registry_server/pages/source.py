"""The page of a file's whole source, with line numbers: the item's own file or an attached one."""

from __future__ import annotations

from msgspec import Struct

from registry_server.pages.addresses import ItemAddress, item_path
from registry_server.pages.item import chosen
from registry_server.pages.limits import PAGES
from registry_server.pages.page_drafts import Draft, Maker
from registry_server.pages.page_layout import Page
from registry_server.pages.registry_view import RegistryView
from rye.errors import RyeError
from rye.registry.protocol.wire import blob_path
from rye.registry.trust.records import ReleaseRecord
from rye.text.content import hidden_characters


class SourceView(Struct, frozen=True, kw_only=True):
    """The JSON of a file's page."""

    kind: str
    id: str
    version: str
    page: str
    """The path of the item's page."""
    path: str
    """The attached file's path, or the name of the item's own file."""
    size: int
    sha256: str
    executable: bool
    text: str | None
    """Null: not UTF-8, too large, or gone."""
    why: str | None
    """Why there is no text."""
    hidden: int
    """How many characters people do not see, or see in the wrong place."""
    blob: str
    """The path of its bytes."""


def source_page(address: ItemAddress) -> Maker:
    """Return the maker of ``…@VERSION/source[/PATH]``."""

    def draft(registry: RegistryView) -> Draft:
        _, record = chosen(registry, address)
        sha256 = _file(registry, record, address)[2]
        basis = registry.basis(record.identity), registry.taken_down([sha256])
        return Draft(basis, lambda: make(registry, record))

    def make(registry: RegistryView, record: ReleaseRecord) -> Page:
        path, size, sha256, executable = _file(registry, record, address)
        if record.takedown is not None:
            raise RyeError(
                "taken-down", f"The registry's owners took this release down: {record.takedown.reason}", None
            )
        files = registry.files(record.identity.namespace, [sha256])
        text, why = _text(files[sha256])
        identity = record.identity
        view = SourceView(
            kind=identity.kind,
            id=identity.id,
            version=record.version,
            page=item_path(identity, record.version),
            path=path,
            size=size,
            sha256=sha256,
            executable=executable,
            text=text,
            why=why,
            hidden=len(hidden_characters(text)) if text else 0,
            blob=f"/{blob_path(sha256)}",
        )
        title = f"{path} of {identity.id} {record.version}"
        words = f"The source of {path} in the {identity.kind} {identity.id} {record.version}."
        return Page(
            template="source.html",
            view=view,
            title=title,
            description=words,
            path=address.path,
            is_whole_source=True,
            is_indexed=False,
            is_short=registry.is_short(files),
        )

    return draft


def _file(registry: RegistryView, record: ReleaseRecord, address: ItemAddress) -> tuple[str, int, str, bool]:
    release = record.release
    if not address.rest:
        return record.release.file_name, release.file.size, release.file.sha256, False
    entry = next((entry for entry in release.attached if entry.path == address.rest), None)
    if entry is None:
        raise registry.missing(address.path)
    return entry.path, entry.size, entry.sha256, entry.executable


def _text(data: bytes | None) -> tuple[str | None, str | None]:
    if data is None:
        return None, "The registry no longer has these bytes."
    if len(data) > PAGES.source_bytes:
        return None, f"The file has more than {PAGES.source_bytes:,} bytes, the most that a page shows."
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError:
        return None, "The file is not UTF-8 text."
