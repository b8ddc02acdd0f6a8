"""The files that contributors and packagers look for at the root: licence, changelog, policies, checks before a commit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from rye import __version__
from rye.registry.protocol.wire import PROTOCOL_VERSION
from tests import changed

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs/reference/versions.md")


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def test_one_version_stands_everywhere() -> None:
    released = re.findall(r"^## \[([0-9.]+)\]", read("CHANGELOG.md"), re.MULTILINE)
    assert PROJECT["version"] == __version__ == released[0]
    assert re.findall(r"^## \[(\w+)\]", read("CHANGELOG.md"), re.MULTILINE)[0] == "Unreleased"


def test_the_changelog_has_the_headings_of_its_form() -> None:
    headings = set(re.findall(r"^### (.+)$", read("CHANGELOG.md"), re.MULTILINE))
    assert headings <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_licence_is_the_text_of_apache_2() -> None:
    assert (PROJECT["license"], PROJECT["license-files"]) == ("Apache-2.0", ["LICENSE"])
    words = " ".join(read("LICENSE").split()).replace("http://", "https://")
    assert words.startswith("Apache License Version 2.0, January 2004")
    assert words.endswith(
        "See the License for the specific language governing permissions and limitations under the License."
    )
    assert [f"{number}. " in words for number in range(1, 10)] == [True] * 9


def test_the_metadata_say_what_is_true() -> None:
    classifiers = PROJECT["classifiers"]
    assert "Typing :: Typed" in classifiers
    assert not [each for each in classifiers if "Windows" in each or each.startswith("License")]
    assert f"Programming Language :: Python :: {PROJECT['requires-python'].removeprefix('>=')}" in classifiers
    assert all((ROOT / package / "py.typed").is_file() for package in ("rye", "registry_server"))


def test_the_policy_of_versions_names_the_numbers_that_are_in_force() -> None:
    page = read("docs/reference/versions.md")
    assert f"now {PROTOCOL_VERSION})" in page
    assert "version = 1\n" in read("rye/project/lock_canonical.py").replace("\\n", "\n")
    assert "`version = 1`" in page
    assert PROJECT["requires-python"] == ">=3.11"
    assert "Python 3.11 or newer" in page
    assert all("indows" in read(name) for name in ("README.md", "docs/reference/versions.md"))


def test_links_between_the_pages_lead_somewhere() -> None:
    for name in PAGES:
        text = re.sub(r"^(`{3,}).*?^\1$", "", read(name), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            path, _, anchor = link.partition("#")
            if "://" in link:
                continue
            place = (ROOT / name).parent / path if path else ROOT / name
            assert place.exists(), f"{name}: {link}"
            if anchor:
                headings = re.findall(r"^#+ (.+)$", place.read_text("utf-8"), re.MULTILINE)
                assert anchor in {heading.lower().replace(" ", "-") for heading in headings}, f"{name}: {link}"


def test_nobody_is_invented_to_report_to() -> None:
    assert not re.search(r"[\w.+-]+@[\w-]+\.\w+|mailto:", read("SECURITY.md"))
    assert "For the owner of a copy of this repository" in read("SECURITY.md")


def test_ci_lints_formats_and_tests() -> None:
    makefile = read("Makefile")
    lint = makefile.partition("\nlint:")[2].partition("\n\n")[0]
    assert [words in lint for words in ("ruff check .", "ruff format --check .", "mypy")] == [True] * 3
    assert "check: lint\n" in makefile
    assert [words in read(".ci/run") for words in ("make test\n", "make lint\n")] == [True] * 2


class TestBeforeACommit:
    """``.pre-commit-config.yaml``."""

    CONFIG: Any = YAML(typ="safe", pure=True).load(StringIO(read(".pre-commit-config.yaml")))

    def test_everything_runs_from_the_clone(self) -> None:
        assert [repo["repo"] for repo in self.CONFIG["repos"]] == ["local"]
        hooks = self.CONFIG["repos"][0]["hooks"]
        assert all(hook["language"] == "system" and hook["entry"].startswith(".venv/bin/") for hook in hooks)
        named = {word for hook in hooks for word in hook["entry"].split() if word.startswith("tests/")}
        assert named
        assert all((ROOT / name).is_file() for name in named)

    @pytest.mark.processes
    def test_it_stops_what_lint_would_and_lets_the_rest_pass(self, tmp_path: Path) -> None:
        (tmp_path / ".venv").symlink_to(sys.prefix)
        (tmp_path / ".pre-commit-config.yaml").write_text(read(".pre-commit-config.yaml"))
        (tmp_path / "pyproject.toml").write_text(read("pyproject.toml"))
        (tmp_path / "good.py").write_text('"""Nothing."""\n')
        (tmp_path / "bad.py").write_text("import os\nx = {  }\n")
        env = {**os.environ, "HOME": str(tmp_path), "GIT_CONFIG_GLOBAL": os.devnull, "SKIP": "types,frame"}
        for words in (["init", "--quiet"], ["add", "good.py", "bad.py"]):
            subprocess.run(["git", *words], cwd=tmp_path, env=env, check=True, timeout=60)

        def run(name: str) -> subprocess.CompletedProcess[str]:
            words = [sys.executable, "-m", "pre_commit", "run", "--files", name]
            return subprocess.run(
                words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False
            )

        assert (good := run("good.py")).returncode == 0, good.stdout
        assert (bad := run("bad.py")).returncode == 1
        assert re.findall(r"^- hook id: (\w+)$", bad.stdout, re.MULTILINE) == ["format", "lint"]


class TestTheTestsOfWhatChanged:
    """``make check``."""

    IMPORTS = {
        "tests/items/test_role.py": frozenset({"rye.items.role", "rye.items.role.reader", "tests.scenes.parsed"}),
        "tests/items/test_agent.py": frozenset({"rye.items.agent.reader"}),
        "tests/server/test_api.py": frozenset({"registry_server.settings"}),
        "tests/scenes/parsed.py": frozenset({"rye.items.reading"}),
    }

    @pytest.mark.parametrize(
        ("path", "chosen"),
        [
            ("tests/items/test_agent.py", ["tests/items/test_agent.py"]),
            ("rye/items/role/reader.py", ["tests/items/test_role.py"]),
            ("rye/items/role/__init__.py", ["tests/items/test_role.py"]),
            ("tests/scenes/parsed.py", ["tests/items/test_role.py"]),
            ("rye/items/nobody.py", ["tests/items/test_agent.py", "tests/items/test_role.py"]),
            ("registry_server/api/nobody.py", ["tests/server/test_api.py"]),
            ("docs/reference/kinds.md", []),
        ],
    )
    def test_a_file_runs_the_tests_that_import_it_or_those_of_its_room(self, path: str, chosen: list[str]) -> None:
        assert changed.tests_of([path], self.IMPORTS) == chosen

    def test_imports_are_found_in_every_spelling(self) -> None:
        source = "import a.b\ndef f():\n    from c import d as e\n"
        assert changed.imports_of(source) == {"a.b", "c", "c.d"}

    def test_what_always_runs_exists(self) -> None:
        assert [path for path in changed.ALWAYS if not (ROOT / path).is_file()] == []


class TestTheTestsOfAModule:
    """``python -m tests.changed --of``."""

    IMPORTS = {
        "rye/items/role/reader.py": frozenset({"rye.items.reading"}),
        "rye/items/kinds.py": frozenset({"rye.items.role.reader"}),
        "rye/cli/show.py": frozenset({"rye.items.kinds"}),
        "tests/scenes/person.py": frozenset({"rye.cli.show"}),
        "tests/items/test_role.py": frozenset({"tests.scenes.person"}),
        "tests/items/test_kinds.py": frozenset({"rye.items.kinds"}),
        "tests/cli/test_kinds.py": frozenset({"rye.items.kinds"}),
        "tests/cli/test_agents.py": frozenset({"rye.items.role.reader"}),
        "tests/cli/test_show.py": frozenset({"tests.scenes.person", "tests.cli.test_kinds"}),
        "tests/server/test_role.py": frozenset({"registry_server.settings"}),
    }

    @pytest.mark.parametrize(
        ("path", "chosen"),
        [
            (
                "rye/items/role/reader.py",
                [
                    "tests/items/test_role.py",  # bears its name
                    "tests/cli/test_agents.py",  # imports it
                    "tests/items/test_kinds.py",  # imports what imports it
                    "tests/cli/test_kinds.py",
                    "tests/cli/test_show.py",  # imports another test
                ],
            ),
            ("tests/scenes/person.py", ["tests/cli/test_show.py", "tests/items/test_role.py"]),
            ("tests/cli/test_kinds.py", ["tests/cli/test_kinds.py", "tests/cli/test_show.py"]),
            ("rye/items/reading.py", ["tests/cli/test_agents.py", "tests/items/test_kinds.py"]),
        ],
    )
    def test_the_nearest_come_first(self, path: str, chosen: list[str]) -> None:
        assert changed.nearest_tests(path, self.IMPORTS)[: len(chosen)] == chosen

    def test_what_reaches_it_in_no_way_is_not_named(self) -> None:
        assert "tests/server/test_role.py" not in changed.nearest_tests("rye/items/role/reader.py", self.IMPORTS)

    def test_a_module_that_a_table_imports_later_is_reached(self) -> None:
        source = 'COMMANDS = {"show": ("rye.cli.use.show:show", "Use")}\nTEXT = "rye.toml is read"\n'
        assert changed.imports_of(source) == {"rye.cli.use.show"}

    @pytest.mark.thorough
    def test_a_module_of_this_tree_has_tests_and_cites_rules(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert changed.show_nearest(["rye/items/role/reader.py"], run=False) == 0
        shown = capsys.readouterr()
        assert shown.out.splitlines()[0] == "tests/items/test_role.py"
        assert all((ROOT / path).is_file() for path in shown.out.splitlines())
        assert re.fullmatch(r"rye/items/role/reader\.py cites .*\bN31\b.*: docs/design/rules\.md .*\n", shown.err)

    def test_what_is_no_module_is_an_error(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert changed.show_nearest(["README.md"], run=True) == 2
        assert capsys.readouterr().err == "README.md is not a module of this repository\n"
