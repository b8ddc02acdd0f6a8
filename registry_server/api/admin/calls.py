"""What the calls below ``/api/v1/admin/`` share: who calls, the body, and work in one transaction.

A change checks its token twice: before it reads the body, and in its own transaction. A caller can send the body slowly,
and the token may be revoked or expire in the meantime.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import sqlalchemy as sa
from litestar import Request, Response
from litestar.datastructures import State
from litestar.handlers import HTTPRouteHandler
from msgspec import Struct

from registry_server.accounts import tokens
from registry_server.accounts.administration import By
from registry_server.accounts.operators import require_operator
from registry_server.accounts.tokens import Account
from registry_server.api.operations import TEXT, TEXT_CHARACTERS, Parameter, described, query_of
from registry_server.api.private_reading import bearer_of
from registry_server.api.requests import account_of, body_of, decode_request, json_answer, service_of, unauthorized
from registry_server.api.sessions import address_of, changing, reading
from rye.errors import RyeError
from rye.limits import KIB
from rye.registry.protocol import wire

AnyRequest = Request[Any, Any, State]
ADMIN = "/api/v1/admin"
PAGE = 100
"""Rows of a page unless the call asks for another number."""
MOST = 1000
"""The most rows of a page."""
NUMBER = 999_999_999
"""The largest position or number of rows to skip."""
_BODY_BYTES = 16 * KIB
_NUMBER: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": NUMBER, "default": 0}
_PER_PAGE: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": MOST, "default": PAGE}
SINCE = Parameter("since", "query", "Start at this position.", _NUMBER)
OFFSET = Parameter("offset", "query", "Rows to skip.", _NUMBER)
LIMIT = Parameter("limit", "query", "Rows per page.", _PER_PAGE)
_DESCRIBED = "This call takes no parameters: GET /openapi.json describes every call."
_T = TypeVar("_T")
_Form = TypeVar("_Form")
_Handler = TypeVar("_Handler", bound=HTTPRouteHandler)


def lists(name: str, words: str, answer: Any, *query: Parameter) -> Callable[[_Handler], _Handler]:
    """Describe a call that only reads."""
    return described(name, words, {200: answer}, (400, 401, 403, 503), *query, needs_token=True)


def changes(
    name: str, words: str, answer: Any, *, status: int = 200, body: Any = None
) -> Callable[[_Handler], _Handler]:
    """Describe a call that changes something."""
    errors = (400, 401, 403, 404, 408, 409, 413, 422, 429, 503)
    return described(name, words, {status: answer}, errors, body=body, needs_token=True)


def only(name: str, words: str) -> Parameter:
    """Return the parameter that filters a list."""
    return Parameter(name, "query", words, TEXT)


async def look(request: AnyRequest, find: Callable[[sa.Connection], Struct]) -> Response[bytes]:
    """Answer with what ``find`` returns.

    Raises RyeError unless the token is an operator's, and ``bad-request`` for a parameter that the call's description does not
    have: a misspelt filter must not answer with everything.
    """
    await _operator(request)
    return json_answer(wire.encode_json(await reading(service_of(request), find)))


async def change(
    request: AnyRequest, do: Callable[[sa.Connection, Account, By], Struct], status: int = 200
) -> Response[bytes]:
    """Answer with what ``do`` returns; it runs in one transaction. Raises RyeError unless the token is an operator's."""
    account = await _operator(request)
    with service_of(request).quotas.request(account.owner):
        return await _changed(request, do, status)


async def change_with(
    request: AnyRequest,
    form: type[_Form],
    do: Callable[[sa.Connection, Account, By, _Form], Struct],
    status: int = 200,
) -> Response[bytes]:
    """Like :func:`change`, for a call with a body. The body is read only after the token has been checked."""
    account = await _operator(request)
    with service_of(request).quotas.request(account.owner):
        wanted = decode_request(await body_of(request, _BODY_BYTES), form)

        def done(connection: sa.Connection, account: Account, by: By) -> Struct:
            return do(connection, account, by, wanted)

        return await _changed(request, done, status)


async def _operator(request: AnyRequest) -> Account:
    """Return who calls, with an address that can be used. Raises RyeError, about the token first."""
    account = await account_of(request)
    require_operator(account)
    parameters = query_of(request.route_handler)
    for name in request.query_params:
        if name not in parameters:
            listed = f"This call takes {', '.join(f'`{each}`' for each in parameters)}." if parameters else _DESCRIBED
            raise RyeError("bad-request", f"Unknown query parameter {name[:100]!r}.", listed)
    for name, value in {**request.query_params, **request.path_params}.items():
        if len(str(value)) > TEXT_CHARACTERS:
            raise RyeError("bad-request", f"`{name}` has more than {TEXT_CHARACTERS} characters.", None)
    return account


async def _changed(
    request: AnyRequest, do: Callable[[sa.Connection, Account, By], Struct], status: int
) -> Response[bytes]:
    service, token, address = service_of(request), bearer_of(request.scope), address_of(request)

    def run(connection: sa.Connection) -> Struct:
        now = service.now_text()
        account = tokens.check(connection, token, now, hold=True)
        if account is None:
            raise unauthorized()
        require_operator(account)
        return do(connection, account, By(now, f"token:{account.token}", address))

    return json_answer(wire.encode_json(await changing(service, run)), status)
