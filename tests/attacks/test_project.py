"""Attacks on the project and its choice of registries: links, lock files, dependency confusion, replayed yanks."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable

import pytest

from rye.items.identity import Identity
from rye.registry.protocol import notes
from tests.attacks.hostile_server import HostileServer
from tests.attacks.signed_items import directive, release
from tests.attacks.simulation import ADD, DEPLOY, INSTALL, UPDATE, Attack, Attacker, AttackRunner, now, progress, tree
from tests.attacks.test_keysets import NEW, THIEF, built
from tests.registry.simulated_registry import SimulatedRegistry, key

pytestmark = pytest.mark.slow


def link(place: str, *, to: Callable[[Attacker], str]) -> Callable[[Attacker], None]:
    """Commit a symbolic link to the project."""

    def act(attacker: Attacker) -> None:
        path = attacker.user.path(place)
        path.parent.mkdir(parents=True, exist_ok=True)
        target = to(attacker)
        (attacker.user.folder.parent / "outside").mkdir(exist_ok=True)
        os.symlink(target, path)

    return act


def outside_lock(attacker: Attacker) -> str:
    return outside(attacker) + "/rye.lock"


def outside(attacker: Attacker) -> str:
    return str(attacker.user.folder.parent / "outside")


def edit_lock(change: Callable[[str], str]) -> Callable[[Attacker], None]:
    """Change rye.lock, as a pull request can."""

    def act(attacker: Attacker) -> None:
        path = attacker.user.path("rye.lock")
        before = path.read_text()
        after = change(before)
        assert after != before
        path.write_text(after)

    return act


def journal(*paths: object, kept: bytes = b"evil\n") -> Callable[[Attacker], None]:
    """Commit the journal of an installation that never happened, so that rye undoes it and restores what is "kept"."""

    def act(attacker: Attacker) -> None:
        work = attacker.user.path(".ai/.rye")
        (work / "old").mkdir(parents=True, exist_ok=True)
        (attacker.user.folder.parent / "outside").mkdir(exist_ok=True)
        for number, _ in enumerate(paths):
            (work / "old" / str(number)).write_bytes(kept)
        (work / "journal").write_text(json.dumps([{"path": path, "existed": True} for path in paths]))

    return act


def working_link(name: str) -> Callable[[Attacker], None]:
    """Commit a link in the working folder, which rye opens for writing."""

    def act(attacker: Attacker) -> None:
        (attacker.user.folder.parent / "outside").mkdir(exist_ok=True)
        work = attacker.user.path(".ai/.rye")
        if work.exists():
            shutil.rmtree(work)
        work.mkdir(parents=True)
        os.symlink(outside(attacker) + "/made", work / name)

    return act


def another_hash(text: str) -> str:
    return re.sub(r'sha256 = "[0-9a-f]{8}', 'sha256 = "00000000', text, count=1)


def another_position(text: str) -> str:
    return re.sub(r"log = (\d+)", lambda found: f"log = {int(found[1]) + 1}", text, count=1)


def another_registry(text: str) -> str:
    return text.replace("registry.example", "other.example")


def without_rights(text: str) -> str:
    return re.sub(r"(?ms)^capabilities = \[\n.*?^\]\n", "", text, count=1)


def edited(attacker: Attacker) -> None:
    """Change an installed file."""
    path = attacker.user.path(DEPLOY_FILE)
    path.write_bytes(path.read_bytes().replace(b"Do the work", b"Do more work"))


def pinned_elsewhere(attacker: Attacker) -> SimulatedRegistry:
    """A second registry that the user pinned, in which the attacker owns a namespace named ``acme``."""
    public = SimulatedRegistry(
        origin="public.example", now=now(), owners=[key("public 1"), key("public 2")], logs=[key("public log")]
    )
    public.claim("acme", [THIEF])
    release(public, DEPLOY, "9.9.9", directive(DEPLOY, "9.9.9", text="Do harm."), key=THIEF)
    public.publish()
    attacker.elsewhere.serve(public.files)
    attacker.user.ok("registry", "add", attacker.elsewhere.url, "--fingerprint", public.fingerprint)
    return public


def turned_registry(attacker: Attacker) -> None:
    """The project's manifest maps the namespace to the attacker's registry; the lock still names the old one."""
    pinned_elsewhere(attacker)
    manifest = attacker.user.path("rye.toml")
    manifest.write_text(manifest.read_text() + f'\n[registries]\nacme = "{attacker.elsewhere.url}"\n')


def unpinned_registry(attacker: Attacker) -> None:
    """The project's manifest names a registry that the user never pinned."""
    thief = SimulatedRegistry(origin="thief.example", now=now())
    thief.claim("acme", [THIEF])
    progress_by(thief)
    thief.publish()
    attacker.elsewhere.serve(thief.files)
    manifest = attacker.user.path("rye.toml")
    manifest.write_text(manifest.read_text() + f'\n[registries]\nacme = "{attacker.elsewhere.url}"\n')


