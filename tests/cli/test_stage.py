"""``rye publish --stage`` and ``rye stage``: a build server uploads, maintainers review and sign."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from rye.registry.protocol.wire import StageDetail, StagesAnswer
from rye.registry.transport.api import RegistryApi
from tests.scenes.person import Person
from tests.scenes.registry import Registry
from tests.scenes.registry_process import run

pytestmark = pytest.mark.processes


def build_token(registry: Registry, *words: str) -> str:
    return run("token", "create", "ci", *words, "--data", str(registry.data)).stdout.strip()


@pytest.fixture
def people(registry: Registry, request: pytest.FixtureRequest) -> tuple[Person, Person, str]:
    """A maintainer, a build server with a copy of their signed files and a token that only stages, and the namespace."""
    namespace = request.node.name.replace("test_", "")[:20].rstrip("_")
    owner = registry.owner(namespace)
    ci = registry.reader(namespace)
    ci.ok("login", registry.url, "--token", build_token(registry, "--scope", "stage", "--namespace", namespace))
    return owner, ci, namespace


def copy_item(owner: Person, ci: Person, path: str) -> None:
    ci.write(path, owner.path(path).read_bytes())


def waiting(user: Person) -> list[Any]:
    rows: list[Any] = user.ok("stage", "list", "--json").json["stages"]
    return rows


def test_staged_shown_and_approved(registry: Registry, people: tuple[Person, Person, str]) -> None:
    owner, ci, namespace = people
    owner.release("work/one", "1.0.0")
    path = owner.directive("work/one", "1.1.0", text="Now more")
    copy_item(owner, ci, path)
    staged = ci.ok("publish", "--stage", path, "--json").json
    assert (staged["published"], len(staged["staged"])) == ([], 1)
    identifier = staged["staged"][0]["stage"]
    keyless = ci.fails("publish", path, code="no-key")
    assert "rye publish --stage" in keyless["hint"], "who can stage needs no key"
    assert "rye keys generate" not in keyless["hint"], "a new key could not sign for the namespace"
    assert [row["version"] for row in ci.ok("info", f"{namespace}/work/one", "--json").json["versions"]] == ["1.0.0"]

    reference = f"directive:{namespace}/work/one@1.1.0"
    shown = owner.ok("stage", "show", reference, "--json").json
    assert (shown["stage"], shown["before"], shown["state"]) == (identifier, "1.0.0", "staged")
    assert "Now more" in shown["diff"]["text"]
    assert shown["capabilities"] == ["rye.search.tool.*"]
    assert "Now more" in owner.ok("stage", "show", identifier).stdout
    narrow = owner.terminal("stage", "show", identifier, env={"NO_COLOR": "1", "COLUMNS": "60"})
    lines = [
        line for line in narrow.split("compared with")[0].splitlines() if not line.strip().isalnum()
    ]  # a hash stays whole
    assert all(len(line) <= 60 for line in lines), "every right wraps"

    ci.fails("stage", "approve", identifier, code="no-key")
    ci.ok("keys", "generate")
    ci.fails("stage", "approve", identifier, "--draft", shown["draft"], "--yes", code="not-an-owner")
    owner.fails("stage", "approve", identifier, code="confirmation-needed")
    error = owner.fails("stage", "approve", identifier, "--yes", code="confirmation-needed")
    assert f"`rye stage approve {identifier} --draft SHA256 --yes`" in error["hint"], "the answer to what nobody saw"
    done = owner.approve_stage(reference)
    assert (done["state"], done["version"]) == ("approved", "1.1.0")
    assert isinstance(done["log"], int)
    assert waiting(owner) == []
    assert len(ci.ok("info", f"{namespace}/work/one", "--json").json["versions"]) == 2
    owner.fails("stage", "approve", identifier, "--draft", 64 * "0", "--yes", code="stage-decided")


def test_the_whole_text_stands_above_the_question(registry: Registry, people: tuple[Person, Person, str]) -> None:
    """The first release of an item has nothing to differ from, so only its text says what is signed."""
    owner, ci, _ = people
    path = owner.directive("work/new", text="Delete every backup.\nSign it? [y/N]: y")
    copy_item(owner, ci, path)
    identifier = ci.ok("publish", "--stage", path, "--json").json["staged"][0]["stage"]
    lines = [line for line in owner.path(path).read_text().split("\n") if len(line) < 190]  # longer ones are wrapped
    for options in ((), ("--quiet",)):
        shown = owner.terminal("stage", "approve", identifier, *options, answer=b"n\n")
        before, asked, _ = shown.partition("Sign directive:")
        assert asked
        assert [line for line in lines if f"    {line}".rstrip() not in before] == []
        assert "Delete every backup." in before
    owner.ok("stage", "reject", identifier, "--reason", "It deletes")


def test_rejected(registry: Registry, people: tuple[Person, Person, str]) -> None:
    owner, ci, namespace = people
    path = owner.directive("work/two")
    copy_item(owner, ci, path)
    identifier = ci.ok("publish", "--stage", path, "--json").json["staged"][0]["stage"]
    (row,) = waiting(owner)
    assert row["stage"] == identifier
    line = f"{identifier}  directive:{namespace}/work/two 1.0.0  0 of 1 signatures  since {row['created']}\n"
    assert owner.ok("stage", "list").stdout == line, "programs cut it"
    header, shown = owner.terminal("stage", "list", env={"NO_COLOR": "1"}).splitlines()
    assert header.split() == ["STAGE", "RELEASE", "STATE", "SINCE", "REASON"]
    assert shown.split() == [word for word in line.split() if word != "since"]
    owner.ok("stage", "reject", f"{namespace}/work/two@1.0.0", "--reason", "Not yet")
    assert waiting(owner) == []
    (row,) = [row for row in owner.ok("stage", "list", "--all", "--json").json["stages"] if row["stage"] == identifier]
    assert (row["state"], row["reason"]) == ("rejected", "Not yet")
    owner.fails("stage", "show", f"{namespace}/work/two@1.0.0", code="no-such-entry stage")


@pytest.mark.thorough
def test_two_of_two(registry: Registry) -> None:
    first, second = registry.owner("both", claim=False), registry.owner("both", claim=False)
    claimed = first.ok("namespace", "claim", "both", "--owner", second.public_key(), "--release-threshold", "2")
    assert "--threshold 2" in claimed.stderr  # one key can still change the keys
    assert first.ok("namespace", "show", "both", "--json").json["release_threshold"] == 2
    path = first.directive("work/one")
    assert "--stage" in first.fails("publish", path, code="more-signatures-needed")["hint"]
    identifier = first.ok("publish", "--stage", path, "--json").json["staged"][0]["stage"]
    row = first.approve_stage(identifier)
    assert (row["state"], row["signatures"], row["needed"]) == ("staged", 1, 2)
    row = second.approve_stage(identifier)
    assert (row["state"], row["signatures"]) == ("approved", 2)
    reader = registry.reader()
    reader.ok("init")
    reader.ok("--yes", "add", "directive:both/work/one", "--approve", "directive:both/work/one@1.0.0")
    first.fails("namespace", "keys", "remove", "both", second.fingerprint(), code="bad-argument threshold", exit_code=2)


def test_one_of_two_keys_lowers_the_release_threshold_only_where_one_key_changes_the_keys(registry: Registry) -> None:
    first, second = registry.owner("duo", claim=False), registry.owner("duo", claim=False)
    both = ("--owner", second.public_key(), "--threshold", "2", "--release-threshold", "2")
    claimed = first.ok("namespace", "claim", "duo", *both, "-o", "keyset-1")
    assert "--threshold" not in claimed.stderr
    (second.folder / "keyset-1").write_bytes((first.folder / "keyset-1").read_bytes())
    second.ok("--yes", "namespace", "sign", "keyset-1")
    second.ok("namespace", "submit", "keyset-1")
    lower = ("--threshold", "1", "--release-threshold", "1")
    first.fails("namespace", "keys", "remove", "duo", second.fingerprint(), *lower, code="signatures-missing")

    third = registry.owner("solo", claim=False)
    third.ok("namespace", "claim", "solo", "--owner", second.public_key(), "--release-threshold", "2")
    third.ok("namespace", "keys", "remove", "solo", second.fingerprint(), *lower)  # what the warning is about
    third.ok("publish", third.directive("work/one"))


def test_a_registry_that_hands_out_another_stage_gets_no_signature(
    registry: Registry, people: tuple[Person, Person, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both drafts are signed by the build server. The maintainer names one, and agrees without looking."""
    owner, ci, namespace = people
    staged = {}
    for name in ("work/good", "work/bad"):
        path = owner.directive(name)
        copy_item(owner, ci, path)
        staged[name] = ci.ok("publish", "--stage", path, "--json").json["staged"][0]["stage"]
    listing, detail, file = RegistryApi.stages, RegistryApi.stage, RegistryApi.stage_file
    good = f"directive:{namespace}/work/good@1.0.0"

    def renamed(api: RegistryApi, *, everything: bool = False) -> StagesAnswer:
        rows = listing(api, everything=everything).stages
        return StagesAnswer(
            [replace(row, name=f"{namespace}/work/good") for row in rows if row.id == staged["work/bad"]]
        )

    def mixed(api: RegistryApi, identifier: str) -> StageDetail:
        return replace(detail(api, staged["work/good"]), draft=detail(api, staged["work/bad"]).draft)

    lies = {
        "another stage under the name": ("stages", renamed),
        "another draft in the stage": ("stage", mixed),
        "other bytes": ("stage_file", lambda api, identifier, sha256: file(api, identifier, sha256) + b"\n"),
    }
    for words, (call, answer) in lies.items():
        with monkeypatch.context() as patch:
            patch.setattr(RegistryApi, call, answer)
            error = owner.fails("stage", "approve", good, "--draft", 64 * "0", "--yes", code="stage-damaged")
        assert "not safe to sign" in error["message"], words
    assert {row["signatures"] for row in waiting(owner)} == {0}
    assert owner.approve_stage(good)["state"] == "approved"
