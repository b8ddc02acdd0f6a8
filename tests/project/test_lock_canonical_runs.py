"""The fast lock reader, list by list: every field of ``runs`` is read, and duplicate lists are refused."""

from __future__ import annotations

import tomllib

import pytest

from rye.project.lock_canonical import read_canonical

HEAD = "# Made by rye; do not edit. Reviews should look at `approved`.\nversion = 1\n"
ITEM = f"""
[[item]]
kind = "skill"
id = "acme/pdf"
version = "1.0.0"
size = 3
sha256 = "{"cd" * 32}"
suffix = "SKILL.md"
registry = "registry.example"
log = 9
keyset = 1
signer = "SHA256:abc"
"""
RUNS = """runs = [
  { what = "file", where = "a.py", action = "executable", sha256 = "01" },
  { what = "hook", where = "hooks.Stop", action = "", sha256 = "02" },
]
"""
APPROVED = """approved-runs = [
  { what = "x", where = "y", action = "z", sha256 = "w" },
]
"""
ROWS = [
    {"what": "file", "where": "a.py", "action": "executable", "sha256": "01"},
    {"what": "hook", "where": "hooks.Stop", "action": "", "sha256": "02"},
]
TEXT_LISTS = [
    "groups", "dependencies", "capabilities", "agent-tools", "agent-limits", "approved", "approved-tools", "approved-limits",
    "approved-facts",
]  # fmt: skip


def test_what_can_run_is_read_field_by_field() -> None:
    text = HEAD + ITEM + RUNS + APPROVED
    found = read_canonical(text)
    assert found is not None
    assert found["item"][0]["runs"] == ROWS
    assert found["item"][0]["approved-runs"] == [{"what": "x", "where": "y", "action": "z", "sha256": "w"}]
    assert found == tomllib.loads(text)


@pytest.mark.parametrize("name", TEXT_LISTS)
def test_each_list_of_texts_is_read(name: str) -> None:
    text = f'{HEAD}{ITEM}{name} = [\n  "a",\n  "",\n  "b c",\n]\n{RUNS}'
    found = read_canonical(text)
    assert found is not None
    assert (found["item"][0][name], found["item"][0]["runs"]) == (["a", "", "b c"], ROWS)
    assert found == tomllib.loads(text)


@pytest.mark.parametrize(
    "lists",
    [
        RUNS + RUNS,
        APPROVED + RUNS + APPROVED,
        'groups = [\n  "a",\n]\n' * 2,
        'runs = [\n  "a",\n]\n',
        RUNS.replace("runs", "groups"),
        RUNS.replace("runs", "later"),
        RUNS.replace("runs", "runs~"),
        APPROVED.replace("-", "_"),
        RUNS.replace('what = "file", where = "a.py"', 'where = "a.py", what = "file"'),
        RUNS.replace(', sha256 = "01"', ""),
        RUNS.replace(', sha256 = "01"', ', sha256 = "01", more = "x"'),
        RUNS.replace('"01"', "1"),
        RUNS.replace('"01"', '"\\u0030"'),
        RUNS.replace("{ ", "{"),
        RUNS.replace('"02" },\n]', '"02" }\n]'),
        "runs = [\n]\n",
        "runs = []\n",
        RUNS.replace("]\n", "] # more\n"),
        f"{RUNS}more = 1\n",
    ],
)
def test_every_other_form_of_a_list_is_left_to_the_toml_reader(lists: str) -> None:
    assert read_canonical(HEAD + ITEM + lists) is None
