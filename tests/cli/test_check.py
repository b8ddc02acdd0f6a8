"""``rye check`` finds what the other checks find, names orphaned overrides, and passes in a project without items (DESIGN 9)."""

from __future__ import annotations

import pytest

from rye.workspace.project_checks import NAMES
from tests.scenes.directive_text import directive
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes


def checks(rye: Person, *words: str) -> tuple[int, dict[str, str], dict[str, str]]:
    """The exit status, and status and message of each check."""
    found = rye.run("check", *words, "--json")
    rows = found.json["checks"]
    assert found.json["ok"] is (found.code == 0)
    return found.code, {row["name"]: row["status"] for row in rows}, {row["name"]: row["message"] for row in rows}


def test_a_project_without_items_of_its_own_passes(tmp_path_factory: pytest.TempPathFactory) -> None:
    rye = Person(tmp_path_factory.mktemp("empty"))
    rye.ok("init")
    rye.ok("keys", "generate")
    code, status, message = checks(rye)
    assert code == 0
    assert (status["validate"], message["validate"]) == ("ok", "no items of your own")
    assert "error" not in status.values()
    assert rye.ok("check").stdout.splitlines()[-1].endswith("all is well")


def test_an_invalid_item_and_a_broken_signature_are_errors_and_an_unsigned_item_is_not(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    rye = Person(tmp_path_factory.mktemp("own"))
    rye.ok("init")
    rye.ok("keys", "generate")
    path = rye.write(".ai/directives/work/a.md", directive("work/a", "1.0.0"))
    code, status, _ = checks(rye)
    assert (code, status["verify"]) == (0, "warning")
    rye.ok("sign")
    rye.ok("version", "bump", "patch")
    code, status, message = checks(rye)
    assert (code, status["validate"], status["verify"]) == (1, "warning", "error")
    assert ".ai/directives/work/a.md" in message["verify"]
    path.write_text("# nothing\n")
    code, status, message = checks(rye)
    assert (code, status["validate"]) == (1, "error")
    assert rye.run("check").stdout.splitlines()[-1].startswith(f"{len(status)} checks: ")


def test_an_orphaned_override_is_named(tmp_path_factory: pytest.TempPathFactory) -> None:
    rye = Person(tmp_path_factory.mktemp("orphan"))
    rye.ok("init")
    rye.write(".ai/overrides/acme/gone.overrides.md", "---\nagent: gone\nbase-version: 1.0.0\n---\n")
    _, status, message = checks(rye)
    assert status["override-health"] != "ok"
    assert "acme/gone" in message["override-health"]


def test_a_changed_installed_file_and_a_deployed_one_are_errors(registry: Registry) -> None:
    author, user = registry.owner("checked"), registry.user()
    author.release("work/ship")
    user.ok("add", "checked/work/ship", "--yes")
    user.ok("deploy", "--target", "claude", "--yes")
    assert {checks(user)[1][name] for name in ("audit", "deploy")} == {"ok"}
    (deployed,) = user.path(".claude").rglob("*.md")
    text, state = deployed.read_text(), user.path(".ai/deploy.lock").read_bytes()
    deployed.write_text(text + "More.\n")
    assert checks(user)[1]["deploy"] == "error"
    user.write(".ai/deploy.lock", "junk\n")
    code, status, _ = checks(user)
    assert (code, status["deploy"]) == (1, "error")
    deployed.unlink()
    user.path(".ai/deploy.lock").write_bytes(state)
    code, status, _ = checks(user)
    assert (code, status["deploy"]) == (user.run("deploy", "--check").code, "error")
    deployed.write_text(text)
    installed = user.path(".ai/packages/checked/directives/work/ship.md")
    installed.write_text(installed.read_text() + "More.\n")
    code, status, message = checks(user)
    assert (code, status["audit"]) == (1, "error")
    assert "work/ship.md" in message["audit"]


def test_a_registry_that_does_not_answer_is_an_error_but_not_offline(registry: Registry) -> None:
    author, user = registry.owner("silent"), registry.user()
    author.release("work/ship")
    user.ok("add", "silent/work/ship", "--yes")
    registry.stop()
    code, status, _ = checks(user)
    assert (code, status["audit"]) == (1, "error")
    code, status, _ = checks(user, "--offline")
    assert (code, status["audit"]) == (0, "ok")
    assert checks(user, "--only", "audit")[0] == 1
    assert checks(user, "--only", "validate,verify,deploy")[0] == 0  # which need no registry


def test_only_runs_the_named_checks_and_knows_commands_by_their_words(tmp_path_factory: pytest.TempPathFactory) -> None:
    rye = Person(tmp_path_factory.mktemp("only"))
    rye.ok("init")
    rye.write(".ai/directives/work/a.md", "# nothing\n")
    rye.write(".ai/overrides/acme/gone.overrides.md", "---\nagent: gone\nbase-version: 1.0.0\n---\n")
    everything = rye.run("check", "--json").json["checks"]
    assert [row["name"] for row in everything] == list(NAMES)
    assert rye.run("check", "--json", "--only", "clock, validate").json["checks"][0] == everything[0]
    assert list(checks(rye, "--only", "clock", "--only", "validate")[1]) == ["validate", "clock"]
    assert checks(rye, "--only", "validate,keys")[0] == checks(rye, "--only", "validate")[0] == 1
    assert checks(rye, "--only", "keys")[0] == 0
    for words, own in (("override check", "override-health"), ("overlay check", "overlay-health")):
        assert list(checks(rye, "--only", words)[1]) == [own]
    doctor = rye.run("doctor", "--json")
    alone = rye.run("check", "--only", "doctor", "--json")
    for rows in (alone.json["checks"], doctor.json["checks"]):
        next(row for row in rows if row["name"] == "clock").pop("message")  # it says the second
    assert alone.json["checks"] == doctor.json["checks"]
    refused = rye.run("check", "--only", "verfy", "--json")
    assert (refused.code, refused.refusal) == (2, "unknown-name check")
    assert "'verify'" in refused.error["hint"]
    assert rye.run("check", "--only", "", "--json").refusal == "unknown-name check"
