"""Programs that fetch and apply what an address names: charts, manifests, flakes, extensions, modules, playbooks, items.

A full commit or a digest in the address pins it. A name from the program's own index counts only where that index has no versions
in the command (extensions).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from rye.text.facts.packages.arguments import COMMIT, clean
from rye.text.facts.tables import word_set


class Applied(NamedTuple):
    """How one program is told what to fetch: its first words, and the argument that names it."""

    verbs: frozenset[str]
    """One of them is among the words before the argument. Empty if the program does nothing else."""
    argument: re.Pattern[str]


_URL: Final = re.compile(r"(?:[\w+.-]{2,20}::)?(?:git\+)?(?:https?|ssh|git|oci)://\S{3,400}")
_FLAKE: Final = re.compile(r"(?:git\+)?(?:github|gitlab|sourcehut|https?|ssh|tarball):\S{3,400}")
_EXTENSION: Final = re.compile(r"[A-Za-z0-9][\w-]{0,60}\.[A-Za-z][\w.-]{0,80}|https?://\S{3,400}")
_REPOSITORY: Final = re.compile(r"https?://\S{3,400}|[\w.-]{1,60}/[\w.-]{1,100}")
_MARKETPLACE: Final = re.compile(r"https?://\S{3,400}|[\w.-]{1,60}/[\w.-]{1,100}$")
_SKILL: Final = re.compile(r"@?[A-Za-z0-9][\w./-]{1,100}")
_FROM_MODULE: Final = re.compile(r"-{1,2}from-module=(\S{3,400})")

_APPLIED: Final[dict[str, Applied]] = {
    "nix": Applied(word_set("run shell develop build profile"), _FLAKE),
    "gh": Applied(word_set("extension"), _REPOSITORY),
    "kubectl": Applied(word_set("apply create replace"), _URL),
    "oc": Applied(word_set("apply create replace"), _URL),
    "helm": Applied(word_set("install upgrade template pull"), _URL),
    "terraform": Applied(word_set("init get"), _FROM_MODULE),
    "tofu": Applied(word_set("init get"), _FROM_MODULE),
    "ansible-pull": Applied(frozenset(), _URL),
    "ansible-galaxy": Applied(word_set("install"), _URL),
    "rye": Applied(word_set("add"), _URL),
    "claude": Applied(word_set("add"), _MARKETPLACE),
    "gemini": Applied(word_set("install"), _URL),
    "skills": Applied(word_set("add"), _REPOSITORY),
    "rpm": Applied(frozenset(), _URL),
    **dict.fromkeys(
        ("dnf", "yum", "tdnf", "microdnf", "zypper", "flatpak", "pacman"),
        Applied(word_set("install localinstall reinstall in -U add update upgrade"), _URL),
    ),
    "clawhub": Applied(word_set("install"), _SKILL),
    **dict.fromkeys(
        ("code", "code-insiders", "codium", "cursor", "windsurf"), Applied(word_set("--install-extension"), _EXTENSION)
    ),
}
TOOLS: Final = frozenset(_APPLIED)
_WORDS_LOOKED_AT: Final = 16
_VERSION = re.compile(r"@\d+\.\d+\.\d+")
_NOT_NAMES: Final = word_set("install upgrade list remove search create")


def unpinned(tool: str, words: list[str], _: Mapping[str, str]) -> Iterator[str]:
    """Yield what a command line of ``tool`` fetches and applies without a fixed content."""
    row = _APPLIED[tool]
    said = "" if row.verbs else "apply"
    for word in words[:_WORDS_LOOKED_AT]:
        bare = clean(word)
        if not said:
            said = bare if bare in row.verbs else ""
            if not said and not word.startswith("-") and tool != "gh":
                continue
            if not said:
                return
            continue
        if bare in _NOT_NAMES:
            continue
        match = row.argument.match(bare)
        if match is not None:
            address = match[match.lastindex or 0]
            if not (COMMIT.search(address) or _PINNED.search(address) or _VERSION.search(address)):
                yield (
                    f"{tool} {said} {address}".replace(" apply ", " ", 1)
                    if not row.verbs
                    else f"{tool} {said} {address}"
                )
            return


_PINNED = re.compile(r"(?:[?&]re[vf]=|/|@sha256:|[#@])[0-9a-f]{40,64}(?![0-9A-Za-z])")
