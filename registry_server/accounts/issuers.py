"""The documents of OIDC issuers, and the verification of their tokens.

Only issuers that the operator named are ever contacted: for their discovery document and their keys, over https (plain
http on this machine only), without redirects, with limits on size and time, and with caching. A token is accepted when,
in this order:

1. It is a JWS of three parts, at most 16 kB, with an asymmetric algorithm of :data:`ALGORITHMS`; never ``none`` or an
   HMAC.
2. Its signature is by a key that the issuer currently publishes, of a type that fits the algorithm.
3. ``iss`` is the issuer, ``aud`` names this registry, ``exp`` is in the future, ``iat`` and ``nbf`` are in the past,
   with a minute of tolerance, and the token is valid for at most a day.

The verified content is :class:`Claims`; the caller decides what follows from it.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from rye.errors import RyeError
from rye.limits import KIB
from rye.text.addresses import is_loopback
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    import httpx
    import joserfc.errors as jose_errors
    from joserfc import jwk, jwt
else:  # a fifth of a server's start, for registries that name an issuer
    httpx = lazy_module("httpx")
    jose_errors = lazy_module("joserfc.errors")
    jwk, jwt = lazy_module("joserfc.jwk"), lazy_module("joserfc.jwt")

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
TOKEN_BYTES = 16 * KIB
_ISSUER_CHARACTERS = 500
_DOCUMENT_BYTES = 256 * KIB
_FETCH_SECONDS = 5.0
_KEPT_SECONDS = 600.0
_AGAIN_SECONDS = 15.0
"""Minimum time between two fetches for a missing key, or from an issuer that did not answer."""
_GRACE_SECONDS = 60
_LIFETIME_SECONDS = 86_400
_KEY_TYPES = frozenset({"RSA", "EC", "OKP"})

Claims = Mapping[str, Any]
Fetch = Callable[[str], bytes]


def check_issuer(issuer: str) -> str:
    """Check and normalize a configured issuer. Raises RyeError ``invalid-value``."""
    parts = address_parts(issuer)
    plain = parts.scheme == "http" and is_loopback(parts.hostname or "")
    bad = parts.query or parts.fragment or "@" in parts.netloc or not parts.hostname or not issuer.isprintable()
    bad = bad or len(issuer) > _ISSUER_CHARACTERS
    if bad or " " in issuer or not (parts.scheme == "https" or plain):
        raise RyeError(
            "invalid-value",
            f"{issuer[:200]!r} is not an issuer's address.",
            "Give https://…; http:// is for this machine only.",
            what="issuer",
        )
    return issuer


def address_parts(address: str) -> SplitResult:
    """Split an address; one that cannot be split has no parts."""
    try:
        return urlsplit(address)
    except ValueError:
        return SplitResult("", "", "", "", "")


def fetch(address: str) -> bytes:
    """Fetch a document of an issuer. Raises RyeError ``issuer-unavailable``."""
    deadline = time.monotonic() + _FETCH_SECONDS
    data = b""
    try:
        with (
            httpx.Client(timeout=_FETCH_SECONDS, follow_redirects=False, trust_env=False) as client,
            client.stream("GET", address, headers={"Accept": "application/json"}) as answer,
        ):
            if answer.status_code != 200:
                raise _unavailable(address, f"it answers {answer.status_code}")
            for piece in answer.iter_bytes():
                data += piece
                if len(data) > _DOCUMENT_BYTES:
                    raise _unavailable(address, "its answer is too large")
                if time.monotonic() > deadline:
                    raise _unavailable(address, "it answers too slowly")
    except httpx.HTTPError as error:
        raise _unavailable(address, str(error) or type(error).__name__) from error
    return data


@dataclass(slots=True, kw_only=True)
class Issuer:
    """One issuer's documents, cached for a few minutes. Thread-safe."""

    address: str
    fetch: Fetch = fetch
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _document: dict[str, Any] = field(default_factory=dict)
    _keys: jwk.KeySet | None = None
    _read: float = 0.0
    _failed: tuple[float, RyeError] | None = None
    """When the last fetch failed, and why, so that requests cannot make the server wait for it over and over."""

    def endpoint(self, name: str) -> str:
        """An address of the discovery document, e.g. ``token_endpoint``. Raises RyeError ``issuer-unavailable``."""
        with self._lock:
            self._refresh(_KEPT_SECONDS)
            return self._endpoint(name)

    def verify(self, token: str, audience: str, now: float) -> Claims:
        """Rules 1 to 3; ``now``: seconds since the epoch. Raises RyeError ``oidc-refused``, ``issuer-unavailable``."""
        header = _header(token)
        if header.get("alg") not in ALGORITHMS:
            raise refused(f"it is signed with {str(header.get('alg'))[:40]!r}")
        try:
            decoded = jwt.decode(token, self._keys_for(header.get("kid")), algorithms=list(ALGORITHMS))
        except (jose_errors.JoseError, ValueError, KeyError, TypeError) as error:
            raise refused(f"its signature is not by the issuer's key ({type(error).__name__})") from error
        check_claims(decoded.claims, self.address, audience, now)
        return decoded.claims

    def _keys_for(self, kid: object) -> jwk.KeySet:
        with self._lock:
            self._refresh(_KEPT_SECONDS)
            if not self._has(kid):
                self._refresh(_AGAIN_SECONDS)  # keys rotate, but clients must not be able to trigger constant fetches
            if self._keys is None or not self._has(kid):
                raise refused("it is signed by a key that the issuer does not publish")
            return self._keys

    def _has(self, kid: object) -> bool:
        if self._keys is None:
            return False
        return len(self._keys.keys) == 1 if kid is None else any(key.kid == kid for key in self._keys.keys)

    def _refresh(self, seconds: float) -> None:
        if self._keys is not None and self.clock() - self._read < seconds:
            return
        if self._failed is not None and self.clock() - self._failed[0] < _AGAIN_SECONDS:
            raise RyeError(self._failed[1].code, self._failed[1].message, self._failed[1].hint)
        try:
            self._look()
        except RyeError as error:
            self._failed = (self.clock(), error)
            raise
        self._failed = None

    def _look(self) -> None:
        self._document = _object(
            self.fetch(f"{self.address.rstrip('/')}/.well-known/openid-configuration"), self.address
        )
        if self._document.get("issuer") != self.address:
            raise _unavailable(self.address, "its discovery document is another issuer's")
        keys = _object(self.fetch(self._endpoint("jwks_uri")), self.address).get("keys")
        usable = [
            key
            for key in (keys if isinstance(keys, list) else [])
            if isinstance(key, dict)
            and key.get("kty") in _KEY_TYPES
            and key.get("use", "sig") == "sig"
            and "d" not in key
        ]
        try:
            self._keys = jwk.KeySet.import_key_set({"keys": usable})
        except (jose_errors.JoseError, ValueError, KeyError, TypeError) as error:
            raise _unavailable(self.address, f"its keys cannot be read ({type(error).__name__})") from error
        self._read = self.clock()

    def _endpoint(self, name: str) -> str:
        address = self._document.get(name)
        parts = urlsplit(address) if isinstance(address, str) else urlsplit("")
        plain = parts.scheme == "http" and is_loopback(parts.hostname or "") and self.address.startswith("http:")
        if not (parts.scheme == "https" or plain) or not parts.hostname:
            raise _unavailable(self.address, f"its discovery document has no valid {name}")
        return str(address)


