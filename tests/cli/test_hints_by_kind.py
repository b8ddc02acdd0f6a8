"""Every hint that names a command for an item names one that works for its kind."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from rye.deployment.plan_ledger import Ledger
from rye.deployment.plan_values import OnDisk, Run
from rye.deployment.state import State
from rye.errors import RyeError
from rye.installation.shadows import Shadow
from rye.items.identity import Identity
from rye.items.kinds import KINDS
from rye.project.lock import LockedItem
from rye.verified.installed import modified_item
from rye.workspace.customizing.overriding import overridable
from tests.scenes.directive_text import directive
from tests.scenes.installed import install, project_with_targets
from tests.scenes.item_texts import FORMULA, ROLE, agent, knowledge, skill
from tests.scenes.person import Person

SCRIPT = "scripts/run.sh"
BUNDLE = """name = "starter"
version = "1.0.0"
description = "Some"

[[items]]
id = "skill:acme/pdf"
version = "1.0.0"
"""
TEXTS = {
    "directive": ("acme/work/ship", directive("work/ship")),
    "tool": ("acme/text/count", '__version__ = "1.0.0"\n__category__ = "text"\n__description__ = "Counts"\n'),
    "knowledge": ("acme/notes/style", knowledge("style")),
    "agent": ("acme/helper", agent("helper")),
    "role": ("acme/release-manager", ROLE),
    "formula": ("acme/release", FORMULA.format(name="release")),
    "skill": ("acme/pdf", skill("pdf")),
    "bundle": ("acme/starter", BUNDLE),
}
COMMANDS = re.compile(r"`(rye (?:override|overlay|role|fork) [^`]*)`")


def drifted(label: str, path: str) -> str:
    ledger = Ledger((), State(), lambda _: OnDisk("missing"), Run(), (), lambda _: False, frozenset())
    return ledger.drift(path, label, OnDisk("file", b"edited\n"), b"ours\n")[2] or ""


def of_error(make: Callable[[], object]) -> str:
    with pytest.raises(RyeError) as error:
        make()
    return error.value.hint or ""


def hints(person: Person, item: LockedItem) -> Mapping[str, str]:
    """Every place that names a command for an item of a kind, and its hint."""
    label, kind = str(item.identity), KINDS[item.kind]
    found = {
        "a changed file": modified_item("It was.", item.identity).hint or "",
        "an own item of the same id": Shadow("own", item).hint,
        "an edited deployed file": drifted(label, ".claude/x/y.md"),
        "changing it": kind.changed_by(item.id),
    }
    if kind.main_file is not None:
        found["an edited deployed script"] = drifted(label, f".claude/skills/pdf/{SCRIPT}")
    if not kind.overridable:
        found["an override of it"] = of_error(lambda: overridable(person.library, label))
    return found


@pytest.fixture
def shop(tmp_path: Path) -> Person:
    person = project_with_targets(tmp_path)
    person.environment["EDITOR"] = person.environment["VISUAL"] = "true"
    person.write(f".claude/skills/pdf/{SCRIPT}", "#!/bin/sh\necho edited\n")
    return person


@pytest.mark.processes
@pytest.mark.parametrize("name", list(KINDS))
def test_a_hint_for_a_kind_can_be_followed(shop: Person, name: str) -> None:
    identifier, text = TEXTS[name]
    attached = {SCRIPT: b"#!/bin/sh\n"} if KINDS[name].main_file is not None else {}
    item = install(shop, name, identifier, text, attached=attached)
    said = hints(shop, item)
    commands = {place: COMMANDS.findall(hint) for place, hint in said.items()}
    assert all(commands.values()), said
    for command in sorted({command for found in commands.values() for command in found}):
        result = shop.run(*shlex.split(command)[1:])
        assert result.code == 0, (command, result)


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if not kind.overridable])
def test_a_kind_without_overrides_is_the_control(shop: Person, name: str) -> None:
    """What the hints must not say of it is refused."""
    identifier, text = TEXTS[name]
    install(shop, name, identifier, text)
    assert shop.fails("override", "new", f"{name}:{identifier}", code="wrong-kind sections", exit_code=2)


def test_every_kind_has_a_text_here() -> None:
    assert TEXTS.keys() == KINDS.keys()
    assert Identity("skill", TEXTS["skill"][0]).namespace == "acme"
