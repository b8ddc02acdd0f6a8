"""A complete directive that the other tests change in one place at a time; it conforms under ``--strict``."""

from __future__ import annotations

from rye.items.directive.model import Directive
from rye.items.directive.reader import read
from rye.items.reading import Reading, ReadOptions, Source
from rye.permissions.static_check import check_calls
from rye.text.diagnostics import Diagnostic, strict

FENCE = """\
<directive name="deploy_app" version="1.2.3">
  <metadata>
    <description>Deploy the app</description>
    <category>workflows</category>
    <author>team</author>
    <model tier="general" id="m-1" fallback="low" fallback_id="m-0">Think twice.</model>
    <limits turns="6" max_tokens="4096" spend="0.05" />
    <permissions>
      <execute><tool>rye.shell.*</tool></execute>
      <search><directive>*</directive></search>
    </permissions>
    <cost>
      <context estimated_usage="medium" turns="10" spawn_threshold="3">8000</context>
      <duration>600</duration>
      <spend currency="USD">5.00</spend>
    </cost>
    <context>
      <related_files>
        - scripts/deploy.py
        - tests/
      </related_files>
      <dependencies>
        - pytest>=7.0
      </dependencies>
      <depends_on version="^1.2">acme/workflows/build_images</depends_on>
      <requires>docker-runtime</requires>
      <conflicts_with>old_deploy</conflicts_with>
    </context>
    <hooks>
      <hook>
        <when>cost.current &gt; cost.limit * 0.9</when>
        <execute item_type="directive">warn-cost</execute>
        <inputs>
          <limit>${cost.limit}</limit>
        </inputs>
      </hook>
    </hooks>
  </metadata>
  <inputs>
    <input name="environment" type="string" required="true">
      Target environment
    </input>
    <input name="retries" type="integer" default="3">How often</input>
  </inputs>
  <outputs>
    <output name="deployment_id" type="string">ID of the deployment</output>
  </outputs>
</directive>"""

AFTER = """\
<process>
  <step name="find">
    Look for `rye_search(item_type="directive", query="deploy")` first.
  </step>
  <step name="deploy">
    <description>Deploy to {input:environment}.</description>
    <execute item_type="tool" item_id="rye/shell/kubectl">
      <param name="command" value="apply &quot;now&quot;" />
    </execute>
  </step>
</process>

<success_criteria>
  <criterion>It runs in {input:environment}</criterion>
</success_criteria>
"""


def text(fence: str = FENCE, after: str = AFTER, before: str = "# Deploy the app\n\nDeploys it.\n\n") -> str:
    return f"{before}```xml\n{fence}\n```\n\n{after}"


def changed(old: str, new: str) -> str:
    """The sample with one piece of its fence replaced; the piece must occur exactly once."""
    assert FENCE.count(old) == 1, old
    return text(FENCE.replace(old, new))


def reading(content: str, name: str | None = "deploy_app", category: str | None = "workflows") -> Reading[Directive]:
    return read(Source(content, "deploy_app.md", name, category), ReadOptions())


def value(content: str) -> Directive:
    directive = reading(content).value
    assert isinstance(directive, Directive)
    return directive


def findings(content: str) -> list[tuple[str, str]]:
    """Severity and code of all findings, in order."""
    return [(found.severity, found.code) for found in reading(content).diagnostics]


def only(content: str, code: str) -> Diagnostic:
    """The one finding with that code."""
    (found,) = (one for one in reading(content).diagnostics if one.code == code)
    return found


def line_of(content: str, piece: str) -> int:
    return content[: content.index(piece)].count("\n") + 1


def test_the_sample_conforms_under_strict() -> None:
    result = reading(text())
    assert strict(result.diagnostics) == ()
    assert [found for found in strict(check_calls(value(text()))) if found.severity == "error"] == []
