"""What a repository can put among the installed files: links, pipes, modes, look-alikes, unreleased files."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from tests.attacks.hostile_repository.attacks import Attack, CloneAttackRunner, everywhere, rows
from tests.attacks.hostile_repository.clones import FORGED, Clone, Posture, says
from tests.attacks.hostile_repository.upstream import NOTES, SCRIPT, SKILL, TOOL
from tests.attacks.simulation import tree
from tests.scenes.effort import rest_thorough

pytestmark = pytest.mark.slow

Act = Callable[[Clone], object]
PACKAGES = ".ai/packages"
FILE = f"{PACKAGES}/acme/directives/ops/deploy.md"


def here(clone: Clone) -> Path:
    return clone.path(FILE)


def skill(clone: Clone) -> Path:
    return clone.file_of(SKILL).parent


def mode(path: Callable[[Clone], Path], bits: int) -> Act:
    return lambda clone: path(clone).chmod(bits)


def moved_out(place: str) -> Act:
    """Move the genuine files out of the project and put a link to them in their place."""

    def act(clone: Clone) -> None:
        target = clone.outside / "there"
        clone.path(place).rename(target)
        clone.path(place).symlink_to(target)

    return act


def instead(make: Callable[[Path], object]) -> Act:
    """Put something else in the item's place."""

    def act(clone: Clone) -> None:
        here(clone).unlink()
        make(here(clone))

    return act


def bind(path: Path) -> None:
    """Bind a socket; its name is short because the kernel limits the length of a socket's path."""
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(before)


def moved_inside(clone: Clone) -> None:
    here(clone).rename(clone.path("kept.md"))
    here(clone).symlink_to("../../../../../kept.md")


def extra(place: str, text: str | bytes = f"{FORGED}\n") -> Act:
    return lambda clone: clone.write(f"{PACKAGES}/{place}", text)


def twin(place: str) -> Act:
    """The item's own text with one instruction changed, under a look-alike name."""
    return lambda clone: clone.write(f"{PACKAGES}/{place}", says("Do the work", FORGED)(here(clone).read_bytes()))


def by_hand(clone: Clone) -> None:
    here(clone).write_bytes(says("Do the work", FORGED)(here(clone).read_bytes()))


def claimed_as_ours(clone: Clone) -> None:
    """``.ai/.rye/installed.json`` claims that the last run wrote the forged bytes."""
    by_hand(clone)
    clone.write(".ai/.rye/installed.json", json.dumps({FILE: sha256(here(clone).read_bytes()).hexdigest()}))


def notes_by_link(clone: Clone) -> None:
    skill(clone).joinpath("notes.md").unlink()
    (clone.outside / "notes.md").write_bytes(NOTES)
    skill(clone).joinpath("notes.md").symlink_to(clone.outside / "notes.md")


def odd_name(clone: Clone) -> None:
    """Create a file whose name is not UTF-8."""
    with open(os.fsencode(here(clone).parent) + b"/\xff\xfe.md", "wb") as stream:
        stream.write(FORGED.encode())


def edited(read: str, state: str = "ok|unverified|missing", audit: str = "extra-file", **others: str) -> dict[str, str]:
    """Outcomes when nothing may overwrite a possible hand edit. ``read``: of the commands that read the item."""
    return everywhere(
        read, install="edited-files", repair="edited-files", list=state, audit=audit, sbom="", check="", **others
    )


def restored(
    read: str, audit: str, state: str = "wrong-flag|missing", install: str = "ok", repair: str = "ok"
) -> dict[str, str]:
    """Outcomes when installing restores the signed state, and no reader prints the item before that."""
    return everywhere(read, install=install, repair=repair, list=state, audit=audit, sbom="", check="")


WRONG_FLAG = restored("modified-item", "wrong-flag", install="ok|edited-files")
"""``ci`` names the file and stops, as for an edit; the other ways to install set the bit and say so."""


