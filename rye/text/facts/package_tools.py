"""Command lines of package managers: which packages they fetch without saying exactly which bytes.

One row a tool says how it is called and how it writes an exact version; no tool has code of its own unless it must.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from rye.text.facts.source import word_set

_PYTHON_EXACT = re.compile(r"[\w.-]+(?:\[[\w,.-]*\])?(?:===?|@)v?\d[\w.+!-]*(?:\s*;.*)?")
_NODE_EXACT = re.compile(r"(?:npm:)?(?:@[\w.-]+/)?[\w.-]+@v?\d+\.\d+\.\d+(?:[-+][\w.+-]+)?")
_GO_EXACT = re.compile(r"\S+@v\d+\.\d+\.\d+\S*")
_EXACT = re.compile(r"=?v?\d+\.\d+[\w.+-]*")
_COMMIT = re.compile(r"[@#][0-9a-f]{40}(?![0-9A-Za-z])")
_HASH = re.compile(r"#sha256=[0-9a-f]{64}|#sha(?:256|384|512)-")
_PACKAGE = re.compile(r"(?:[a-z+]{2,10}:)?@?[A-Za-z0-9_$][\w./:@+=~^<>,!\[\]#*?%${}-]*")
_LOCKS: Final = word_set("package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lockb bun.lock deno.lock")
_PIP_VALUES: Final = word_set(
    "-r --requirement -c --constraint -i --index-url --extra-index-url -f --find-links -t --target --prefix "
    "--root --python --python-version --platform --abi --implementation --only-binary --no-binary "
    "--progress-bar --timeout --retries --proxy --cert --trusted-host --cache-dir --log --config-settings "
    "--index --group --package --src -p -n --name --channel -e --editable --upgrade-package"
)
_NODE_VALUES: Final = word_set(
    "--prefix --registry --workspace -w --filter -C --cwd --cache --userconfig --loglevel --tag --omit --include"
)
_PROSE: Final = word_set(
    "the a an and or to it is as for in with your this that these from if when then them any all again first on "
    "of you will can via using instead here packages package dependencies them: globally locally first: not "
    "either does must should be by are command commands install installs anything something tool tools"
)
_RUNNERS: Final = {"npx": "npx", "bunx": "bunx", "pnpx": "pnpx"}

TOOLS: Final = word_set(
    "npx bunx pnpx npm pnpm yarn bun uvx uv pipx pip pip3 pip2 conda mamba micromamba poetry pdm easy_install "
    "go cargo gem brew choco scoop winget composer python python3 py deno docker podman nerdctl"
)


def unpinned(tool: str, words: list[str], files: Mapping[str, str]) -> Iterator[str]:
    """``tool package`` for each package that a command line fetches unpinned; ``words`` follow the tool."""
    if tool in ("python", "python3", "py"):
        if "-m" in words[:4]:
            at = words.index("-m")
            if words[at + 1 : at + 2] and words[at + 1] in ("pip", "uv", "pipx"):
                yield from unpinned(words[at + 1], words[at + 2 :], files)
        return
    verb = next((word for word in words if not word.startswith("-")), "")
    rest = words[words.index(verb) + 1 :] if verb else []
    if tool in _RUNNERS:
        yield from _node_run(tool, words)
    elif tool in ("npm", "pnpm", "yarn", "bun"):
        yield from _node(tool, verb, rest, words, files)
    elif tool == "uvx":
        yield from _python_run("uvx", words)
    elif tool == "pipx" and verb in ("run", "install", "inject"):
        yield from _python_run(f"pipx {verb}", rest, every=verb == "inject")
    elif tool == "uv":
        yield from _uv(verb, rest, files)
    elif tool in ("pip", "pip2", "pip3") and verb in ("install", "wheel", "download"):
        yield from _pip(f"pip {verb}", rest, files)
    elif tool in ("poetry", "pdm") and verb == "add":
        yield from _pip(f"{tool} add", rest, files)
    elif tool == "easy_install":
        yield from _pip("easy_install", words, files)
    elif tool in ("conda", "mamba", "micromamba") and verb in ("install", "create"):
        for package in _packages(rest, _PIP_VALUES):
            if not re.fullmatch(r"[\w.:-]+={1,2}\d[\w.]*(?:=\w+)?", package):
                yield f"{tool} {verb} {package}"
    elif tool == "go" and verb in ("run", "install", "get"):
        yield from _go(verb, rest)
    elif tool == "cargo" and verb in ("install", "binstall", "add"):
        yield from _cargo(verb, rest)
    elif tool == "gem" and verb == "install":
        versions = [after for word, after in pairwise(rest) if word in ("-v", "--version")]
        if not any(_EXACT.fullmatch(version) for version in versions):
            for package in _packages(rest, frozenset(("-v", "--version", "--source"))):
                if not re.search(r":\d+\.\d+", package) and not package.endswith(".gem"):
                    yield f"gem install {package}"
    elif tool in ("brew", "choco", "scoop", "winget") and verb in ("install", "tap", "reinstall"):
        if tool == "brew" or not any(word.startswith(("--version", "-v")) for word in rest):
            for package in _packages(rest, frozenset(("--version", "-v", "--source", "-e", "--id"))):
                yield f"{tool} {verb} {package}"
    elif tool == "composer" and verb == "require":
        for package in _packages(rest, frozenset()):
            if not re.search(r":\d+\.\d+\.\d+$", package):
                yield f"composer require {package}"
    elif tool == "deno" and verb in ("run", "install", "x"):
        for word in rest:
            if word.startswith(("npm:", "jsr:")):
                if not re.search(r"@\d+\.\d+\.\d+", word[5:]):
                    yield f"deno {verb} {_clean(word)}"
                return


def _clean(word: str) -> str:
    return word.strip("()\"'`,").rstrip(".,;:!?") if not word.endswith("...") else ""


def _packages(words: list[str], with_values: frozenset[str]) -> Iterator[str]:
    """The words that are packages: no options, no values of options; prose behind a command ends the list."""
    skip = False
    for word in words:
        if skip:
            skip = False
            continue
        if word.startswith("-"):
            skip = word in with_values
            continue
        package = _clean(word)
        if package.lower() in _PROSE or not package or not _PACKAGE.fullmatch(package):
            return
        if _is_local(package):
            continue
        yield package
        if word != package and word.endswith((".", ";", ":")):
            return


def _is_local(package: str) -> bool:
    return (
        package in (".", "..")
        or package.startswith((".", "/", "~", "file:", "link:", "workspace:"))
        or (package.endswith((".whl", ".tgz", ".tar.gz")) and "://" not in package)
    )


def _node_is_pinned(package: str) -> bool:
    return (
        _NODE_EXACT.fullmatch(package) is not None
        or _COMMIT.search(package) is not None
        or _HASH.search(package) is not None
    )


def _node_run(tool: str, words: list[str]) -> Iterator[str]:
    """``npx`` and its like: what ``-p`` names, else the first word."""
    named: list[str] = []
    index = 0
    if any(word in ("--no-install", "--no", "--offline") for word in words):
        return
    while index < len(words):
        word = words[index]
        if word in ("-p", "--package", "-c", "--call") and index + 1 < len(words):
            if word in ("-p", "--package"):
                named.append(words[index + 1])
            index += 2
            continue
        if word.startswith("--package="):
            named.append(word.partition("=")[2])
        elif word in _NODE_VALUES:
            index += 1
        elif not word.startswith("-"):
            if not named:
                named.append(word)
            break
        index += 1
    for package in map(_clean, named):
        if (
            package
            and package.lower() not in _PROSE
            and _PACKAGE.fullmatch(package)
            and not _is_local(package)
            and not _node_is_pinned(package)
        ):
            yield f"{tool} {package}"


def _node(tool: str, verb: str, rest: list[str], words: list[str], files: Mapping[str, str]) -> Iterator[str]:
    if verb in ("exec", "x", "dlx") and not (tool in ("pnpm", "yarn") and verb == "exec"):
        yield from _node_run(f"{tool} {verb}", [word for word in rest if word != "--"])
        return
    if verb in ("create", "init") and rest:
        package = next((_clean(word) for word in rest if not word.startswith("-")), "")
        if (
            package
            and package.lower() not in _PROSE
            and not _node_is_pinned(package)
            and _PACKAGE.fullmatch(package)
            and verb == "create"
        ) or (
            verb == "init"
            and package
            and not _node_is_pinned(package)
            and package.lower() not in _PROSE
            and tool == "npm"
        ):
            yield f"{tool} {verb} {package}"
        return
    if verb not in ("install", "i", "add", "in", "isntall") and not (tool == "yarn" and not words) and verb != "global":
        return
    if any(word in ("--frozen-lockfile", "--immutable", "--offline") for word in words):
        return
    if verb == "global":
        rest = rest[1:]
    packages = list(_packages(rest, _NODE_VALUES))
    for package in packages:
        if not _node_is_pinned(package):
            yield f"{tool} install {package}"
    bare = not [word for word in rest if not word.startswith("-")] or (
        rest and _clean(rest[0]).lower() in _PROSE and not packages
    )
    if bare and verb != "add" and tool != "yarn" and not any(path.rpartition("/")[2] in _LOCKS for path in files):
        yield f"{tool} install"


def _python_is_pinned(package: str) -> bool:
    if "://" in package:
        return _COMMIT.search(package) is not None or _HASH.search(package) is not None
    return (
        _PYTHON_EXACT.fullmatch(package) is not None
        and not package.endswith("*")
        and "<" not in package
        and ">" not in package
    )


def _python_run(tool: str, words: list[str], *, every: bool = False) -> Iterator[str]:
    """``uvx``, ``pipx run``: what ``--from``, ``--spec`` and ``--with`` name, else the first word."""
    named: list[str] = []
    first = ""
    index = 0
    while index < len(words):
        word = words[index]
        option, equals, value = word.partition("=")
        if option in ("--from", "--spec", "--with", "-w"):
            if not equals:
                index += 1
                value = words[index] if index < len(words) else ""
            named.append(value)
            if option in ("--from", "--spec"):
                first = value
        elif option in _PIP_VALUES and not equals:
            index += 1
        elif not word.startswith("-"):
            if not first:
                named.append(word)
                first = word
            if not every:
                break
            named.append(word)
        index += 1
    for package in dict.fromkeys(_clean(word) for part in named for word in part.split(",")):
        if (
            package
            and package.lower() not in _PROSE
            and _PACKAGE.fullmatch(package)
            and not _is_local(package)
            and not _python_is_pinned(package)
        ):
            yield f"{tool} {package}"


def _uv(verb: str, rest: list[str], files: Mapping[str, str]) -> Iterator[str]:
    if verb == "tool" and rest[:1] and rest[0] in ("run", "install"):
        yield from _python_run(f"uv tool {rest[0]}", rest[1:])
    elif verb == "pip" and "install" in rest[:1]:
        yield from _pip("uv pip install", rest[1:], files)
    elif verb == "add":
        yield from _pip("uv add", rest, files)
    elif verb == "run":
        for word, after in pairwise(rest):
            if word == "--with":
                for package in after.split(","):
                    if package and not _is_local(package) and not _python_is_pinned(_clean(package)):
                        yield f"uv run --with {_clean(package)}"


def _pip(tool: str, rest: list[str], files: Mapping[str, str]) -> Iterator[str]:
    if "--require-hashes" in rest or "--no-index" in rest:
        return
    for word, after in pairwise(rest):
        if word in ("-r", "--requirement"):
            path = _clean(after)
            if not _is_pinned_file(path, files):
                yield f"{tool} -r {path}"
        elif word in ("-e", "--editable") and "://" in after and not _COMMIT.search(after):
            yield f"{tool} -e {_clean(after)}"
    for package in _packages(rest, _PIP_VALUES):
        if not _python_is_pinned(package):
            yield f"{tool} {package}"


def _is_pinned_file(path: str, files: Mapping[str, str]) -> bool:
    """Whether the item has this requirements file and each line in it is an exact version or has a hash."""
    name = path.removeprefix("./")
    text = next((text for known, text in files.items() if known == name or known.endswith("/" + name)), None)
    if text is None:
        return False
    lines = [line.partition(" #")[0].strip().rstrip("\\").strip() for line in text.split("\n")]
    return all(
        not line
        or line.startswith(("#", "--hash", "-i ", "--index-url", "--require-hashes"))
        or _python_is_pinned(line.split(";")[0].split(" --hash")[0].strip())
        for line in lines
    )


def _go(verb: str, rest: list[str]) -> Iterator[str]:
    for word in rest:
        module = _clean(word)
        if word.startswith("-"):
            continue
        if "@" in module:
            if not _GO_EXACT.fullmatch(module) and not re.search(r"@[0-9a-f]{12,40}$", module):
                yield f"go {verb} {module}"
        elif verb == "get" and "." in module.partition("/")[0] and "/" in module and not module.startswith("."):
            yield f"go {verb} {module}"
        if verb == "run":
            return


def _cargo(verb: str, rest: list[str]) -> Iterator[str]:
    joined = " ".join(rest)
    if (
        "--path" in rest
        or re.search(r"--version[= ]=?\d+\.\d+\.\d+", joined)
        or re.search(r"--rev[= ][0-9a-f]{40}\b", joined)
    ):
        return
    git = next((after for word, after in pairwise(rest) if word == "--git"), "")
    if git:
        yield f"cargo {verb} --git {_clean(git)}"
        return
    for package in _packages(
        rest,
        word_set("--version --git --rev --branch --tag --features -F --root --target --vers -p --package"),
    ):
        if not re.search(r"@=?\d+\.\d+\.\d+", package):
            yield f"cargo {verb} {package}"
