"""The requests and answers of ``/api/v1/admin/`` (:mod:`registry_server.api.admin.routes`). No client of Rye uses them."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from msgspec import Meta, Struct

from registry_server.accounts.audit_events import AuditEvent
from registry_server.accounts.groups import TeamGroup
from registry_server.accounts.scopes import SCOPES
from registry_server.accounts.webhooks import EVENTS

Role = Literal["owner", "publisher", "reader"]
_Words = Annotated[list[Annotated[str, Meta(max_length=100)]], Meta(max_length=100)]
# What the schema says of these, the calls check themselves, with better words than a decoder has.
_Segment = Annotated[str, Meta(extra_json_schema={"pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"})]
_Scope = Annotated[str, Meta(max_length=100, extra_json_schema={"enum": list(SCOPES)})]
_Scopes = Annotated[list[_Scope], Meta(max_length=100)]
_SomeScopes = Annotated[list[_Scope], Meta(max_length=100, extra_json_schema={"minItems": 1})]
_Event = Annotated[str, Meta(max_length=100, extra_json_schema={"enum": list(EVENTS)})]
_Events = Annotated[list[_Event], Meta(max_length=100)]
_Url = Annotated[str, Meta(extra_json_schema={"pattern": "^https://", "maxLength": 2000})]
_Group = Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": 400})]
_T = TypeVar("_T")


class AuditEventsAnswer(Struct, frozen=True):
    """One page of events, and the length and last hash of the whole chain."""

    events: list[AuditEvent]
    size: int
    hash: str


class SubmissionRow(Struct, frozen=True):
    """Who sent one entry of the log."""

    position: int
    token: str
    account: str | None
    address: str
    time: str


class SubmissionsAnswer(Struct, frozen=True):
    """One page of submissions, in the order of the log."""

    submissions: list[SubmissionRow]


class RoleHeld(Struct, frozen=True):
    """A namespace, and the strongest role that an account has in it."""

    namespace: str
    role: str


class AccountRow(Struct, frozen=True, kw_only=True):
    """One person. ``issuer`` empty: the operator created the account. ``disabled`` None: it is active."""

    account: str
    name: str
    issuer: str
    subject: str
    created: str
    disabled: str | None
    roles: list[RoleHeld]
    teams: list[str]


class AccountsAnswer(Struct, frozen=True):
    """One page of accounts, and how many there are."""

    accounts: list[AccountRow]
    total: int


class AccountRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A new account, or an account of the operator's that needs another link. ``role`` goes with ``namespace``."""

    name: str
    namespace: str | None = None
    role: Role | None = None


class InvitationAnswer(Struct, frozen=True):
    """The account, and the link that signs its owner in once. It is shown only this once."""

    account: AccountRow
    link: str


class TokenRow(Struct, frozen=True, kw_only=True):
    """One token without its secret. ``account`` None: the operator's; ``namespaces`` empty: any."""

    id: str
    name: str
    state: Literal["active", "expired", "revoked"]
    scopes: list[str]
    namespaces: list[str]
    account: str | None
    created: str
    expires: str | None
    last_used: str | None
    revoked: str | None


class TokensAnswer(Struct, frozen=True):
    """One page of tokens, and how many there are."""

    tokens: list[TokenRow]
    total: int


class TokenRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A new token. ``expires``: ``12h``, ``7d``, ``4w`` or ``never``; None: the usual time, or what the caller's has left."""

    name: str
    scopes: _SomeScopes
    namespaces: _Words = []
    expires: str | None = None
    account: str | None = None


class TokenAnswer(Struct, frozen=True):
    """A new token. It is shown only this once."""

    token: str
    row: TokenRow


class TeamRow(Struct, frozen=True):
    """A team and the names of its members."""

    team: str
    members: list[str]


class TeamsAnswer(Struct, frozen=True):
    """All teams."""

    teams: list[TeamRow]


class TeamRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A new team."""

    team: _Segment


class GroupsAnswer(Struct, frozen=True):
    """Which groups of the identity provider are in which teams."""

    groups: list[TeamGroup]


class GroupRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A group, exactly as identity tokens write it, and the team that everyone in it joins."""

    group: _Group
    team: _Segment


class RoleRow(Struct, frozen=True):
    """A role as it was given: to an account, by name, or to a team."""

    namespace: str
    role: str
    account: str | None
    team: str | None


class RolesAnswer(Struct, frozen=True):
    """All roles, or those in one namespace."""

    roles: list[RoleRow]


class RoleRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The role to give."""

    role: Role


class WebhookRow(Struct, frozen=True):
    """One webhook without its secret. ``namespace`` None: all; ``events`` empty: all."""

    id: str
    url: str
    namespace: str | None
    events: list[str]
    created: str


class WebhooksAnswer(Struct, frozen=True):
    """All webhooks."""

    webhooks: list[WebhookRow]


class WebhookRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A new webhook."""

    url: _Url
    namespace: _Segment | None = None
    events: _Events = []


class WebhookAnswer(Struct, frozen=True):
    """A new webhook and the secret that signs its deliveries. It is shown only this once."""

    webhook: WebhookRow
    secret: str


class DeliveryRow(Struct, frozen=True, kw_only=True):
    """One delivery. ``state``: ``delivered``, ``due TIME`` or ``given up``; ``status``: of the last HTTP answer."""

    id: str
    webhook: str
    event: str
    created: str
    state: str
    attempts: int
    status: int | None
    error: str | None


class DeliveriesAnswer(Struct, frozen=True):
    """Deliveries, newest first."""

    deliveries: list[DeliveryRow]


class PublisherRow(Struct, frozen=True, kw_only=True):
    """One trusted publisher. ``environment`` None: any."""

    id: str
    namespace: str
    issuer: str
    repository: str
    workflow: str
    environment: str | None
    scopes: list[str]
    created: str
    owner: str | None


class PublishersAnswer(Struct, frozen=True):
    """All trusted publishers, or those of one namespace."""

    publishers: list[PublisherRow]


class PublisherRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A workflow to trust. ``issuer``: ``github``, ``gitlab`` or an https address; ``scopes`` empty: ``stage``."""

    namespace: _Segment
    repository: str
    workflow: str
    issuer: str = "github"
    environment: str = ""
    scopes: _Scopes = []
