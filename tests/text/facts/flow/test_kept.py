"""What is kept of foreign values, files and folders, and which lines of a file use it."""

from __future__ import annotations

import pytest

from rye.limits import FACTS
from rye.text.facts.flow.kept import BODY, MOST_TARGETS, UNPACKED_LINES, KeptContent, Unpacked
from rye.text.facts.source import Origin

FETCH = Origin("curl https://x.example/a", 3, 0)
OTHER = Origin("wget https://x.example/b", 5, 2)


@pytest.mark.parametrize("text", ["$x", "${x}", "a-$x-b", "$env:x", '"$y $x"'])
def test_a_text_uses_a_variable(text: str) -> None:
    kept = KeptContent()
    kept.values["x"] = FETCH
    assert kept.value_in(text) == FETCH


@pytest.mark.parametrize("text", ["x", "$xx", "$y", "%x%", "$1"])
def test_a_text_uses_no_variable_of_this_name(text: str) -> None:
    kept = KeptContent()
    kept.values["x"] = FETCH
    assert kept.value_in(text) is None


@pytest.mark.parametrize("word", ["a.sh", "./a.sh", "/tmp/a.sh", '"d/a.sh"', "(a.sh)", "d\\a.sh", "a.sh."])
def test_a_file_is_known_by_its_name(word: str) -> None:
    kept = KeptContent()
    kept.save("/tmp/a.sh", FETCH)
    assert kept.saved(word) == FETCH


def test_the_first_one_that_saves_a_file_counts() -> None:
    kept = KeptContent({"a.sh": OTHER})
    kept.save("d/a.sh", FETCH)
    assert kept.files == {"a.sh": OTHER}
    assert kept.saved_at == {"a.sh": {"d/a.sh"}}


@pytest.mark.parametrize("target", ["-", "/dev/null", "2", "/dev/stderr", "", ".git", "---", "d/"])
def test_what_is_no_file_is_not_kept(target: str) -> None:
    kept = KeptContent()
    kept.save(target, FETCH)
    assert [*kept.files, *kept.saved_at, *kept.filled_folders] == []


@pytest.mark.parametrize("word", ["&3", "/dev/fd/3", "/proc/self/fd/3", "&${3}"])
def test_a_descriptor_is_no_file_of_this_name(word: str) -> None:
    kept = KeptContent({"3": OTHER})
    assert kept.saved(word) is None
    kept.add_file("&3", FETCH)
    assert kept.saved(word) == FETCH


def test_a_parameter_is_another_one_in_each_function() -> None:
    kept = KeptContent(functions=[(0, 4), (4, 8)])
    kept.save("$1", FETCH)
    kept.at = 2
    assert kept.saved("$1") == kept.saved("${1}") == FETCH
    kept.at = 5
    assert kept.saved("$1") is None
    kept.at = 9
    assert kept.saved("$1") is None


def test_a_parameter_outside_of_functions_is_one() -> None:
    kept = KeptContent()
    kept.save("$1", FETCH)
    kept.at = 40
    assert kept.saved("$1") == FETCH


def test_a_parameter_of_another_file_is_none_of_this_one() -> None:
    assert KeptContent({"$1": FETCH._replace(elsewhere=True)}).saved("$1") is None


def test_a_file_in_a_folder_of_programs_can_be_started_by_name() -> None:
    kept = KeptContent()
    for target in ("/usr/local/bin/tool", "sbin/other", "bin/", "/opt/third"):
        kept.save(target, FETCH)
    assert kept.executable == {"tool", "other"}


def test_folders_of_files_are_kept_but_for_those_of_everything() -> None:
    kept = KeptContent()
    for target in ("d/a.sh", "./b.sh", "~/c.sh", "/e.sh", "$HOME/f.sh", "g.sh", "d/h/i.sh"):
        kept.save(target, FETCH)
    assert list(kept.filled_folders) == ["d", "d/h"]


def test_a_path_leads_into_a_folder() -> None:
    kept = KeptContent()
    kept.add_folder("/opt/d", FETCH)
    assert kept.in_folder("/opt/d/run") == FETCH
    assert kept.in_folder("/opt/data") is kept.in_folder("/opt/d") is None


def test_what_is_kept_has_bounds() -> None:
    kept = KeptContent()
    for number in range(FACTS.saved_files + 9):
        kept.add_folder(f"/opt/d{number}", FETCH)
        kept.save(f"d{number}/a.sh", FETCH)
    assert len(kept.folders) == len(kept.filled_folders) == FACTS.saved_files
    assert len(kept.saved_at["a.sh"]) == MOST_TARGETS


USED = {
    "a file": "sh ./a.sh",
    "a file at the end of a sentence": "run a.sh.",
    "a file in quotes": 'sh "a".sh',
    "a file that a variable names": "sh $target",
    "the value of a variable": 'echo "$x"',
    "an attribute of a value": "$x.Content",
    "a variable that stands for a file": "sh $script",
    "a variable of cmd": "call it",
    "a folder": "ls /opt/d",
    "a filled folder": "run-parts e/f",
    "a descriptor": "sh <&3",
    "the input of a process": "sh /dev/fd/63",
}


@pytest.mark.parametrize("raw", USED.values(), ids=USED)
def test_a_line_uses_what_is_kept(raw: str) -> None:
    kept = KeptContent({"$target": FETCH, "&3": FETCH, "%it%": FETCH})
    kept.values["x"] = FETCH
    kept.add_folder("/opt/d", FETCH)
    kept.save("e/f/a.sh", FETCH)
    values = {"script": "/tmp/a.sh", "it": "one"}
    assert kept.is_used_in(raw, 9, values)
    assert not KeptContent().is_used_in(raw, 9, values)


@pytest.mark.parametrize("raw", ["sh b.sh", "xx=1", "ls /opt", "a < b", "$other", "", "% ./run"])
def test_a_line_uses_nothing(raw: str) -> None:
    kept = KeptContent({"$target": FETCH, "&3": FETCH, "a.sh": FETCH})
    kept.values["x"] = FETCH
    assert not kept.is_used_in(raw, 9, {"script": "/tmp/b.sh"})


def test_a_path_right_behind_an_archive_may_come_out_of_it() -> None:
    kept = KeptContent()
    kept.unpacked = Unpacked(FETCH, 4, "")
    assert kept.is_used_in("./run", 4 + UNPACKED_LINES, {})
    assert not kept.is_used_in("./run", 5 + UNPACKED_LINES, {})
    assert not kept.is_used_in("run", 5, {})


def test_the_end_of_a_block_takes_what_its_commands_print() -> None:
    kept = KeptContent()
    assert not kept.is_used_in("} | sh", 5, {})
    kept.blocks = [(3, FETCH)]
    assert kept.is_used_in("} | sh", 5, {})
    assert kept.is_used_in("  done > a.sh", 5, {})
    assert not kept.is_used_in("}", 5, {})


def test_a_variable_of_cmd_is_read_near_its_loop() -> None:
    kept = KeptContent()
    kept.looped = (FETCH, 3)
    assert kept.is_used_in("%%i", 3 + BODY, {})
    assert not kept.is_used_in("%%i", 4 + BODY, {})
