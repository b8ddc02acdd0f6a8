"""``POST /api/v1/oidc/exchange``: a build server's identity token for a registry token that is valid for some minutes.

The path without the version stays: released build-server actions hard-code it.
"""

from __future__ import annotations

from typing import Any

from litestar import HttpMethod, Request, Response, route
from litestar.datastructures import State

from registry_server.accounts.rate_limits import address_key
from registry_server.api.forwarded import client_address
from registry_server.api.requests import body_of, json_answer, service_of
from rye.limits import KIB
from rye.registry.protocol import wire

_BODY_BYTES = 32 * KIB


@route(["/api/v1/oidc/exchange", "/api/oidc/exchange"], http_method=[HttpMethod.POST])
async def _exchange(request: Request[Any, Any, State]) -> Response[bytes]:
    service = service_of(request)
    address = client_address(request.scope, service.settings.trusted_proxies)
    service.sign_in_rate.take(address_key(address))
    with service.quotas.request(f"address {address}"):
        wanted = wire.decode_json(await body_of(request, _BODY_BYTES), wire.ExchangeRequest)
        answer = await service.issuer_calls.run(service.exchange.exchange, wanted.token, service.address, address)
    return json_answer(wire.encode_json(answer))


EXCHANGE_ROUTES = (_exchange,)
