"""``docs/tutorial.md`` tells a true story (:mod:`tests.docs.played_page`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs import played_page
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"
SKILL = ".ai/skills/release-notes"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("tutorial") / "data", "localhost/8bca49b7") as made:
        yield made


def test_the_half_hour_happened(registry: Registry, tmp_path: Path) -> None:
    person = Person(tmp_path)
    person.ok("registry", "add", registry.url, "--fingerprint", registry.fingerprint, "--default")
    person.ok("login", registry.url, "--token", registry.token)
    person.folder = tmp_path / "my-items"
    person.folder.mkdir()
    lines = [line.split("'") for line in PAGE.read_text("utf-8").splitlines() if line.startswith("    echo ")]
    added = {target.removeprefix(" >> "): text for _, text, target in lines}

    def append(name: str) -> None:
        path = person.path(name)
        path.write_text(f"{path.read_text('utf-8')}{added[name]}\n", "utf-8")

    def happens(event: str) -> None:
        what, _, which = event.rpartition(" ")
        if what in ("new folder:", "back to:"):
            person.folder = tmp_path / which
            person.folder.mkdir(exist_ok=what == "back to:")
        elif what == "append:":
            append(which)
        else:
            assert event == "run: chmod"
            person.path(f"{SKILL}/scripts/collect.sh").chmod(0o755)
            append(f"{SKILL}/SKILL.md")

    played_page.check(PAGE, person, happens, registry.url)
    assert not (person.folder / ".ai/packages/acme/skills/release-notes/scripts").exists()
