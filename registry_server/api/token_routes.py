"""The calls that give a token to who has none yet. They are open to everyone, so all are rate-limited by address.

* ``POST /api/v1/device/authorize`` and ``/api/v1/device/token`` sign a program in from a browser (RFC 8628). The page where a
  person confirms it is in :mod:`registry_server.api.account_pages`. A code that was never issued causes no write.
* ``POST /api/v1/oidc/exchange`` exchanges a build server's identity token for a registry token that is valid for some minutes.
  The path without the version stays: released build-server actions hard-code it.
"""

from __future__ import annotations

import sqlalchemy as sa
from litestar import HttpMethod, Response, route

from registry_server.accounts import audit_events, device_logins, tokens
from registry_server.accounts.rate_limits import address_key
from registry_server.api.operations import FormBody, described
from registry_server.api.requests import body_of, decode_request, json_answer, service_of
from registry_server.api.sessions import (
    FORM_BYTES,
    AnyRequest,
    address_of,
    changing,
    count_try,
    fields_of,
    one,
    reading,
)
from rye.limits import KIB
from rye.registry.protocol import wire

_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_IDENTITY_BYTES = 32 * KIB


@described(
    "beginDeviceLogin",
    "Begin to sign in a program through a browser (RFC 8628).",
    {200: wire.DeviceBegun},
    (408, 413, 429, 503),
    body=FormBody(
        {"client_id": "The program, by RFC 8628; not used.", "name": "What the person who confirms is shown."}
    ),
)
@route("/api/v1/device/authorize", http_method=[HttpMethod.POST])
async def _begin(request: AnyRequest) -> Response[bytes]:
    """RFC 8628 §3.1 and §3.2."""
    service, address = service_of(request), address_of(request)
    count_try(request, "device")
    with service.quotas.request(f"address {address}"):
        name = one(fields_of(await body_of(request, FORM_BYTES)), "name")
        begun = await changing(
            service,
            lambda connection: device_logins.begin(
                connection, name, service.since_text(device_logins.EXPIRES_SECONDS), address_key(address)[8:]
            ),
        )
    page = f"{service.address}/-/account/device"
    answer = wire.DeviceBegun(
        begun.device_code,
        begun.user_code,
        page,
        f"{page}?code={begun.user_code}",
        device_logins.EXPIRES_SECONDS,
        device_logins.INTERVAL_SECONDS,
    )
    return json_answer(wire.encode_json(answer))


@described(
    "pollDeviceLogin",
    "Get the token once a person has confirmed (RFC 8628).",
    {200: wire.DeviceToken, 400: wire.DeviceError},
    (408, 413, 429, 503),
    body=FormBody(
        {
            "grant_type": f"Always {_GRANT}.",
            "device_code": "From the first call.",
            "client_id": "The program; not used.",
        },
        ("grant_type", "device_code"),
    ),
)
@route("/api/v1/device/token", http_method=[HttpMethod.POST])
async def _poll(request: AnyRequest) -> Response[bytes]:
    """RFC 8628 §3.4 and §3.5; errors in the form of RFC 6749 §5.2."""
    service, address = service_of(request), address_of(request)
    service.poll_rate.take(address_key(address))
    with service.quotas.request(f"address {address}"):
        form = fields_of(await body_of(request, FORM_BYTES))
        if one(form, "grant_type") != _GRANT:
            return json_answer(wire.encode_json(wire.DeviceError("unsupported_grant_type")), 400)
        code = one(form, "device_code")

        def poll(connection: sa.Connection) -> tuple[str, str]:
            now = service.now_text()
            kind, value = device_logins.poll(
                connection, code, now, since=service.since_text(device_logins.TOKEN_SECONDS)
            )
            account = tokens.check(connection, value, now) if kind == "token" else None
            if account is not None:
                subject, detail = (
                    f"account:{account.account}",
                    {"name": account.name, "token": account.token, "by": "device"},
                )
                audit_events.record(
                    connection, now, "token.create", subject, actor=subject, address=address, detail=detail
                )
            return kind, value

        kind, value = "error", "expired_token"
        if await reading(service, lambda connection: device_logins.is_known(connection, code, service.now_text())):
            kind, value = await changing(service, poll)
    if kind == "token" or value in ("access_denied", "expired_token"):
        service.sign_in_ended("device", address, None if kind == "token" else value)
    if kind == "error":
        return json_answer(wire.encode_json(wire.DeviceError(value)), 400)
    return json_answer(wire.encode_json(wire.DeviceToken(value, "Bearer", device_logins.TOKEN_SECONDS)))


@described(
    "exchangeOidcToken",
    "Exchange a build server's identity token for a registry token that is valid for some minutes.",
    {200: wire.ExchangeAnswer},
    (400, 401, 403, 408, 413, 422, 429, 503),
    body=wire.ExchangeRequest,
)
@route(["/api/v1/oidc/exchange", "/api/oidc/exchange"], http_method=[HttpMethod.POST])
async def _exchange(request: AnyRequest) -> Response[bytes]:
    service, address = service_of(request), address_of(request)
    count_try(request, "exchange")
    with service.quotas.request(f"address {address}"):
        wanted = decode_request(await body_of(request, _IDENTITY_BYTES), wire.ExchangeRequest)
        with service.signing_in("exchange", address):
            answer = await service.issuer_calls.run(service.exchange.exchange, wanted.token, service.address, address)
    return json_answer(wire.encode_json(answer))


TOKEN_ROUTES = (_exchange, _begin, _poll)
