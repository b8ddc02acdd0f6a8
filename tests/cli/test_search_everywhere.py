"""The same question has the same answer on every face: client, API, pages, mirror, offline, installed items, ``rye_search``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

from rye.runtime.project_items import ProjectItems
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

SKILLS = {
    "pdf-forms": "Fills out PDF forms and reads their fields.",
    "pdf": "Merges, splits and rotates PDF files.",
    "merge-requests": "Reviews pull requests before they are merged.",
    "kubernetes-rollout": "Rolls an application out to a cluster and watches it.",
    "file-system": "Reads, writes and lists files of the machine.",
    "old-pdf": "Merges PDF files, the old way.",
    "spreadsheets": "Makes Excel workbooks with formulas.",
}
DIRECTIVES = ("ops/pdf", "ops/rollout")
QUESTIONS = (
    "merge pdf files",
    "pdf",
    "fill a form",
    "k8s",
    "kubernets",
    "filesystem",
    "pull request review",
    "excel formulas",
    "acme/pdf",
    "skill:pdf",
    "directive:rollout",
    "something with a cluster",
    "zebra",
)
Row = tuple[str, str, float]


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    """The owner of ``acme`` with nine items, of which one is deprecated."""
    user = registry.owner("acme")
    for name, says in SKILLS.items():
        front = f"---\nname: {name}\ndescription: {says}\nmetadata:\n  version: '1.0.0'\n---\n"
        user.sign(f"skills/{name}/SKILL.md", f"{front}# {name}\n")
        user.publish(f".ai/skills/{name}/SKILL.md")
    for path in DIRECTIVES:
        user.release(path)
    user.ok("deprecate", "skill:acme/old-pdf", "--reason", "Use pdf", "--yes")
    return user


def order(person: Person, question: str, *options: str) -> list[Row]:
    """What ``rye search`` shows."""
    rows = person.ok("search", question, "--json", *options).json["results"]
    return [(row["kind"], row["id"], row["score"]) for row in rows]


def fetched(url: str, path: str, question: str) -> list[Row]:
    """What a server answers."""
    asked = Request(f"{url}{path}?{urlencode({'q': question})}", headers={"Accept": "application/json"})
    with urlopen(asked, timeout=30) as answer:
        return [(row["kind"], row["id"], row["score"]) for row in json.load(answer)["results"]]


def shown(url: str, question: str) -> list[str]:
    """The order of the page's links."""
    asked = Request(f"{url}/-/search?{urlencode({'q': question})}", headers={"Accept": "text/html"})
    with urlopen(asked, timeout=30) as answer:
        html = answer.read().decode()
    links = re.findall(r'href="[^"]*/(skill|directive)/(acme/[a-z/-]+)[@"]', html)
    return list(dict.fromkeys(f"{kind}:{name}" for kind, name in links))


@pytest.mark.thorough
def test_a_question_has_one_answer_everywhere(acme: Person, registry: Registry, tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    acme.ok("mirror", str(mirror))
    copy = Person(tmp_path / "copy")
    copy.ok("registry", "add", mirror.as_uri(), "--fingerprint", registry.fingerprint, "--default")
    reader = registry.reader()
    faces: dict[str, Callable[[str], list[Row]]] = {
        "client": lambda question: order(reader, question),
        "API": lambda question: fetched(registry.url, "/api/v1/search", question),
    }
    for question in QUESTIONS:
        answers = {name: face(question) for name, face in faces.items()}
        assert answers["client"] == answers["API"], question
        # A mirror knows no texts: its scores are its own, and what comes first is the same.
        assert [row[:2] for row in order(copy, question)][:1] == [row[:2] for row in answers["API"]][:1], question
        assert shown(registry.url, question) == [f"{kind}:{name}" for kind, name, _ in answers["API"]], question
    assert faces["API"]("merge pdf files")[0][1] == "acme/pdf"
    assert faces["API"]("k8s")[0][1] == faces["API"]("kubernets")[0][1] == "acme/kubernetes-rollout"
    assert {kind for kind, _, _ in faces["API"]("skill:pdf")} == {"skill"}
    assert faces["API"]("pdf")[-1][1] == "acme/old-pdf"
    assert faces["API"]("zebra") == []


@pytest.mark.thorough
def test_installed_items_are_in_the_same_order(acme: Person, registry: Registry) -> None:
    user = registry.user()
    user.ok(
        "add", *(f"skill:acme/{name}" for name in SKILLS), *(f"directive:acme/{path}" for path in DIRECTIVES), "--yes"
    )
    items = ProjectItems(user.library, user.project)
    for question in QUESTIONS:
        of_registry = fetched(registry.url, "/api/v1/search", question)
        assert order(user, question) == of_registry, question
        # Without the registry nothing says which of them are deprecated.
        in_use = [row for row in of_registry if row[1] != "acme/old-pdf"]
        local = [row for row in order(user, question, "--local") if row[1] != "acme/old-pdf"]
        assert local == in_use, question
        for kind in ("skill", "directive"):
            used = [(row.kind, row.id, row.score) for row in items.search(kind, question)]
            wanted = [row for row in in_use if row[0] == kind]
            if not question.partition(":")[1] or question.startswith(kind):
                assert [row for row in used if row[1] != "acme/old-pdf"] == wanted, question
