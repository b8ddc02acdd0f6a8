"""How a case plays: it serves registries to a client under test, and asks it.

A case is a function of a :class:`Play`. Setting up goes through :meth:`Play.good`, which must be accepted; the step that the case
is about goes through :meth:`Play.decisive`, whose answer must be what the case expects: accepted, or refused with one of its
classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from conformance.simulator.registry import Registry, stamp
from conformance.simulator.server import Answer, Server

CLASSES = frozenset(
    [
        "malformed",
        "limit",
        "signature",
        "unsigned",
        "hash",
        "proof",
        "foreign",
        "chain",
        "keyset",
        "history",
        "rollback",
        "fork",
        "vanished",
        "stale",
        "future",
        "expired",
        "fingerprint",
        "unpinned",
        "recovery",
        "revoked",
        "withdrawn",
        "witness",
        "mismatch",
        "not-found",
        "unavailable",
        "unsolvable",
    ]
)
FEATURES = frozenset({"solving", "derivation", "owners", "witnesses", "security-keys"})
Request = dict[str, Any]
Reply = dict[str, Any]
Client = Callable[[Request], Reply]


class Failed(Exception):
    """The client did something else than the case expects."""


@dataclass(frozen=True)
class Case:
    """One case. ``quote``: words of the page (below ``docs/reference``) that it plays; ``refuses``: the classes with which
    the decisive step is refused, empty if it is accepted; ``needs``: features without which a client leaves it out."""

    id: str
    page: str
    quote: str
    refuses: tuple[str, ...]
    needs: frozenset[str]
    play: Callable[[Play], None]

    @property
    def expected(self) -> str:
        return " or ".join(self.refuses) or "accepted"


class Play:
    """One case with one client. ``now`` is the time that the client is told: that of the registry served last, unless set.
    ``answered`` is its last answer."""

    def __init__(self, case: Case, client: Client, server: Server, folder: Path, prefix: str) -> None:
        self.case = case
        self.now: datetime | str = ""
        self.actual = "nothing was asked"
        self.answered: Reply = {}
        self._client = client
        self._server = server
        self._folder = folder
        self._prefix = prefix
        self._site = self._home = 0

    @property
    def url(self) -> str:
        return f"{self._server.url}/{self._prefix}-{self._site}"

    @property
    def requested(self) -> list[str]:
        """The paths that were requested so far from the present address."""
        return self._server.requested.get(f"{self._prefix}-{self._site}", [])

    def serve(self, registry: Registry, changes: Mapping[str, bytes | Answer | None] | None = None) -> None:
        """Serve a registry's files. ``changes``: other answers for some paths, None for none."""
        files: dict[str, bytes | Answer] = dict(registry.files)
        for path, answer in (changes or {}).items():
            files.pop(path, None)
            if answer is not None:
                files[path] = answer
        self._server.sites[f"{self._prefix}-{self._site}"] = files
        self.now = registry.now

    def move(self) -> None:
        """From now on another address, with nothing there yet."""
        self._site += 1

    def start(
        self, registry: Registry, changes: Mapping[str, bytes | Answer | None] | None = None, **members: object
    ) -> Reply:
        """A new user at a new address, who pins the registry."""
        self._home += 1
        self.move()
        self.serve(registry, changes)
        return self.good("init", fingerprint=registry.fingerprint, **members)

    def newcomer(self) -> None:
        """A new user, who has pinned nothing yet."""
        self._home += 1

    def ask(self, command: str, **members: object) -> Reply:
        home = self._folder / f"{self._prefix}-{self._home}"
        home.mkdir(exist_ok=True, parents=True)
        now = self.now if isinstance(self.now, str) else stamp(self.now)
        request = {"command": command, "home": str(home), "url": self.url, "now": now, **members}
        reply = self.answered = self._client(request)
        if reply.get("ok") is not True and not (reply.get("ok") is False and reply.get("error") in CLASSES):
            raise Failed(f"{command}: CONTRACT.md has no such answer: {str(reply)[:300]}")
        return reply

    def good(self, command: str, **members: object) -> Reply:
        """A step that must be accepted before the case can begin, or a control of it."""
        reply = self.ask(command, **members)
        if reply["ok"] is not True:
            raise Failed(f"{command}, which is not the attack, was refused: {reply['error']}: {reply.get('detail')}")
        return reply

    def refused(self, command: str, *classes: str, **members: object) -> None:
        """A step besides the decisive one that must be refused."""
        reply = self.ask(command, **members)
        if reply["ok"] is True or reply["error"] not in classes:
            raise Failed(f"{command} should be refused with {' or '.join(classes)}: {str(reply)[:300]}")

    def decisive(self, command: str, **members: object) -> Reply:
        """The step that the case is about."""
        reply = self.ask(command, **members)
        self.actual = "accepted" if reply["ok"] is True else str(reply["error"])
        if self.actual not in (self.case.refuses or ("accepted",)):
            raise Failed(f"{command}: expected {self.case.expected}, got {self.actual}: {str(reply)[:400]}")
        return reply

    def expect(self, what: str, found: object, expected: object) -> None:
        """A part of an answer that must be exactly this."""
        if found != expected:
            raise Failed(f"{what} should be {expected!r}, but is {found!r}")
