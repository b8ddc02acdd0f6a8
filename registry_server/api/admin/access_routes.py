"""``/api/v1/admin/``: teams, groups, roles, webhooks, publishers, for operators (:mod:`registry_server.accounts.operators`)."""

from __future__ import annotations

import sqlalchemy as sa
from litestar import HttpMethod, Response, get, route
from litestar.params import FromPath

from registry_server.accounts import administration, groups, publishers, roles, webhooks
from registry_server.accounts.administration import By, Holder
from registry_server.accounts.groups import TeamGroup
from registry_server.accounts.guarded_http import listed_networks, refuse_address
from registry_server.accounts.issuers import address_parts
from registry_server.accounts.operators import SCOPES_OF_ACCOUNT, SCOPES_OF_ROLE, require_what_it_gives
from registry_server.accounts.publishers import Publisher
from registry_server.accounts.scopes import parse_scopes
from registry_server.accounts.tokens import Account
from registry_server.accounts.webhooks import Webhook
from registry_server.api.admin.calls import (
    ADMIN,
    LIMIT,
    MOST,
    PAGE,
    AnyRequest,
    change,
    change_with,
    changes,
    lists,
    look,
    only,
)
from registry_server.api.admin.forms import (
    DeliveriesAnswer,
    DeliveryRow,
    GroupRequest,
    GroupsAnswer,
    PublisherRequest,
    PublisherRow,
    PublishersAnswer,
    RoleRequest,
    RoleRow,
    RolesAnswer,
    TeamRequest,
    TeamRow,
    TeamsAnswer,
    WebhookAnswer,
    WebhookRequest,
    WebhookRow,
    WebhooksAnswer,
)
from registry_server.api.requests import number_of, service_of
from rye.errors import RyeError

_PUT, _DELETE = [HttpMethod.PUT], [HttpMethod.DELETE]
_MEMBER = f"{ADMIN}/teams/{{team:str}}/members/{{account:str}}"
_ROLE_OF_ACCOUNT = f"{ADMIN}/roles/{{namespace:str}}/accounts/{{account:str}}"
_ROLE_OF_TEAM = f"{ADMIN}/roles/{{namespace:str}}/teams/{{team:str}}"
_GIVE = "Give a role, replacing the present one. Needs the scopes that the role allows to use."


# -- teams ---------------------------------------------------------------------------------------------------------------


@lists("listTeams", "Teams and their members.", TeamsAnswer)
@get(f"{ADMIN}/teams")
async def _teams(request: AnyRequest) -> Response[bytes]:
    def find(connection: sa.Connection) -> TeamsAnswer:
        return TeamsAnswer([TeamRow(name, inside) for name, inside in roles.team_listing(connection).items()])

    return await look(request, find)


@changes("createTeam", "Create an empty team.", TeamRow, status=201, body=TeamRequest)
@route(f"{ADMIN}/teams", http_method=[HttpMethod.POST])
async def _create_team(request: AnyRequest) -> Response[bytes]:
    def create(connection: sa.Connection, _: Account, by: By, wanted: TeamRequest) -> TeamRow:
        administration.create_team(connection, wanted.team, by)
        return TeamRow(wanted.team, [])

    return await change_with(request, TeamRequest, create, 201)


@changes("deleteTeam", "Delete a team and its roles.", TeamRow)
@route(f"{ADMIN}/teams/{{team:str}}", http_method=_DELETE, status_code=200)
async def _delete_team(request: AnyRequest, team: FromPath[str]) -> Response[bytes]:
    def delete(connection: sa.Connection, _: Account, by: By) -> TeamRow:
        inside = roles.members_of(connection, team)
        administration.delete_team(connection, team, by)
        return TeamRow(team, inside)

    return await change(request, delete)