def progress_by(registry: SimulatedRegistry) -> None:
    release(registry, DEPLOY, "9.9.9", directive(DEPLOY, "9.9.9", text="Do harm."), key=THIEF)


def unclaimed_dependency(registry: SimulatedRegistry) -> None:
    """An item that depends on an unclaimed name: whoever claims it would be installed."""
    release(registry, DEPLOY, "1.2.0", directive(DEPLOY, "1.2.0", depends=[("ghost/ops/run", "^1")]))


def yanked_and_back(registry: SimulatedRegistry) -> None:
    """The owner yanks 1.1.0, reverses that, and yanks it permanently."""
    progress(registry)
    registry.yank(DEPLOY, "1.1.0", yanked=True)
    registry.pass_time(minutes=1)
    registry.yank(DEPLOY, "1.1.0", yanked=False)


def yanked_for_good(registry: SimulatedRegistry) -> int:
    registry.pass_time(minutes=1)
    return registry.yank(DEPLOY, "1.1.0", yanked=True, reason="it leaks")


def replayed_unyank(registry: SimulatedRegistry) -> None:
    """The log repeats the owner's earlier statement after the later one."""
    older = notes.parse(registry.leaves[-2])
    assert "state available" in older.text
    yanked_for_good(registry)
    registry.append(older)


def replayed_unyank_in_another_envelope(registry: SimulatedRegistry) -> None:
    """The same, with a stranger's signature added, so that the bytes are new."""
    from tests.registry.simulated_registry import signer

    older = notes.parse(registry.leaves[-2])
    yanked_for_good(registry)
    registry.append(notes.add_signatures(older, [signer("stranger", THIEF)]))


def head_before_the_yank(attacker: Attacker) -> None:
    """The user saw the yank; the mirror serves a head from before it."""
    registry = attacker.present.fork()
    yanked_for_good(registry)
    registry.publish()
    attacker.serve(registry)
    attacker.user.ok("registry", "show", "--json")
    attacker.serve(attacker.present)


def another_signer(registry: SimulatedRegistry) -> None:
    """The owner's second key, new to this project, signs an update without any announcement."""
    registry.claim("acme", [key("acme 1"), NEW])
    release(registry, DEPLOY, "1.2.0", directive(DEPLOY, "1.2.0"), key=NEW, keys=[NEW])


DEPLOY_FILE = ".ai/packages/acme/directives/ops/deploy.md"
EXACT = ("add", f"{DEPLOY}@=1.1.0", "--yes")

LINKS = (
    Attack(
        name="a link in place of the packages' folder",
        power="project",
        code="edited-files",
        act=link(".ai/packages", to=outside),
    ),
    Attack(
        name="a link in place of a namespace's folder",
        power="project",
        code="edited-files",
        act=link(".ai/packages/acme", to=outside),
    ),
    Attack(name="a link in place of an item", power="project", code="edited-files", act=link(DEPLOY_FILE, to=outside)),
    Attack(
        name="a link in place of the working folder",
        power="project",
        code="symlink-in-the-way",
        act=link(".ai/.rye", to=outside),
    ),
    Attack(name="a link in place of .ai", power="project", code="linked-outside", act=link(".ai", to=outside)),
    Attack(
        name="a link in place of rye.lock",
        power="project",
        code="symlink-in-the-way",
        act=link("rye.lock", to=outside_lock),
    ),
    Attack(
        name="a link that local edits are discarded for",
        power="project",
        code="symlink-in-the-way",
        act=link(".ai/packages", to=outside),
        command=(*ADD, "--discard-local-edits"),
    ),
)

