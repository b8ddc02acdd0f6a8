"""The attack suite: an honest registry with a past and a present, its user, and an attacker.

:func:`perform` checks these rules for every :class:`Attack`, with the client running against a real server:

1. The control, the same user and command with the honest registry, succeeds. It is played once for all attacks that have it.
2. The attack fails with exactly the stated code (and, where the code covers several forms, the stated ``cause``).
3. The project stays the same, byte for byte and mode for mode: no file added, removed or changed.
4. What the user trusts (pins, heads, keysets, settings, keys) stays the same, byte for byte.

``Power`` states which keys the attacker has. A mirror has none: it can change, withhold and repeat bytes. The registry
has its log's key, the owners those of the root. A namespace's key can be stolen, or its owner hostile.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal
from unittest import mock

from msgspec import Struct
from msgspec.structs import replace

from rye.items.identity import Identity
from rye.limits import REGISTRY, RegistryLimits
from rye.registry.client import RegistryClient
from rye.registry.protocol import notes, wire
from rye.registry.protocol.name_map import Leaf, decode_node, node_path
from rye.registry.protocol.notes import SignedNote, Signer
from rye.registry.trust.records import PERMANENT
from tests.attacks.hostile_server import Fault, HostileServer
from tests.attacks.signed_items import directive, release, skill
from tests.registry.simulated_registry import SimulatedRegistry
from tests.scenes.person import Person, Result

Power = Literal["mirror", "log key", "log and namespace key", "log and owners' keys", "namespace key", "project"]
Start = Literal["stranger", "pinned", "installed", "checkout"]
"""What the user did before: nothing; pinned the registry; installed ``acme/ops/deploy`` 1.0.0 and the skill
``acme/pdf-tools``; or made a fresh checkout of that project, with its lock and without the installed files.
"""

DEPLOY = Identity("directive", "acme/ops/deploy")
CHECK = Identity("directive", "acme/ops/check")
SKILL = Identity("skill", "acme/pdf-tools")
LINT = Identity("directive", "zeta/ops/lint")
ADD = ("add", f"{DEPLOY}", "--yes")
UPDATE = ("update",)
INSTALL = ("install", "--yes")

IMPATIENT = replace(
    REGISTRY,
    stall_seconds=1.0,
    file_seconds=2.0,
    total_seconds=4.0,
    speed_grace_seconds=0.3,
    retries=1,
    retry_seconds=0.01,
    retry_after_seconds=0.1,
)
"""Limits for attacks that exhaust a client's patience: the same rules, reached within a second or two."""


@dataclass
class Attacker:
    """What an attacker can use. ``past``: what the user saw; ``present``: what the honest registry serves now."""

    past: SimulatedRegistry
    present: SimulatedRegistry
    server: HostileServer
    user: Person
    elsewhere: HostileServer
    """Another host, controlled by the attacker."""

    def serve(self, registry: SimulatedRegistry) -> None:
        """Show this registry to the user."""
        self.server.serve(registry.files)

    def replace(self, path: str, data: bytes | None) -> None:
        """Change or withhold (None) one of the served files."""
        if data is None:
            del self.server.files[path]
        else:
            self.server.files[path] = data

    def fault(self, path: str, fault: Fault) -> None:
        self.server.faults[path] = fault

    def cheat(self, build: Callable[[SimulatedRegistry], object], *, before: bool = False) -> SimulatedRegistry:
        """Let ``build`` append to the present (or the past), and serve the result with the log's signature."""
        registry = (self.past if before else self.present).fork()
        build(registry)
        registry.publish()
        self.serve(registry)
        return registry

    def map_path(self) -> str:
        """The path of the name map's root, which in a small registry is the whole map."""
        return node_path(wire.decode_head(self.server.files["head"]).map)

    def index_path(self, name: str) -> str:
        leaf = decode_node(self.server.files[self.map_path()])
        assert isinstance(leaf, Leaf)
        return f"index/{leaf.entries[name].sha256}"


class Attack(Struct, frozen=True, kw_only=True):
    """One row of a table of attacks."""

    name: str
    power: Power
    code: str
    act: Callable[[Attacker], object]
    cause: str | None = None
    start: Start = "pinned"
    command: tuple[str, ...] = ADD
    build: Callable[[SimulatedRegistry], object] | None = None
    """What the honest registry did since the user last looked; default: :func:`progress`."""
    limits: RegistryLimits = REGISTRY
    later: timedelta = timedelta(0)
    """How far the user's clock is ahead in the attack, compared with the control."""
    files: Callable[[dict[str, bytes]], object] | None = None
    """Additions to what the honest registry serves."""
    control: tuple[str, ...] | None = None
    """The control's command, where it differs from the attack's."""
    revokes: bool = False
    """Whether the run sees a revocation, although it ends with another error."""

    @property
    def withdraws(self) -> bool:
        """Whether the run sees that something no longer counts: that is remembered, so that silence does not bring it back."""
        return self.revokes or self.code in PERMANENT


def now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def progress(registry: SimulatedRegistry) -> None:
    """One hour of an honest registry: a new release."""
    release(registry, DEPLOY, "1.1.0", directive(DEPLOY, "1.1.0", text="Do the work better."))


def founded(at: datetime) -> SimulatedRegistry:
    """Create an honest registry with two namespaces and four items."""
    registry = SimulatedRegistry(now=at)
    for namespace in ("acme", "zeta"):
        registry.claim(namespace)
    release(registry, DEPLOY, "1.0.0", directive(DEPLOY))
    release(registry, CHECK, "1.0.0", directive(CHECK, text="Check the work."))
    release(
        registry,
        SKILL,
        "1.0.0",
        skill(SKILL),
        attached={"scripts/read.py": b"print('pdf')\n", "notes.md": b"# Notes\n"},
    )
    release(registry, LINT, "1.0.0", directive(LINT, text="Lint the work."))
    registry.publish()
    return registry


