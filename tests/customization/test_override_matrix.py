"""Every row of the overrides document's test matrix is one test here, named after the row."""

from __future__ import annotations

import pytest

from rye.customization.merge import merge
from tests.customization.override_text import BASE, HEAD, apply, directive, found, output, overrides


class TestBasicOperations:
    def test_replace_entire_section(self) -> None:
        merged = output(BASE, directive("replace", "## Rules", "## Rules\n\nNew rules."))
        assert merged == BASE.replace("Old rules.\n\n### Detail\n\nOld detail.\n", "New rules.\n")

    def test_append_to_section(self) -> None:
        merged = output(BASE, directive("append", "## Rules", "\n### More\n\nMore rules.\n"))
        assert merged == BASE.replace("Old detail.\n", "Old detail.\n\n### More\n\nMore rules.\n")

    def test_prepend_to_section(self) -> None:
        merged = output(BASE, directive("prepend", "## Rules", "**Mind these.**"))
        assert merged == BASE.replace("## Rules\n", "## Rules\n\n**Mind these.**\n")

    def test_insert_new_section_before_target(self) -> None:
        merged = output(BASE, directive("insert-before", "## Output", "## Report\n\nText.", "position: before"))
        assert merged == BASE.replace("## Output\n", "## Report\n\nText.\n\n## Output\n")

    def test_insert_new_section_after_target(self) -> None:
        merged = output(BASE, directive("insert-after", "## Rules", "## Budget\n\nText.", "position: after"))
        assert merged == BASE.replace("## Output\n", "## Budget\n\nText.\n\n## Output\n")

    def test_set_frontmatter_key_new(self) -> None:
        merged = output(BASE, directive("frontmatter-set", key="x-tuned", content="true"))
        assert merged == BASE.replace('"1.0"\n---', '"1.0"\nx-tuned: true\n---')

    def test_set_frontmatter_key_override(self) -> None:
        merged = output(BASE, directive("frontmatter-set", key="model", content="large"))
        assert merged == BASE.replace("model: small", "model: large")

    def test_delete_frontmatter_key(self) -> None:
        merged = output(BASE, directive("frontmatter-delete", key="model"))
        assert merged == BASE.replace("model: small\n", "")


class TestHeadingPathResolution:
    def test_single_segment_path(self) -> None:
        assert "Short." in output(BASE, directive("replace", "### Detail", "### Detail\n\nShort."))

    def test_multi_segment_nested_path(self) -> None:
        base = "# A\n\n## X\n\na\n\n# B\n\n## X\n\nb\n"
        assert output(base, directive("replace", "# B > ## X", "## X\n\nnew")) == base.replace("\nb\n", "\nnew\n")

    def test_non_existent_target_orphaned(self) -> None:
        result = apply(BASE, directive("replace", "## Gone", "## Gone"), directive("append", "## Output", "Kept."))
        assert found(result) == [("warning", "orphaned-directive")]
        assert result.output == BASE.replace("Old output.\n", "Old output.\n\nKept.\n")
        assert result.exit_code == 0

    @pytest.mark.parametrize("fence", ["```", "~~~", "````md", "  ~~~~ sh"])
    def test_heading_in_fenced_code_block(self, fence: str) -> None:
        base = f"# A\n\n{fence}\n## X\n{fence.strip().rstrip('mdsh ')}\n\n## X\n\nreal\n"
        assert output(base, directive("replace", "## X", "## X\n\nnew")) == base.replace("real", "new")

    def test_multiple_sections_with_same_heading_text(self) -> None:
        base = "## X\n\none\n\n## X\n\ntwo\n"
        result = apply(base, directive("replace", "## X", "## X\n\nnew"))
        assert result.output == base.replace("one", "new")
        assert found(result) == [("notice", "ambiguous-target")]


class TestContentEdgeCases:
    def test_empty_content_replace(self) -> None:
        merged = output(BASE, directive("replace", "## Rules"))
        assert merged == BASE.replace("## Rules\n\nOld rules.\n\n### Detail\n\nOld detail.\n\n", "")

    @pytest.mark.parametrize("operation", ["append", "prepend", "insert-before", "insert-after"])
    def test_empty_content_append(self, operation: str) -> None:
        result = apply(BASE, directive(operation, "## Rules", " \n\t"))
        assert (result.output, result.exit_code) == (BASE, 0)
        assert found(result) == [("notice", "empty-content")]

    def test_content_with_closing_delimiter_unescaped(self) -> None:
        result = apply(BASE, directive("append", "## Rules", "Close with `<!-- END DIRECTIVE -->` in a line."))
        assert found(result) == [("error", "closer-in-content")]
        assert (result.output, result.exit_code) == (BASE, 1)

    def test_content_with_closing_delimiter_escaped(self) -> None:
        merged = output(
            BASE, directive("append", "## Rules", "<!-- END DIRECTIVE\u200b -->\nand `<!-- END DIRECTIVE\u200b -->`")
        )
        closer = "<!-- END DIRECTIVE -->"
        assert merged == BASE.replace("Old detail.\n", f"Old detail.\n\n{closer}\nand `{closer}`\n")

    def test_content_with_yaml_like_syntax(self) -> None:
        content = "target: ## Output\nreason: none\n---\nkey: [unclosed"
        assert content in output(BASE, directive("append", "## Rules", content))

    def test_content_with_nested_markdown_headings(self) -> None:
        merged = output(BASE, directive("append", "## Rules", "### Sub\n\n#### Deep\n\ntext"))
        assert merged.index("Old detail.") < merged.index("#### Deep") < merged.index("## Output")


