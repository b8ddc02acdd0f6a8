"""What is reported about an invalid signature line: its number, the reason, and whether only that line needs replacing."""

from __future__ import annotations

import pytest

from rye.errors import UsageError
from rye.signing.signature_line import (
    MARKDOWN,
    Absent,
    FoundLine,
    Layout,
    Malformed,
    SignatureLine,
    completed,
    find,
    insert,
    layout_of,
)
from tests.signing.test_signature_line import HASH, KEY, LATER, LINE, PY, SIGNATURE, TIME, fields

YAML = layout_of("tool", "a.yaml")
PLACEHOLDER = "rye:signed:TIMESTAMP:placeholder:unsigned:unsigned"


def malformed(text: str) -> Malformed:
    result = find(text, MARKDOWN)
    assert isinstance(result, Malformed), result
    return result


# Which reason is given


@pytest.mark.parametrize(
    ("signature", "detail"),
    [
        ("rye:signed:a:b", "it does not have the fields TIMESTAMP:HASH:SIGNATURE:KEYID"),
        (fields() + ":more", "the timestamp is not a valid YYYY-MM-DDTHH:MM:SSZ"),
        (fields(time="2026-02-30T00:00:00Z"), "the timestamp is not a valid YYYY-MM-DDTHH:MM:SSZ"),
        (fields(hash=HASH[1:]), "the hash is not 64 lower-case hex digits"),
        (fields(hash="placeholder"), "the hash is not 64 lower-case hex digits"),
        (
            fields(signature="unsigned"),
            "the signature is not canonical base64url of 64 bytes (of 69, by a security key)",
        ),
        (
            fields(key="unsigned"),
            "the key id is not 16 (or, in the later form, 64) lower-case hex digits, or text follows it",
        ),
        (fields(marker="ryeos"), "the marker ryeos:signed needs a key id of 64 hex digits"),
        (fields() + "|nobody", "the text after '|' is not provider@username"),
        (PLACEHOLDER + "|a@b", "the timestamp is not a valid YYYY-MM-DDTHH:MM:SSZ"),
    ],
)
def test_a_refusal_names_the_field(signature: str, detail: str) -> None:
    assert malformed(f"<!-- {signature} -->\nrest\n") == Malformed(
        f"line 1: {detail}", 1, None if " " in signature else "rest\n"
    )


def test_a_line_of_the_wrong_shape_is_told_what_a_line_has() -> None:
    assert malformed(f"{fields()}\n").detail == ("line 1: a signature line here must begin with '<!-- ' and the marker")
    assert (
        malformed(f"<!-- {fields()}\n").detail == "line 1: text follows the signature, or it does not end with ' -->'"
    )
    assert malformed(f"<!-- {fields()} -->") == Malformed("line 1: the signature line does not end with LF", 1, "")


@pytest.mark.parametrize(("kind", "name"), [("recipe", "a.md"), ("", "a.py")])
def test_an_unknown_kind_has_its_code_and_the_kinds(kind: str, name: str) -> None:
    with pytest.raises(UsageError, match="is not a kind of item") as raised:
        layout_of(kind, name)
    assert (raised.value.code, raised.value.details["what"]) == ("unknown-name", "kind")
    assert "directive" in (raised.value.hint or "")


def test_the_line_is_counted_from_one() -> None:
    below = find(f"---\n# {fields(key='x')}\nname: a\n---\n", MARKDOWN)
    assert isinstance(below, Malformed)
    assert (below.number, below.detail[:8], below.rest) == (2, "line 2: ", "---\nname: a\n---\n")
    assert find(f"---\n# {fields()}", MARKDOWN) == Malformed(
        "line 2: the signature line does not end with LF", 2, "---\n"
    )
    assert find(f"#!/bin/sh\n# {fields()}\n", PY) == FoundLine(LINE, "#!/bin/sh\n", 2)
    assert find(f"# {fields()}\n", PY) == FoundLine(LINE, "", 1)


# Whether the line can be replaced


@pytest.mark.parametrize(
    ("line", "lone"),
    [
        ("<!-- rye:signed:broken -->", True),
        ("<!-- RYE:SIGNED:broken -->", True),
        ("<!-- rye:signed:broken two words -->", False),
        ("<!-- rye:signed:broken -->x", False),
        ("<!-- rye:signed:broken two", False),
        ("<!--rye:signed:broken two -->", False),
        ("<!--rye:signed:broken-->", False),
        ("rye:signed:broken", False),
        ("# rye:signed:broken", False),
        ("  <!-- rye:signed:broken -->", False),
    ],
)
def test_only_a_comment_with_nothing_else_on_its_line_can_be_replaced(line: str, lone: bool) -> None:
    assert malformed(f"{line}\nrest\n").rest == ("rest\n" if lone else None)
    assert malformed(line).rest == ("" if lone else None)