def tree(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """Everything below a folder: path → mode and content, or a link's target."""
    found: dict[str, tuple[int, bytes | str]] = {}
    waiting, start = [str(folder)], len(str(folder)) + 1
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                path, mode = entry.path, entry.stat(follow_symlinks=False).st_mode
                content: bytes | str = b""
                if stat.S_ISLNK(mode):
                    content = os.readlink(path)
                elif stat.S_ISREG(mode):
                    with open(path, "rb", buffering=0) as file:
                        content = file.readall()
                elif stat.S_ISDIR(mode):
                    waiting.append(path)
                found[path[start:]] = (mode, content)
    return found


def difference(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    """The paths at which two trees differ."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


class AttackRunner:
    """Two servers, and users in every starting position, made once and copied for each attack."""

    def __init__(self, base: Path):
        self.base = base
        self.server = HostileServer()
        self.elsewhere = HostileServer()
        self.founded = now() - timedelta(hours=2)
        self.past = founded(self.founded)
        self._templates: dict[Start, Path] = {}
        self._good: set[object] = set()
        """The controls that succeeded: all that they are made of."""
        self._made = 0

    def close(self) -> None:
        for server in (self.server, self.elsewhere):
            server.__exit__()

    def user(self, start: Start) -> Person:
        """A fresh user in this position. The server must not be serving an attack yet."""
        self._made += 1
        template = self._templates.get(start)
        if template is None:
            template = self._templates[start] = self.base / f"template-{start}"
            self._prepare(Person(template), start)
        place = self.base / f"user{self._made}"
        shutil.copytree(template, place, symlinks=True)
        user = Person(place)
        user.environment["RYE_TRUST_LOCK"] = "1"  # a copy is another project; who may agree is not under attack here
        return user

    def _prepare(self, user: Person, start: Start) -> None:
        self.server.serve(self.past.files)
        user.ok("config", "set", "registry", self.server.url)
        user.ok("init", "--name", "shop")
        if start == "stranger":
            return
        user.ok("registry", "add", self.server.url, "--fingerprint", self.past.fingerprint)
        if start in ("installed", "checkout"):
            user.ok("add", str(DEPLOY), str(SKILL), "--yes")
        if start == "checkout":
            shutil.rmtree(user.path(".ai/packages"))
            shutil.rmtree(user.home / "cache")

    def attacker(self, attack: Attack) -> Attacker:
        present = self.past.fork()
        present.pass_time(hours=1)
        (attack.build or progress)(present)
        present.publish()
        if attack.files is not None:
            attack.files(present.files)
        self.elsewhere.serve({})
        return Attacker(self.past.fork(), present, self.server, self.user(attack.start), self.elsewhere)

    def perform(self, attack: Attack, *, program: bool = False) -> Result:
        """Perform control and attack, with every check of the module docstring. ``program``: in a separate process."""
        self._control(attack, program)
        attacker = self.attacker(attack)
        attacker.serve(attacker.present)
        attack.act(attacker)
        project, trusted = tree(attacker.user.folder), trusted_files(attacker.user)
        with client_with(attack.limits, attack.later):
            result = self._run(attacker.user, attack.command, program)
        assert difference(project, tree(attacker.user.folder)) == [], f"{attack.name!r} changed the project"
        if not attack.withdraws:
            assert difference(trusted, trusted_files(attacker.user)) == [], f"{attack.name!r} changed what is trusted"
        assert result.code in (1, 2), f"{attack.name!r} was not noticed: {result}"
        error = result.error
        assert (error["code"], error.get("cause") if attack.cause else None) == (attack.code, attack.cause), error
        assert error["message"], error
        return result

    def _control(self, attack: Attack, program: bool) -> None:
        """Run the attack's command with the honest registry; it must succeed."""
        command = attack.control or attack.command
        control = (attack.start, command, attack.build, attack.files, attack.limits, program)
        if control in self._good:
            return
        attacker = self.attacker(attack)
        attacker.serve(attacker.present)
        with client_with(attack.limits):
            result = self._run(attacker.user, command, program)
        assert result.code == 0, f"the control of {attack.name!r} failed: {result}"
        self._good.add(control)

    def _run(self, user: Person, command: tuple[str, ...], program: bool) -> Result:
        arguments = [part.replace("{url}", self.server.url).replace("{pin}", self.past.fingerprint) for part in command]
        return (user.spawn if program else user.run)(*arguments, "--json")


def trusted_files(user: Person) -> dict[str, tuple[int, bytes | str]]:
    """Pins, heads, keysets, settings, keys: all of the user's files except the cache, and the evidence of forks, which are never
    trusted."""
    files = tree(user.home).items()
    return {path: entry for path, entry in files if path.split("/")[0] != "cache" and "evidence" not in path.split("/")}


@contextmanager
def client_with(limits: RegistryLimits, later: timedelta = timedelta(0)) -> Iterator[None]:
    """Patch this process's clients to use these limits and a clock that runs ahead; by default leave them unchanged."""
    opening: Any = RegistryClient.unasked.__func__.__kwdefaults__  # type: ignore[attr-defined]
    making: Any = RegistryClient.__init__.__kwdefaults__
    with (
        mock.patch.dict(opening, {"limits": limits} if limits is not REGISTRY else {}),
        mock.patch.dict(making, {"now": lambda: datetime.now(UTC) + later} if later else {}),
    ):
        yield


# what attackers write


def raw(text: str, signers: list[Signer]) -> SignedNote:
    """A signature over any text, without checking the statement's grammar."""
    return notes.sign(text, signers)
