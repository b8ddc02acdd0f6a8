"""What one item asks for between the row that was agreed to and the one that is wanted, where a source changes (DESIGN 7)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from rye.consent.ask import Ask, approving
from rye.consent.changes import ItemStep, NewSigner, asks_of
from rye.consent.sorts import row_of
from rye.project.lock import LockedItem, LockedSource

NAME = "skill:acme/pdf"


def row(**fields: Any) -> LockedItem:
    """An unsigned item of a folder, approved."""
    source = LockedSource(place="SKILL.md", path="../a", editable=fields.pop("editable", False))
    made = LockedItem(
        kind="skill", id="acme/pdf", version="1.0.0", size=1, sha256="ab" * 32, suffix="SKILL.md", registry=source.origin,
        log=0, keyset=0, signer=source.origin, source=source,
    )  # fmt: skip
    return replace(made, **fields)


OTHER = "cd" * 32


def asked(was: LockedItem | None, wanted: LockedItem, **more: Any) -> list[Ask]:
    return list(asks_of(ItemStep(was=was, wanted=wanted, **more)))


def test_other_bytes_that_nobody_signed_are_asked_about_unless_they_were_agreed_to() -> None:
    changed = row(sha256=OTHER)
    assert asked(row(), changed) == [Ask(NAME, "unsigned-text", OTHER)]
    assert asked(row(), changed, knows_bytes=lambda found: found == changed) == []
    assert asked(row(), row()) == []
    pending = row(approved=approving(1, "path+../a"))
    assert asked(pending, pending) == [Ask(NAME, "unsigned-text", pending.sha256)], (
        "nobody installed what rye lock wrote"
    )


def test_a_first_text_a_signed_one_and_one_that_is_read_in_place_are_not_asked_about_as_texts() -> None:
    changed = row(sha256=OTHER)
    assert asked(None, changed) == []
    assert asked(row(approved=approving(1, "")), changed) == []
    assert asked(row(editable=True), row(editable=True, sha256=OTHER)) == []
    signed = row(signer="SHA256:a")
    assert asked(signed, replace(signed, sha256=OTHER)) == []


@pytest.mark.parametrize("editable", [False, True])
def test_a_folder_that_this_command_names_is_not_brought_in_by_rye_toml(editable: bool) -> None:
    (ask,) = asked(None, row(editable=editable), known_signers=frozenset())
    assert (ask.sort, ask.subject.unknown, ask.subject.brought) == ("source", True, False)
    assert ask.subject.editable is row_of(ask).stops_always(ask) is False
    (ask,) = asked(None, row(editable=editable), known_signers=frozenset(), is_wanted=True)
    assert ask.subject.editable is row_of(ask).stops_always(ask) is editable


def test_an_item_that_this_command_names_and_whose_source_is_known_asks_for_nothing() -> None:
    assert asked(None, row()) == []
    assert [one.sort for one in asked(None, row(), is_wanted=True)] == ["source"]


def test_the_source_before_is_said_only_of_one_that_changed() -> None:
    assert NewSigner() == NewSigner(changed=False, unknown=False, brought=False, registry="", unsigned_from=None)
    brought = NewSigner(brought=True, registry="path+../a", is_unsigned=True, unsigned_from="path+../b")
    assert brought.reasons == ["is a new, unsigned item from path+../a"]
    assert replace(brought, brought=False, changed=True).reasons == [
        "comes from a different source (path+../a, previously path+../b)"
    ]
    assert NewSigner().reasons == []


def test_a_forced_range_is_asked_about_until_rye_lock_has_it() -> None:
    forced = row(forced="^1")
    assert asked(None, forced) == asked(row(), forced) == [Ask(NAME, "forced", "^1")]
    assert asked(forced, row(forced="^2")) == [Ask(NAME, "forced", "^2")]
    assert asked(forced, forced) == asked(forced, row()) == []
