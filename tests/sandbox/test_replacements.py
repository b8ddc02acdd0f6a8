"""Random replacements between decision and use: another program renames, exchanges and links what a call was decided on. Whatever
it does, the tool writes only into folders that were granted, and sees no secret. ``make fuzz`` tries many more."""

from __future__ import annotations

import os
import random
import stat
from collections.abc import Callable
from pathlib import Path
from threading import Event

import msgspec
import pytest
from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.needs import parse_needs
from rye.runtime.sandbox import running
from rye.runtime.sandbox.bubblewrap import Bubblewrap
from rye.runtime.sandbox.exposure import Inode, inode_of
from rye.runtime.sandbox.landlock import Landlock
from rye.runtime.sandbox.profile import profile_for
from rye.runtime.sandbox.running import Scene, Walls, fresh_work
from rye.runtime.sandbox.tool_run import Backend, ToolRun
from tests.sandbox.calling import LINUX, demanded
from tests.scenes.effort import tries

pytestmark = pytest.mark.processes

SECRET, EVIL = "hunter2", "evil"
FILES = (
    *(
        "build/cache/x.txt",
        "build/cache/deep/y.txt",
        "build/.env",
        "build/sub/.claude/settings.json",
        "build/sub/z.txt",
    ),
    *(
        "shown/a.txt",
        "shown/.env",
        "shown/in/id_rsa",
        "shown/in/b.txt",
        ".git/config",
        ".git/HEAD",
        "keys/x.pem",
        "c.txt",
    ),
)
SECRETS = frozenset(("build/.env", "shown/.env", "shown/in/id_rsa", ".git/config", "keys/x.pem"))
GRANTS = (["build/cache/"], ["build/"], ["build/sub/"], ["build/cache/", "build/sub/"], ["build/cache/x.txt"])
TOOL = """
import os
def execute(params):
    texts = []
    for base in params["bases"]:
        for folder, folders, files in os.walk(base):
            for name in [*files, *params["names"]]:
                path = os.path.join(folder, name)
                try:
                    texts.append(open(path).read(200))
                except (OSError, UnicodeDecodeError):
                    pass
            for name in ["new", *files]:
                try:
                    open(os.path.join(folder, name), "a").write("evil")
                except OSError:
                    pass
    return texts
"""


def made(base: Path) -> Path:
    """A project, with a folder outside of it."""
    project = base / "project"
    for name in FILES:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(SECRET if name in SECRETS else "ours", "utf-8")
    for name in ("x.txt", "cache/x.txt", "cache/deep/y.txt"):
        for folder, text in (("outside", SECRET), ("other", "other")):
            (base / folder / name).parent.mkdir(parents=True, exist_ok=True)
            (base / folder / name).write_text(text, "utf-8")
    return project


class Other:
    """Another program, which may change everything. What it moves into a folder that a tool may read is no secret."""

    def __init__(self, chance: random.Random, base: Path, grants: list[str]) -> None:
        self.chance, self.base, self.grants = chance, base, [base / "project" / grant for grant in grants]
        self.story: list[str] = []

    def acts(self) -> None:
        for _ in range(self.chance.randrange(1, 4)):
            step = self.chance.choice(
                (self.links, self.links, self.exchanges, self.exchanges, self.renames, self.remakes)
            )
            paths = [path for path in (self.base / "project").rglob("*") if path.parent.is_dir()]
            aimed = [path for path in paths for grant in self.grants if grant.is_relative_to(path)]
            hidden = [path for name in SECRETS if (path := self.base / "project" / name).exists()]
            step(self.chance.choice([*aimed, *aimed, *aimed, *hidden, *paths]))

    def _aside(self, path: Path) -> Path:
        away = self.base / f"aside-{len(list(self.base.iterdir()))}"
        path.rename(away)
        return away

    def links(self, path: Path) -> None:
        """Take a file or folder away, and put a link there."""
        outside = self.base / "outside"
        target = self.chance.choice([outside, outside / "cache", outside / "x.txt", self._aside(path)])
        if not os.path.lexists(path):
            path.symlink_to(target)
        elif target != path:
            self._aside(path)
            path.symlink_to(target)
        self.story.append(f"{path} -> {target}")

    def exchanges(self, path: Path) -> None:
        """Put something else in its place."""
        away, other = self._aside(path), self.base / "other"
        source = other / "cache" if away.is_dir() else other / "x.txt"
        if source.exists():
            source.rename(path)
        self.story.append(f"{path} = {source}")

    def renames(self, path: Path) -> None:
        """Give it another name in the same folder."""
        if not os.path.lexists(new := path.with_name("renamed")):
            path.rename(new)
        self.story.append(f"{path} is renamed")

    def remakes(self, path: Path) -> None:
        """Make a new one that looks the same."""
        if self._aside(path).is_dir():
            path.mkdir()
        self.story.append(f"{path} is new")


