"""The returns block, byte for byte (DESIGN §8; DECISIONS Directives 10, 17)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from rye.items.directive.model import LegacyOutputs, Output
from rye.rendering.interpolation import MissingValue
from rye.rendering.prompt import legacy_returns_block, returns_block


def test_byte_for_byte() -> None:
    assert returns_block([Output("deployment_id", "ID of the created deployment")]) == (
        '<returns>\n  <output name="deployment_id">ID of the created deployment</output>\n</returns>'
    )


def test_list_and_dict_are_the_same() -> None:
    listed = [Output("directive_path", "Path to the created file", "string"), Output("signed", "Whether")]
    assert returns_block(listed) == returns_block({"directive_path": "Path to the created file", "signed": "Whether"})


def test_no_outputs_no_block() -> None:
    assert returns_block([]) == ""
    assert returns_block({}) == ""
    assert legacy_returns_block(LegacyOutputs(), {}) == ("", ())


def test_xml_is_escaped() -> None:
    assert returns_block({'a"<&>': "</output> & <b>"}) == (
        '<returns>\n  <output name="a&quot;&lt;&amp;&gt;">&lt;/output&gt; &amp; &lt;b&gt;</output>\n</returns>'
    )


def test_descriptions_are_not_interpolated() -> None:
    assert "{input:name}" in returns_block({"a": "For {input:name}"})


def test_descriptions_lose_only_their_edges() -> None:
    assert ">two\n    lines<" in returns_block({"a": "\n      two\n    lines\n  "})
    assert returns_block({"a": ""}) == '<returns>\n  <output name="a"></output>\n</returns>'


def test_legacy_messages_are_filled_and_then_escaped() -> None:
    outputs = LegacyOutputs("Created: {input:name}", "Failed & gone: {input:name}", 7)
    assert legacy_returns_block(outputs, {"name": "</success><x>"}) == (
        (
            "<returns>\n"
            "  <success>Created: &lt;/success&gt;&lt;x&gt;</success>\n"
            "  <failure>Failed &amp; gone: &lt;/success&gt;&lt;x&gt;</failure>\n"
            "</returns>"
        ),
        (),
    )
    assert legacy_returns_block(LegacyOutputs(failure="No"), {})[0] == "<returns>\n  <failure>No</failure>\n</returns>"


def test_legacy_placeholders_without_a_value_are_missing() -> None:
    assert legacy_returns_block(LegacyOutputs("{input:a}", None, 6, (7,)), {})[1] == (MissingValue("a", 7),)


xml_text = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn")) | st.sampled_from('\n\t\r<>&"'))


@given(st.dictionaries(xml_text, xml_text, max_size=4))
def test_the_block_reads_back_as_what_was_declared(outputs: dict[str, str]) -> None:
    block = returns_block(outputs)
    if outputs:
        root = etree.fromstring(block.replace("\ufffe", "").replace("\uffff", ""))
        assert [(child.get("name"), child.text or "") for child in root] == [
            (name, description.strip()) for name, description in outputs.items()
        ]
