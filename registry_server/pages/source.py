"""The page of a file's source, with line numbers: the item's own file or an attached one. A long one has several parts."""

from __future__ import annotations

import posixpath

from markupsafe import Markup
from msgspec import Struct

from registry_server.pages.addresses import ItemAddress, item_path
from registry_server.pages.highlighting import Colours, language_of
from registry_server.pages.item import chosen
from registry_server.pages.item_view import attached_files
from registry_server.pages.limits import PAGES
from registry_server.pages.markdown import Text, render
from registry_server.pages.page_drafts import Draft, Maker
from registry_server.pages.page_layout import Document, Page
from registry_server.pages.registry_view import RegistryView, no_such_part
from registry_server.pages.release_analysis import shown
from registry_server.pages.source_parts import SourcePart, numbered, part_bounds, source_part
from rye.describing.description import is_text
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
    part: int
    """The part of the text that the page shows, from 0. ``text`` is always whole."""
    parts: int | None
    """How many parts the numbered lines have; null: there are none, or the text is rendered."""
    lines: tuple[int, int] | None
    """The numbers of the part's first and last line."""
    previous_part: str | None
    next_part: str | None


def source_page(address: ItemAddress, part: int = 0, *, is_plain: bool = False) -> Maker:
    """Return the maker of ``…@VERSION/source[/PATH]``.

    An attached Markdown file is rendered, from the piece ``part`` on, unless ``is_plain``: then it has numbered lines, as every
    other file. ``part`` is then a part of these.
    """

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
        rendered = _rendered(text, address, record) if not is_plain else None
        parts = part_bounds(text) if text is not None and rendered is None else ()
        most = max(len(rendered.chunks) if rendered is not None else len(parts), 1)
        if part >= most:
            raise no_such_part(address.path, most)
        numbers = source_part(text, parts[part]) if text is not None and parts else None

        def path_of(number: int) -> str | None:
            return source_path(address, number, is_plain=is_plain) if 0 <= number < len(parts) else None

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
            part=part,
            parts=len(parts) or None,
            lines=(numbers.first, numbers.last) if numbers is not None else None,
            previous_part=path_of(part - 1),
            next_part=path_of(part + 1),
        )

        def body(share: float) -> object:
            if rendered is not None:
                return shown(rendered, part, int(PAGES.part_characters * share))
            return _numbered(numbers, path, share) if numbers is not None else None

        title = f"{path} of {identity.id} {record.version}"
        words = f"The source of {path} in the {identity.kind} {identity.id} {record.version}."
        return Page(
            template="source.html",
            view=view,
            title=title,
            description=words,
            path=source_path(address, part, is_plain=is_plain),
            parts=body,
            is_indexed=False,
            is_short=registry.is_short(files),
        )

    return draft


def source_path(address: ItemAddress, part: int, *, is_plain: bool) -> str:
    """Return the canonical path of a page of a file."""
    asked = [*(["plain"] if is_plain else []), *([f"part={part}"] if part else [])]
    return f"{address.path}{'?' if asked else ''}{'&'.join(asked)}"


def _numbered(part: SourcePart, path: str, share: float) -> Markup:
    """Return the lines of a part, with as many colours as the page has room for."""
    left = PAGES.html_bytes - PAGES.foot_bytes - PAGES.source_frame_bytes - PAGES.source_part_bytes
    return numbered(part, language_of(path), Colours(left * share))


def raw_page(address: ItemAddress) -> Maker:
    """Return the maker of ``…@VERSION/raw[/PATH]``: the file as plain text, whatever it is."""

    def draft(registry: RegistryView) -> Draft:
        _, record = chosen(registry, address)
        sha256 = _file(registry, record, address)[2]
        basis = registry.basis(record.identity), registry.taken_down([sha256])
        return Draft(basis, lambda: make(registry, record, sha256))

    def make(registry: RegistryView, record: ReleaseRecord, sha256: str) -> Page:
        if record.takedown is not None:
            raise RyeError(
                "taken-down", f"The registry's owners took this release down: {record.takedown.reason}", None
            )
        files = registry.files(record.identity.namespace, [sha256])
        data = files[sha256]
        if data is None or len(data) > PAGES.source_bytes or not is_text(data):
            raise registry.missing(address.path)
        return Page(
            template="",
            view=Raw(),
            title="",
            description="",
            path=address.path,
            document=Document(data, "text/plain", is_sandboxed=True),
            is_short=registry.is_short(files),
        )

    return draft


class Raw(Struct, frozen=True):
    """A raw file has no JSON."""


def _rendered(text: str | None, address: ItemAddress, record: ReleaseRecord) -> Text | None:
    """Render an attached Markdown file; None for any other file, and one that is too long."""
    is_markdown = address.rest.lower().endswith((".md", ".markdown"))
    if text is None or not is_markdown or len(text.encode()) > PAGES.markdown_bytes:
        return None
    folder = address.rest.rpartition("/")[0]
    pages = {file.path: file.page for file in attached_files(record.release).rows}

    def page_of(path: str) -> str | None:
        return pages.get(posixpath.normpath(posixpath.join(folder, path)))

    return render(text, page_of)


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
