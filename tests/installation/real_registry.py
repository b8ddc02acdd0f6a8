"""A real registry process with authors who sign and publish through the program, and users who install through it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.cli.running import Program, Result
from tests.scenes.directive_text import directive
from tests.scenes.registry_process import ORIGIN, RegistryProcess, token


@dataclass
class Author:
    """Someone with a namespace, a key and their own project."""

    program: Program
    namespace: str

    def write(self, local_id: str, version: str = "1.0.0", **parts: Any) -> str:
        """Write and sign a directive in the author's project; return its path."""
        path = f".ai/directives/{local_id}.md"
        self.program.write(path, directive(local_id, version, **parts))
        self.program.ok("sign", path)
        return path

    def publish(self, *paths: str, version: str | None = None) -> Result:
        given = ["--version", version] if version else []
        return self.program.ok("publish", *paths, *given, "--allow-uncommitted", "--yes")

    def release(self, local_id: str, version: str = "1.0.0", **parts: Any) -> None:
        """Write, sign and publish one directive."""
        self.publish(self.write(local_id, version, **parts))


@dataclass
class RealRegistry(RegistryProcess):
    """One registry process, with its authors and users next to its folder."""

    _made: int = 0

    def _program(self) -> Program:
        self._made += 1
        base = self.data.parent / f"user{self._made}"
        base.mkdir()
        program = Program(base)
        program.ok("registry", "add", self.url, "--fingerprint", self.fingerprint, "--default")
        return program

    def author(self, namespace: str) -> Author:
        program = self._program()
        program.ok("keys", "generate")
        program.ok("login", self.url, "--token", token(self.data))
        program.ok("init", "--namespace", namespace)
        program.ok("namespace", "claim", namespace)
        return Author(program, namespace)

    def user(self) -> Program:
        """Someone with an empty project, who pinned the registry."""
        program = self._program()
        program.ok("init", "--name", "shop")
        return program

    def colleague(self, program: Program) -> Program:
        """The same user on another checkout, whose lock they trust: only the project folder is separate, and empty."""
        self._made += 1
        other = Program.__new__(Program)
        other.home, other.environment = program.home, {**program.environment, "RYE_TRUST_LOCK": "1"}
        other.folder = self.data.parent / f"checkout{self._made}"
        other.folder.mkdir()
        return other


def serving(factory: pytest.TempPathFactory, origin: str = ORIGIN) -> Iterator[RealRegistry]:
    """The body of a module's fixture."""
    found_ = RealRegistry(factory.mktemp("registry") / "registry", origin)
    try:
        yield found_
    finally:
        found_.stop()
