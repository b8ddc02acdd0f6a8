"""``unpinned-fetch`` (DESIGN §7.2): code fetched by a name that may point elsewhere tomorrow. Pinned forms do not count."""

from __future__ import annotations

import pytest

from rye.text.facts import FACTS, find_facts
from rye.text.facts.fact import UNPINNED_FETCH

FOUND = (
    "npx foo",
    "npx -y foo@latest",
    "npx --yes foo@^1.2.3",
    "uvx foo",
    "uv tool install foo",
    "pip install foo",
    "pip3 install -U 'foo>=1'",
    "python -m pip install foo",
    "pip install foo==1.*",
    "pip install git+https://x.example/a",
    "go run x.example/y@latest",
    "go install x.example/y@main",
    "docker run ubuntu",
    "docker pull ubuntu:22.04",
    "git clone https://x.example/a",
    "git clone git@x.example:a/b.git",
    "npm install foo",
    "npm i -g foo",
    "pnpm dlx foo",
    "yarn add foo",
    "bunx foo",
    "npm exec foo",
    "cargo install foo",
    "gem install foo",
    "brew install x/y/z",
    "!pip install foo",
    "npm install",
    "pip install -r requirements.txt",
    "pipx install foo",
    "uv pip install foo",
    "uv add foo",
    "uv run --with foo x.py",
    "subprocess.run(['pip','install','foo'])",
    "subprocess.check_call([sys.executable, '-m', 'pip', 'install', 'foo'])",
    "podman run -it --rm alpine sh",
)
NOT_FOUND = (
    "npx foo@1.2.3",
    "npx -y @a/b@1.2.3",
    "uvx foo@1.2.3",
    "uvx foo==1.2.3",
    "pip install foo==1.2.3",
    "pip install 'foo[bar]==1.2.3'",
    "pip install --require-hashes -r r.txt",
    "pip install .",
    "pip install -e .",
    "pip install ./dist/x.whl",
    "npm ci",
    "npm run build",
    "npm test",
    "go run .",
    "go run ./cmd/x",
    "go install x.example/y@v1.2.3",
    "docker run x@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "docker build .",
    "docker ps",
    "FROM python:3.12@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "git clone https://x.example/a\ncd a\ngit checkout a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1",
    "git clone https://x.example/a && git -C a checkout a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1",
    "pip install git+https://x.example/a@a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1",
    "pip list",
    "npm install ./local",
    "git status",
    "uv sync",
    "uv run x.py",
    "pip --version",
    "poetry install",
    "yarn install --frozen-lockfile",
    "git clone ./a b",
    "cargo build",
    "npx is a tool",
    "use pip to install packages",
)


@pytest.mark.parametrize("text", FOUND)
def test_is_found_in_prose(text: str) -> None:
    facts = [fact for fact in find_facts({"SKILL.md": f"# Title\n\n{text}\n"}) if fact.fact == UNPINNED_FETCH]
    assert facts
    assert all(fact.level == FACTS[UNPINNED_FETCH] and fact.line >= 3 for fact in facts)


@pytest.mark.parametrize("text", NOT_FOUND)
def test_a_look_alike_is_none(text: str) -> None:
    assert [fact.value for fact in find_facts({"SKILL.md": text}) if fact.fact == UNPINNED_FETCH] == []
