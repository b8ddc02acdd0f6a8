"""The outline of a document."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rye.items.directive.template import template
from rye.lsp.outline import outline
from tests.items.finished import finished


def test_a_directive_has_its_headings_steps_inputs_and_outputs() -> None:
    text = finished(template("ship", "work", "me"))
    parts = outline(text, manifest=False)
    assert [part.start for part in parts] == sorted(part.start for part in parts)
    assert "heading" in {part.sort for part in parts}
    named = {(part.sort, part.name) for part in parts if part.sort != "heading"}
    assert {sort for sort, _ in named} == {"input", "output"}
    assert all(part.name in text[part.start : part.end] for part in parts)


def test_a_comment_in_code_is_no_heading() -> None:
    text = "# One\n\n```sh\n# not this\n```\n\n~~~~\n```\n# nor this\n~~~~\n## Two ##\n"
    assert [(part.name, part.sort) for part in outline(text, manifest=False)] == [
        ("One", "heading"),
        ("Two", "heading"),
    ]


def test_a_manifest_has_its_tables_and_keys() -> None:
    text = '[project]\nname = "x"\n\n[dependencies]\n"skill:acme/pdf" = "^1"\n[[targets]]\n'
    assert [(part.name, part.sort) for part in outline(text, manifest=True)] == [
        ("project", "table"), ("name", "key"), ("dependencies", "table"), ("skill:acme/pdf", "key"), ("targets", "table"),
    ]  # fmt: skip


@given(st.text('#`~ab\n<>="[] ', max_size=200), st.booleans())
def test_any_text_has_an_outline_inside_of_it(text: str, manifest: bool) -> None:
    assert all(0 <= part.start <= part.end <= len(text) for part in outline(text, manifest=manifest))
