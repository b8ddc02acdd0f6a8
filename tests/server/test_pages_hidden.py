"""What others publish changes nothing that a reader of some namespaces gets (docs/how-to/registry-access.md)."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

from registry_server.pages import crawlers
from registry_server.pages.limits import RecordLimits
from registry_server.upkeep.founding import found
from rye.items.identity import Identity
from rye.registry.protocol.statements import Relation
from tests.scenes.effort import rest_thorough
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.registry_process import ORIGIN
from tests.server.test_pages_shop_front import ALARM, HTML, JSON, skill

QUERIES = (
    "", "?sort=newest", "?sort=name", "?alarms=no", "?tools=declared", "?licence=mit", "?licence=Apache-2.0",
)  # fmt: skip
SEEN = [
    *(f"/-/{folder}{query}" for folder in ("items", "skills", "tools") for query in QUERIES),
    "/-/namespaces", "/-/namespaces?sort=newest", "/-/namespaces?sort=name", "/-/namespaces/acme",
    "/-/search?q=quokka", "/-/search?q=quokka&kind=skill", "/sitemap.xml",
    "/-/search?q=other", "/-/search?q=user", "/-/namespaces/acme?kind=skill",
    "/sitemap.xml?after=", "/sitemap.xml?after=skill:acme/needing", "/feed.atom", "/-/skills/feed.atom",
    "/-/namespaces/acme/feed.atom", "/-/skill/acme/first/feed.atom",
    "/-/skill/acme/first", "/-/skill/acme/first/versions", "/-/skill/acme/needing", "/",
    "/-/skill/acme/first/dependents", "/-/skill/acme/first@latest", "/-/skill/acme/first@1",
]  # fmt: skip
HIDDEN = [
    "/-/skill/other/user", "/-/skill/other/user@1.0.0", "/-/skill/other/user/versions", "/-/skill/other/user/feed.atom",
    "/-/skill/other/user@1.0.0/raw", "/-/skill/other/user@1.0.0/source", "/-/skill/other/user/diff/1.0.0..2.0.0",
    "/-/namespaces/other", "/-/namespaces/other/feed.atom", "/-/skill/other/user/dependents", "/-/skill/other/user@latest",
    "/-/skill/other/user@1", "/-/skill/other/user@9.0.0",
]  # fmt: skip


def shown(local: LocalRegistry, path: str, token: str) -> object:
    """What a page says, without the size of the log, which every member may see."""
    answer = local.get(path, token, headers=HTML if path == "/" else JSON)
    if answer.status_code == 302:
        return answer.headers["location"]
    assert answer.status_code == 200, (path, answer.text)
    if path == "/":
        return answer.text.partition("log of ")[2].partition("</a>")[2].partition("<footer")[0]
    if path.partition("?")[0].endswith((".atom", ".xml")):
        return etree.canonicalize(answer.text)
    said = answer.json()
    said.pop("dependents_entries", None)
    return said


@pytest.mark.parametrize("kind", rest_thorough(1, ["sqlite", "postgresql"]))
def test_what_is_hidden_changes_nothing(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(crawlers, "RECORDS", RecordLimits(sitemap_names=2))
    data = tmp_path / "data"
    found(data, ORIGIN, {"database": request.getfixturevalue("empty")} if kind == "postgresql" else {}, None, 365)
    with LocalRegistry(data, 'read = "namespaces"\n', make=False) as local:
        acme, beta = local.owner("acme"), local.owner("beta")
        first = skill(local, acme, "Quokka.\n", "license: MIT\n", "first")
        for name in ("one", "two", "three"):
            skill(local, beta, name=name)
        hidden = Identity("skill", "other/user")
        needs = (Relation(str(hidden), hidden, "^1.0"),)
        skill(local, acme, ALARM, "allowed-tools: Read\n", "needing", depends_on=needs)
        token = local.token("acme", "beta", scopes=["read"])
        before = {path: shown(local, path, token) for path in SEEN}
        nothing = {path: local.get(path, token, headers=HTML).text for path in HIDDEN}

        other = local.owner("other")
        uses = (Relation(str(first), first, "^1.0"),)
        for number in (1, 2):
            version, text = f"{number}.0.0", f"{ALARM}Quokka {number}.\n"
            skill(local, other, text, "license: Apache-2.0\n", "user", version=version, depends_on=uses)
        skill(local, other, "More.\n", "license: MIT\nallowed-tools: Read\n", "more", depends_on=uses)
        everyone = local.token("acme", "other", scopes=["read"])
        rows = local.get("/-/skills", everyone, headers=JSON).json()["results"]
        assert {row["id"]: row["used_by"] for row in rows}[first.id] == 2
        listed = [local.get("/-/skill/acme/first/dependents", one, headers=JSON).json() for one in (everyone, token)]
        assert [[row["id"] for row in found["results"]] for found in listed] == [["other/more", "other/user"], []]

        for path in SEEN:
            assert shown(local, path, token) == before[path], path
        for path in HIDDEN:
            answer = local.get(path, token, headers=HTML)
            assert (answer.status_code, answer.text) == (404, nothing[path]), path
