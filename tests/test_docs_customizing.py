"""``docs/how-to/customizing.md`` is a story that happened: every command in it is run, in order, and every output is compared.

In the page a ``console`` block holds commands and what they print; a block below ``<!-- file: PATH -->`` is what a person saves
there; ``<!-- author publishes VERSION -->`` is what happens elsewhere meanwhile. The page's date is the day of the test;
fingerprints, times, addresses and the Python version have stand-ins. ``RYE_WRITE_DOCS=1`` writes the page's outputs anew.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from tests.cli.running import Program
from tests.installation.real_registry import Author, RealRegistry

pytestmark = pytest.mark.processes

PAGE = Path(__file__).resolve().parents[1] / "docs" / "how-to" / "customizing.md"
DIRECTIVE = """# Deploy a service

Deploys {{input:service}}.

```xml
<directive name="deploy" version="{version}">
  <metadata>
    <description>Deploy a service</description>
    <category>workflows</category>
    <author>acme</author>
    <model tier="general" />
    <limits max_turns="20" max_tokens="50000" />
    <permissions>
      <execute><tool>acme/shell/kubectl</tool></execute>
    </permissions>
    <cost>
      <context estimated_usage="low" turns="5" spawn_threshold="1">1000</context>
      <duration>60</duration>
    </cost>
  </metadata>
  <inputs>
    <input name="service" type="string" required="true">What to deploy</input>
  </inputs>
  <outputs><output name="url">Where it runs</output></outputs>
</directive>
```

## {heading}

<process>
  <step name="roll_out">
    <description>{text}</description>
  </step>
</process>
"""
RELEASES = {
    "1.0.0": ("Process", "Roll {input:service} out."),
    "1.1.0": ("Steps", "Roll {input:service} out, and watch its errors for ten minutes."),
}
DAY = "2026-03-02"
_PARTS = re.compile(
    r"<!-- file: (?P<path>\S+) -->\n(?P<fence>`{3,})\w*\n(?P<content>.*?)^(?P=fence)$"
    r"|<!-- author publishes (?P<version>\S+) -->"
    r"|^```console\n(?P<console>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
_STAND_INS = (
    (re.compile(r"SHA256:[A-Za-z0-9+/]{20,}"), "SHA256:…"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "2026-03-02T09:00:00Z"),
    (re.compile(r"http://127\.0\.0\.1:\d+"), "http://127.0.0.1:8420"),
    (re.compile(r"Python 3\.\d+\.\d+"), "Python 3.12.1"),
)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealRegistry]:
    made = RealRegistry(tmp_path_factory.mktemp("story") / "registry")
    try:
        yield made
    finally:
        made.stop()


def publish(author: Author, version: str) -> None:
    heading, text = RELEASES[version]
    path = ".ai/directives/workflows/deploy.md"
    filled = DIRECTIVE.replace("{version}", version).replace("{heading}", heading).replace("{text}", text)
    author.program.write(path, filled.replace("{{input:service}}", "a service"))
    author.program.ok("sign", path)
    author.publish(path)


def typed(user: Program, line: str) -> str:
    """What a command prints on a screen; ``> FILE`` sends its data to a file."""
    words = shlex.split(line.replace(DAY, date.today().isoformat()))
    assert words[0] == "rye", line
    target = None
    if len(words) > 2 and words[-2] == ">":
        words, target = words[:-2], user.folder / words[-1]
    environment = {**user.environment, "CI": "1", "COLUMNS": "100"}
    done = subprocess.run(
        [sys.executable, "-c", "from rye.cli.main import main; main()", *words[1:]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if target is None else subprocess.PIPE,
        cwd=user.folder,
        env=environment,
        timeout=60,
        check=False,
    )
    if target is not None:
        target.write_bytes(done.stdout)
    shown = (done.stdout if target is None else done.stderr).decode()
    shown = (
        shown.replace(str(user.folder) + "/", "")
        .replace(f"{user.home}/ai/", "~/.ai/")
        .replace(date.today().isoformat(), DAY)
    )
    for pattern, stand_in in _STAND_INS:
        shown = pattern.sub(stand_in, shown)
    assert "Traceback" not in shown
    return shown


def played(page: str, user: Program, author: Author) -> str:
    """The page with what its commands really print."""

    def play(part: re.Match[str]) -> str:
        if part["version"] is not None:
            publish(author, part["version"])
        elif part["path"] is not None:
            user.write(part["path"], part["content"].replace(DAY, date.today().isoformat()))
        else:
            commands = [line for line in part["console"].splitlines() if line.startswith("$ ")]
            return "```console\n" + "".join(f"{line}\n{typed(user, line[2:])}" for line in commands) + "```"
        return part[0]

    return _PARTS.sub(play, page)


def test_the_story_is_true(registry: RealRegistry) -> None:
    author, user = registry.author("acme"), registry.user()
    publish(author, "1.0.0")
    text = PAGE.read_text(encoding="utf-8")
    real = played(text, user, author)
    if os.environ.get("RYE_WRITE_DOCS"):
        PAGE.write_text(real, encoding="utf-8")
    assert real == text


def test_the_story_goes_from_install_over_override_to_upgrade() -> None:
    text = PAGE.read_text(encoding="utf-8")
    commands = [line.split()[2] for line in text.splitlines() if line.startswith("$ rye ")]
    for name in ("add", "render", "override", "diff", "update", "overlay", "doctor", "role", "prime", "merge"):
        assert name in commands, name
    assert commands.index("add") < commands.index("override") < commands.index("update")
