"""``rye log watch --namespace``: a publisher's own check, with a registry that is served, and one that lies."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rye.registry.protocol import notes
from tests.registry.simulated_registry import SimulatedRegistry, key
from tests.scenes.person import Person

ONCE = ("log", "watch", "--namespace", "acme", "--once")


class Watching:
    """A registry as a folder, and the owner of ``acme``, who watches it."""

    def __init__(self, folder: Path):
        self.registry = SimulatedRegistry(now=datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1))
        self.registry.claim("acme")
        self.registry.publish()
        self.folder = folder / "registry"
        self.registry.write_to(self.folder)
        self.owner = Person(folder)
        url = self.folder.as_uri()
        self.owner.ok("registry", "add", url, "--fingerprint", self.registry.fingerprint, "--default")

    def publish(self, namespace: str = "zeta") -> None:
        self.registry.claim(namespace)
        self.registry.publish()
        self.registry.write_to(self.folder)

    def looks(self, *more: str) -> tuple[int, list[str]]:
        result = self.owner.run(*ONCE, "--json", *more)
        (look,) = result.json["looks"]
        return result.code, [one["what"] for one in look["new"]]


@pytest.fixture
def watching(tmp_path: Path) -> Watching:
    return Watching(tmp_path)


def recent(registry: SimulatedRegistry) -> None:
    """A keyset that the owner did not make."""
    keys = [key("stranger")]
    keyset = registry.keyset("acme", keys)
    registry.append(registry.sign(keyset, registry.namespace_signers("acme", keys)))
    registry.publish()


def test_the_first_look_tells_everything_and_the_next_only_what_is_new(watching: Watching) -> None:
    assert watching.looks() == (3, ["keyset"])
    assert watching.looks() == (0, [])
    watching.publish()
    assert watching.looks() == (0, [])
    recent(watching.registry)
    watching.registry.write_to(watching.folder)
    assert watching.looks() == (3, ["keyset"])
    assert watching.looks() == (0, [])


@pytest.mark.parametrize("name", ["Acme", "acme/work", "directive:acme/x", "acme ", "", "../acme"])
def test_a_name_that_is_no_namespace_is_not_watched_in_silence(watching: Watching, name: str) -> None:
    """Nothing is ever logged about it, so every look said that there is nothing new."""
    result = watching.owner.run("log", "watch", "--namespace", name, "--once", "--json")
    assert (result.code, result.error["code"], result.error["what"]) == (2, "bad-argument", "namespace")


def test_a_lost_state_starts_from_the_beginning_and_a_checkpoint_from_there(watching: Watching) -> None:
    since = watching.owner.folder / "head"
    since.write_text(watching.registry.head().checkpoint)
    assert watching.looks("--since", str(since)) == (0, [])
    for state in (watching.owner.folder.parent / "nothing-here.json",):
        assert watching.looks("--state", str(state)) == (3, ["keyset"])


def test_what_could_not_be_told_is_told_again(watching: Watching) -> None:
    out = watching.owner.folder / "told.json"
    script = watching.owner.folder / "tell.py"
    script.write_text("import sys\nsys.exit(7)\n")
    command = f"{sys.executable} {script}"
    assert watching.looks("--exec", command) == (4, ["keyset"])
    script.write_text(f"import sys, pathlib\npathlib.Path({str(out)!r}).write_bytes(sys.stdin.buffer.read())\n")
    assert watching.looks("--exec", command) == (3, ["keyset"])
    assert [one["what"] for one in json.loads(out.read_text())["events"]] == ["keyset"]
    assert watching.looks("--exec", command) == (0, [])


def test_a_webhook_that_is_down_is_told_again(watching: Watching) -> None:
    assert watching.looks("--webhook", "http://127.0.0.1:9/hook") == (4, ["keyset"])
    assert watching.looks() == (3, ["keyset"])


def test_a_fork_since_the_last_look_stops_with_evidence_even_on_a_fresh_machine(
    watching: Watching, tmp_path: Path
) -> None:
    """The state file alone is enough to notice: the machine's own trusted state was lost."""
    watching.publish()
    state = tmp_path / "watch.json"
    assert watching.looks("--state", str(state))[0] == 3
    fork = SimulatedRegistry(now=watching.registry.now)
    fork.claim("acme", [key("thief")])
    fork.claim("zeta")
    for _ in range(3):
        fork.publish()
    fork.publish()
    (tmp_path / "fresh").mkdir()
    fork.write_to(tmp_path / "fork")
    fresh = Person(tmp_path / "fresh")
    fresh.ok(
        "registry", "add", (tmp_path / "fork").as_uri(), "--fingerprint", watching.registry.fingerprint, "--default"
    )
    result = fresh.run(*ONCE, "--json", "--state", str(state))
    assert (result.code, result.error["code"]) == (1, "head-fork")
    (kept,) = fresh.ok("log", "evidence", "--json").json["evidence"]
    assert notes.parse(kept["heads"]["trusted"]).text == watching.registry.checkpoint().text()
    assert watching.looks("--state", str(state)) == (0, [])  # the control: the true registry


def test_options_of_a_watch_need_a_name_and_json_an_end(watching: Watching) -> None:
    assert watching.owner.run("log", "watch", "--once").code == 2
    assert watching.owner.run("log", "watch", "--namespace", "acme", "--json").code == 2
    expected = watching.owner.folder / "expected"
    expected.write_text("# ours\ndirective:acme/work@1.0.0\n")
    assert watching.looks("--expect", str(expected))[0] == 3
    expected.write_text("work\n")
    assert watching.owner.run(*ONCE, "--expect", str(expected)).code == 2


def test_a_damaged_state_is_an_error(watching: Watching) -> None:
    state = watching.owner.folder / "state.json"
    state.write_text("{}")
    result = watching.owner.run(*ONCE, "--json", "--state", str(state))
    assert (result.code, result.error["code"]) == (2, "bad-argument")


def test_people_are_told_in_lines(watching: Watching) -> None:
    result = watching.owner.run(*ONCE)
    assert result.code == 3
    assert "keyset acme: not signed by a key of this machine" in result.stdout
    assert "nothing new in" in watching.owner.ok(*ONCE).stderr
