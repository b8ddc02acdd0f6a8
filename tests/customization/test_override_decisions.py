"""The numbered rules of DECISIONS Overrides, class by class, without what the matrix already covers."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from rye.customization.merge import RejectedOverrides, drift, merge
from rye.customization.override_file import read_overrides
from tests.customization.override_text import BASE, HEAD, apply, directive, found, output, overrides
from tests.scenes.shared_data import shared

CLOSER = "<!-- END DIRECTIVE -->"
APPENDED = BASE.replace("Old output.\n", "Old output.\n\nKept.\n")
KEEP = directive("append", "## Output", "Kept.")


class TestMetadata:
    """DECISIONS Overrides 1, 2, 17."""

    def test_target_with_hashes_is_no_comment(self) -> None:
        base = "## A # b: c\n\nx\n"
        assert output(base, directive("append", "## A # b: c", "y")) == base + "\ny\n"

    @pytest.mark.parametrize("quoted", ['"## Output"', "'## Output'", '"## \\u004futput"', '"## Output"  # why not'])
    def test_quoted_values_are_unquoted_as_yaml_does(self, quoted: str) -> None:
        assert output(BASE, directive("append", quoted, "Kept.")) == APPENDED

    def test_metadata_end_elsewhere_is_an_error_and_the_rest_goes_on(self) -> None:
        bad = "<!-- DIRECTIVE: append\ntarget: ## Output\nreason: because -->\ncontent\n" + CLOSER + "\n\n"
        result = apply(BASE, bad, KEEP)
        assert [(d.code, d.line) for d in result.diagnostics] == [("bad-metadata", 11)]
        assert (result.output, result.exit_code) == (APPENDED, 1)

    def test_metadata_end_may_have_trailing_blanks_only(self) -> None:
        text = overrides(KEEP).replace("\n-->\n", "\n--> \t\n").replace(CLOSER, CLOSER + "  ")
        assert merge(BASE, text.replace("append\n", "append \t\n")).output == APPENDED
        assert merge(BASE, overrides(KEEP).replace("\n-->\n", "\n -->\n")).exit_code == 1

    @pytest.mark.parametrize(
        "text",
        [
            directive("append", "## Output", "x").replace("reason: because\n", ""),
            directive("append", "## Output", "x").replace("because", "  "),
            directive("append", "## Output", "x").replace("because", '""'),
            directive("append", "## Output", "x", "key: model"),
            directive("append", "## Output", "x", "position: after"),
            directive("insert-before", "## Output", "x", "position: after"),
            directive("insert-after", "## Output", "x", "position: behind"),
            directive("frontmatter-set", "## Output", "x", key="model"),
            directive("frontmatter-set", key="model"),
            directive("frontmatter-set", key="model", content=" \n"),
            directive("frontmatter-delete", key="model", content="x"),
            directive("frontmatter-delete", None),
            directive("append", "Output", "x"),
            directive("append", "##Output", "x"),
            directive("append", "####### Output", "x"),
            directive("append", "# A > ####### B", "x"),
            directive("append", "##", "x"),
            directive("append", "## ##", "x"),
            directive("append", '"## A\\n## B"', "x"),
            directive("Append", "## Output", "x"),
            directive("delete", "## Output", "x"),
            "<!-- DIRECTIVE: append -->\nx\n" + CLOSER + "\n",
            "<!-- DIRECTIVE:\ntarget: ## Output\nreason: x\n-->\nx\n" + CLOSER + "\n",
            "<!-- DIRECTIVE: append\ntarget:## Output\nreason: x\n-->\nx\n" + CLOSER + "\n",
            "<!-- DIRECTIVE: append\ntarget: ## Output\nreason: x\n" + CLOSER + "\n",
        ],
    )
    def test_a_malformed_directive_is_one_error_and_is_dropped(self, text: str) -> None:
        result = apply(BASE, text, KEEP)
        assert [d.severity for d in result.diagnostics] == ["error"]
        assert (result.output, result.exit_code) == (APPENDED, 1)

    def test_a_misspelled_operation_or_key_gets_a_suggestion(self) -> None:
        hints = [d.hint for d in apply(BASE, directive("prepnd", "## Output", "x")).diagnostics]
        hints += [d.hint for d in apply(BASE, directive("append", "## Output", "x", "raeson: y")).diagnostics]
        assert hints == ["Did you mean 'prepend'?", "Did you mean 'reason'?"]

    def test_an_opener_inside_drops_the_outer_and_reading_resumes_there(self) -> None:
        outer = "<!-- DIRECTIVE: replace\ntarget: ## Rules\nreason: x\n-->\n## Rules\n\nhalf\n"
        result = apply(BASE, outer + KEEP)
        assert [(d.code, d.line) for d in result.diagnostics] == [("nested-directive", 9)]
        assert result.output == APPENDED

    def test_an_opener_in_metadata_drops_the_outer_too(self) -> None:
        result = apply(BASE, "<!-- DIRECTIVE: replace\ntarget: ## Rules\n" + KEEP)
        assert found(result) == [("error", "nested-directive")]
        assert result.output == APPENDED

    def test_openers_in_fenced_content_count(self) -> None:
        result = apply(BASE, directive("append", "## Rules", "```\n<!-- DIRECTIVE: replace\n```"), KEEP)
        assert ("error", "nested-directive") in found(result)
        assert result.output is not None
        assert "```" not in result.output

    @pytest.mark.parametrize("end", ["", "target: ## Rules\nreason: x\n", "target: ## Rules\nreason: x\n-->\ntext\n"])
    def test_the_end_of_the_file_before_the_closer(self, end: str) -> None:
        result = apply(BASE, KEEP, "<!-- DIRECTIVE: replace\n" + end)
        assert found(result) == [("error", "unclosed-directive")]
        assert result.output == APPENDED


class TestPlaceOfDirectives:
    """DECISIONS Overrides 3, 4, 17."""

    @pytest.mark.parametrize("fence", ["```\n{}```\n", "~~~~\n```\n{}~~~~\n", "- ```\n  x\n{}"])
    def test_openers_in_a_fence_of_the_preamble_are_text(self, fence: str) -> None:
        example = directive("replace", "## Rules", "x")
        if fence.startswith("- "):
            example = "  " + example.replace("\n", "\n  ") + "```\n"
        assert output(BASE, fence.format(example) + "\n" + KEEP) == APPENDED

    def test_an_indented_opener_and_a_closer_in_the_preamble_are_text(self) -> None:
        preamble = f" <!-- DIRECTIVE: replace\n{CLOSER}\n<!--DIRECTIVE: x\n-->\n\n"
        assert output(BASE, preamble + KEEP) == APPENDED

    def test_a_fence_inside_a_comment_of_the_preamble_hides_nothing(self) -> None:
        assert output(BASE, "<!--\n```\n-->\n\n" + KEEP) == APPENDED

    def test_text_between_directives_is_ignored_with_a_notice(self) -> None:
        result = apply(BASE, KEEP, "\nSome text.\n", directive("append", "## Rules", "x"), "After.\n")
        assert [code for _, code in found(result)] == ["text-between", "text-between"]
        assert result.exit_code == 0
        assert "Some text." not in (result.output or "")

    def test_a_stray_closer_drops_the_directive_before_it(self) -> None:
        half = directive("append", "## Rules", f"Write\n{CLOSER}\nto close.")
        result = apply(BASE, half, KEEP)
        assert found(result) == [("error", "stray-closer")]
        assert (result.output, result.exit_code) == (APPENDED, 1)

    def test_an_indented_closer_is_inside_a_longer_line(self) -> None:
        result = apply(BASE, directive("append", "## Rules", f"  {CLOSER}"), KEEP)
        assert found(result) == [("error", "closer-in-content")]
        assert result.output == APPENDED

    def test_only_the_exact_escape_is_removed(self) -> None:
        content = "zero\u200bwidth <!-- END\u200b DIRECTIVE --> <!-- END DIRECTIVE\u200b\u200b -->"
        result = apply("## A\n", directive("append", "## A", content))
        assert found(result) == [("notice", "zero-width-space")]
        assert result.output == f"## A\n\n{content}\n"


class TestFileMetadata:
    """DECISIONS Overrides 5, 6, 19."""

    @pytest.mark.parametrize("field", ["agent", "base-version", "last-reviewed"])
    def test_a_missing_field_rejects_the_file(self, field: str) -> None:
        kept = "".join(line for line in HEAD.splitlines(True) if not line.startswith(field))
        empty = "\n".join(f"{field}:" if line.startswith(field) else line for line in HEAD.split("\n"))
        for head in (kept, empty):
            result = merge(BASE, overrides(KEEP, head=head))
            assert found(result) == [("error", "missing-field")]
            assert (result.output, result.exit_code) == (None, 2)

    @pytest.mark.parametrize(
        "head",
        [
            "---\nagent: sage\n",
            "---\nagent: a: b\n---\n",
            "---\nagent: sage\nagent: sage\nbase-version: '1'\nlast-reviewed: '2026-01-01'\n---\n",
            "---\n- agent\n---\n",
            HEAD.replace("2026-01-01", "2026-02-30"),
            HEAD.replace("2026-01-01", "lately"),
            HEAD.replace("sage", "other"),
            "\n" + HEAD,
        ],
    )
    def test_unreadable_or_foreign_frontmatter_rejects_the_file(self, head: str) -> None:
        result = merge(BASE, overrides(KEEP, head=head), base_name="sage")
        assert (result.output, result.exit_code, len(result.diagnostics)) == (None, 2, 1)

    def test_a_rejected_file_is_an_error_document_with_exit_code_2(self) -> None:
        result = merge(BASE, overrides(KEEP, head="---\nagent: sage\n---\n"))
        with pytest.raises(RejectedOverrides) as raised:
            result.text()
        assert raised.value.exit_code == 2
        assert "'base-version'" in raised.value.message
        assert "'last-reviewed'" in raised.value.message
        assert merge(BASE, overrides(KEEP)).text() == APPENDED

    def test_the_name_in_the_target_wins_over_its_folder(self) -> None:
        assert merge(BASE, overrides(KEEP), base_name="folder").exit_code == 0
        assert merge("## A\n", overrides(), base_name="folder").exit_code == 2
        assert merge("## A\n", overrides(), base_name="sage").exit_code == 0
        assert merge("## A\n", overrides(), base_name=None).exit_code == 0

    @pytest.mark.parametrize(
        ("keys", "warned"),
        [
            ('x-plan-version: "1.0"\nversion: 2', False),
            ('x-plan-version: "1.1"\nversion: "1.0"', True),
            ("version: 1.0", False),
            ("version: 2.0.0", True),
            ("model: x", False),
        ],
    )
    def test_another_base_version_is_a_warning(self, keys: str, warned: bool) -> None:
        result = merge(f"---\nname: sage\n{keys}\n---\n", overrides())
        assert found(result) == ([("warning", "stale-base-version")] if warned else [])
        assert result.exit_code == 0

    @pytest.mark.parametrize(("today", "warned"), [("2026-04-01", False), ("2026-04-02", True), ("2025-01-01", False)])
    def test_a_review_older_than_90_days_is_a_warning(self, today: str, warned: bool) -> None:
        result = merge(BASE, overrides(), today=date.fromisoformat(today))
        assert found(result) == ([("warning", "stale-review")] if warned else [])

    def test_without_a_date_there_is_no_age_check(self) -> None:
        assert merge(BASE, overrides().replace("2026-01-01", "1999-01-01")).diagnostics == ()

    @pytest.mark.parametrize("head", ["", HEAD, "---\nmodel: x\n---\n"])
    def test_old_format_is_rejected_with_the_way_out(self, head: str) -> None:
        result = merge(BASE, head + "## Rules\n\nMine.\n")
        assert found(result) == [("error", "old-format")]
        assert (result.output, result.exit_code) == (None, 2)
        assert "rye merge --migrate-legacy" in (result.diagnostics[0].hint or "")

    def test_headings_in_the_preamble_of_the_new_format_are_text(self) -> None:
        assert output(BASE, "## How this came about\n\n" + KEEP) == APPENDED


class TestLineEndings:
    """DECISIONS Overrides 7, 18."""

    def test_the_result_has_the_targets_form(self) -> None:
        crlf = "\ufeff" + BASE.replace("\n", "\r\n")
        text = "\ufeff" + overrides(KEEP).replace("\n", "\r\n")
        assert merge(crlf, text).output == "\ufeff" + APPENDED.replace("\n", "\r\n")
        assert merge(BASE, text).output == APPENDED
        assert merge(crlf, overrides(KEEP)).output == "\ufeff" + APPENDED.replace("\n", "\r\n")

    def test_mixed_endings_become_the_majoritys(self) -> None:
        assert (
            merge("## Output\r\na\r\nb\nOld output.\n", overrides(KEEP)).output
            == "## Output\na\nb\nOld output.\n\nKept.\n"
        )
        assert merge("## Output\r\na\r\nb\n", overrides(KEEP)).output == "## Output\r\na\r\nb\r\n\r\nKept.\r\n"

    @pytest.mark.parametrize(
        "base", ["", "\ufeff", "a\r\nb\nc", "\r\n\n\n", "---\n", "\ufeff## A\r\n\n", "a\rb\u2028c"]
    )
    def test_no_directives_or_only_idle_ones_give_the_target_byte_for_byte(self, base: str) -> None:
        assert merge(base, HEAD).output == base
        assert merge(base, overrides(directive("append", "## Gone", "x"))).output == base


class TestHeadings:
    """DECISIONS Overrides 8, 10."""

    @pytest.mark.parametrize("line", ["## X", "   ## X", "## X ##", "##\tX  ", "##   X ####\t", "## X #"])
    def test_ways_to_write_one_heading(self, line: str) -> None:
        base = f"# A\n\n{line}\n\ntext\n"
        assert output(base, directive("replace", "## X", "new")) == "# A\n\nnew\n"

    @pytest.mark.parametrize(
        "line", ["    ## X", "\t## X", "##X", "\\## X", "> ## X", "####### X", "## x", "## X##", "## X \\#", "- ## X"]
    )
    def test_lines_that_are_not_that_heading(self, line: str) -> None:
        result = apply(f"# A\n\n{line}\n", directive("append", "## X", "new"))
        assert found(result) == [("warning", "orphaned-directive")]

    @pytest.mark.parametrize(
        "hidden",
        [
            "```\n## X\n```",
            "```\n~~~\n## X\n``\n``` no\n## X\n`````",
            "~~~ a`b\n## X\n~~~",
            "   ```\n## X\n  ```  ",
            "```\n## X\n    ```\n## X\n```",
            "- ```\n  ## X\n  ```",
            "1. a\n\n   ```\n   ## X\n   ```",
            "- a\n\n    ```\n  ## X\n  ```",
            "- a\nlazy\n  ```\n  ## X\n  ```",
            "1. - ```\n     ## X\n     ```",
            "<!--\n## X\n-->",
            "<!-- a\n## X\nb --> ## X",
            "   <!-- ```\n## X\n-->",
        ],
    )
    def test_fences_and_comments_hold_no_headings(self, hidden: str) -> None:
        base = f"# A\n\n{hidden}\n\n## X\n\nreal\n"
        assert output(base, directive("replace", "## X", "## X\n\nnew")) == base.replace("real", "new")

    @pytest.mark.parametrize(
        "shown",
        [
            "``` a`b\n## X",
            "``\n## X",
            "<!-- a -->\n## X",
            "text <!--\n## X\n-->",
            "    ```\n## X",
            "    <!--\n## X",
            "> ```\n## X",
            "- ```\n  code\n## X",
            "<!-->\n## X",
        ],
    )
    def test_what_does_not_hide_a_heading(self, shown: str) -> None:
        result = apply(f"# A\n\n{shown}\n\nold\n", directive("append", "## X", "new"))
        assert [code for _, code in found(result)] == []
        assert "new" in (result.output or "")

    @pytest.mark.parametrize("opened", ["```", "~~~~", "<!--", "  <!-- x"])
    def test_what_is_left_open_runs_to_the_end(self, opened: str) -> None:
        result = apply(f"# A\n\n{opened}\n## X\n", directive("append", "## X", "new"))
        assert found(result) == [("warning", "orphaned-directive")]

    def test_frontmatter_holds_no_headings(self) -> None:
        base = "---\nname: sage\n# X\n---\n"
        assert found(apply(base, directive("append", "# X", "new"))) == [("warning", "orphaned-directive")]

    def test_setext_headings_are_neither_targets_nor_boundaries(self) -> None:
        base = "## A\n\nB\n---\n\nC\n===\n\nend\n\n## D\n"
        result = apply(base, directive("replace", "## A", "new"), directive("append", "## B", "x"))
        assert result.output == "new\n\n## D\n"
        assert found(result) == [("notice", "setext-heading"), ("warning", "orphaned-directive")]
        for no_setext in (
            "## A\n\n---\n",
            "## A\n\n- a\n---\n",
            "## A\n\n> a\n---\n",
            "## A\n\n| a |\n---\n",
            "## A\n---\n",
        ):
            assert found(apply(no_setext, directive("append", "## A", "x"))) == []

    def test_a_section_ends_at_the_same_or_a_higher_level(self) -> None:
        base = "# A\n\n### B\n\nb\n\n#### C\n\nc\n\n## D\n\nd\n\n# E\n"
        assert output(base, directive("append", "### B", "new")) == base.replace("c\n\n## D", "c\n\nnew\n\n## D")
        assert output(base, directive("append", "# A", "new")) == base.replace("d\n\n# E", "d\n\nnew\n\n# E")


class TestHeadingPaths:
    """DECISIONS Overrides 9, 17."""

    def test_headings_may_hold_the_separator(self) -> None:
        base = "# A > B\n\n## C > d\n\nx\n"
        assert output(base, directive("append", "# A > B > ## C > d", "y")) == base + "\ny\n"

    def test_selectors_are_read_as_headings_are(self) -> None:
        base = "# A #\n\n## B\n\nx\n"
        assert output(base, directive("append", "#  A > ##\tB ##", "y")) == base + "\ny\n"

    def test_a_child_is_any_descendant_of_the_first_parent_only(self) -> None:
        base = "# A\n\n## M\n\n### X\n\none\n\n# A\n\n### X\n\n### Y\n"
        result = apply(base, directive("append", "# A > ### X", "new"))
        assert result.output == base.replace("one\n", "one\n\nnew\n")
        assert found(result) == [("notice", "ambiguous-target")]
        assert ("warning", "orphaned-directive") in found(apply(base, directive("append", "# A > ### Y", "new")))
        assert ("warning", "orphaned-directive") in found(apply(base, directive("append", "## M > ### Y", "new")))

    def test_text_is_exact(self) -> None:
        for target in ("## rules", "## Rule", "## Rules.", "# Rules", "### Rules", "## Ru les"):
            assert found(apply(BASE, directive("append", target, "x"))) == [("warning", "orphaned-directive")]


class TestOrder:
    """DECISIONS Overrides 11, 12, 13, 17."""

    def test_append_before_replace_in_the_file_loses_nothing(self) -> None:
        result = apply(
            BASE, directive("append", "## Output", "Added."), directive("replace", "## Output", "## Output\n\nNew.")
        )
        assert result.output == BASE.replace("Old output.", "New.\n\nAdded.")
        assert sorted(found(result)) == [("notice", "replace-first"), ("notice", "shared-target")]
        shared_target = next(d for d in result.diagnostics if d.code == "shared-target")
        assert "append (line 9), replace (line 16)" in shared_target.message

    def test_a_replaced_section_keeps_its_identity(self) -> None:
        renamed = directive("replace", "## Output", "### Changed\n\nNew.")
        merged = output(
            BASE, renamed, directive("append", "## Output", "Added."), directive("prepend", "## Output", "First.")
        )
        assert merged == BASE.replace("## Output\n\nOld output.", "### Changed\n\nFirst.\n\nNew.\n\nAdded.")
        by_path = output(BASE, renamed, directive("append", "# Identity > ## Output", "Added."))
        assert by_path == BASE.replace("## Output\n\nOld output.", "### Changed\n\nNew.\n\nAdded.")

    def test_a_second_replace_finds_the_renamed_section(self) -> None:
        one, two = directive("replace", "## Output", "## Other\n\na"), directive("replace", "## Output", "## Last\n\nb")
        assert output(BASE, one, two) == BASE.replace("## Output\n\nOld output.", "## Last\n\nb")

    def test_an_emptied_section_is_an_orphan_even_before_a_namesake(self) -> None:
        base = "## X\n\none\n\n### Y\n\ny\n\n## X\n\ntwo\n"
        later = [
            directive("append", "## X", "x"),
            directive("replace", "## X", "x"),
            directive("append", "## X > ### Y", "x"),
        ]
        for operation in later:
            result = apply(base, directive("replace", "## X"), operation)
            assert result.output == "## X\n\ntwo\n"
            assert ("warning", "orphaned-directive") in found(result)
            assert (
                "The directive of line 9 removed the section"
                in result.diagnostics[-1].message + result.diagnostics[-2].message
            )

    def test_an_orphan_of_an_emptied_section_still_shares_its_target(self) -> None:
        removal, append = directive("replace", "## Output"), directive("append", "## Output", "x")
        after = apply(BASE, removal, append)
        assert sorted(found(after)) == [("notice", "shared-target"), ("warning", "orphaned-directive")]
        before = apply(BASE, append, removal)
        assert sorted(found(before)) == [
            ("notice", "replace-first"),
            ("notice", "shared-target"),
            ("warning", "orphaned-directive"),
        ]
        child = apply(BASE, directive("replace", "## Rules"), directive("append", "## Rules > ### Detail", "x"))
        assert found(child) == [("warning", "orphaned-directive")]

    def test_headings_of_a_replacement_are_targets_later(self) -> None:
        one = directive("replace", "## Rules", "## Rules\n\n### New\n\nnew\n\n### Other")
        merged = output(BASE, one, directive("append", "## Rules > ### New", "added"))
        assert "### New\n\nnew\n\nadded\n\n### Other\n\n## Output" in merged
        evolving = output(BASE, one, directive("replace", "### New", "### Newer"))
        assert "## Rules\n\n### Newer\n\n### Other\n\n## Output" in evolving

    def test_what_a_replacement_removed_is_gone(self) -> None:
        result = apply(BASE, directive("replace", "## Rules", "## Rules"), directive("append", "### Detail", "x"))
        assert found(result) == [("warning", "orphaned-directive")]

    @pytest.mark.parametrize("operation", ["append", "prepend", "insert-before", "insert-after"])
    def test_inserted_content_is_never_a_target(self, operation: str) -> None:
        result = apply(BASE, directive(operation, "## Output", "## New\n\nx"), directive("append", "## New", "y"))
        assert found(result) == [("warning", "orphaned-directive")]

    def test_a_replacement_with_several_top_headings_is_one_section(self) -> None:
        one = directive("replace", "## Output", "## Output\n\na\n\n## Second\n\nb")
        merged = output(
            BASE, one, directive("append", "## Output", "end"), directive("insert-before", "## Output", "start")
        )
        assert "start\n\n## Output\n\na\n\n## Second\n\nb\n\nend\n\n# Closing" in merged
        inner = output(
            BASE, one, directive("append", "## Second", "end of second"), directive("append", "## Output", "end")
        )
        assert "a\n\n## Second\n\nb\n\nend of second\n\nend\n\n# Closing" in inner

    def test_slots_around_a_section(self) -> None:
        base = "## A\n\nbody\n\n### S\n\nsub\n\n## B\n"
        merged = output(
            base,
            *(
                directive("insert-after", "## A", "after 1"),
                directive("append", "## A", "append 1"),
                directive("insert-before", "## B", "before B"),
                directive("insert-after", "### S", "after S"),
                directive("append", "### S", "append S"),
                directive("prepend", "## A", "prepend 1"),
                directive("insert-before", "## A", "before 1"),
                directive("insert-after", "## A", "after 2"),
                directive("append", "## A", "append 2"),
                directive("prepend", "## A", "prepend 2"),
                directive("insert-before", "## A", "before 2"),
            ),
        )
        assert [line for line in merged.split("\n") if line] == [
            *("before 1", "before 2", "## A", "prepend 1", "prepend 2", "body", "### S", "sub", "append S", "after S"),
            *("append 1", "append 2", "after 1", "after 2", "before B", "## B"),
        ]


class TestBlankLines:
    """DECISIONS Overrides 14, 18."""

    def test_each_join_has_one_blank_line_and_nothing_else_is_touched(self) -> None:
        base = "# A\n\n\n\na\n\n\n## B\nb\n\n\n\n## C\n\n\nc  \n\n"
        merged = output(base, directive("append", "## B", "\n \nnew\n\n\nmore\n\n"))
        assert merged == "# A\n\n\n\na\n\n\n## B\nb\n\nnew\n\n\nmore\n\n## C\n\n\nc  \n\n"
        assert output(base, directive("prepend", "# A", "new")) == "# A\n\nnew\n\na\n" + base[len("# A\n\n\n\na\n") :]
        assert output(base, directive("replace", "## B")) == "# A\n\n\n\na\n\n## C\n\n\nc  \n\n"

    @pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
    def test_one_newline_after_a_last_line_that_was_inserted_or_uncovered(self, end: str) -> None:
        base = f"# A\n\na\n\n## B\n\nb{end}"
        assert output(base, directive("append", "## B", "new")) == "# A\n\na\n\n## B\n\nb\n\nnew\n"
        assert output(base, directive("replace", "## B", "## B\n\nnew")) == "# A\n\na\n\n## B\n\nnew\n"
        assert output(base, directive("replace", "## B")) == "# A\n\na\n"
        assert output(base, directive("prepend", "# A", "new")) == f"# A\n\nnew\n\na\n\n## B\n\nb{end}"
        assert output(base, directive("replace", "# A")) == ""

    def test_at_the_top_and_right_behind_frontmatter(self) -> None:
        assert output("\n\n# A\n", directive("insert-before", "# A", "new")) == "new\n\n# A\n"
        assert output("# A\n\n# B\n", directive("replace", "# A")) == "# B\n"
        head = "---\nname: sage\n---\n"
        assert output(head + "# A\n", directive("insert-before", "# A", "new")) == head + "\nnew\n\n# A\n"
        assert output(head + "\n\n# A\nx", directive("replace", "# A")) == head

    def test_a_section_replaced_by_itself_is_not_touched(self) -> None:
        base = "# A\n\n\n## B\n\nb\n\n\n\n## C"
        assert output(base, directive("replace", "## B", "## B\n\nb"), directive("replace", "## C", "## C")) == base


class TestFrontmatter:
    """DECISIONS Overrides 15, 18."""

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            ('"1.4"', 'k: "1.4"'),
            (">\n  Folded\n  text.", "k: >\n  Folded\n  text."),
            ("|\nliteral\ntext", "k: |\n  literal\n  text"),
            ("- a\n- b", "k:\n- a\n- b"),
            ("  - a\n  - b", "k:\n  - a\n  - b"),
            ("a: 1\nb:\n  - c", "k:\n  a: 1\n  b:\n    - c"),
            ("[a,\n  b]", "k: [a,\n  b]"),
            ("{a: 1}", "k: {a: 1}"),
            ("two\nlines", "k: two\n  lines"),
            ("null", "k: null"),
            ("yes # why", "k: yes # why"),
        ],
    )
    def test_values_are_spliced_as_written(self, content: str, expected: str) -> None:
        set_k = directive("frontmatter-set", key="k", content=content)
        assert output("---\na: 1\nk: old # note\nz: 2\n---\n# A\n", set_k) == f"---\na: 1\n{expected}\nz: 2\n---\n# A\n"
        assert output("---\na: 1\n# end\n---\n# A", set_k) == f"---\na: 1\n# end\n{expected}\n---\n# A"
        assert output("\n# A", set_k) == f"---\n{expected}\n---\n\n# A"
        assert output("", set_k) == f"---\n{expected}\n---\n"
        assert output("---\n---\nx\n", set_k) == f"---\n{expected}\n---\nx\n"

    @pytest.mark.parametrize(
        "content",
        ["a: b: c", "[a", '"open', "x\n---\ny: 1", "--- x", "x\n...\ny", "*gone", "# only a comment", "!!python/name:os.system x",
         "@x", "a: 1\na: 2", "'x' y", "%YAML 1.1\n--- x", "[" * 40 + "]" * 40, "\x07"],
    )  # fmt: skip
    def test_what_is_not_one_yaml_value_is_an_error(self, content: str) -> None:
        result = apply(BASE, directive("frontmatter-set", key="model", content=content), KEEP)
        assert found(result) == [("error", "bad-value")]
        assert (result.output, result.exit_code) == (APPENDED, 1)

    def test_a_key_is_replaced_with_all_its_lines_and_no_others(self) -> None:
        head = (
            '---\n# top\n"quoted": >\n  a\n\n  b\n\n# note\nlist:\n- a\n\n# inner\n- b\n# last\n'
            "map: {a: 1,\n  b: 2}\nempty:\nend: |\n  x\n\n---\n"
        )
        for key, old in [
            ("quoted", '"quoted": >\n  a\n\n  b\n'),
            ("list", "list:\n- a\n\n# inner\n- b\n"),
            ("map", "map: {a: 1,\n  b: 2}\n"),
            ("empty", "empty:\n"),
            ("end", "end: |\n  x\n"),
        ]:
            assert output(head, directive("frontmatter-set", key=key, content="1")) == head.replace(old, f"{key}: 1\n")
            assert output(head, directive("frontmatter-delete", key=key)) == head.replace(old, "")

    def test_a_quoted_key_that_would_change_its_type_keeps_its_quotes(self) -> None:
        base = "---\n'1': a\n\"model\": a\n---\n"
        assert output(base, directive("frontmatter-set", key="1", content="b")) == base.replace("'1': a", '"1": b')
        assert output(base, directive("frontmatter-set", key="model", content="b")) == base.replace(
            '"model": a', "model: b"
        )

    @pytest.mark.parametrize("character", ["\r", "\x85", "\u2028", "\u2029"])
    def test_line_ends_that_only_yaml_knows_are_refused(self, character: str) -> None:
        value = f'"a{character}evil: 1"'
        assert found(apply(BASE, directive("frontmatter-set", key="model", content=value))) == [("error", "bad-value")]
        base = f"---\nmodel: a # {character}x\nother: b\n---\n"
        result = apply(base, directive("frontmatter-delete", key="other"))
        assert found(result) == [("warning", "base-frontmatter"), ("error", "bad-base-frontmatter")]
        assert result.output == base

    def test_nested_keys_are_not_top_level(self) -> None:
        base = "---\nmap:\n  k: 1\n---\n"
        assert found(apply(base, directive("frontmatter-delete", key="k"))) == [("warning", "absent-key")]
        assert output(base, directive("frontmatter-set", key="k", content="2")) == "---\nmap:\n  k: 1\nk: 2\n---\n"

    def test_deleting_an_absent_key_is_a_warning(self) -> None:
        result = apply("# A\n", directive("frontmatter-delete", key="k"))
        assert (found(result), result.output, result.exit_code) == ([("warning", "absent-key")], "# A\n", 0)

    def test_deleting_the_last_key_keeps_the_frontmatter(self) -> None:
        assert output("---\nk: 1\n---\n# A\n", directive("frontmatter-delete", key="k")) == "---\n---\n# A\n"

    def test_operations_on_one_key_go_in_document_order_with_a_notice(self) -> None:
        result = apply(BASE, *(directive("frontmatter-set", key="model", content=value) for value in ("a", "b")))
        assert result.output == BASE.replace("small", "b")
        assert found(result) == [("notice", "shared-target")]

    @pytest.mark.parametrize("head", ["a: b: c", "{a: 1}", "a: 1\na: 2", "- a", "? a\n: b"])
    def test_frontmatter_that_cannot_be_read_is_not_edited(self, head: str) -> None:
        base = f"---\n{head}\n---\n## Output\n"
        result = apply(base, directive("frontmatter-set", key="k", content="1"), KEEP)
        assert found(result) == [("warning", "base-frontmatter"), ("error", "bad-base-frontmatter")]
        assert result.output == f"---\n{head}\n---\n## Output\n\nKept.\n"

    def test_an_anchor_that_others_use_cannot_be_deleted(self) -> None:
        base = "---\na: &x 1\nb: *x\n---\n"
        result = apply(base, directive("frontmatter-delete", key="a"))
        assert (found(result), result.output) == ([("error", "bad-value")], base)

    @pytest.mark.parametrize("operation", ["insert-before", "replace"])
    def test_content_cannot_become_frontmatter(self, operation: str) -> None:
        bad = directive(operation, "# A", "---\nname: evil\n---\n\n# A")
        result = apply("# A\n\n## Output\n", bad, KEEP)
        assert found(result) == [("error", "becomes-frontmatter")]
        assert (result.output, result.exit_code) == ("# A\n\n## Output\n\nKept.\n", 1)
        with_head = "---\nname: sage\n---\n# A\n"
        assert "evil" in output(with_head, bad)
        with_created = output("# A\n", bad, directive("frontmatter-set", key="k", content="1"))
        assert with_created.startswith("---\nk: 1\n---\n\n---\nname: evil\n---\n")

    def test_two_contents_cannot_become_frontmatter_together(self) -> None:
        top, rule = directive("insert-before", "# A", "---\nname: evil"), directive("append", "# A", "---")
        assert output("# A\n", top) == "---\nname: evil\n\n# A\n"
        result = apply("# A\n", top, rule)
        assert [code for _, code in found(result) if code != "shared-target"] == ["becomes-frontmatter"]
        assert result.output == "# A\n\n---\n"
        closing = apply("---\n# A\n", rule)
        assert (found(closing), closing.output) == ([("error", "becomes-frontmatter")], "---\n# A\n")

    def test_many_such_contents_reject_the_file(self) -> None:
        result = apply("# A\n", *(directive("insert-before", "# A", "---\nname: evil\n---") for _ in range(20)))
        assert (result.output, result.exit_code) == (None, 2)


class TestReports:
    """DECISIONS Overrides 16, 19."""

    def test_the_orphan_warning_has_the_documents_fields_and_causes(self) -> None:
        text = overrides(directive("replace", "## Approval Gates > ### Gate Classification", "x"))
        result = merge(BASE, text, overrides_name="AGENT.overrides.md", base_file="AGENT.generated.md")
        assert result.diagnostics[0].line == 9
        assert result.diagnostics[0].message == (
            "Orphaned directive in AGENT.overrides.md\n"
            "  Operation: replace\n"
            "  Target: ## Approval Gates > ### Gate Classification\n"
            "  Reason: because\n"
            "  Line: 9\n"
            "\n"
            "  This directive was not applied because the target heading was not found.\n"
            "  Possible causes:\n"
            "  - Target heading was removed or renamed in generated output\n"
            "  - Heading path is incorrect (check spelling, punctuation, heading level)\n"
            "  - Generated file structure changed (check AGENT.generated.md)"
        )

    def test_a_reason_cannot_forge_lines_or_move_the_cursor(self) -> None:
        text = overrides(directive("replace", "## Gone", "x")).replace("because", '"ok\\n  Line: 1\\e[2J\\u202e"')
        message = merge(BASE, text).diagnostics[0].message
        assert "Reason: ok\\u{a}  Line: 1\\u{1b}[2J\\u{202e}\n" in message

    def test_diagnostics_come_in_the_order_of_the_file(self) -> None:
        result = apply(BASE, directive("append", "## Gone", "x"), directive("prepnd", "## Output", "x"), KEEP, "text\n")
        lines = [d.line for d in result.diagnostics if d.line]
        assert lines == sorted(lines)
        assert len(lines) == 3

    def test_explain_says_what_each_directive_did_and_where(self) -> None:
        result = apply(
            BASE,
            directive("append", "## Output", "a\nb"),
            directive("replace", "## Rules", "## Rules"),
            directive("replace", "## Gone"),
            directive("frontmatter-set", key="model", content="large"),
        )
        assert [(s.line, s.outcome, s.detail, s.base_line) for s in result.steps] == [
            (9, "applied", "2 lines at the section's end", 19),
            (17, "applied", "replaced 8 lines with 1", 11),
            (24, "orphaned", "the target heading was not found", None),
            (30, "applied", "changed 'model'", 3),
        ]

    def test_content_that_leaves_something_open_is_reported(self) -> None:
        for content in ("```\ncode", "<!-- note"):
            assert found(apply(BASE, directive("append", "## Output", content))) == [("warning", "open-content")]

    def test_drift_is_none_or_a_unified_diff(self) -> None:
        assert drift("a\nb\n", "a\nb\n") is None
        diff = drift("a\nb\n", "a\nc", merged_name="new", actual_name="AGENT.md")
        assert diff == "--- AGENT.md\n+++ new\n@@ -1,2 +1,2 @@\n a\n-c\n\\ No newline at end of file\n+b\n"
        assert drift("a\n", "a\r\n") is not None

    def test_unknown_fields_in_the_head_are_a_notice(self) -> None:
        reading = read_overrides(HEAD.replace("agent:", "agnt: x\nagent:"))
        assert [(d.severity, d.code, d.line, d.hint) for d in reading.diagnostics] == [
            ("notice", "unknown-field", 2, "Did you mean 'agent'?")
        ]


@pytest.mark.corpus
def test_a_real_agent_comes_out_byte_for_byte() -> None:
    folder: Path = shared("corpus/nefario")
    texts = {path.name: path.read_bytes().decode() for path in folder.glob("AGENT.*")}
    result = merge(texts["AGENT.generated.md"], texts["AGENT.overrides.md"], base_name="nefario")
    assert result.output == texts["AGENT.expected.md"]
    assert (result.diagnostics, result.exit_code) == ((), 0)
    assert [step.outcome for step in result.steps] == ["applied"] * 5
