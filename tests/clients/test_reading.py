"""Programs that know nothing about Rye against a real registry, with the commands of docs/how-to/integrations.md as
written."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from registry_server.embedded import start_embedded, stop_embedded
from tests.clients.program import ALL_PROGRAMS, Done, Seat
from tests.interop.test_page import EXAMPLES, HOST
from tests.interop.unchecked_registry import UncheckedRegistry

pytestmark = [pytest.mark.clients, pytest.mark.processes]
MARKET = "acme-at-registry-example-org"
QUIET = {"claude": {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "ANTHROPIC_API_KEY": "none"}}


class Served:
    """A running registry that is written to at the same time."""

    def __init__(self, data: Path) -> None:
        self.local = UncheckedRegistry(data)
        self.local.release("acme/tools/pdf", "1.0.0", {"scripts/run.sh": b"#!/bin/sh\n"})
        self.local.release("acme/notes", "0.1.0")
        self.process, self.url = start_embedded(data)

    def example(self, name: str) -> str:
        return EXAMPLES[name].replace(HOST, self.url)

    def move_on(self) -> None:
        """Publish a new version and a new skill, and withdraw one."""
        self.local.release("acme/tools/pdf", "1.1.0", {"scripts/run.sh": b"#!/bin/sh\necho new\n"})
        self.local.release("acme/third", "1.0.0")
        self.local.yank("acme/notes", "0.1.0")

    def close(self) -> None:
        stop_embedded(self.process)
        self.local.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path / "registry")
    yield made
    made.close()


@pytest.fixture
def sit(tmp_path: Path) -> Callable[[str], Seat]:
    def take(name: str) -> Seat:
        program = ALL_PROGRAMS[name]
        if not program.is_installed():
            pytest.skip(program.why_not())
        places = [tmp_path / place for place in ("person", "work", "tools")]
        for place in places:
            place.mkdir()
        home, folder, tools = places
        return Seat(program, home, folder, QUIET.get(name, {}), tools)

    return take


def play(seat: Seat, text: str) -> Done:
    """Run the commands of an example and return the output of the last one."""
    done = None
    for line in text.splitlines():
        words = shlex.split(line)
        start = words.index(seat.program.name) + 1
        done = seat.run(*words[start:])
    assert done is not None
    return done


def skills(place: Path) -> set[str]:
    return {path.parent.name for path in place.rglob("SKILL.md")}


def test_claude_installs_a_plugin_and_updates_it(served: Served, sit: Callable[[str], Seat]) -> None:
    seat = sit("claude")
    play(seat, served.example("claude"))
    plugins = seat.home / ".claude/plugins"
    assert skills(plugins / "marketplaces" / MARKET) == {"pdf", "notes"}
    served.move_on()
    seat.run("plugin", "marketplace", "update", MARKET)
    assert skills(plugins / "marketplaces" / MARKET) == {"pdf", "third"}
    assert "1.1.0" in seat.run("plugin", "update", f"acme@{MARKET}").stdout
    assert "enabled" in seat.run("plugin", "list").stdout


def test_codex_installs_a_plugin_and_upgrades_the_marketplace(served: Served, sit: Callable[[str], Seat]) -> None:
    seat = sit("codex")
    play(seat, served.example("codex"))
    assert "installed, enabled" in seat.run("plugin", "list").stdout
    assert skills(seat.home / ".codex/plugins/cache" / MARKET) == {"pdf", "notes"}
    served.move_on()
    seat.run("plugin", "marketplace", "upgrade")
    assert skills(seat.home / ".codex/.tmp/marketplaces" / MARKET) == {"pdf", "third"}
    assert skills(seat.home / ".codex/plugins/cache" / MARKET) == {"pdf", "third"}


def test_copilot_installs_a_plugin_and_updates_it(served: Served, sit: Callable[[str], Seat]) -> None:
    seat = sit("copilot")
    assert "Installed 2 skills" in play(seat, served.example("copilot")).stdout
    served.move_on()
    seat.run("plugin", "marketplace", "update", MARKET)
    seat.run("plugin", "update", f"acme@{MARKET}")
    found = seat.run("skill", "list").stdout
    assert "third - Does third." in found
    assert "notes - " not in found


def test_opencode_lists_the_skills_and_fetches_what_changed(served: Served, sit: Callable[[str], Seat]) -> None:
    seat = sit("opencode")
    (seat.folder / "opencode.json").write_text(served.example("opencode"), "utf-8")

    def listed() -> set[str]:
        return {row["name"] for row in json.loads(seat.run("debug", "skill").stdout)} - {"customize-opencode"}

    assert listed() == {"pdf", "notes"}
    (script,) = seat.home.rglob("pdf/scripts/run.sh")
    served.move_on()
    assert listed() == {"pdf", "third"}
    assert script.read_bytes() == b"#!/bin/sh\necho new\n"


def test_npx_skills_installs_one(served: Served, sit: Callable[[str], Seat]) -> None:
    seat = sit("skills")
    play(seat, served.example("skills"))
    assert {path.name for path in (seat.folder / ".agents/skills").iterdir()} == {"pdf"}
    assert (seat.folder / ".agents/skills/pdf/scripts/run.sh").read_bytes() == b"#!/bin/sh\n"


def test_apm_installs_a_skill_and_an_update_of_it(served: Served, sit: Callable[[str], Seat]) -> None:
    seat = sit("apm")
    (seat.folder / "apm.yml").write_text(served.example("apm_yml"), "utf-8")
    play(seat, served.example("apm"))
    script = seat.folder / ".claude/skills/pdf/scripts/run.sh"
    assert script.read_bytes() == b"#!/bin/sh\n"
    lock = (seat.folder / "apm.lock.yaml").read_text("utf-8")
    assert f"{served.url}/apm/v1/packages/acme/pdf/versions/1.0.0/download" in lock
    served.move_on()
    seat.run("update", "--yes")
    assert script.read_bytes() == b"#!/bin/sh\necho new\n"


def test_apm_says_what_the_registry_says(served: Served, sit: Callable[[str], Seat]) -> None:
    """A yanked version cannot be installed, and a locked version that was yanked later is refused with the reason."""
    seat = sit("apm")
    (seat.folder / "apm.yml").write_text(
        served.example("apm_yml").replace("acme/pdf#^1.0.0", "acme/notes#0.1.0"), "utf-8"
    )
    play(seat, served.example("apm"))
    served.move_on()
    for path in (seat.folder / "apm_modules", seat.folder / ".claude"):
        shutil.rmtree(path)
    refused = seat.run("install", ok=False)
    assert "no longer offered" in refused.stdout + refused.stderr
    assert not (seat.folder / ".claude/skills/notes").exists()