def test_a_line_ends_after_512_characters_whatever_follows() -> None:
    for length, detail, rest in (
        (511, "it does not have the fields TIMESTAMP:HASH:SIGNATURE:KEYID", "rest\n"),
        (512, "it does not have the fields TIMESTAMP:HASH:SIGNATURE:KEYID", "rest\n"),
        (513, "it is too long for a signature line", "rest\n"),
        (514, "it is too long for a signature line", None),
        (9000, "it is too long for a signature line", None),
    ):
        line = "<!-- rye:signed:" + "x" * (length - 20) + " -->"
        assert len(line) == length
        found = malformed(f"{line}\nrest\n")
        assert (found.detail, found.rest) == (f"line 1: {detail}", rest)


# Byte order marks


def test_a_byte_order_mark_before_a_signature_is_malformed() -> None:
    for signature in (fields(), "rye:signed:broken"):
        for mark in ("\ufeff", "\ufeff\ufeff"):
            found = malformed(f"{mark}<!-- {signature} -->\nrest\n")
            assert found == Malformed("line 1: the file begins with a byte order mark", 1, None)


@pytest.mark.parametrize(
    "behind", ["", "# Title\n", f"<!-- {PLACEHOLDER} -->\n", f"~<!-- {fields()} -->\n", f"~{fields()}\n"]
)
def test_a_byte_order_mark_before_anything_else_is_text(behind: str) -> None:
    text = f"\ufeff{behind}"
    assert find(text, MARKDOWN) == Absent(text)


# First lines that stay first


@pytest.mark.parametrize(("text", "layout"), [("---", MARKDOWN), ("--- \t", MARKDOWN), ("#!/bin/sh", PY), ("#!", YAML)])
def test_a_first_line_alone_carries_no_signature(text: str, layout: object) -> None:
    assert find(text, layout) == Absent(text)  # type: ignore[arg-type]


def test_a_yaml_tool_may_begin_with_a_shebang_or_with_dashes() -> None:
    for first in ("#!/usr/bin/env tool\n", "---\n"):
        rest = f"{first}name: a\n"
        assert insert(rest, LINE, YAML) == f"{first}# {fields()}\nname: a\n"
        assert find(insert(rest, LINE, YAML), YAML) == FoundLine(LINE, rest, 2)


def test_above_frontmatter_the_current_form_is_misplaced_and_a_broken_line_is_told() -> None:
    rest = "---\nname: a\n---\n"
    for comment in ("<!-- {} -->", "# {}"):
        assert find(comment.format(fields()) + "\n" + rest, MARKDOWN) == Absent(rest, misplaced=True)
        assert find(comment.format(PLACEHOLDER) + "\n" + rest, MARKDOWN) == Absent(rest, misplaced=True)
        later = SignatureLine(TIME, HASH, bytes(64), LATER)
        assert find(comment.format(fields(key=LATER)) + "\n" + rest, MARKDOWN) == FoundLine(later, rest, 1)
        broken = find(comment.format(fields(key="x")) + "\n" + rest, MARKDOWN)
        assert isinstance(broken, Malformed)
        assert (broken.number, broken.rest) == (1, rest)


def test_above_a_shebang_a_broken_line_is_text_and_a_good_one_is_misplaced() -> None:
    rest = "#!/bin/sh\necho\n"
    assert find(f"# {fields(key='x')}\n{rest}", PY) == Absent(f"# {fields(key='x')}\n{rest}")
    for signature in (fields(), fields(key=LATER), PLACEHOLDER):
        assert find(f"# {signature}\n{rest}", PY) == Absent(rest, misplaced=True)


# Values


def test_key_ids_have_16_or_64_digits() -> None:
    for length in (0, 15, 17, 32, 63, 65):
        assert isinstance(find(f"<!-- {fields(key='a' * length)} -->\n", MARKDOWN), Malformed)
    for length, later in ((16, False), (64, True)):
        found = find(f"<!-- {fields(key='a' * length)} -->\n", MARKDOWN)
        assert isinstance(found, FoundLine)
        assert found.line is not None
        assert (found.line.later_form, found.line.signature) == (later, bytes(64))


