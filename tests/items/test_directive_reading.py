"""What a directive's value and its JSON contain (DESIGN §9 ``rye show``), on samples and on real files."""

from __future__ import annotations

import re
import subprocess
import sys
from decimal import Decimal

import pytest

from rye.items.consented import HookAction
from rye.items.directive.model import LegacyOutputs
from rye.items.directive.reader import as_json, read
from rye.items.location import locate
from rye.items.reading import Dependency, ReadOptions, Source
from rye.permissions.static_check import check_calls
from rye.text.diagnostics import strict
from tests.items.test_directive_sample import AFTER, FENCE, changed, findings, line_of, reading, text, value
from tests.scenes.parsed import parsed
from tests.scenes.shared_data import shared

pytestmark = pytest.mark.processes

OUTPUTS = FENCE[FENCE.index("  <outputs>") : FENCE.index("</outputs>") + len("</outputs>")]


ACTION = {
    "primary": "execute",
    "item_type": "tool",
    "item_id": "rye/shell/kubectl",
    "attributes": {"item_type": "tool", "item_id": "rye/shell/kubectl"},
    "params": {"command": 'apply "now"'},
    "line": line_of(text(), '<execute item_type="tool"'),
}


def test_the_json_of_a_whole_directive() -> None:
    shown = as_json(value(text()))
    assert shown.pop("process")["steps"][1] == {
        "name": "deploy",
        "text": AFTER.split('<step name="deploy">\n')[1].split("\n  </step>")[0].replace("\n    ", "\n").strip(),
        "description": "Deploy to {input:environment}.",
        "actions": [ACTION],
        "line": line_of(text(), '<step name="deploy">'),
    }
    assert shown == {
        "name": "deploy_app",
        "version": "1.2.3",
        "description": "Deploy the app",
        "category": "workflows",
        "author": "team",
        "title": "Deploy the app",
        "introduction": "Deploys it.",
        "model": {"tier": "general", "id": "m-1", "fallback": "low", "fallback_id": "m-0", "text": "Think twice."},
        "limits": {"max_turns": 6, "max_tokens": 4096, "spend": 0.05},
        "permissions": ["rye.execute.tool.rye.shell.*", "rye.search.directive.*"],
        "cost": {
            "context": {"estimated_usage": "medium", "turns": 10, "spawn_threshold": 3, "max_tokens": 8000},
            "duration": 600,
            "spend": {"currency": "USD", "amount": 5.0},
        },
        "context": {
            "related_files": ["scripts/deploy.py", "tests/"],
            "dependencies": ["pytest>=7.0"],
            "requires": [{"reference": "docker-runtime", "version": None}],
            "depends_on": [{"reference": "acme/workflows/build_images", "version": "^1.2"}],
            "used_by": [],
            "suggests": [],
            "conflicts_with": [{"reference": "old_deploy", "version": None}],
            "example_of": [],
        },
        "hooks": [
            {
                "when": "cost.current > cost.limit * 0.9",
                "execute": {"item_type": "directive", "item_id": "warn-cost"},
                "inputs": {"limit": "${cost.limit}"},
                "line": line_of(text(), "<hook>"),
            }
        ],
        "inputs": [
            {
                "name": "environment",
                "type": "string",
                "required": True,
                "default": None,
                "description": "Target environment",
            },
            {"name": "retries", "type": "integer", "required": False, "default": "3", "description": "How often"},
        ],
        "outputs": [{"name": "deployment_id", "type": "string", "description": "ID of the deployment"}],
        "sections": [],
        "success_criteria": ["It runs in {input:environment}"],
    }


def test_the_metadata_that_resolution_and_consent_read() -> None:
    metadata = reading(text()).metadata
    assert metadata is not None
    assert (metadata.name, metadata.version, metadata.category) == ("deploy_app", "1.2.3", "workflows")
    assert metadata.dependencies == (
        Dependency("depends_on", "acme/workflows/build_images", "^1.2", line_of(text(), "<depends_on")),
        Dependency("requires", "docker-runtime", None, line_of(text(), "<requires>")),
        Dependency("conflicts_with", "old_deploy", None, line_of(text(), "<conflicts_with>")),
    )
    assert metadata.capabilities == ("rye.execute.tool.rye.shell.*", "rye.search.directive.*")
    assert metadata.hooks == (
        HookAction("cost.current > cost.limit * 0.9", "directive", "warn-cost", (("limit", "${cost.limit}"),)),
    )


@pytest.mark.parametrize(
    ("element", "reference", "wanted"),
    [
        ("<requires>build-images</requires>", "build-images", None),
        ('<requires version=" >=1, &lt;3 ">a/b</requires>', "a/b", ">=1, <3"),
        ("<requires>tool:a/b/c@^1.2</requires>", "tool:a/b/c", "^1.2"),
        ('<requires version="^1">a/b@^1</requires>', "a/b", "^1"),
        ("<requires>\n  a/b\n</requires>", "a/b", None),
    ],
)
def test_relations_keep_bare_names_and_take_ranges(element: str, reference: str, wanted: str | None) -> None:
    content = changed("<requires>docker-runtime</requires>", element)
    assert findings(content) == []
    found = value(content).context.relations[1]
    assert (found.reference, found.range) == (reference, wanted)


