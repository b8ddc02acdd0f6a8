"""Bills of materials of a project and of Rye itself, read by the programs that people check them with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from making.release import client_bill
from rye.installation.cyclonedx import cyclonedx
from rye.installation.spdx import spdx
from tests.outside import judges
from tests.scenes.person import Person

pytestmark = [pytest.mark.outside, pytest.mark.processes]
STRICT = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())
sys.exit(str(problem) if problem else 0)
"""


@pytest.fixture(scope="module", autouse=True)
def published(acme: Person) -> None:
    """An item that needs another."""
    acme.release("work/base")
    acme.release("work/top", depends=(("acme/work/base", "^1.0"),))


@pytest.fixture
def bills(user: Person, tmp_path: Path) -> dict[str, list[Path]]:
    """Documents by format: of a project with two items, and of the client's packages."""
    user.ok("add", "acme/work/top", "--yes")
    user.ok("sbom", "-o", "bom.json")
    user.ok("sbom", "--format", "spdx", "-o", "bom.spdx.json")
    own = client_bill("0.1.0", "2026-01-02T03:04:05Z")
    (tmp_path / "own.cdx.json").write_text(json.dumps(cyclonedx(own)))
    (tmp_path / "own.spdx.json").write_text(json.dumps(spdx(own)))
    return {
        "cyclonedx": [user.path("bom.json"), tmp_path / "own.cdx.json"],
        "spdx": [user.path("bom.spdx.json"), tmp_path / "own.spdx.json"],
    }


@pytest.mark.parametrize(
    ("name", "form", "words"),
    [
        ("cdx-ev", "cyclonedx", ("cdx-ev", "validate")),
        ("cyclonedx-python-lib", "cyclonedx", ("python", "-c", STRICT)),
        ("SPDX tools", "spdx", ("pyspdxtools", "-i")),
        ("NTIA checker", "spdx", ("ntia-checker", "-c", "ntia")),
    ],
)
def test_a_bill_is_accepted_and_a_broken_one_is_not(
    bills: dict[str, list[Path]], tmp_path: Path, name: str, form: str, words: tuple[str, ...]
) -> None:
    program = [str(judges.python() / words[0]), *words[1:]]
    answers = [judges.run([*program, str(path)], tmp_path) for path in bills[form]]
    judges.record(name, len(answers), sum(answer.code == 0 for answer in answers))
    assert [answer for answer in answers if answer.code] == []
    broken = json.loads(bills[form][0].read_text())
    for component in broken["components" if form == "cyclonedx" else "packages"]:
        del component["name"]
    (tmp_path / f"broken.{form}.json").write_text(json.dumps(broken))
    assert judges.run([*program, str(tmp_path / f"broken.{form}.json")], tmp_path).code != 0
