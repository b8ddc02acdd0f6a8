"""Which words of a command name a file that a program runs or loads."""

from __future__ import annotations

import pytest

from rye.text.facts import shell
from rye.text.facts.flow import loading


def command(text: str) -> shell.Command:
    return shell.read(text).commands[0]


VARIABLES = {
    "LD_PRELOAD=./a.so ls": ["./a.so"],
    "env BASH_ENV=a.sh sh b.sh": ["a.sh"],
    "LD_PRELOAD=a.so:b.so ls": ["a.so", "b.so"],
    "NODE_OPTIONS=--require a.js node b.js": ["a.js", "--require"],
    "NODE_OPTIONS=--require=a.js node b.js": ["node", "--require", "a.js"],
    "NAME=a.sh ls": [],
}


@pytest.mark.parametrize(("text", "files"), VARIABLES.items(), ids=VARIABLES)
def test_a_variable_names_what_a_program_loads(text: str, files: list[str]) -> None:
    read = command(text)
    named = [name for index, value in loading.variables(read) for name in loading.files_in_value(read, index, value)]
    assert named == files


OPTIONS = {
    "node --require ./a.js b.js": ["./a.js"],
    "node --require=./a.js b.js": ["./a.js"],
    "node -r a.js b.js": ["a.js"],
    "ls -r a.js": [],
    "tar --to-command=a.sh -xf b.tar": ["a.sh"],
    "rsync -e a.sh b c": ["a.sh"],
    "tar -I sh a.sh": ["a.sh"],
    "ssh -o ProxyCommand=a.sh host": ["a.sh"],
    "ssh -o ProxyCommand=sh a.sh": ["a.sh"],
    "git -c core.pager=a.sh log": ["a.sh"],
    "java -javaagent:a.jar b": ["a.jar"],
    "gpg --import a.asc": [],
    "node --import a.mjs b.js": ["a.mjs"],
    "tmux -f a.conf": ["a.conf"],
    "tmux new -d tail -f a.log": [],
    "tmux -L x -f a.conf": ["a.conf"],
    "sudo find d -exec a.sh": ["a.sh"],
    "crontab a.txt": ["a.txt"],
    "at -f a.sh now": ["-f", "a.sh", "now"],
    "at noon": [],
}


@pytest.mark.parametrize(("text", "files"), OPTIONS.items(), ids=OPTIONS)
def test_an_option_names_what_a_program_runs(text: str, files: list[str]) -> None:
    read = command(text)
    assert list(loading.by_option(read, shell.head(read), code=True)) == files


def test_an_everyday_word_of_a_sentence_runs_no_file() -> None:
    read = command("crontab a.txt")
    assert list(loading.by_option(read, 0, code=False)) == []


INSTALLED = {
    "dpkg -i a.deb": ["-i", "a.deb"],
    "java -jar a.jar": ["-jar", "a.jar"],
    "rundll32 a.dll,Start": ["a.dll"],
    "pip install name ./a.whl": ["./a.whl"],
    "npm install name": [],
    "npm config set cafile ./a": [],
    "npm config set script-shell ./a": ["./a"],
    "pip --cert a.pem install name": [],
    "docker load -i a.tar": ["load", "-i", "a.tar"],
    "docker pull a/b": [],
    "docker exec box tool ./x a.txt": ["docker", "exec", "box", "tool"],
    "at noon": [],
}


@pytest.mark.parametrize(("text", "files"), INSTALLED.items(), ids=INSTALLED)
def test_an_installer_runs_a_file_but_looks_a_name_up(text: str, files: list[str]) -> None:
    assert list(loading.installed(command(text), 0)) == files
