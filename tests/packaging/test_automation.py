"""What this repository offers to automation: pre-commit hooks, the GitHub Action, the GitLab component
(design/sources.md 4).

Each shell snippet runs as written, with the variables that the service would set and a `rye` that records its arguments.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from rye.cli.main import COMMANDS
from rye.items.kinds import KINDS
from tests.scenes.person import Person

pytestmark = pytest.mark.processes

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "automation.md").read_text("utf-8")


def load(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(StringIO(text))


def block(name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None, name
    return found[1]


HOOKS = {hook["id"]: hook for hook in load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))}
ACTION = load((ROOT / "action.yml").read_text("utf-8"))
SPEC, COMPONENT = (load(part) for part in (ROOT / "templates/rye/template.yml").read_text("utf-8").split("\n---\n"))


# pre-commit


def matched(hook: Mapping[str, Any], paths: list[str]) -> list[str]:
    return [
        path
        for path in paths
        if re.search(hook["files"], path) and not (hook.get("exclude") and re.search(hook["exclude"], path))
    ]


def test_the_hooks_are_those_of_the_page_and_run_commands_that_exist() -> None:
    assert [hook["id"] for hook in load(block("pre-commit"))["repos"][0]["hooks"]] == list(HOOKS)
    for hook in HOOKS.values():
        assert hook["language"] == "python"
        assert hook["entry"].split()[0] == "rye"
        assert hook["entry"].split()[1] in COMMANDS


def test_validate_gets_every_item_and_nothing_that_is_none() -> None:
    items = [
        f".ai/{kind.folder}/" + ("x/SKILL.md" if kind.main_file else f"a/x{kind.suffixes[0]}")
        for kind in KINDS.values()
    ]
    others = [
        "README.md",
        ".ai/packages/a/x.md",
        ".ai/overrides/x.overrides.md",
        ".ai/skills/x/scripts/run.py",
        *(".ai/deploy.lock", ".ai/origins.toml", ".ai/.gitattributes", ".ai/keys/acme.pub"),  # which Rye says to commit
        "src/x.py",
    ]
    assert matched(HOOKS["rye-facts"], others) == []
    assert matched(HOOKS["rye-validate"], [*items, *others, "sub/.ai/skills/x/SKILL.md"]) == [
        *items,
        "sub/.ai/skills/x/SKILL.md",
    ]
    assert matched(HOOKS["rye-ci"], ["rye.lock", "sub/rye.toml", "x.toml", ".ai/packages/a/x.md"]) == [
        "rye.lock",
        "sub/rye.toml",
        ".ai/packages/a/x.md",
    ]


def test_each_hook_does_what_the_page_says(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    rye.write("rye.toml", '[project]\nnamespace = "me"\n')
    rye.ok("new", "directive", "work/ship")
    rye.ok("keys", "generate")
    path = ".ai/directives/work/ship.md"

    def hook(name: str) -> int:
        words = HOOKS[name]["entry"].split()[1:]
        files = [] if HOOKS[name].get("pass_filenames") is False else [path]
        return rye.run(*words, *files).code

    assert hook("rye-validate") == 0
    assert hook("rye-facts") == 0
    assert hook("rye-verify") == 1
    rye.ok("sign", path)
    assert hook("rye-verify") == 0
    rye.write(path, rye.path(path).read_text("utf-8").replace('version="0.1.0"', 'version="1"'))
    assert hook("rye-validate") == 1
    assert hook("rye-ci") == 0
    rye.write(".ai/packages/acme/directives/x/y.md", "not installed by rye")
    assert hook("rye-ci") == 1


@pytest.mark.clients
def test_the_real_pre_commit_runs_the_hooks(tmp_path: Path) -> None:
    if find_spec("pre_commit") is None:
        pytest.skip("pre-commit is not installed")
    rye = Person(tmp_path)
    rye.write("rye.toml", '[project]\nnamespace = "me"\n')
    rye.ok("new", "directive", "work/ship")
    env = {**rye.environment, "PRE_COMMIT_HOME": str(tmp_path / "hooks"), "GIT_CONFIG_GLOBAL": "/dev/null"}
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=rye.folder, env=env, check=True, capture_output=True)
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "try-repo", str(ROOT), "rye-validate", "--all-files"],
        cwd=rye.folder, env=env, capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed" in done.stdout


# Shell as the services run it


_PYTHON = f"""
flags=""
for word in "$@"; do [ "$word" = -m ] && break; flags="$flags $word"; done
{sys.executable} $flags -c 'import planted' 2>/dev/null
[ "$3" = venv ] && mkdir -p "$4/bin" && cp "$0" "$4/bin/python"
true
"""
"""Creates no environment, but lets the real Python look for a module with the same flags: it is in the checkout."""


class Runner:
    """A folder with a `rye` and a `python3` that record their arguments, and the variables that the services set."""

    def __init__(self, base: Path, *, audit: int = 0) -> None:
        self.base = base
        self.log = base / "log"
        self.temp = base / "temp dir"
        self.work = base / "work"
        for folder in (self.temp, self.work, base / "bin"):
            folder.mkdir()
        self.program("rye", f'case "$1" in audit) echo "{{}}"; exit {audit};; esac')
        self.program("python3", _PYTHON)

    def program(self, name: str, more: str) -> None:
        path = self.base / "bin" / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >> {self.log}\n{more}\n')
        path.chmod(0o755)

    def run(self, script: str, env: Mapping[str, str]) -> int:
        given = {"PATH": f"{self.base / 'bin'}:/usr/bin:/bin", "HOME": str(self.base), "RUNNER_TEMP": str(self.temp)}
        for name in ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT"):
            given[name] = str(self.base / name)
            Path(given[name]).touch()
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            env={**given, **env},
            cwd=self.work,
            capture_output=True,
            check=False,
        )
        return done.returncode

    @property
    def said(self) -> list[str]:
        return self.log.read_text("utf-8").splitlines() if self.log.exists() else []


HOSTILE = 'x\'; touch OWNED; echo "$(touch OWNED)" `touch OWNED` \n::set-output'


def steps(runner: Runner, inputs: Mapping[str, str]) -> int:
    """Run the action's steps as GitHub does and return the first exit code that is not 0."""
    values = {name: str(given.get("default", "")) for name, given in ACTION["inputs"].items()} | dict(inputs)

    def filled(text: str) -> str:
        return re.sub(
            r"\$\{\{ (inputs\.([a-z-]+)|github\.action_path) \}\}",
            lambda found: values[found[2]] if found[2] else str(ROOT),
            text,
        )

    for step in ACTION["runs"]["steps"]:
        condition = re.fullmatch(r"inputs\.([a-z-]+) == '([a-z]+)'", step.get("if", ""))
        assert "if" not in step or condition is not None
        if condition is not None and values[condition[1]] != condition[2]:
            continue
        code = runner.run(step["run"], {name: filled(value) for name, value in step.get("env", {}).items()})
        if code:
            return code
    return 0


