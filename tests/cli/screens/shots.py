"""The list of kept screens and their files: ``WIDTH/NAME.txt``, and ``WIDTH-color/NAME.txt`` with colours as tags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.cli.screens.people import LABORATORY, LONG, ScreenPeople
from tests.cli.screens.taking import take

FOLDER = Path(__file__).parent
WIDTHS = (60, 100, 200)
COLORED = 100
"""The width at which colours are kept as well."""


@dataclass(frozen=True)
class Screen:
    """A command line and the user who types it, a field of :class:`ScreenPeople`. Questions are answered with no."""

    who: str
    words: tuple[str, ...]


def _screen(who: str, words: str) -> Screen:
    return Screen(who, tuple(words.split()))


_DRAFTS = ".ai/directives"
SCREENS = {
    "add": _screen("clean", f"add acme/{LONG} skill:acme/pdf-notes {LABORATORY}/search/wide"),
    "add-unsigned": _screen("clean", "add ../../drafts checklist"),
    "add-harmless": _screen("clean", f"add skill:{LABORATORY}/summarize"),
    "audit": _screen("shop", "audit"),
    "check": _screen("shop", "check"),
    "deploy": _screen("healthy", "deploy --dry-run"),
    "deploy-status": _screen("healthy", "deploy status"),
    "doctor": _screen("shop", "doctor"),
    "error-choice": _screen("healthy", f"add {LABORATORY}/search/literature@1.0.0"),
    "error-command": _screen("shop", "instal"),
    "error-edited": _screen("shop", "deploy --target claude"),
    "error-name": _screen("clean", "add acme/ops/bakcup"),
    "error-option": _screen("clean", "update --dry"),
    "explain": _screen("clean", "explain advisory"),
    "facts": _screen("author", f"facts {_DRAFTS}"),
    "help": _screen("clean", "--help"),
    "help-add": _screen("clean", "add --help"),
    "hooks": _screen("author", f"hooks list {_DRAFTS}/{LONG}.md"),
    "info": _screen("clean", f"info acme/{LONG}"),
    "info-advisory": _screen("clean", f"info {LABORATORY}/search/wide"),
    "info-yanked": _screen("clean", f"info {LABORATORY}/search/literature@1.0.0"),
    "install-unseen": _screen("cloned", "install"),
    "list": _screen("shop", "list"),
    "list-unverified": _screen("cloned", "list"),
    "outdated": _screen("shop", "outdated"),
    "permissions": _screen("author", f"permissions show {_DRAFTS}/{LONG}.md"),
    "permissions-diff": _screen("author", f"permissions diff {_DRAFTS}/ops/cleanup.md {_DRAFTS}/{LONG}.md"),
    "publish": _screen("author", "publish --allow-uncommitted"),
    "search": _screen("shop", "search rotate"),
    "search-nothing": _screen("shop", "search zzyzx --kind skill"),
    "tree": _screen("shop", "tree"),
    "tree-unverified": _screen("cloned", "tree"),
    "update": _screen("healthy", "update"),
    "validate": _screen("shop", "validate"),
    "verify": _screen("shop", "verify"),
    "why": _screen("shop", "why tool:acme/vault/rotate"),
}


def variants() -> Iterator[tuple[str, int, bool]]:
    """Yield each folder's name, its width and whether it has colours."""
    for width in WIDTHS:
        yield str(width), width, False
    yield f"{COLORED}-color", COLORED, True


def shot(people: ScreenPeople, name: str, width: int, color: bool) -> str:
    """Take a screen."""
    screen = SCREENS[name]
    return take(getattr(people, screen.who), screen.words, width, color=color)


def kept(variant: str, name: str) -> Path:
    """The file of a screen."""
    return FOLDER / variant / f"{name}.txt"
