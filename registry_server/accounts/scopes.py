"""What a token may do. A scope grants access; whether a statement counts depends on its signature."""

from __future__ import annotations

from collections.abc import Iterable

from rye.errors import RyeError
from rye.registry.protocol.statements import Keyset, Logged, OwnerStatement, Release

SCOPES: dict[str, str] = {
    "read": "read what is not public",
    "publish": "upload releases that are signed",
    "stage": "upload releases that a maintainer has yet to sign",
    "yank": "yanks, deprecations, advisories",
    "claim": "claim namespaces, change their keys, say who their owners are",
    "admin": "look at stages, and reject them; on the operator's own tokens, administer the registry",
}
"""In display order."""
DEFAULT_SCOPES = ("read", "publish", "stage", "yank", "claim")
"""The default scopes of a token."""


def parse_scopes(given: Iterable[str]) -> tuple[str, ...]:
    """Parse scopes; each word can hold several, separated by commas or spaces. Raises RyeError ``invalid-value``."""
    words = [word for text in given for word in text.replace(",", " ").split()]
    for word in words:
        if word not in SCOPES:
            raise RyeError(
                "invalid-value", f"{word[:80]!r} is not a scope.", f"Scopes: {', '.join(SCOPES)}.", what="scope"
            )
    return tuple(scope for scope in SCOPES if scope in words)


def scope_of(statement: Logged) -> str:
    """The scope that a token needs to send a statement."""
    if isinstance(statement, Release):
        return "publish"
    if isinstance(statement, Keyset | OwnerStatement):
        return "claim"
    return "yank"
