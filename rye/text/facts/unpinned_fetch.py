"""``unpinned-fetch``: code fetched by a name that may mean something else tomorrow.

Pinned means an exact version from a package index, ``--require-hashes``, an image digest, a full commit (also a clone followed by
its checkout), ``npm ci`` and similar, and anything in the project. Distributions' own archives (``apt-get``) are exempt: they are
signed as a whole. ``packages`` reads the command lines of package managers; this file decides for a whole file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rye.limits import FACTS
from rye.text.facts import installing_calls, manifests, packages, shell
from rye.text.facts.fact import UNPINNED_FETCH
from rye.text.facts.packages.containers import is_open_image
from rye.text.facts.packages.repositories import COMMIT
from rye.text.facts.shell import plain, shown
from rye.text.facts.source import RuleMatch, Source
from rye.text.facts.tables import triggers, word_set

_TRIGGERS = triggers(
    packages.TOOLS - word_set("go python python3 py uv docker git gh code cursor rye nix oc claude gemini skills")
)
#: Very common words, each with the strings that the text must contain for them to fetch something.
_SPELLINGS: Final = (
    ((b"go run ", b"go install ", b"go get "), triggers(("go",))),
    ((b"-m pip", b"-m uv"), triggers(("python", "python3", "py"))),
    ((b"uv pip ", b"uv add ", b"uv tool ", b"uv run ", b"uv.exe "), triggers(("uv",))),
    ((b"clone", b"submodule"), triggers(("git", "gh", "checkout"))),
    ((b"ansible-pull", b"ansible-galaxy"), triggers(("ansible",))),
    ((b"gh extension",), triggers(("gh",))),
    ((b"--install-extension",), triggers(("code", "cursor"))),
    ((b"rye add ",), triggers(("rye",))),
    ((b"marketplace add",), triggers(("claude",))),
    ((b"extensions install",), triggers(("gemini",))),
    ((b"skills add",), triggers(("skills",))),
    ((b"nix run", b"nix shell", b"nix develop", b"nix build", b"nix profile"), triggers(("nix",))),
    ((b"oc apply", b"oc create", b"oc replace"), triggers(("oc",))),
    (
        (b"docker run ", b"docker pull ", b"docker create ", b"docker container ", b"docker image ", b"docker -"),
        triggers(("docker",)),
    ),
)
_VERB = re.compile(
    r"npx|uvx|bunx|pnpx|\b(?:install|binstall|reinstall|add|run|get|clone|checkout|submodule|reset|switch|fetch|i|x|dlx|exec|"
    r"create|init|pull|require|tap|global|wheel|download|inject|in|apply|"
    r"replace|upgrade|template|shell|develop|build|profile|extension)\b|easy_install|ansible-pull"
)
_MANIFEST_WORDS = triggers("dependencies devdependencies script src from import")
_IMAGE_TRIGGERS = triggers(["image", "from", "uses", "rev", "git_url"])
_YAML_IMAGE = re.compile(
    r"^[ \t]*(?:- )?image[ \t]*:[ \t]*[\"']?([\w./:@${}-]{2,200})[\"']?[ \t]*(?:#.*)?$", re.MULTILINE
)
_FROM = re.compile(
    r"^[ \t]*FROM[ \t]+(?:--platform=\S{1,60}[ \t]+)?([\w./:@${}-]{2,200})(?:[ \t]+AS[ \t]+([\w-]{1,60}))?[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
_USES = re.compile(r"^[ \t]*(?:- )?uses[ \t]*:[ \t]*[\"']?([\w.-]{1,60}/[\w./-]{1,100})@([\w./-]{1,100})", re.MULTILINE)
_USES_IMAGE = re.compile(r"^[ \t]*(?:- )?uses[ \t]*:[ \t]*[\"']?docker://([\w./:@-]{2,200})", re.MULTILINE)
_CONFIGURED_TOOLS = triggers("npx uvx bunx pipx uv docker podman pnpm bun npm deno yarn")
_CONFIGURED = re.compile(
    r"\b(?:command|cmd)[\"']?\s{0,8}[:=]\s{0,8}[\"']?(npx|uvx|bunx|pipx|uv|docker|podman|pnpm|bun|npm|deno|"
    r"yarn)[\"']?\s{0,40},?\s{0,40}"
    r"[\"']?args[\"']?\s{0,8}[:=]\s{0,40}(?:\[([^\]]{0,600})\]|((?:\s{0,40}-\s[^\n]{1,200}\n?){1,20}))"
)


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield every fetch by a name that is not pinned."""
    words = _TRIGGERS
    for spellings, more in _SPELLINGS:
        if source.has(more) and any(spelling in source.lowered for spelling in spellings):
            words |= more
    if source.has(words):
        yield from _commands(source, words)
    if b"args" in source.words and source.has(_CONFIGURED_TOOLS):
        for match in _CONFIGURED.finditer(source.text):
            arguments = match[2] if match[2] is not None else match[3].replace("- ", " ")
            text = plain(f"{match[1]} {arguments}".replace(",", " ").replace("\n", " "))
            for command, _ in shell.walk(shell.read(text)):
                for value in _command(command, source):
                    line = source.line_at(match.start())
                    yield RuleMatch(UNPINNED_FETCH, value, line, match.start() - source.text_starts[line])
    if source.has(_IMAGE_TRIGGERS):
        yield from _files(source)
    if source.has(_MANIFEST_WORDS):
        yield from manifests.find(source)
    yield from installing_calls.find(source)


