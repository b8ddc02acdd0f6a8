"""The authors' page is true: its example conforms and its claims hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rye.items.directive.model import OPAQUE, RELATIONS, Directive
from rye.items.directive.reader import METADATA, as_json, read
from rye.items.reading import ReadOptions, Source
from rye.permissions.static_check import check_calls
from rye.text.content import decode
from rye.text.diagnostics import strict
from tests.docs.typed_blocks import typed
from tests.scenes.parsed import parsed
from tests.scenes.person import Person

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "directives.md").read_text("utf-8")
_EXAMPLE = re.compile(r"^<!-- example: (\S+)/(\w+)\.md -->\n````markdown\n(.*?)^````$", re.DOTALL | re.MULTILINE)


def example() -> tuple[Source, Directive]:
    (found,) = _EXAMPLE.finditer(PAGE)
    source = Source(found[3], "docs/how-to/directives.md", found[2], found[1])
    result = read(source, ReadOptions())
    assert isinstance(result.value, Directive)
    return source, result.value


@pytest.mark.processes
def test_the_first_commands_make_a_signed_directive(tmp_path: Path) -> None:
    author = Person(tmp_path)
    author.ok("keys", "generate")
    for _, words in typed("how-to/directives.md", "directive"):
        author.ok(*words)
    author.ok("verify", ".ai/directives/workflows/deploy_service.md")


def test_the_example_conforms_under_strict() -> None:
    source, directive = example()
    assert strict(read(source, ReadOptions()).diagnostics) == ()
    assert check_calls(directive) == ()
    assert decode(source.text.encode()).diagnostics == ()


def test_the_example_shows_every_element() -> None:
    source, directive = example()
    for tag in (*METADATA, *RELATIONS, "related_files", "dependencies", "acknowledge", "hook", "when", OPAQUE[0]):
        assert f"<{tag}" in source.text, tag
    shown = as_json(directive)
    assert all(value for name, value in shown.items()), shown
    assert {one["type"] for one in shown["inputs"]} == {"string", "integer", "boolean", "object", "array"}
    assert {call.primary for call in directive.calls} == {"execute", "search", "load", "sign"}


@pytest.mark.parametrize("tag", [*METADATA, *RELATIONS, *OPAQUE, "acknowledge", "criterion", "param"])
def test_every_element_is_explained(tag: str) -> None:
    explained = PAGE[PAGE.index("## The fence") :]
    assert f"<{tag}" in explained


def test_each_capability_of_the_page_s_table_is_what_is_granted() -> None:
    rows = re.findall(r"^\| `(<.+?>)` \| `(rye\.[^`]+)`", PAGE, re.MULTILINE)
    assert len(rows) == 4
    source, _ = example()
    whole = re.compile(r"    <permissions>.*?</permissions>\n", re.DOTALL)
    for written, capability in rows:
        inside = written if written.startswith("<permissions>") else f"<permissions>{written}</permissions>"
        changed = whole.sub(lambda _, inside=inside: inside, source.text)  # type: ignore[misc]
        assert parsed(read(Source(changed), ReadOptions())).capabilities == (capability,)
