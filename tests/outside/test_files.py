"""Files that Rye writes or has for other programs: deployed skills, the action, the pages of a registry."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.outside import judges
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
    done = judges.run([*program, str(judges.ROOT / "action.yml")], tmp_path)
    findings = json.loads(done.stdout)
    judges.record("zizmor", 1, int(not findings), "two findings of low confidence are annotated with their reason")
    assert [finding["ident"] for finding in findings] == []
    (tmp_path / "action.yml").write_text((judges.ROOT / "action.yml").read_text().replace("zizmor: ignore", "ignore"))
    assert len(json.loads(judges.run([*program, str(tmp_path / "action.yml")], tmp_path).stdout)) == 2


def test_the_pages_are_valid_html(registry: Registry, acme: Person, tmp_path: Path) -> None:
    acme.release("work/top")
    item = "/-/directive/acme/work/top"
    paths = ["/", "/-/directives", "/-/items", "/-/namespaces", "/-/namespaces/acme", "/-/log", "/-/search?q=work"]
    paths += [item, f"{item}/versions", f"{item}@1.0.0/source", "/no/such/page"]
    statuses = []
    for number, path in enumerate(paths):
        request = urllib.request.Request(registry.url + path, headers={"Accept": "text/html"})
        try:
            answer = urllib.request.urlopen(request)
        except urllib.error.HTTPError as error:
            answer = error
        statuses.append(answer.status)
        (tmp_path / f"{number}.html").write_bytes(answer.read())
    assert statuses == [200] * (len(paths) - 1) + [404]
    (tmp_path / ".htmlvalidate.json").write_text('{"root": true, "extends": ["html-validate:standard"]}')
    program = [str(judges.node()), str(judges.npm() / "html-validate/bin/html-validate.mjs"), "--formatter", "json"]
    done = judges.run([*program, *(f"{number}.html" for number in range(len(paths)))], tmp_path)
    wrong = {entry["filePath"] for entry in json.loads(done.stdout) if entry["errorCount"]}
    judges.record("html-validate", len(paths), len(paths) - len(wrong))
    assert wrong == set(), done.stdout[:6000]
    (tmp_path / "0.html").write_text("<!doctype html><p><div></p>")
    assert judges.run([*program, "0.html"], tmp_path).code != 0