def test_no_script_of_the_action_or_the_component_has_an_expression_in_it() -> None:
    """A name chosen in a pull request must never become a command."""
    scripts = [step["run"] for step in ACTION["runs"]["steps"]]
    for job in COMPONENT.values():
        scripts += [*job.get("script", []), *job.get("before_script", [])]
    assert len(scripts) >= 8
    assert not [script for script in scripts if "${{" in script or "$[[" in script]
    assert all(step["shell"] == "bash" for step in ACTION["runs"]["steps"])


def test_the_action_installs_with_hashes_checks_and_leaves_a_sarif(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    assert steps(runner, {"pins": "registry.example.org abc https://r", "trust-lock": "true"}) == 0
    installs = [line for line in runner.said if " pip install " in line]
    assert "--require-hashes" in installs[0]
    assert "--no-deps --no-build-isolation" in installs[1]
    assert [line for line in runner.said if line.startswith("rye ")] == [
        "rye ci --trust-lock",
        "rye audit --sarif --level error",
    ]
    assert (runner.temp / "rye-pins").read_text() == "registry.example.org abc https://r\n"
    assert (tmp_path / "GITHUB_ENV").read_text() == f"RYE_PINS={runner.temp}/rye-pins\n"
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == f"sarif={runner.temp}/rye.sarif\n"
    assert (runner.temp / "rye.sarif").read_text() == "{}\n"


def test_a_finding_fails_the_action_and_the_sarif_is_there_all_the_same(tmp_path: Path) -> None:
    runner = Runner(tmp_path, audit=1)
    assert steps(runner, {}) == 1
    assert (runner.temp / "rye.sarif").read_text() == "{}\n"
    assert "sarif=" in (tmp_path / "GITHUB_OUTPUT").read_text()


def test_the_action_stages_only_when_it_is_told_to(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    assert steps(runner, {"publish": "stage", "check": "false"}) == 0
    assert [line for line in runner.said if line.startswith("rye ")] == ["rye publish --stage --trusted"]


def test_no_module_of_the_checkout_is_imported_while_rye_is_installed(tmp_path: Path) -> None:
    """Python looks for `venv` and `pip` in the current folder first, unless it is told not to. A pull request could bring one
    that replaces `rye`, or that takes the job's identity."""
    plays: dict[str, Callable[[Runner], int]] = {
        "action": lambda runner: steps(runner, {"publish": "stage"}),
        "component": lambda runner: component(runner, "rye-stage", {"image": "x", "requirements": "r.txt"}),
    }
    for name, play in plays.items():
        (tmp_path / name).mkdir()
        runner = Runner(tmp_path / name)
        (runner.work / "planted.py").write_text("open('OWNED', 'w')")
        subprocess.run([sys.executable, "-c", "import planted"], cwd=runner.work, check=True)
        assert (runner.work / "OWNED").exists(), "the attack works"
        (runner.work / "OWNED").unlink()
        assert play(runner) == 0
        assert [line for line in runner.said if " pip install " in line], name
        assert not (runner.work / "OWNED").exists(), name


def test_hostile_inputs_stay_text(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    steps(runner, {"pins": HOSTILE, "trust-lock": HOSTILE, "level": HOSTILE})
    assert "rye ci" in runner.said
    assert not list(tmp_path.rglob("OWNED"))


def test_the_samples_of_the_page_name_inputs_and_outputs_that_exist() -> None:
    sample = load(block("github"))["jobs"]["items"]["steps"]
    [used] = [step for step in sample if step.get("id") == "rye"]
    assert set(used["with"]) <= set(ACTION["inputs"])
    assert set(re.findall(r"outputs\.([a-z]+)", block("github"))) <= set(ACTION["outputs"])
    included = load(block("gitlab"))["include"][0]["inputs"]
    assert set(included) <= set(SPEC["spec"]["inputs"])
    missing = [name for name, given in SPEC["spec"]["inputs"].items() if "default" not in given]
    assert set(missing) <= set(included)
    table = re.findall(r"^\| `([a-z-]+)` \|", PAGE.partition("| input |")[2].partition("## GitLab")[0], re.MULTILINE)
    assert set(table) == set(ACTION["inputs"])


def component(runner: Runner, job: str, inputs: Mapping[str, str]) -> int:
    """A job of the component as GitLab runs it: inputs are substituted before anything runs, scripts see the variables."""
    values = {name: str(given.get("default", "")) for name, given in SPEC["spec"]["inputs"].items()} | dict(inputs)
    base, described = COMPONENT[COMPONENT[job]["extends"]], COMPONENT[job]
    variables = {
        name: re.sub(r"\$\[\[ inputs\.([a-z-]+) \]\]", lambda found: values[found[1]], text)
        for name, text in {**base["variables"], **described.get("variables", {})}.items()
    }
    return runner.run("\n".join([*base["before_script"], *described["script"]]), variables)


def test_the_component_installs_with_hashes_and_checks(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    assert (
        component(runner, "rye-check", {"image": "x", "requirements": "rye-requirements.txt", "level": "warning"}) == 0
    )
    assert any("--require-hashes -r rye-requirements.txt" in line for line in runner.said)
    assert runner.said[-2:] == ["rye ci", "rye audit --sarif --level warning"]
    assert (runner.work / "rye.sarif").read_text() == "{}\n"


def test_the_components_report_is_not_written_through_a_link(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    outside = tmp_path / "profile"
    outside.write_text("mine")
    (runner.work / "rye.sarif").symlink_to(outside)
    assert component(runner, "rye-check", {"image": "x"}) == 0
    assert outside.read_text() == "mine"
    assert (runner.work / "rye.sarif").read_text() == "{}\n"


def test_the_component_stages_with_the_jobs_identity_and_takes_hostile_inputs_as_text(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    assert component(runner, "rye-stage", {"image": "x"}) == 0
    assert runner.said == ["rye publish --stage --trusted"]
    assert COMPONENT["rye-stage"]["id_tokens"]["RYE_ID_TOKEN"]["aud"] == "$[[ inputs.registry ]]"
    component(runner, "rye-check", {"image": "x", "requirements": HOSTILE, "level": HOSTILE, "trust-lock": HOSTILE})
    assert not list(tmp_path.rglob("OWNED"))


def test_the_page_says_what_make_dist_builds() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    version = re.search(r'^version = "([^"]+)"', project, re.MULTILINE)
    assert version is not None
    assert set(re.findall(r"rye_registry-([0-9.]+)-py3", block("wheel"))) == {version[1]}
    assert "dist:" in (ROOT / "Makefile").read_text("utf-8")
    assert set(re.findall(r"`rye ([a-z]+)", PAGE)) <= set(COMMANDS)
    assert os.path.exists(ROOT / "requirements/runtime.txt")
