"""``/api/v1/admin/``: audit events, submissions, accounts and tokens, for operators (:mod:`registry_server.accounts.operators`).

Teams, roles, webhooks and trusted publishers: :mod:`registry_server.api.admin.access_routes`.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from litestar import HttpMethod, Response, get, route
from litestar.params import FromPath

from registry_server.accounts import administration, audit_events, members, roles, tokens
from registry_server.accounts.administration import By
from registry_server.accounts.members import AccountMember
from registry_server.accounts.operators import SCOPES_OF_ACCOUNT, lifetime, require_what_it_gives
from registry_server.accounts.scopes import parse_scopes
from registry_server.accounts.tokens import Account
from registry_server.api.admin.access_routes import ACCESS_ROUTES
from registry_server.api.admin.calls import (
    ADMIN,
    LIMIT,
    MOST,
    NUMBER,
    OFFSET,
    PAGE,
    SINCE,
    AnyRequest,
    change,
    change_with,
    changes,
    lists,
    look,
    only,
)
from registry_server.api.admin.forms import (
    AccountRequest,
    AccountRow,
    AccountsAnswer,
    AuditEventsAnswer,
    InvitationAnswer,
    RoleHeld,
    SubmissionRow,
    SubmissionsAnswer,
    TokenAnswer,
    TokenRequest,
    TokenRow,
    TokensAnswer,
)
from registry_server.api.requests import number_of, service_of
from registry_server.storage.schema import submissions
from rye.errors import RyeError


@lists(
    "listAuditEvents",
    "Audit events, oldest first, and the hash of the last one of all.",
    AuditEventsAnswer,
    SINCE,
    LIMIT,
)
@get(f"{ADMIN}/audit-events")
async def _audit_events(request: AnyRequest) -> Response[bytes]:
    def find(connection: sa.Connection) -> AuditEventsAnswer:
        since, limit = number_of(request, "since", 0, 0, NUMBER), number_of(request, "limit", PAGE, 1, MOST)
        return AuditEventsAnswer(list(audit_events.listing(connection, since, limit)), *audit_events.head(connection))

    return await look(request, find)


@lists("listSubmissions", "Who sent which entry.", SubmissionsAnswer, SINCE, LIMIT)
@get(f"{ADMIN}/submissions")
async def _submissions(request: AnyRequest) -> Response[bytes]:
    def find(connection: sa.Connection) -> SubmissionsAnswer:
        since, limit = number_of(request, "since", 0, 0, NUMBER), number_of(request, "limit", PAGE, 1, MOST)
        query = sa.select(submissions).where(submissions.c.position >= since).order_by(submissions.c.position)
        rows = connection.execute(query.limit(limit))
        return SubmissionsAnswer(
            [SubmissionRow(row.position, row.token, row.account, row.address, row.time) for row in rows]
        )

    return await look(request, find)


# -- accounts ------------------------------------------------------------------------------------------------------------


@lists("listAccounts", "Accounts, oldest first.", AccountsAnswer, OFFSET, LIMIT)
@get(f"{ADMIN}/accounts")
async def _accounts(request: AnyRequest) -> Response[bytes]:
    def find(connection: sa.Connection) -> AccountsAnswer:
        offset, limit = number_of(request, "offset", 0, 0, NUMBER), number_of(request, "limit", PAGE, 1, MOST)
        rows = _account_rows(connection, members.listing(connection, offset, limit))
        return AccountsAnswer(rows, members.count(connection))

    return await look(request, find)


@changes(
    "createAccount",
    "Create an account, or another link for one. Needs the scopes that the account can use.",
    InvitationAnswer,
    status=201,
    body=AccountRequest,
)
@route(f"{ADMIN}/accounts", http_method=[HttpMethod.POST])
async def _invite(request: AnyRequest) -> Response[bytes]:
    def invite(connection: sa.Connection, account: Account, by: By, wanted: AccountRequest) -> InvitationAnswer:
        # The link opens the account page, where its owner makes tokens; an account that exists may have any role.
        require_what_it_gives(account, SCOPES_OF_ACCOUNT)
        if (wanted.namespace is None) is not (wanted.role is None):
            raise RyeError("bad-request", "`namespace` and `role` go together.", "Give both, or neither.")
        invitation = administration.invite(connection, wanted.name, wanted.namespace, wanted.role or "", by)
        link = f"{service_of(request).address}/-/account/link/{invitation.secret}"
        (row,) = _account_rows(connection, [invitation.member])
        return InvitationAnswer(row, link)

    return await change_with(request, AccountRequest, invite, 201)


@changes("disableAccount", "Disable an account with its sessions, links and tokens.", AccountRow)
@route(f"{ADMIN}/accounts/{{account:str}}/disabled", http_method=[HttpMethod.PUT])
async def _disable(request: AnyRequest, account: FromPath[str]) -> Response[bytes]:
    def disable(connection: sa.Connection, _: Account, by: By) -> AccountRow:
        disabled = administration.disable_account(connection, account, by)[0]
        (row,) = _account_rows(connection, [disabled])
        return row

    return await change(request, disable)


def _account_rows(connection: sa.Connection, some: Sequence[AccountMember]) -> list[AccountRow]:
    held = roles.of_accounts(connection, [member.id for member in some])
    return [
        AccountRow(
            account=member.id,
            name=member.name,
            issuer=member.issuer,
            subject=member.subject,
            created=member.created,
            disabled=member.disabled,
            roles=[RoleHeld(namespace, role) for namespace, role in held[member.id].roles],
            teams=list(held[member.id].teams),
        )
        for member in some
    ]


# -- tokens --------------------------------------------------------------------------------------------------------------


@lists(
    "listTokens",
    "Tokens without their secrets, oldest first.",
    TokensAnswer,
    only("account", "Only those of this account."),
    OFFSET,
    LIMIT,
)
@get(f"{ADMIN}/tokens")
async def _tokens(request: AnyRequest) -> Response[bytes]:
    def find(connection: sa.Connection) -> TokensAnswer:
        offset, limit = number_of(request, "offset", 0, 0, NUMBER), number_of(request, "limit", PAGE, 1, MOST)
        name = request.query_params.get("account")
        owner = members.named(connection, name).id if name is not None else None
        rows = [_token_row(token) for token in tokens.listing(connection, owner, offset, limit)]
        return TokensAnswer(rows, tokens.count(connection, owner))

    return await look(request, find)


@changes(
    "createToken",
    "Create a token that can do no more than the caller's, and no longer.",
    TokenAnswer,
    status=201,
    body=TokenRequest,
)
@route(f"{ADMIN}/tokens", http_method=[HttpMethod.POST])
async def _create_token(request: AnyRequest) -> Response[bytes]:
    def create(connection: sa.Connection, account: Account, by: By, wanted: TokenRequest) -> TokenAnswer:
        scopes = parse_scopes(wanted.scopes)
        require_what_it_gives(account, scopes)
        seconds = lifetime(account, wanted.expires, by.now)
        secret, created = administration.create_token(
            connection, wanted.name, scopes, wanted.namespaces, seconds, wanted.account, by
        )
        return TokenAnswer(secret, _token_row(created))

    return await change_with(request, TokenRequest, create, 201)


@changes("revokeToken", "Revoke any token, and those that it created.", TokenRow)
@route(f"{ADMIN}/tokens/{{token:str}}", http_method=[HttpMethod.DELETE], status_code=200)
async def _revoke_token(request: AnyRequest, token: FromPath[str]) -> Response[bytes]:
    def revoke(connection: sa.Connection, _: Account, by: By) -> TokenRow:
        return _token_row(administration.revoke_token(connection, token[:100], by)[0])

    return await change(request, revoke)


def _token_row(token: Account) -> TokenRow:
    return TokenRow(
        id=token.token,
        name=token.name,
        state=tokens.state_of(token),
        scopes=list(token.scopes),
        namespaces=list(token.namespaces),
        account=token.account,
        created=token.created,
        expires=token.expires,
        last_used=token.last_used,
        revoked=token.revoked,
    )


ADMIN_ROUTES = (
    _audit_events, _submissions, _accounts, _invite, _disable, _tokens, _create_token, _revoke_token, *ACCESS_ROUTES,
)  # fmt: skip
