"""An attack by a repository, and what must hold when it is performed.

1. **Control.** The honest project (or the honest form of the same change) is cloned; every command succeeds.
2. **Attack.** A reader in the same position clones the hostile form. Every command gives the outcome that the attack
   expects, prints no text that the attacker wrote, and touches nothing next to the project. A command that refuses
   changes nothing; one that repairs restores what the team committed.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest import mock
from zlib import crc32

import pytest
from msgspec import Struct

from rye.cli.console import Console
from rye.cli.options import Session
from rye.items.identity import Identity
from tests.attacks.hostile_repository.clones import FORGED, Clone, Posture
from tests.attacks.hostile_repository.upstream import DEPLOY, FORMULA, ROLE, Upstream
from tests.attacks.simulation import difference, tree
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Result

Words = tuple[str, ...]
COMMANDS: Mapping[str, tuple[Words, ...]] = MappingProxyType(
    {
        "install": (("ci",), ("ci", "--yes"), ("install", "--locked"), ("install", "--frozen", "--yes")),
        "repair": (("install", "--yes"),),
        "read": (
            ("render", "{item}"),
            ("show", "{item}"),
            ("permissions", "show", "{item}"),
            ("facts", "{item}"),
        ),
        "rights": (
            ("hooks", "list", "{item}"),
            ("hooks", "eval", "{item}", "--context", "context.json"),
            ("permissions", "check", "{item}", "execute", "tool", "shell/run"),
        ),
        "diff": (("diff", "{item}", "--effective"),),
        "list": (("list",),),
        "sbom": (("sbom",),),
        "audit": (("audit",),),
        "check": (("lock", "--check"),),
        "prime": (("prime", ROLE.local_id, "--formula", FORMULA.local_id),),
        "search": (("search", "work"),),
    }
)
"""The readers of DESIGN 6.1 in groups that share an outcome."""


GROUPS = frozenset(COMMANDS) - {"prime", "search"}
"""The readers that every attack on an installed item is tried with."""
NO_PROMPT = ("tool", "bundle")
_STEERING = {chr(code) for code in (*range(32), *range(127, 160))} - {"\n", "\t"} | set(
    "\u2028\u2029\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)


def everywhere(code: str, **others: str) -> dict[str, str]:
    """The same outcome for every group of commands except ``others``; an empty outcome omits the group."""
    outcomes = {**dict.fromkeys(sorted(GROUPS), code), **others}
    return {group: said for group, said in outcomes.items() if said}


_HEADS = re.compile(r"^\[heads\]\n.*?(?=^\[\[item\]\]\n|\Z)", re.MULTILINE | re.DOTALL)
"""The part of rye.lock about registries' heads."""


class Attack(Struct, frozen=True, kw_only=True):
    """One row of a table of attacks."""

    name: str
    act: Callable[[Clone], object]
    outcomes: Mapping[str, str]
    """Group of commands → the outcome of each of them: an error's code, a finding's rule, a state of ``list``, ``G1`` …
    ``G6``, or ``ok``; ``a|b`` means either.
    """
    item: Identity = DEPLOY
    """The item given to commands that read a single item."""
    honest: Callable[[Clone], object] | None = None
    """The honest form of the same change; None: the project as it is."""
    postures: tuple[Posture, ...] = ("given",)
    mends: bool = True
    """Whether a successful ``repair`` restores the honest lock and the honest files."""
    spoken: bool = False
    """Whether the commands also run without ``--json``, because the attack targets someone reading a terminal."""


def outcome(result: Result) -> set[str]:
    """What a command reported: its error's code, or each finding, problem and state; otherwise ``ok`` or ``failed``."""
    document: Any = result.json
    if "error" in document:
        return {document["error"]["code"]}
    said: set[str] = set()
    for finding in document.get("findings", ()):
        if finding["severity"] == "error":
            said |= {finding["rule"], finding.get("code", finding["rule"])}
    said |= {problem["rule"] for problem in document.get("problems", ())}
    rows = document.get("items")
    if isinstance(rows, list):
        said |= {row["state"] for row in rows if row.get("state", "ok") != "ok"}
    return said or ({"ok"} if result.code == 0 else {"failed"})


