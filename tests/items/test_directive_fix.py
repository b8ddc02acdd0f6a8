"""``rye validate --fix``, ``rye migrate directive`` and ``rye new directive`` as pure functions: only unambiguous fixes."""

from __future__ import annotations

import difflib
import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.errors import UsageError
from rye.items.directive.fix import fix, is_signed_over_fence_only, migrate
from rye.items.directive.reader import read
from rye.items.directive.template import new_directive
from rye.items.location import locate
from rye.items.reading import Fixed, ReadOptions, Source
from rye.permissions.static_check import check_calls
from rye.text.diagnostics import strict
from tests.items.test_directive_sample import AFTER, FENCE, changed, findings, text, value
from tests.scenes.parsed import parsed
from tests.scenes.shared_data import shared

PLACE = Source("", "deploy_app.md", "deploy_app", "workflows")
FULL_NAMES = text(FENCE.replace('turns="6" max_tokens', 'max_turns="6" max_tokens'))
COST = FENCE[FENCE.index("    <cost>") : FENCE.index("    <context>")]


def mended(content: str, category: str | None = "workflows") -> Fixed:
    return fix(content, Source("", "deploy_app.md", "deploy_app", category))


def touched(old: str, new: str) -> list[str]:
    """The lines that differ, each with its ``+`` or ``-``."""
    lines = difflib.unified_diff(old.split("\n"), new.split("\n"), n=0, lineterm="")
    return [line for line in lines if line[:3] not in ("---", "+++", "@@ ")]


def test_nothing_to_mend_changes_nothing() -> None:
    assert mended(FULL_NAMES) == Fixed(FULL_NAMES, ())


def test_limits_get_their_full_names_and_nothing_else_moves() -> None:
    done = mended(text())
    assert touched(text(), done.text) == [
        '-    <limits turns="6" max_tokens="4096" spend="0.05" />',
        '+    <limits max_turns="6" max_tokens="4096" spend="0.05" />',
    ]
    assert done.changes == ("In `<limits>`: `turns` is now `max_turns`.",)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ("turns='6' tokens = \"1\"", "max_turns='6' max_tokens = \"1\""),
        ('turns="6" max_turns="6"', 'max_turns="6"'),
        ('turns="6" max_turns="7"', None),
        ('x="turns=1" turns="6"', 'x="turns=1" max_turns="6"'),
    ],
)
def test_limits_with_one_answer(limits: str, expected: str | None) -> None:
    content = changed('turns="6" max_tokens="4096" spend="0.05"', limits)
    wanted = content if expected is None else content.replace(f"<limits {limits}", f"<limits {expected}")
    assert mended(content).text == wanted


@pytest.mark.parametrize("indent", ["", "  ", "    "])
def test_a_process_inside_the_fence_moves_behind_it(indent: str) -> None:
    process = AFTER[: AFTER.index("</process>") + 10]
    criteria = AFTER[AFTER.index("<success_criteria>") :]
    shifted = "\n".join(indent + line for line in process.split("\n"))
    fence = FULL_NAMES[FULL_NAMES.index("<directive") : FULL_NAMES.index("\n```\n")]
    content = text(fence.replace("\n</directive>", f"\n{shifted}\n</directive>"), criteria)
    done = mended(content)
    assert done.text == FULL_NAMES
    assert len(done.changes) == 1


def test_a_process_that_breaks_the_xml_moves_too_and_mends_it() -> None:
    process = '<process>\n  <step name="a">\n    Use a & b < c.\n  </step>\n</process>'
    content = text(FENCE.replace("\n</directive>", f"\n{process}\n</directive>"), "")
    assert findings(content)[0] == ("error", "R12")
    done = mended(content)
    assert findings(done.text) == []
    found = value(done.text).process
    assert found is not None
    assert found.source == process


def test_a_process_and_criteria_both_move_in_order() -> None:
    both = AFTER.rstrip("\n")
    content = text(FENCE.replace("\n</directive>", f"\n{both}\n</directive>"), "")
    done = mended(content)
    assert findings(done.text) == []
    assert done.text.index("```\n\n<process>") < done.text.index("</process>\n\n<success_criteria>")
    assert done.text.endswith("</success_criteria>\n")


