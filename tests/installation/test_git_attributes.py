"""Bytes survive a checkout: git changes no line end of what Rye wrote, whatever the user's settings (real git)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rye.installation.git_attributes import with_block
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person

pytestmark = pytest.mark.processes

LINE = "* -text"
BLOCK = b"# BEGIN rye: these bytes are signed or locked\n* -text\n# END rye\n"
SETTINGS = (
    ("core.autocrlf=true",),
    ("core.autocrlf=input",),
    ("core.symlinks=false",),
    ("core.filemode=false",),
    ("core.ignorecase=true",),
    ("core.autocrlf=true", "core.filemode=false", "core.symlinks=false", "core.ignorecase=true"),
)


@pytest.mark.parametrize(
    "users",
    [b"", b"*.md text\n", b"*.md text", b"*.md text\r\n", b"*.md text\r\n*.x", b"\xff\xfe", b"# BEGIN rye\n", b"\n\n"],
)
def test_the_users_bytes_come_back_when_the_block_goes(users: bytes) -> None:
    there = with_block(users or None, [LINE])
    assert there is not None
    assert there.startswith(users)
    assert with_block(there, [LINE]) == there
    assert with_block(there, []) == (users or None)
    assert with_block(users or None, []) == (users or None)


def test_the_block_becomes_the_last_again_and_is_known_with_other_line_ends() -> None:
    assert with_block(BLOCK + b"* text\n", [LINE]) == b"* text\n" + BLOCK
    assert with_block(BLOCK.replace(b"\n", b"\r\n"), [LINE]) == BLOCK
    assert with_block(BLOCK + BLOCK, [LINE]) == BLOCK


def git(folder: Path, *words: str) -> str:
    safe = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.safecrlf=false"]
    return subprocess.run(["git", *safe, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def committed(user: Person) -> Person:
    """A project in a checkout, with an installed skill that has a script, its deployed copy, and an own item."""
    git(user.folder, "init", "-q")
    user.write("../drafts/word/SKILL.md", "---\nname: word\ndescription: Finds words.\n---\n# Word\n\nRead it.\n")
    user.write("../drafts/word/scripts/find.sh", "#!/bin/sh\necho word\n").chmod(0o755)
    user.write("../drafts/word/notes.txt", "one\r\ntwo\n")
    user.ok("add", "../drafts", "--all", "--yes")
    user.ok("deploy", "--target", "claude", "--yes")
    git(user.folder, "add", "-A")
    git(user.folder, "commit", "-q", "-m", "everything")
    return user


@pytest.mark.parametrize("settings", rest_thorough(1, [(each,) for each in SETTINGS]), ids=" ".join)
def test_a_clone_has_the_same_bytes_and_every_reader_says_so(user: Person, settings: tuple[str, ...]) -> None:
    source = committed(user)
    clone = source.folder.parent / "clone"
    git(
        source.folder,
        "clone",
        "-q",
        *(word for one in settings for word in ("-c", one)),
        str(source.folder),
        str(clone),
    )
    names = [name for name in git(source.folder, "ls-files").split("\n") if name.startswith((".ai/", ".claude/"))]
    assert any("SKILL.md" in name for name in names)
    assert {name for name in names if (clone / name).read_bytes() != source.path(name).read_bytes()} == set()
    there = source.elsewhere(clone)
    there.ok("ci", "--trust-lock")
    there.ok("deploy", "--check", "--target", "claude")
    there.ok("show", "skill:drafts/word")
    assert git(clone, "status", "--porcelain") == ""


def test_a_users_own_lines_do_not_reach_what_rye_wrote(user: Person) -> None:
    user.write(".gitattributes", "* text=auto eol=crlf ident\n*.md text eol=crlf\n")
    user.write(".claude/.gitattributes", "*.md text eol=crlf")
    source = committed(user)
    clone = source.folder.parent / "clone"
    git(source.folder, "clone", "-q", str(source.folder), str(clone))
    assert source.path(".claude/.gitattributes").read_bytes().startswith(b"*.md text eol=crlf\n")
    there = source.elsewhere(clone)
    there.ok("ci", "--trust-lock")
    there.ok("deploy", "--check", "--target", "claude")
    source.ok("undeploy", "--all")
    assert source.path(".claude/.gitattributes").read_bytes() == b"*.md text eol=crlf"


def test_it_is_said_and_goes_with_the_last_deployed_file(user: Person) -> None:
    git(user.folder, "init", "-q")
    user.write("../drafts/word/SKILL.md", "---\nname: word\ndescription: Finds words.\n---\n# Word\n\nRead it.\n")
    assert ".ai/.gitattributes makes git keep" in user.ok("add", "../drafts", "--all", "--yes").stderr
    assert ".claude/.gitattributes makes git keep" in user.ok("deploy", "--target", "claude").stderr
    assert "/skills/word/** -text" in user.path(".claude/.gitattributes").read_text()
    user.write("../drafts/page/SKILL.md", "---\nname: page\ndescription: Finds pages.\n---\n# Page\n\nRead it.\n")
    user.ok("add", "../drafts", "--all", "--yes")
    assert "makes git keep" not in user.ok("deploy", "--target", "claude").stderr, "it was said before"
    assert "/skills/page/** -text" in user.path(".claude/.gitattributes").read_text()
    user.ok("undeploy", "--all")
    assert not user.path(".claude/.gitattributes").exists()
    assert user.path(".ai/.gitattributes").exists()


def test_a_link_in_its_place_is_not_written_through(user: Person) -> None:
    git(user.folder, "init", "-q")
    outside = user.write("../outside", "mine\n")
    user.path(".ai").mkdir(exist_ok=True)
    user.path(".ai/.gitattributes").symlink_to(outside)
    user.write("../drafts/word/SKILL.md", "---\nname: word\ndescription: Finds words.\n---\n# Word\n\nRead it.\n")
    assert "is a symbolic link" in user.ok("add", "../drafts", "--all", "--yes").stderr
    assert outside.read_text() == "mine\n"


def test_init_writes_it_in_a_checkout_alone(tmp_path: Path) -> None:
    person = Person(tmp_path)
    inside = tmp_path / "inside"
    inside.mkdir()
    git(inside, "init", "-q")
    person.ok("init", str(inside))
    assert "* -text" in (inside / ".ai/.gitattributes").read_text()
    person.ok("init", str(tmp_path / "outside"))
    assert not (tmp_path / "outside/.ai").exists()


def test_the_audit_names_what_a_checkout_changed(user: Person) -> None:
    project = committed(user)
    script, text = (project.path(f".claude/skills/word/{name}") for name in ("scripts/find.sh", "SKILL.md"))
    script.chmod(0o644)
    text.write_bytes(text.read_bytes().replace(b"\n", b"\r\n"))
    said = project.run("audit")
    assert said.code == 1
    shown = " ".join((said.stdout + said.stderr).split())
    assert "SKILL.md differs only in its line ends" in shown
    assert "--overwrite-edited skill:drafts/word" in shown
    assert "find.sh lost its executable bit" in shown


READERS = (
    ("show", "skill:drafts/word"),
    ("render", "skill:drafts/word"),
    ("verify", ".ai/packages/drafts/skills/word/SKILL.md"),
    ("deploy", "--target", "claude"),
    ("ci",),
    ("install",),
    ("audit",),
)


EXIT_OF_AN_UNSIGNED_ITEM = dict.fromkeys((words[0] for words in READERS), 0) | {"verify": 1}


def said_by(person: Person, words: tuple[str, ...]) -> tuple[int, str]:
    """A command's exit status and what it shows, as one line."""
    result = person.run(*words)
    return result.code, " ".join((result.stdout + result.stderr).split())


