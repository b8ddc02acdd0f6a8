"""A project with one item of each kind, and a user of each program who has only what Rye deployed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.clients import tool_server
from tests.clients.model import Provider, providing
from tests.clients.program import PROGRAMS, Seat
from tests.scenes.installed import install, project_with_targets
from tests.scenes.item_texts import agent, bound, knowledge, skill
from tests.scenes.person import Person

AGENTS = {
    "reviewer": "tools:\n  allowed: [Read, Glob, Grep]\n",
    "writer": "tools:\n  allowed: [Read, Glob, Grep, Write, Edit, Bash]\n",
    "nothing": "tools:\n  allowed: []\n",
    "anything": "",
}
"""Agents and their tools, as in the source."""

TakeSeat = Callable[..., Seat]


@pytest.fixture
def shop(tmp_path: Path) -> Person:
    """A project with items installed and nothing deployed yet."""
    made = project_with_targets(tmp_path / "shop", "")
    install(made, "skill", "acme/release-notes", skill("release-notes", description="Writes release notes."))
    for name, tools in AGENTS.items():
        install(made, "agent", f"acme/{name}", agent(name, tools))
    install(made, "directive", "acme/work/ship", bound())
    install(made, "knowledge", "acme/notes/style", knowledge("style"))
    return made


@pytest.fixture
def take_seat(tmp_path: Path, shop: Person) -> TakeSeat:
    """A user in the project with an empty home folder. Skips the test if the program is not installed."""
    tools = tmp_path / "tools"
    tools.mkdir()
    start = tools / "rye"
    start.write_text(f"#!{sys.executable}\n{Path(tool_server.__file__).read_text('utf-8')}", "utf-8")
    start.chmod(0o755)

    def take(name: str, environment: Mapping[str, str] | None = None, *, as_user: bool = False) -> Seat:
        """``as_user``: a user whose home folder Rye deployed to, working in a folder that is not a project."""
        program = PROGRAMS[name]
        if not program.is_installed():
            pytest.skip(program.why_not())
        folder = tmp_path / "elsewhere" if as_user else shop.folder
        home = shop.home if as_user else tmp_path / "person"
        folder.mkdir(exist_ok=True)
        home.mkdir(exist_ok=True)
        return Seat(program, home, folder, environment or {}, tools)

    return take


@pytest.fixture
def provider() -> Iterator[Provider]:
    with providing() as made:
        yield made


def started(seat: Seat) -> list[str]:
    """How the program started ``rye``, one line for each start."""
    notes = seat.tools / "rye.started"
    return notes.read_text("utf-8").splitlines() if notes.exists() else []