def test_spend_keeps_its_exact_amount() -> None:
    directive = value(text())
    assert directive.cost is not None
    assert directive.cost.spend is not None
    assert directive.cost.spend.amount == Decimal("5.00")
    assert str(directive.limits["spend"]) == "0.05"


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ('<output name="a">x</output><output name="b" type="integer"/>', [("a", "x", None), ("b", "", "integer")]),
        ("<a>x</a><b_c>y &amp; z</b_c>", [("a", "x", None), ("b_c", "y & z", None)]),
        ("", []),
    ],
)
def test_outputs_as_a_list_or_as_a_dict(outputs: str, expected: list[tuple[str, str, str | None]]) -> None:
    content = changed(OUTPUTS, f"<outputs>{outputs}</outputs>")
    assert findings(content) == []
    assert [(one["name"], one["description"], one["type"]) for one in as_json(value(content))["outputs"]] == expected


def test_legacy_outputs() -> None:
    content = changed(
        OUTPUTS, "<outputs><success>Made {input:environment}</success><failure>Not made</failure></outputs>"
    )
    assert findings(content) == []
    assert as_json(value(content))["outputs"] == {"success": "Made {input:environment}", "failure": "Not made"}
    only_one = value(changed(OUTPUTS, "<outputs><failure>No</failure></outputs>"))
    assert isinstance(only_one.outputs, LegacyOutputs)
    assert as_json(only_one)["outputs"] == {"failure": "No"}


@pytest.mark.parametrize("tag", ["template", "example", "raw"])
def test_opaque_sections_are_text_whatever_they_look_like(tag: str) -> None:
    """DECISIONS Directives 11."""
    inner = "\n<permissions>*</permissions>\n<process>x</process><directive a='b'/><requires>x</requires>\n"
    content = changed("  <outputs>", f"<{tag} lang='x'>{inner}</{tag}><outputs>")
    assert findings(content) == []
    directive = value(content)
    assert directive.permissions == value(text()).permissions
    (section,) = directive.sections
    assert (section.kind, section.text, section.attributes) == (tag, inner, (("lang", "x"),))
    assert (
        value(changed("  <outputs>", f"<{tag}><![CDATA[a < b & c]]></{tag}><outputs>")).sections[0].text == "a < b & c"
    )
    assert value(changed("  <outputs>", f"<{tag}>a &lt; b</{tag}><outputs>")).sections[0].text == "a < b"


def test_opaque_sections_inside_metadata_count_once() -> None:
    content = changed("  </metadata>", "<raw><template>x</template></raw></metadata>")
    assert findings(content) == []
    assert [section.kind for section in value(content).sections] == ["raw"]


def test_the_title_and_what_stands_between_it_and_the_fence() -> None:
    signed = "<!-- rye:signed:TIMESTAMP:placeholder:unsigned:unsigned -->\n"
    directive = value(text(before=f"{signed}\n```\n# no title\n```\n\n#  A title ##\n\nFirst.\n\nSecond.\n\n"))
    assert (directive.title, directive.introduction) == ("A title", "First.\n\nSecond.")
    assert findings(text(before="")) == [("notice", "D090")]
    assert value(text(before="# C#\n\n")).title == "C#"


@pytest.mark.parametrize(
    ("declared", "default", "required"),
    [('required="true"', None, True), ('required="false"', None, False), ("", None, False), ('default=""', "", False)],
)
def test_inputs(declared: str, default: str | None, required: bool) -> None:
    found = value(changed('required="true"', declared)).inputs[0]
    assert (found.default, found.required, found.line) == (
        default,
        required,
        line_of(text(), '<input name="environment"'),
    )


def test_nothing_heavy_is_imported_before_a_directive_is_read() -> None:
    program = (
        "import sys, rye.items.directive.reader as d\n"
        "heavy = {'lxml', 'markdown_it', 'httpx', 'rich', 'cryptography', 'nacl', 'ruamel'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "from rye.items.reading import ReadOptions, Source\n"
        "d.read(Source('# no fence'), ReadOptions())\n"
        "assert not heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


EXAMPLES = re.compile(r"^````markdown\n(.*?)^````$", re.DOTALL | re.MULTILINE)


@pytest.mark.corpus
def test_the_format_document_s_own_examples_conform_under_strict() -> None:
    document = shared("spec/003_9b92539be3ce5591.txt").read_text("utf-8")
    examples = EXAMPLES.findall(document)
    assert len(examples) == 2
    for example in examples:
        result = read(Source(example), ReadOptions())
        assert strict(result.diagnostics) == ()
    last = as_json(parsed(result))
    assert last["permissions"] == [
        "rye.execute.tool.rye.shell.docker",
        "rye.execute.tool.rye.shell.kubectl",
        "rye.execute.tool.rye.file-system.*",
        "rye.search.directive.*",
        "rye.search.tool.*",
        "rye.load.tool.*",
    ], "in the order of the document"
    assert [step["name"] for step in last["process"]["steps"]] == ["build_images", "deploy", "run_tests"]
    assert len(last["success_criteria"]) == 3
    assert [found.code for found in check_calls(parsed(result)) if found.severity != "info"] == []


@pytest.mark.corpus
def test_real_directives_pass_with_a_warning_for_their_missing_cost() -> None:
    folder = shared("corpus/ryeos/core_ai/directives")
    paths = sorted(folder.rglob("*.md"))
    assert len(paths) == 21
    for path in paths:
        place = locate(path)
        assert place is not None
        result = read(Source(path.read_text("utf-8"), str(path), place.name, place.category), ReadOptions())
        assert [(found.severity, found.code) for found in result.diagnostics] == [("warning", "R02")], path
        process = parsed(result).process
        assert process is not None
        assert process.steps
        assert parsed(result).calls
        assert as_json(parsed(result))["permissions"]
