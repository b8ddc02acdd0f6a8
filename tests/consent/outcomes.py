"""The table of outcomes (``outcomes.txt``): every sort of thing that needs a yes, in every situation, for every command.

Made by ``python -m tests.consent.outcomes > tests/consent/outcomes.txt``; review a difference like code. A row says what a
person is asked about, and how the command ends: with nobody to ask, after a person's no, with ``--yes``, with an approval by
name, in a run that trusts rye.lock, and after a person's yes. ``+`` names the sorts that the user is then remembered to have
agreed to, and ``lock`` those that rye.lock approves for the item.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from rye.consent.ask import Ask
from rye.items.identity import Identity
from rye.text.facts.fact import RULES_VERSION
from tests.consent.scene import (
    FACT,
    MODES,
    RIGHT,
    SIGNER,
    SOURCE,
    STRANGER,
    TOOL,
    WIDER,
    WITH,
    Clone,
    World,
)

TABLE = Path(__file__).with_name("outcomes.txt")
_KEYS = {
    "approved = [": "right",
    "approved-hooks": "hook",
    "approved-tools": "tool",
    "approved-limits": "limit",
    "approved-runs": "run",
    "approved-facts": "fact",
    "approved-signer": "signer",
    "forced": "forced",
    f"facts-rules = {RULES_VERSION + 1}": "rules",
}


class Case(Struct, frozen=True):
    """One row: a sort in a situation, and the command that meets it."""

    sort: str
    situation: str
    command: str
    item: Identity
    person: Callable[[World], Clone]

    @property
    def name(self) -> str:
        return f"{self.sort} {self.situation}: {self.command}"


def releases() -> Iterator[Case]:
    """What a release brings: in a first installation, and in an update from a version that the user agreed to."""
    for sort, item in WITH.items():
        if sort == "forced":
            continue
        yield Case(sort, "new", "add 1.1.0", item, lambda world: world.reader())
        steps = {"new": ("1.0.0", "1.1.0"), "known": ("1.1.0", "1.2.0"), "covered": ("1.1.0", "1.3.0")}
        for situation, (before, after) in steps.items():
            person = _installer(sort, before)
            yield Case(sort, situation, f"update {after}", item, person)
    yield Case("signer", "unknown, another namespace's", "add 1.0.0", STRANGER, lambda world: world.reader())
    yield Case("signer", "unknown, the first of all", "add 1.0.0", SIGNER, lambda world: world.reader(knows=False))


def _installer(sort: str, version: str) -> Callable[[World], Clone]:
    return lambda world: world.installed(sort, version)


_LOCKED = {**WITH, "source": SOURCE, "text": FACT, "customization": RIGHT, "customization-fact": RIGHT, "grant": RIGHT}
_UNAPPROVED = {
    "right": '  "rye.execute.tool.shell.run",\n',
    "hook": "approved-hooks",
    "tool": "approved-tools",
    "run": "approved-runs",
    "fact": "approved-facts",
}
_READERS = ("install", "ci", "restore", "restore-ci", "trust", "deploy", "render", "mcp")


def locks() -> Iterator[Case]:
    """What rye.lock and the project bring to someone who clones it: agreed to or not, or approved by no one."""
    situations: list[tuple[str, str, Identity, Callable[[Clone], object]]] = [
        ("all", "known", RIGHT, lambda clone: None),
        ("project", "new", RIGHT, lambda clone: clone.keep_lines(lambda line: '"project"' not in line)),
        ("everything", "another checkout", RIGHT, lambda clone: clone.path(".ai/.rye/accepted").unlink()),
        ("everything", "new", RIGHT, lambda clone: clone.memory.unlink()),
        ("right", "covered", RIGHT, _wider),
        ("signer", "pending", SIGNER, lambda clone: clone.edit_row(SIGNER, lambda row: row + 'approved-signer = ""\n')),
    ]
    for sort, item in _LOCKED.items():
        situations.append((sort, "new", item, _forgets(sort, item)))
    for sort in _UNAPPROVED:
        situations.append((sort, "unapproved", WITH[sort], _unapproves(sort)))
    for sort, situation, item, change in situations:
        for command in _READERS:
            yield Case(sort, situation, command, item, _changed(change))


def _changed(change: Callable[[Clone], object]) -> Callable[[World], Clone]:
    def person(world: World) -> Clone:
        clone = world.copy(world.team)
        change(clone)
        return clone

    return person


def _forgets(sort: str, item: Identity) -> Callable[[Clone], object]:
    def change(clone: Clone) -> None:
        if sort == "text":
            clone.edit_row(
                FACT, lambda row: row.partition("approved-facts")[0] + f"facts-rules = {RULES_VERSION + 1}\n\n"
            )
        gone = (f'"{sort}"', '"customization"' if sort == "customization-fact" else f'"{sort}"')
        of = f'["{item}"' if sort in WITH and sort != "signer" else "["
        clone.keep_lines(lambda line: not (line.startswith(of) and any(f" {one}," in line for one in gone)))

    return change


def _unapproves(sort: str) -> Callable[[Clone], object]:
    key = _UNAPPROVED[sort]

    def change(row: str) -> str:
        head, found, rest = row.rpartition(key)
        assert found
        return head + (rest if key.startswith(" ") else rest.partition("]\n")[2] if sort != "hook" else "\n")

    return lambda clone: clone.edit_row(WITH[sort], change)


def _wider(clone: Clone) -> None:
    text = clone.memory.read_text("utf-8")
    clone.memory.write_text(text.replace("rye.execute.tool.shell.run", "rye.execute.tool.shell.*"), "utf-8")


def uses() -> Iterator[Case]:
    """What is agreed to outside of rye.lock: a deploy's widenings, by ``--allow-widening``, and grants, by ``rye trust``."""
    for situation, versions in {
        "new": ("1.1.0",),
        "known": ("1.1.0", "1.2.0"),
        "covered": ("1.1.0", "1.3.0"),
    }.items():
        yield Case("deploy", situation, f"deploy {versions[-1]}", WIDER, _deployer(*versions))
    yield Case("deploy", "another's", "deploy 1.2.0", WIDER, _deployer("1.1.0", "1.2.0", forgets="deploy"))
    grants: dict[str, Callable[[Clone], object]] = {
        "new": _forgets("grant", RIGHT),
        "known": lambda clone: None,
        "covered": _agreed_to_more,
    }
    for situation, change in grants.items():
        yield Case("grant", situation, "grants", RIGHT, _changed(change))