@pytest.mark.parametrize(
    ("name", "good"), [("a" * 64, True), ("a" * 65, False), ("a.b_c+d-e", True), ("", False), ("a b", False)]
)
def test_the_providers_word_is_short(name: str, good: bool) -> None:
    for attested in (f"{name}@leo", f"rye@{name}"):
        found = find(f"<!-- {fields()}|{attested} -->\n", MARKDOWN)
        assert isinstance(found, FoundLine) == good


def test_every_padding_that_is_not_canonical_is_refused() -> None:
    assert isinstance(find(f"<!-- {fields(signature=SIGNATURE)} -->\n", MARKDOWN), FoundLine)
    for signature in (SIGNATURE[:-1], SIGNATURE[:-2], SIGNATURE + "=", "A" * 87 + "=", "=" * 88):
        for key in (KEY, LATER):
            if key == LATER and signature == SIGNATURE[:-2]:
                continue  # the later format may omit the padding
            assert isinstance(find(f"<!-- {fields(signature=signature, key=key)} -->\n", MARKDOWN), Malformed)


@pytest.mark.parametrize(
    ("layout", "first"),
    [(MARKDOWN, "#!text"), (PY, "---"), (layout_of("tool", "a.ts"), "---"), (layout_of("formula", "x"), "#!text")],
)
def test_only_formats_that_know_a_first_line_keep_it_first(layout: Layout, first: str) -> None:
    rest = f"{first}\nmore\n"
    assert insert(rest, LINE, layout) == f"{layout.style.wrap(LINE.render())}\n{rest}"
    assert find(insert(rest, LINE, layout), layout) == FoundLine(LINE, rest, 1)


@pytest.mark.parametrize("first", ["---~", "---x", "--", "----", "\t---", "--- -"])
def test_what_only_begins_like_frontmatter_opens_none(first: str) -> None:
    assert insert(f"{first}\n", LINE, MARKDOWN).endswith(f" -->\n{first}\n")


def test_blanks_behind_the_dashes_do_not_matter() -> None:
    for first in ("---", "--- ", "---\t", "--- \t "):
        assert insert(f"{first}\nname: a\n", LINE, MARKDOWN).split("\n")[:2] == [first, f"# {fields()}"]


def test_a_line_that_goes_on_behind_the_limit_is_never_replaced() -> None:
    """The part within the limit looks complete; text that an author put after it must not be lost."""
    line = "<!-- rye:signed:" + "x" * (513 - 20) + " -->"
    assert malformed(f"{line} and more\nrest\n").rest is None
    assert malformed(f"{line}\nrest\n").rest == "rest\n"


@pytest.mark.parametrize("text", ["---\n", "---\nname: a\n", "---\n\n", "", "\n", "text"])
def test_a_first_line_that_ends_needs_nothing(text: str) -> None:
    assert completed(text, MARKDOWN) == text


@pytest.mark.parametrize(
    "signature",
    [
        fields(hash=HASH + "0"),
        fields(hash=HASH + "x"),
        fields(time=TIME + "x"),
        fields(time=TIME + "Z"),
        fields(key=KEY + "x"),
        fields(key=LATER + "x"),
        fields(signature=SIGNATURE + "x", key=LATER),
        fields(signature="A" * 86 + "x", key=LATER),
        fields(signature="+" * 85 + "A" + "x", key=LATER),
        fields() + "|a@b!",
    ],
)
def test_a_field_with_something_behind_it_is_malformed(signature: str) -> None:
    assert isinstance(find(f"<!-- {signature} -->\n", MARKDOWN), Malformed)


# The signature of a security key: 69 bytes, in the first form alone


def test_a_security_key_s_signature_has_92_characters() -> None:
    read = find(f"<!-- {fields(signature='_-' + 90 * 'A')} -->\nrest\n", MARKDOWN)
    assert isinstance(read, FoundLine)
    assert read.line is not None
    assert read.line.signature == b"\xff\xe0" + bytes(67)


@pytest.mark.parametrize(
    "signature",
    [
        fields(signature=92 * "A", key=LATER),
        fields(signature=91 * "A"),
        fields(signature=93 * "A"),
        fields(signature=92 * "A" + "=="),
        fields(signature=91 * "A" + "+"),
    ],
)
def test_no_other_length_and_form_is_a_security_key_s(signature: str) -> None:
    assert "the signature is not canonical" in malformed(f"<!-- {signature} -->\nrest\n").detail
