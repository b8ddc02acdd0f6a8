"""The files in ``tests/cli/screens`` show what commands print on a terminal, so that reviewers see every change."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

import pytest

from tests.cli.screens.people import ScreenPeople, make_people
from tests.cli.screens.shots import COLORED, FOLDER, SCREENS, WIDTHS, kept, shot, variants
from tests.scenes.effort import rest_thorough

pytestmark = pytest.mark.processes

_TAG = re.compile(r"\[(/|(bold|dim|red|green|yellow|blue|cyan)( (dim|red|green|yellow|blue|cyan))*)\]")


_PROSE = re.compile(r"(error|warning)(\[|:)|  hint: ")


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScreenPeople]:
    made = make_people(tmp_path_factory.mktemp("screens"))
    yield made
    made.registry.stop()


@pytest.mark.parametrize("name", rest_thorough(8, SCREENS))
def test_a_screen_is_as_it_is_kept(people: ScreenPeople, name: str) -> None:
    for variant, width, color in variants():
        file = kept(variant, name)
        before = file.read_text("utf-8") if file.exists() else ""
        now = shot(people, name, width, color)
        lines = difflib.unified_diff(before.splitlines(), now.splitlines(), f"{variant}/{name}.txt", "now", lineterm="")
        assert now == before, "\n".join([*lines, "", "`make screens` renews the files; look at their diff."])


def test_no_file_is_left_of_a_screen_that_is_gone() -> None:
    expected = {kept(variant, name) for variant, _, _ in variants() for name in SCREENS}
    assert set(FOLDER.glob("*/*.txt")) == expected


@pytest.mark.parametrize("name", SCREENS)
def test_colours_say_nothing_that_the_words_do_not(name: str) -> None:
    colored = kept(f"{COLORED}-color", name).read_text("utf-8")
    assert _TAG.sub("", colored) == kept(str(COLORED), name).read_text("utf-8")


def test_the_screens_are_what_a_terminal_shows(people: ScreenPeople) -> None:
    """Screens are taken without a terminal, which is faster. This test compares one with a real terminal's."""
    shown = people.shop.terminal("tree", "--color", "never", env={"COLUMNS": "100"})
    assert shown == shot(people, "tree", 100, color=False).partition("\n")[2]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", SCREENS)
def test_lines_fit_and_end_where_their_text_ends(name: str, width: int) -> None:
    """Only a line of a single word, such as a path to copy, may be longer."""
    lines = kept(str(width), name).read_text("utf-8").splitlines()[1:]
    for line in lines:
        assert line == line.rstrip()
        assert len(line) <= width or " " not in line.strip(), line
        assert len(line) <= 100 or not _PROSE.match(line), line
    assert "\n\n\n" not in "\n".join(lines)