@pytest.mark.parametrize("words", READERS, ids=" ".join)
@pytest.mark.parametrize("name", rest_thorough(1, ["SKILL.md", "scripts/find.sh"]))
def test_line_ends_that_a_checkout_changed_are_named_with_what_mends_them(
    user: Person, words: tuple[str, ...], name: str
) -> None:
    project = committed(user)
    path = project.path(f".ai/packages/drafts/skills/word/{name}")
    before = path.read_bytes()
    path.write_bytes(before.replace(b"\n", b"\r\n"))
    code, said = said_by(project, words)
    assert code == 1, said
    assert "differs only in its line ends, which git changes in a checkout (`core.autocrlf`)" in said
    assert "--discard-local-edits` restores them; commit the `.gitattributes` that it writes." in said
    path.write_bytes(before.replace(b"\n", b"\r\n") + b"more\r\n")
    code, said = said_by(project, words)
    assert code == 1, said
    assert "line ends" not in said
    path.write_bytes(before)
    code, said = said_by(project, words)
    assert code == EXIT_OF_AN_UNSIGNED_ITEM[words[0]], said
    assert "line ends" not in said


@pytest.mark.parametrize("words", [("ci",), ("install",), ("audit",), ("deploy", "--yes")], ids=" ".join)
def test_a_link_to_the_same_bytes_is_called_a_link(user: Person, words: tuple[str, ...]) -> None:
    project = committed(user)
    path = project.path(".ai/packages/drafts/skills/word/notes.txt")
    before = path.read_bytes()
    path.rename(project.home / "moved.txt")
    path.symlink_to(project.home / "moved.txt")
    code, said = said_by(project, words)
    assert code != 0, said
    assert "line ends" not in said
    assert "notes.txt" in said
    assert "symbolic link" in said
    path.unlink()
    project.ok("install")
    assert not path.is_symlink()
    assert path.read_bytes() == before


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_a_lost_executable_bit_is_named_with_what_mends_it(user: Person, words: tuple[str, ...]) -> None:
    project = committed(user)
    path = project.path(".ai/packages/drafts/skills/word/scripts/find.sh")
    path.chmod(0o644)
    code, said = said_by(project, words)
    if words == ("install",):
        assert code == 0, said
        assert f"{path.relative_to(project.folder)} had another executable bit than its item; it is restored." in said
        assert path.stat().st_mode & 0o111
        return
    assert code == 1, said
    assert "find.sh" in said
    assert "lost its executable bit" in said
    assert "git update-index --chmod=+x .ai/packages/drafts/skills/word/scripts/find.sh" in said
    assert not path.stat().st_mode & 0o111
    project.ok("install")
    code, said = said_by(project, words)
    assert code == EXIT_OF_AN_UNSIGNED_ITEM[words[0]], said
    assert "executable bit" not in said