def issuer_of(token: str) -> str:
    """The issuer that a token claims, unverified. Raises RyeError ``oidc-refused``."""
    _header(token)
    issuer = _part(token, 1).get("iss")
    if not isinstance(issuer, str):
        raise refused("it names no issuer")
    return issuer


def check_claims(claims: Claims, issuer: str, audience: str, now: float) -> None:
    """Rule 3. Raises RyeError ``oidc-refused``."""
    if claims.get("iss") != issuer:
        raise refused("it is from another issuer")
    audiences = claims.get("aud")
    named = audiences if isinstance(audiences, list) else [audiences]
    if not any(isinstance(allowed, str) and allowed.rstrip("/") == audience.rstrip("/") for allowed in named):
        raise refused(f"it was not issued for this registry: its audience must be {audience}")
    expires, issued, begins = (_moment(claims, name) for name in ("exp", "iat", "nbf"))
    if expires is None or issued is None:
        raise refused("it has no time of issue or expiry")
    if expires + _GRACE_SECONDS <= now:
        raise refused("it has expired")
    if max(issued, begins or issued) - _GRACE_SECONDS > now:
        raise refused("it is from the future")
    if expires - issued > _LIFETIME_SECONDS:
        raise refused("it is valid for more than a day")


def refused(reason: str) -> RyeError:
    """The error for an identity token that is not accepted, and why."""
    return RyeError(
        "oidc-refused",
        f"The identity token is refused: {reason}.",
        "Have the build server issue one for this registry: docs/how-to/registry-access.md, Trusted publishing.",
    )


def _moment(claims: Claims, name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e11:
        raise refused(f"its {name} is not a time")
    return float(value)


def _header(token: str) -> dict[str, Any]:
    if len(token) > TOKEN_BYTES:
        raise refused(f"it is larger than {TOKEN_BYTES // KIB} kB. Have the issuer name fewer groups in it")
    if token.count(".") != 2 or not token.isascii():
        raise refused("it is not a signed token of three parts")
    return _part(token, 0)


def _part(token: str, number: int) -> dict[str, Any]:
    text = token.split(".")[number]
    try:
        value = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, RecursionError) as error:
        raise refused("its parts are not JSON") from error
    if not isinstance(value, dict):
        raise refused("its parts are not JSON objects")
    return value


def _object(data: bytes, issuer: str) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _unavailable(issuer, "its answer is not JSON") from error
    if not isinstance(value, dict):
        raise _unavailable(issuer, "its answer is not a JSON object")
    return value


def _unavailable(address: str, reason: str) -> RyeError:
    return RyeError(
        "issuer-unavailable", f"The issuer {address[:200]} is unavailable: {reason[:200]}.", "Try again in a moment."
    )