@changes("joinTeam", "Add an account to a team. Needs the scopes that an account can use.", TeamRow)
@route(_MEMBER, http_method=_PUT)
async def _join(request: AnyRequest, team: FromPath[str], account: FromPath[str]) -> Response[bytes]:
    def join(connection: sa.Connection, own: Account, by: By) -> TeamRow:
        require_what_it_gives(own, SCOPES_OF_ACCOUNT)  # the team may get any role later
        administration.join_team(connection, team, account, by)
        return TeamRow(team, roles.members_of(connection, team))

    return await change(request, join)


@changes("leaveTeam", "Remove an account from a team.", TeamRow)
@route(_MEMBER, http_method=_DELETE, status_code=200)
async def _leave(request: AnyRequest, team: FromPath[str], account: FromPath[str]) -> Response[bytes]:
    def leave(connection: sa.Connection, _: Account, by: By) -> TeamRow:
        administration.leave_team(connection, team, account, by)
        return TeamRow(team, roles.members_of(connection, team))

    return await change(request, leave)


@lists("listGroups", "Which groups of the identity provider are in which teams.", GroupsAnswer)
@get(f"{ADMIN}/groups")
async def _groups(request: AnyRequest) -> Response[bytes]:
    return await look(request, lambda connection: GroupsAnswer(groups.listing(connection)))


@changes(
    "mapGroup",
    "Put a group of the identity provider into a team. Needs the scopes that an account can use.",
    TeamGroup,
    status=201,
    body=GroupRequest,
)
@route(f"{ADMIN}/groups", http_method=[HttpMethod.POST])
async def _map_group(request: AnyRequest) -> Response[bytes]:
    issuer = service_of(request).settings.oidc_issuer

    def map_group(connection: sa.Connection, own: Account, by: By, wanted: GroupRequest) -> TeamGroup:
        require_what_it_gives(own, SCOPES_OF_ACCOUNT)  # whoever is in the group joins the team
        return administration.map_group(connection, issuer, wanted.group, wanted.team, by)

    return await change_with(request, GroupRequest, map_group, 201)


@changes("unmapGroup", "Take a group out of a team, with everyone who is there because of it.", TeamGroup)
@route(f"{ADMIN}/groups/{{group:str}}", http_method=_DELETE, status_code=200)
async def _unmap_group(request: AnyRequest, group: FromPath[str]) -> Response[bytes]:
    def unmap(connection: sa.Connection, _: Account, by: By) -> TeamGroup:
        mapped = groups.with_id(connection, group)
        administration.unmap_group(connection, mapped, by)
        return mapped

    return await change(request, unmap)


# -- roles ---------------------------------------------------------------------------------------------------------------


@lists("listRoles", "Roles as they were given.", RolesAnswer, only("namespace", "Only those in this namespace."))
@get(f"{ADMIN}/roles")
async def _roles(request: AnyRequest) -> Response[bytes]:
    def find(connection: sa.Connection) -> RolesAnswer:
        rows = roles.listing(connection, request.query_params.get("namespace"))
        return RolesAnswer([RoleRow(row.namespace, row.role, row.account, row.team) for row in rows])

    return await look(request, find)


@changes("giveRoleToAccount", _GIVE, RolesAnswer, body=RoleRequest)
@route(_ROLE_OF_ACCOUNT, http_method=_PUT)
async def _give_account(request: AnyRequest, namespace: FromPath[str], account: FromPath[str]) -> Response[bytes]:
    return await _give(request, namespace, account, None)


@changes("giveRoleToTeam", _GIVE, RolesAnswer, body=RoleRequest)
@route(_ROLE_OF_TEAM, http_method=_PUT)
async def _give_team(request: AnyRequest, namespace: FromPath[str], team: FromPath[str]) -> Response[bytes]:
    return await _give(request, namespace, None, team)


@changes("takeRoleFromAccount", "Take the role away.", RolesAnswer)
@route(_ROLE_OF_ACCOUNT, http_method=_DELETE, status_code=200)
async def _take_account(request: AnyRequest, namespace: FromPath[str], account: FromPath[str]) -> Response[bytes]:
    return await _take(request, namespace, account, None)


