"""``docs/how-to/sources.md`` is true: its commands run, word for word, against repositories on this machine."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from rye.project.manifest import parse_manifest
from tests.scenes.person import Person
from tests.sources.git_server import serving
from tests.sources.texts import skill

pytestmark = pytest.mark.processes

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "sources.md"
_BLOCKS = re.compile(r"<!-- (run|fails|manifest) -->\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HOST = "https://git.example.org"


def test_the_pages_commands_do_what_it_says(tmp_path: Path) -> None:
    with serving(tmp_path / "served") as server:
        prompts = server.repository("team/prompts")
        prompts.tag("v1.4.0", prompts.commit({"items/skills/pdf/SKILL.md": skill("pdf")}))
        kit = server.repository("team/kit")
        kit.tag("v2.0.0", kit.commit({f"skills/{name}/SKILL.md": skill(name) for name in ("docx", "xlsx", "pptx")}))
        person = Person(tmp_path)
        shared = person.folder.parent / "shared-items" / "review"
        shared.mkdir(parents=True)
        (shared / "SKILL.md").write_text(skill("review"))
        drafts = person.folder.parent / "drafts" / "notes"
        drafts.mkdir(parents=True)
        (drafts / "SKILL.md").write_text(skill("notes"))
        person.ok("init")
        ran = 0
        for what, text in _BLOCKS.findall(PAGE.read_text("utf-8")):
            text = text.replace(HOST, server.address)
            if what == "manifest":
                shown = parse_manifest(text).sources
                assert shown == parse_manifest(person.path("rye.toml").read_text()).sources
                continue
            for line in text.splitlines():
                result = person.run(*shlex.split(line.removeprefix("$ rye ")))
                assert (result.code == 0) is (what == "run"), f"{line}: {result}"
                ran += 1
        assert ran == 20
        names = sorted(row["id"] for row in person.ok("list", "--json").json["items"])
        assert names == ["shared-items/review", "team-kit/docx", "team-kit/pptx", "team-kit/xlsx", "team/pdf"]


def test_the_policy_of_the_page_is_read() -> None:
    [text] = re.findall(r"```toml\n(\[policy\]\n.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert parse_manifest(text).policy.sources == "git"
