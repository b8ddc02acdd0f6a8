"""A new version that would leave a customization without effect is asked about, as a wider right is (DESIGN 6.1)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rye.workspace.installing.consent import obtain_agreement
from tests.scenes.directive_text import SEARCH, directive
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

RULES = "\n## Rules\n\nBe brief.\n"
FORMULA = """formula = "ship"
type = "workflow"
version = "{version}"
description = "Ship it."

[[steps]]
id = "{step}"
title = "Check"
description = "Check it."

[[steps]]
id = "send"
title = "Send"
description = "Send it."
needs = ["{step}"]
"""
CODE = "customization-would-be-lost"
DISPATCH = ("--approve", "gone/work/dispatch@1.0.0")
STEPS = "rye.workspace.installing.install_steps"


def release(author: Person, local_id: str, version: str, more: str, **parts: Any) -> None:
    path = f"directives/{local_id}.md"
    author.sign(path, directive(local_id, version, **parts) + more)
    author.publish(f".ai/{path}")


@pytest.fixture(scope="module")
def author(registry: Registry) -> Person:
    """``work/ship`` has rules in 1.0.0, other words in 1.1.0, no such section in 1.2.0, and has it again in 1.3.0."""
    acme = registry.owner("lost")
    release(acme, "work/ship", "1.0.0", RULES)
    release(acme, "work/ship", "1.1.0", "\n## Rules\n\nBe very brief.\n")
    release(acme, "work/ship", "1.2.0", "\n## Guidelines\n\nBe brief.\n")
    release(acme, "work/ship", "1.3.0", RULES)
    for version in ("1.0.0", "1.1.0"):
        release(acme, "work/other", version, RULES)
    for version, step in (("1.0.0", "check"), ("1.1.0", "verify")):
        path = acme.write(".ai/formulas/ship.formula.toml", FORMULA.format(step=step, version=version))
        acme.ok("sign", str(path))
        acme.publish(str(path))
    return acme


@pytest.fixture
def user(registry: Registry, author: Person) -> Person:
    """Someone with ``work/ship`` 1.0.0 and an override that says "never"; rye.toml allows every version."""
    person = trusting(registry.user())
    person.ok("add", "lost/work/ship@1.0.0", "lost/work/other@1.0.0", "--yes")
    anything(person)
    person.ok("install", "--yes")
    never(person, "work/ship")
    return person


def trusting(person: Person) -> Person:
    """They agree to what committers write, so that only the losses are asked about."""
    person.environment["RYE_TRUST_LOCK"] = "1"
    return person


def anything(person: Person) -> None:
    path = person.path("rye.toml")
    path.write_text(path.read_text().replace('"1.0.0"', '"*"'))


def never(person: Person, local_id: str) -> Path:
    content = person.write("never.md", "Never send mail.\n")
    words = ("--append", "--reason", "policy", "--content", str(content))
    done = person.ok("override", "new", f"lost/{local_id}", "## Rules", *words, "--json")
    return person.path(done.json["path"])


def state(person: Person) -> list[tuple[str, bytes]]:
    """The project's files, without Rye's own notes."""
    kept = [path for path in person.folder.rglob("*") if path.is_file() and ".rye" not in path.parts]
    return sorted((str(path), path.read_bytes()) for path in kept)


class TestOrphaned:
    def test_an_update_stops_before_anything_is_written(self, user: Person) -> None:
        before = state(user)
        for words in (("update", "lost/work/ship@1.2.0"), ("add", "lost/work/ship@1.2.0")):
            for more in ((), ("--yes",)):
                error = user.fails(*words, *more, code=CODE)
                (change,) = [each for each in error["changes"] if each["lost"]]
                assert (change["id"], change["needs_approval"]) == ("lost/work/ship", True)
                (lost,) = change["lost"]
                assert (lost["path"], lost["text"]) == (
                    ".ai/overrides/lost/work/ship.overrides.md",
                    ["Never send mail."],
                )
                assert "--approve directive:lost/work/ship@1.2.0" in error["hint"]
                assert state(user) == before
        anything(user)
        assert "Never send mail." in user.ok("render", "lost/work/ship").stdout

    def test_an_approval_by_name_of_this_version_agrees(self, user: Person) -> None:
        assert user.run("update", "lost/work/ship@1.2.0", "--approve", "lost/work/ship@1.1.0").code == 2
        user.ok("update", "lost/work/ship@1.2.0", "--approve", "lost/work/ship@1.2.0")
        assert 'version = "1.2.0"' in user.path("rye.lock").read_text()
        user.ok("install")  # it was agreed to, and is not asked about again

    def test_an_update_that_keeps_it_asks_nothing(self, user: Person) -> None:
        user.ok("update", "lost/work/ship@1.1.0")
        assert "Never send mail." in user.ok("render", "lost/work/ship").stdout
        user.ok("update", "lost/work/ship@1.3.0")

    def test_a_dry_run_shows_it(self, user: Person) -> None:
        before = state(user)
        shown = user.ok("update", "lost/work/ship@1.2.0", "--dry-run")
        assert "append '## Rules' has no effect" in shown.stderr
        assert "- Never send mail." in shown.stderr
        (change,) = user.ok("update", "lost/work/ship@1.2.0", "--dry-run", "--json").json["changes"]
        assert change["lost"][0]["text"] == ["Never send mail."]
        assert state(user) == before

    def test_a_person_sees_the_text_and_is_asked(self, user: Person) -> None:
        before = state(user)
        shown = user.terminal("update", "lost/work/ship@1.2.0", answer=b"n\n")
        assert "Never send mail." in shown
        assert "Install this, with the loss of these customizations?" in shown
        assert state(user) == before
        user.terminal("update", "lost/work/ship@1.2.0", answer=b"y\n")
        assert 'version = "1.2.0"' in user.path("rye.lock").read_text()

    def test_a_downgrade_is_asked_about_as_well(self, user: Person) -> None:
        user.ok("update", "lost/work/ship@1.2.0", "--approve", "lost/work/ship@1.2.0")
        path = user.path(".ai/overrides/lost/work/ship.overrides.md")
        path.write_text(path.read_text().replace("## Rules", "## Guidelines"))
        user.fails("update", "lost/work/ship@1.1.0", code=CODE)
        user.fails("rollback", code=CODE)
        user.ok("rollback", "--approve", "lost/work/ship@1.0.0")

    def test_a_version_that_rye_lock_chose_is_compared_with_the_files_that_are_here(self, user: Person) -> None:
        path = user.path("rye.toml")
        path.write_text(path.read_text().replace('"lost/work/ship" = "*"', '"lost/work/ship" = "1.2.0"'))
        user.ok("lock")
        user.fails("install", "--yes", code=CODE)
        error = user.fails("ci", "--trust-lock", code="consent-needed")
        assert "customizations" in error["message"]
        user.ok("install", "--approve", "lost/work/ship@1.2.0")

    @pytest.mark.parametrize("own", [False, True])
    def test_a_pull_that_changes_the_lock_does_not_go_around_it(self, user: Person, own: bool) -> None:
        """The row is then what rye.lock said before the command. The file on disk says what was installed."""
        if own:  # no command fails for it later, as `rye ci` does for the project's
            mine = Path(user.environment["RYE_USER_SPACE"], "overrides/lost/work/ship.overrides.md")
            mine.parent.mkdir(parents=True)
            user.path(".ai/overrides/lost/work/ship.overrides.md").rename(mine)
        earlier = user.path("rye.lock").read_bytes()
        user.ok("update", "lost/work/ship@1.2.0", "--approve", "lost/work/ship@1.2.0")
        later = user.path("rye.lock").read_bytes()
        user.path("rye.lock").write_bytes(earlier)
        user.ok("install")  # what was without effect has it again
        assert "Never send mail." in user.ok("render", "lost/work/ship").stdout
        user.path("rye.lock").write_bytes(later)
        before = state(user)
        for words in (("install",), ("install", "--yes"), ("install", "--locked", "--yes")):
            error = user.fails(*words, code=CODE)
            assert "--approve directive:lost/work/ship@1.2.0" in error["hint"]
            assert state(user) == before
        assert user.run("ci", env={"RYE_TRUST_LOCK": "0"}).code == 1
        assert state(user) == before
        user.ok("install", "--approve", "lost/work/ship@1.2.0")
        user.ok("install")

    def test_a_pull_that_loses_nothing_asks_nothing(self, user: Person) -> None:
        earlier = user.path("rye.lock").read_bytes()
        user.ok("update", "lost/work/ship@1.1.0")
        user.path("rye.lock").write_bytes(earlier)
        user.ok("install")
        assert "Never send mail." in user.ok("render", "lost/work/ship").stdout

    def test_removing_and_adding_the_item_does_not_go_around_it(self, user: Person) -> None:
        assert "ship.overrides.md" in user.ok("remove", "lost/work/ship").stderr
        user.fails("add", "lost/work/ship@1.2.0", "--yes", code=CODE)
        user.ok("add", "lost/work/ship@1.1.0", "--yes")

    def test_of_two_updates_only_the_one_that_loses_something_is_named(self, user: Person) -> None:
        never(user, "work/other")
        user.path("rye.toml").write_text(user.path("rye.toml").read_text().replace('ship" = "*"', 'ship" = "<1.3"'))
        before = state(user)
        error = user.fails("update", "--yes", code=CODE)
        assert [change["id"] for change in error["changes"] if change["lost"]] == ["lost/work/ship"]
        assert state(user) == before
        user.ok("update", "--yes", "--approve", "lost/work/ship@1.2.0")

    def test_the_user_s_own_override_counts_and_a_refused_one_never_had_an_effect(self, user: Person) -> None:
        project = user.path(".ai/overrides/lost/work/ship.overrides.md")
        own = Path(user.environment["RYE_USER_SPACE"], "overrides/lost/work/ship.overrides.md")
        own.parent.mkdir(parents=True)
        project.rename(own)
        user.fails("update", "lost/work/ship@1.2.0", code=CODE)
        own.write_text(re.sub("^agent: .*$", "agent: other", own.read_text(), flags=re.MULTILINE))
        user.ok("update", "lost/work/ship@1.2.0")
        assert 'version = "1.2.0"' in user.path("rye.lock").read_text()

    def test_in_a_member_of_a_workspace(self, user: Person) -> None:
        user.write("rye.toml", '[workspace]\nmembers = ["part"]\n' + user.path("rye.toml").read_text())
        user.write("part/rye.toml", '[project]\nname = "part"\n\n[dependencies]\n"lost/work/ship" = "*"\n')
        user.ok("install", "--yes")
        part = user.elsewhere(user.path("part"))
        part.fails("update", "lost/work/ship@1.2.0", code=CODE)
        part.ok("update", "lost/work/ship@1.1.0")


class TestOverlays:
    @pytest.fixture
    def shipping(self, user: Person) -> Person:
        user.ok("add", "formula:lost/ship@1.0.0", "--yes")
        anything(user)
        user.ok("install", "--yes")
        user.write(
            ".ai/formula-overlays/ship.toml",
            '[[step-overrides]]\nstep_id = "check"\nmode = "append"\ndescription = "Never skip this."\n',
        )
        return user

    def test_a_step_that_goes_takes_nothing_with_it_silently(self, shipping: Person) -> None:
        before = state(shipping)
        error = shipping.fails("update", "formula:lost/ship@1.1.0", "--yes", code=CODE)
        (lost,) = error["changes"][0]["lost"]
        assert (lost["path"], lost["line"], lost["text"]) == (
            ".ai/formula-overlays/ship.toml",
            1,
            ["Never skip this."],
        )
        assert state(shipping) == before
        shipping.ok("update", "formula:lost/ship@1.1.0", "--approve", "formula:lost/ship@1.1.0")

    def test_what_it_took_out_does_not_come_back_in_another_step(self, author: Person, shipping: Person) -> None:
        again = FORMULA.format(step="check", version="1.0.1").replace('"Send it."', '"Prepare it."')
        again += '\n[[steps]]\nid = "post"\ntitle = "Post"\ndescription = "Send it."\nneeds = ["send"]\n'
        path = author.write(".ai/formulas/ship.formula.toml", again)
        author.ok("sign", str(path))
        author.publish(str(path))
        shipping.write(".ai/formula-overlays/ship.toml", '[[step-overrides]]\nstep_id = "send"\nmode = "skip"\n')
        error = shipping.fails("update", "formula:lost/ship@1.0.1", "--yes", code=CODE)
        assert error["changes"][0]["lost"][0]["text"] == ["Send it."]

    def test_another_formula_that_extends_it_counts(self, shipping: Person) -> None:
        shipping.path(".ai/formula-overlays/ship.toml").rename(shipping.path(".ai/formula-overlays/mine.toml"))
        shipping.write(
            ".ai/formulas/mine.formula.toml",
            'formula = "mine"\ntype = "workflow"\nversion = "1.0.0"\ndescription = "Mine."\nextends = ["ship"]\n',
        )
        error = shipping.fails("update", "formula:lost/ship@1.1.0", code=CODE)
        assert error["changes"][0]["lost"][0]["path"] == ".ai/formula-overlays/mine.toml"

    def test_a_step_that_stays_asks_nothing(self, shipping: Person) -> None:
        path = shipping.path(".ai/formula-overlays/ship.toml")
        path.write_text(path.read_text().replace("check", "send"))
        shipping.ok("update", "formula:lost/ship@1.1.0")


class TestWeakened:
    def test_rights_that_an_override_took_away_do_not_come_back(self, registry: Registry) -> None:
        """The item's rights move out of the section that the override replaces."""
        acme, person = registry.owner("weak"), trusting(registry.user())
        wide = SEARCH + "<execute><tool>shell.run</tool></execute>"
        release(acme, "work/item", "1.0.0", "", permissions=wide)
        text = directive("work/item", "1.1.0", permissions=wide)
        acme.sign("directives/work/item.md", "# item\n\nFirst.\n\n" + text)
        acme.publish(".ai/directives/work/item.md")
        person.ok("add", "weak/work/item@1.0.0", "--yes")
        person.path("rye.toml").write_text(person.path("rye.toml").read_text().replace('"1.0.0"', '"*"'))
        person.ok("install", "--yes")
        person.ok("override", "new", "weak/work/item", "# item")
        path = person.path(".ai/overrides/weak/work/item.overrides.md")
        path.write_text(path.read_text().replace("<execute><tool>shell.run</tool></execute>", ""))
        assert "shell.run" not in person.ok("render", "weak/work/item").stdout
        person.fails("update", code=CODE)

    def test_a_comment_that_is_left_open_does_not_swallow_the_rule(self, registry: Registry) -> None:
        acme, person = registry.owner("swallow"), trusting(registry.user())
        release(acme, "work/item", "1.0.0", RULES)
        release(acme, "work/item", "1.1.0", RULES + "\n<!--\n")
        person.ok("add", "swallow/work/item@1.0.0", "--yes")
        person.path("rye.toml").write_text(person.path("rye.toml").read_text().replace('"1.0.0"', '"*"'))
        person.ok("install", "--yes")
        person.write("never.md", "Never send mail.\n")
        person.ok("override", "new", "swallow/work/item", "## Rules", "--append", "--content", "never.md")
        error = person.fails("update", code=CODE)
        assert "comment or code block" in error["message"]


