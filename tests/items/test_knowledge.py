"""Knowledge: metadata in a leading fence or in frontmatter, references (DESIGN §1)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.items.knowledge import Knowledge, as_json, check_set, read, template
from rye.items.reading import Reading, ReadOptions, Source
from tests.scenes.effort import tries
from tests.scenes.parsed import parsed
from tests.scenes.shared_data import shared

EXAMPLES = tries(60, 1000)
DATA = "name: style\ntitle: Style\nentry_type: reference\ncategory: notes\nversion: 1.0.0\n"


def parse(text: str, publishing: bool = False) -> Reading[Knowledge]:
    return read(Source(text, "style.md", "style", "notes"), ReadOptions(publishing=publishing))


def fenced(data: str = DATA, opener: str = "```yaml", closer: str = "```", head: str = "") -> str:
    return f"{head}{opener}\n{data}{closer}\n\n# Style\n\nText.\n"


def found(reading: Reading[Knowledge], severity: str = "error") -> list[tuple[str, int | None]]:
    return [(d.code, d.line) for d in reading.diagnostics if d.severity == severity]


SIGNED = "<!-- rye:signed:2026-01-01T00:00:00Z:x:y:z -->\n"


@pytest.mark.parametrize(
    "text",
    [
        fenced(),
        fenced(opener="~~~ YAML extra", closer="~~~~  "),
        fenced(opener="````yml", closer="````"),
        fenced(head=SIGNED),
        fenced(head=SIGNED + "\n\n"),
        fenced(head=SIGNED + " -->\n"),
        fenced(head="<!-- a\nb -->\n"),
        fenced(head="\n\n"),
        f"---\n{DATA}---\n\n# Style\n\nText.\n",
        f"---\n# rye:signed:x\n{DATA}---\n\n# Style\n\nText.\n",
    ],
)
def test_the_places_of_metadata(text: str) -> None:
    reading = parse(text, publishing=True)
    assert reading.diagnostics == ()
    assert parsed(reading).body == "# Style\n\nText."


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# Style\n\n```yaml\nname: style\n```\n", 1),
        ("text\n", 1),
        ("", 1),
        ("```python\nx\n```\n", 1),
        ("```yaml\nname: style\n", 1),
        ("````yaml\nname: style\n```\n", 1),
        ("---\nname: style\n", 1),
        ("```yaml\n- a\n```\n", 2),
        ("```yaml\n```\n", 2),
        ("```yaml\na: 1\na: 2\n```\n", 3),
        ("```yaml\na: !x 1\n```\n", 2),
    ],
)
def test_metadata_that_is_none(text: str, line: int) -> None:
    reading = parse(text)
    assert reading.value is None
    assert found(reading) == [("K01", line)]


def test_fields_lines_and_metadata() -> None:
    data = (
        DATA
        + 'created_at: 2026-02-18T00:00:00Z\nauthor: a\ntags: [x, y]\nreferences:\n  - one\n  - "docs/two.md"\nmood: good\n'
    )
    reading = parse(fenced(data + "dependencies: [tool:a/b@1]\ndescription: >-\n  two\n  lines\n"))
    value: Knowledge = parsed(reading)
    assert (value.created_at, value.tags, value.references, value.extra) == (
        "2026-02-18T00:00:00Z", ("x", "y"), ("one", "docs/two.md"), {"mood": "good"},
    )  # fmt: skip
    assert value.reference_lines == (11, 12)
    assert reading.metadata is not None
    assert (reading.metadata.version, reading.metadata.description) == ("1.0.0", "two lines")
    assert [d.reference for d in reading.metadata.dependencies] == ["tool:a/b"]
    json.dumps(as_json(value))


@pytest.mark.parametrize(
    "line",
    [
        "title: 5",
        "title:",
        "author: [a]",
        "tags: x",
        "tags: [1]",
        "references: {a: b}",
        "version: x",
        "version: 1.5",
        "dependencies: x",
        "description: null",
    ],
)
def test_types(line: str) -> None:
    key = line.split(":", maxsplit=1)[0]
    data = "".join(f"{part}\n" for part in DATA.splitlines() if not part.startswith(key + ":")) + line + "\n"
    reading = parse(fenced(data))
    assert [code for code, _ in found(reading)] == ["K02"]
    assert found(reading)[0][1] == data.count("\n") + 1


def test_a_missing_name_and_missing_fields() -> None:
    assert found(parse(fenced("title: x\n"))) == [("K02", 2)]
    assert found(parse(fenced("name: style\n")), "warning") == [("K03", 2)] * 4


def test_a_version_that_yaml_reads_as_a_number_is_to_be_quoted() -> None:
    """``1.10`` would be the number 1.1, and rye does not guess."""
    reading = parse(fenced("name: x\ntitle: X\nentry_type: r\ncategory: a\nversion: 1.10\n"))
    finding = next(d for d in reading.diagnostics if d.severity == "error")
    assert (finding.code, "quotes" in (finding.hint or "")) == ("K02", True)


def test_near_misses_warn() -> None:
    (warning,) = parse(fenced(DATA + "refrences: [x]\n")).diagnostics
    assert (warning.severity, warning.code, warning.hint) == ("warning", "K03", "Did you mean references?")


def test_name_and_category_are_those_of_the_place() -> None:
    text = fenced(DATA.replace("name: style", "name: other").replace("category: notes", "category: x/y"))
    assert found(parse(text), "warning") == [("K04", 2), ("K04", 5)]
    assert found(parse(text, publishing=True)) == [("K04", 2), ("K04", 5)]
    assert found(parse(fenced(DATA.replace("name: style", "name: Style Guide")), publishing=True)) == [("K04", 2)]


def test_an_entry_without_text_warns() -> None:
    assert found(parse(f"```yaml\n{DATA}```\n"), "warning") == [("K05", 8)]


def test_references_by_bare_name_are_looked_for_in_the_folder() -> None:
    readings = {"a": parse(fenced(DATA + "references: [style, other_thing, gone, docs/x.md, rye/core/y, z.md]\n"))}
    readings["b"] = parse(fenced(DATA.replace("name: style", "name: other-thing")))
    ((notice,),) = check_set(readings).values()
    assert (notice.severity, notice.code, "'gone'" in notice.message) == ("notice", "K06", True)


def test_the_template_is_valid_and_publishable() -> None:
    assert (
        read(Source(template("style", "notes"), "", "style", "notes"), ReadOptions(publishing=True)).diagnostics == ()
    )


@pytest.mark.corpus
def test_all_real_entries_read_without_findings() -> None:
    root = shared("corpus/ryeos/core_ai/knowledge")
    paths = sorted(root.rglob("*.md"))
    assert len(paths) == 16
    for path in paths:
        category = path.parent.relative_to(root).as_posix()
        reading = read(
            Source(path.read_text(encoding="utf-8"), path.name, path.stem, category), ReadOptions(publishing=True)
        )
        assert reading.diagnostics == (), path.name


@pytest.mark.corpus
def test_the_format_document_is_an_entry_itself() -> None:
    text = shared("spec/003_9b92539be3ce5591.txt").read_text(encoding="utf-8")
    reading = read(Source(text, name="directive-format", category="rye/authoring"), ReadOptions(publishing=True))
    assert reading.diagnostics == ()
    assert reading.metadata is not None
    assert (reading.metadata.name, reading.metadata.version) == ("directive-format", "1.0.0")


@given(
    st.lists(
        st.sampled_from(["```yaml", "```", "---", "name: style", "tags: [a", "<!--", "-->", "~~~", "", "x"]),
        max_size=15,
    ).map("\n".join)
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_no_text_crashes_the_reader(text: str) -> None:
    reading = parse(text)
    assert (reading.value is None) == bool([d for d in found(reading) if d[0] == "K01"]) or found(reading)
