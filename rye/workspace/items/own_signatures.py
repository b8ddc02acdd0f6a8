"""Whether an own item may be used: who signed it, that it lies where it was signed for, and whether this user agreed to the files
attached to it (DESIGN 6.1)."""

from __future__ import annotations

from rye.consent.agreement import Agreement
from rye.consent.ask import Ask
from rye.customization.effective_text import reader
from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.items.reading import ReadOptions, Source
from rye.project.item_file import ItemFile, load_item
from rye.project.layout import Project
from rye.project.manifest import Manifest
from rye.project.spaces import Entry
from rye.signing.verification import Verification, verify
from rye.workspace.context import Context
from rye.workspace.items.effective_item import EffectiveItem
from rye.workspace.items.item_tree import base_tree
from rye.workspace.trusting.acceptance import agreement
from rye.workspace.trusting.own_attached import approval
from rye.workspace.trusting.trusted_keys import Trusted, trusted_keys

_PLACE_CODES = frozenset({"D010", "R05", "T04", "A02", "S02", "K04", "F05", "N02"})
"""Findings that an item's text names another place than its file's."""


def own_item(context: Context, entry: Entry, project: Project, manifest: Manifest) -> EffectiveItem:
    """An own item without overrides, with all its bytes: what is judged is what is written."""
    shown = entry.path.relative_to(project.root).as_posix()
    item = load_item(entry.path, shown=shown, kind=entry.location.kind, options=ReadOptions(tools=manifest.tools))
    found = EffectiveItem(item=item, entry=entry, project=project)
    return EffectiveItem(item=item, entry=entry, project=project, attached=base_tree(context, found))


def signer_of(context: Context, found: EffectiveItem, *, runs: bool, keys: Trusted | None = None) -> str | None:
    """Return the signer of an own item; None if it may be used without a valid signature. ``runs``: it is about to be executed,
    or put where an agent program does that. ``keys``: those that count in its space, if already read. Raises RyeError if it may
    not be used."""
    is_own = found.entry is not None and found.entry.space == "project"
    if keys is None:
        keys = trusted_keys(context.home, (), found.project if is_own else None)
    item = found.item
    data = found.signed if found.signed is not None else item.data
    judged = verify(data, item.kind.name, item.path.name, keys.keys, keys.revoked)
    if judged.verdict == "valid" and judged.key is not None:
        if runs:
            _refuse_moved(found)
        return judged.key.fingerprint
    if not runs and judged.verdict in ("unsigned", "untrusted", "partial"):
        return None
    raise _refused(item.shown, judged)


def not_agreed_files(context: Context, found: EffectiveItem, agreed: Agreement | None = None) -> tuple[Ask, ...]:
    """What this user has to agree to before the files attached to an own item of the project are used, since no signature covers
    them. They are judged as they are without overrides, which are agreed to on their own. ``agreed``: what this user agreed to in
    the project, if already read."""
    entry, project = found.entry, found.project
    if entry is None or entry.space != "project" or project is None:
        return ()
    tree = base_tree(context, found)
    if not tree:
        return ()
    data = found.signed if found.signed is not None else found.item.data
    agreed = agreed or agreement(context, project)
    return agreed.missing_from_lock([approval(entry, tree, data.decode("utf-8", "replace"))])


def _refuse_moved(found: EffectiveItem) -> None:
    """Refuse an own item whose signed text says that it is another item: a committer can put a signed file in any place, and
    rights are given to places. Raises RyeError ``modified-item``."""
    item, reading = found.item, found.item.reading
    if found.signed is not None:  # an override does not change what was signed
        reading = reader(item.location, item.shown, ReadOptions())(found.signed.decode("utf-8"))
    said = next((finding.message for finding in reading.diagnostics if finding.code in _PLACE_CODES), None)
    if said is None:
        said = _other_kind(item, found.signed if found.signed is not None else item.data, reading.value)
    if said is not None:
        raise RyeError(
            "modified-item",
            f"{item.shown} was signed for another place: {said}",
            f"Move the file back, or correct it and run `rye sign {item.shown}`.",
        )


def _other_kind(item: ItemFile, signed: bytes, value: object) -> str | None:
    """Why a text was not signed as an item of this kind, in words; None if it may have been. A signature covers the text
    alone, so a kind that asks for little, such as knowledge, could have the text of one that asks for more."""
    kind = item.kind
    if value is None:
        return None
    if kind.says_itself and not any(getattr(value, field) for field in kind.says_itself):
        return f"it has neither {' nor '.join(kind.says_itself)}, so it does not say that it is {kind.name}."
    source = Source(signed.decode("utf-8"), item.shown, item.location.name, None)
    for other in kind.read_from:
        if KINDS[other].load().read(source, ReadOptions()).value is not None:
            return f"its text is that of kind {other}, and as {kind.name} it would be used for something else."
    for suffix in kind.suffixes_read_from.get(item.suffix, ()):
        named = Source(source.text, f"{item.shown.removesuffix(item.suffix)}{suffix}", item.location.name, None)
        if kind.load().read(named, ReadOptions()).value is not None:
            return f"its text is that of a {suffix} file, and another program would run it as {item.suffix}."
    return None


def _refused(shown: str, judged: Verification) -> RyeError:
    code = {"modified": "modified-item", "bad-signature": "modified-item", "revoked": "signer-revoked"}
    return RyeError(
        code.get(judged.verdict, "untrusted"),
        f"{shown} is {judged.verdict}: {judged.detail}",
        f"To execute it, sign it with `rye sign {shown}`, or trust its signer's key with `rye trust add FILE`.",
    )
