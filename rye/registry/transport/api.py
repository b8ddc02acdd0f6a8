"""A registry's API for writing and searching, used with a token (docs/reference/protocol.md, Writing).

A token is sent only to the host that the person logged in to. Redirects are not followed, and plain ``http`` is refused
except for loopback addresses. Answers of the API are shown or retried, never trusted: results are read back through
:mod:`rye.registry.client` and verified.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote, urlsplit

from rye.errors import RyeError
from rye.limits import REGISTRY
from rye.registry.protocol import wire
from rye.registry.transport.bearer_token import bearer
from rye.registry.transport.http_connection import authorities_for
from rye.text.addresses import is_loopback
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    import httpx
else:
    httpx = lazy_module("httpx")  # not needed until the first request

_A = TypeVar("_A")
_ANSWER_BYTES = 8 * 1024 * 1024
BUSY = frozenset({429, 503})
"""The registry is busy. Repeating the request later is harmless: whatever was stored or logged is then a duplicate."""


class ApiError(RyeError):
    """The registry's API refused or failed; ``status`` is the HTTP status, 0 if there was no answer."""

    def __init__(self, code: str, message: str, hint: str | None = None, status: int = 0):
        super().__init__(code, message, hint)
        self.status = status


class RegistryApi:
    """Calls the API at ``api`` (:attr:`rye.registry.client.RegistryClient.api`) of the registry at ``registry``."""

    def __init__(self, registry: str, api: str | None, token: str | None = None) -> None:
        parts = urlsplit(api or "")
        if api is None or parts.scheme not in ("https", "http"):
            raise ApiError(
                "read-only-registry",
                f"{registry} is read-only: it has no API.",
                "Use the address of the registry that it is a copy of.",
            )
        if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
            raise ApiError(
                "insecure-registry",
                f"{api} is not https, so others could read the token.",
                "Use the registry's https address.",
            )
        self._base = api.rstrip("/") + "/"
        self._authorization = bearer(token) if token is not None else None
        self._client: httpx.Client | None = None
        self._making = threading.Lock()

    def put_blob(self, sha256: str, data: bytes) -> None:
        """Upload one blob. Repeating it is harmless."""
        self._send("POST", f"blobs/{sha256}", content=data, content_type="application/octet-stream")

    def post_statements(self, notes: list[str], blobs: Sequence[bytes] = ()) -> wire.StatementsAnswer:
        """Append signed notes, all or none; returns when they are in a durable checkpoint.

        ``blobs``: files sent with them.
        """
        body = wire.encode_json(wire.StatementsRequest(notes, list(blobs)))
        answer = wire.decode_json(
            self._send("POST", "statements", content=body, content_type="application/json"), wire.StatementsAnswer
        )
        if len(answer.results) != len(notes):
            raise ApiError(
                "answer-malformed",
                f"The registry answered with {len(answer.results)} results for {len(notes)} statements.",
                "Ask its operator. `rye log verify` shows what is in its log.",
            )
        return answer

    def search(
        self, query: str, *, kind: str | None = None, namespace: str | None = None, limit: int = 20, offset: int = 0
    ) -> wire.SearchAnswer:
        """Search; ``kind`` and ``namespace`` narrow the results."""
        words = {"q": query, "kind": kind, "namespace": namespace, "limit": str(limit), "offset": str(offset)}
        answer = self._send("GET", "search", params={name: value for name, value in words.items() if value is not None})
        return wire.decode_json(answer, wire.SearchAnswer)

    def similar(self, names: Sequence[str]) -> list[list[str]]:
        """Return what exists and may be confused with each of these names, at most ``SIMILAR_ASKED`` of them."""
        answer = self._send("GET", "similar", params={"name": list(names)})
        told = wire.decode_json(answer, wire.SimilarAnswer).names
        if len(told) != len(names):
            raise ApiError("answer-malformed", "The registry's answer does not match the request.", "Ask its operator.")
        return told

    def whoami(self) -> wire.WhoamiAnswer:
        """Return whose token it is, and what it can do."""
        return wire.decode_json(self._send("GET", "whoami", params={"account": "1"}), wire.WhoamiAnswer)

    def exchange(self, identity: str) -> wire.ExchangeAnswer:
        """Exchange a build server's identity token for a short-lived token."""
        body = wire.encode_json(wire.ExchangeRequest(identity))
        answer = self._send("POST", "oidc/exchange", content=body, content_type="application/json")
        return wire.decode_json(answer, wire.ExchangeAnswer)

    # -- stages -------------------------------------------------------------------------------------------------------

    def post_stages(self, drafts: list[str]) -> wire.StagesAnswer:
        """Stage releases whose blobs are uploaded, all or none. ``drafts``: the unsigned texts of their notes."""
        body = wire.encode_json(wire.StageRequest(drafts))
        answer = wire.decode_json(
            self._send("POST", "stages", content=body, content_type="application/json"), wire.StagesAnswer
        )
        if len(answer.stages) != len(drafts):
            raise ApiError("answer-malformed", "The registry's answer does not match the request.", "Ask its operator.")
        return answer

    def stages(self, *, everything: bool = False) -> wire.StagesAnswer:
        """Return the pending stages; with ``everything`` the decided ones as well."""
        answer = self._send("GET", "stages", params={"all": "1"} if everything else None)
        return wire.decode_json(answer, wire.StagesAnswer)

    def stage(self, identifier: str) -> wire.StageDetail:
        """Return one stage, with its draft and the signatures so far."""
        return wire.decode_json(self._send("GET", f"stages/{identifier}"), wire.StageDetail)

    def stage_file(self, identifier: str, sha256: str) -> bytes:
        """Return the bytes of a staged file. The caller checks them."""
        return self._send("GET", f"stages/{identifier}/files/{sha256}")

    def approve_stage(self, identifier: str, note: str) -> wire.StageRow:
        """Send the release note with a maintainer's signature."""
        body = wire.encode_json(wire.ApprovalRequest(note))
        answer = self._send("POST", f"stages/{identifier}/approvals", content=body, content_type="application/json")
        return wire.decode_json(answer, wire.StageRow)

    def reject_stage(self, identifier: str, reason: str) -> wire.StageRow:
        """Reject a pending stage, for this reason."""
        body = wire.encode_json(wire.RejectionRequest(reason))
        answer = self._send("POST", f"stages/{identifier}/rejection", content=body, content_type="application/json")
        return wire.decode_json(answer, wire.StageRow)

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()

    def _send(
        self,
        method: str,
        path: str,
        *,
        content: bytes | None = None,
        content_type: str | None = None,
        params: Mapping[str, str | list[str]] | None = None,
    ) -> bytes:
        with self._making:
            if self._client is None:
                timeout = httpx.Timeout(REGISTRY.file_seconds, connect=REGISTRY.connect_seconds)
                self._client = httpx.Client(verify=authorities_for(self._base), timeout=timeout, follow_redirects=False)
        headers = {"Accept": "application/json"}
        if self._authorization is not None:
            headers["Authorization"] = self._authorization
        if content_type is not None:
            headers["Content-Type"] = content_type
        url = self._base + "/".join(quote(part, safe="") for part in path.split("/"))
        deadline = time.monotonic() + REGISTRY.file_seconds
        pauses = [REGISTRY.retry_seconds * 2**number for number in range(REGISTRY.retries)]
        while True:
            try:
                with self._client.stream(method, url, headers=headers, content=content, params=params) as response:
                    body = self._read(response, deadline)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                raise self._unreachable(error, "") from None
            except httpx.HTTPError as error:
                said = (
                    " Whether the request succeeded is unknown. Repeating it is harmless." if method == "POST" else ""
                )
                raise self._unreachable(error, said) from None
            if response.is_success:
                return body
            refusal = self._refusal(response.status_code, body)
            is_busy = refusal.status in BUSY and refusal.code not in wire.OPERATOR_ERRORS
            if not is_busy or not pauses:
                raise refusal
            time.sleep(pauses.pop(0))

    def _read(self, response: httpx.Response, deadline: float) -> bytes:
        body = bytearray()
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > _ANSWER_BYTES:
                raise ApiError("fetch-too-large", f"The answer of {self._base} is too large.", "Ask its operator.")
            if time.monotonic() > deadline:
                raise ApiError(
                    "fetch-slow",
                    f"{self._base} did not finish its answer in {REGISTRY.file_seconds:g} seconds.",
                    "Try again later. Repeating the request is harmless.",
                )
        return bytes(body)

    def _unreachable(self, error: Exception, said: str) -> ApiError:
        return ApiError(
            "fetch-unreachable",
            f"Cannot reach the registry at {self._base}: {str(error) or type(error).__name__}.{said}",
            "Check the address, and that the registry is running. `rye registry serve` starts one on this machine.",
        )

    def _refusal(self, status: int, body: bytes) -> ApiError:
        if 300 <= status < 400:
            message = f"The API at {self._base} redirects to another address, and a token is never sent there."
            return ApiError(
                "fetch-redirect", message, "If you trust that address, log in there: `rye login ADDRESS`", status
            )
        try:
            error = wire.decode_json(body, wire.ErrorAnswer).error
        except RyeError:
            advice = "Log in: `rye login ADDRESS`" if status == 401 else "Ask its operator, or try again later."
            return ApiError("registry-failed", f"The registry answered with status {status}.", advice, status)
        hint = error.hint
        if status == 401:
            hint = hint or "Log in: `rye login ADDRESS`"
        return ApiError(error.code, error.message, hint, status)
