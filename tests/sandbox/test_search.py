"""Random tools in random trees: whatever they do, one after the other or at once, nothing changes outside of what was
granted, nothing that programs obey appears, and no secret is seen. ``make fuzz`` tries many more."""

from __future__ import annotations

import json
import os
import random
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import msgspec
import pytest

from rye.items import autorun
from tests.sandbox.calling import LINUX, demanded
from tests.scenes.effort import rest_thorough, tries

pytestmark = pytest.mark.processes
NOBODY = 65534
SCENES, STEPS, OPERATIONS = tries(2, 40), 3, 14
SECRET = "hunter2"
PLAIN = ("one", "two", "Lib", "x" * 80, "ключ")
SECRETS = (".env", ".ENV.local", "id_rsa", "x.pem", ".npmrc")
OBEYED = (
    ".claude",
    ".Cursor",
    "CLAUDE.md",
    "rye.toml",
    "package.json",
    ".git",
    "Makefile",
    "agents.md",
    ".vscode",
    "evil.pth",
)
SHAPES = ("HEAD", "objects", "refs", "config", "commondir")
FOLDER_MODES = (0o755, 0o755, 0o755, 0o700, 0o711, 0o555, 0o311, 0o644, 0o000)
TOOL = """
import ctypes, os
libc = ctypes.CDLL(None)
def write(a, b, mode):
    with open(a, "w") as file: file.write("evil")
def make(a, b, mode):
    os.umask(0); os.mkdir(a, mode)
def exchange(a, b, mode):
    libc.syscall(316 if os.uname().machine == "x86_64" else 276, -100, a.encode(), -100, b.encode(), 2)
def fifo(a, b, mode):
    os.mkfifo(a)
def git(a, b, mode):
    os.makedirs(a + "/objects"); open(a + "/HEAD", "w").close()
DO = {
    "chmod": lambda a, b, mode: os.chmod(a, mode),
    "exchange": exchange,
    "fifo": fifo,
    "git": git,
    "link": lambda a, b, mode: os.link(a, b),
    "make": make,
    "rename": lambda a, b, mode: os.rename(a, b),
    "rmdir": lambda a, b, mode: os.rmdir(a),
    "symlink": lambda a, b, mode: os.symlink(b, a),
    "unlink": lambda a, b, mode: os.unlink(a),
    "write": write,
}
def execute(params):
    os.chdir(params["project"])
    for name, *arguments in params["operations"]:
        try: DO[name](*arguments)
        except OSError: pass
    texts = []
    guesses = [os.path.join(folder, name) for folder, _, files in os.walk(".") for name in files]
    for path in guesses + params["guesses"]:
        try:
            if os.path.isfile(path): texts.append(open(path).read(200))
        except (OSError, UnicodeDecodeError): pass
    return texts
"""
PROGRAM = """
import json, os, sys, time
from pathlib import Path
from threading import Event, Thread
import msgspec
from rye.errors import RyeError
from rye.items.needs import parse_needs
from rye.runtime.sandbox.profile import profile_for
from rye.runtime.sandbox.running import fresh_work
from rye.runtime.sandbox.tool_run import ToolRun
from rye.runtime.sandboxed_tools import backend

name, project, steps, code = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3]), sys.argv[4].encode()
sandbox, said = backend({"RYE_SANDBOX": name}), []

def call(grants, parameters):
    try:
        with fresh_work() as work:
            profile = profile_for(project, work, {}, parse_needs({"write": grants}), deny=())
            tool = ToolRun(code, ".py", msgspec.json.encode(parameters), "tool:acme/t/w@1.0.0", profile)
            outcome = sandbox.run(tool, Event())
            said.append(["ended", (outcome.output + outcome.stderr).decode("utf-8", "replace")])
    except RyeError as error:
        said.append(["refused", error.code + " " + error.message])
    except BaseException as error:
        said.append(["crashed", repr(error)])

for step in steps:
    threads = [Thread(target=call, args=each) for each in step]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
print(json.dumps(said))
"""
Run = Callable[[Path, list[Any]], list[list[str]]]


