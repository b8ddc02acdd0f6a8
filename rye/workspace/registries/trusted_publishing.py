"""Publish from CI without a stored secret: the build server proves the build's identity for a short-lived registry token.

The identity token is made for one registry's address, so it is useless elsewhere. It comes from

* GitHub Actions: ``ACTIONS_ID_TOKEN_REQUEST_URL`` and ``ACTIONS_ID_TOKEN_REQUEST_TOKEN`` (a job with ``id-token: write``);
* GitLab and others: ``RYE_ID_TOKEN``, made for the registry's address. No other registry gets it.

A stored token or ``RYE_TOKEN`` takes precedence, unless ``--trusted`` demands the build's identity.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

import httpx

from rye.errors import RyeError
from rye.limits import REGISTRY
from rye.registry.protocol import wire
from rye.registry.transport.api import RegistryApi
from rye.registry.transport.bearer_token import bearer
from rye.registry.transport.factory import open_transport
from rye.registry.transport.http_connection import authorities_for
from rye.registry.transport.seam import FetchError, Request
from rye.text.addresses import is_loopback
from rye.workspace.registries.project_registries import require_contact
from rye.workspace.registries.registry_access import reading_token

if TYPE_CHECKING:
    from rye.workspace.context import Context

_REQUEST_URL = "ACTIONS_ID_TOKEN_REQUEST_URL"
_REQUEST_TOKEN = "ACTIONS_ID_TOKEN_REQUEST_TOKEN"
_ID_TOKEN = "RYE_ID_TOKEN"
_ANSWER_BYTES = 64 * 1024


def publishing_token(context: Context, address: str, *, demanded: bool) -> str | None:
    """A token for this build's identity; None: use the stored token, or no build server was found.

    ``demanded``: by ``--trusted``. Raises RyeError ``no-build-identity``, and what the registry refuses with.
    """
    if not demanded and (not _is_offered(context) or reading_token(context, address)() is not None):
        return None
    if not _is_offered(context):
        raise RyeError(
            "no-build-identity",
            "No build server provides an identity.",
            f"In GitHub Actions, give the job `id-token: write`. Elsewhere, set {_ID_TOKEN}. See docs/how-to/ci.md.",
        )
    if context.offline:
        raise RyeError("offline", "This needs the registry's API, and --offline forbids the network.")
    require_contact(context, address)
    api = RegistryApi(address, api_of(address))
    try:
        return api.exchange(_identity(context, address)).token
    finally:
        api.close()


def api_of(address: str) -> str | None:
    """The address of a registry's API, on its own host, from its ``config.json``, which even a private registry shows."""
    transport = open_transport(address)
    try:
        (data,) = transport.fetch_many([Request("config.json", REGISTRY.config_bytes)])
    finally:
        transport.close()
    if isinstance(data, FetchError):
        raise data
    return wire.api_address(wire.decode_config(data), address)


def _is_offered(context: Context) -> bool:
    environment = context.environment
    return bool(environment.get(_ID_TOKEN) or (environment.get(_REQUEST_URL) and environment.get(_REQUEST_TOKEN)))


def _identity(context: Context, address: str) -> str:
    """The build's identity token, made for this registry. Raises RyeError ``no-build-identity``."""
    given = context.environment.get(_ID_TOKEN)
    if given:
        audience = _audience(given)
        if audience != address.rstrip("/"):
            whose = f"for {audience[:200]}" if audience else "for no address that can be read"
            raise _no_identity(f"{_ID_TOKEN} was made {whose}, so {address} does not get it")
        return given.strip()
    url = context.environment[_REQUEST_URL]
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        raise _no_identity(f"{_REQUEST_URL} does not use https")
    joined = f"{url}{'&' if parts.query else '?'}audience={quote(address.rstrip('/'), safe='')}"
    headers = {"Authorization": bearer(context.environment[_REQUEST_TOKEN]), "Accept": "application/json"}
    try:
        answer = httpx.get(
            joined,
            headers=headers,
            verify=authorities_for(url),
            timeout=REGISTRY.connect_seconds,
            follow_redirects=False,
        )
        found = answer.json().get("value") if answer.is_success and len(answer.content) <= _ANSWER_BYTES else None
    except (httpx.HTTPError, ValueError, AttributeError) as error:
        raise _no_identity(f"the build server's answer is invalid ({type(error).__name__})") from None
    if not isinstance(found, str) or not found:
        raise _no_identity(f"the build server returned status {answer.status_code} and no token")
    return found


def _audience(token: str) -> str:
    """The one address that an identity token is for, as it says itself; empty if it names none, or several. Who got it could use
    it there, so it goes nowhere else, whichever registry a project's rye.toml names."""
    payload = token.strip().split(".")[1:2]
    try:
        claims = json.loads(urlsafe_b64decode("".join(payload) + "=="))
    except (ValueError, RecursionError):
        return ""
    audience = claims.get("aud") if isinstance(claims, dict) else None
    if isinstance(audience, list) and len(audience) == 1:
        (audience,) = audience
    return audience.rstrip("/") if isinstance(audience, str) else ""


def _no_identity(reason: str) -> RyeError:
    return RyeError(
        "no-build-identity",
        f"Cannot get an identity token: {reason}.",
        "Give the job `id-token: write`. See docs/how-to/ci.md.",
    )
