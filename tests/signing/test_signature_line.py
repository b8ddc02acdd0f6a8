"""The format of the signature line and its one canonical place: DESIGN §4, "Place" and "Finer points"."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.errors import RyeError, UsageError
from rye.signing.signature_line import (
    MARKDOWN,
    Absent,
    FoundLine,
    Malformed,
    SignatureLine,
    completed,
    content_hash,
    find,
    format_timestamp,
    insert,
    layout_of,
    text_of,
)
from tests.scenes.effort import tries
from tests.signing.samples import IDS, SAMPLES, Sample

pytestmark = pytest.mark.processes

EXAMPLES = tries(300, 20_000)
SIGNATURE = "A" * 86 + "=="
TIME = "2026-03-01T12:30:05Z"
HASH = "0" * 64
KEY = "0123456789abcdef"
LINE = SignatureLine(TIME, HASH, bytes(64), KEY)
LATER = KEY * 4
PY = layout_of("tool", "a.py")


def fields(time: str = TIME, hash: str = HASH, signature: str = SIGNATURE, key: str = KEY, marker: str = "rye") -> str:
    return f"{marker}:signed:{time}:{hash}:{signature}:{key}"


def markdown(signature: str, rest: str = "# Title\n") -> FoundLine | Absent | Malformed:
    return find(f"<!-- {signature} -->\n{rest}", MARKDOWN)


def found(result: FoundLine | Absent | Malformed) -> FoundLine:
    assert isinstance(result, FoundLine), result
    return result


class TestPlace:
    @pytest.mark.parametrize("sample", SAMPLES, ids=IDS)
    def test_every_kind_and_comment_style(self, sample: Sample) -> None:
        layout = layout_of(sample.kind, sample.file_name)
        signed = insert(sample.text, LINE, layout)
        line = signed.split("\n")[sample.line - 1]
        assert line.startswith(sample.prefix + "rye:signed:")
        assert line.endswith(" -->" if sample.prefix == "<!-- " else KEY)
        assert find(signed, layout) == FoundLine(LINE, sample.text, sample.line)

    @pytest.mark.parametrize("kind", ["directive", "knowledge", "agent", "role", "skill", "formula", "bundle"])
    def test_only_a_tools_suffix_matters(self, kind: str) -> None:
        assert layout_of(kind, "whatever.txt") == layout_of(kind, "x.md")

    def test_unknown_kinds_and_suffixes_are_refused_by_name(self) -> None:
        with pytest.raises(UsageError, match="'recipe' is not a kind"):
            layout_of("recipe", "a.md")
        with pytest.raises(RyeError) as caught:
            layout_of("tool", "a.rb")
        assert caught.value.code == "unknown-suffix"

    def test_a_line_anywhere_else_is_text(self) -> None:
        text = f"# Title\n<!-- {fields()} -->\n"
        assert find(text, MARKDOWN) == Absent(text, misplaced=False)
        text = f"print(1)\n# {fields()}\n"
        assert find(text, PY) == Absent(text)
        text = f"#!/bin/sh\n\n# {fields()}\n"
        assert find(text, PY) == Absent(text)

    @pytest.mark.parametrize(
        ("kind", "name", "comment", "rest"),
        [
            ("tool", "a.py", "# {}", "#!/usr/bin/python\nprint(1)\n"),
            ("tool", "a.js", "// {}", "#!/usr/bin/env node\n"),
            ("agent", "a.md", "<!-- {} -->", "---\nname: a\n---\n"),
            ("agent", "a.md", "# {}", "---\nname: a\n---\n"),
            ("tool", "a.yaml", "# {}", "---\nname: a\n"),
        ],
    )
    def test_a_16_hex_line_counts_only_where_signing_the_rest_would_put_it(
        self, kind: str, name: str, comment: str, rest: str
    ) -> None:
        text = comment.format(fields()) + "\n" + rest
        assert find(text, layout_of(kind, name)) == Absent(rest, misplaced=True)

    def test_the_later_form_may_also_stand_above_frontmatter_but_not_above_a_shebang(self) -> None:
        rest = "---\nname: a\n---\n"
        for comment in ("<!-- {} -->", "# {}"):
            assert found(find(comment.format(fields(key=LATER)) + "\n" + rest, MARKDOWN)).rest == rest
        assert found(find(f"---\n# {fields(key=LATER)}\nname: a\n---\n", MARKDOWN)).rest == rest
        assert isinstance(find(f"# {fields(key=LATER)}\n#!/bin/sh\n", PY), Absent)

    def test_a_line_of_dashes_with_trailing_blanks_opens_frontmatter_and_a_longer_one_does_not(self) -> None:
        assert insert("--- \na: 1\n---\n", LINE, MARKDOWN).split("\n")[1].startswith("# rye:signed:")
        assert insert("----\n", LINE, MARKDOWN).startswith("<!-- ")
        assert insert(" ---\n", LINE, MARKDOWN).startswith("<!-- ")

    def test_a_first_line_alone_gets_the_line_end_that_it_needs(self) -> None:
        for text, layout in (("#!/bin/sh", PY), ("---", MARKDOWN)):
            rest = completed(text, layout)
            assert rest == text + "\n"
            assert found(find(insert(rest, LINE, layout), layout)).rest == rest
        assert completed("no end", MARKDOWN) == "no end"

    def test_an_empty_file_can_carry_a_line(self) -> None:
        assert found(find(insert("", LINE, MARKDOWN), MARKDOWN)).rest == ""


class TestForm:
    def test_a_well_formed_line_gives_its_fields(self) -> None:
        assert found(markdown(fields())).line == LINE
        assert LINE.render() == fields()

    def test_placeholders_are_no_signature(self) -> None:
        for time in ("TIMESTAMP", TIME, "2026-13-99T00:00:00Z"):
            assert found(markdown(f"rye:signed:{time}:placeholder:unsigned:unsigned")).line is None

    def test_a_provider_suffix_is_read(self) -> None:
        line = found(markdown(fields() + "|rye-registry@leo")).line
        assert line is not None
        assert (line.key_id, line.attested) == (KEY, "rye-registry@leo")

    @pytest.mark.parametrize("marker", ["rye", "ryeos"])
    @pytest.mark.parametrize(
        "signature", ["A" * 86, SIGNATURE, "-_" * 42 + "-Q==", "+/" * 42 + "+Q==", "+/" * 42 + "+Q"]
    )
    def test_the_later_form_in_all_its_spellings(self, marker: str, signature: str) -> None:
        line = found(markdown(fields(signature=signature, key=LATER, marker=marker))).line
        assert line is not None
        assert line.later_form
        assert len(line.signature) == 64

    @pytest.mark.parametrize(
        "signature",
        [
            fields(marker="ryeos"),
            fields(signature="A" * 86),
            fields(signature="A" * 86 + "="),
            fields(signature="A" * 85 + "B=="),  # the last four bits are not zero
            fields(signature="A" * 85 + "B", key=LATER),
            fields(signature="+" * 85 + "A=="),
            fields(signature="+-" * 43, key=LATER),
            fields(signature="A" * 86 + "=", key=LATER),
            fields(signature="A" * 88),
            fields(signature=""),
            fields(hash=HASH[1:]),
            fields(hash="A" * 64),
            fields(hash="０" * 64),
            fields(key=KEY.upper()),
            fields(key=KEY[:15]),
            fields(key=KEY * 2),
            fields(key=""),
            fields(time="2026-02-30T00:00:00Z"),
            fields(time="2026-03-01T24:00:00Z"),
            fields(time="2026-03-01T12:60:00Z"),
            fields(time="2026-03-01T12:30:60Z"),
            fields(time="0000-03-01T12:30:05Z"),
            fields(time="2026-03-01T12:30:05"),
            fields(time="2026-03-01 12:30:05Z"),
            fields(time="2026-03-01T12:30:05+00:00"),
            fields(time="TIMESTAMP"),
            fields(time="２026-03-01T12:30:05Z"),
            fields() + " trailing",
            fields() + ":more",
            fields() + "|",
            fields() + "|nobody",
            fields() + "|a@b@c",
            fields() + "|a@b|c@d",
            fields() + "|a b@c",
            " " + fields(),
            fields() + " ",
            "rye:signed:",
            "rye:signed:TIMESTAMP:HASH:SIGNATURE:KEYID",
            "RYE:SIGNED:" + fields()[11:],
            "rye:signed:TIMESTAMP:placeholder:unsigned:unsigned|a@b",
        ],
    )
    def test_anything_else_is_malformed(self, signature: str) -> None:
        assert isinstance(markdown(signature), Malformed)

    @pytest.mark.parametrize(
        "text",
        [
            f"<!-- {fields()} --> # Title\n",
            f"<!-- {fields()} -->\r",
            f" <!-- {fields()} -->\n",
            f"<!--{fields()}-->\n",
            f"<!-- {fields()}\n-->\n",
            f"# {fields()}\n",
            f"<!-- {fields()} -->",
            f"\ufeff<!-- {fields()} -->\n",
            f"---\n<!-- {fields()} -->\n---\n",
            f"<!-- {fields(signature='A' * 86)} -->\n---\na: 1\n---\n",
            f"{fields()}\n",
            f"<!-- {fields()}{' ' * 600} -->\n",
        ],
    )
    def test_text_beside_the_line_or_another_comment_style_is_malformed(self, text: str) -> None:
        assert isinstance(find(text, MARKDOWN), Malformed)

    def test_a_broken_line_alone_can_be_replaced_one_with_text_on_it_cannot(self) -> None:
        broken = markdown(fields(key="xyz"))
        assert isinstance(broken, Malformed)
        assert broken.rest == "# Title\n"
        kept = find(f"<!-- {fields()} --> # Title\n", MARKDOWN)
        assert isinstance(kept, Malformed)
        assert kept.rest is None

    def test_words_that_only_look_alike_are_text(self) -> None:
        for line in ("<!-- rye:sign -->", "<!-- rye: signed -->", "# About rye:signed:x", "<!-- xrye:signed:x -->"):
            assert isinstance(find(line + "\n", MARKDOWN), Absent)


class TestText:
    def test_crlf_reads_as_lf_and_a_lone_cr_is_an_ordinary_character(self) -> None:
        assert text_of(b"a\r\nb\rc\r\r\n") == "a\nb\rc\r\n"

    def test_the_hash_is_sha256_of_utf8(self) -> None:
        assert content_hash("ä\n") == hashlib.sha256(b"\xc3\xa4\n").hexdigest()
        assert content_hash("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    def test_timestamps_are_utc(self) -> None:
        east = datetime(2026, 3, 1, 1, 30, 5, 999, tzinfo=timezone(timedelta(hours=2)))
        assert format_timestamp(east) == "2026-02-28T23:30:05Z"
        assert format_timestamp(datetime(2026, 1, 2, tzinfo=UTC)) == "2026-01-02T00:00:00Z"
        with pytest.raises(ValueError, match="time zone"):
            format_timestamp(datetime(2026, 1, 2))


_PIECES = st.sampled_from(
    [
        "---",
        "---\n",
        "#!",
        "#!/bin/sh\n",
        "\n",
        "# ",
        "<!-- ",
        " -->",
        "a",
        "\r",
        "\ufeff",
        f"# {fields()}\n",
        f"<!-- {fields()} -->\n",
    ]
)


@settings(max_examples=EXAMPLES)
@given(st.lists(_PIECES, max_size=6).map("".join), st.sampled_from(SAMPLES))
def test_hypothesis_what_is_inserted_is_found_with_the_rest_unchanged(text: str, sample: Sample) -> None:
    layout = layout_of(sample.kind, sample.file_name)
    rest = completed(text, layout)
    result = find(insert(rest, LINE, layout), layout)
    assert isinstance(result, FoundLine)
    assert (result.line, result.rest) == (LINE, rest)


@settings(max_examples=EXAMPLES)
@given(st.lists(_PIECES, max_size=6).map("".join), st.sampled_from(SAMPLES))
def test_hypothesis_what_counts_is_exactly_where_inserting_it_puts_it(text: str, sample: Sample) -> None:
    layout = layout_of(sample.kind, sample.file_name)
    result = find(text, layout)
    if isinstance(result, FoundLine) and result.line:
        assert insert(result.rest, result.line, layout) == text


@pytest.mark.parametrize(
    "text", ["\ufeff" * 300_000, "<!-- rye:signed:" + ":" * 300_000, "<!-- rye:signed:" + "a:" * 200]
)
def test_hostile_first_lines_cost_nothing(text: str) -> None:
    assert not isinstance(find(text, MARKDOWN), FoundLine)


def test_the_module_needs_no_cryptography() -> None:
    heavy = "('nacl', 'cryptography', 'lxml', 'httpx', 'tomlkit')"
    code = f"import sys, rye.signing.signature_line; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
