"""A registry process of our own, and people on this machine who publish to it and install from it.

The fixtures ``registry``, ``acme`` and ``user`` (:mod:`tests.scenes.fixtures`) are all that most tests need.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

from registry_server.embedded import start_embedded, stop_embedded
from rye.errors import RyeError
from tests.scenes.person import Person
from tests.scenes.registry_process import ORIGIN, init, token


@dataclass
class Registry:
    """A registry created in ``data`` and served from it until ``stop``. People's folders are next to ``data``."""

    data: Path
    origin: str = ORIGIN
    fingerprint: str = field(init=False)
    url: str = field(init=False)
    process: subprocess.Popen[bytes] = field(init=False)
    people: int = field(init=False, default=0)
    _pinned: tuple[bytes, Path] | None = field(init=False, default=None)
    """The head that the last reader met, and a copy of the home that they had then."""

    def __post_init__(self) -> None:
        self.fingerprint = init(self.data, self.origin)
        self.process, self.url = start_embedded(self.data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def public(self) -> Path:
        """The static folder that it serves."""
        return self.data / "public"

    @cached_property
    def token(self) -> str:
        """For every namespace."""
        return token(self.data)

    def stop(self) -> None:
        stop_embedded(self.process)

    def start(self) -> None:
        """Serve again, on the same port, which another test may hold for a moment."""
        port = int(self.url.rsplit(":", 1)[1])
        for attempt in range(20, -1, -1):
            try:
                self.process, self.url = start_embedded(self.data, port=port)
                return
            except RyeError as error:
                if not attempt or "in use" not in error.message:
                    raise
                time.sleep(0.5)

    def _folder(self) -> Path:
        self.people += 1
        return self.data.parent / f"{self.data.name}-person-{self.people}"

    def reader(self, namespace: str | None = None) -> Person:
        """Someone who pinned the registry, without key or token; without ``namespace``, without a project.

        Whoever does so at the same head has the same files in their home: they are copied, and nobody shares one.
        """
        person = Person(self._folder(), namespace)
        head = (self.public / "head").read_bytes()
        if self._pinned is not None and self._pinned[0] == head:
            shutil.copytree(self._pinned[1], person.home, dirs_exist_ok=True)
            return person
        person.ok("registry", "add", self.url, "--fingerprint", self.fingerprint, "--default")
        kept = self.data.parent / f"{self.data.name}-pinned-{self.people}"
        shutil.copytree(person.home, kept)
        self._pinned = head, kept
        return person

    def user(self) -> Person:
        """Someone with an empty project, who pinned the registry."""
        person = self.reader()
        person.ok("init", "--name", "shop")
        return person

    def owner(self, namespace: str, *, claim: bool = True) -> Person:
        """Someone with a key who is logged in and owns ``namespace``."""
        person = self.reader(namespace)
        person.ok("login", self.url, "--token", self.token)
        person.ok("keys", "generate")
        if claim:
            person.ok("namespace", "claim", namespace)
        return person

    def colleague(self, person: Person) -> Person:
        """The same user on another checkout, whose lock they trust: only the project folder is separate, and empty."""
        folder = self._folder()
        folder.mkdir()
        return person.elsewhere(folder, RYE_TRUST_LOCK="1")
