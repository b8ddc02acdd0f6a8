"""A file in an agents' folder whose H1 ends in "— Nexus SDLC Agent" is a role (DECISIONS Roles 6)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rye.items.role import closed_set, reader
from tests.scenes.person import Person
from tests.scenes.shared_data import shared


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    made = Person(tmp_path)
    made.write("rye.toml", "[project]\n")
    role = made.new("role", "builder").read_text()
    made.path(".ai/roles/builder.md").unlink()
    made.write(".ai/agents/builder.md", role)
    made.new("agent", "planner")
    return made


def kinds(rye: Person) -> dict[str, str]:
    found = rye.run("validate", ".ai/agents", "--json").json["results"]
    return {Path(one["path"]).stem: one["kind"] for one in found}


def test_its_title_decides(rye: Person) -> None:
    assert kinds(rye) == {"builder": "role", "planner": "agent"}
    assert rye.ok("validate", ".ai/agents").code == 0
    assert rye.ok("show", "role:builder", "--json").json["kind"] == "role"
    assert "Builder" in rye.ok("prime", "builder").stdout
    assert rye.ok("role", "list").stdout.startswith("builder")


@pytest.mark.parametrize(
    "text",
    [
        "---\nname: builder\nwhenToUse: x\n---\n\n# Builder — Nexus SDLC Agent\n\n## System Prompt\n\nx\n",
        "```\n# Builder — Nexus SDLC Agent\n```\n\n## System Prompt\n\nx\n",
        "# Other\n\n# Builder — Nexus SDLC Agent\n",
        "<!-- # Builder — Nexus SDLC Agent -->\n\n# Other\n",
        "# Builder — Nexus SDLC Agents\n",
    ],
)
def test_no_other_line_makes_an_agent_a_role(rye: Person, text: str) -> None:
    """An agent that is read as a role would show none of its tools."""
    rye.write(".ai/agents/builder.md", text)
    assert kinds(rye)["builder"] == "agent"


def test_a_comment_may_stand_above_the_title(rye: Person) -> None:
    path = rye.path(".ai/agents/builder.md")
    path.write_text("<!-- made\nby hand -->\n" + path.read_text())
    assert kinds(rye)["builder"] == "role"


def test_each_rule_has_its_own_code() -> None:
    """DECISIONS Roles 6: each can be cited and switched off."""
    table = re.findall(r"^(N\d\d)   (\w+) ", reader.__doc__ or "", re.MULTILINE)
    codes = [code for code, _ in table]
    assert len(codes) == len(set(codes)) >= 24
    source = "".join(Path(module.__file__ or "").read_text() for module in (reader, closed_set))
    used = set(re.findall(r'"(N\d\d)"', source))
    assert used == set(codes)


def test_the_roles_of_nexus_are_read_as_roles(rye: Person) -> None:
    folder = shared("corpus/nexus/roles")
    for path in sorted(folder.glob("*.md")):
        rye.write(f".ai/agents/{path.name}", path.read_text())
    found = kinds(rye)
    assert {found[path.stem] for path in folder.glob("*.md")} == {"role"}
