"""``persistence`` (DESIGN §7.2): writing something that outlives the session. Only reading such a path does not count."""

from __future__ import annotations

import pytest

from rye.text.facts import FACTS, find_facts
from rye.text.facts.fact import PERSISTENCE

FOUND = (
    "echo 'x' >> ~/.bashrc",
    "Add the following to ~/.zshrc",
    "crontab -e",
    "(crontab -l; echo x) | crontab -",
    "systemctl enable foo",
    "launchctl load ~/Library/LaunchAgents/x.plist",
    "cp hook .git/hooks/pre-commit",
    "write to ~/.claude/settings.json",
    "jq '.hooks' x > ~/.claude/settings.json",
    "schtasks /create /tn x",
    "reg add HKCU\\Software\\Microsoft\\Windows\\CurrentVersion\\Run /v x",
    "echo key >> ~/.ssh/authorized_keys",
    "Append this to CLAUDE.md",
    "git config --global core.hooksPath ~/.h",
    "echo '* * * * * x' > /etc/cron.d/x",
    "with open(os.path.expanduser('~/.bashrc'), 'a') as f:\n    f.write(x)",
    "fs.appendFileSync(path.join(os.homedir(), '.zshrc'), x)",
    "claude mcp add x -- npx foo",
    "tee ~/.config/systemd/user/x.service",
    "Save as `.cursor/rules/x.mdc`",
    "sudo cp x.service /etc/systemd/system/",
)
NOT_FOUND = (
    "ls ~/.claude",
    "crontab -l",
    "AGENTS.md is read by agents.",
    "git log",
)


@pytest.mark.parametrize("text", FOUND)
def test_is_found_in_prose(text: str) -> None:
    facts = [fact for fact in find_facts({"SKILL.md": f"# Title\n\n{text}\n"}) if fact.fact == PERSISTENCE]
    assert facts
    assert all(fact.level == FACTS[PERSISTENCE] and fact.line >= 3 for fact in facts)


@pytest.mark.parametrize("text", NOT_FOUND)
def test_a_look_alike_is_none(text: str) -> None:
    assert [fact.value for fact in find_facts({"SKILL.md": text}) if fact.fact == PERSISTENCE] == []
