"""The page of a release that waits for a signature: what `rye stage show` shows, cut to fit. Pure.

The bytes are checked as clients check them before they install (:mod:`registry_server.pages.examined`), and compared
with the last release like any two releases (:mod:`registry_server.pages.comparison`). The page counts what does not fit
and names the command that shows everything. The decision is made with that command and a key, never on the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from registry_server.accounts.stage_signers import StageSigners
from registry_server.pages.account import HOME, Signed
from registry_server.pages.addresses import item_path
from registry_server.pages.comparison import Differences, Side, differences
from registry_server.pages.comparison_pages import paged
from registry_server.pages.diff_colours import DiffColours
from registry_server.pages.examined import described, examine, facts_of
from registry_server.pages.file_changes import Contents
from registry_server.pages.limits import COMPARISON, PAGES
from registry_server.pages.may_do import MayDo, may_do
from registry_server.pages.page_budget import Rows, line_cost, rows
from registry_server.pages.page_layout import Page
from rye.describing.words import Said, said
from rye.items.reading import ReadOptions
from rye.registry.protocol.statements import Release
from rye.registry.protocol.wire import StageRow
from rye.signing.keys import PublicKey
from rye.text.content import hidden_characters
from rye.text.facts.readable import readable_text


class StagedFile(Struct, frozen=True):
    """A file of the staged release."""

    path: str
    size: int
    sha256: str
    executable: bool


class StageChanges(Struct, frozen=True, kw_only=True):
    """How the stage differs from the last release."""

    version: str
    """The version of the last release."""
    path: str
    """The path of that release's page."""
    found: Differences
    """As much as fits, the rights first."""
    is_cut: bool
    another_signer: bool
    """Whether another key signed the file than that release's."""
    old: Contents
    new: Contents


class Content(Struct, frozen=True, kw_only=True):
    """What the bytes of a stage say."""

    may: MayDo
    said: tuple[Said, ...]
    """The release in the words of the client's consent screen."""
    signer: str | None
    """The fingerprint of the key that signed the file."""
    files: Rows[StagedFile]
    """The item's own file first."""
    text: str
    is_cut: bool
    """Whether only a part of the text is here."""
    hidden: int
    """How many hidden characters the text has."""
    changes: StageChanges | None
    """None: there is no release to compare it with."""


class StageView(Struct, frozen=True):
    """What the page shows."""

    signed: Signed
    stage: StageRow
    content: Content | None
    """None: the stage is no longer waiting, and its bytes are gone or public."""
    signers: StageSigners | None
    """None: the stage is no longer waiting, or nobody has claimed its namespace."""
    may_reject: bool
    commands: tuple[str, ...]


class Staged(Struct, frozen=True):
    """A staged release with its bytes. ``keys``: those of the keyset in force that count."""

    release: Release
    data: bytes
    attached: Mapping[str, bytes]
    keys: Sequence[PublicKey]


def stage_page(
    signed: Signed, row: StageRow, content: Content | None, signers: StageSigners | None, *, may_reject: bool
) -> Page:
    """Return the page of a stage. ``content`` None: the stage is no longer waiting."""
    commands = (f"rye stage show {row.id}", f"rye stage approve {row.id}")
    view = StageView(signed, row, content, signers, may_reject, commands)
    title = f"{row.kind} {row.name} {row.version}"
    changes = content.changes if content is not None else None
    return Page(
        template="account/stage.html",
        view=view,
        title=title,
        description="A release that waits for a signature.",
        path=f"{HOME}/stages/{row.id}",
        is_indexed=False,
        parts=lambda share: DiffColours(changes.old, changes.new, share) if changes is not None else None,
    )


def content_of(staged: Staged, last: Side | None) -> Content:
    """Return what a stage's bytes say. ``last``: the release that it would follow, or None."""
    release, data, attached = staged.release, staged.data, staged.attached
    examined = examine(release, staged.keys, data, attached, ReadOptions(publishing=True))
    text = readable_text(data)
    name = release.file_name
    facts = facts_of(release, data, attached)
    own = StagedFile(name, release.file.size, release.file.sha256, False)
    files = (own, *(StagedFile(e.path, e.size, e.sha256, e.executable) for e in release.attached))
    return Content(
        may=may_do(examined, facts),
        said=said(described(release, examined, facts, {**attached, name: data}), release.time),
        signer=examined.signer,
        files=rows(files, lambda file: 260 + line_cost(file.path)),
        text=text[: PAGES.source_characters],
        is_cut=len(text) > PAGES.source_characters,
        hidden=len(hidden_characters(text)),
        changes=_changes(Contents(release, {**attached, name: data}), examined.signer, last)
        if last is not None
        else None,
    )


def _changes(new: Contents, signer: str | None, last: Side) -> StageChanges:
    old, record = last.contents, last.record
    found = paged(differences(old, new), COMPARISON.stage_characters)
    before = examine(record.release, record.link.keyset.accepted_keys(), old.files.get(old.own_file), old.files).signer
    return StageChanges(
        version=record.version,
        path=item_path(record.identity, record.version),
        found=found.page(1),
        is_cut=len(found.pages) > 1,
        another_signer=None not in (before, signer) and before != signer,
        old=old,
        new=new,
    )