@pytest.fixture(params=["nobody", "this user"])
def user(request: pytest.FixtureRequest) -> int:
    """Who calls the tools."""
    if request.param == "this user":
        return os.geteuid()
    if os.geteuid() != 0:
        pytest.skip("only root can become nobody")
    return NOBODY


@pytest.fixture(params=LINUX)
def run(request: pytest.FixtureRequest, user: int) -> Run:
    demanded(request.param)
    ours = user == os.geteuid()
    where = [str(Path(__file__).parents[2]), str(Path(msgspec.__file__).parents[1])]
    python = sys.executable if ours else "/usr/bin/python3"
    options: dict[str, Any] = {} if ours else {"user": user, "group": user, "extra_groups": []}
    options["env"] = {"PYTHONPATH": os.pathsep.join(where), "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/nonexistent"}
    if not ours:
        version = subprocess.run([python, "-c", "import rye.limits"], check=False, capture_output=True, **options)
        if version.returncode != 0:
            pytest.skip("nobody has no Python here that can import rye")

    def steps(project: Path, each: list[Any]) -> list[list[str]]:
        done = subprocess.run(
            [python, "-c", PROGRAM, request.param, str(project), json.dumps(each), TOOL],
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            **options,
        )
        assert done.returncode == 0, done.stderr
        answers: list[list[str]] = json.loads(done.stdout)
        return answers

    return steps


@pytest.fixture
def base() -> Iterator[Path]:
    folder = Path(os.path.realpath(mkdtemp(prefix="rye-test-")))
    folder.chmod(0o755)
    yield folder
    for path in folder.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    rmtree(folder)


class Tree:
    """A random project, and what must stay true of it."""

    def __init__(self, chance: random.Random, base: Path, user: int):
        self.chance, self.base, self.project = chance, base, base / "project"
        self.folders, self.files = [Path("a"), Path("b"), Path("a/sub"), Path("b/sub")], list[Path]()
        for folder in self.folders:
            (self.project / folder).mkdir(parents=True)
        (base / "outside").mkdir()
        (base / "outside/file").write_text(SECRET, "utf-8")
        for _ in range(chance.randrange(12, 30)):
            self._add()
        modes = {each: chance.choice(FOLDER_MODES) for each in self.folders[4:]}
        for path in base.rglob("*"):
            os.chown(path, user, user, follow_symlinks=False)
        os.chown(self.project, user, user)
        for each in sorted(modes, key=lambda path: -len(path.parts)):
            (self.project / each).chmod(modes[each])
        self.secrets = {each for each in self.files if self._is_secret(each, modes if user else {})}

    def _add(self) -> None:
        chance, above = self.chance, self.chance.choice(self.folders)
        path = above / chance.choice((*PLAIN, *PLAIN, *SECRETS, *OBEYED, *SHAPES))
        real = self.project / path
        if os.path.lexists(real):
            return
        sort = chance.random()
        if sort < 0.45:
            real.mkdir()
            self.folders.append(path)
        elif sort < 0.85 or not self.files:
            real.write_text(f"{SECRET} {path}", "utf-8")
            self.files.append(path)
        else:
            real.symlink_to(chance.choice(["../..", str(self.base / "outside/file"), chance.choice(self.files).name]))

    @staticmethod
    def _is_secret(path: Path, modes: dict[Path, int]) -> bool:
        named = any(autorun.is_secret_name(part) for part in path.parts)
        closed = any(modes.get(folder, 0o755) & 0o500 != 0o500 for folder in path.parents)
        return named or closed or (path.name == "config" and ".git" in path.parts)

    def open_secrets(self) -> None:
        """Give every file that is no secret a harmless text."""
        for path in set(self.files) - self.secrets:
            (self.project / path).write_text("plain", "utf-8")

    def grants(self) -> list[str]:
        """One or two folders, mostly; sometimes everything."""
        some = ["a/", "a/", "b/", "a/sub/", "b/sub/", "b/new/", "./"]
        return sorted({self.chance.choice(some) for _ in range(self.chance.randrange(1, 3))})

    def operations(self, grants: list[str]) -> list[list[Any]]:
        """What a tool tries, mostly where it was granted something."""
        chance = self.chance
        known = [str(each) for each in (*self.folders, *self.files)]
        ours = [
            each for each in known if any(grant == "./" or f"{each}/".startswith(grant) for grant in grants)
        ] or known
        made: list[str] = []

        def place(new: bool) -> str:
            above = chance.choice([*ours, *made, *ours, chance.choice(known), "../outside"])
            if not new:
                return above
            made.append(f"{above}/{chance.choice((*PLAIN, *OBEYED, *OBEYED, *SHAPES, *SECRETS))}")
            return made[-1]

        names = (
            "chmod",
            "make",
            "make",
            "rename",
            "rename",
            "exchange",
            "symlink",
            "link",
            "unlink",
            "rmdir",
            "write",
            "write",
            "git",
        )
        return [
            [
                name,
                place(name in ("make", "symlink", "write", "fifo", "git")),
                place(chance.random() < 0.7),
                chance.choice(FOLDER_MODES),
            ]
            for name in chance.choices((*names, "fifo"), k=OPERATIONS)
        ]


