"""The content of the pages below ``/-/account``. Pure; the routes are in :mod:`registry_server.api.account_pages`.

These pages are HTML only, made for one reader and never cached. They cannot publish: maintainers sign a stage with a
key on their own machine, and the page shows the command.
"""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct

from registry_server.accounts.device_logins import WaitingLogin
from registry_server.accounts.members import AccountMember
from registry_server.accounts.roles import ROLES, Given, Owning
from registry_server.accounts.scopes import SCOPES
from registry_server.accounts.tokens import LIFETIME, Account, is_over
from registry_server.pages import page_layout
from registry_server.pages.addresses import namespace_path
from registry_server.pages.page_context import Now, Site
from registry_server.pages.page_layout import Headers, Page
from rye.registry.protocol.wire import StageRow

HOME = "/-/account"
PLACES = (
    (HOME, "Overview"),
    (f"{HOME}/tokens", "Tokens"),
    (f"{HOME}/stages", "Stages"),
    (f"{HOME}/teams", "Teams"),
)
_REVOKED_SHOWN = 10
"""How many expired or revoked tokens are listed, newest first."""
HEADERS: Headers = (
    *((name, value) for name, value in page_layout.headers("html", is_private=True) if name != "referrer-policy"),
    # With `no-referrer`, browsers would not tell us that a form came from our own page. With `same-origin`, a link that signs
    # somebody in would be in the proxy's log as soon as the page is looked at: as the referrer of its style sheet.
    ("referrer-policy", "strict-origin"),
)


class Signed(Struct, frozen=True):
    """What every page of a signed-in person has."""

    name: str
    proof: str
    """The anti-forgery proof that every form carries."""
    here: str
    """The path of the current tab."""
    places: tuple[tuple[str, str], ...] = PLACES


class SignInView(Struct, frozen=True):
    """The sign-in page. ``issuer`` None: people can sign in only with a link from the operator."""

    issuer: str | None
    code: str = ""
    """The code of a program to confirm after signing in."""
    is_open: bool = True
    """Whether the registry can be read without signing in."""
    back: str = ""
    """The path of the page to return to."""


class LinkView(Struct, frozen=True):
    """The page behind a sign-in link. ``name``: the account's name."""

    name: str


class RoleRow(Struct, frozen=True):
    """A role of the signed-in person."""

    namespace: str
    role: str
    path: str
    """The path of the namespace's page."""
    manage: str | None
    """The path of the page that manages its roles; None: the person is not an owner."""


class HomeView(Struct, frozen=True, kw_only=True):
    """The account's overview."""

    signed: Signed
    issuer: str
    """The identity provider that the person signs in with; empty: the operator created the account."""
    account: str
    roles: tuple[RoleRow, ...]
    waiting: int
    """How many stages wait for a signature that this person may see."""
    tokens: int
    teams: int


class TokenRow(Struct, frozen=True, kw_only=True):
    """A token in the list."""

    id: str
    name: str
    scopes: tuple[str, ...]
    namespaces: tuple[str, ...]
    expires: datetime | None
    last_used: datetime | None
    state: str
    """``active``, ``expired`` or ``revoked``."""


class TokensView(Struct, frozen=True, kw_only=True):
    """The page that lists and creates tokens."""

    signed: Signed
    tokens: tuple[TokenRow, ...]
    scopes: tuple[tuple[str, str], ...]
    namespaces: tuple[str, ...]
    """The namespaces in which the person has a role."""
    lifetime: str
    most: int
    made: str = ""
    """The token that was just created. It is shown only this once."""


class TeamRow(Struct, frozen=True):
    """A team of the signed-in person."""

    name: str
    members: tuple[str, ...]
    roles: tuple[tuple[str, str], ...]
    """Pairs of namespace and role."""


class TeamsView(Struct, frozen=True):
    """The page of the person's teams."""

    signed: Signed
    teams: tuple[TeamRow, ...]


class HolderRow(Struct, frozen=True):
    """An account or team that has a role. ``account`` or ``team`` is sent to remove it; the other is empty."""

    label: str
    detail: str
    role: str
    account: str
    team: str
    is_last_owner: bool = False
    """Whether nobody would own the namespace without it."""


class RolesView(Struct, frozen=True):
    """The page on which owners manage a namespace's roles."""

    signed: Signed
    namespace: str
    path: str
    holders: tuple[HolderRow, ...]
    choices: tuple[str, ...] = ROLES


class DeviceView(Struct, frozen=True):
    """The page that confirms a program. ``waiting`` None: no program is waiting with this code."""

    signed: Signed
    code: str
    waiting: WaitingLogin | None
    lifetime: str
    decided: str = ""
    """``approved``, ``denied`` or ``gone`` after the form was sent; empty before."""


