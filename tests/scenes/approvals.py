"""Rows of rye.lock with other approvals, and changes that ask for other things, where a test keeps the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rye.consent.ask import Approved, Ask, hook_text, run_text
from rye.consent.changes import NewSigner
from rye.consent.memory import Memory
from rye.consent.sorts import SORTS
from rye.installation.plan import Action, ItemChange
from rye.items.identity import Identity
from rye.project.declared_sources import is_source_origin
from rye.project.layout import Project
from rye.project.lock import LockedItem
from rye.storage.home import Home


def agreed_file(home: Home, project: Project) -> Path | None:
    """The user's file about this checkout; None if the checkout has no mark."""
    return Memory(home.data / "accepted", project.root).path


def but(*, rules: int | None = None, signer: object = ..., **given: Iterable[Any]) -> Callable[[Approved], Approved]:
    """A change of what a row approves, for :func:`changed`; whatever is not named stays."""

    def change(approved: Approved) -> Approved:
        other = approved.but(**given)
        words: dict[str, Any] = {"rules": rules} if rules is not None else {}
        return replace(other, **words, **({"signer": signer} if signer is not ... else {}))

    return change


def changed(item: LockedItem, **words: Any) -> LockedItem:
    """The row with other values. ``approved``: a value, or a change made by :func:`but`."""
    approved = words.pop("approved", item.approved)
    return replace(item, **words, approved=approved(item.approved) if callable(approved) else approved)


def item_change(
    action: Action, identity: Identity, old: LockedItem | None, new: LockedItem | None, **fields: Any
) -> ItemChange:
    """A change that asks for what the fields of :func:`with_asks` say; other fields are those of ItemChange."""
    return with_asks(ItemChange(action=action, identity=identity, old=old, new=new), **fields)


def with_asks(change: ItemChange, **fields: Any) -> ItemChange:
    """The change with other fields, and asking for these: ``asks`` (rights), ``hooks``, ``tools``, ``runs``, ``new_mentions``,
    ``signer_changed``, ``signer_unknown`` and ``brought``. What a field does not name stays as it is."""
    given = {name: fields.pop(name) for name in (*_SORTS, *_OF_SIGNERS) if name in fields}
    change = replace(change, **fields)
    name, new = str(change.identity), change.new
    gone = {_SORTS[field] for field in given if field in _SORTS} | {"forced"}
    asks = [ask for ask in change.asks if ask.sort not in gone]
    for field, sort in _SORTS.items():
        asks += [Ask(name, sort, _text(sort, value), value) for value in given.get(field, ())]
    if new is not None and any(field in given for field in _OF_SIGNERS):
        sort = "source" if new.source is not None else "signer"
        old = change.old.approved.signer_of(change.old.signer) if change.old is not None else ""
        why = NewSigner(
            **{field.removeprefix("signer_"): bool(given.get(field)) for field in _OF_SIGNERS},
            registry=new.registry,
            is_source=new.source is not None,
            is_unsigned=new.is_unsigned,
            is_editable=new.is_editable,
            unsigned_from=old if is_source_origin(old) else None,
        )
        asks = [ask for ask in asks if ask.sort not in ("signer", "source")]
        asks += [Ask(name, sort, new.signer, why)] if why.changed or why.unknown or why.brought else []
    if new is not None and new.forced is not None and (change.old is None or change.old.forced != new.forced):
        asks.append(Ask(name, "forced", new.forced))
    order = [sort.name for sort in SORTS]
    return replace(change, asks=tuple(sorted(asks, key=lambda ask: order.index(ask.sort))))


_SORTS = {"asks": "right", "hooks": "hook", "tools": "tool", "runs": "run", "new_mentions": "fact"}
_OF_SIGNERS = ("signer_changed", "signer_unknown", "brought")


def _text(sort: str, value: Any) -> str:
    texts: dict[str, Callable[[Any], str]] = {
        "right": lambda right: str(right.pattern),
        "hook": hook_text,
        "tool": str,
        "run": run_text,
        "fact": lambda mention: str(mention.word),
    }
    return texts[sort](value)
