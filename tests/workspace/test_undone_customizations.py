"""The question about a project's customizations shows what they do to the user's own, which count already (DESIGN 6.1)."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from rye.consent.customized import ShownChange
from rye.errors import RyeError
from rye.workspace.installing.install_request import Proposal
from rye.workspace.trusting.trusting_project import accept_project
from tests.customization.override_text import directive
from tests.scenes.person import Person

HEAD = '---\nagent: sage\nbase-version: "1.0.0"\nlast-reviewed: "2026-01-01"\n---\n\n'
SKILL = '---\nname: sage\ndescription: Says what is wise.\nmetadata:\n  version: "1.0.0"\n---\n\n# sage\n\n## Rules\n\nBe kind.\n'
FILES = f"""[[file]]
path = "scripts/run.sh"
do = "replace"
base = "{sha256(b"echo theirs" + bytes([10])).hexdigest()}"
reason = "Ours"
"""
FORMULA = """formula = "ship"
type = "workflow"
version = "1.0.0"
description = "Ship it."

[[steps]]
id = "send"
title = "Send"
description = "Send it."
"""


@pytest.fixture
def person(tmp_path: Path) -> Person:
    made = Person(tmp_path, "acme")
    made.write(".ai/skills/sage/SKILL.md", SKILL)
    made.write(".ai/skills/sage/scripts/run.sh", "echo theirs\n")
    made.write(".ai/formulas/ship.formula.toml", FORMULA)
    made.accepts()
    return made


def own(person: Person, place: str, text: str) -> None:
    path = Path(person.environment["RYE_USER_SPACE"], place)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def asked(person: Person) -> list[str]:
    """The lines that the question about the project's customizations shows."""
    shown: list[str] = []

    def decline(proposal: Proposal) -> bool:
        for ask in proposal.unseen:
            if isinstance(ask.subject, ShownChange):
                shown.extend(ask.subject.lines)
        return False

    with pytest.raises(RyeError):
        accept_project(person.library, person.project, decline)
    return shown


def test_an_override_that_replaces_what_the_user_added(person: Person) -> None:
    own(person, "overrides/sage.overrides.md", HEAD + directive("append", "## Rules", "Never send mail."))
    person.write(".ai/overrides/sage.overrides.md", HEAD + directive("replace", "## Rules", "## Rules\n\nBe quick."))
    lines = asked(person)
    assert "-Never send mail." in lines
    assert "+Be quick." in lines


def test_an_override_of_which_something_has_no_effect(person: Person) -> None:
    """Its text is shown whole, and what it undoes as well."""
    own(person, "overrides/sage.overrides.md", HEAD + directive("append", "## Rules", "Never send mail."))
    steps = directive("replace", "## Rules", "## Rules\n\nBe quick.") + directive("append", "## Later", "Be loud.")
    person.write(".ai/overrides/sage.overrides.md", HEAD + steps)
    lines = asked(person)
    assert "-Never send mail." in lines
    assert any("Be loud." in line for line in lines)


def test_files_beside_an_override_of_which_something_has_no_effect(person: Person) -> None:
    person.write(".ai/overrides/sage.overrides.md", HEAD + directive("append", "## Later", "Be loud."))
    person.write(".ai/overrides/sage.files.toml", FILES)
    person.write(".ai/overrides/sage.files/scripts/run.sh", "echo planted\n")
    lines = asked(person)
    assert any("Be loud." in line for line in lines)
    assert "+echo planted" in lines


@pytest.mark.processes
@pytest.mark.parametrize("planted", [HEAD, "", HEAD + directive("append", "# sage", "More.")])
def test_an_override_that_hides_an_agreed_one_by_naming_the_kind(person: Person, planted: str) -> None:
    """One without a line would be a harmless question, and the agreed rules would be gone."""
    person.customize(".ai/overrides/sage.overrides.md", HEAD + directive("append", "## Rules", "Never send mail."))
    person.write(".ai/overrides/sage.skill.overrides.md", planted)
    assert "-Never send mail." in asked(person)
    shown = person.terminal("trust", "project", answer=b"n\n", env={"NO_COLOR": "1"})
    assert ".ai/overrides/sage.overrides.md, which you agreed to, no longer counts" in shown
    assert "-Never send mail." in shown


@pytest.mark.processes
def test_one_that_hides_what_nobody_agreed_to_undoes_nothing(person: Person) -> None:
    person.write(".ai/overrides/sage.overrides.md", HEAD + directive("append", "## Rules", "Never send mail."))
    person.write(".ai/overrides/sage.skill.overrides.md", HEAD + directive("append", "# sage", "More."))
    shown = person.terminal("trust", "project", answer=b"n\n", env={"NO_COLOR": "1"})
    assert "no longer counts" not in shown
    assert "Never send mail." not in shown


def test_what_the_user_added_and_stays_is_not_shown(person: Person) -> None:
    own(person, "overrides/sage.overrides.md", HEAD + directive("append", "## Rules", "Never send mail."))
    person.write(".ai/overrides/sage.overrides.md", HEAD + directive("append", "# sage", "More."))
    lines = asked(person)
    assert "+More." in lines
    assert not [line for line in lines if "Never" in line and line[0] in "+-"]


def test_an_overlay_that_hides_the_user_s_whole_one(person: Person) -> None:
    own(
        person,
        "formula-overlays/ship.toml",
        '[[step-overrides]]\nstep_id = "send"\nmode = "append"\ndescription = "Ask me first."\n',
    )
    person.write(".ai/formula-overlays/ship.toml", "# nothing\n")
    lines = asked(person)
    assert '-description = "Ask me first."' in lines
    assert lines[-1] == "+# nothing"