def test_ci_sets_the_bit_of_a_version_that_a_pull_brought(user: Person) -> None:
    """The lock is newer than the files then: nobody lost a bit."""
    project = committed(user)
    drafts = project.folder / "../drafts/word"
    old = {path: path.read_bytes() for path in project.path(".ai/packages").rglob("*") if path.is_file()}
    (drafts / "SKILL.md").write_text((drafts / "SKILL.md").read_text() + "More.\n")
    (drafts / "scripts/find.sh").chmod(0o644)
    written = project.path(".ai/.rye/installed.json").read_text()
    asked = project.run("update", "--yes", "--json").error
    [change] = asked["changes"]
    project.ok("update", "--yes", "--approve", f"skill:drafts/word@{change['to']}")
    for path, data in old.items():
        path.write_bytes(data)
    script = project.path(".ai/packages/drafts/skills/word/scripts/find.sh")
    script.chmod(0o755)
    project.path(".ai/.rye/installed.json").write_text(written)
    project.ok("ci")
    assert not script.stat().st_mode & 0o111


def test_an_installed_text_with_other_line_ends_is_not_valid_and_an_own_one_says_what_mends_it(
    acme: Person, user: Person
) -> None:
    """A signature counts CR LF as LF (DESIGN 4), the lock counts every byte."""
    acme.release("ops/ends")
    user.ok("add", "directive:acme/ops/ends", "--yes")
    installed = ".ai/packages/acme/directives/ops/ends.md"
    user.ok("verify", installed)
    before = user.path(installed).read_bytes()
    user.path(installed).write_bytes(before.replace(b"\n", b"\r\n"))
    [row] = user.run("verify", installed, "--json").json["results"]
    assert (row["verdict"], "differs only in its line ends" in row["detail"]) == ("modified", True)
    for words in (
        ("show", "acme/ops/ends"),
        ("render", "acme/ops/ends"),
        ("mcp", "serve", "--as", "acme/ops/ends"),
        ("ci",),
    ):
        code, said = said_by(user, words)
        assert code == 1, said
        assert "differs only in its line ends" in said
    user.ok("install", "--discard-local-edits")
    assert user.path(installed).read_bytes() == before
    own = ".ai/directives/ops/ends.md"
    assert "CR LF" not in acme.ok("verify", own).stderr
    signed = acme.path(own).read_bytes()
    acme.path(own).write_bytes(signed.replace(b"\n", b"\r\n"))
    told = acme.ok("verify", own)
    assert f"{own} has CR LF line ends and was signed with LF" in " ".join(told.stderr.split())
    assert f"rye validate --fix {own}" in told.stderr
    assert acme.ok("verify", own, "--json").json["results"][0]["differs"] == "line-ends"
    acme.ok("validate", "--fix", own, "--yes")
    assert acme.path(own).read_bytes() == signed
