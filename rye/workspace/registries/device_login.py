"""Log in through a browser (RFC 8628): rye gets a code, and the user confirms it on a page of the registry.

The page's address is built from the registry's address; an address that the server sends is never opened. Only the names of
this program and this machine are sent. The token is for the registry's own host, like any other token.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx
from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.limits import REGISTRY
from rye.registry.transport.http_connection import authorities_for
from rye.text.addresses import is_loopback
from rye.workspace.registries.trusted_publishing import api_of

if TYPE_CHECKING:
    from rye.workspace.context import Context

_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_ANSWER_BYTES = 64 * 1024
_MOST_SECONDS = 1800.0
_LEAST_INTERVAL, _MOST_INTERVAL = 1.0, 30.0


class BrowserPrompt(Struct, frozen=True):
    """The page to open and the code to confirm there."""

    page: str
    code: str


def token_from_browser(
    context: Context,
    address: str,
    shows: Callable[[BrowserPrompt], None],
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """Get a token that the user confirms on the registry's page.

    Raises RyeError ``missing-argument``, ``login-refused``, ``login-expired``.
    """
    if context.offline:
        raise RyeError("offline", "Logging in needs the network, and --offline forbids it.", "Omit --offline.")
    api = api_of(address)
    if api is None:
        raise _without_browser(address)
    base = api.rstrip("/")
    with httpx.Client(verify=authorities_for(base), timeout=REGISTRY.connect_seconds, follow_redirects=False) as client:
        host = httpx.URL(base)
        if host.scheme != "https" and not is_loopback(host.host):
            raise RyeError(
                "insecure-registry", f"{base} does not use https: others could read the token on the network."
            )
        status, begun = _post(
            client, f"{base}/device/authorize", {"client_id": "rye", "name": f"rye on {platform.node()}"}
        )
        device, code = begun.get("device_code"), begun.get("user_code")
        if status != 200 or not isinstance(device, str) or not isinstance(code, str) or not code.isprintable():
            raise _without_browser(address)
        shows(BrowserPrompt(f"{address.rstrip('/')}/-/account/device?code={quote(code[:40])}", code[:40]))
        interval = min(max(_number(begun, "interval", 5.0), _LEAST_INTERVAL), _MOST_INTERVAL)
        left = min(_number(begun, "expires_in", 600.0), _MOST_SECONDS)
        while left > 0:
            sleep(interval)
            left -= interval
            status, answer = _post(client, f"{base}/device/token", {"grant_type": _GRANT, "device_code": device})
            token, error = answer.get("access_token"), answer.get("error")
            if status == 200 and isinstance(token, str):
                return token
            if error == "access_denied":
                raise RyeError("login-refused", "The login was refused on the registry's page.", "No token was stored.")
            if error == "slow_down":
                interval = min(interval + 5.0, _MOST_INTERVAL)
            elif error != "authorization_pending" and status not in (429, 503):
                break
    raise RyeError("login-expired", "The code was not confirmed in time.", f"Run `rye login {address}` again.")


def _post(client: httpx.Client, address: str, form: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
    """The status and JSON object of an answer. The object is empty if the answer is not a JSON object."""
    try:
        with client.stream("POST", address, data=dict(form), headers={"Accept": "application/json"}) as answer:
            data = b""
            for piece in answer.iter_bytes():
                data += piece
                if len(data) > _ANSWER_BYTES:
                    return 0, {}
            found = json.loads(data)
            return answer.status_code, found if isinstance(found, dict) else {}
    except httpx.HTTPError as error:
        raise RyeError(
            "fetch-unreachable", f"Cannot reach {address}: {str(error) or type(error).__name__}.", "Try again."
        ) from None
    except (ValueError, RecursionError):
        return 0, {}


def _number(document: Mapping[str, Any], name: str, default: float) -> float:
    found = document.get(name)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else default


def _without_browser(address: str) -> RyeError:
    return UsageError(
        "missing-argument",
        f"No token was given, and {address} does not support login in a browser.",
        "Pass --token TOKEN, pass --token - to read it from standard input, or set RYE_TOKEN.",
        what="token",
    )
