"""The wheel: the same commit gives the same hash, and it installs with the client's packages alone."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest

from rye.extras import EXTRAS, extra_of
from tests.scenes.effort import rest_thorough
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes
ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EPOCH = "1700000000"
IMPORT_NAMES = {
    "dnspython": ("dns",),
    "markdown-it-py": ("markdown_it",),
    "prometheus-client": ("prometheus_client",),
    "mcp": ("mcp", "mcp_types"),
}


def build(place: Path, *, umask: int, moment: float, **environment: str) -> Path:
    """A wheel built from a copy of the sources, in a different folder, with a different umask, time and ``environment``."""
    source = place / "source"
    source.mkdir(parents=True)
    for name in ("rye", "registry_server", ".ai", "docs"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for path in source.rglob("*"):
        os.utime(path, (moment, moment))
        if path.is_file():
            path.chmod(0o600 if umask else 0o644)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place / "dist")],
        cwd=source,
        env={"PATH": os.environ["PATH"], "HOME": str(place), "SOURCE_DATE_EPOCH": EPOCH, **environment},
        umask=umask,
        check=True,
        capture_output=True,
        timeout=120,
    )
    (wheel,) = (place / "dist").glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("one"), umask=0o022, moment=1_600_000_000)


@pytest.mark.thorough
def test_two_builds_have_one_hash(wheel: Path, tmp_path: Path) -> None:
    other = build(
        tmp_path / "an other folder", umask=0o077, moment=1_700_000_123, LC_ALL="tr_TR.UTF-8", TZ="Asia/Kathmandu"
    )
    assert hashlib.sha256(other.read_bytes()).hexdigest() == hashlib.sha256(wheel.read_bytes()).hexdigest()


def test_the_wheel_has_what_the_programs_read_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "rye/cli/completing/commands.json" in names
    assert {"rye/py.typed", "registry_server/py.typed"} <= set(names)
    assert [name for name in names if name.endswith("licenses/LICENSE")]
    tops = {name.split("/")[0] for name in names}
    assert tops == {"rye", "registry_server", f"rye_registry-{PROJECT['version']}.dist-info"}
    assert not [name for name in names if name.endswith((".pyc", ".pem", ".key", "~"))]


def name_of(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9_.-]+", requirement)
    assert found is not None
    return found[0].lower().replace("_", "-")


def test_the_table_of_extras_is_that_of_the_package() -> None:
    for extra, requirements in PROJECT["optional-dependencies"].items():
        modules = {
            name
            for each in requirements
            for name in IMPORT_NAMES.get(name_of(each), (name_of(each).replace("-", "_"),))
        }
        assert modules == set(EXTRAS[extra])
    assert extra_of("litestar.params") == ("litestar", "server")
    assert extra_of("no_such_module") is None
    client = {name_of(each) for each in PROJECT["dependencies"]}
    assert not client & {name_of(each) for each in PROJECT["optional-dependencies"]["server"]}


def pins(name: str) -> dict[str, str]:
    """The package and version on each line of a file of pins."""
    text = (ROOT / "requirements" / name).read_text("utf-8")
    return dict(re.findall(r"^([a-z0-9.-]+)==([^ ;]+)", text, re.MULTILINE))


def test_the_client_is_pinned_without_the_server_at_the_same_versions() -> None:
    client, everything = pins("client.txt"), pins("runtime.txt")
    wanted = {name_of(each).replace(".", "-") for each in PROJECT["dependencies"]}
    assert wanted <= set(client)
    assert client.items() <= everything.items()
    brought = {name_of(each) for extra in ("server", "mcp", "lsp") for each in PROJECT["optional-dependencies"][extra]}
    assert not brought & set(client)
    assert not {"pygments", "rich"} & set(client), "which only draw"
    hashes = (ROOT / "requirements" / "client.txt").read_text("utf-8").count("--hash=sha256:")
    assert hashes >= len(client)


def test_the_action_installs_the_client_s_pins() -> None:
    assert "requirements/client.txt" in (ROOT / "action.yml").read_text("utf-8")
    assert "requirements/runtime.txt" not in (ROOT / "action.yml").read_text("utf-8")


def test_make_dist_builds_as_these_tests_do() -> None:
    recipe = (ROOT / "Makefile").read_text("utf-8").partition("\ndist:")[2].partition("\n\n")[0]
    assert "SOURCE_DATE_EPOCH=" in recipe
    assert "-m hatchling build -t wheel -d dist" in recipe


def pinned_here() -> list[Distribution]:
    """The packages of client.txt, except those that only other systems or older versions of Python need."""
    here = []
    for name in pins("client.txt"):
        with contextlib.suppress(PackageNotFoundError):
            here.append(distribution(name))
    return here


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment with only the wheel and the packages of client.txt."""
    place = tmp_path_factory.mktemp("client")
    venv.create(place, with_pip=False)
    (packages,) = place.glob("lib/python*/site-packages")
    for package in pinned_here():
        for top in {file.parts[0] for file in package.files or () if ".." not in file.parts}:
            (packages / top).symlink_to(Path(str(package.locate_file(top))).resolve())
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(place / "bin/python"),
            "install",
            "--quiet",
            "--no-index",
            "--no-deps",
            "--no-compile",
            wheel,
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    return place / "bin"