def _commands(source: Source, words: frozenset[bytes]) -> Iterator[RuleMatch]:
    clones: list[tuple[RuleMatch, str]] = []
    for line in source.logical_lines(words):
        if _VERB.search(line.text) is None:
            continue
        for commands in source.commands(line):
            for command, _ in commands:
                if not command.words:
                    continue
                names = [shell.program(word.text) for word in command.words]
                applied = _applied_input(command, names)
                if applied:
                    yield RuleMatch(UNPINNED_FETCH, applied, *source.place(line, command.words[0].start, names[0]))
                if "git" in names:
                    after = command.texts()[names.index("git") + 1 :]
                    if any(COMMIT.fullmatch(word) for word in after):
                        clones = _without_pinned(clones, after)
                        continue
                for value in _command(command, source, names):
                    last = value.rpartition(" ")[2]
                    found = RuleMatch(
                        UNPINNED_FETCH, value, *source.place(line, command.words[0].start, _word_in(value))
                    )
                    if value.startswith(("git clone ", "gh repo clone ")):
                        clones.append((found, last.rstrip("/").rpartition("/")[2].removesuffix(".git")))
                        if len(clones) > FACTS.saved_files:
                            yield clones.pop(0)[0]
                    else:
                        yield found
    for found, _ in clones:
        yield found


def _applied_input(command: shell.Command, names: list[str]) -> str:
    """``kubectl apply -f -`` and ``docker compose -f - up`` behind a pipe from an address, as one value; empty if it is none."""
    texts = command.texts()
    before = command.before
    if before is None or not _APPLIES.intersection(names[:2]) or "-" not in texts:
        return ""
    address = next((word.text for word in before.words if "://" in word.text), "")
    return (
        shown(f"{' '.join(texts[:4])} {address}")
        if address and texts[texts.index("-") - 1] in ("-f", "--filename", "--file")
        else ""
    )


_APPLIES: Final = word_set("kubectl oc docker podman docker-compose nerdctl k3s")


def _without_pinned(clones: list[tuple[RuleMatch, str]], words: list[str]) -> list[tuple[RuleMatch, str]]:
    """The clones that remain unpinned after this checkout of a full commit. It pins the clone it names, or the last one."""
    if not clones or not any(word in ("checkout", "reset", "switch", "clone", "fetch") for word in words):
        return clones
    named = {word.rstrip("/").rpartition("/")[2] for word in words}
    for index in range(len(clones) - 1, -1, -1):
        if clones[index][1] in named:
            return clones[:index] + clones[index + 1 :]
    return clones[:-1]


def _word_in(value: str) -> str:
    return value.split(" ", 1)[0]


def _command(command: shell.Command, source: Source, names: list[str] | None = None) -> Iterator[str]:
    texts = command.texts()
    before = ""
    for index, name in enumerate(names if names is not None else map(shell.program, texts)):
        before, said = name, before
        if name in packages.TOOLS and not _is_listed(texts, index) and (said, name) != ("uv", "pip"):
            arguments = [text.removeprefix("[") for text in texts[index + 1 :]]
            yield from packages.unpinned(name, arguments, source.files)


def _is_listed(texts: list[str], index: int) -> bool:
    """Whether a tool is only mentioned in a list of words: ``npx, uvx or pip``."""
    listed = texts[index].endswith(",") and not texts[index].startswith("[")
    return listed and index + 1 < len(texts) and not texts[index + 1].lstrip("[").startswith("-")


def _files(source: Source) -> Iterator[RuleMatch]:
    """Yield unpinned images and actions that a configuration names."""
    if b"image:" in source.lowered or b"image :" in source.lowered:
        for match in _YAML_IMAGE.finditer(source.text):
            if is_open_image(match[1]) and ("/" in match[1] or ":" in match[1]):
                yield _at(source, match, f"image {match[1]}")
    if b"rev" in source.words or b"git_url" in source.words:
        for match in _HOOKS_OF_BRANCH.finditer(source.text):
            yield _at(source, match, f"hooks {match[1]}")
    if b"from" in source.words and (b"dockerfile" in source.lowered or "file" in source.path.lower()):
        yield from _dockerfile(source)
    if b"uses:" in source.lowered or b"uses :" in source.lowered:
        for match in _USES.finditer(source.text):
            if not COMMIT.fullmatch(match[2]):
                yield _at(source, match, f"uses {match[1]}@{match[2]}")
        for match in _USES_IMAGE.finditer(source.text):
            if is_open_image(match[1]):
                yield _at(source, match, f"uses docker://{match[1]}")


#: A repository of hooks that follows a branch.
_HOOKS_OF_BRANCH = re.compile(
    r"\b(?:repo|git_url):[ \t]*[\"']?([^\s\"']{3,200})[\"']?[ \t]*\n"
    r"[ \t]*(?:rev|ref):[ \t]*[\"']?(?:main|master|HEAD|dev\w{0,10}|stable|latest|trunk|next)\b"
)


def _dockerfile(source: Source) -> Iterator[RuleMatch]:
    """Yield unpinned images that ``FROM`` names, except stages of the file itself."""
    path = source.path.lower()
    in_dockerfile = "dockerfile" in path or "containerfile" in path
    stages: set[str] = set()
    for match in _FROM.finditer(source.text):
        if in_dockerfile or _is_dockerfile_block(source, source.line_at(match.start())):
            if match[1].lower() not in stages and is_open_image(match[1]):
                yield _at(source, match, f"image {match[1]}")
            if match[2]:
                stages.add(match[2].lower())


def _is_dockerfile_block(source: Source, line: int) -> bool:
    return source.markdown and source.fences[line] in ("dockerfile", "docker", "containerfile")


def _at(source: Source, match: re.Match[str], value: str) -> RuleMatch:
    start = match.start(match.lastindex or 0)
    line = source.line_at(start)
    return RuleMatch(UNPINNED_FETCH, shown(value), line, start - source.text_starts[line])
