"""``rye validate --fix``: the change is shown first, and written when a person or --yes agrees."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenes.person import Person

pytestmark = pytest.mark.processes

DIRECTIVE = ".ai/directives/workflows/deploy.md"


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    person = Person(tmp_path)
    path = person.new("directive", "workflows/deploy")
    path.write_text(path.read_text().replace("    <cost>", '    <limits turns="6" tokens="4096" />\n    <cost>'))
    return person


def test_without_consent_the_diff_is_shown_and_nothing_is_written(rye: Person) -> None:
    before = rye.path(DIRECTIVE).read_bytes()
    result = rye.ok("validate", "--fix", DIRECTIVE)
    assert '-    <limits turns="6" tokens="4096" />\n+    <limits max_turns="6" max_tokens="4096" />\n' in result.stdout
    assert result.stdout.index("+    <limits") < result.stdout.index("1 item valid")
    assert f"`rye validate --fix --yes {DIRECTIVE}`" in result.stderr
    assert rye.path(DIRECTIVE).read_bytes() == before


def test_yes_writes_what_the_diff_shows(rye: Person) -> None:
    before = rye.path(DIRECTIVE).read_text()
    rye.path(DIRECTIVE).chmod(0o640)
    result = rye.ok("validate", "--fix", "--yes", DIRECTIVE)
    assert rye.path(DIRECTIVE).read_text() == before.replace("<limits turns", "<limits max_turns").replace(
        " tokens=", " max_tokens="
    )
    assert rye.path(DIRECTIVE).stat().st_mode & 0o777 == 0o640
    assert "max_turns" in result.stdout
    again = rye.ok("validate", "--fix", "--yes", DIRECTIVE)
    assert "Nothing to fix." in again.stderr


def test_json_reports_each_fix(rye: Person) -> None:
    (fix,) = rye.ok("validate", "--fix", DIRECTIVE, "--json").json["fixes"]
    assert (fix["path"], fix["kind"], fix["written"], fix["breaks_signature"]) == (DIRECTIVE, "directive", False, False)
    assert fix["diff"].startswith(f"--- a/{DIRECTIVE}\n+++ b/{DIRECTIVE}\n@@ ")
    assert len(fix["changes"]) == 1
    assert rye.ok("validate", "--fix", "-y", DIRECTIVE, "--json").json["fixes"][0]["written"] is True
    assert rye.ok("validate", "--fix", DIRECTIVE, "--json").json["fixes"] == []
    assert "fixes" not in rye.ok("validate", DIRECTIVE, "--json").json


@pytest.mark.parametrize("kind", ["directive", "tool", "knowledge", "agent", "role", "formula", "skill", "bundle"])
def test_crlf_and_a_byte_order_mark_go_from_every_kind(tmp_path: Path, kind: str) -> None:
    """DECISIONS "Every kind" 1."""
    rye = Person(tmp_path)
    path = rye.new(kind, "some/thing" if kind in ("directive", "tool", "knowledge") else "thing")
    clean = path.read_bytes()
    path.write_bytes(b"\xef\xbb\xbf" + clean.replace(b"\n", b"\r\n"))
    shown = rye.ok("validate", "--fix", str(path), "--json").json["fixes"][0]
    assert shown["diff"] == ""
    assert len(shown["changes"]) == 2
    rye.ok("validate", "--fix", "--yes", str(path))
    assert path.read_bytes() == clean


def test_the_process_moves_out_of_the_fence(rye: Person) -> None:
    path = rye.path(DIRECTIVE)
    text = path.read_text().replace('turns="6" tokens', 'max_turns="6" max_tokens')
    start, end = text.index("<process>"), text.index("</process>\n") + len("</process>\n")
    process = text[start:end]
    path.write_text((text[:start] + text[end:]).replace("</directive>", f"{process}</directive>"))
    assert rye.run("validate", DIRECTIVE).code == 1
    rye.ok("validate", "--fix", "--yes", DIRECTIVE)
    fixed = path.read_text()
    assert fixed.index("<process>") > fixed.index("</directive>")


def test_a_broken_signature_is_said_with_the_next_command(rye: Person) -> None:
    rye.ok("keys", "generate")
    rye.ok("sign", DIRECTIVE)
    result = rye.ok("validate", "--fix", "--yes", DIRECTIVE)
    assert "signature" in result.stderr
    assert f"`rye sign {DIRECTIVE}`" in result.stderr
    assert rye.run("verify", DIRECTIVE, "--json").json["counts"] == {"modified": 1}
    rye.ok("sign", DIRECTIVE)
    assert rye.ok("verify", DIRECTIVE, "--json").json["counts"] == {"valid": 1}


def test_line_endings_alone_keep_a_signature(rye: Person) -> None:
    """CR LF reads as LF for the hash (DESIGN §4), so nothing needs a new signature."""
    rye.ok("keys", "generate")
    rye.ok("validate", "--fix", "--yes", DIRECTIVE)
    rye.ok("sign", DIRECTIVE)
    path = rye.path(DIRECTIVE)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert "rye sign" not in rye.ok("validate", "--fix", "--yes", DIRECTIVE).stderr
    rye.ok("verify", DIRECTIVE)


def test_installed_items_are_never_changed(rye: Person) -> None:
    text = rye.path(DIRECTIVE).read_text()
    path = rye.write(".ai/packages/acme/directives/workflows/deploy.md", text)
    result = rye.ok("validate", "--fix", "--yes", str(path))
    assert path.read_text() == text
    assert "installed" in result.stderr


def test_a_link_stays_a_link(rye: Person) -> None:
    link = rye.path("deploy.md")
    link.symlink_to(DIRECTIVE)
    rye.ok("validate", "--fix", "--yes", "deploy.md")
    assert link.is_symlink()
    assert "max_turns" in rye.path(DIRECTIVE).read_text()


def test_what_cannot_be_read_is_left_to_the_findings(rye: Person) -> None:
    bad = rye.write(".ai/directives/workflows/bad.md", b"\xef\xbb\xbf\xff\r\n")
    result = rye.run("validate", "--fix", "--yes", ".ai", "--json")
    assert [fix["path"] for fix in result.json["fixes"]] == [DIRECTIVE]
    assert bad.read_bytes() == b"\xef\xbb\xbf\xff\r\n"


@pytest.mark.parametrize(("answer", "written"), [(b"y\n", True), (b"n\n", False)])
def test_on_a_terminal_a_person_is_asked(rye: Person, answer: bytes, written: bool) -> None:
    shown = rye.terminal("validate", "--fix", DIRECTIVE, answer=answer)
    assert "max_turns" in shown
    assert shown.index("max_turns") < shown.index("Write this change?")
    assert ("max_turns" in rye.path(DIRECTIVE).read_text()) is written


def test_no_input_never_asks(rye: Person) -> None:
    shown = rye.terminal("validate", "--fix", "--no-input", DIRECTIVE, answer=b"y\n")
    assert "Write this change?" not in shown
    assert "max_turns" not in rye.path(DIRECTIVE).read_text()
