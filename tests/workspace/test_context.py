"""The seam between use cases and faces."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from rye.cli.options import Session
from rye.storage.home import Home
from rye.workspace.context import Context, LibraryContext, Notice


def accepts(context: Context) -> Context:
    """mypy checks here that both are contexts."""
    return context


def test_the_command_line_s_session_and_the_library_s_are_contexts(home: Home, tmp_path: Path) -> None:
    members = {name for name in Context.__dict__ if not name.startswith("_")}
    assert len(members) <= 13
    for context in (accepts(Session()), accepts(LibraryContext(cwd=tmp_path, home=home))):
        assert [name for name in members if not hasattr(context, name)] == []


def test_a_program_is_never_asked_and_finds_its_warnings(home: Home, tmp_path: Path) -> None:
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    context = LibraryContext(cwd=tmp_path, home=home, clock=moment)
    context.warn("the head is old", "Ask the operator.")
    with context.progress("fetching", 3) as advance:
        advance(2)
    assert (context.interactive, context.ask("Agree?"), context.now()) == (False, False, moment)
    assert context.warnings == [Notice("the head is old", "Ask the operator.")]