@changes("takeRoleFromTeam", "Take the role away.", RolesAnswer)
@route(_ROLE_OF_TEAM, http_method=_DELETE, status_code=200)
async def _take_team(request: AnyRequest, namespace: FromPath[str], team: FromPath[str]) -> Response[bytes]:
    return await _take(request, namespace, None, team)


async def _give(request: AnyRequest, namespace: str, account: str | None, team: str | None) -> Response[bytes]:
    def give(connection: sa.Connection, own: Account, by: By, wanted: RoleRequest) -> RolesAnswer:
        require_what_it_gives(own, SCOPES_OF_ROLE[wanted.role])
        who = administration.holder(connection, account, team)
        administration.give_role(connection, namespace, wanted.role, who, by)
        return _of(connection, namespace, who)

    return await change_with(request, RoleRequest, give)


async def _take(request: AnyRequest, namespace: str, account: str | None, team: str | None) -> Response[bytes]:
    def take(connection: sa.Connection, _: Account, by: By) -> RolesAnswer:
        who = administration.holder(connection, account, team)
        administration.take_role(connection, namespace, who, by)
        return _of(connection, namespace, who)

    return await change(request, take)


def _of(connection: sa.Connection, namespace: str, who: Holder) -> RolesAnswer:
    """Return the role that an account or a team now has in a namespace: one row, or none."""
    role = roles.role_of(connection, namespace, account=who.account, team=who.team)
    name = who.words if who.account is not None else None
    return RolesAnswer([RoleRow(namespace, role, name, who.team)] if role is not None else [])


# -- webhooks ------------------------------------------------------------------------------------------------------------


@lists("listWebhooks", "Webhooks without their secrets.", WebhooksAnswer)
@get(f"{ADMIN}/webhooks")
async def _webhooks(request: AnyRequest) -> Response[bytes]:
    def find(connection: sa.Connection) -> WebhooksAnswer:
        return WebhooksAnswer([_webhook_row(webhook) for webhook in webhooks.listing(connection)])

    return await look(request, find)


@changes("addWebhook", "Add a webhook. Needs the scope read.", WebhookAnswer, status=201, body=WebhookRequest)
@route(f"{ADMIN}/webhooks", http_method=[HttpMethod.POST])
async def _add_webhook(request: AnyRequest) -> Response[bytes]:
    inside = listed_networks(service_of(request).settings.webhook_networks)

    def add(connection: sa.Connection, own: Account, by: By, wanted: WebhookRequest) -> WebhookAnswer:
        require_what_it_gives(own, ["read"])  # it tells an address the names and versions of what is published
        webhook = administration.add_webhook(connection, wanted.url, wanted.namespace or "", wanted.events, by, inside)
        return WebhookAnswer(_webhook_row(webhook), webhook.secret)

    return await change_with(request, WebhookRequest, add, 201)


@changes("removeWebhook", "Remove a webhook.", WebhookRow)
@route(f"{ADMIN}/webhooks/{{webhook:str}}", http_method=_DELETE, status_code=200)
async def _remove_webhook(request: AnyRequest, webhook: FromPath[str]) -> Response[bytes]:
    def remove(connection: sa.Connection, _: Account, by: By) -> WebhookRow:
        return _webhook_row(administration.remove_webhook(connection, webhook, by))

    return await change(request, remove)


@lists(
    "listDeliveries",
    "Deliveries, newest first.",
    DeliveriesAnswer,
    only("webhook", "Only those of this webhook."),
    LIMIT,
)
@get(f"{ADMIN}/webhooks/deliveries")
async def _deliveries(request: AnyRequest) -> Response[bytes]:
    def find(connection: sa.Connection) -> DeliveriesAnswer:
        limit = number_of(request, "limit", PAGE, 1, MOST)
        rows = webhooks.history(connection, limit, request.query_params.get("webhook"))
        return DeliveriesAnswer([_delivery_row(row) for row in rows])

    return await look(request, find)


