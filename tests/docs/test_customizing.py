"""``docs/how-to/customizing.md`` tells a true story (:mod:`tests.docs.played_page`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs import played_page
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "customizing.md"
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


def publish(author: Person, version: str) -> None:
    heading, text = RELEASES[version]
    path = ".ai/directives/workflows/deploy.md"
    filled = DIRECTIVE.replace("{version}", version).replace("{heading}", heading).replace("{text}", text)
    author.write(path, filled.replace("{{input:service}}", "a service"))
    author.ok("sign", path)
    author.publish(path)


def test_the_story_is_true(registry: Registry) -> None:
    author, user = registry.owner("acme"), registry.user()
    publish(author, "1.0.0")
    provided = '\n[environment]\nprovides = ["tool:acme/shell/kubectl"]\n'
    user.write("rye.toml", f"{user.path('rye.toml').read_text()}{provided}")

    def happens(event: str) -> None:
        if event == "the reader agrees":
            user.accepts()
        else:
            publish(author, event.removeprefix("author publishes "))

    played_page.check(PAGE, user, happens)


def test_the_story_goes_from_install_over_override_to_upgrade() -> None:
    commands = played_page.commands(PAGE)
    for name in ("add", "render", "override", "diff", "update", "overlay", "doctor", "role", "prime", "merge"):
        assert name in commands, name
    assert commands.index("add") < commands.index("override") < commands.index("update")
