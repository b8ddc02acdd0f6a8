"""The pages below ``/-/account``: what each shows. Pure; :mod:`registry_server.api.account_pages` has the routes.

They are HTML only, made for one reader and never kept. Nothing on them publishes: a stage is signed with a key, on the
maintainer's own machine, and the page shows the command for it.
"""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct

from registry_server.accounts.device_logins import Waiting
from registry_server.accounts.members import Member
from registry_server.accounts.roles import ROLES, Given
from registry_server.accounts.scopes import SCOPES
from registry_server.accounts.tokens import LIFETIME, Account, is_over
from registry_server.pages import frame
from registry_server.pages.addresses import namespace_path
from registry_server.pages.frame import Headers, Page
from registry_server.pages.look import Site
from registry_server.pages.reads import Now
from rye.registry.protocol.wire import StageRow

HOME = "/-/account"
PLACES = (
    (HOME, "Overview"),
    (f"{HOME}/tokens", "Tokens"),
    (f"{HOME}/stages", "Stages"),
    (f"{HOME}/teams", "Teams"),
)
_REVOKED_SHOWN = 10
"""Tokens that are worthless now, of which the newest are listed."""
HEADERS: Headers = (
    *((name, value) for name, value in frame.headers("html", is_private=True) if name != "referrer-policy"),
    # Under `no-referrer` a browser hides where a form comes from, even from ourselves.
    ("referrer-policy", "same-origin"),
)


class Signed(Struct, frozen=True):
    """What every page of somebody who is signed in has."""

    name: str
    proof: str
    """What each form carries."""
    here: str
    """Which of the places this is."""
    places: tuple[tuple[str, str], ...] = PLACES


class SignInView(Struct, frozen=True):
    """``issuer`` None: links of the operator alone sign people in."""

    issuer: str | None
    code: str = ""
    """Of a program that waits to be confirmed afterwards."""
    is_open: bool = True
    """Whether the registry can be read without signing in."""


class LinkView(Struct, frozen=True):
    name: str


class RoleRow(Struct, frozen=True):
    namespace: str
    role: str
    path: str
    """Of the namespace's page."""
    manage: str | None
    """Where its roles are managed; None: only its owners do."""


class HomeView(Struct, frozen=True):
    signed: Signed
    issuer: str
    """Who vouches for the person; empty: the operator."""
    account: str
    roles: tuple[RoleRow, ...]
    waiting: int
    """Stages that wait for somebody's decision, this person's among them."""
    tokens: int
    teams: int


class TokenRow(Struct, frozen=True):
    id: str
    name: str
    scopes: tuple[str, ...]
    namespaces: tuple[str, ...]
    expires: datetime | None
    last_used: datetime | None
    state: str
    """``active``, ``expired`` or ``revoked``."""


class TokensView(Struct, frozen=True):
    signed: Signed
    tokens: tuple[TokenRow, ...]
    scopes: tuple[tuple[str, str], ...]
    namespaces: tuple[str, ...]
    """Those in which the person has a role."""
    lifetime: str
    most: int
    made: str = ""
    """The token that was made just now: the only time that it is shown."""


class TeamRow(Struct, frozen=True):
    name: str
    members: tuple[str, ...]
    roles: tuple[tuple[str, str], ...]
    """Namespace and role."""


class TeamsView(Struct, frozen=True):
    signed: Signed
    teams: tuple[TeamRow, ...]


class HolderRow(Struct, frozen=True):
    """Who has a role. ``field``: what the form to take it away says."""

    label: str
    detail: str
    role: str
    account: str
    team: str


class RolesView(Struct, frozen=True):
    signed: Signed
    namespace: str
    path: str
    holders: tuple[HolderRow, ...]
    choices: tuple[str, ...] = ROLES


class DeviceView(Struct, frozen=True):
    signed: Signed
    code: str
    waiting: Waiting | None
    lifetime: str
    decided: str = ""
    """``approved``, ``denied`` or ``gone``, once the form was sent."""


class StagesView(Struct, frozen=True):
    signed: Signed
    stages: tuple[StageRow, ...]


# -- pages ---------------------------------------------------------------------------------------------------------------


def sign_in_page(view: SignInView) -> Page:
    return _page("sign_in", view, "Sign in")


def link_page(view: LinkView) -> Page:
    return _page("link", view, "Sign in with a link")


def home_page(
    signed: Signed, member: Member, held: tuple[tuple[str, str], ...], waiting: int, tokens: int, teams: int
) -> Page:
    rows = tuple(
        RoleRow(
            namespace,
            role,
            namespace_path(namespace),
            f"{HOME}/namespaces/{namespace}" if role == "owner" else None,
        )
        for namespace, role in held
    )
    view = HomeView(signed, member.issuer, member.id, rows, waiting, tokens, teams)
    return _page("home", view, "Your account")


def tokens_page(
    signed: Signed, own: list[Account], held: tuple[tuple[str, str], ...], most: int, now: str, made: str = ""
) -> Page:
    """``own``: the oldest first."""
    rows = [
        TokenRow(
            one.token,
            one.name,
            one.scopes,
            one.namespaces,
            moment(one.expires),
            moment(one.last_used),
            "revoked" if one.revoked is not None else "expired" if is_over(one.expires, now) else "active",
        )
        for one in reversed(own)
    ]
    active = [row for row in rows if row.state == "active"]
    over = [row for row in rows if row.state != "active"][:_REVOKED_SHOWN]
    scopes, namespaces = tuple(SCOPES.items()), tuple(namespace for namespace, _ in held)
    view = TokensView(signed, (*active, *over), scopes, namespaces, LIFETIME, most, made)
    return _page("tokens", view, "Tokens")


def teams_page(signed: Signed, teams: list[TeamRow]) -> Page:
    return _page("teams", TeamsView(signed, tuple(teams)), "Teams")


def roles_page(signed: Signed, namespace: str, given: list[Given], people: dict[str, Member]) -> Page:
    """``people``: accounts by name."""
    rows = []
    for one in given:
        if one.account is not None:
            member = people[one.account]
            detail = f"{member.issuer} {member.subject}" if member.issuer else "made by the operator"
            rows.append(HolderRow(member.name, f"{member.id}, {detail}", one.role, member.id, ""))
        else:
            rows.append(HolderRow(f"team {one.team}", "", one.role, "", str(one.team)))
    view = RolesView(signed, namespace, namespace_path(namespace), tuple(rows))
    return _page("roles", view, f"Roles in {namespace}")


def device_page(view: DeviceView) -> Page:
    return _page("device", view, "Sign a program in")


def stages_page(signed: Signed, rows: list[StageRow]) -> Page:
    return _page("stages", StagesView(signed, tuple(rows)), "Stages to approve")


def html(page: Page, site: Site, now: datetime) -> bytes:
    return frame.render(page, "html", site, Now(now)).whole(site)


def moment(text: str | None) -> datetime | None:
    """A time of the accounts' tables."""
    return None if text is None else datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def _page(template: str, view: Struct, title: str) -> Page:
    path = HOME
    return Page(f"account/{template}.html", view, title, "An account of this registry.", path, is_indexed=False)