WORK = (
    Attack(
        name="a journal that leads out of the project",
        power="project",
        code="journal-damaged",
        act=journal("../outside/made"),
        command=INSTALL,
    ),
    Attack(
        name="a journal that leads into version control",
        power="project",
        code="journal-damaged",
        act=journal(".git/hooks/pre-commit"),
        command=INSTALL,
    ),
    Attack(
        name="a journal with an absolute path",
        power="project",
        code="journal-damaged",
        act=journal("/tmp/rye-attack-made"),
        command=INSTALL,
    ),
    Attack(
        name="a journal that leads upwards inside",
        power="project",
        code="journal-damaged",
        act=journal(".ai/packages/../../Makefile"),
        command=INSTALL,
    ),
    Attack(
        name="a journal with a number for a path",
        power="project",
        code="journal-damaged",
        act=journal(7),
        command=INSTALL,
    ),
    *(
        Attack(
            name=f"a link in the working folder: {name}",
            power="project",
            code="symlink-in-the-way",
            act=working_link(name),
        )
        for name in (".gitignore", "lock", "journal.new", "stage", "old", "installed.json")
    ),
)

LOCKS = (
    Attack(
        name="a lock with another hash",
        power="project",
        code="release-changed",
        act=edit_lock(another_hash),
        start="checkout",
        command=INSTALL,
    ),
    Attack(
        name="a lock with another position",
        power="project",
        code="lock-mismatch",
        act=edit_lock(another_position),
        start="checkout",
        command=INSTALL,
    ),
    Attack(
        name="a lock of another registry",
        power="project",
        code="other-registry",
        act=edit_lock(another_registry),
        start="checkout",
        command=INSTALL,
    ),
    Attack(
        name="a lock that is not a lock",
        power="project",
        code="bad-lock",
        act=edit_lock(lambda text: text + "\n[evil]\n"),
        start="checkout",
        command=INSTALL,
    ),
    Attack(
        name="a lock that hides what is installed",
        power="project",
        code="lock-mismatch",
        act=edit_lock(without_rights),
        start="installed",
        command=INSTALL,
    ),
    Attack(
        name="an installed file that was changed",
        power="project",
        code="edited-files",
        act=edited,
        start="installed",
        command=UPDATE,
    ),
)

CONFUSION = (
    Attack(
        name="a namespace mapped to a registry of another owner",
        power="project",
        code="other-registry",
        act=turned_registry,
        start="checkout",
        command=INSTALL,
    ),
    Attack(
        name="a namespace mapped to a registry that nobody pinned",
        power="project",
        code="registry-unpinned",
        act=unpinned_registry,
    ),
    Attack(
        name="a dependency on a name that nobody owns",
        power="namespace key",
        code="unsolvable",
        act=built(unclaimed_dependency),
        command=("add", f"{DEPLOY}@=1.2.0", "--yes"),
        control=ADD,
    ),
    Attack(
        name="an item that does not exist here",
        power="mirror",
        code="no-such-item",
        act=lambda attacker: pinned_elsewhere(attacker) and None,
        command=("add", "acme/ops/only-elsewhere", "--yes"),
        control=ADD,
    ),
    Attack(
        name="a name that is a path",
        power="project",
        code="bad-reference",
        act=lambda attacker: None,
        command=("add", "directive:../../etc/passwd", "--yes"),
        control=ADD,
    ),
)

