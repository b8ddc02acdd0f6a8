"""Trusted publishing: a build server's identity token for a registry token that is valid for some minutes
(design/server.md 4)."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, TypeVar

import sqlalchemy as sa
from msgspec.structs import replace

from registry_server.accounts import audit_events, publishers, tokens
from registry_server.accounts.issuers import Fetch, Issuer, fetch, issuer_of, refused
from registry_server.storage import database
from rye.errors import RyeError
from rye.registry.protocol import wire
from rye.registry.protocol.lines import write_time

_T = TypeVar("_T")


class Issuers:
    """The issuers that this process has asked. Thread-safe."""

    def __init__(self, fetch: Fetch = fetch) -> None:
        self._fetch = fetch
        self._lock = threading.Lock()
        self._known: dict[str, Issuer] = {}

    def get(self, address: str) -> Issuer:
        """Return an issuer. The operator names all of them, so there are few."""
        with self._lock:
            return self._known.setdefault(address, Issuer(address=address, fetch=self._fetch))


class IssuerCalls:
    """Run requests to issuers in a few separate threads, so an issuer that does not answer blocks nothing else.

    Anyone can begin a sign-in or send an identity token, and each can cost a request to the issuer. At most ``most`` of
    them wait; further ones are refused at once (``busy``: 503). Belongs to one event loop.
    """

    def __init__(self, threads: int = 4, most: int = 32) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="issuers")
        self._most = most
        self._under_way = 0

    async def run(self, call: Callable[..., _T], *words: Any) -> _T:
        """The call's result. Raises RyeError ``busy``, and whatever the call raises."""
        if self._under_way >= self._most:
            raise RyeError("busy", "Too many people are signing in right now.", "Try again in a moment.")
        self._under_way += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, call, *words)
        finally:
            self._under_way -= 1

    def close(self) -> None:
        """Accept no more calls; those under way end by their own timeouts."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class Exchange:
    """Exchanges identity tokens. Its calls block, so they run in threads."""

    def __init__(
        self, engine: sa.Engine, issuers: Issuers, is_private: bool, clock: Callable[[], float] = time.time
    ) -> None:
        self._engine = engine
        self._issuers = issuers
        self._is_private = is_private
        self._clock = clock

    def exchange(self, token: str, audience: str, address: str) -> wire.ExchangeAnswer:
        """Exchange an identity token for a registry token. Raises RyeError ``oidc-refused``, ``issuer-unavailable``."""
        issuer = issuer_of(token)
        with database.reader(self._engine) as connection:
            if not publishers.listing(connection, issuer=issuer):
                raise refused("no namespace here trusts its issuer")
        claims = self._issuers.get(issuer).verify(token, audience, self._clock())
        if isinstance(claims.get("aud"), list) and len(claims["aud"]) > 1:
            raise refused(f"other services could replay it here: its only audience must be {audience}")
        identity = publishers.identity_of(claims)
        now = write_time(datetime.fromtimestamp(self._clock(), UTC))
        with database.change(self._engine) as connection:
            # The issuer may have taken its time: who is trusted is decided here, and nobody else binds or removes them meanwhile.
            trusting = publishers.listing(connection, issuer=issuer, hold=True)
            trusted = [publisher for publisher in trusting if publishers.is_meant(publisher, identity)]
            if (
                any(publishers.is_meant(replace(publisher, owner=None), identity) for publisher in trusting)
                and not trusted
            ):
                raise refused(f"{identity.repository[:200]} has a different owner than at its first use")
            if not trusted:
                raise refused(f"no namespace trusts {identity.repository[:200]} {identity.workflow[:200]}")
            publishers.use_once(connection, token, claims, now)
            publishers.bind(connection, trusted, identity)
            secret = publishers.make_token(connection, trusted, identity, now, self._is_private)
            account = tokens.check(connection, secret, now)
            assert account is not None
            assert account.expires is not None
            detail = {
                "issuer": issuer,
                "repository": identity.repository,
                "workflow": identity.workflow,
                "environment": identity.environment,
                "owner": identity.owner or None,
                "subject": str(claims.get("sub", ""))[:300],
                "namespaces": list(account.namespaces),
                "scopes": list(account.scopes),
            }
            audit_events.record(
                connection,
                now,
                "token.exchange",
                f"token:{account.token}",
                actor="registry",
                address=address,
                detail=detail,
            )
        return wire.ExchangeAnswer(secret, account.expires)