class TestEdited:
    def test_an_override_that_is_edited_while_the_update_waits(
        self, user: Person, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It fits what was shown, and would be lost as it is when the files are about to be switched."""
        path = user.path(".ai/overrides/lost/work/ship.overrides.md")
        kept = path.read_text()
        path.write_text(kept.replace("## Rules", "## Guidelines"))
        lock = user.path("rye.lock").read_bytes()
        monkeypatch.setattr(f"{STEPS}.obtain_agreement", edit_after(obtain_agreement, path, kept))
        user.fails("update", "lost/work/ship@1.2.0", code="changed-meanwhile")
        assert user.path("rye.lock").read_bytes() == lock


def edit_after(obtain: Callable[..., Any], path: Path, text: str) -> Callable[..., Any]:
    def obtained(*given: Any) -> Any:
        agreed = obtain(*given)
        path.write_text(text)
        return agreed

    return obtained


class TestLapsed:
    """What was agreed to be lost, or is lost in another way, fails these commands until it is renewed or removed."""

    def asked(self, person: Person, code: int) -> None:
        for command in ("ci", "audit", "check", "doctor"):
            done = person.run(command)
            assert done.code == code, (command, done)
            if code:
                assert "ship" in done.stdout + done.stderr
                assert "rye o" in done.stdout + done.stderr
        person.ok("list")

    def test_after_an_update_that_was_agreed_to(self, user: Person) -> None:
        self.asked(user, 0)
        user.ok("update", "lost/work/ship@1.2.0", "--approve", "lost/work/ship@1.2.0")
        self.asked(user, 1)
        path = user.path(".ai/overrides/lost/work/ship.overrides.md")
        path.write_text(path.read_text().replace("## Rules", "## Guidelines"))
        self.asked(user, 0)

    def test_a_fresh_clone_installs_nothing_without_it(self, user: Person, registry: Registry) -> None:
        user.ok("update", "lost/work/ship@1.2.0", "--approve", "lost/work/ship@1.2.0")
        clone = registry.colleague(user)
        for name in ("rye.toml", "rye.lock", ".ai/overrides/lost/work/ship.overrides.md"):
            clone.write(name, user.path(name).read_bytes())
        clone.fails("ci", code="customization-lapsed")
        assert not list(clone.folder.rglob("ship.md"))
        clone.path(".ai/overrides/lost/work/ship.overrides.md").unlink()
        clone.ok("ci")

    def test_an_overlay_without_its_step(self, user: Person) -> None:
        user.ok("add", "formula:lost/ship@1.1.0", "--yes")
        path = user.write(".ai/formula-overlays/ship.toml", '[[step-overrides]]\nstep_id = "gone"\nmode = "skip"\n')
        self.asked(user, 1)
        path.write_text(path.read_text().replace("gone", "verify"))
        self.asked(user, 0)

    def test_a_role_directive_without_its_role(self, user: Person) -> None:
        path = user.write(".ai/role-directives/ship.md", "Never send mail.\n")
        for command in ("ci", "audit", "check", "doctor"):
            assert user.run(command).code == 1
        path.unlink()
        self.asked(user, 0)

    def test_one_s_own_space_is_a_warning(self, user: Person) -> None:
        own = Path(user.environment["RYE_USER_SPACE"], "overrides/lost/work/gone.overrides.md")
        own.parent.mkdir(parents=True)
        own.write_text("---\nagent: gone\nbase-version: 1.0.0\nlast-reviewed: 2026-01-01\n---\n")
        self.asked(user, 0)


@pytest.fixture(scope="module")
def renamer(registry: Registry) -> Person:
    acme = registry.owner("gone")
    for name in ("work/ship", "work/dispatch"):
        release(acme, name, "1.0.0", RULES)
    path = acme.write(".ai/formulas/ship.formula.toml", FORMULA.format(step="check", version="1.0.0"))
    acme.ok("sign", str(path))
    acme.publish(str(path))
    acme.new("role", "clerk")
    acme.ok("sign", ".ai/roles/clerk.md")
    acme.publish(".ai/roles/clerk.md", version="1.0.0")
    needs = [(name, "*") for name in ("gone/work/ship", "formula:gone/ship", "role:gone/clerk")]
    release(acme, "work/between", "1.0.0", "", depends=needs)
    release(acme, "work/between", "1.1.0", "", depends=[("gone/work/dispatch", "*")])
    release(acme, "work/suite", "1.0.0", "", depends=[("gone/work/between", "1.0.0")])
    release(acme, "work/suite", "1.1.0", "", depends=[("gone/work/dispatch", "*")])
    return acme


class TestGone:
    """An author renames or splits an item: what needed the old one needs another one from now on."""

    @pytest.fixture
    def suite(self, registry: Registry, renamer: Person) -> Person:
        person = trusting(registry.user())
        person.ok("add", "gone/work/suite@1.0.0", "--yes")
        anything(person)
        person.ok("install", "--yes")
        return person

    WAYS = ("override", "own override", "overlay", "role directive")

    def customize(self, person: Person, way: str) -> str:
        own = "--user" if way.startswith("own") else "--quiet"
        if way.endswith("override"):
            rule = str(person.write("never.md", "Never send mail.\n"))
            person.ok("override", "new", "gone/work/ship", "## Rules", "--append", "--content", rule, own)
            return "gone/work/ship.overrides.md"
        if way == "overlay":
            entry = '[[step-overrides]]\nstep_id = "check"\nmode = "append"\ndescription = "Never send mail."\n'
            person.write(".ai/formula-overlays/ship.toml", entry)
            return ".ai/formula-overlays/ship.toml"
        person.write(".ai/role-directives/clerk.md", "Never send mail.\n")
        return ".ai/role-directives/clerk.md"

    @pytest.mark.parametrize("way", WAYS)
    def test_the_item_that_is_no_longer_needed_takes_nothing_along_silently(self, suite: Person, way: str) -> None:
        shown = self.customize(suite, way)
        before = state(suite)
        assert "Never send mail." in suite.ok("update", "--dry-run").stderr
        error = suite.fails("update", "--yes", code=CODE)
        (change,) = [each for each in error["changes"] if each["lost"]]
        assert (change["id"], change["to"]) == ("gone/work/suite", "1.1.0")
        (lost,) = change["lost"]
        assert lost["path"].endswith(shown)
        assert lost["text"] == ["Never send mail."]
        assert state(suite) == before
        suite.ok("update", "--yes", *DISPATCH, "--approve", "gone/work/suite@1.1.0")

    def test_only_the_new_version_that_is_the_reason_is_asked_about(
        self, registry: Registry, author: Person, renamer: Person
    ) -> None:
        person = trusting(registry.user())
        person.ok("add", "gone/work/between@1.0.0", "lost/work/other@1.0.0", "--yes")
        anything(person)
        person.ok("install", "--yes")
        self.customize(person, "override")
        person.ok("update", "lost/work/other")
        error = person.fails("update", "--yes", code=CODE)
        assert [each["id"] for each in error["changes"] if each["lost"]] == ["gone/work/between"]

    def test_an_item_that_a_pull_took_out_of_the_lock_is_told(self, suite: Person) -> None:
        earlier = suite.path("rye.lock").read_bytes()
        suite.ok("update", "--yes", *DISPATCH)
        later = suite.path("rye.lock").read_bytes()
        suite.path("rye.lock").write_bytes(earlier)
        suite.ok("install", "--yes")
        shown = self.customize(suite, "own override")
        suite.path("rye.lock").write_bytes(later)
        assert shown in suite.ok("install", "--yes").stderr

    @pytest.mark.parametrize("way", WAYS)
    def test_what_a_person_removes_is_told_and_not_asked(self, suite: Person, way: str) -> None:
        shown = self.customize(suite, way)
        assert shown in suite.ok("remove", "gone/work/suite").stderr

    def test_an_item_of_one_s_own_with_that_name_keeps_a_role_directive(self, suite: Person) -> None:
        suite.new("role", "clerk")
        self.customize(suite, "role directive")
        suite.ok("update", "--yes", *DISPATCH)


@pytest.fixture(scope="module")
def namesake(registry: Registry, author: Person) -> Person:
    other = registry.owner("other")
    release(other, "work/ship", "1.0.0", RULES)
    release(other, "work/suite", "1.0.0", "")
    release(other, "work/suite", "1.1.0", "", depends=[("other/work/ship", "*")])
    return other


class TestTakenNames:
    """A file with the local id of an installed item is for that item alone as long as no other has this local id."""

    @pytest.fixture
    def named(self, user: Person, registry: Registry) -> Person:
        path = user.path(".ai/overrides/lost/work/ship.overrides.md")
        user.customize(".ai/overrides/work/ship.overrides.md", path.read_text())
        path.unlink()
        user.accepts()
        assert "Never send mail." in user.ok("render", "lost/work/ship").stdout
        return user

    def test_an_item_that_is_added(self, named: Person, namesake: Person) -> None:
        before = state(named)
        error = named.fails("add", "other/work/ship", "--yes", code=CODE)
        (change,) = [each for each in error["changes"] if each["lost"]]
        assert (change["id"], change["lost"][0]["text"]) == ("other/work/ship", ["Never send mail."])
        assert state(named) == before

    def test_an_item_that_an_update_pulls_in(self, named: Person, namesake: Person) -> None:
        named.ok("add", "other/work/suite@1.0.0", "--yes")
        anything(named)
        named.ok("install", "--yes")
        named.fails("update", "other/work/suite", "--yes", code=CODE)
        path = named.path(".ai/overrides/work/ship.overrides.md")
        whole = named.path(".ai/overrides/lost/work/ship.overrides.md")
        path.rename(whole)
        named.ok("update", "other/work/suite", "--yes", "--approve", "other/work/ship@1.0.0")
        assert "Never send mail." in named.ok("render", "lost/work/ship").stdout
