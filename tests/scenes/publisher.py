"""Publishing in the server's tests: real keys, signed items, statements, and a plain HTTP client."""

from __future__ import annotations

import hashlib
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import httpx

from registry_server.sequencer.acceptance import Candidate
from rye.items.identity import Identity
from rye.registry.protocol import notes, statements
from rye.registry.protocol.notes import Signer, VerifierKey
from rye.registry.protocol.statements import FileEntry, Keyset, Release, Yank, namespace_key_name
from rye.signing.keys import PrivateKey
from rye.signing.sign_item import sign
from tests.scenes.directive_text import directive
from tests.scenes.registry_process import ORIGIN

NO_AUTHORITIES: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For a client that speaks plain HTTP: each client would otherwise load every authority of the web, for 20 ms."""


def now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


@dataclass
class Publisher:
    """Someone with a namespace: signs items and statements as the client does."""

    namespace: str
    key: PrivateKey = field(default_factory=PrivateKey.generate)
    origin: str = ORIGIN
    keyset: int = 1

    @property
    def signer(self) -> Signer:
        name = namespace_key_name(self.origin, self.namespace)
        return Signer(VerifierKey(name, self.key.public.raw), self.key.sign)

    def note(self, statement: statements.Statement, *others: Signer) -> str:
        return notes.sign(statement.text(), [self.signer, *others]).encode()

    def claim(self) -> str:
        keys = (self.key.public.raw,)
        return self.note(Keyset(self.origin, self.namespace, 1, None, now(), 1, keys))

    def file(self, local_id: str, version: str = "1.0.0", text: str = "Work", sign_it: bool = True) -> bytes:
        item = directive(local_id, version, text=text)
        name = local_id.rpartition("/")[2]
        return (sign(item, "directive", f"{name}.md", self.key, now()) if sign_it else item).encode()

    def release(self, local_id: str, data: bytes, version: str = "1.0.0", **changes: Any) -> Release:
        values: dict[str, Any] = {
            "origin": self.origin,
            "identity": Identity("directive", f"{self.namespace}/{local_id}"),
            "version": version,
            "keyset": self.keyset,
            "time": now(),
            "description": "Work",
            "file": FileEntry(".md", len(data), hashlib.sha256(data).hexdigest()),
            "capabilities": ("rye.search.tool.*",),
        }
        return Release(**{**values, **changes})

    def yank(self, local_id: str, version: str = "1.0.0", yanked: bool = True, reason: str = "It was wrong") -> str:
        identity = Identity("directive", f"{self.namespace}/{local_id}")
        return self.note(Yank(self.origin, identity, version, yanked, self.keyset, now(), reason))

    def candidate(self, local_id: str, version: str = "1.0.0", sha256: str = "0" * 64) -> Candidate:
        """A release as the sequencer expects it, with its bytes already examined."""
        release = self.release(local_id, b"", version, file=FileEntry(".md", 1, sha256))
        return Candidate(notes.sign(release.text(), [self.signer]), release, self.key.public.raw)

    def claim_candidate(self) -> Candidate:
        note = notes.parse(self.claim())
        return Candidate(note, statements.parse(note.text))


@dataclass
class Client:
    """A plain HTTP client for a server."""

    url: str
    token: str = ""

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def get(self, path: str, **options: Any) -> httpx.Response:
        return httpx.get(self.url + path, headers=self._headers(), verify=NO_AUTHORITIES, timeout=30, **options)

    def blob(self, data: bytes) -> httpx.Response:
        path = f"/api/v1/blobs/{hashlib.sha256(data).hexdigest()}"
        return httpx.post(self.url + path, content=data, headers=self._headers(), verify=NO_AUTHORITIES, timeout=30)

    def statements(self, *texts: str, blobs: Sequence[str] | None = None) -> httpx.Response:
        body = {"notes": list(texts)} if blobs is None else {"notes": list(texts), "blobs": list(blobs)}
        return httpx.post(
            self.url + "/api/v1/statements", json=body, headers=self._headers(), verify=NO_AUTHORITIES, timeout=60
        )

    def publish(
        self, publisher: Publisher, local_id: str, version: str = "1.0.0", text: str = "Work"
    ) -> httpx.Response:
        data = publisher.file(local_id, version, text)
        self.blob(data).raise_for_status()
        release = publisher.release(local_id, data, version, description=text)
        return self.statements(publisher.note(release))


def error_code(response: httpx.Response) -> str:
    """The code of an error answer, after checking that the answer is a complete error document."""
    document = response.json()
    assert set(document) == {"error"}
    assert set(document["error"]) == {"code", "message", "hint"}
    assert document["error"]["message"]
    assert "Traceback" not in response.text
    return str(document["error"]["code"])
