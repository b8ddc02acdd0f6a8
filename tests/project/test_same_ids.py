"""Two files with the same id: neither can be used, and validating and signing report it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.items.reading import ReadOptions
from rye.project.checking import check_files
from rye.project.context import FileToRead

PYTHON = '__version__ = "1.0.0"\n__category__ = "text"\n__tool_description__ = "Counts words"\nprint("{}")\n'
SCRIPT = 'const __version__ = "1.0.0";\nconst __category__ = "text";\nconst __tool_description__ = "Counts words";\n'


def put(folder: Path, name: str, text: str) -> FileToRead:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text)
    return FileToRead(path, name)


def codes(found: list[FileToRead]) -> dict[str, list[str]]:
    return {
        one.shown: [finding.message for finding in one.diagnostics if finding.code == "ambiguous-id"]
        for one in check_files(found, None, ReadOptions())
    }


@pytest.mark.parametrize("other", ["count.js", "count.ts", "count.sh"])
def test_both_files_are_named(tmp_path: Path, other: str) -> None:
    folder = tmp_path / ".ai/tools/text"
    found = codes([put(folder, "count.py", PYTHON), put(folder, other, SCRIPT)])
    assert [f"count.py and {other}" in found["count.py"][0], f"{other} and count.py" in found[other][0]] == [True, True]
    assert "tool:text/count" in found["count.py"][0]


def test_a_file_that_was_not_given_counts(tmp_path: Path) -> None:
    folder = tmp_path / ".ai/tools/text"
    put(folder, "count.js", SCRIPT)
    assert codes([put(folder, "count.py", PYTHON)])["count.py"]


def test_hyphen_and_underscore_are_one_letter(tmp_path: Path) -> None:
    folder = tmp_path / ".ai/tools/text"
    assert codes([put(folder, "count-words.py", PYTHON), put(folder, "count_words.py", PYTHON)])["count_words.py"]


def test_other_folders_other_names_and_files_that_are_no_items_do_not(tmp_path: Path) -> None:
    folder = tmp_path / ".ai/tools/text"
    put(tmp_path / ".ai/tools/other", "count.js", SCRIPT)
    put(folder, "count.txt", "")
    put(folder, "counts.js", SCRIPT)
    put(folder, ".count.js", SCRIPT)
    (folder / "count.ts").mkdir()
    assert codes([put(folder, "count.py", PYTHON)]) == {"count.py": []}


def test_outside_an_items_folder_nothing_is_said(tmp_path: Path) -> None:
    put(tmp_path, "count.js", SCRIPT)
    assert codes([put(tmp_path, "count.py", PYTHON)]) == {"count.py": []}
