"""The page that asks before something is done that cannot be undone: revoking a token, taking or lowering a role, rejecting a
release that waits. Pure.

One page for all of them: what is about to be done to what, its effect, one button that does it and a link back. The form goes to
the same route as ever, with the proof of the session; a link to the page changes nothing.
"""

from __future__ import annotations

from msgspec import Struct

from registry_server.accounts.roles import ROLES
from registry_server.accounts.tokens import Account
from registry_server.pages.account import HOME, HolderRow, Signed, account_page
from registry_server.pages.page_layout import Page
from rye.registry.protocol.wire import StageRow


class ConfirmView(Struct, frozen=True, kw_only=True):
    """What is asked."""

    signed: Signed
    question: str
    facts: tuple[tuple[str, str], ...] = ()
    """What it is about: name and text."""
    effect: str
    path: str
    """Where the form goes."""
    fields: tuple[tuple[str, str], ...] = ()
    """What it sends besides the proof of the session."""
    asks_reason: bool = False
    yes: str
    """The words of the button that does it."""
    back: str
    no: str
    """The words of the link that leads back."""


def revoking_page(signed: Signed, token: Account) -> Page:
    """Ask whether to revoke a token."""
    facts = (
        ("ID", token.token),
        ("Scopes", " ".join(token.scopes)),
        ("Namespaces", ", ".join(token.namespaces) or "all of yours"),
        ("Expires", _day(token.expires)),
        ("Last used", _day(token.last_used)),
    )
    return account_page(
        "confirm",
        ConfirmView(
            signed=signed,
            question=f"Revoke the token {token.name}?",
            facts=facts,
            effect="Programs that use it are refused from now on. This cannot be undone; you can create another token.",
            path=f"{HOME}/tokens/{token.token}/revoke",
            yes="Revoke it",
            back=f"{HOME}/tokens",
            no="Keep it",
        ),
        "Revoke a token",
    )


def taking_page(signed: Signed, namespace: str, holder: HolderRow) -> Page:
    """Ask whether to remove a role."""
    who = f"Every member of {holder.label} loses" if holder.team else f"{holder.label} loses"
    return account_page(
        "confirm",
        ConfirmView(
            signed=signed,
            question=f"Remove {holder.label} from {namespace}?",
            facts=_of(holder),
            effect=f"{who} what the role {holder.role} allows here, at once. An owner can give it again.",
            path=f"{HOME}/namespaces/{namespace}/take",
            fields=_fields(account=holder.account, team=holder.team),
            yes="Remove the role",
            back=f"{HOME}/namespaces/{namespace}",
            no="Keep it",
        ),
        "Remove a role",
    )


def lowers(before: str | None, role: str) -> bool:
    """Whether a role allows less than the one before it."""
    return before in ROLES and role in ROLES and ROLES.index(role) > ROLES.index(before)


def lowering_page(signed: Signed, namespace: str, holder: HolderRow, role: str) -> Page:
    """Ask whether to give a holder of a role one that allows less."""
    return account_page(
        "confirm",
        ConfirmView(
            signed=signed,
            question=f"Make {holder.label} {role} in place of {holder.role}?",
            facts=_of(holder),
            effect=f"The role {role} takes the place of {holder.role} in {namespace}, and allows less.",
            path=f"{HOME}/namespaces/{namespace}/give",
            fields=_fields(account=holder.account, team=holder.team, role=role, former=holder.role),
            yes="Change the role",
            back=f"{HOME}/namespaces/{namespace}",
            no=f"Keep {holder.role}",
        ),
        "Change a role",
    )


def rejecting_page(signed: Signed, stage: StageRow) -> Page:
    """Ask whether, and why, to reject a release that waits."""
    return account_page(
        "confirm",
        ConfirmView(
            signed=signed,
            question=f"Reject {stage.kind} {stage.name} {stage.version}?",
            facts=(("Signatures", f"{stage.signatures} of {stage.needed}"), ("Staged by the token", stage.by)),
            effect="Nobody can approve it any more. Its version can still be published.",
            path=f"{HOME}/stages/{stage.id}/reject",
            asks_reason=True,
            yes="Reject it",
            back=f"{HOME}/stages/{stage.id}",
            no="Let it wait",
        ),
        "Reject a release",
    )


def _fields(**fields: str) -> tuple[tuple[str, str], ...]:
    return tuple(fields.items())


def _of(holder: HolderRow) -> tuple[tuple[str, str], ...]:
    return (("Role", holder.role), *((("Account", holder.detail),) if holder.detail else ()))


def _day(time: str | None) -> str:
    return time[:10] if time else "never"
