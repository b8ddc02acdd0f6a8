"""``/-/account/namespaces/NAME``: the roles in a namespace, for its owners. Everyone else gets "not found".

A role lets someone upload and read. An owner grants roles to accounts and teams in that namespace only; the operator
decides who is in a team, because a team can have roles in other namespaces. The last owner can be neither removed nor
demoted.
"""

from __future__ import annotations

import sqlalchemy as sa
from litestar import HttpMethod, Response, route
from litestar.params import FromPath

from registry_server.accounts import members, roles
from registry_server.accounts.members import AccountMember
from registry_server.accounts.roles import Given, Owning
from registry_server.api.account_pages import answer, redirect, sign_in_first, signed
from registry_server.api.requests import service_of
from registry_server.api.sessions import AnyRequest, Form, changing_as, form_of, one, reading, record, signed_in
from registry_server.pages.account import HOME, HolderRow, holder_row, roles_page
from registry_server.pages.confirming import lowering_page, lowers, taking_page
from rye.errors import RyeError
from rye.items.identity import is_segment


@route("/-/account/namespaces/{namespace:str}", http_method=[HttpMethod.GET, HttpMethod.HEAD])
async def _roles(request: AnyRequest, namespace: FromPath[str]) -> Response[bytes]:
    member = await signed_in(request)
    if member is None:
        return sign_in_first(request)

    def look(connection: sa.Connection) -> tuple[list[Given], dict[str, AccountMember], Owning]:
        _require_owner(connection, member, namespace)
        given = roles.listing(connection, namespace)
        people = {entry.account: members.named(connection, entry.account) for entry in given if entry.account}
        return given, people, roles.owning(connection, namespace)

    found = await reading(service_of(request), look)
    head = signed(request, member, f"{HOME}/namespaces/{namespace}")
    return answer(request, roles_page(head, namespace, *found))


@route("/-/account/namespaces/{namespace:str}/give", http_method=[HttpMethod.POST])
async def _give(request: AnyRequest, namespace: FromPath[str]) -> Response[bytes]:
    member, form = await form_of(request)
    role, agreed = one(form, "role"), one(form, "former")

    def give(connection: sa.Connection) -> HolderRow | None:
        """Return the holder of a role that would be lowered, unless the member agreed to give up just this one."""
        roles.hold(connection, namespace)
        _require_owner(connection, member, namespace)
        holder = _holder(connection, namespace, form)
        account, team = holder.account or None, holder.team or None
        if lowers(holder.role, role) and agreed != holder.role and not holder.is_last_owner:
            return holder
        if roles.give(connection, namespace, role, account=account, team=team):
            _require_owners(connection, namespace)
            detail = {"who": holder.label, "role": role}
            record(connection, request, "role.add", member, detail, f"namespace:{namespace}")
        return None

    holder = await changing_as(request, give)
    if holder is not None:
        head = signed(request, member, f"{HOME}/namespaces/{namespace}")
        return answer(request, lowering_page(head, namespace, holder, role))
    return redirect(f"{HOME}/namespaces/{namespace}")


@route("/-/account/namespaces/{namespace:str}/take", http_method=[HttpMethod.GET, HttpMethod.HEAD])
async def _ask_to_take(request: AnyRequest, namespace: FromPath[str]) -> Response[bytes]:
    member = await signed_in(request)
    if member is None:
        return sign_in_first(request)
    asked = {name: [request.query_params.get(name, "")[:200]] for name in ("account", "team")}

    def look(connection: sa.Connection) -> HolderRow:
        _require_owner(connection, member, namespace)
        return _holder(connection, namespace, asked)

    holder = await reading(service_of(request), look)
    path = f"{HOME}/namespaces/{namespace}"
    return (
        answer(request, taking_page(signed(request, member, path), namespace, holder))
        if holder.role and not holder.is_last_owner
        else redirect(path)  # which says why
    )


@route("/-/account/namespaces/{namespace:str}/take", http_method=[HttpMethod.POST])
async def _take(request: AnyRequest, namespace: FromPath[str]) -> Response[bytes]:
    member, form = await form_of(request)

    def take(connection: sa.Connection) -> bool:
        roles.hold(connection, namespace)
        _require_owner(connection, member, namespace)
        holder = _holder(connection, namespace, form)
        if roles.take(connection, namespace, account=holder.account or None, team=holder.team or None):
            _require_owners(connection, namespace)
            record(connection, request, "role.remove", member, {"who": holder.label}, f"namespace:{namespace}")
        return dict(roles.of_account(connection, member.id)).get(namespace) == "owner"

    still = await changing_as(request, take)
    return redirect(f"{HOME}/namespaces/{namespace}" if still else HOME)


def _require_owner(connection: sa.Connection, member: AccountMember, namespace: str) -> None:
    """Require that the member is an owner. Raises the same RyeError ``not-found`` for a namespace that does not
    exist."""
    held = dict(roles.of_account(connection, member.id))
    if not is_segment(namespace) or held.get(namespace) != "owner":
        raise RyeError("not-found", "You do not own a namespace of this name.", "See your roles at /-/account")


def _require_owners(connection: sa.Connection, namespace: str) -> None:
    """Require that an owner is left. Raises RyeError ``last-owner``, which rolls back the transaction."""
    if not roles.has_owner(connection, namespace):
        raise RyeError("last-owner", f"{namespace} would have no owner left.", "Make someone else an owner first.")


def _holder(connection: sa.Connection, namespace: str, form: Form) -> HolderRow:
    """Return the account or team that a form means, with its role; without one, the role is empty.

    Raises RyeError ``bad-request``, ``no-such-entry``.
    """
    account, team = one(form, "account").strip(), one(form, "team").strip()
    owning = roles.owning(connection, namespace)
    if bool(account) == bool(team):
        raise RyeError("bad-request", "Name either an account or a team.", None)
    if not account:
        roles.require_team(connection, team)
        return holder_row(roles.role_of(connection, namespace, team=team) or "", None, team, owning)
    member = members.named(connection, account)
    return holder_row(roles.role_of(connection, namespace, account=member.id) or "", member, None, owning)


ROLE_ROUTES = (_roles, _give, _ask_to_take, _take)
