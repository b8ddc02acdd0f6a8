"""``safety-off`` (DESIGN §7.2): options and commands that turn off a safeguard, even in a sentence that forbids them."""

from __future__ import annotations

import pytest

from rye.text.facts import FACTS, find_facts
from rye.text.facts.fact import SAFETY_OFF

FOUND = (
    "sudo ls",
    "chmod 777 x",
    "chmod -R 0777 /",
    "rm -rf /",
    "rm -rf ~/",
    "rm -fr /*",
    'rm -r -f "$HOME"',
    "git commit --no-verify",
    "git push --no-verify",
    "claude --dangerously-skip-permissions -p x",
    "git commit -nm x",
    "codex --dangerously-bypass-approvals-and-sandbox",
    "codex --yolo",
    "chmod a+rwx x",
    "do not use sudo",
    "Set-ExecutionPolicy Bypass",
    "--permission-mode bypassPermissions",
    "gemini --yolo",
    "docker run --privileged x",
    "set +x; rm --recursive --force /",
)
NOT_FOUND = (
    "chmod 644 x",
    "rm -rf build",
    "rm -rf /tmp/x",
    "pseudo code",
    "git commit -m 'n'",
    "rm -rf ./",
    "rm -rf ~/tmp/x",
)


@pytest.mark.parametrize("text", FOUND)
def test_is_found_in_prose(text: str) -> None:
    facts = [fact for fact in find_facts({"SKILL.md": f"# Title\n\n{text}\n"}) if fact.fact == SAFETY_OFF]
    assert facts
    assert all(fact.level == FACTS[SAFETY_OFF] and fact.line >= 3 for fact in facts)


@pytest.mark.parametrize("text", NOT_FOUND)
def test_a_look_alike_is_none(text: str) -> None:
    assert [fact.value for fact in find_facts({"SKILL.md": text}) if fact.fact == SAFETY_OFF] == []


def test_the_options_of_rm_may_come_last() -> None:
    for command in ("rm / -rf", "rm ~ --recursive --force", "rm --force --recursive /"):
        assert ("safety-off", "rm -rf /") in {fact.key for fact in find_facts({"a.sh": command})}, command
    assert not [fact for fact in find_facts({"a.sh": "rm ./build -rf"}) if fact.fact == "safety-off"]