Entry = tuple[int, str]
"""Type and mode, and the text of a file or link."""


def entries(base: Path) -> dict[str, Entry]:
    """Everything there is, by path from ``base``."""
    seen: dict[str, Entry] = {}
    for path in [base, *base.rglob("*")]:
        mode = path.lstat().st_mode
        text = os.readlink(path) if stat.S_ISLNK(mode) else path.read_text("utf-8") if stat.S_ISREG(mode) else ""
        seen[str(path.relative_to(base))] = mode, text
    return seen


def obeyed(seen: dict[str, Entry], at_root: bool) -> set[str]:
    """What programs obey among these paths."""
    by_name = {
        path
        for path in seen
        if autorun.obeyed(Path(path).name, at_root=at_root and Path(path).parent == Path("project"))
    }
    names: dict[str, set[str]] = {}
    for path in seen:
        names.setdefault(str(Path(path).parent), set()).add(Path(path).name.casefold())
    return by_name | {folder for folder, each in names.items() if autorun.is_git_folder(each)}


@pytest.mark.parametrize("seed", rest_thorough(1, range(SCENES)))
def test_nothing_leaves_its_grants(seed: int, run: Run, base: Path, user: int) -> None:
    chance = random.Random(seed)
    tree = Tree(chance, base, user)
    tree.open_secrets()
    before = entries(base)
    steps, granted = [], set[str]()
    for _ in range(STEPS):
        step = []
        for _ in range(chance.randrange(1, 3)):
            grants = tree.grants()
            granted.update(grants)
            guesses = [*map(str, tree.files), "../outside/file"]
            step.append(
                (grants, {"project": str(tree.project), "operations": tree.operations(grants), "guesses": guesses})
            )
        steps.append(step)
    answers = run(tree.project, steps)
    after = entries(base)
    assert not [words for how, words in answers if how == "crashed" or SECRET in words]

    def is_granted(path: str) -> bool:
        inside = path.removeprefix("project/")
        return path.startswith("project/") and any(each == "./" or f"{inside}/".startswith(each) for each in granted)

    outside = [{path: entry for path, entry in seen.items() if not is_granted(path)} for seen in (before, after)]
    assert outside[0] == outside[1]
    assert obeyed(after, "./" in granted) <= obeyed(before, "./" in granted)
    for path in obeyed(before, "./" in granted) & set(after) | {f"project/{each}" for each in tree.secrets}:
        assert after[path] == before[path], path