class TestDirectiveMetadataEdgeCases:
    @pytest.mark.parametrize(
        "line", ["no colon here", 'position: "unclosed', "reason: twice", "colour: red", "", "position: 'a' b"]
    )
    def test_malformed_yaml_in_directive(self, line: str) -> None:
        result = apply(BASE, directive("replace", "## Rules", "x", line), directive("append", "## Output", "Kept."))
        assert [(d.severity, d.line) for d in result.diagnostics] == [("error", 12)]
        assert result.exit_code == 1
        assert result.output == BASE.replace("Old output.\n", "Old output.\n\nKept.\n")

    def test_missing_required_field_target(self) -> None:
        result = apply(BASE, directive("replace", None, "x"))
        assert found(result) == [("error", "missing-metadata")]
        assert (result.output, result.exit_code) == (BASE, 1)

    @pytest.mark.parametrize("key", ["a b", "$(id)", "a.b", "ключ", "a:b", "../x"])
    def test_invalid_frontmatter_key_name(self, key: str) -> None:
        result = apply(BASE, directive("frontmatter-set", key=key, content="1"))
        assert found(result) == [("error", "bad-key")]
        assert result.output == BASE

    @pytest.mark.parametrize("target", ["## A > # B", "## A > ## B", "# A > ### B > ## C"])
    def test_target_path_with_mismatched_levels(self, target: str) -> None:
        result = apply(BASE, directive("replace", target, "x"))
        assert found(result) == [("error", "bad-target")]
        assert "mismatched levels" in result.diagnostics[0].message
        assert result.output == BASE


class TestMultipleDirectives:
    def test_two_replaces_on_same_target(self) -> None:
        one = directive("replace", "## Output", "## Output\n\nFirst.")
        two = directive("replace", "## Output", "## Output\n\nSecond.")
        assert output(BASE, one, two) == BASE.replace("Old output.", "Second.")

    def test_replace_then_append_on_same_target(self) -> None:
        one = directive("replace", "## Output", "## Output\n\nFirst.")
        two = directive("append", "## Output", "Added.")
        assert output(BASE, one, two) == BASE.replace("Old output.", "First.\n\nAdded.")

    def test_two_prepends_on_same_target(self) -> None:
        merged = output(BASE, directive("prepend", "## Output", "One."), directive("prepend", "## Output", "Two."))
        assert merged == BASE.replace("Old output.", "One.\n\nTwo.\n\nOld output.")

    def test_prepend_and_append_on_same_target(self) -> None:
        merged = output(BASE, directive("append", "## Output", "End."), directive("prepend", "## Output", "Start."))
        assert merged == BASE.replace("Old output.", "Start.\n\nOld output.\n\nEnd.")


INJECTION = '$(touch pwned); `id` && "; rm -rf / #'


class TestSecurity:
    def test_shell_injection_in_target_path(self) -> None:
        result = apply(BASE, directive("replace", f"## {INJECTION}", "x"))
        assert found(result) == [("warning", "orphaned-directive")]
        assert f"Target: ## {INJECTION}" in result.diagnostics[0].message
        base = f"## {INJECTION}\n\nx\n"
        assert output(base, directive("append", f"## {INJECTION}", "y")) == base + "\ny\n"

    def test_shell_injection_in_reason_field(self) -> None:
        text = overrides(directive("append", "## Output", "Added.")).replace("because", INJECTION)
        result = merge(BASE, text)
        assert result.output == BASE.replace("Old output.\n", "Old output.\n\nAdded.\n")
        assert result.steps[0].reason == INJECTION

    def test_eval_injection_in_key_field(self) -> None:
        result = apply(BASE, directive("frontmatter-set", key="__import__('os').system('id')", content="1"))
        assert found(result) == [("error", "bad-key")]
        assert result.output == BASE


class TestFileStructure:
    def test_no_top_level_frontmatter(self) -> None:
        result = merge(BASE, "Notes.\n\n" + directive("append", "## Output", "x"))
        assert found(result) == [("error", "no-frontmatter")]
        assert (result.output, result.exit_code) == (None, 2)

    def test_no_directives(self) -> None:
        result = merge(BASE, HEAD)
        assert (result.output, result.diagnostics, result.exit_code) == (BASE, (), 0)

    def test_directives_in_preamble(self) -> None:
        example = "```markdown\n" + directive("replace", "## Rules", "From the preamble.") + "```\n\n"
        assert output(BASE, example + directive("append", "## Output", "Real.")) == BASE.replace(
            "Old output.\n", "Old output.\n\nReal.\n"
        )
