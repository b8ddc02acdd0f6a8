"""Changes while rye runs, changes to what rye remembers, and several attacks at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from rye.installation.transaction import exclusive
from rye.project import item_file
from rye.storage.safe_files import read_bytes
from rye.workspace.installing import install_steps
from tests.attacks.hostile_repository.attacks import Attack, CloneAttackRunner, everywhere, rows
from tests.attacks.hostile_repository.clones import FORGED, Clone, Posture, says
from tests.attacks.hostile_repository.upstream import CHECK, DEPLOY, SKILL
from tests.attacks.simulation import difference, tree
from tests.scenes.approvals import but

pytestmark = pytest.mark.slow

Act = Callable[[Clone], object]


def forged(clone: Clone) -> None:
    clone.file_of(DEPLOY).write_bytes(says("Do the work", FORGED)(clone.file_of(DEPLOY).read_bytes()))


def same_size_and_time(clone: Clone) -> None:
    """Keep the file's size and time, so that only its bytes differ."""
    path = clone.file_of(DEPLOY)
    before = path.stat()
    path.write_bytes(says("Do the work", "Do any work")(path.read_bytes()))
    assert path.stat().st_size == before.st_size
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def forged_and_incomplete(clone: Clone) -> None:
    clone.forge(DEPLOY, says("Do the work", FORGED), approved=but(right=("rye.*",)), dependencies=())
    clone.drop_row(CHECK)


def forged_and_stale(clone: Clone) -> None:
    clone.forge(DEPLOY, says("Do the work", FORGED))
    clone.manifest(lambda text: text.replace('deploy" = "^1.0.0"', 'deploy" = "^1"'))


def forged_twice(clone: Clone) -> None:
    """Forge two items, one of which is checked first."""
    clone.forge(DEPLOY, says("Do the work", FORGED))
    clone.forge(SKILL, says("# PDF", f"# {FORGED}"))
    clone.edit_row(CHECK, size=1)


ANY = "release-changed|lock-mismatch|lock-does-not-fit|edited-files"
TOGETHER = (
    Attack(
        name="forged bytes, a lost item and wide approvals",
        act=forged_and_incomplete,
        outcomes=everywhere(ANY, list="unverified", audit="changed-release", check=f"{ANY}|G2", diff="", sbom=""),
        postures=("given", "member"),
    ),
    Attack(
        name="forged bytes under a rye.toml that changed, too",
        act=forged_and_stale,
        outcomes=everywhere(ANY, repair="ok", list="unverified", audit="changed-release", check=f"{ANY}|G1"),
        mends=False,
    ),
    Attack(
        name="three forged rows", act=forged_twice, outcomes=everywhere(ANY, list="unverified", audit="changed-release")
    ),
    Attack(
        name="other bytes of the same size and time",
        act=same_size_and_time,
        outcomes=everywhere(
            "modified-item", install=ANY, repair=ANY, list="changed", audit="modified-file", sbom="", check=""
        ),
        postures=("given", "member"),
    ),
)


@pytest.mark.parametrize(("attack", "posture"), rows(TOGETHER))
def test_several_attacks_at_once_are_one_refusal(runner: CloneAttackRunner, attack: Attack, posture: Posture) -> None:
    runner.perform(attack, posture)


@pytest.mark.parametrize("words", [("render", str(DEPLOY)), ("show", str(DEPLOY))], ids=lambda words: words[0])
def test_what_is_handed_out_is_what_was_checked(runner: CloneAttackRunner, words: tuple[str, ...]) -> None:
    """Another process changes the file after rye read it; rye does not read it again."""
    clone = runner.clone("member")
    honest = clone.ok(*words, "--json").stdout

    def overtaken(path: Path, limit: int, root: Path | None = None) -> bytes:
        data = read_bytes(path, limit, root)
        if path == clone.file_of(DEPLOY) and FORGED not in path.read_text():
            forged(clone)
        return data

    with mock.patch.object(item_file, "read_bytes", overtaken):
        assert clone.ok(*words, "--json").stdout == honest
    assert FORGED in clone.file_of(DEPLOY).read_text()
    assert clone.run(*words, "--json").error["code"] == "modified-item"


def approves_all(clone: Clone) -> None:
    clone.edit_row(DEPLOY, approved=but(right=("rye.*",)))


def wants_more(clone: Clone) -> None:
    clone.manifest(lambda text: text.replace('deploy" = "^1.0.0"', 'deploy" = "*"'))


@pytest.mark.parametrize("verb", [("install", "--yes"), ("ci",)], ids=lambda verb: verb[0])
@pytest.mark.parametrize("act", [approves_all, wants_more], ids=["rye.lock", "rye.toml"])
def test_a_project_that_changes_during_a_run_is_installed_as_it_is_or_not_at_all(
    runner: CloneAttackRunner, verb: tuple[str, ...], act: Act
) -> None:
    """Another process commits between consent and switch; nothing is installed from what was read before."""
    clone = runner.clone("given")
    clone.without_files()
    acted: list[dict[str, object]] = []

    def overtaken(*given: Any, **more: Any) -> Any:
        if not acted:
            act(clone)
            acted.append(dict(tree(clone.folder)))
        return exclusive(*given, **more)

    with mock.patch.object(install_steps, "exclusive", overtaken):
        result = clone.run(*verb, "--json")
    assert acted
    if result.code:
        assert result.error["code"] in ("lock-changed", "lock-does-not-fit")
        assert [path for path in difference(acted[0], tree(clone.folder)) if not path.startswith(".ai/.rye")] == []
    else:
        assert runner.is_honest(clone) or act is wants_more
        clone.ok("lock", "--check")


@pytest.mark.parametrize("damage", ["writable by others", "a link", "another user's", "no database"])
def test_a_memory_that_is_not_the_user_s_own_says_nothing(runner: CloneAttackRunner, damage: str) -> None:
    """Without a network and without a cache to verify from, what the memory held is lost."""
    clone = runner.clone("offline")
    memory = clone.home / "data/verdicts.sqlite"
    clone.ok("render", str(DEPLOY), "--offline")
    for path in (clone.home / "cache").rglob("*"):
        if path.is_file():
            path.unlink()
    clone.ok("render", str(DEPLOY), "--offline")
    if damage == "writable by others":
        memory.chmod(0o666)
    elif damage == "a link":
        memory.rename(clone.outside / "memory")
        memory.symlink_to(clone.outside / "memory")
    elif damage == "another user's":
        if os.geteuid() != 0:
            pytest.skip("only root can give files away")
        os.chown(memory, 65534, 65534)
    else:
        memory.write_bytes(b"{}")
    refused = clone.read("render", str(DEPLOY))
    assert (refused.code, refused.error["code"]) == (1, "unverified-item"), refused