IN_THE_WAY = everywhere("ok", install="symlink-in-the-way", repair="symlink-in-the-way", list="ok|unverified", audit="")
GONE = edited("no-such-item", "changed", "modified-file")
FLAGS = (
    Attack(
        name="a text with the executable bit",
        act=mode(here, 0o755),
        outcomes=WRONG_FLAG,
        postures=("given", "member"),
    ),
    Attack(
        name="a script without the executable bit",
        act=mode(lambda clone: skill(clone) / SCRIPT, 0o644),
        outcomes=WRONG_FLAG,
        item=SKILL,
    ),
    Attack(
        name="a tool with the executable bit",
        act=mode(lambda clone: clone.file_of(TOOL), 0o755),
        outcomes=WRONG_FLAG,
        item=TOOL,
    ),
    Attack(
        name="a missing file of a skill",
        act=lambda clone: skill(clone).joinpath("notes.md").unlink(),
        outcomes=restored("modified-item", "missing-file"),
        item=SKILL,
    ),
    Attack(
        name="a folder in an item's place", act=instead(Path.mkdir), outcomes=restored("no-such-item", "missing-file")
    ),
    Attack(
        name="a forged file that rye is said to have written",
        act=claimed_as_ours,
        outcomes=restored("modified-item", "modified-file", "changed"),
        postures=("given", "member"),
    ),
)
LINKS = (
    Attack(name="an item that is a link to its own bytes", act=moved_inside, outcomes=GONE),
    Attack(
        name="an item that is a link out of the project",
        act=moved_out(FILE),
        outcomes=GONE,
        postures=("given", "member"),
    ),
    Attack(
        name="a category that is a link",
        act=moved_out(f"{PACKAGES}/acme/directives/ops"),
        outcomes=edited("no-such-item"),
    ),
    Attack(name="a namespace that is a link", act=moved_out(f"{PACKAGES}/acme"), outcomes=edited("no-such-item")),
    Attack(name="the packages behind a link", act=moved_out(PACKAGES), outcomes=edited("ok")),
    Attack(name="a dangling link", act=instead(lambda path: path.symlink_to("nowhere")), outcomes=GONE),
    Attack(name="a link to itself", act=instead(lambda path: path.symlink_to(path.name)), outcomes=GONE),
    Attack(name="a link to a device", act=instead(lambda path: path.symlink_to("/dev/zero")), outcomes=GONE),
    Attack(name="a pipe", act=instead(os.mkfifo), outcomes=GONE),
    Attack(name="a socket", act=instead(bind), outcomes=GONE),
    Attack(
        name="a file of a skill that is a link",
        act=notes_by_link,
        outcomes=edited("modified-item", "changed", "modified-file"),
        item=SKILL,
    ),
    Attack(
        name="a skill's folder of scripts that is a link",
        act=moved_out(f"{PACKAGES}/acme/skills/pdf/scripts"),
        outcomes=edited("modified-item"),
        item=SKILL,
    ),
    Attack(
        name="a link more in a skill",
        act=lambda clone: skill(clone).joinpath("more").symlink_to("/etc/hosts"),
        outcomes=edited("modified-item"),
        item=SKILL,
    ),
    Attack(
        name="a pipe more in a skill",
        act=lambda clone: os.mkfifo(skill(clone) / "pipe"),
        outcomes=edited("modified-item"),
        item=SKILL,
    ),
)
EXTRAS = (
    Attack(
        name="an item changed by hand",
        act=by_hand,
        outcomes=edited("modified-item", "changed", "modified-file"),
        postures=("given", "member"),
    ),
    Attack(
        name="a changed file of a skill",
        act=lambda clone: skill(clone).joinpath("notes.md").write_text(FORGED),
        outcomes=edited("modified-item", "changed", "modified-file"),
        item=SKILL,
    ),
    Attack(
        name="a script more in a skill that the lock does not name",
        act=extra("acme/skills/pdf/scripts/more.sh"),
        outcomes=edited("modified-item"),
        item=SKILL,
        postures=("given", "member"),
    ),
    Attack(
        name="a hidden file in a skill", act=extra("acme/skills/pdf/.env"), outcomes=edited("modified-item"), item=SKILL
    ),
    Attack(
        name="a file in a skill that tells rye to ignore others",
        act=extra("acme/skills/pdf/.ryeignore", "scripts\nmore.sh\n"),
        outcomes=edited("modified-item"),
        item=SKILL,
    ),
    Attack(
        name="a main file in another case",
        act=extra("acme/skills/pdf/skill.md"),
        outcomes=edited("modified-item"),
        item=SKILL,
    ),
    Attack(name="an item that nobody released", act=extra("acme/directives/ops/evil.md"), outcomes=edited("ok")),
    Attack(name="an item in another case", act=twin("acme/directives/ops/Deploy.md"), outcomes=edited("ok")),
    Attack(name="a namespace in another case", act=twin("Acme/directives/ops/deploy.md"), outcomes=edited("ok")),
    Attack(
        name="an item in a namespace that nobody claimed",
        act=twin("ghost/directives/ops/deploy.md"),
        outcomes=edited("ok"),
    ),
    Attack(
        name="a tool's code in another language",
        act=extra("acme/tools/shell/run.sh", "#!/bin/sh\necho FORGED\n"),
        outcomes=edited("ambiguous"),
        item=TOOL,
    ),
    Attack(
        name="a project among the installed files", act=extra("acme/rye.toml", "[project]\n"), outcomes=edited("ok")
    ),
    Attack(name="a hidden file among the installed ones", act=extra(".hidden"), outcomes=edited("ok")),
    Attack(
        name="a name that clears the screen",
        act=extra("acme/directives/ops/\x1b[2Jx.md"),
        outcomes=edited("ok"),
        spoken=True,
    ),
    Attack(
        name="a name that ends a line for some",
        act=extra("acme/directives/ops/a\u2028b.md"),
        outcomes=edited("ok"),
        spoken=True,
    ),
    Attack(
        name="a name that turns the text",
        act=extra("acme/directives/ops/\u202edm.x.md"),
        outcomes=edited("ok"),
        spoken=True,
    ),
    Attack(
        name="a name with a line break", act=extra("acme/directives/ops/a\nok b.md"), outcomes=edited("ok"), spoken=True
    ),
    Attack(name="a name that is not UTF-8", act=odd_name, outcomes=edited("ok"), spoken=True),
)