def entries(base: Path) -> dict[Inode, tuple[str, str]]:
    """Each file and folder by its inode: the text, and where it is."""
    found = {}
    for path in base.rglob("*"):
        status = path.lstat()
        if not stat.S_ISLNK(status.st_mode):
            text = path.read_text("utf-8") if stat.S_ISREG(status.st_mode) else ""
            found[inode_of(status)] = text, str(path)
    return found


def called(sandbox: Backend, project: Path, grants: list[str], acts: Callable[[], object], is_late: bool) -> str:
    """Call a tool while another program acts, before or after the walls are made from what was decided. What is said at the end:
    by the tool, or why it was not started."""
    assert isinstance(sandbox, Bubblewrap | Landlock)

    def build(scene: Scene) -> Walls:
        if not is_late:
            acts()
        walls = sandbox._walls(scene)
        if is_late:
            acts()
        return walls

    bases = [str(project), str(project.parent / "outside")]
    parameters = {"bases": bases, "names": ["renamed", *(Path(name).name for name in FILES)]}
    with fresh_work() as work:
        profile = profile_for(project, work, {}, parse_needs({"write": grants}), deny=())
        tool = ToolRun(TOOL.encode(), ".py", msgspec.json.encode(parameters), "tool:acme/test/tool@1.0.0", profile)
        try:
            outcome = running.run(tool, Event(), sandbox.environ, build)
        except RyeError as error:
            if error.code not in ("grant-changed", "sandbox-unavailable"):
                raise
            return error.message
    return (outcome.output + outcome.stderr).decode("utf-8", "replace")


def granted_inodes(project: Path, grants: list[str]) -> set[Inode]:
    """What may be changed, with what another program moves into it: the granted files and folders and everything in them, except
    what is hidden or obeyed."""
    roots = [project / grant for grant in grants]
    every = [path for root in roots for path in (root, *root.rglob("*"))]
    return {inode_of(path.lstat()) for path in every if path.name != ".env" and ".claude" not in path.parts}


@pytest.fixture(scope="module", params=[*LINUX, "bubblewrap without Landlock"])
def sandbox(request: pytest.FixtureRequest) -> Backend:
    """Each sandbox that works on this machine, and bubblewrap as it is before Linux 6.2."""
    name, _, without = request.param.partition(" ")
    found = demanded(name)
    assert isinstance(found, Bubblewrap | Landlock)
    return replace(found, abi=0) if without else found


@pytest.mark.parametrize("secret", ["build/.env", "shown/.env", "build/sub/.env"])
@pytest.mark.parametrize("new", ["renamed", "../renamed"])
def test_a_secret_that_gets_another_name_is_not_seen(sandbox: Backend, tmp_path: Path, secret: str, new: str) -> None:
    project = made(Path(os.path.realpath(tmp_path)))
    path = project / secret
    path.write_text(SECRET, "utf-8")
    said = called(sandbox, project, ["build/"], lambda: [path.rename(path.parent / new)], is_late=True)
    assert SECRET not in said


def test_a_folder_around_a_secret_that_gets_another_name_is_not_seen(sandbox: Backend, tmp_path: Path) -> None:
    project = made(Path(os.path.realpath(tmp_path)))
    sub = project / "build/sub"
    (sub / ".env").write_text(SECRET, "utf-8")
    said = called(sandbox, project, ["build/"], lambda: [sub.rename(project / "build/renamed")], is_late=True)
    assert SECRET not in said


@pytest.mark.parametrize("is_late", [False, True], ids=["before the walls", "after the walls"])
@pytest.mark.parametrize("seed", range(tries(8, 400)))
def test_a_tool_reaches_only_what_was_decided_on(sandbox: Backend, tmp_path: Path, seed: int, is_late: bool) -> None:
    chance = random.Random(seed)
    base = Path(os.path.realpath(tmp_path))
    project, grants = made(base), chance.choice(GRANTS)
    granted, other = granted_inodes(project, grants), Other(chance, base, grants)
    before: dict[Inode, tuple[str, str]] = {}

    def acts() -> None:
        other.acts()
        before.update(entries(base))

    said = called(sandbox, project, grants, acts, is_late)
    assert SECRET not in said, other.story
    for inode, (text, place) in entries(base).items():
        if text != before.get(inode, ("", ""))[0] or inode not in before:
            around = {inode, *(inode_of(folder.lstat()) for folder in Path(place).parents)}
            assert not granted.isdisjoint(around), (place, other.story)


def test_without_replacements_it_reaches_what_was_granted(sandbox: Backend, tmp_path: Path) -> None:
    """The control."""
    project = made(Path(os.path.realpath(tmp_path)))
    said = called(sandbox, project, ["build/"], lambda: None, is_late=False)
    assert SECRET not in said
    assert "ours" in said
    assert (project / "build/cache/new").read_text("utf-8") == EVIL
    assert (project / "build/sub/z.txt").read_text("utf-8") == f"ours{EVIL}"
    assert (project / "shown/a.txt").read_text("utf-8") == "ours"
    assert (project.parent / "outside/x.txt").read_text("utf-8") == SECRET
