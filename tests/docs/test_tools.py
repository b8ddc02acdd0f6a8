"""``docs/how-to/tools.md`` is true: its tools return what it shows, its numbers are the limits, and its tables can be read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rye.items import autorun
from rye.items.needs import Needs
from rye.items.reading import ReadOptions, Source
from rye.items.tool.reader import read
from rye.limits import MIB, SANDBOX
from rye.project.manifest import parse_manifest
from rye.runtime.sandbox.running import WORK_ENTRIES
from rye.runtime.sandbox.tool_run import SandboxUnavailable
from rye.runtime.sandboxed_tools import NAMES, backend, value_of
from tests.sandbox.calling import call

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "tools.md").read_text(encoding="utf-8")
OBEYED = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "agent-programs.md").read_text(encoding="utf-8")
TOOLS = re.findall(r"<!-- tool: (\S+) (.*?) -->\n```\w+\n(.*?)```\n<!-- result: (.*?) -->", TEXT, re.DOTALL)


def test_there_is_a_tool_in_every_language() -> None:
    assert [Path(name).suffix for name, *_ in TOOLS] == [".py", ".js", ".sh"]


@pytest.mark.processes
@pytest.mark.parametrize(("name", "parameters", "code", "result"), TOOLS, ids=[name for name, *_ in TOOLS])
def test_its_tools_return_what_it_shows(name: str, parameters: str, code: str, result: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("a\nb\nc\n", "utf-8")
    reading = read(Source(code, name), ReadOptions(publishing=True))
    assert [finding.message for finding in reading.diagnostics] == []
    try:
        sandbox = backend({})
    except SandboxUnavailable as error:
        pytest.skip(error.message)
    given = json.loads(parameters.replace("PROJECT", str(tmp_path)))
    outcome = call(sandbox, tmp_path, code, Path(name).suffix, given)  # type: ignore[arg-type]
    assert value_of(outcome, name) == json.loads(result)


def test_its_needs_are_read_and_its_grants_are_enough() -> None:
    needs = re.search(r"<!-- needs -->\n```python\n(.*?)```", TEXT, re.DOTALL)
    grants = re.search(r"<!-- manifest -->\n```toml\n(.*?)```", TEXT, re.DOTALL)
    assert needs is not None
    assert grants is not None
    tool = read(Source(needs[1], "tool.py"), ReadOptions()).value
    assert tool is not None
    assert tool.needs == Needs(("build/",), ("api.example.com:443",), ("GITHUB_TOKEN",))
    assert parse_manifest(grants[1]).sandbox == {"tool:acme/net/fetch": tool.needs}


def test_its_numbers_are_the_limits() -> None:
    rows = dict(re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|$", TEXT, re.MULTILINE))
    assert rows["time"] == f"{SANDBOX.seconds:.0f} s"
    assert rows["processor time, all processes together"] == f"{SANDBOX.cpu_seconds} s"
    assert rows["memory, all processes together"] == f"{SANDBOX.memory_bytes // MIB // 1024} GiB"
    assert rows["processes and threads"] == str(SANDBOX.processes)
    assert rows["one file"] == f"{SANDBOX.file_bytes // MIB} MiB"
    assert rows["work folder"] == f"{SANDBOX.work_bytes // MIB // 1024} GiB, {WORK_ENTRIES:,} files"
    assert rows["result"] == f"{SANDBOX.output_bytes // MIB} MiB"
    assert rows["messages kept for the log"] == f"{SANDBOX.stderr_bytes // 1024} KiB"
    assert rows["open files of one process"] == str(SANDBOX.open_files)


def test_every_protected_name_and_every_sandbox_is_in_it() -> None:
    for row in autorun.TABLE:
        where = ", at the root of a project or plugin" if row.where == "root" else ""
        names = " ".join(f"`{name}`" for name in row.names)
        assert f"| {row.obeyed_by} | {names}{where} | {'yes' if row.for_builds else 'no'} |" in OBEYED
    secrets = [f"{name}*" for name in autorun.SECRET_BEGINNINGS] + [f"*{end}" for end in autorun.SECRET_ENDS]
    read = next(line for line in TEXT.splitlines() if line.startswith("| read |"))
    assert [name for name in (*secrets, *autorun.SECRET_NAMES) if name not in read] == []
    assert {name for name in NAMES if name not in TEXT.lower()} == set()