@pytest.mark.parametrize(("attack", "posture"), rows(FLAGS))
def test_what_differs_by_accident_is_put_right(runner: CloneAttackRunner, attack: Attack, posture: Posture) -> None:
    runner.perform(attack, posture)


@pytest.mark.parametrize(("attack", "posture"), rows(LINKS))
def test_nothing_is_read_or_written_through_a_link(runner: CloneAttackRunner, attack: Attack, posture: Posture) -> None:
    runner.perform(attack, posture)


@pytest.mark.parametrize(("attack", "posture"), rows(EXTRAS))
def test_a_file_that_nobody_installed_is_noticed(runner: CloneAttackRunner, attack: Attack, posture: Posture) -> None:
    runner.perform(attack, posture)


@pytest.mark.parametrize("attack", rest_thorough(8, [*LINKS, *EXTRAS]), ids=lambda attack: attack.name)
def test_discarding_edits_restores_the_project_or_writes_nothing(runner: CloneAttackRunner, attack: Attack) -> None:
    """Afterwards either the installed files are the team's, or not one byte was written through a link."""
    clone = runner.clone("member")
    attack.act(clone)
    near = tree(clone.outside)
    done = clone.run("install", "--discard-local-edits", "--yes", "--json")
    assert tree(clone.outside) == near
    if done.code == 0:
        assert runner.is_honest(clone)
    else:
        assert done.error["code"] == "symlink-in-the-way", done
