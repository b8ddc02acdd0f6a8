"""The API of a real registry, and the document that describes it."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.outside import installing, judges
from tests.scenes.registry import Registry
from tests.scenes.registry_process import run

pytestmark = [pytest.mark.outside, pytest.mark.processes]
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
SECONDS = (75, 15)
REVOKE = "revokeToken"
SCOPES = "read,publish,stage,yank,claim,admin"


@pytest.fixture
def document(registry: Registry, tmp_path: Path) -> Path:
    with urllib.request.urlopen(f"{registry.url}/openapi.json") as answer:
        (tmp_path / "openapi.json").write_bytes(answer.read())
    return tmp_path / "openapi.json"


def test_every_call_answers_as_the_document_says_to_an_administrator(registry: Registry, document: Path) -> None:
    """Revoking tokens is judged last, with a token of its own: the judge may revoke any that it has seen."""
    last = ("--exclude-operation-id", REVOKE), ("--include-operation-id", REVOKE)
    victim = created(registry)["id"]
    found = json.loads(document.read_text())
    (revoking,) = (call for path in found["paths"].values() for call in path.values() if call["operationId"] == REVOKE)
    revoking["parameters"][0]["example"] = victim
    document.write_text(json.dumps(found))
    answers = [judged(registry, document, words, seconds) for words, seconds in zip(last, SECONDS, strict=True)]
    generated, passed, operations = (sum(column) for column in zip(*answers, strict=True))
    judges.record("Schemathesis", generated, passed)
    assert generated == passed > 100
    assert operations == sum(len(path) for path in found["paths"].values())
    listed = run("token", "list", "--data", str(registry.data), "--json").stdout
    (state,) = (each["state"] for each in json.loads(listed)["tokens"] if each["id"] == victim)
    assert state == "revoked"


def created(registry: Registry) -> dict[str, str]:
    """A new administrator's token, with its ``token`` and ``id``."""
    made = run("token", "create", "judge", "--scope", SCOPES, "--data", str(registry.data), "--json")
    found: dict[str, str] = json.loads(made.stdout)
    return found


def judged(registry: Registry, document: Path, words: Sequence[str], seconds: int) -> tuple[int, int, int]:
    """How many cases were generated and passed, and how many calls were tested."""
    secret = created(registry)["token"]
    command = [str(judges.python() / "schemathesis"), "run", str(document), "--url", registry.url, *words]
    command += ["-H", f"Authorization: Bearer {secret}", "--phases", "examples,coverage,fuzzing", "--checks", CHECKS]
    command += ["--max-time", str(seconds), "--seed", "1", "--no-color"]  # one worker: it is not safe for threads
    done = judges.run(command, document.parent, seconds + 60.0)
    assert done.code == 0, done.stdout[-6000:]
    cases = re.search(r"([\d,]+) generated, ([\d,]+) passed", done.stdout)
    tested = re.search(r"Tested: (\d+)", done.stdout)
    assert cases is not None, done.stdout[-3000:]
    assert tested is not None, done.stdout[-3000:]
    generated, passed = (int(number.replace(",", "")) for number in cases.groups())
    return generated, passed, int(tested[1])


def test_the_document_has_no_warning(document: Path) -> None:
    (document.parent / "rules.yaml").write_text('extends: ["spectral:oas"]\n')
    program = [
        str(installing.node()),
        str(judges.npm() / "@stoplight/spectral-cli/dist/index.js"),
        "lint",
        "-f",
        "json",
    ]
    words = ["-r", "rules.yaml", "--fail-severity", "hint"]
    done = judges.run([*program, *words, document.name], document.parent)
    operations = sum(len(calls) for calls in json.loads(document.read_text())["paths"].values())
    judges.record("Spectral", operations, operations if done.code == 0 else 0)
    assert done.code == 0, done.stdout
    broken = json.loads(document.read_text())
    del broken["paths"]["/livez"]["get"]["description"]
    document.write_text(json.dumps(broken))
    assert judges.run([*program, *words, document.name], document.parent).code != 0
