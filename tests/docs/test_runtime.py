"""``docs/explanation/runtime.md`` and the pages next to it are true: five commands end in a denied call, and every
attack and code is played or listed.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from rye.runtime.calls import CODES
from rye.runtime.run.models import parse_models
from tests.docs.typed_blocks import typed
from tests.mcp.sessions import Caller, play
from tests.runtime.run.scripted import Script, returns, serving
from tests.scenes.person import Person

pytestmark = pytest.mark.processes
TESTS = Path(__file__).resolve().parents[1]
DOCS = TESTS.parent / "docs"
TEXT = (DOCS / "explanation" / "runtime.md").read_text(encoding="utf-8")
RUNNING = (DOCS / "how-to" / "running.md").read_text(encoding="utf-8")
ATTACKS = (DOCS / "reference" / "attacks-runs.md").read_text(encoding="utf-8")
MODELS = RUNNING.split("<!-- example: models -->\n```toml\n")[1].split("```")[0]
DENIED = json.loads(TEXT.split("```json\n")[1].split("```")[0])


def test_five_commands_from_nothing_to_a_denied_call(tmp_path: Path) -> None:
    """The last one tells an agent program about the server: the test starts the same server and makes the model's call."""
    example = re.search(r"<!-- example: denied -->\n((?:    .*\n)+)", TEXT)
    assert example is not None
    commands = [shlex.split(line) for line in example[1].splitlines()]
    assert len(commands) == 5
    shop = Person(tmp_path)
    for words in commands[:4]:
        assert words[0] == "rye"
        shop.ok(*words[1:])
    started = commands[4][commands[4].index("--") + 1 :]
    assert started[:4] == ["rye", "mcp", "serve", "--as"]

    async def story(caller: Caller) -> None:
        error = await caller.error("rye_execute", item_type="tool", item_id="acme/fs/write", parameters={})
        assert {"error": error} == DENIED

    play(shop, story, as_=started[4])
    assert shop.ok("runs", "show", "last", "--json").json["verdict"]["state"] == "ok"

    (_, serve), (_, token) = typed("explanation/runtime.md", "http")
    assert serve[:3] == ["mcp", "serve", "--http"]  # stays in the foreground; tests/mcp/test_processes.py starts it
    assert shop.ok(*token).stdout.strip()

    ((_, words),) = typed("how-to/running.md", "run")
    with serving(Script(returns(summary="done"))) as url:
        config = Path(shop.environment["RYE_CONFIG_DIR"]) / "config.toml"
        config.write_text(MODELS.replace("https://api.anthropic.com", url))
        assert "done" in shop.ok(*words, env={"ANTHROPIC_API_KEY": "sk-of-a-model"}).stdout


def test_the_example_of_a_model_is_one() -> None:
    model = parse_models(tomllib.loads(MODELS)["models"], "config.toml")["general"]
    assert (model.dialect, model.key_env) == ("anthropic", "ANTHROPIC_API_KEY")
    assert model.cost(1_000_000, 0) == 3


def test_every_code_is_listed() -> None:
    section = TEXT.split("| code | what happened |")[1].split("\n\n")[0]
    cells = [row.split("|")[1] for row in section.splitlines() if row.startswith("|")]
    assert {code for cell in cells for code in re.findall(r"`([a-z-]+)`", cell)} == set(CODES)


def test_every_attack_names_a_test_that_exists() -> None:
    rows = re.findall(r"^\| [^|]+\|(?: [^|]+\|)? [^|]+\| `(test_\w+)\.py::(test_\w+)` \|$", ATTACKS, re.MULTILINE)
    assert len(rows) == ATTACKS.count("`test_") > 30
    for module, name in rows:
        (path,) = (
            found
            for folder in (
                "runtime",
                "runtime/run",
                "mcp",
                "sandbox",
                "attacks",
                "deployment",
                "lsp",
                "registry",
                "signing",
            )
            for found in TESTS.glob(f"{folder}/{module}.py")
        )
        assert f"def {name}(" in path.read_text(encoding="utf-8"), (module, name)
