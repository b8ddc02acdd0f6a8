"""``rye migrate directive``: an old file is updated to the current rules, after the change was shown."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.scenes.person import Person

PLACE = ".ai/directives/workflows/deploy.md"


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    """A directive with the short names of limits, no cost, and a signature over the fence alone."""
    person = Person(tmp_path)
    path = person.new("directive", "workflows/deploy")
    text = path.read_text()
    start, end = text.index("    <cost>"), text.index("</cost>\n") + len("</cost>\n")
    text = text[:start] + '    <limits turns="6" tokens="4096" />\n' + text[end:]
    span = text[text.index("<directive") : text.rindex("</directive>") + len("</directive>")].strip()
    digest = hashlib.sha256(span.encode()).hexdigest()
    path.write_text(f"<!-- rye:signed:2024-01-02T03:04:05Z:{digest}:{'A' * 86}==:0123456789abcdef -->\n{text}")
    return person


def test_the_change_is_shown_and_nothing_written_without_consent(rye: Person) -> None:
    before = rye.path(PLACE).read_bytes()
    result = rye.run("migrate", "directive", PLACE)
    assert result.code == 1
    assert "+    <cost>" in result.stdout
    assert f"`rye migrate directive --yes {PLACE}`" in result.stderr
    assert rye.path(PLACE).read_bytes() == before


def test_the_result_conforms_and_is_unsigned(rye: Person) -> None:
    rye.ok("migrate", "directive", PLACE, "--yes")
    assert rye.ok("validate", PLACE, "--strict", "--json").json["results"][0]["ok"]
    text = rye.path(PLACE).read_text()
    assert "rye:signed" not in text
    assert '<limits max_turns="6" max_tokens="4096" />' in text
    assert "<cost>" in text


def test_a_second_time_there_is_nothing_to_do(rye: Person) -> None:
    rye.ok("migrate", "directive", PLACE, "--yes")
    result = rye.ok("migrate", "directive", PLACE, "--json").json["results"][0]
    assert (result["written"], result["changes"], result["diff"]) == (False, [], "")


def test_json_says_what_was_done(rye: Person) -> None:
    (shown,) = rye.run("migrate", "directive", PLACE, "--json").json["results"]
    (done,) = rye.ok("migrate", "directive", PLACE, "--yes", "--json").json["results"]
    assert (shown["written"], done["written"]) == (False, True)
    assert shown["changes"] == done["changes"]
    assert any("signature" in change for change in done["changes"])
    assert {one["code"] for one in done["diagnostics"]} <= {"placeholder-text"}


def test_a_folder_is_every_directive_in_it(rye: Person) -> None:
    agent = rye.new("agent", "planner")
    before = agent.read_bytes()
    assert [r["path"] for r in rye.ok("migrate", "directive", ".ai", "-y", "--json").json["results"]] == [PLACE]
    assert agent.read_bytes() == before


def test_what_cannot_be_read_is_an_error(rye: Person) -> None:
    rye.path(PLACE).write_bytes(b"\xff")
    assert rye.run("migrate", "directive", PLACE, "--json").error["code"] == "unreadable"
    rye.path(PLACE).write_bytes(b"x" * 300_000)
    assert rye.run("migrate", "directive", PLACE, "--json").error["code"] == "file-too-large"
    assert rye.run("migrate", "directive", "nowhere.md", "--json").error["code"] == "no-such-file"
    assert rye.run("migrate", "directive", "--json").code == 2
