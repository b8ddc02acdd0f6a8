"""Who may administer the registry over HTTP, and how far.

Rules:

1. A call needs a token with the scope ``admin`` that belongs to the operator: to no account, and bound to no namespace.
   On an account's token the same scope concerns stages alone, because every member can make such a token.
2. Such a token can look at everything and take everything away. It can give only what it has itself: a call that lets
   someone do something needs the scope for it as well. So a stolen token with ``admin`` alone cannot be turned into one
   that reads or publishes.
3. A token that it creates does not outlive it: it expires no later, and is revoked with it.
"""

from __future__ import annotations

from collections.abc import Iterable

from registry_server.accounts.scopes import DEFAULT_SCOPES, SCOPES
from registry_server.accounts.times import after, read_span, seconds_between
from registry_server.accounts.tokens import LIFETIME, Account
from rye.errors import RyeError

SCOPES_OF_ACCOUNT = DEFAULT_SCOPES
"""What someone who can sign in may give their own tokens."""
SCOPES_OF_ROLE = {"owner": DEFAULT_SCOPES, "publisher": DEFAULT_SCOPES, "reader": ("read",)}


def require_operator(account: Account) -> None:
    """Rule 1. Raises RyeError ``insufficient-scope``, ``not-an-operator``."""
    if not account.has("admin"):
        raise RyeError(
            "insufficient-scope",
            f"The token {account.name} has the scopes {', '.join(account.scopes)}; this needs admin.",
            "On the server, create a token with it: rye-registry token create NAME --scope admin",
        )
    if account.account is not None or account.namespaces:
        whose = "belongs to an account" if account.account is not None else f"is for {', '.join(account.namespaces)}"
        raise RyeError(
            "not-an-operator",
            f"The token {account.name} {whose}, so it cannot administer the registry.",
            "On the server, create a token without --account and --namespace: rye-registry token create NAME --scope admin",
        )


def require_what_it_gives(account: Account, scopes: Iterable[str]) -> None:
    """Rule 2. ``scopes``: what someone could do after the call. Raises RyeError ``insufficient-scope``."""
    wanted = set(scopes)
    missing = [scope for scope in SCOPES if scope in wanted and not account.has(scope)]
    if missing:
        scopes_needed = ",".join(["admin", *missing])
        raise RyeError(
            "insufficient-scope",
            f"This would let someone use {', '.join(missing)}, which the token {account.name} cannot do itself.",
            f"Run the command on the server, or use a token that can: rye-registry token create NAME --scope {scopes_needed}",
        )


def lifetime(account: Account, wanted: str | None, now: str) -> float | None:
    """Rule 3: the seconds of a new token, None for unlimited. ``wanted`` None: the usual time, or what is left.

    Raises RyeError ``invalid-value``.
    """
    seconds = read_span(wanted or LIFETIME)
    if account.expires is None:
        return seconds
    if seconds is not None and after(now, seconds) <= account.expires:
        return seconds
    if wanted is None:
        return seconds_between(now, account.expires)
    raise RyeError(
        "invalid-value",
        f"The new token would outlive {account.name}, which expires at {account.expires}.",
        "Choose a shorter time, or leave it out.",
        what="time span",
    )