def _deployer(*versions: str, forgets: str = "") -> Callable[[World], Clone]:
    def person(world: World) -> Clone:
        clone = world.deployer(*versions)
        if forgets:
            clone.keep_lines(lambda line: f'"{forgets}",' not in line)
        return clone

    return person


def _agreed_to_more(clone: Clone) -> None:
    lines = clone.memory.read_text("utf-8")
    clone.memory.write_text(lines + Ask(TOOL, "grant", "env TOKEN").line + "\n", "utf-8")


def cases() -> list[Case]:
    """Every row, in the table's order."""
    return [*releases(), *locks(), *uses()]


def row(world: World, case: Case) -> str:
    """What happens today, as the table says it."""
    ends: dict[str, list[str]] = {}
    shown: set[str] = set()
    clone: Clone | None = None
    for mode in MODES:
        if mode.approve and case.command in ("trust", "deploy", "render", "mcp", "grants"):
            continue
        clone = clone or case.person(world)
        lines, locked = set(clone.lines()), _row(clone, case.item)
        end, context = clone.play(case.command, case.item, mode)
        shown |= context.asked
        new = sorted({str(json.loads(line)[1]) for line in set(clone.lines()) - lines})
        end += f" + {' '.join(new)}" if new else ""
        after = _row(clone, case.item)
        end += f" lock: {' '.join(_approves(after))}" if after != locked else ""
        ends.setdefault(end, []).append(mode.name)
        if " " in end or end in ("done", "installed", "in-order") or case.command.startswith("restore"):
            clone = None  # it wrote something
    lines_said = [f"  {', '.join(modes)}: {end}" for end, modes in ends.items()]
    return "\n".join([f"{case.name} ({case.item})", f"  asks: {', '.join(sorted(shown)) or 'nothing'}", *lines_said])


def _row(clone: Clone, item: Identity) -> str:
    path = clone.project.lock_path
    start = f'kind = "{item.kind}"\nid = "{item.id}"\n'
    rows = path.read_text("utf-8").split("[[item]]\n") if path.exists() else []
    return next((row for row in rows if row.startswith(start)), "")


def _approves(text: str) -> list[str]:
    return [sort for key, sort in _KEYS.items() if any(line.startswith(key) for line in text.split("\n"))] or [
        "nothing"
    ]


def table(world: World) -> str:
    """The whole table as today's program makes it."""
    return "\n\n".join(row(world, case) for case in cases()) + "\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(table(World(Path(folder))))
