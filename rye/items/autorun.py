"""What makes a program act by itself: the names and shapes that agent programs, git, editors, shells and package tools obey
without being asked (docs/how-to/tools.md).

One table for everyone who asks: no tool writes these names (:mod:`rye.runtime.sandbox.exposure`), a grant cannot name most of
them (:mod:`rye.items.needs`), and tools do not see the secrets below. Names are compared without case, since some file systems
do. Every place of :mod:`rye.deployment.targets` is in the table; a test compares them. A new name is one row.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Literal

from msgspec import Struct

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
    Autorun("Rye itself", (".ai",)),
    Autorun("git, and every shell prompt that runs git", (".git", ".gitattributes", ".gitmodules")),
    Autorun("build servers", (".github", ".gitlab-ci.yml", ".circleci", ".woodpecker.yml", "jenkinsfile")),
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
        (".windsurf", ".windsurfrules", ".kiro", ".roo", ".roomodes", ".continue", ".clinerules", ".junie", ".amazonq"),
    ),
    Autorun("agent programs, as skills and agents", (".agents",)),
    Autorun("agent programs, as standing instructions", ("agents.md", "agents.override.md")),
    Autorun("agent programs, which start the servers listed there", (".mcp.json", "mcp.json")),
    Autorun("agent programs, as parts of a plugin", ("commands", "agents", "hooks"), where="root"),
    Autorun("VS Code", (".vscode",)),
    Autorun("JetBrains programs", (".idea",)),
    Autorun("Zed and Fleet", (".zed", ".fleet")),
    Autorun("Vim and Emacs", (".exrc", ".vimrc", ".nvimrc", ".nvim.lua", ".dir-locals.el")),
    Autorun("editors that open containers", (".devcontainer", ".devcontainer.json")),
    Autorun("direnv and mise, in every shell", (".envrc", ".mise.toml", "mise.toml", ".tool-versions")),
    Autorun("git, through its hooks", (".husky", ".pre-commit-config.yaml", "lefthook.yml")),
    Autorun("npm, pnpm and yarn, as settings", (".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs")),
    Autorun(
        "npm, pnpm, yarn and bun",
        ("package.json",),
        for_builds=True,
    ),
    Autorun("Python, at every start", ("*.pth", "sitecustomize.py", "usercustomize.py"), for_builds=True),
    Autorun("pip, uv and build back ends", ("pyproject.toml", "setup.py", "setup.cfg"), for_builds=True),
    Autorun("pytest and tox", ("conftest.py", "pytest.ini", "tox.ini", "noxfile.py"), for_builds=True),
    Autorun(
        "make and other build programs",
        ("makefile", "gnumakefile", "justfile", "rakefile", "taskfile.yml", "cmakelists.txt", "build.rs", "dockerfile"),
        for_builds=True,
    ),
    Autorun("Gradle and Maven", ("build.gradle", "build.gradle.kts", "settings.gradle", "pom.xml"), for_builds=True),
)
"""Every name, once."""

SECRET_NAMES = (".ssh", ".gnupg", ".netrc", "_netrc", ".npmrc", ".pypirc", ".git-credentials", "credentials.json")
"""Files and folders that hold secrets, which no tool reads: these names, the beginnings and the ends below. In lower case."""
SECRET_BEGINNINGS = (".env", "id_")
SECRET_ENDS = (".pem", ".key", ".p12", ".pfx", ".tfstate", ".tfstate.backup")

PLUGIN_MANIFESTS = (".claude-plugin", "plugin.json", "gemini-extension.json")
"""What makes a folder a plugin, so that the names of ``where="root"`` count in it. In lower case."""


def obeyed(name: str, *, at_root: bool = False, builds: bool = True) -> Autorun | None:
    """The row that a name belongs to; None if nothing obeys it.

    ``at_root``: whether it lies at the root of a project or beside a plugin's manifest; ``builds``: whether names count that
    only a build obeys.
    """
    folded = name.casefold()
    row = _exact().get(folded)
    if row is None:
        row = next((row for end, row in _ends() if folded.endswith(end)), None)
    if row is None or (row.where == "root" and not at_root) or (row.for_builds and not builds):
        return None
    return row


def is_secret_name(name: str) -> bool:
    """Whether a file or folder of this name holds secrets."""
    folded = name.casefold()
    return folded in SECRET_NAMES or folded.startswith(SECRET_BEGINNINGS) or folded.endswith(SECRET_ENDS)


def is_git_folder(names: Collection[str]) -> bool:
    """Whether git takes a folder with these names (in lower case) for a repository, whatever the folder is called: it then
    obeys the ``config`` in it."""
    return "head" in names and ("objects" in names or "commondir" in names)


def is_plugin(names: Collection[str]) -> bool:
    """Whether a folder with these names (in lower case) is a plugin of an agent program."""
    return any(manifest in names for manifest in PLUGIN_MANIFESTS)


@cache
def _exact() -> dict[str, Autorun]:
    return {name: row for row in TABLE for name in row.names if not name.startswith("*")}


@cache
def _ends() -> tuple[tuple[str, Autorun], ...]:
    return tuple((name[1:], row) for row in TABLE for name in row.names if name.startswith("*"))
