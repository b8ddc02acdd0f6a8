"""Exactly which characters older signatures of part of a file cover, and what a verdict looks like to programs."""

from __future__ import annotations

import pytest

from rye.signing.signature_line import MARKDOWN, insert, layout_of
from rye.signing.verification import Verification
from tests.signing.test_verification import KEY, OTHER, judge, line_over

BLOCK = "<directive>x</directive>"


def verdict(text: str, covered: str, kind: str = "directive", name: str = "a.md") -> Verification:
    return judge(insert(text, line_over(covered), layout_of(kind, name)), kind, name)


@pytest.mark.parametrize(
    "text",
    [BLOCK, f"{BLOCK}\n", f"# Title\n{BLOCK}", f"{BLOCK}x and more\n", f"# T\n{BLOCK}~\n", f"a{BLOCK}\n\n{'b' * 20}\n"],
)
def test_a_directives_older_signature_covers_its_block_and_nothing_around_it(text: str) -> None:
    found = verdict(text, BLOCK)
    if text == BLOCK:
        assert (found.verdict, found.coverage) == ("valid", "whole file")
    else:
        assert (found.verdict, found.coverage, found.ok) == ("partial", "from <directive to </directive>", False)


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("text</directive>", ">"),
        ("text</directive>\n", "</directive>"),
        ("</directive><directive", "<directive"),
        ("<directive>", "<directive>" * 2),
        (f"{BLOCK}~", f"{BLOCK}~~"),
        (f"x{BLOCK}", BLOCK[1:]),
        (f"x{BLOCK}y", f"{BLOCK}y"),
        (f"x{BLOCK}y", f"x{BLOCK}"),
    ],
)
def test_no_other_part_of_a_directive_counts(text: str, covered: str) -> None:
    assert verdict(text, covered).verdict == "modified"


def test_the_block_goes_to_its_last_end() -> None:
    assert verdict(f"x{BLOCK} {BLOCK}", f"{BLOCK} {BLOCK}").verdict == "partial"
    assert verdict(f"x{BLOCK} {BLOCK}", BLOCK).verdict == "modified"


def test_below_a_shebang_only_a_tool_is_covered() -> None:
    tool = verdict("#!/bin/sh\necho\n", "echo\n", "tool", "a.sh")
    assert (tool.verdict, tool.coverage) == ("partial", "everything but the shebang line")
    for kind in ("directive", "knowledge", "role"):
        assert verdict("#!/bin/sh\necho\n", "echo\n", kind).verdict == "modified"
    assert verdict("# no shebang\necho\n", "echo\n", "tool", "a.py").verdict == "modified"


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("---\na: 1\n---\nfirst\nsecond\n", "first\nsecond"),
        ("---\n---\nfirst\nsecond\n", "first\nsecond"),
        ("--- \na: 1\n---\t\n\n  body \n\n", "body"),
        ("---\na: 1\n---\nfirst\n---\nsecond\n", "first\n---\nsecond"),
    ],
)
def test_knowledge_is_covered_below_its_frontmatter(text: str, covered: str) -> None:
    found = verdict(text, covered, "knowledge")
    assert (found.verdict, found.coverage) == ("partial", "everything but the frontmatter")
    assert verdict(text, covered, "role").verdict == "modified"
    assert verdict(text, covered, "directive").verdict == "modified"


@pytest.mark.parametrize(
    "text", ["---\na: 1\nbody\n", "a\n---\nbody\n", "----\na\n---\nbody\n", "---\na\n----\nbody\n"]
)
def test_knowledge_without_closed_frontmatter_has_no_such_part(text: str) -> None:
    assert verdict(text, "body", "knowledge").verdict == "modified"


def test_the_later_form_covers_the_whole_file_or_nothing() -> None:
    line = line_over(BLOCK, key_id=KEY.public.later_key_id)
    assert judge(insert(f"# T\n{BLOCK}", line, MARKDOWN)).verdict == "modified"


def test_programs_are_told_the_key_as_the_line_has_it_and_its_fingerprint() -> None:
    signed = insert("text\n", line_over("text\n"), MARKDOWN)
    assert judge(signed.replace(" -->", "|reg@leo -->", 1)).as_json() == {
        "verdict": "valid",
        "key": KEY.public.key_id,
        "fingerprint": KEY.public.fingerprint,
        "coverage": "whole file",
        "detail": "Signed by a trusted key and unchanged since.",
        "unauthenticated": "reg@leo",
    }
    assert judge(signed, "directive", "a.md", OTHER.public).as_json() == {
        "verdict": "untrusted",
        "key": KEY.public.key_id,
        "fingerprint": None,
        "coverage": None,
        "detail": f"No trusted key has the id {KEY.public.key_id}.",
        "unauthenticated": None,
    }
    assert judge("text\n").as_json() == {
        "verdict": "unsigned",
        "key": None,
        "fingerprint": None,
        "coverage": None,
        "detail": "The file has no signature line.",
        "unauthenticated": None,
    }


def test_each_way_of_being_unsigned_or_malformed_is_told() -> None:
    rest = "---\nname: a\n---\n"
    misplaced = judge(f"<!-- {line_over(rest).render()} -->\n{rest}", "agent")
    assert misplaced.detail.startswith("A signature line is above the line that must be first")
    placeholder = judge("<!-- rye:signed:TIMESTAMP:placeholder:unsigned:unsigned -->\ntext\n")
    assert placeholder.detail == "The signature line is a placeholder: the file was never signed."
    assert [misplaced.verdict, placeholder.verdict] == ["unsigned", "unsigned"]
    assert judge(b"ab\xff").detail == "The bytes are not UTF-8 (offset 2)."
    assert judge("<!-- rye:signed:x -->\n").detail.startswith("The signature line is malformed: line 1: ")