def _webhook_row(webhook: Webhook) -> WebhookRow:
    return WebhookRow(webhook.id, webhook.url, webhook.namespace or None, list(webhook.events), webhook.created)


def _delivery_row(row: webhooks.Row) -> DeliveryRow:
    return DeliveryRow(
        id=row["id"],
        webhook=row["webhook"],
        event=row["event"],
        created=row["created"],
        state=webhooks.state_of(row),
        attempts=row["attempts"],
        status=row["status"],
        error=row["error"],
    )


# -- trusted publishers --------------------------------------------------------------------------------------------------


@lists("listPublishers", "Trusted publishers.", PublishersAnswer, only("namespace", "Only those of this namespace."))
@get(f"{ADMIN}/publishers")
async def _publishers(request: AnyRequest) -> Response[bytes]:
    def find(connection: sa.Connection) -> PublishersAnswer:
        rows = publishers.listing(connection, request.query_params.get("namespace"))
        return PublishersAnswer([_publisher_row(row) for row in rows])

    return await look(request, find)


@changes(
    "addPublisher", "Trust a workflow. Needs the scopes of its tokens.", PublisherRow, status=201, body=PublisherRequest
)
@route(f"{ADMIN}/publishers", http_method=[HttpMethod.POST])
async def _add_publisher(request: AnyRequest) -> Response[bytes]:
    def add(connection: sa.Connection, own: Account, by: By, wanted: PublisherRequest) -> PublisherRow:
        scopes = parse_scopes(wanted.scopes) or publishers.DEFAULT_SCOPES
        require_what_it_gives(own, scopes)
        if wanted.issuer not in publishers.SHORT:
            _require_public_issuer(wanted.issuer)
        publisher = administration.add_publisher(
            connection,
            wanted.namespace,
            wanted.issuer,
            wanted.repository,
            wanted.workflow,
            wanted.environment,
            scopes,
            by,
        )
        return _publisher_row(publisher)

    return await change_with(request, PublisherRequest, add, 201)


@changes("removePublisher", "Stop trusting a workflow.", PublisherRow)
@route(f"{ADMIN}/publishers/{{publisher:str}}", http_method=_DELETE, status_code=200)
async def _remove_publisher(request: AnyRequest, publisher: FromPath[str]) -> Response[bytes]:
    def remove(connection: sa.Connection, _: Account, by: By) -> PublisherRow:
        return _publisher_row(administration.remove_publisher(connection, publisher, by))

    return await change(request, remove)


def _require_public_issuer(issuer: str) -> None:
    """Refuse services of the server's own machine and network. Raises RyeError ``invalid-value``."""
    host = address_parts(issuer).hostname or ""
    try:
        refuse_address(host)
        is_public = not issuer.lower().startswith("http:")
    except RyeError:
        is_public = False
    if not is_public:
        raise RyeError(
            "invalid-value",
            "An issuer with plain http or a private address can only be named on the server.",
            "Give its public https address, or run `rye-registry publisher add` on the server.",
            what="issuer",
        )


def _publisher_row(publisher: Publisher) -> PublisherRow:
    return PublisherRow(
        id=publisher.id,
        namespace=publisher.namespace,
        issuer=publisher.issuer,
        repository=publisher.repository,
        workflow=publisher.workflow,
        environment=publisher.environment or None,
        scopes=list(publisher.scopes),
        created=publisher.created,
        owner=publisher.owner,
    )


ACCESS_ROUTES = (
    _teams, _create_team, _delete_team, _join, _leave, _groups, _map_group, _unmap_group,
    _roles, _give_account, _take_account, _give_team, _take_team,
    _webhooks, _add_webhook, _remove_webhook, _deliveries,
    _publishers, _add_publisher, _remove_publisher,
)  # fmt: skip
