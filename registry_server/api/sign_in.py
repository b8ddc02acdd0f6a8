"""Sign people in with OIDC: the authorization code flow with PKCE, state and nonce (OpenID Connect Core 3.1, RFC
7636)."""

from __future__ import annotations

import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from registry_server.accounts.issuers import Claims, Issuer
from registry_server.api.return_paths import return_path
from registry_server.settings import Settings
from rye.errors import RyeError
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    import authlib.common.errors as oauth_errors
    import authlib.integrations.httpx_client as oauth
    import httpx
else:  # for registries that people sign in to
    oauth, oauth_errors = lazy_module("authlib.integrations.httpx_client"), lazy_module("authlib.common.errors")
    httpx = lazy_module("httpx")

_SECONDS = 10.0


class Attempt(Struct, frozen=True):
    """What the browser keeps in a cookie while it is at the issuer."""

    state: str
    nonce: str
    verifier: str
    code: str = ""
    """The user code of a program to confirm afterwards."""
    back: str = ""
    """The path of the page to return to (:mod:`registry_server.api.return_paths`)."""

    def encode(self) -> str:
        """Return the cookie's value."""
        kept = urlsafe_b64encode(self.back.encode()).decode().rstrip("=")
        return ".".join((self.state, self.nonce, self.verifier, self.code, kept))

    @classmethod
    def decode(cls, text: str) -> Attempt | None:
        """Parse a cookie's value; None if it is malformed."""
        parts = text.split(".")
        if len(parts) != 5 or not all(part.replace("-", "").replace("_", "").isalnum() for part in parts[:3]):
            return None
        try:
            back = urlsafe_b64decode(parts[4] + "=" * (-len(parts[4]) % 4)).decode("ascii")
        except ValueError:
            return None
        state, nonce, verifier, code = parts[:4]
        return cls(state, nonce, verifier, code, return_path(back))


class IssuerReturn(Struct, frozen=True):
    """What the browser brings back from the issuer (RFC 6749 §4.1.2, RFC 9207)."""

    state: str
    code: str = ""
    error: str = ""
    issuer: str = ""


class SignIn:
    """Signs people in. Its calls block, so they run in threads. ``issuer``: from the settings; None: none is set. ``clock``: the
    time by which an identity token has ended, in seconds since 1970."""

    def __init__(self, issuer: Issuer | None, settings: Settings, clock: Callable[[], float]) -> None:
        self._issuer = issuer
        self._settings = settings
        self._clock = clock

    @property
    def issuer(self) -> str | None:
        """The issuer's address; None: only the operator's links sign people in."""
        return self._issuer.address if self._issuer is not None else None

    def begin(self, address: str, code: str, back: str = "") -> tuple[str, Attempt]:
        """Return the URL to send the browser to, and what it keeps. ``address``: the registry's; ``back``: where to return."""
        attempt = Attempt(secrets.token_urlsafe(24), secrets.token_urlsafe(24), secrets.token_urlsafe(48), code, back)
        endpoint = self._known().endpoint("authorization_endpoint")
        with self._client(address) as client:
            url, _ = client.create_authorization_url(
                endpoint, state=attempt.state, nonce=attempt.nonce, code_verifier=attempt.verifier
            )
        return str(url), attempt

    def finish(self, address: str, attempt: Attempt | None, came: IssuerReturn) -> Claims:
        """Return the claims of the person. Raises RyeError ``sign-in-refused``, ``oidc-refused``,
        ``issuer-unavailable``."""
        if attempt is None or not hmac.compare_digest(attempt.state.encode(), came.state.encode()):
            raise RyeError(
                "sign-in-refused", "This is not the answer to a sign-in that this browser began.", "Sign in again."
            )
        issuer = self._known()
        if came.issuer and came.issuer != issuer.address:
            raise RyeError("sign-in-refused", "Another issuer sent the browser back.", "Sign in again.")  # RFC 9207
        if came.error or not came.code:
            reason = "".join(letter for letter in came.error if letter.isprintable())[:80] or "no code"
            raise RyeError("sign-in-refused", f"The issuer refused the sign-in: {reason}.", "Sign in again.")
        try:
            with self._client(address) as client:
                answer = client.fetch_token(
                    issuer.endpoint("token_endpoint"), code=came.code, code_verifier=attempt.verifier
                )
        except (oauth_errors.AuthlibBaseError, httpx.HTTPError, ValueError) as error:
            raise RyeError(
                "sign-in-refused", f"The issuer gave no token: {type(error).__name__}.", "Sign in again."
            ) from error
        identity = answer.get("id_token")
        if not isinstance(identity, str):
            raise RyeError("sign-in-refused", "The issuer gave no identity token.", "Sign in again.")
        claims = issuer.verify(identity, self._settings.oidc_client_id, self._clock())
        audiences = claims.get("aud")
        is_shared = isinstance(audiences, list) and len(audiences) > 1
        if ("azp" in claims or is_shared) and claims.get("azp") != self._settings.oidc_client_id:
            raise RyeError("sign-in-refused", "The identity token was made for another program.", "Sign in again.")
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), attempt.nonce.encode()):
            raise RyeError("sign-in-refused", "The identity token belongs to another sign-in.", "Sign in again.")
        subject = claims.get("sub")
        if not isinstance(subject, str) or not 0 < len(subject) <= 255:
            raise RyeError("sign-in-refused", "The identity token has no subject.", "Ask the registry's operator.")
        return claims

    def _known(self) -> Issuer:
        if self._issuer is None:
            raise RyeError(
                "not-found", "This registry does not sign people in with an issuer.", "Ask its operator for a link."
            )
        return self._issuer

    def _client(self, address: str) -> oauth.OAuth2Client:
        return oauth.OAuth2Client(
            self._settings.oidc_client_id,
            self._settings.oidc_client_secret or None,
            scope=self._settings.oidc_scope,
            redirect_uri=f"{address}/-/account/callback",
            code_challenge_method="S256",
            timeout=_SECONDS,
            follow_redirects=False,
            trust_env=False,
        )


def name_in(claims: Claims) -> str:
    """Return the person's name from the claims, or ``member``."""
    for claim in ("preferred_username", "email", "name", "sub"):
        name = claims.get(claim)
        if isinstance(name, str) and name.strip():
            return name
    return "member"