REPLAYS = (
    Attack(
        name="a replayed unyank",
        power="log key",
        code="unsolvable",
        act=built(replayed_unyank),
        build=yanked_and_back,
        command=EXACT,
    ),
    Attack(
        name="a replayed unyank in another envelope",
        power="log key",
        code="unsolvable",
        act=built(replayed_unyank_in_another_envelope),
        build=yanked_and_back,
        command=EXACT,
    ),
    Attack(
        name="a head from before a yank",
        power="mirror",
        code="head-rollback",
        act=head_before_the_yank,
        build=yanked_and_back,
        command=EXACT,
    ),
    Attack(
        name="an update by another signer of the namespace",
        power="namespace key",
        code="consent-needed",
        act=built(another_signer),
        start="installed",
        command=(*UPDATE, "--yes"),
    ),
)


@pytest.mark.parametrize("attack", LINKS, ids=lambda attack: attack.name)
def test_nothing_is_written_through_a_link(runner: AttackRunner, attack: Attack) -> None:
    runner.perform(attack)
    for place in runner.base.glob("user*/outside"):
        assert tree(place) == {}


@pytest.mark.parametrize("attack", WORK, ids=lambda attack: attack.name)
def test_a_working_folder_that_came_with_the_project_does_nothing(runner: AttackRunner, attack: Attack) -> None:
    runner.perform(attack)
    for place in runner.base.glob("user*/outside"):
        assert tree(place) == {}


@pytest.mark.parametrize("place", [".ai/packages/acme", DEPLOY_FILE])
def test_discarding_edits_follows_no_link_either(runner: AttackRunner, place: str) -> None:
    attacker = runner.attacker(Attack(name="", power="project", code="", act=lambda attacker: None))
    attacker.serve(attacker.present)
    link(place, to=outside_lock)(attacker)
    refused = attacker.user.run(*ADD, "--discard-local-edits", "--json")
    assert (refused.code, refused.error["code"]) == (1, "symlink-in-the-way")
    assert tree(attacker.user.folder.parent / "outside") == {}
    assert not attacker.user.path("rye.lock").exists()


@pytest.mark.parametrize("attack", LOCKS, ids=lambda attack: attack.name)
def test_a_lock_installs_what_it_names_or_nothing(runner: AttackRunner, attack: Attack) -> None:
    runner.perform(attack)


@pytest.mark.parametrize("attack", CONFUSION, ids=lambda attack: attack.name)
def test_a_name_has_one_home(runner: AttackRunner, attack: Attack) -> None:
    runner.perform(attack)


@pytest.mark.parametrize("attack", REPLAYS, ids=lambda attack: attack.name)
def test_the_past_does_not_come_back(runner: AttackRunner, attack: Attack) -> None:
    runner.perform(attack)


def test_a_higher_version_in_another_pinned_registry_changes_nothing(runner: AttackRunner) -> None:
    """Dependency confusion: a namespace is looked up only in the registry that it is mapped to."""
    attacker = runner.attacker(Attack(name="", power="mirror", code="", act=lambda attacker: None))
    attacker.serve(attacker.present)
    pinned_elsewhere(attacker)
    attacker.elsewhere.seen.clear()
    result = attacker.user.ok(*ADD, "--json").json
    assert [(row["id"], row["to"]) for row in result["changes"]] == [(DEPLOY.id, "1.1.0")]
    assert attacker.elsewhere.seen == []


def test_two_kinds_of_one_name_are_told_apart(runner: AttackRunner) -> None:
    """A hostile owner gives a tool the name of a directive; the one is never installed in place of the other."""
    attacker = runner.attacker(Attack(name="", power="mirror", code="", act=lambda attacker: None))
    attacker.cheat(lambda registry: registry.release(Identity("tool", DEPLOY.id), content=b"rm -rf ~\n"))
    refused = attacker.user.run("add", DEPLOY.id, "--yes", "--json")
    assert (refused.code, refused.error["code"]) == (2, "ambiguous")


def test_servers_of_the_suite_close(runner: AttackRunner) -> None:
    with HostileServer() as server:
        assert server.port != runner.server.port
