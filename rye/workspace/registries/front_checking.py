"""Checks what stands before a registry: its proxy, its CDN, or a mirror's web server."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec.structs import replace

from rye.errors import RyeError, UsageError
from rye.limits import CONTENT, REGISTRY
from rye.project.registries import normal_address
from rye.registry.front_check import Report, check_front
from rye.registry.transport.plain_answers import PlainAnswers, over_plain_http
from rye.registry.transport.seam import FetchError
from rye.text.addresses import is_loopback
from rye.workspace.registries.registry_access import reading_token

if TYPE_CHECKING:
    from rye.workspace.context import Context

LOOK_SECONDS = 1.0
"""Between two looks at the head while waiting for it to change."""


def check_registry(context: Context, address: str, wait_seconds: float = 0.0) -> Report:
    """Check the answers at an address of a registry or a mirror. ``wait_seconds``: how long to wait for the head to change.

    Raises UsageError ``bad-argument``, RyeError ``offline``, FetchError and WireError.
    """
    where = normal_address(address, context.cwd)
    parts = urlsplit(where)
    host = parts.hostname or ""
    if parts.scheme == "file" or (parts.scheme == "http" and not is_loopback(host)):
        raise UsageError(
            "bad-argument",
            f"{where!r} is not an https address.",
            "Give the address that readers use: https://host/path. http:// is for loopback addresses only.",
            what="registry",
        )
    if context.offline:
        raise RyeError("offline", "This asks the registry, and --offline forbids the network.")
    token = _token(context, where)
    answers = PlainAnswers(where, REGISTRY, CONTENT.item_bytes * 2, token)
    limits = replace(REGISTRY, connect_seconds=min(REGISTRY.connect_seconds, 5.0))
    plain = over_plain_http(host, f"{parts.path.strip('/')}/head".lstrip("/"), limits, CONTENT.item_bytes)
    is_secure = parts.scheme == "https" and parts.port in (None, 443) and is_public(host)

    def wait(has_changed: Callable[[], bool]) -> None:
        deadline = time.monotonic() + wait_seconds
        while time.monotonic() < deadline and not has_changed():
            time.sleep(min(LOOK_SECONDS, max(deadline - time.monotonic(), 0.0)))

    try:
        return check_front(
            answers.ask, plain=plain, is_private=token is not None, is_secure=is_secure, address=where, wait=wait
        )
    finally:
        answers.close()


def is_public(host: str) -> bool:
    """Whether a host can be reached from elsewhere: no address of a private network, and no name without a dot."""
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith((".local", ".internal", ".localhost", ".test"))


def _token(context: Context, address: str) -> str | None:
    """The token for this registry, if it does not show its head without one. Raises RyeError ``fetch-unauthorized``."""
    answers = PlainAnswers(address, REGISTRY, CONTENT.item_bytes)
    try:
        if answers.ask("head", {}).status != 401:
            return None
    finally:
        answers.close()
    token = reading_token(context, address, address)()
    if token is None:
        raise FetchError(
            "fetch-unauthorized",
            f"The registry at {address} is for members: its head needs a valid token.",
            f"Store one with `rye login {address} --token -`.",
        )
    return token
