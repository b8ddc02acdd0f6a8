"""The table of names programs obey (docs/reference/agent-programs.md): each is in the class that says what a grant can do."""

from __future__ import annotations

import pytest

from rye.items.autorun import SECRET_NAMES, TABLE, folded, folded_names, is_secret_name, noted, obeyed

ALWAYS = [
    ".git",
    ".github",
    ".gitlab-ci.yml",
    ".circleci",
    ".buildkite",
    ".travis.yml",
    ".cargo",
    ".pdbrc",
    ".gdbinit",
    ".lldbinit",
    ".mvn",
    ".bundle",
    ".bashrc",
    ".zshenv",
    ".profile",
    ".vimrc",
    ".nvimrc",
    ".exrc",
    ".tool-versions",
    "mise.toml",
    ".npmrc",
    ".yarnrc.yml",
    "bunfig.toml",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".zed",
    ".fleet",
    "team.code-workspace",
    ".hg",
    ".jj",
    ".aider.conf.yml",
    ".crush.json",
    ".qwen",
    ".curlrc",
    ".tmux.conf",
]
BY_BUILDS = [
    "flake.nix",
    "shell.nix",
    "default.nix",
    "gradlew",
    "gradle-wrapper.properties",
    "Gemfile",
    "x.gemspec",
    ".bazelrc",
    "deno.json",
    "Dockerfile",
    "compose.yaml",
    "docker-compose.yml",
    "tox.ini",
    "noxfile.py",
    "setup.py",
    "setup.cfg",
    "Justfile",
    "Taskfile.yml",
    "Rakefile",
    "CMakeLists.txt",
    "vite.config.js",
    "next.config.mjs",
    "eslint.config.ts",
    "Cargo.toml",
    ".pylintrc",
    "mypy.ini",
    ".rspec",
    "Tiltfile",
    "Brewfile",
]


@pytest.mark.parametrize("name", ALWAYS)
def test_what_a_program_obeys_unasked_can_never_be_granted(name: str) -> None:
    row = obeyed(name)
    assert row is not None
    assert not row.for_builds


@pytest.mark.parametrize("name", BY_BUILDS)
def test_what_only_a_build_obeys_can_be_granted_by_its_name(name: str) -> None:
    assert obeyed(name) is not None
    assert obeyed(name, builds=False) is None


@pytest.mark.parametrize("name", ["build", "config.js", "main.rs", "notes.md", "nix", "app.ts", "bundle", "x.pthx"])
def test_other_names_are_nobodys(name: str) -> None:
    assert obeyed(name) is None


def test_every_name_is_in_one_row_in_lower_case() -> None:
    names = [name for row in TABLE for name in row.names]
    assert len(names) == len(set(names))
    assert names == [name.casefold() for name in names]


GIT = [
    *(
        ".GIT",
        ".gI\u200ct",
        ".g\u200dit",
        "\ufeff.git",
        ".git\u200b",
        ".g\u00adit",
        ".git\u2060",
        ".\u206agit",
        ".g\ufe0fit",
    ),
    *(".git.", ".git ", ".git . .", ".git::$INDEX_ALLOCATION", ".git:x", ".GIT. ::$INDEX_ALLOCATION"),
    *("git~1", "GIT~1", "GIT~2", "git~1 ", "GIT~1::$INDEX_ALLOCATION", "GI7EBA~1", "GITMOD~1", "gitatt~4"),
]


@pytest.mark.parametrize("name", GIT)
def test_other_spellings_of_gits_names_are_gits(name: str) -> None:
    """The spellings that git itself refuses to check out (core.protectHFS, core.protectNTFS)."""
    row = obeyed(name)
    assert row is not None
    assert row.obeyed_by.startswith("git")


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("CLAUDE~1", ".claude"),
        ("CLAUDE~1.MD", "claude.local.md"),
        ("VSCODE~1", ".vscode"),
        ("PACKAG~1.JSO", "package.json"),
        ("COMMON~1", "commondir"),
        ("PLUGIN~1.JSO", "plugin.json"),
        ("ma\u212aefile", "makefile"),
        ("\u017fetup.py", "setup.py"),
        ("ju\u017ftf\u0131le", "justfile"),
        ("HEAD ", "head"),
        ("e\u0301t\u00e9", "\u00e9te\u0301"),
    ],
)
def test_names_that_some_file_system_takes_for_one_are_one(name: str, same: str) -> None:
    assert folded(name) == folded(same)


@pytest.mark.parametrize(
    "name",
    [
        ".env.",
        ".E\u200bNV",
        "ENV~1",
        "ENV~1.LOC",
        "id_\u200drsa",
        "x.pem::$DATA",
        "TERRAF~1.TFS",
        "CREDEN~1.JSO",
        ".npmrc ",
    ],
)
def test_other_spellings_of_secrets_are_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["git", "digit~1", "a~1", "notes~", "x.git", ".gitx", "c:", ".g\u0301it", "gi\u0442~1", "file.~1~", "..."]
)
def test_similar_names_are_other_names(name: str) -> None:
    assert obeyed(name) is None
    assert not is_secret_name(name)


def test_names_of_a_folder_are_folded_as_each_is() -> None:
    for names in ([], ["a"], ["B", ".Git"], ["x", *GIT, "y."], ["x."], ["."]):
        assert folded_names(names) == [folded(name) for name in names]
    known = [name.replace("*", "x") for row in TABLE for name in row.names]
    secret = [*SECRET_NAMES, ".env.local", "id_rsa", "x.tfstate"]
    assert noted([*known, *secret, "a", "src"]) == {*known, *secret}
