"""A real registry process and its users, each with their own home and project.

Import the fixture ``registry`` into a test module: the server starts once for the module.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Program
from tests.scenes.directive_text import directive
from tests.scenes.registry_process import RegistryProcess, run, token


class User(Program):
    """Someone with a key, a namespace in their project, and a registry."""

    def __init__(self, base: Path, namespace: str | None = None):
        super().__init__(base)
        if namespace is not None:
            self.write("rye.toml", f'[project]\nname = "{namespace}"\nnamespace = "{namespace}"\n')

    def directive(self, local_id: str, version: str = "1.0.0", *, signed: bool = True, **parts: Any) -> str:
        """Write and sign a directive; return its path in the project."""
        path = f".ai/directives/{local_id}.md"
        self.write(path, directive(local_id, version, **parts))
        if signed:
            self.ok("sign", path)
        return path

    def publish(self, local_id: str, version: str = "1.0.0", **more: Any) -> Any:
        """Write, sign and publish a directive; return the command's document."""
        return self.ok("publish", self.directive(local_id, version, **more), "--json").json

    def fails(self, *arguments: str, code: str, exit_code: int = 1, **options: Any) -> dict[str, Any]:
        """Run with ``--json``; it must fail with this code, a message and a single document. Return the error."""
        result = self.run(*arguments, "--json", **options)
        assert result.code == exit_code, result
        error: dict[str, Any] = result.error
        assert error["code"] == code, error
        assert error["message"]
        assert "Traceback" not in result.stderr
        return error

    def fingerprint(self, name: str = "default") -> str:
        """The fingerprint of one of this user's keys."""
        keys = self.ok("keys", "list", "--json").json["keys"]
        return str(next(key["fingerprint"] for key in keys if name in (key["name"], "default")))

    def public_key(self) -> str:
        """The file of this user's default public key, to give to others."""
        keys = self.ok("keys", "list", "--json").json["keys"]
        return str(Path(keys[0]["path"]).with_suffix(".pub"))


@dataclass
class Registry(RegistryProcess):
    """A registry process, and a token for each owner."""

    token: str = field(init=False)
    users: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.token = token(self.data)

    def reader(self, base: Path, namespace: str | None = None) -> User:
        """Someone who pinned the registry, without key or token."""
        self.users += 1
        user = User(base / f"user-{self.users}", namespace)
        user.ok("registry", "add", self.url, "--fingerprint", self.fingerprint)
        return user

    def owner(self, base: Path, namespace: str, *, claim: bool = True) -> User:
        """Someone with a key who is logged in and owns ``namespace``."""
        user = self.reader(base, namespace)
        user.ok("login", self.url, "--token", self.token)
        user.ok("keys", "generate")
        if claim:
            user.ok("namespace", "claim", namespace)
        return user


def operator(*arguments: str) -> str:
    """Run ``rye-registry``, which must succeed; return its output."""
    return run(*arguments).stdout


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    started = Registry(tmp_path_factory.mktemp("registry") / "data")
    yield started
    started.stop()
