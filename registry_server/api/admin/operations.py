"""The calls below ``/api/v1/admin/`` for the OpenAPI document (:mod:`registry_server.api.openapi`)."""

from __future__ import annotations

from typing import Any

from registry_server.api.admin import forms
from registry_server.api.admin.calls import ADMIN, MOST, PAGE
from registry_server.api.operations import Operation, Parameter

_READ = (400, 401, 403, 503)
_CHANGE = (400, 401, 403, 404, 408, 409, 413, 422, 429, 503)
_NUMBER: dict[str, Any] = {"type": "integer", "minimum": 0, "default": 0}
_TEXT = {"type": "string", "maxLength": 200}
_SINCE = Parameter("since", "query", "Start at this position.", _NUMBER)
_OFFSET = Parameter("offset", "query", "Rows to skip.", _NUMBER)
_LIMIT = Parameter(
    "limit", "query", "Rows per page.", {"type": "integer", "minimum": 1, "maximum": MOST, "default": PAGE}
)


def _within(name: str, words: str) -> Parameter:
    return Parameter(name, "path", words, _TEXT, True)


_ACCOUNT = _within("account", "The account's ID or name.")
_TEAM = _within("team", "The team's name.")
_NAMESPACE = _within("namespace", "The namespace.")


def _look(name: str, path: str, words: str, answer: Any, *parameters: Parameter) -> Operation:
    return Operation(
        name=name,
        method="get",
        path=f"{ADMIN}/{path}",
        words=words,
        answers={200: answer},
        errors=_READ,
        parameters=parameters,
        needs_token=True,
    )


def _change(
    name: str, method: str, path: str, words: str, answer: Any, *parameters: Parameter, body: Any = None
) -> Operation:
    status = 201 if method == "post" else 200
    return Operation(
        name=name,
        method=method,
        path=f"{ADMIN}/{path}",
        words=words,
        answers={status: answer},
        errors=_CHANGE,
        parameters=parameters,
        body=body,
        needs_token=True,
    )


ADMIN_OPERATIONS = (
    _look(
        "listAuditEvents", "audit-events", "Audit events, oldest first, and the hash of the last one of all.",
        forms.AuditEventsAnswer, _SINCE, _LIMIT,
    ),
    _look("listSubmissions", "submissions", "Who sent which entry.", forms.SubmissionsAnswer, _SINCE, _LIMIT),
    _look("listAccounts", "accounts", "Accounts, oldest first.", forms.AccountsAnswer, _OFFSET, _LIMIT),
    _change(
        "createAccount", "post", "accounts",
        "Create an account, or another link for one. Needs the scopes that the account can use.",
        forms.InvitationAnswer, body=forms.AccountRequest,
    ),
    _change(
        "disableAccount", "put", "accounts/{account}/disabled",
        "Disable an account with its sessions, links and tokens.", forms.AccountRow, _ACCOUNT,
    ),
    _look(
        "listTokens", "tokens", "Tokens without their secrets, oldest first.", forms.TokensAnswer,
        Parameter("account", "query", "Only those of this account.", _TEXT), _OFFSET, _LIMIT,
    ),
    _change(
        "createToken", "post", "tokens", "Create a token that can do no more than the caller's, and no longer.",
        forms.TokenAnswer, body=forms.TokenRequest,
    ),
    _change(
        "revokeToken", "delete", "tokens/{token}", "Revoke any token, and those that it created.", forms.TokenRow,
        _within("token", "The token's ID."),
    ),
    _look("listTeams", "teams", "Teams and their members.", forms.TeamsAnswer),
    _change("createTeam", "post", "teams", "Create an empty team.", forms.TeamRow, body=forms.TeamRequest),
    _change("deleteTeam", "delete", "teams/{team}", "Delete a team and its roles.", forms.TeamRow, _TEAM),
    _change(
        "joinTeam", "put", "teams/{team}/members/{account}",
        "Add an account to a team. Needs the scopes that an account can use.", forms.TeamRow, _TEAM, _ACCOUNT,
    ),
    _change(
        "leaveTeam", "delete", "teams/{team}/members/{account}", "Remove an account from a team.", forms.TeamRow,
        _TEAM, _ACCOUNT,
    ),
    _look(
        "listRoles", "roles", "Roles as they were given.", forms.RolesAnswer,
        Parameter("namespace", "query", "Only those in this namespace.", _TEXT),
    ),
    *(
        operation
        for who, place in (("Account", _ACCOUNT), ("Team", _TEAM))
        for operation in (
            _change(
                f"giveRoleTo{who}", "put", f"roles/{{namespace}}/{who.lower()}s/{{{who.lower()}}}",
                "Give a role, replacing the present one. Needs the scopes that the role allows to use.",
                forms.RolesAnswer, _NAMESPACE, place, body=forms.RoleRequest,
            ),
            _change(
                f"takeRoleFrom{who}", "delete", f"roles/{{namespace}}/{who.lower()}s/{{{who.lower()}}}",
                "Take the role away.", forms.RolesAnswer, _NAMESPACE, place,
            ),
        )
    ),
    _look("listWebhooks", "webhooks", "Webhooks without their secrets.", forms.WebhooksAnswer),
    _change(
        "addWebhook", "post", "webhooks", "Add a webhook. Needs the scope read.", forms.WebhookAnswer,
        body=forms.WebhookRequest,
    ),
    _change(
        "removeWebhook", "delete", "webhooks/{webhook}", "Remove a webhook.", forms.WebhookRow,
        _within("webhook", "The webhook's ID."),
    ),
    _look(
        "listDeliveries", "webhooks/deliveries", "Deliveries, newest first.", forms.DeliveriesAnswer,
        Parameter("webhook", "query", "Only those of this webhook.", _TEXT), _LIMIT,
    ),
    _look(
        "listPublishers", "publishers", "Trusted publishers.", forms.PublishersAnswer,
        Parameter("namespace", "query", "Only those of this namespace.", _TEXT),
    ),
    _change(
        "addPublisher", "post", "publishers", "Trust a workflow. Needs the scopes of its tokens.", forms.PublisherRow,
        body=forms.PublisherRequest,
    ),
    _change(
        "removePublisher", "delete", "publishers/{publisher}", "Stop trusting a workflow.", forms.PublisherRow,
        _within("publisher", "The publisher's ID."),
    ),
)  # fmt: skip
