"""The last value that each line format accepts, the first that it refuses, and what the refusal says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rye.items.identity import Identity
from rye.registry.protocol import lines
from rye.registry.protocol.lines import Lines, StatementError

ZERO_HASH = "A" * 43 + "="


def refusal(read: Callable[..., object], *arguments: object) -> StatementError:
    with pytest.raises(StatementError) as raised:
        read(*arguments)
    return raised.value


def one(text: str, key: str = "key") -> str:
    """The value of the only line of a statement ``title``."""
    source = Lines(f"title\n{text}\n", "title")
    value = source.one(key, str)
    source.end()
    return value


# lines


def test_a_line_has_at_most_2048_bytes_in_utf_8() -> None:
    for longest in ("key " + "x" * 2_044, "key " + "é" * 1_022):
        assert one(longest) == longest[4:]
        error = refusal(one, f"{longest}x")
        assert error.code == "statement-malformed"
        assert error.message == "Malformed statement: a line is longer than 2048 bytes."


def test_a_lone_surrogate_is_a_value_that_its_reader_refuses_not_a_crash() -> None:
    assert one("key \ud800") == "\ud800"
    assert Lines("title\nkey a\nkey \ud800\n", "title").many("key", str) == ("a", "\ud800")
    for read in (lines.text_reader(10), lines.read_word, lines.read_origin, lines.read_range, lines.read_key):
        assert refusal(read, "\ud800").code in ("statement-malformed", "statement-key")


def test_a_missing_line_is_named_with_80_characters_of_what_stands_there() -> None:
    other = "".join(str(number % 10) for number in range(100))
    assert refusal(one, other).message == f"Malformed statement: expected the line 'key', found {other[:80]!r}."
    at_the_end = Lines("title\n", "title")
    assert (
        refusal(at_the_end.one, "key", str).message == "Malformed statement: expected the line 'key', found 'its end'."
    )


def test_a_text_without_lf_or_with_another_title_says_which() -> None:
    error = refusal(Lines, "title\nkey a", "title")
    assert (error.code, error.message) == ("statement-malformed", "Malformed statement: it does not end with LF.")
    error = refusal(Lines, "titles\n", "title")
    assert (error.code, error.message) == ("statement-kind", "Expected a title statement, found 'titles'.")


def test_repeated_lines_ascend_by_their_bytes_and_nothing_follows_the_last() -> None:
    source = Lines("title\nkey a\nkey b\n", "title")
    assert source.many("key", str) == ("a", "b")
    source.end()
    for text in ("key b\nkey a", "key a\nkey a"):
        assert (
            "not sorted, or one is a duplicate" in refusal(Lines(f"title\n{text}\n", "title").many, "key", str).message
        )
    assert refusal(Lines("title\nmore\n", "title").end).message == (
        "Malformed statement: the line 'more' does not belong here."
    )


# values


@pytest.mark.parametrize("text", ["0", "1", "10", "9007199254740991"])
def test_a_number_is_a_natural_number_below_2_to_the_53(text: str) -> None:
    assert lines.read_number(text) == int(text)


@pytest.mark.parametrize(
    "text", ["", "-1", "+1", "01", "00", "1 ", "1\n", "1.0", "1e3", "１", "9007199254740992", "1" + "0" * 16]
)
def test_another_spelling_of_a_number_or_a_larger_one_is_refused(text: str) -> None:
    assert refusal(lines.read_number, text).message == (
        f"Malformed statement: {text[:80]!r} is not a number from 0 to 9007199254740991."
    )


def test_a_positive_number_begins_with_1() -> None:
    assert lines.read_positive("1") == 1
    assert refusal(lines.read_positive, "0").code == "statement-malformed"
    assert lines.read_number("5", 5, 5) == 5
    for text in ("4", "6"):
        assert refusal(lines.read_number, text, 5, 5).code == "statement-malformed"


@pytest.mark.parametrize("text", ["1970-01-01T00:00:00Z", "2024-02-29T23:59:59Z", "9999-12-31T23:59:59Z"])
def test_a_time_is_read_and_written_back(text: str) -> None:
    assert lines.write_time(lines.read_time(text)) == text


@pytest.mark.parametrize(
    "text",
    ["1969-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "2023-02-29T00:00:00Z", "2024-01-01T24:00:00Z",
     "2024-01-01T23:59:60Z", "2024-01-01 00:00:00Z", "2024-01-01T00:00:00", "2024-01-01T00:00:00+00:00",
     "2024-1-1T00:00:00Z", "12024-01-01T00:00:00Z", "２024-01-01T00:00:00Z", "1970"],
)  # fmt: skip
def test_a_time_that_is_no_moment_from_1970_on_is_refused(text: str) -> None:
    assert refusal(lines.read_time, text).message == (
        f"Malformed statement: {text!r} is not a time of the form YYYY-MM-DDTHH:MM:SSZ."
    )


def test_a_hash_in_base64_has_32_bytes() -> None:
    assert lines.read_base64_hash(ZERO_HASH) == bytes(32)
    for text in ("A" * 40 + "AA==", "A" * 44, ""):
        assert refusal(lines.read_base64_hash, text).message == (
            f"Malformed statement: {text!r} is not a hash of 32 bytes in base64."
        )
    assert refusal(lines.read_base64_hash, "!").message == "Malformed statement: '!' is not base64."
    assert refusal(lines.read_base64_hash, "AB==").message == "Malformed statement: 'AB==' is not canonical base64."


def test_a_hash_in_hexadecimal_has_64_lower_case_digits() -> None:
    assert lines.read_hash("0123456789abcdef" * 4) == "0123456789abcdef" * 4
    for text in ("0" * 63, "0" * 65, "A" * 64, "0" * 64 + "\n", "g" * 64):
        assert refusal(lines.read_hash, text).code == "statement-malformed"


def test_what_is_no_public_key_says_why_with_a_code_of_its_own() -> None:
    for text, why in ((ZERO_HASH, "small order"), ("AAAA", "it has 3 bytes"), ("/" * 42 + "8=", "not canonical")):
        error = refusal(lines.read_key, text)
        assert error.code == "statement-key"
        assert why in error.message
    assert refusal(lines.read_key, "!").code == "statement-malformed"


def test_an_origin_has_at_most_128_characters() -> None:
    for origin in ("a", "r.example:8443/team_a/x.y-z", "o" * 128):
        assert lines.read_origin(origin) == origin
    for origin in (
        "",
        "o" * 129,
        "R.example",
        ".example",
        "r.example:",
        "r.example/",
        "r.example/A",
        "r~",
        "r.example~",
    ):
        assert refusal(lines.read_origin, origin).code == "statement-malformed"


def test_the_namespace_root_and_its_items_are_nobodys() -> None:
    """``<origin>/root`` names the owners of the registry: a namespace of that name could sign in their place."""
    assert lines.read_namespace("roots") == "roots"
    assert lines.read_identity("tool:roots/a") == Identity("tool", "roots/a")
    assert lines.read_identity("tool:a/root/b") == Identity("tool", "a/root/b")
    for read, text in (
        (lines.read_namespace, "root"),
        (lines.read_namespace, "a/b"),
        (lines.read_identity, "tool:root/a"),
        (lines.read_identity, "tool:root/a/b"),
    ):
        assert refusal(read, text).code == "statement-malformed"


@pytest.mark.parametrize(
    "text", ["tool:a", "tool:a/b:c", "tool:tool:a/b", "a/b", ":a/b", "tools:a/b", "tool:a//b", "-"]
)
def test_an_identity_is_one_kind_and_a_qualified_id(text: str) -> None:
    assert refusal(lines.read_identity, text).message == (
        f"Malformed statement: {text!r} is not a kind and a qualified id."
    )


def test_a_dash_is_no_identity_only_where_there_may_be_none() -> None:
    assert lines.read_identity_or_none("-") is None
    assert lines.read_identity_or_none("tool:a/b") == Identity("tool", "a/b")
    assert refusal(lines.read_identity_or_none, "--").code == "statement-malformed"


def test_a_version_has_at_most_256_characters_and_no_build_metadata() -> None:
    longest = "1.2.3-" + "a" * 250
    for version in ("0.0.0", "1.2.3-0.a.-", "9999999999999999.0.0", longest):
        assert lines.read_version(version) == version
    for version in ("1.2", "01.2.3", "1.2.3-01", "1.2.3-", "1.2.3+b", "v1.2.3", "10000000000000000.0.0", f"{longest}a"):
        assert refusal(lines.read_version, version).message == (
            f"Malformed statement: {version[:80]!r} is not a version X.Y.Z or X.Y.Z-pre."
        )


def test_a_range_has_at_most_1024_characters() -> None:
    longest = "=1.0.0-" + "a" * 1_017
    for wanted in ("*", "^1.2", ">=1.0.0 <2.0.0", longest):
        assert lines.read_range(wanted) == wanted
    for wanted in ("", "*~", "**", " *", ">=1  <2", "latest", f"{longest}a"):
        assert refusal(lines.read_range, wanted).message == (
            f"Malformed statement: {wanted[:80]!r} is not a version range."
        )


def test_a_word_has_at_most_512_characters_of_printable_ascii() -> None:
    for word in ("!", "~", "x" * 512):
        assert lines.read_word(word) == word
    for word in ("", "a b", "é", "\x7f", "a\n", "x" * 513):
        assert refusal(lines.read_word, word).code == "statement-malformed"


def test_a_line_of_text_says_whether_its_length_or_its_characters_are_refused() -> None:
    read = lines.text_reader(3)
    for text in ("a", "~", "abc", "a b", "é"):
        assert read(text) == text
    for text in ("", " a", "a ", "abcd"):
        assert "empty, has leading or trailing whitespace, or more than 3 characters" in refusal(read, text).message
    for text in ("a\u200bb", "e\u0301"):
        assert "hidden characters or is not in Unicode's normal form C" in refusal(read, text).message


@pytest.mark.parametrize(
    ("text", "most", "line"),
    [
        ("abcd", 4, "abcd"),
        ("abcde", 4, "abc…"),
        ("ab cd", 4, "ab…"),
        (" " * 11 + "x", 3, "x"),
        (" " * 12 + "x", 3, "none"),
        (" " * 9 + "abc", 3, "abc"),
        ("e\u0301", 1, "é"),
    ],
)
def test_any_text_is_cut_to_one_line(text: str, most: int, line: str) -> None:
    """Only the first ``4 * most`` characters are read."""
    assert lines.one_line(text, most, "none") == line
