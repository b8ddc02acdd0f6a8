"""A real registry process with authors who sign and publish through the program, and users who install through it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from registry_server import database, tokens
from registry_server.embedded import start_embedded, stop_embedded
from registry_server.founding import found
from registry_server.settings import load
from tests.cli.running import Program, Result

_DIRECTIVE = """# {name}

{text}

```xml
<directive name="{name}" version="{version}">
  <metadata>
    <description>{text}</description>
    <category>{category}</category>
    <author>tester</author>
    <model tier="fast">any</model>
    <limits max_turns="5" max_tokens="1000"/>
    <permissions>{permissions}</permissions>
    <cost>
      <context estimated_usage="low" turns="5">1000</context>
      <duration>60</duration>
      <spawn_threshold>1</spawn_threshold>
    </cost>
    <context>{relations}</context>
    {hooks}
  </metadata>
  <outputs><output name="result">What came of it</output></outputs>
</directive>
```

<process>
  <step name="only">{text}</step>
</process>
"""
_HOOK = '<hook><when>{when}</when><execute item_type="tool">{item}</execute><inputs><amount>{amount}</amount></inputs></hook>'
SEARCH = "<search><tool>*</tool></search>"
SHELL = "<search><tool>*</tool></search><execute><tool>shell.run</tool></execute>"


def directive(
    local_id: str,
    version: str = "1.0.0",
    *,
    text: str = "Do the work.",
    permissions: str = SEARCH,
    depends: tuple[tuple[str, str], ...] = (),
    more: str = "",
    hooks: tuple[tuple[str, str, str], ...] = (),
) -> str:
    """A directive's text. ``depends``: (reference, range); ``hooks``: (when, tool, amount)."""
    category, _, name = local_id.rpartition("/")
    relations = "".join(f'<depends_on version="{wanted}">{reference}</depends_on>' for reference, wanted in depends)
    listed = "".join(_HOOK.format(when=when, item=item, amount=amount) for when, item, amount in hooks)
    return _DIRECTIVE.format(
        name=name,
        version=version,
        category=category,
        text=text,
        permissions=permissions,
        relations=relations + more,
        hooks=f"<hooks>{listed}</hooks>" if listed else "",
    )


@dataclass
class Author:
    """Somebody with a namespace, a key and a project of their own."""

    program: Program
    namespace: str

    def write(self, local_id: str, version: str = "1.0.0", **parts: Any) -> str:
        """A signed directive in the author's project; its path."""
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


def _token(data: Path) -> str:
    """A token for everything in the registry."""
    engine = database.connect(load(data, {}, {}).database_url)
    try:
        with database.writer(engine) as connection:
            return tokens.create(connection, f"test-{secrets.token_hex(4)}", (), "2026-01-01T00:00:00Z")
    finally:
        engine.dispose()


@dataclass
class RealRegistry:
    """One registry process, its authors and its users, below ``base``."""

    base: Path
    origin: str
    process: Popen[bytes] = field(init=False)
    url: str = field(init=False)
    fingerprint: str = field(init=False)
    _made: int = 0

    def __post_init__(self) -> None:
        root = found(self.data, self.origin, {}, None, 365)
        self.fingerprint = root.sha256()
        self.process, self.url = start_embedded(self.data)

    @property
    def data(self) -> Path:
        return self.base / "registry"

    @property
    def log_file(self) -> Path:
        return self.data / "server.log"

    def stop(self) -> None:
        stop_embedded(self.process)

    def _program(self) -> Program:
        self._made += 1
        base = self.base / f"user{self._made}"
        base.mkdir()
        program = Program(base)
        program.ok("registry", "add", self.url, "--fingerprint", self.fingerprint, "--default")
        return program

    def author(self, namespace: str) -> Author:
        program = self._program()
        program.ok("keys", "generate")
        token = _token(self.data)
        program.ok("login", self.url, "--token", token)
        program.ok("init", "--namespace", namespace)
        program.ok("namespace", "claim", namespace)
        return Author(program, namespace)

    def user(self) -> Program:
        """Somebody with an empty project, who pinned the registry."""
        program = self._program()
        program.ok("init", "--name", "shop")
        return program

    def colleague(self, program: Program) -> Program:
        """The same user on another checkout: everything shared but the project folder, which is empty."""
        self._made += 1
        other = Program.__new__(Program)
        other.home, other.environment = program.home, program.environment
        other.folder = self.base / f"checkout{self._made}"
        other.folder.mkdir()
        return other


def serving(factory: pytest.TempPathFactory, origin: str = "registry.example.org") -> Iterator[RealRegistry]:
    """The body of a module's fixture."""
    found_ = RealRegistry(factory.mktemp("registry"), origin)
    try:
        yield found_
    finally:
        found_.stop()
