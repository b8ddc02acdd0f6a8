"""The API of a real registry, and the document that describes it."""

from __future__ import annotations

import json
import re
import urllib.request
from pathlib import Path

import pytest

from tests.outside import judges
from tests.scenes.registry import Registry
from tests.scenes.registry_process import run

pytestmark = [pytest.mark.outside, pytest.mark.processes]
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
SECONDS = 75
SCOPES = "read,publish,stage,yank,claim,admin"


@pytest.fixture
def document(registry: Registry, tmp_path: Path) -> Path:
    with urllib.request.urlopen(f"{registry.url}/openapi.json") as answer:
        (tmp_path / "openapi.json").write_bytes(answer.read())
    return tmp_path / "openapi.json"


def test_every_call_answers_as_the_document_says_to_an_administrator(registry: Registry, document: Path) -> None:
    created = run("token", "create", "judge", "--scope", SCOPES, "--data", str(registry.data), "--json")
    secret = json.loads(created.stdout)["token"]
    command = [str(judges.python() / "schemathesis"), "run", str(document), "--url", registry.url]
    command += ["-H", f"Authorization: Bearer {secret}", "--phases", "coverage,fuzzing", "--checks", CHECKS]
    command += ["--max-time", str(SECONDS), "--seed", "1", "--no-color"]  # one worker: it is not safe for threads
    command += ["--exclude-operation-id", "revokeToken"]  # it would find its own token, and be refused from then on
    done = judges.run(command, document.parent, SECONDS + 60.0)
    cases = re.search(r"([\d,]+) generated, ([\d,]+) passed", done.stdout)
    assert cases is not None, done.stdout[-3000:]
    generated, passed = (int(number.replace(",", "")) for number in cases.groups())
    judges.record("Schemathesis", generated, passed)
    assert done.code == 0, done.stdout[-6000:]
    assert generated == passed > 100
    assert re.search(r"Tested: 41\b", done.stdout), "all calls but the one that is left out"


def test_the_document_has_no_warning(document: Path) -> None:
    (document.parent / "rules.yaml").write_text('extends: ["spectral:oas"]\n')
    program = [str(judges.node()), str(judges.npm() / "@stoplight/spectral-cli/dist/index.js"), "lint", "-f", "json"]
    words = ["-r", "rules.yaml", "--fail-severity", "hint"]
    done = judges.run([*program, *words, document.name], document.parent)
    operations = sum(len(calls) for calls in json.loads(document.read_text())["paths"].values())
    judges.record("Spectral", operations, operations if done.code == 0 else 0)
    assert done.code == 0, done.stdout
    broken = json.loads(document.read_text())
    del broken["paths"]["/livez"]["get"]["description"]
    document.write_text(json.dumps(broken))
    assert judges.run([*program, *words, document.name], document.parent).code != 0