@pytest.mark.thorough
def test_nothing_that_the_client_needs_is_missing_in_its_pins(installed: Path) -> None:
    checked = subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(installed / "python"), "check"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert checked.stdout == "No broken requirements found.\n", checked.stdout
    assert {"click", "httpx"} <= {package.name for package in pinned_here()}


def run(program: Path, *words: str, env: Mapping[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *words], env=dict(env), cwd=cwd, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.thorough
def test_a_client_alone_makes_validates_and_installs(installed: Path, registry: Registry) -> None:
    registry.owner("depot").release("work/top")
    reader = registry.reader()
    env = {**reader.environment, "PATH": f"{installed}:/usr/bin:/bin"}
    env.pop("PYTHONPATH", None)

    def rye(*words: str) -> str:
        done = run(installed / "rye", *words, env=env, cwd=reader.folder)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert rye("--version") == f"rye {PROJECT['version']}\n"
    rye("init")
    rye("new", "directive", "work/mine")
    assert "1 item valid" in rye("validate")
    rye("add", "depot/work/top", "--yes", "--approve", "directive:depot/work/top@1.0.0")
    shutil.rmtree(reader.path(".ai/packages"))
    rye("install")
    assert list(reader.path(".ai/packages").rglob("top.md"))
    rye("schema", "rye-toml")
    assert "json-validate" in rye("schema")


@pytest.mark.thorough
def test_a_client_alone_has_the_whole_front_door(installed: Path, registry: Registry, tmp_path: Path) -> None:
    code = """if True:
        import sys
        from pathlib import Path
        from rye.api import *
        home = Home(*(Path(sys.argv[3], name) for name in ("config", "data", "cache")))
        with Registry.open(sys.argv[1], home, fingerprint=sys.argv[2]) as registry:
            [release] = registry.releases("front/work/door")
            fetched = registry.fetch(release)
        print(parse_item(fetched.data, "door.md").reading.value.name, RyeError.__name__)
    """
    registry.owner("front").release("work/door")
    words = ("-c", code, registry.url, registry.fingerprint, str(tmp_path))
    done = run(installed / "python", *words, env={"PATH": "/usr/bin:/bin"}, cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("door RyeError\n", 0), done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "extra"),
    rest_thorough(
        2,
        [
            (("rye", "registry", "serve", "--data", "here"), "server"),
            (("rye", "mcp", "serve"), "mcp"),
            (("rye", "lsp"), "lsp"),
            (("rye-registry", "serve", "--data", "here"), "server"),
            (("rye-registry", "init", "--data", "here", "--origin", "x.example"), "server"),
        ],
    ),
)
def test_what_needs_an_extra_says_what_to_install(
    installed: Path, tmp_path: Path, words: tuple[str, ...], extra: str
) -> None:
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = run(installed / words[0], *words[1:], "--json", env=env, cwd=tmp_path)
    assert done.returncode == 1, done
    assert f".whl[{extra}]" in json.loads(done.stdout or done.stderr)["error"]["hint"]
    assert "Traceback" not in done.stderr