def test_a_process_before_the_fence_moves_behind_it() -> None:
    done = mended(text(before=f"# T\n\n{AFTER.split('<success')[0]}", after=AFTER[AFTER.index("<success") :]))
    assert findings(done.text) == []
    assert done.text.startswith("# T\n\n```xml\n")


@pytest.mark.parametrize(
    "content",
    [
        text(FENCE.replace("\n</directive>", "\n<process>\n</process>\n</directive>")),
        text(FENCE.replace("\n</directive>", "\n<process>\n</directive>"), ""),
        "# T\n",
        "",
        "```xml\n<foo/>\n```\n",
    ],
    ids=["two processes", "never closed", "no fence", "empty", "another root"],
)
def test_what_has_no_one_answer_stays(content: str) -> None:
    assert "Moved" not in " ".join(mended(content).changes)


def test_opaque_sections_and_comments_keep_their_processes() -> None:
    for wrapped in ("<template><process>x</process></template>", "<!-- <process>x</process> -->"):
        content = FULL_NAMES.replace("\n</directive>", f"\n{wrapped}\n</directive>")
        assert mended(content).text == content


def test_the_category_becomes_the_folder() -> None:
    done = mended(FULL_NAMES, "team/release")
    assert touched(FULL_NAMES, done.text) == [
        "-    <category>workflows</category>",
        "+    <category>team/release</category>",
    ]
    missing = FULL_NAMES.replace("    <category>workflows</category>\n", "")
    assert touched(missing, mended(missing).text) == ["+    <category>workflows</category>"]
    assert mended(FULL_NAMES, None).text == FULL_NAMES
    assert mended(FULL_NAMES, "").text == FULL_NAMES
    assert mended(FULL_NAMES, 'x"<').text == FULL_NAMES


def test_line_endings_and_bom() -> None:
    done = mended("\ufeff" + FULL_NAMES.replace("\n", "\r\n"))
    assert done.text == FULL_NAMES
    assert len(done.changes) == 2


def test_fixing_twice_is_fixing_once() -> None:
    content = "\ufeff" + text(FENCE.replace("\n</directive>", f"\n{AFTER}\n</directive>"), "").replace("\n", "\r\n")
    once = mended(content, "other")
    assert mended(once.text, "other") == Fixed(once.text, ())


@given(
    st.integers(0, len(text())),
    st.sampled_from(["<process>", "</process>", "```", "<limits turns='1'/>", "\n", '"', "&"]),
)
@settings(max_examples=100, deadline=None)
def test_fixing_never_raises_and_never_changes_what_is_granted(at: int, junk: str) -> None:
    """Property: a directive that can be read before and after grants the same rights and fires the same hooks."""
    content = text()[:at] + junk + text()[at:]
    before = read(Source(content), ReadOptions()).metadata
    after = read(Source(mended(content).text), ReadOptions()).metadata
    if before is not None:
        assert after is not None
        assert (before.capabilities, before.hooks) == (after.capabilities, after.hooks)


# Migration.


def signed_over_fence(content: str) -> str:
    span = content[content.index("<directive") : content.rindex("</directive>") + len("</directive>")].strip()
    digest = hashlib.sha256(span.encode()).hexdigest()
    return f"<!-- rye:signed:2026-02-26T06:42:50Z:{digest}:{'A' * 86}==:4b987fd4e40303ac -->\n{content}"


def test_a_cost_is_made_from_the_limits() -> None:
    content = FULL_NAMES.replace(COST, "").replace('spend="0.05"', 'spend="0.05" duration_seconds="60"')
    done = migrate(content, PLACE)
    assert touched(content, done.text) == [
        "+    <cost>",
        '+      <context estimated_usage="low" turns="6">4096</context>',
        "+      <duration>60</duration>",
        '+      <spend currency="USD">0.05</spend>',
        "+    </cost>",
    ]
    assert strict(read(Source(done.text, "", "deploy_app", "workflows"), ReadOptions()).diagnostics) == ()


