"""The prompt: parts in order, inputs filled in, returns at the end (DESIGN §8)."""

from __future__ import annotations

import pytest

from rye.errors import RyeError
from rye.items.directive.model import LegacyOutputs, Output
from rye.items.directive.reader import read
from rye.items.reading import ReadOptions, Source
from rye.rendering.prompt import PromptPart, PromptSource, render, source_of
from tests.scenes.parsed import parsed

PROCESS = """<process>
  <step name="deploy">
    Deploy to {input:environment} & check <that>.
    `rye_execute(item_type="tool", item_id="rye/shell/kubectl", parameters={"command": "apply"})`
  </step>
</process>"""
CRITERIA = "<success_criteria>\n<criterion>Deployed to {input:environment}</criterion>\n</success_criteria>"
SOURCE = PromptSource(
    (
        PromptPart("# Deploy {input:what:all}", (3,)),
        PromptPart("Deploy it.", (5,)),
        PromptPart(PROCESS, range(30, 36)),
        PromptPart(CRITERIA, range(37, 40)),
    ),
    (Output("deployment_id", "ID of {input:what}"),),
)


def test_the_whole_prompt() -> None:
    assert render(SOURCE, {"environment": "staging"}) == (
        "# Deploy all\n\nDeploy it.\n\n"
        + PROCESS.replace("{input:environment}", "staging")
        + "\n\n"
        + CRITERIA.replace("{input:environment}", "staging")
        + '\n\n<returns>\n  <output name="deployment_id">ID of {input:what}</output>\n</returns>'
    )


def test_every_missing_value_is_named_with_its_line() -> None:
    with pytest.raises(RyeError) as caught:
        render(SOURCE, {})
    assert caught.value.details["missing"] == [
        {"input": "environment", "line": 32, "path": None},
        {"input": "environment", "line": 38, "path": None},
    ]
    assert "line 32" in caught.value.message
    assert "line 38" in caught.value.message


DIRECTIVE = """# Greet {input:who}

Say hello to {input:who},
in {input:language}.

```xml
<directive name="greet" version="1.0.0">
  <metadata>
    <description>Greet somebody</description>
    <category>social</category>
    <author>acme</author>
    <model tier="low" />
    <permissions><search><directive>*</directive></search></permissions>
    <limits max_turns="3" max_tokens="1000" />
  </metadata>
  <inputs>
    <input name="who" type="string">Whom</input>
    <input name="language" type="string">Which</input>
  </inputs>
  <outputs><output name="greeting">What was said</output></outputs>
</directive>
```

<process>
  <step name="greet">Greet {input:who:everybody}.</step>
</process>
"""


def test_a_directive_from_its_file() -> None:
    directive = parsed(read(Source(DIRECTIVE, "greet.md"), ReadOptions()))
    assert render(source_of(directive), {"who": "Ann", "language": "Welsh"}) == (
        "# Greet Ann\n\nSay hello to Ann,\nin Welsh.\n\n"
        '<process>\n  <step name="greet">Greet Ann.</step>\n</process>\n\n'
        '<returns>\n  <output name="greeting">What was said</output>\n</returns>'
    )
    with pytest.raises(RyeError) as caught:
        render(source_of(directive), {})
    assert caught.value.details["missing"] == [
        {"input": "who", "line": 1, "path": None},
        {"input": "who", "line": 3, "path": None},
        {"input": "language", "line": 4, "path": None},
    ]


def test_blank_parts_are_left_out_and_edges_keep_the_line_count() -> None:
    source = PromptSource(
        (
            PromptPart(""),
            PromptPart("\n \n"),
            PromptPart("\n\n  kept  \n\n", range(1, 6)),
            PromptPart("\n{input:a}", (5, 6)),
        )
    )
    assert render(source, {"a": "v"}) == "  kept  \n\nv"
    with pytest.raises(RyeError, match="line 6"):
        render(source, {})


def test_a_value_keeps_its_own_line_ends() -> None:
    assert render(PromptSource((PromptPart("{input:a}", (1,)),)), {"a": "\n\nx\n"}) == "\n\nx\n"


def test_no_outputs_no_block() -> None:
    assert render(PromptSource((PromptPart("x"),)), {}) == "x"


def test_legacy_messages_end_the_prompt() -> None:
    source = PromptSource((PromptPart("x"),), LegacyOutputs("Made {input:name}", None, 19, (20,)))
    assert render(source, {"name": "<y>"}).endswith("<returns>\n  <success>Made &lt;y&gt;</success>\n</returns>")
    with pytest.raises(RyeError, match="line 20"):
        render(source, {})


def test_a_value_cannot_fake_a_placeholder_anywhere() -> None:
    source = PromptSource((PromptPart("{input:a}"), PromptPart("{input:b}")), LegacyOutputs("{input:a}"))
    text = render(source, {"a": "{input:b}", "b": "secret"})
    assert text.count("secret") == 1
    assert text.count("{input:b}") == 2
