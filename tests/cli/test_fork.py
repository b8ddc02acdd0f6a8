"""``rye fork``, ``rye diff --origin`` and ``rye update --origin`` (docs/how-to/changing-skills.md)."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from rye.explaining.example import PROJECT
from rye.workspace.authoring.origin_updating import BESIDE
from tests.scenes.directive_text import directive
from tests.scenes.effort import rest_thorough
from tests.scenes.item_texts import FORMULA, agent, knowledge, skill
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

ORIGINS = ".ai/origins.toml"
ROLE = (PROJECT / ".ai/roles/reviewer.md").read_text()
BODY = "Read PDFs.\n\n## Rules\n\nBe quick.\n\n## Notes\n\nTheirs."
RUN, DATA, OLD = "scripts/run.sh", "data.bin", "old.md"


def release(author: Person, version: str, body: str, files: dict[str, bytes]) -> None:
    folder = author.path(".ai/skills/pdf")
    for old in sorted(folder.rglob("*")) if folder.exists() else ():
        if old.is_file():
            old.unlink()
    author.write(".ai/skills/pdf/SKILL.md", skill("pdf", body=body).replace('"1.0.0"', f'"{version}"'))
    for path, data in files.items():
        author.write(f".ai/skills/pdf/{path}", data).chmod(0o755 if path.endswith(".sh") else 0o644)
    author.ok("sign", ".ai/skills/pdf")
    author.publish(".ai/skills/pdf")


@pytest.fixture(scope="module")
def author(registry: Registry) -> Person:
    person = registry.owner("tools")
    release(person, "1.0.0", BODY, {RUN: b"#!/bin/sh\necho 1\n", DATA: b"\0one", OLD: b"Old.\n"})
    later = BODY.replace("Be quick.", "Be exact.")
    release(person, "1.1.0", later, {RUN: b"#!/bin/sh\necho 2\n", DATA: b"\0two", "new.md": b"New.\n"})
    return person


@pytest.fixture
def shop(registry: Registry, author: Person) -> Person:
    """Someone with the installed skill 1.0.0, a key, and Claude Code."""
    person = registry.user()
    person.ok("keys", "generate")
    person.ok("add", "tools/pdf@1.0.0", "--yes", "--approve", "tools/pdf@1.0.0")
    return person


def forked(person: Person, *words: str) -> dict[str, object]:
    made: dict[str, object] = person.ok("fork", "tools/pdf", *words, "--json").json
    return made


def own(person: Person, path: str) -> Path:
    return person.path(f".ai/skills/pdf/{path}")


class TestFork:
    def test_it_has_every_file_and_remembers_where_they_come_from(self, shop: Person) -> None:
        made = forked(shop)
        assert (made["id"], made["path"]) == ("pdf", ".ai/skills/pdf/SKILL.md")
        installed = shop.path(".ai/packages/tools/skills/pdf")
        for path in (RUN, DATA, OLD):
            assert own(shop, path).read_bytes() == (installed / path).read_bytes()
            assert own(shop, path).stat().st_mode & 0o111 == (installed / path).stat().st_mode & 0o111
        assert "rye:signed" in (installed / "SKILL.md").read_text()
        assert "rye:signed" not in own(shop, "SKILL.md").read_text()
        recorded = tomllib.loads(shop.path(ORIGINS).read_text())["skill:pdf"]
        assert (recorded["item"], recorded["version"]) == ("skill:tools/pdf", "1.0.0")
        assert recorded["digest"] == made["origin"]["digest"]  # type: ignore[index]
        shop.ok("validate", ".ai/skills/pdf")

    def test_another_id_changes_the_name_in_the_text(self, shop: Person) -> None:
        assert forked(shop, "forms")["path"] == ".ai/skills/forms/SKILL.md"
        assert "name: forms" in shop.path(".ai/skills/forms/SKILL.md").read_text()
        shop.ok("validate", ".ai/skills/forms")

    def test_what_is_there_stays(self, shop: Person) -> None:
        shop.write(".ai/skills/pdf/notes.md", "Mine.\n")
        shop.fails("fork", "tools/pdf", code="already-exists file")
        assert not shop.path(ORIGINS).exists()
        shop.fails("fork", "skill:none", code="no-such-item")

    def test_once_signed_it_is_deployed_like_an_installed_one(self, shop: Person) -> None:
        forked(shop)
        shop.ok("remove", "tools/pdf", "--yes")
        shop.ok("deploy", "--target", "claude", "--once")
        assert not shop.path(".claude/skills/pdf").exists()
        shop.ok("sign", ".ai/skills/pdf")
        shop.ok("deploy", "--target", "claude", "--once")
        assert shop.path(f".claude/skills/pdf/{RUN}").read_bytes() == b"#!/bin/sh\necho 1\n"
        assert shop.path(".claude/skills/pdf/SKILL.md").read_bytes() == own(shop, "SKILL.md").read_bytes()

    @pytest.mark.parametrize(
        ("kind", "place", "text"),
        rest_thorough(
            1,
            [
                ("directive", "directives/work/ship.md", directive("work/ship")),
                ("knowledge", "knowledge/notes/style.md", knowledge("style")),
                ("agent", "agents/helper.md", agent("helper")),
                ("role", "roles/reviewer.md", ROLE),
                (
                    "formula",
                    "formulas/ship.formula.toml",
                    FORMULA.format(name="ship").replace("version = 1", 'version = "1.0.0"'),
                ),
                (
                    "tool",
                    "tools/text/count.py",
                    '__version__ = "1.0.0"\n__category__ = "text"\n__description__ = "Counts"\n',
                ),
            ],
        ),
    )
    def test_every_kind_that_can_be_an_own_item(
        self, registry: Registry, shop: Person, kind: str, place: str, text: str
    ) -> None:
        namespace = f"kind-{kind}"
        maker = registry.owner(namespace)
        maker.sign(place, text)
        maker.publish(f".ai/{place}", version="1.0.0" if kind == "role" else None)
        local = place.partition("/")[2].partition(".")[0]
        shop.ok("add", f"{kind}:{namespace}/{local}", "--yes")
        made = shop.ok("fork", f"{kind}:{namespace}/{local}", "--json").json
        assert made["path"] == f".ai/{place}"
        shop.ok("validate", f".ai/{place}")
        assert f"{kind}:{local}" in tomllib.loads(shop.path(ORIGINS).read_text())
        (found,) = shop.ok("diff", "--origin", "--json").json["forks"]
        assert (found["own"], found["author"]) == ("", "")


class TestUpdate:
    def test_what_both_sides_changed_apart_is_merged(self, shop: Person) -> None:
        forked(shop)
        own(shop, "SKILL.md").write_text(own(shop, "SKILL.md").read_text().replace("Theirs.", "Ours."))
        (diff,) = shop.ok("diff", "--origin", "pdf", "--json").json["forks"]
        assert "-Theirs.\n+Ours." in diff["own"]
        assert "+Be exact." in diff["author"]
        assert "echo 2" in diff["author"]
        (done,) = shop.ok("update", "--origin", "--json").json["forks"]
        assert (done["old"], done["new"], done["conflicts"]) == ("1.0.0", "1.1.0", [])
        text = own(shop, "SKILL.md").read_text()
        assert "Be exact." in text
        assert "Ours." in text
        assert 'version: "1.1.0"' in text
        assert own(shop, RUN).read_bytes() == b"#!/bin/sh\necho 2\n"
        assert own(shop, RUN).stat().st_mode & 0o100
        assert own(shop, "new.md").read_bytes() == b"New.\n"
        assert not own(shop, OLD).exists()
        recorded = tomllib.loads(shop.path(ORIGINS).read_text())["skill:pdf"]
        assert recorded["version"] == "1.1.0"
        assert "has the newest original" in shop.ok("update", "--origin").stdout

    def test_a_fork_with_another_name_keeps_it(self, shop: Person) -> None:
        forked(shop, "forms")
        shop.ok("update", "--origin", "forms")
        text = shop.path(".ai/skills/forms/SKILL.md").read_text()
        assert "name: forms" in text
        assert "Be exact." in text

    def test_conflicts_are_marked_and_said_and_nothing_is_lost(self, shop: Person) -> None:
        forked(shop)
        own(shop, "SKILL.md").write_text(own(shop, "SKILL.md").read_text().replace("Be quick.", "Be slow."))
        own(shop, DATA).write_bytes(b"\0ours")
        own(shop, OLD).write_bytes(b"Changed here.\n")
        own(shop, "new.md").write_bytes(b"Also new here.\n")
        result = shop.run("update", "--origin", "--json")
        assert result.code == 1
        (done,) = result.json["forks"]
        assert len(done["conflicts"]) == 4
        text = own(shop, "SKILL.md").read_text()
        assert "<<<<<<< yours\nBe slow.\n=======\nBe exact.\n>>>>>>> tools/pdf 1.1.0" in text
        assert own(shop, DATA).read_bytes() == b"\0ours"
        assert own(shop, f"{DATA}{BESIDE}").read_bytes() == b"\0two"
        assert own(shop, OLD).read_bytes() == b"Changed here.\n"
        assert "Also new here." in own(shop, "new.md").read_text()
        assert "New." in own(shop, "new.md").read_text()

    def test_a_merged_fork_is_not_used_before_it_is_signed_again(self, shop: Person) -> None:
        forked(shop)
        shop.ok("remove", "tools/pdf", "--yes")
        shop.ok("sign", ".ai/skills/pdf")
        shop.ok("deploy", "--target", "claude", "--once")
        shop.ok("update", "--origin")
        refused = shop.run("deploy", "--target", "claude", "--once")
        assert (refused.code, "`rye sign .ai/skills/pdf/SKILL.md` signs it" in refused.stderr) == (1, True), refused
        assert b"echo 1" in shop.path(f".claude/skills/pdf/{RUN}").read_bytes()
        shop.ok("sign", ".ai/skills/pdf")
        shop.ok("deploy", "--target", "claude", "--once")
        assert b"echo 2" in shop.path(f".claude/skills/pdf/{RUN}").read_bytes()

    def test_words_that_do_not_fit(self, shop: Person) -> None:
        assert shop.ok("update", "--origin", "--json").json == {"forks": []}
        shop.fails("diff", "--origin", "pdf", code="no-such-entry fork")
        shop.fails("update", "--origin", "--dry-run", code="contradiction", exit_code=2)