@pytest.mark.parametrize(("turns", "usage"), [(1, "low"), (6, "low"), (7, "medium"), (15, "medium"), (16, "high")])
def test_the_usage_follows_the_format_s_complexities(turns: int, usage: str) -> None:
    content = FULL_NAMES.replace(COST, "").replace('max_turns="6"', f'max_turns="{turns}"')
    assert f'estimated_usage="{usage}" turns="{turns}"' in migrate(content, PLACE).text


def test_a_cost_that_is_there_or_limits_without_turns_stay() -> None:
    assert migrate(FULL_NAMES, PLACE) == Fixed(FULL_NAMES, ())
    content = FULL_NAMES.replace(COST, "").replace('max_turns="6" ', "")
    assert migrate(content, PLACE) == Fixed(content, ())


def test_a_signature_over_the_fence_alone_is_dropped() -> None:
    signed = signed_over_fence(FULL_NAMES)
    assert is_signed_over_fence_only(signed)
    assert migrate(signed, PLACE).text == FULL_NAMES


def test_a_signature_over_the_whole_file_stays_until_something_changes() -> None:
    whole = f"<!-- rye:signed:2026-02-26T06:42:50Z:{'0' * 64}:{'A' * 86}==:4b987fd4e40303ac -->\n"
    assert migrate(whole + FULL_NAMES, PLACE) == Fixed(whole + FULL_NAMES, ())
    assert migrate(whole + text(), PLACE).text == FULL_NAMES


@pytest.mark.corpus
def test_real_directives_migrate_to_files_that_conform_under_strict() -> None:
    folder = shared("corpus/ryeos/core_ai/directives")
    for path in sorted(folder.rglob("*.md")):
        place = locate(path)
        assert place is not None
        old = path.read_text("utf-8")
        assert is_signed_over_fence_only(old), path
        done = migrate(old, Source("", str(path), place.name, place.category))
        result = read(Source(done.text, str(path), place.name, place.category), ReadOptions())
        assert strict(result.diagnostics) == (), path
        assert "rye:signed" not in done.text
        removed = [line for line in touched(old, done.text) if line.startswith("-")]
        assert len(removed) == 2, path  # the signature, and the limits under their old names
        assert migrate(done.text, Source("", str(path), place.name, place.category)).changes == ()


# A new directive.

HOSTILE_WORDS = [
    "",
    "a & b < c",
    "{input:foo}",
    "```xml\n<directive>",
    "<process>",
    "# x",
    "1. x",
    "> y",
    "--> <!--",
    "]]>",
]


@pytest.mark.parametrize("words", ["Deploy the app", *HOSTILE_WORDS])
def test_a_new_directive_conforms_under_strict(words: str) -> None:
    content = new_directive("deploy_app", "team/release", words, words)
    result = read(Source(content, "", "deploy_app", "team/release"), ReadOptions())
    assert strict(result.diagnostics) == ()
    assert check_calls(parsed(result)) == ()
    assert not words or parsed(result).description == " ".join(words.split())


def test_a_new_directives_own_sentence_names_it_as_it_is() -> None:
    assert "\n\nSay here what deploy_the_app does.\n\n" in new_directive("deploy_the_app", "release")


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=60))
@settings(max_examples=100, deadline=None)
def test_no_description_breaks_a_new_directive(words: str) -> None:
    content = new_directive("deploy_app", "release", words, "team")
    result = read(Source(content, "", "deploy_app", "release"), ReadOptions())
    assert [found for found in result.diagnostics if found.code != "D003"] == []


@pytest.mark.parametrize(
    ("name", "category"), [("Deploy", "a"), ("a-b", "a"), ("", "a"), ("a", "../b"), ("a", ""), ("a", "A")]
)
def test_a_new_directive_needs_names_that_can_be(name: str, category: str) -> None:
    with pytest.raises(UsageError) as raised:
        new_directive(name, category)
    assert raised.value.hint
