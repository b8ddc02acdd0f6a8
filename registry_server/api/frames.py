"""What the server and its own processes say to each other over a pipe: four bytes of length, then JSON."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from registry_server.sequencer.acceptance import Candidate
from registry_server.settings import Settings
from registry_server.upstream_settings import Upstream
from rye.registry.protocol import statements
from rye.registry.protocol.notes import SignedNote
from rye.registry.protocol.statements import Release

LENGTH_BYTES = 4


class SentSettings(Struct, frozen=True):
    """The server's settings, for a process that it starts."""

    data: str
    values: dict[str, str | int | float | bool | tuple[str, ...]]
    upstream: tuple[Upstream, ...] = ()

    @staticmethod
    def of(settings: Settings) -> SentSettings:
        """Return them in a form that fits into a frame."""
        own = ("data", "upstream")
        values = {item.name: getattr(settings, item.name) for item in fields(Settings) if item.name not in own}
        return SentSettings(str(settings.data), values, settings.upstream)

    def settings(self) -> Settings:
        """Return the settings."""
        values: dict[str, Any] = dict(self.values)
        return Settings(data=Path(self.data), upstream=self.upstream, **values)


class Sent(Struct, frozen=True):
    """A statement that the server has read: :class:`~registry_server.sequencer.acceptance.Candidate`."""

    note: SignedNote
    release: Release | None
    """The statement, so that a release is parsed once; None: another one."""
    signer: bytes | None
    keywords: str

    @staticmethod
    def of(candidate: Candidate) -> Sent:
        """Return it in the form that fits into a frame."""
        statement = candidate.statement
        release = statement if isinstance(statement, Release) else None
        return Sent(candidate.note, release, candidate.signer, candidate.keywords)

    def candidate(self) -> Candidate:
        """Return the statement."""
        return Candidate(self.note, self.release or statements.parse(self.note.text), self.signer, self.keywords)


def frame(value: Struct) -> bytes:
    """Encode a frame."""
    data = msgspec.json.encode(value)
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


def read_frame(stream: BinaryIO) -> bytes | None:
    """Read the next frame; None at the end of the input."""
    head = stream.read(LENGTH_BYTES)
    if len(head) < LENGTH_BYTES:
        return None
    size = int.from_bytes(head, "big")
    data = stream.read(size)
    return data if len(data) == size else None