class StagesView(Struct, frozen=True):
    """The list of stages that wait for a signature."""

    signed: Signed
    stages: tuple[StageRow, ...]


# -- pages ---------------------------------------------------------------------------------------------------------------


def sign_in_page(view: SignInView) -> Page:
    """Return the page for people who are not signed in."""
    return account_page("sign_in", view, "Sign in")


def link_page(view: LinkView) -> Page:
    """Return the page behind a sign-in link."""
    return account_page("link", view, "Sign in with a link")


def home_page(
    signed: Signed, member: AccountMember, held: tuple[tuple[str, str], ...], waiting: int, tokens: int, teams: int
) -> Page:
    """Return the overview. ``held``: pairs of namespace and role; the numbers count stages, active tokens and teams."""
    rows = tuple(
        RoleRow(
            namespace,
            role,
            namespace_path(namespace),
            f"{HOME}/namespaces/{namespace}" if role == "owner" else None,
        )
        for namespace, role in held
    )
    view = HomeView(
        signed=signed, issuer=member.issuer, account=member.id, roles=rows, waiting=waiting, tokens=tokens, teams=teams
    )
    return account_page("home", view, "Your account")


def tokens_page(
    signed: Signed, own: list[Account], held: tuple[tuple[str, str], ...], most: int, now: str, made: str = ""
) -> Page:
    """Return the page of tokens. ``own``: the account's tokens, oldest first; ``made``: the token that was just
    created."""
    rows = [
        TokenRow(
            id=one.token,
            name=one.name,
            scopes=one.scopes,
            namespaces=one.namespaces,
            expires=moment(one.expires),
            last_used=moment(one.last_used),
            state="revoked" if one.revoked is not None else "expired" if is_over(one.expires, now) else "active",
        )
        for one in reversed(own)
    ]
    active = [row for row in rows if row.state == "active"]
    over = [row for row in rows if row.state != "active"][:_REVOKED_SHOWN]
    scopes, namespaces = tuple(SCOPES.items()), tuple(namespace for namespace, _ in held)
    view = TokensView(
        signed=signed,
        tokens=(*active, *over),
        scopes=scopes,
        namespaces=namespaces,
        lifetime=LIFETIME,
        most=most,
        made=made,
    )
    return account_page("tokens", view, "Tokens")


def teams_page(signed: Signed, teams: list[TeamRow]) -> Page:
    """Return the page of the person's teams."""
    return account_page("teams", TeamsView(signed, tuple(teams)), "Teams")


def roles_page(
    signed: Signed,
    namespace: str,
    given: list[Given],
    people: dict[str, AccountMember],
    owning: Owning,
) -> Page:
    """Return the page of a namespace's roles. ``people``: accounts by name. ``owning``: see
    :func:`registry_server.accounts.roles.owning`."""
    rows = tuple(holder_row(one.role, people.get(one.account or ""), one.team, owning) for one in given)
    view = RolesView(signed, namespace, namespace_path(namespace), rows)
    return account_page("roles", view, f"Roles in {namespace}")


def holder_row(role: str, member: AccountMember | None, team: str | None, owning: Owning) -> HolderRow:
    """Return the row of a role. ``member``: who has it; None: the team. ``owning``: see
    :func:`registry_server.accounts.roles.owning`."""
    if member is None:
        return HolderRow(f"team {team}", "", role, "", str(team), owning == [(None, team)])
    detail = f"{member.issuer} {member.subject}" if member.issuer else "created by the operator"
    return HolderRow(member.name, f"{member.id}, {detail}", role, member.id, "", owning == [(member.id, None)])


def device_page(view: DeviceView) -> Page:
    """Return the page that confirms a program."""
    return account_page("device", view, "Sign in a program")


def stages_page(signed: Signed, rows: list[StageRow]) -> Page:
    """Return the list of stages that wait for a signature."""
    return account_page("stages", StagesView(signed, tuple(rows)), "Releases that wait for a signature")


def html(page: Page, site: Site, now: datetime) -> bytes:
    """Render an account page as HTML."""
    return page_layout.render(page, "html", site, Now(now)).whole(site)


def moment(text: str | None) -> datetime | None:
    """Parse a time from the accounts' tables."""
    return None if text is None else datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def account_page(template: str, view: Struct, title: str) -> Page:
    """Return a page below ``/-/account`` from its template."""
    path = HOME
    return Page(
        template=f"account/{template}.html",
        view=view,
        title=title,
        description="An account of this registry.",
        path=path,
        is_indexed=False,
    )
