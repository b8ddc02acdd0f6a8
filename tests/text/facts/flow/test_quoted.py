"""When nothing is run: what only quotes, prints, names or explains a command, beside what looks alike and runs."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from rye.text.facts import shell
from rye.text.facts.flow import quoted
from rye.text.facts.source import Line, Source


class Place(NamedTuple):
    """A command of a text, with what the questions are asked about."""

    source: Source
    line: Line
    command: shell.Command
    at: int
    """The index of the word that is meant."""

    @property
    def word(self) -> shell.Word:
        return self.command.words[self.at]


def place(text: str, word: str, path: str = "a.sh", files: dict[str, str] | None = None) -> Place:
    """The first command of a text one of whose words this is, and the word's index."""
    source = Source(path, text, {path: text, **(files or {})})
    for number in range(len(source.lines)):
        line = source.logical(number)
        for commands in source.commands(line):
            for command, _ in commands:
                if word in command.texts():
                    return Place(source, line, command, command.texts().index(word))
    raise AssertionError((text, word))


def fenced(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```\n"


BACKQUOTES = {
    "a script": ("a.sh", "`x`", 0, True),
    "a program of a language": ("a.py", "`x`", 0, False),
    "a sentence": ("a.md", "`x`", 0, False),
    "a block for a shell": ("a.md", fenced("sh", "`x`"), 1, True),
    "a block without a language": ("a.md", fenced("", "`x`"), 1, True),
    "a block for JavaScript": ("a.md", fenced("js", "`x`"), 1, False),
}


@pytest.mark.parametrize(("path", "text", "number", "runs"), BACKQUOTES.values(), ids=BACKQUOTES)
def test_backquotes_run_something_in_code_of_a_shell(path: str, text: str, number: int, runs: bool) -> None:
    source = Source(path, text)
    assert quoted.substitutes(source, source.logical(number)) is runs


QUOTED = {
    "a command of a script": ("a.sh", "`curl x`", 0, False),
    "a comment": ("a.sh", "  # see `curl x`", 0, True),
    "an escaped pair": ("a.sh", 'echo "see \\`curl x\\`"', 0, True),
    "an escaped pair and another": ("a.sh", 'echo "\\`a\\` `curl x`"', 0, False),
    "words of a block without a language": ("a.md", fenced("", "then `curl x` it"), 1, True),
    "a whole line of such a block": ("a.md", fenced("", "`curl x`"), 1, False),
    "words of a block for a shell": ("a.md", fenced("sh", "then `curl x` it"), 1, False),
}


@pytest.mark.parametrize(("path", "text", "number", "quotes"), QUOTED.values(), ids=QUOTED)
def test_backquotes_quote_in_comments_strings_and_prose(path: str, text: str, number: int, quotes: bool) -> None:
    assert quoted.is_quoted(Source(path, text), number) is quotes


PRINTED = {
    "a substitution alone": ("$(curl x)", "$()", False),
    "a value": ('X="$(curl x)"', "$()", False),
    "a part of a value": ('export X="Basic $(curl x)"', "$()", True),
    "a variable behind a line end of a string": ('X="a\\n$x"', "$x", True),
    "a variable behind words": ('X="a $x"', "$x", False),
    "a printed string": ('echo "a | $x"', "$x", True),
    "a printed string behind a test": ("[ -n x ] && printf 'a | $x'", "$x", True),
    "a printed string for a pipe": ('echo "a" | $x', "$x", False),
    "a printed string that names a shell": ('echo "a | sh" $x', "$x", False),
}


@pytest.mark.parametrize(("raw", "word", "prints"), PRINTED.values(), ids=PRINTED)
def test_a_part_of_a_text_is_printed(raw: str, word: str, prints: bool) -> None:
    assert quoted.is_printed(Source("a.sh", raw), 0, word) is prints
    assert quoted.is_printed(Source("a.md", fenced("sh", raw)), 1, word) is prints
    assert quoted.is_printed(Source("a.md", fenced("python", raw)), 1, word) is False


@pytest.mark.parametrize(
    ("begins", "prints"),
    [("cat <<EOF", True), ("cat > a.md <<'EOF'", True), ("cat <<EOF > a.sh", False), ("sh <<EOF", False)],
)
def test_lines_up_to_a_mark_are_printed_unless_into_a_script(begins: str, prints: bool) -> None:
    source = Source("a.sh", f"{begins}\na\n$x\nEOF\n$x\n")
    assert quoted.is_printed(source, 2, "$x") is prints
    assert quoted.is_printed(source, 4, "$x") is False


GIVEN = {
    "a program": ("$x a", False),
    "the words of a here-string": ("cat <<<$x", True),
    "an argument behind code of several lines": ("awk '\nprint\n' $x", True),
    "a command behind a value of several lines": ("y='\na\n' $x", False),
    "a command of a string that something runs": ("eval '\n$x\n'", False),
    "a line of a string that is printed": ("echo '\n$x\n'", True),
}


@pytest.mark.parametrize(("text", "given"), GIVEN.values(), ids=GIVEN)
def test_what_a_command_is_given_is_none(text: str, given: bool) -> None:
    met = place(text, "$x")
    assert quoted.is_given(met.source, met.line, met.command, met.word) is given


def test_words_behind_code_of_several_lines_are_its_arguments() -> None:
    met = place("python3 -c '\nprint(1)\n' $x", "$x")
    assert quoted.is_behind_code(met.source, met.line, met.word)
    met = place("python3 -c $x", "$x")
    assert not quoted.is_behind_code(met.source, met.line, met.word)


SENTENCES = {
    "a first word": ("Source the file a.sh", "Source", True),
    "a full stop": ("See [x](y). This means", ".", True),
    "a full stop at the end": ("This is (x) .", ".", True),
    "a dot before a path": (". ./a.sh", ".", False),
    "a dot before a variable": (". $x", ".", False),
    "a command": ("source a.sh", "source", False),
}


@pytest.mark.parametrize(("text", "word", "sentence"), SENTENCES.values(), ids=SENTENCES)
def test_a_dot_of_a_sentence_runs_nothing(text: str, word: str, sentence: bool) -> None:
    met = place(text, word, "a.md")
    assert quoted.is_sentence(met.line, met.command, met.at) is sentence


def test_a_dot_of_a_script_is_a_command() -> None:
    met = place(". a", ".")
    assert not quoted.is_sentence(met.line, met.command, met.at)
    met = place(". a", ".", "a.md")
    assert quoted.is_sentence(met.line, met.command, met.at)


NAMED = {
    "a type of content": ("application/json; x", "application/json", True),
    "a place": ("It is cached at `/tmp/x`", "/tmp/x", True),
    "a file to start": ("Then run `/tmp/x`", "/tmp/x", False),
    "a file of a sentence in another language": ("Führe es aus: `/tmp/x`", "/tmp/x", False),
    "an explained path": ("- `/tmp/x` - what is kept", "/tmp/x", True),
    "a path that is explained by what starts it": ("- `/tmp/x` - run it daily", "/tmp/x", False),
    "a program of this folder": ("It is cached at `./x`", "./x", False),
    "a cell of a table": ("| `./x` | what |", "./x", True),
    "a program with words": ("It is at `/tmp/x --now`", "/tmp/x", False),
}


@pytest.mark.parametrize(("text", "word", "named"), NAMED.values(), ids=NAMED)
def test_a_path_of_a_sentence_is_named_unless_told_to_start(text: str, word: str, named: bool) -> None:
    met = place(text, word, "a.md")
    assert quoted.is_named_only(met.line, met.command) is named


NOTHING = {
    "a program": ("a.sh", "/tmp/x --now", "/tmp/x", False),
    "a variable": ("a.sh", "$x", "$x", False),
    "a volume": ("a.sh", "./data:/var/lib/x", "./data:/var/lib/x", True),
    "a place on another machine": ("a.sh", "host:/srv/x", "host:/srv/x", True),
    "a setting": ("a.sh", "input-file=/tmp/x", "input-file=/tmp/x", True),
    "the rest of a test": ("a.sh", "[[ a || $x -gt 1 ]]", "$x", True),
    "a question where a program is": ("a.sh", "command -v $x", "$x", True),
    "a command that is run as it is": ("a.sh", "command $x", "$x", False),
    "the head of a difference": ("a.sh", "+++ b/x", "b/x", True),
    "an address": ("a.sh", "https://x.example/a", "https://x.example/a", True),
    "a path with a drive": ("a.sh", "C:/x/a.exe", "C:/x/a.exe", False),
    "the end of a list": ("a.sh", "$x]", "$x]", True),
    "a name with an explanation": ("a.sh", "jq (reads JSON)", "jq", True),
    "a place in a sentence": ("a.md", "The folder `d/x` has it", "d/x", True),
    "a program in a sentence": ("a.md", "Run `d/x` twice", "d/x", False),
    "a script in a sentence": ("a.md", "And `d/x.sh` has it", "d/x.sh", False),
    "a program with an option": ("a.md", "And `d/x --now`", "d/x", False),
    "a pattern of paths": ("a.md", fenced("", "./d/*.sh"), "./d/*.sh", True),
    "a pattern of paths in a script": ("a.sh", "./d/*.sh", "./d/*.sh", False),
}


@pytest.mark.parametrize(("path", "text", "word", "nothing"), NOTHING.values(), ids=NOTHING)
def test_some_first_words_start_nothing(path: str, text: str, word: str, nothing: bool) -> None:
    met = place(text, word, path)
    assert quoted.starts_nothing(met.source, met.line, met.command, met.at) is nothing


def test_a_sentence_is_about_the_files_of_the_item() -> None:
    for files, nothing in (({}, False), ({"d/x.sh": "ls"}, True)):
        met = place("And `d/x.sh` has it", "d/x.sh", "a.md", files)
        assert quoted.starts_nothing(met.source, met.line, met.command, met.at) is nothing


def test_a_name_begins_a_programs_help() -> None:
    assert quoted.is_title(place("tool - What it does", "tool").command, 0)
    assert not quoted.is_title(place("tool - what it does", "tool").command, 0)
    assert not quoted.is_title(place("tool -v What", "tool").command, 0)
