"""What the installing commands say is what they did: an item has one row, a removal says what stays, and what is missing is
said."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from rye.items.identity import Identity
from rye.project.manifest import parse_manifest
from tests.attacks.signed_items import directive, release
from tests.attacks.simulation import now
from tests.registry.simulated_registry import SimulatedRegistry
from tests.scenes.person import Person

BASE, TOP = (Identity("directive", f"acme/work/{name}") for name in ("base", "top"))
TWIN = Identity("directive", "acme/other/base")
FILE = ".ai/packages/acme/directives/work/base.md"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Its address and fingerprint. TOP needs BASE."""
    made = SimulatedRegistry(now=now() - timedelta(hours=2))
    made.claim("acme")
    release(made, BASE, "1.0.0", directive(BASE))
    release(made, TWIN, "1.0.0", directive(TWIN))
    release(made, TOP, "1.0.0", directive(TOP, "1.0.0", depends=((BASE.id, "^1.0"),)))
    made.publish()
    folder = tmp_path_factory.mktemp("registry")
    made.write_to(folder)
    return folder.as_uri(), made.fingerprint


@pytest.fixture
def user(registry: tuple[str, str], tmp_path: Path) -> Person:
    person = Person(tmp_path)
    person.write("rye.toml", f'[project]\nname = "shop"\nregistry = "{registry[0]}"\n')
    person.ok("registry", "add", registry[0], "--fingerprint", registry[1])
    return person


def rows(person: Person) -> dict[str, str]:
    return {line.key: line.range for line in parse_manifest(person.path("rye.toml").read_text()).dependencies}


@pytest.mark.parametrize(("first", "second"), [(BASE.id, str(BASE)), (str(BASE), BASE.id)])
def test_the_other_spelling_of_an_item_adds_no_row(user: Person, first: str, second: str) -> None:
    user.ok("add", first, "-y")
    user.ok("add", second, "-y")
    assert list(rows(user)) == [first]
    user.ok("add", f"{second}@1.0.0", "-y")
    assert rows(user) == {first: "1.0.0"}


@pytest.mark.parametrize("name", [BASE.id, str(BASE)])
@pytest.mark.parametrize("there", [(BASE.id,), (str(BASE),), (BASE.id, str(BASE))], ids=["plain", "kind", "both"])
def test_a_removal_removes_every_row_of_the_item(user: Person, name: str, there: tuple[str, ...]) -> None:
    user.ok("add", BASE.id, "-y")
    text = user.path("rye.toml").read_text()
    line = next(line for line in text.splitlines() if BASE.id in line)
    user.write("rye.toml", text.replace(line, "\n".join(line.replace(BASE.id, each) for each in there)))
    user.ok("install", "-y")
    assert user.ok("remove", name).stdout == "removed 1\n"
    assert rows(user) == {}
    assert not user.path(FILE).exists()


@pytest.mark.parametrize("verb", ["remove", "update", "info", "why"])
def test_the_end_of_an_id_means_the_installed_item(user: Person, verb: str) -> None:
    user.ok("add", BASE.id, "-y")
    end = BASE.id.rpartition("/")[2]
    for name in (end, f"{BASE.kind}:{end}", *([] if verb == "info" else [BASE.local_id])):
        done = user.ok(verb, name, *(["--dry-run"] if verb in ("remove", "update") else []))
        assert BASE.id in done.stdout + done.stderr or verb == "update"
    user.fails(verb, "nothing", code={"remove": "not-a-dependency", "info": "no-such-item"}.get(verb, "not-installed"))


@pytest.mark.parametrize("verb", ["remove", "update", "info", "why"])
def test_an_end_that_several_installed_items_have_is_refused(user: Person, verb: str) -> None:
    user.ok("add", BASE.id, TWIN.id, "-y")
    before = user.path("rye.toml").read_text(), user.path("rye.lock").read_text()
    error = user.fails(verb, BASE.id.rpartition("/")[2], code="ambiguous", exit_code=2)
    assert BASE.id in error["message"]
    assert TWIN.id in error["message"]
    assert (user.path("rye.toml").read_text(), user.path("rye.lock").read_text()) == before


def test_a_removal_names_only_files_that_have_the_item(user: Person) -> None:
    """The hint named a file by the end of an id alone, whatever its kind, and the one that does not have it itself."""
    user.ok("add", BASE.id, "-y")
    error = user.fails("remove", "skill:base", code="not-a-dependency")
    assert error["hint"] == f"Did you mean `rye remove {BASE.id}`?"
    user.path("rye.toml").write_text(user.path("rye.toml").read_text() + '\n[workspace]\nmembers = ["a", "b", "c"]\n')
    for member, identity in (("a", BASE), ("b", TWIN), ("c", TOP)):
        user.write(f"{member}/rye.toml", f'[dependencies]\n"{identity}" = "*"\n')
    error = user.fails("remove", "base", "-p", "c", code="not-a-dependency")
    assert error["hint"] == "., a, b have it: `rye remove base -p .`."
    error = user.fails("remove", "other/base", code="not-a-dependency")
    assert error["hint"] == "b has it: `rye remove other/base -p b`."


def test_what_another_item_needs_stays_and_that_is_said(user: Person) -> None:
    user.ok("add", BASE.id, TOP.id, "-y")
    done = user.ok("remove", str(BASE))
    assert done.stdout == "rye.toml was changed; nothing was removed\n"
    assert f"{BASE} stays installed: {TOP} needs it" in done.stderr
    assert list(rows(user)) == [TOP.id]
    assert user.path(FILE).exists()
    assert user.ok("remove", TOP.id, "--json").json["warnings"] == []


def test_without_items_nothing_is_called_installed(user: Person) -> None:
    user.ok("add", BASE.id, "-y")
    user.ok("remove", BASE.id)
    for words in (("install",), ("ci",), ("install",)):
        assert user.ok(*words).stdout == "rye.toml lists no items; `rye add [KIND:]ID` adds one\n"


@pytest.mark.parametrize(
    "words", [("install",), ("install", "--frozen"), ("ci",), ("install", "--offline", "--frozen")]
)
def test_a_bundle_that_is_not_there_is_an_error_where_nothing_is_missing(user: Person, words: tuple[str, ...]) -> None:
    user.ok("add", BASE.id, "-y")
    user.ok(*words)
    user.fails(*words, "--bundle", "nosuch", code="no-such-file")


@pytest.mark.processes
def test_deploying_makes_no_manifest_where_it_was_lost(user: Person) -> None:
    user.ok("add", BASE.id, "-y")
    user.path("rye.toml").unlink()
    user.fails("install", code="no-manifest")
    said = user.terminal("deploy", "--target", "claude", env={"NO_COLOR": "1"})
    assert "error: rye.toml is missing" in said
    assert not user.path("rye.toml").exists()
    assert not user.path(".claude").exists()


def test_a_check_says_that_it_asked_no_registry(user: Person) -> None:
    user.ok("add", BASE.id, "-y")
    for words in (("ci",), ("install", "--frozen")):
        done = user.ok(*words)
        assert done.stdout == "everything is installed\n"
        assert "No registry was asked; `rye audit` looks for advisories." in done.stderr
    assert "audit" not in user.ok("install").stderr