class CloneAttackRunner:
    """Performs attacks, each on fresh clones."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.upstream = Upstream(base / "world")
        self._made: list[Path] = []
        self._numbers = count()
        self._good: set[tuple[Posture, Words]] = set()

    def clone(self, posture: Posture = "given") -> Clone:
        self._made.append(self.base / f"clone{next(self._numbers)}")
        return Clone(self.upstream, self._made[-1], posture)

    @contextmanager
    def removed(self) -> Iterator[None]:
        """Removes the clones that are made in it; each has hundreds of files."""
        before, self._made = self._made, []
        try:
            yield
        finally:
            for base in self._made:
                shutil.rmtree(base, ignore_errors=True)
            self._made = before

    def agreed(self) -> Clone:
        """The clone of a reader who was shown on a terminal what the honest project contains, and agreed."""
        clone = self.clone("visitor")
        with mock.patch.object(Session, "interactive", True), mock.patch.object(Console, "confirm", return_value=True):
            clone.ok("trust", "project")
        return clone

    def perform(self, attack: Attack, posture: Posture, outcomes: Mapping[str, str] | None = None) -> None:
        """Perform control and attack, with every check of the module docstring. ``outcomes``: where this reader's differ."""
        expected = attack.outcomes if outcomes is None else outcomes
        commands = [(group, words) for group, said in expected.items() if said for words in commands_of(group, attack)]
        self._control(attack, posture, [words for _, words in commands])
        clone = self._attacked(attack, posture)
        for group, words in commands:
            wanted = set(expected[group].split("|"))
            here = self._attacked(attack, posture) if wanted == {"ok"} and group in ("install", "repair") else clone
            project, near = tree(here.folder), tree(here.outside)
            result = here.read(*words)
            told = f"{attack.name!r}: {' '.join(words)} as {posture}: {result}"
            assert wanted & outcome(result), told
            assert (result.code == 0) is (wanted == {"ok"} or (group == "list" and "error" not in result.json)), told
            assert FORGED not in result.stdout or outcome(result) == {"edited-files"}, told
            assert "Traceback" not in result.stderr, told
            assert tree(here.outside) == near, told
            if wanted != {"ok"}:
                assert difference(project, tree(here.folder)) == [], told
            elif group == "repair" and attack.mends:
                assert self.is_honest(here), told
            if attack.spoken:
                spoken = here.run(*words)
                assert spoken.code == result.code, (told, spoken)
                assert steers_nothing(spoken), (told, spoken)

    def is_honest(self, clone: Clone) -> bool:
        """Whether a clone has the lock and the installed files that the team committed. The heads may be newer: they are those
        that the rows were verified under when they were put right."""
        team = self.upstream.team
        here, there = (_HEADS.sub("", place.path("rye.lock").read_text("utf-8")) for place in (clone, team))
        return here == there and not difference(tree(team.path(".ai/packages")), tree(clone.path(".ai/packages")))

    def _attacked(self, attack: Attack, posture: Posture) -> Clone:
        clone = self.clone(posture)
        attack.act(clone)
        return clone

    def _control(self, attack: Attack, posture: Posture, commands: Iterable[Words]) -> None:
        """Run the honest project; every command must succeed. Without an honest form, this runs once for all attacks."""
        honest = None
        for words in commands:
            if attack.honest is None and (posture, words) in self._good:
                continue
            if honest is None:
                honest = self.clone(posture)
                if attack.honest is not None:
                    attack.honest(honest)
            result = honest.read(*words)
            assert result.code == 0, f"the control of {attack.name!r} failed: {' '.join(words)} as {posture}: {result}"
            assert outcome(result) <= {"ok", "unverified"}, result
            if attack.honest is None:
                self._good.add((posture, words))


def commands_of(group: str, attack: Attack) -> list[Words]:
    """The commands of a group that apply to the item's kind.

    All commands of a group share one use case, so an attack runs the first command of ``install`` and ``read``, one of
    the others, and one of ``rights``: every command meets a third of all attacks.
    """
    given, item = COMMANDS[group], attack.item
    turn = crc32(attack.name.encode())
    if group == "read" and item.kind in NO_PROMPT:
        given = given[1:]
    if group in ("install", "read"):
        given = (given[0], given[1 + turn % (len(given) - 1)])
    elif group == "rights":
        given = (given[turn % len(given)],)
    found = []
    for words in given:
        if group in ("rights", "diff") and item != DEPLOY:
            continue
        found.append(tuple(word.replace("{item}", str(item)) for word in words))
    return found


def rows(*tables: Sequence[Attack]) -> list[Any]:
    """Attacks for ``parametrize``: each attack with each of its readers, under its name. All are thorough but the first that
    ends as it does, with its first reader."""
    return [
        pytest.param(*reader.values, marks=reader.marks or given.marks, id=f"{attack.name} ({reader.values[1]})")
        for table in tables
        for attack, given in zip(table, rest_thorough(1, table, _ends), strict=True)
        for reader in rest_thorough(1, [(attack, posture) for posture in attack.postures])
    ]


def _ends(attack: Attack) -> tuple[frozenset[tuple[str, str]], bool, bool]:
    return frozenset(attack.outcomes.items()), attack.spoken, attack.mends


def steers_nothing(result: Result) -> bool:
    """Check that the output contains nothing that moves the cursor, breaks a line or reverses the direction of text."""
    return _STEERING.isdisjoint(result.stdout + result.stderr)
