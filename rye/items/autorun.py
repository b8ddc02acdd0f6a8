"""What makes a program act by itself: the names and shapes that agent programs, git, editors, shells and package tools obey
without being asked (docs/reference/agent-programs.md).

One table for everyone who asks: no tool writes these names (:mod:`rye.runtime.sandbox.exposure`), a grant cannot name most of
them (:mod:`rye.items.needs`), an attached file with such a name counts as able to run (:mod:`rye.items.runs`), and tools do not
see the secrets below. Names are compared as file systems compare them that take several for one (:func:`folded`). Every place of
:mod:`rye.deployment.targets` is in the table; a test compares them. A new name is one row.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import Literal

from msgspec import Struct

from rye.text.content import DEFAULT_IGNORABLE

Where = Literal["anywhere", "root"]
"""``root``: only at the root of a project, or beside the manifest of a plugin."""


class Autorun(Struct, frozen=True):
    """Names that one sort of program obeys."""

    obeyed_by: str
    """Who obeys them, and how, for people."""
    names: tuple[str, ...]
    """In lower case; one that begins with ``*`` is the end of a name."""
    where: Where = "anywhere"
    for_builds: bool = False
    """Whether only a build obeys them. A grant that names such a file lets it be written; a grant of its folder does not."""


TABLE = (
    Autorun("Rye itself", (".ai", "rye.toml", "rye.lock")),
    Autorun("git, and every shell prompt that runs git", (".git", ".gitattributes", ".gitmodules", ".gitconfig")),
    Autorun("Mercurial, Jujutsu and Breezy, at every call", (".hg", ".jj", ".bzr")),
    Autorun(
        "build servers",
        (
            *(
                ".github",
                ".gitea",
                ".forgejo",
                ".gitlab-ci.yml",
                ".circleci",
                ".buildkite",
                ".travis.yml",
                ".cirrus.yml",
            ),
            *(
                ".woodpecker",
                ".woodpecker.yml",
                ".woodpecker.yaml",
                ".drone.yml",
                ".teamcity",
                ".semaphore",
                "jenkinsfile",
            ),
            *("azure-pipelines.yml", "bitbucket-pipelines.yml", "appveyor.yml", ".appveyor.yml"),
        ),
    ),
    Autorun("Claude Code, as settings and skills", (".claude", ".claude-plugin")),
    Autorun("Claude Code, as standing instructions", ("claude.md", "claude.local.md")),
    Autorun("Codex", (".codex",)),
    Autorun("Copilot", (".copilot", "copilot-instructions.md")),
    Autorun("Cursor", (".cursor", ".cursorrules", ".cursorignore")),
    Autorun("Gemini CLI, as settings", (".gemini",)),
    Autorun("Gemini CLI, as standing instructions", ("gemini.md",)),
    Autorun("OpenCode", (".opencode", "opencode.json", "opencode.jsonc")),
    Autorun(
        "other agent programs",
        (
            *(
                ".windsurf",
                ".windsurfrules",
                ".kiro",
                ".roo",
                ".roomodes",
                ".continue",
                ".clinerules",
                ".junie",
                ".amazonq",
            ),
            *(".aider.conf.yml", ".augment", ".augment-guidelines", ".crush", ".crush.json", "crush.json", ".factory"),
            *(".goosehints", ".openhands", ".pi", ".qwen", ".rules", ".trae", "qwen.md", "crush.md", "warp.md"),
        ),
    ),
    Autorun("agent programs, as skills and agents", (".agents",)),
    Autorun("agent programs, as standing instructions", ("agents.md", "agents.override.md")),
    Autorun("agent programs, which start the servers listed there", (".mcp.json", "mcp.json")),
    Autorun("agent programs, as parts of a plugin", ("commands", "agents", "hooks"), where="root"),
    Autorun("VS Code", (".vscode", "*.code-workspace")),
    Autorun("JetBrains programs", (".idea",)),
    Autorun("Zed and Fleet", (".zed", ".fleet")),
    Autorun(
        "Vim and Emacs",
        (
            *(".exrc", ".vimrc", ".gvimrc", ".lvimrc", ".nvimrc", ".nvim.lua", ".vim"),
            *(".dir-locals.el", ".dir-locals-2.el", ".emacs", ".emacs.d"),
        ),
    ),
    Autorun("editors that open containers", (".devcontainer", ".devcontainer.json")),
    Autorun(
        "direnv, mise and asdf, in every shell",
        (".envrc", ".mise", ".mise.toml", ".mise.local.toml", "mise.toml", "mise.local.toml", ".tool-versions"),
    ),
    Autorun(
        "shells, where the folder is a home folder",
        (
            *(".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".inputrc"),
            *(
                ".zshenv",
                ".zprofile",
                ".zshrc",
                ".zlogin",
                ".zlogout",
                ".kshrc",
                ".cshrc",
                ".tcshrc",
                ".login",
                ".logout",
            ),
            *(
                "config.fish",
                ".curlrc",
                ".wgetrc",
                ".tmux.conf",
                ".screenrc",
                ".psqlrc",
                ".sqliterc",
                ".hgrc",
                ".direnvrc",
            ),
            *(".condarc", ".terraformrc", ".selected_editor", ".xprofile", ".xinitrc", ".xsession", ".pam_environment"),
        ),
    ),
    Autorun("Python's debugger, gdb and lldb, at every start", (".pdbrc", ".pdbrc.py", ".gdbinit", ".lldbinit")),
    Autorun(
        "interactive interpreters (Ruby, R, Haskell, Elixir)",
        (".irbrc", ".pryrc", ".rprofile", ".renviron", ".ghci", ".iex.exs"),
    ),
    Autorun(
        "git, through its hooks",
        (
            *(".husky", ".githooks", ".pre-commit-config.yaml", ".overcommit.yml"),
            *("lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml", "lefthook-local.yml", ".lefthook"),
        ),
    ),
    Autorun(
        "npm, pnpm, yarn and bun, as settings",
        (".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn", ".pnpmfile.cjs", ".pnp.cjs", ".pnp.loader.mjs", "bunfig.toml"),
    ),
    Autorun("cargo, at every call", (".cargo",)),
    Autorun("Maven, at every call", (".mvn",)),
    Autorun("Bundler, at every call", (".bundle",)),
    Autorun("npm, pnpm, yarn and bun", ("package.json", "pnpm-workspace.yaml"), for_builds=True),
    Autorun("Deno", ("deno.json", "deno.jsonc"), for_builds=True),
    Autorun(
        "bundlers, linters and test programs of JavaScript",
        (
            *("*.config.js", "*.config.cjs", "*.config.mjs", "*.config.ts", "*.config.cts", "*.config.mts"),
            *(".eslintrc", ".eslintrc.js", ".eslintrc.cjs", ".eslintrc.json", ".eslintrc.yml", ".eslintrc.yaml"),
            *(".prettierrc.js", ".prettierrc.cjs", ".prettierrc.mjs", ".lintstagedrc", ".lintstagedrc.js"),
            *(".babelrc", ".babelrc.js", ".babelrc.cjs", ".mocharc.js", ".mocharc.cjs", "gruntfile.js", "gulpfile.js"),
        ),
        for_builds=True,
    ),
    Autorun("Python, at every start", ("*.pth", "sitecustomize.py", "usercustomize.py"), for_builds=True),
    Autorun(
        "pip, uv and build back ends", ("pyproject.toml", "setup.py", "setup.cfg", "hatch_build.py"), for_builds=True
    ),
    Autorun(
        "pytest, tox and nox", ("conftest.py", "pytest.ini", ".pytest.ini", "tox.ini", "noxfile.py"), for_builds=True
    ),
    Autorun("cargo", ("cargo.toml", "build.rs", "rust-toolchain", "rust-toolchain.toml"), for_builds=True),
    Autorun("Bundler and RubyGems", ("gemfile", "gems.rb", "*.gemspec"), for_builds=True),
    Autorun("Nix", ("flake.nix", "shell.nix", "default.nix"), for_builds=True),
    Autorun(
        "Docker, Podman and Compose",
        (
            *("dockerfile", "containerfile", "docker-bake.hcl", "docker-compose.yml", "docker-compose.yaml"),
            *("docker-compose.override.yml", "docker-compose.override.yaml", "compose.yml", "compose.yaml"),
            *("compose.override.yml", "compose.override.yaml"),
        ),
        for_builds=True,
    ),
    Autorun(
        "make and other build programs",
        (
            *("makefile", "gnumakefile", "bsdmakefile", "justfile", ".justfile", "rakefile", "rakefile.rb"),
            *("taskfile.yml", "taskfile.yaml", "taskfile.dist.yml", "taskfile.dist.yaml", "meson.build", "sconstruct"),
            *("cmakelists.txt", "cmakepresets.json", "cmakeuserpresets.json", "vagrantfile", "procfile"),
        ),
        for_builds=True,
    ),
    Autorun(
        "linters and test programs of Python and Ruby, through plugins",
        (
            ".pylintrc",
            "pylintrc",
            ".flake8",
            "mypy.ini",
            ".mypy.ini",
            ".coveragerc",
            ".rspec",
            ".rubocop.yml",
            ".simplecov",
        ),
        for_builds=True,
    ),
    Autorun(
        "programs that start a development environment",
        ("tiltfile", "earthfile", "brewfile", "skaffold.yaml", "devbox.json", "devenv.nix", "process-compose.yaml"),
        for_builds=True,
    ),
    Autorun("Bazel", (".bazelrc", ".bazeliskrc", "build.bazel", "module.bazel", "workspace.bazel"), for_builds=True),
    Autorun(
        "Gradle, Maven, Ant and sbt",
        (
            *("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "init.gradle", "gradlew"),
            *("gradlew.bat", "gradle.properties", "gradle-wrapper.jar", "gradle-wrapper.properties"),
            *("mvnw", "mvnw.cmd", "pom.xml", "build.xml", "build.sbt"),
        ),
        for_builds=True,
    ),
    Autorun(
        "MSBuild",
        ("*.csproj", "*.fsproj", "*.vbproj", "*.vcxproj", "directory.build.props", "directory.build.targets"),
        for_builds=True,
    ),
    Autorun("Composer, Mix and SwiftPM", ("composer.json", "mix.exs", "package.swift"), for_builds=True),
)
"""Every name, once."""

SECRET_NAMES = (
    *(".ssh", ".gnupg", ".netrc", "_netrc", ".npmrc", ".pypirc", ".git-credentials", "credentials.json"),
    *(".credentials.json", "credentials.toml", ".aws", ".azure", ".kube", ".dockercfg", ".vault-token", ".pgpass"),
    *(".my.cnf", ".mylogin.cnf", ".s3cfg", ".boto", ".password-store"),
)
"""Files and folders that hold secrets, which no tool reads: these names, the beginnings and the ends below. In lower case."""
SECRET_BEGINNINGS = (".env", "id_")
SECRET_ENDS = (".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".tfstate", ".tfstate.backup")

PLUGIN_MANIFESTS = (".claude-plugin", "plugin.json", "gemini-extension.json")
"""What makes a folder a plugin, so that the names of ``where="root"`` count in it. In lower case."""


_GIT_SHAPE = ("head", "objects", "commondir")


def obeyed(name: str, *, at_root: bool = False, builds: bool = True) -> Autorun | None:
    """The row that a name belongs to; None if nothing obeys it.

    ``at_root``: whether it lies at the root of a project or beside a plugin's manifest; ``builds``: whether names count that
    only a build obeys.
    """
    name = folded(name)
    row = _exact().get(name)
    if row is None and name.endswith(_all_ends()):
        row = next((row for end, row in _ends() if name.endswith(end)), None)
    if row is None or (row.where == "root" and not at_root) or (row.for_builds and not builds):
        return None
    return row


def is_secret_name(name: str) -> bool:
    """Whether a file or folder of this name holds secrets."""
    name = folded(name)
    return name in SECRET_NAMES or name.startswith(SECRET_BEGINNINGS) or name.endswith(SECRET_ENDS)


def noted(names: Collection[str]) -> frozenset[str]:
    """Those of many folded names that :func:`obeyed` or :func:`is_secret_name` may know: nearly always none."""
    exact, beginnings, ends = _noted()
    return frozenset([each for each in names if each in exact or each.startswith(beginnings) or each.endswith(ends)])


def is_git_folder(names: Collection[str]) -> bool:
    """Whether git takes a folder with these folded names for a repository, whatever the folder is called: it then obeys the
    ``config`` in it."""
    return "head" in names and ("objects" in names or "commondir" in names)


def is_plugin(names: Collection[str]) -> bool:
    """Whether a folder with these folded names is a plugin of an agent program."""
    return not _manifests().isdisjoint(names)


# -- one name for all that a file system may take for it -----------------------------------------------------------------

_ODD = re.compile(r"[:~]|[ .](?:/|$)")
"""What makes an ASCII name another one on Windows, in names joined with ``/``."""


def folded(name: str) -> str:
    """The name in the form of this table: what Windows, macOS, and Linux with casefolding may take for the same name becomes one.

    Case and normal form go (APFS, HFS+, ext4), and ignorable code points (HFS+, ext4; git's ``core.protectHFS``); on NTFS and
    FAT trailing dots and blanks and the name of a stream (``.git::$INDEX_ALLOCATION``). A short name (``GIT~1``) becomes the
    first name of the table that may have it.
    """
    if name.isascii() and _ODD.search(name) is None:
        return name.lower()
    if not name.isascii():
        name = unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).upper().casefold())
        name = _ignorable().sub("", name)
    plain = name.partition(":")[0].rstrip(" .").lower()
    if "~" in plain and (match := _short_form().fullmatch(plain)) is not None:
        return _long(match[1], match[2] or "") or plain
    return plain or name.lower()


def folded_names(names: Sequence[str]) -> list[str]:
    """:func:`folded` of each entry of a folder, much faster."""
    text = "/".join(names)
    if text.isascii() and _ODD.search(text) is None:
        return text.lower().split("/") if names else []
    return list(map(folded, names))


def _long(start: str, suffix: str) -> str | None:
    """The name in the table that Windows may shorten to ``START~1.SUFFIX``; ``START`` may be two letters and a hash."""
    shorts = _shorts()
    if (found := shorts.get((start, suffix))) is not None:
        return found
    if len(start) == 6 and re.fullmatch(r"[0-9a-f]{4}", start[2:]):
        for (first, last), name in shorts.items():
            if (first[:2], last) == (start[:2], suffix):
                return name
    if any(f".{start}".startswith(each) for each in SECRET_BEGINNINGS):
        return f".{start}"
    return next((start + end for end in _all_ends() + SECRET_ENDS if suffix and end[1:4] == suffix), None)


def _shortened(name: str) -> tuple[str, str] | None:
    """What a short name of ``name`` has before its number, and its suffix; None if Windows makes none."""
    stem, dot, suffix = name.lstrip(".").rpartition(".")
    stem, suffix = (stem, suffix) if dot else (suffix, "")
    short = stem.replace(".", "").replace(" ", "")
    if name[0] != "." and short == stem and len(stem) <= 8 and len(suffix) <= 3:
        return None
    return short[:6], suffix[:3]


def _named() -> Iterator[str]:
    yield from _exact()
    yield from (*SECRET_NAMES, *PLUGIN_MANIFESTS, *_GIT_SHAPE)


@cache
def _shorts() -> dict[tuple[str, str], str]:
    shorts: dict[tuple[str, str], str] = {}
    for name in _named():
        if (short := _shortened(name)) is not None:
            shorts.setdefault(short, name)
    return shorts


@cache
def _short_form() -> re.Pattern[str]:
    return re.compile(r"([^.~]{1,6})~[0-9]{1,6}(?:\.([^.~]{1,3}))?")


@cache
def _ignorable() -> re.Pattern[str]:
    return re.compile(f"[{''.join(f'{chr(first)}-{chr(last)}' for first, last in DEFAULT_IGNORABLE)}]")


@cache
def _manifests() -> frozenset[str]:
    return frozenset(PLUGIN_MANIFESTS)


@cache
def _noted() -> tuple[frozenset[str], tuple[str, ...], tuple[str, ...]]:
    return frozenset((*_exact(), *SECRET_NAMES)), SECRET_BEGINNINGS, _all_ends() + SECRET_ENDS


@cache
def _exact() -> dict[str, Autorun]:
    return {name: row for row in TABLE for name in row.names if not name.startswith("*")}


@cache
def _ends() -> tuple[tuple[str, Autorun], ...]:
    return tuple((name[1:], row) for row in TABLE for name in row.names if name.startswith("*"))


@cache
def _all_ends() -> tuple[str, ...]:
    return tuple(end for end, _ in _ends())
