"""How many modules of rye a command passes through: whoever follows it has as many files to read (house 2)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scenes.directive_text import SHELL
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

TRACED = """
import inspect, json, sys, threading

entered = set()

def note(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<"):
        entered.add(code.co_filename)

threading.setprofile(note)
sys.setprofile(note)
from rye.cli.start import main
try:
    main()
except SystemExit as ended:
    status = ended.code or 0
finally:
    sys.setprofile(None)
print()
print(json.dumps([status, sorted(entered)]))
"""
"""Runs the command line and prints its status and the files with a function that it entered, in any thread. Bodies of modules and
classes do not count, and neither do lambdas and comprehensions, which stand in a function."""
ROOT = Path(__file__).parents[2]
MOST = {"add": 201, "install": 107, "ci": 62}
"""``ci`` is one that has nothing to do, and says so in two lines.

Of those of ``add``, three say what an item is in the words of every surface, one who is behind its name, three print the consent
screen, five look for causes of facts that were not looked for before, and five spell out what a text puts together, and three
join strings, look at assembled words and at both ends of a file; three more look up what a text asks another file for, read calls
that install, and know which words can be a source, and four name harms that no other fact names. Three find the items of a
source, where one did everything. Two ask for a head and read its names, and one says what rye.lock moved since this user
installed last, and one which customizations were agreed to, and one what the solver is told. Three ask, remember
what was agreed to, and know whose items were installed before, where one did everything. Every command looks for policies of
organizations that were joined and for registries that are read through others; the words of ``[policy]`` have a module of their
own, because owners of registries write them as well. A folder that was opened once, the journal of a transaction and the
transaction itself are three, where one did everything; a client and what it withholds are two."""
SKILL = """---
name: words
description: Finds words. Use it for words.
allowed-tools: Read Bash(git:*)
metadata:
  version: "1.0.0"
---

# Words
"""


def modules_entered(person: Person, *arguments: str) -> list[str]:
    """The modules of rye with a function that a successful command entered."""
    done = subprocess.run(
        [sys.executable, "-c", TRACED, *arguments],
        capture_output=True,
        cwd=person.folder,
        env={**person.environment, "PYTHONPATH": str(ROOT)},
        timeout=60,
        check=False,
    )
    assert done.stdout.endswith(b"]\n"), done
    status, files = json.loads(done.stdout.splitlines()[-1])
    assert status == 0, done
    package = ROOT / "rye"
    return [str(Path(name).relative_to(ROOT)) for name in files if Path(name).is_relative_to(package)]


@pytest.mark.thorough
def test_adding_and_installing_pass_through_few_modules(registry: Registry) -> None:
    """Two directives, one of which needs the other and asks for rights, and a skill; then the same from the lock."""
    acme = registry.owner("acme")
    acme.release("work/base")
    acme.release("work/top", depends=(("acme/work/base", "^1.0"),), permissions=SHELL)
    acme.write(".ai/skills/words/SKILL.md", SKILL)
    acme.ok("sign", ".ai/skills/words")
    acme.publish(".ai/skills/words")
    user = registry.user()

    adding = modules_entered(user, "add", "acme/work/top", "skill:acme/words", "--yes")
    assert user.path(".ai/packages/acme/directives/work/base.md").exists()
    shutil.rmtree(user.path(".ai/packages"))
    installing = modules_entered(user, "install")
    assert user.path(".ai/packages/acme/directives/work/base.md").exists()

    again = modules_entered(user, "ci")  # nothing to do

    trips = {"add": adding, "install": installing, "ci": again}
    too_long = {command: [len(modules), *modules] for command, modules in trips.items() if len(modules) > MOST[command]}
    assert too_long == {}, {c: len(m) for c, m in trips.items()}
