"""The conformance suite of the Model Context Protocol: every one of its scenarios for servers, over `rye mcp serve --http`.

Its scenarios use tools, prompts and resources by names of the suite. Names of items have a namespace, so ``names_of_rye.mjs``
asks for an item of this project instead, with a token. The suite judges Rye's unchanged answers.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mcp.sessions import own_directive, own_knowledge, own_tool, project_with_key
from tests.outside import installing, judges
from tests.scenes.directive_text import directive
from tests.scenes.installed import install
from tests.scenes.item_texts import skill
from tests.scenes.person import Person

pytestmark = [pytest.mark.outside, pytest.mark.processes]
RYE = ("-c", "from rye.cli.start import main; main()", "mcp", "serve", "--expand", "--http", "127.0.0.1:0", "--json")
RIGHTS = "<search>*</search><load>*</load><execute><tool>acme/test/*</tool><tool>acme/shell/*</tool></execute>"
RETURNS, FAILS, ASKS = "acme__test__text", "acme__test__error", "acme__shell__run"
PROMPT, TEXT = "acme/test/plain", "rye://acme/notes/style@1.0.0"
NAMES = {
    "test_simple_text": RETURNS,
    "test_error_handling": FAILS,
    "test_elicitation": ASKS,
    "test_simple_prompt": PROMPT,
    "test_prompt_with_arguments": "acme/test/two",
    "test://static-text": TEXT,
    "test://static-binary": "skill://acme/pdf/a.bin",
    "test://template/123/data": "rye://acme/notes/n123@1.0.0",
    # what does not apply, so that it fails for its reason and not for its name
    **dict.fromkeys(("test_image_content", "test_audio_content", "test_embedded_resource"), RETURNS),
    **dict.fromkeys(("test_multiple_content_types", "test_sampling", "test_reconnection"), RETURNS),
    **dict.fromkeys(("test_tool_with_logging", "test_tool_with_progress"), RETURNS),
    **dict.fromkeys(("test_elicitation_sep1034_defaults", "test_elicitation_sep1330_enums"), ASKS),
    **dict.fromkeys(("test_prompt_with_embedded_resource", "test_prompt_with_image"), PROMPT),
    "test://watched-resource": TEXT,
}
"""Names of the suite, and what is asked for instead."""
SCENARIOS = 32
ONLY_JSON = "a tool's result is JSON, sent as text and as structured content"
ONLY_TEXT = "a prompt is one text"
YES_OR_NO = "Rye asks one question, whether a call may be made, and its form has no fields"
LOGGED = "what a tool prints goes to the log of the run, not to the client"
NEW_ADDRESS = "an address names a version, and a new version has an address of its own"
NOT_APPLICABLE = {
    "logging-set-level": LOGGED,
    "tools-call-with-logging": LOGGED,
    "tools-call-with-progress": "a tool can send nothing from its sandbox before it ends",
    "tools-call-image": ONLY_JSON,
    "tools-call-audio": ONLY_JSON,
    "tools-call-embedded-resource": ONLY_JSON,
    "tools-call-mixed-content": ONLY_JSON,
    "tools-call-sampling": "Rye does not use the client's model",
    "json-schema-2020-12": "a tool does not declare its parameters, so its schema allows any object",
    "elicitation-sep1034-defaults": YES_OR_NO,
    "elicitation-sep1330-enums": YES_OR_NO,
    "server-sse-polling": "a stream stays open until the answer, and no answer is kept for a client that comes back",
    "resources-subscribe": NEW_ADDRESS,
    "resources-unsubscribe": NEW_ADDRESS,
    "prompts-get-embedded-resource": ONLY_TEXT,
    "prompts-get-with-image": ONLY_TEXT,
}
"""Scenarios that want what Rye does not do, and why it does not. They run as well, and the suite checks that each still fails."""


@pytest.fixture
def project(tmp_path: Path) -> Person:
    """The project whose items the scenarios want."""
    person = project_with_key(tmp_path / "shop")
    install(person, "skill", "acme/pdf", skill("pdf"), attached={"a.bin": b"\xff\x00\x01"})
    own_directive(person, "work/judged", RIGHTS)
    own_directive(person, "test/plain")
    inputs = "".join(f'<input name="arg{number}" type="string" required="true">It</input>' for number in (1, 2))
    text = directive("test/two", text="Compare {input:arg1} with {input:arg2}.")
    person.sign("directives/test/two.md", text.replace("<outputs>", f"<inputs>{inputs}</inputs><outputs>"))
    own_tool(person, "test/text", "return 'This is a simple text response for testing.'")
    own_tool(person, "test/error", "raise ValueError('This tool intentionally returns an error for testing')")
    own_tool(person, "shell/run")
    own_knowledge(person, "style")
    own_knowledge(person, "n123")
    person.accepts()
    return person


@pytest.fixture
def served(project: Person) -> Iterator[str]:
    command = [sys.executable, *RYE]
    process = subprocess.Popen(
        command,
        cwd=project.folder,
        env=project.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = next((found[0] for line in process.stdout if (found := re.search(r"http://127[^\s\"]+", line))), None)
        assert address is not None
        yield address
    finally:
        process.terminate()
        process.wait(10)


def test_every_scenario_passes_or_does_not_apply(served: str, project: Person, tmp_path: Path) -> None:
    token = project.ok("mcp", "token", "--as", "acme/work/judged", "--may-approve", "--json").json["token"]
    judged = {**project.environment, "RYE_JUDGED": json.dumps({"token": token, "names": NAMES})}
    (tmp_path / "expected.yaml").write_text(json.dumps({"server": list(NOT_APPLICABLE)}))
    suite = [str(judges.npm() / ".bin/conformance"), "server", "--url", served, "--suite", "all", "-o", "results"]
    preload = ["--import", str(judges.npm().parent / "names_of_rye.mjs")]
    command = [str(installing.node()), *preload, *suite, "--expected-failures", "expected.yaml"]
    done = judges.run(command, tmp_path, environment=judged)
    checks = {
        re.sub(r"^server-(.*)-\d{4}-\d\d-\d\dT.*", r"\1", folder.name): json.loads((folder / "checks.json").read_text())
        for folder in (tmp_path / "results").iterdir()
    }
    assert len(checks) == SCENARIOS, sorted(checks)
    states = [check["status"] for name in checks.keys() - NOT_APPLICABLE.keys() for check in checks[name]]
    passing = SCENARIOS - len(NOT_APPLICABLE)
    note = (
        f"{passing} of {SCENARIOS} scenarios; the others do not apply, for the reasons below. Ids have a namespace, so on the "
        "way to Rye the suite's names of tools, prompts and resources are replaced by ids of a project made for it"
    )
    judges.record("MCP conformance", len(states), states.count("SUCCESS"), note, NOT_APPLICABLE)
    assert done.code == 0, done.stdout[-6000:]
    assert set(states) == {"SUCCESS"}
