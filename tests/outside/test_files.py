"""Files that Rye writes or has for other programs: deployed skills, the action, the pages of a registry."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.outside import installing, judges
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = [pytest.mark.outside, pytest.mark.processes]


def test_deployed_skills_are_valid(tmp_path: Path) -> None:
    rye = Person(tmp_path / "person")
    rye.ok("init", "--namespace", "acme")
    for name in ("pdf", "release-notes"):
        rye.ok("new", "skill", name)
    rye.ok("keys", "generate")
    rye.ok("sign")
    rye.accepts()
    rye.ok("deploy", "--target", "claude", "--target", "codex", "--yes")
    folders = sorted(path.parent for path in rye.folder.rglob("SKILL.md") if ".ai" not in path.parts)
    assert len(folders) >= 2
    program = str(judges.python() / "agentskills")
    answers = [judges.run([program, "validate", str(folder)], tmp_path) for folder in folders]
    judges.record("skills-ref", len(answers), sum(answer.code == 0 for answer in answers))
    assert [answer for answer in answers if answer.code] == []
    broken = folders[0] / "SKILL.md"
    broken.write_text(broken.read_text().replace("name:", "title:", 1))
    assert judges.run([program, "validate", str(folders[0])], tmp_path).code != 0


def test_the_action_has_no_finding(tmp_path: Path) -> None:
    program = [str(judges.python() / "zizmor"), "--offline", "--no-progress", "--format", "json"]
    done = judges.run([*program, str(installing.ROOT / "action.yml")], tmp_path)
    findings = json.loads(done.stdout)
    judges.record("zizmor", 1, int(not findings), "two findings of low confidence are annotated with their reason")
    assert [finding["ident"] for finding in findings] == []
    (tmp_path / "action.yml").write_text(
        (installing.ROOT / "action.yml").read_text().replace("zizmor: ignore", "ignore")
    )
    assert len(json.loads(judges.run([*program, str(tmp_path / "action.yml")], tmp_path).stdout)) == 2


@pytest.fixture(scope="module")
def pages(registry: Registry, acme: Person, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A registry's pages, each in a file."""
    acme.release("work/top")
    item = "/-/directive/acme/work/top"
    paths = ["/", "/-/directives", "/-/items", "/-/namespaces", "/-/namespaces/acme", "/-/log", "/-/search?q=work"]
    paths += [item, f"{item}/versions", f"{item}@1.0.0/source", "/no/such/page"]
    folder = tmp_path_factory.mktemp("pages")
    statuses = []
    for number, path in enumerate(paths):
        request = urllib.request.Request(registry.url + path, headers={"Accept": "text/html"})
        try:
            answer = urllib.request.urlopen(request)
        except urllib.error.HTTPError as error:
            answer = error
        statuses.append(answer.status)
        (folder / f"{number}.html").write_bytes(answer.read())
    assert statuses == [200] * (len(paths) - 1) + [404]
    return sorted(folder.iterdir())


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A page with a division in a paragraph, which ends it."""
    page = tmp_path / "broken.html"
    page.write_text('<!doctype html><html lang="en"><title>Broken</title><p><div></div></p></html>')
    return page


def test_html_validate_finds_nothing_in_the_pages(pages: list[Path], broken: Path) -> None:
    rules = '{"root": true, "extends": ["html-validate:standard"]}'
    program = [str(installing.node()), str(judges.npm() / "html-validate/bin/html-validate.mjs"), "--formatter", "json"]

    def wrong(*checked: Path) -> set[str]:
        (checked[0].parent / ".htmlvalidate.json").write_text(rules)
        done = judges.run([*program, *map(str, checked)], checked[0].parent)
        return {Path(entry["filePath"]).name for entry in json.loads(done.stdout) if entry["errorCount"]}

    found = wrong(*pages)
    judges.record("html-validate", len(pages), len(pages) - len(found))
    assert found == set()
    assert wrong(broken) == {broken.name}


def test_vnu_finds_nothing_in_the_pages(pages: list[Path], broken: Path) -> None:
    program = [str(judges.java()), "-jar", str(judges.npm() / "vnu-jar/build/dist/vnu.jar"), "--format", "json"]

    def wrong(*checked: Path) -> dict[str, list[str]]:
        """What it says about each page; its remarks on style are not errors."""
        done = judges.run([*program, "--exit-zero-always", *map(str, checked)], checked[0].parent)
        found: dict[str, list[str]] = {}
        for message in json.loads(done.stderr)["messages"]:
            if message["type"] != "info" or message.get("subType") == "warning":
                found.setdefault(Path(message["url"]).name, []).append(message["message"])
        return found

    found = wrong(*pages)
    judges.record("vnu", len(pages), len(pages) - len(found))
    assert found == {}
    assert set(wrong(broken)) == {broken.name}
