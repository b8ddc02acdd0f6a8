"""The fast lock reader, part by part: each part that rye writes is read, and no near miss of it is."""

from __future__ import annotations

import tomllib

import pytest

from rye.project.lock_canonical import read_canonical

HEAD = "# Made by rye; do not edit. Reviews should look at `approved`.\nversion = 1\n"
ITEM = f"""
[[item]]
kind = "skill"
id = "acme/pdf"
version = "1.0.0"
size = 3
sha256 = "{"cd" * 32}"
suffix = "SKILL.md"
registry = "registry.example"
log = 9
keyset = 1
signer = "SHA256:abc"
"""
RUNS = """runs = [
  { what = "file", where = "a.py", action = "executable", sha256 = "01" },
  { what = "hook", where = "hooks.Stop", action = "", sha256 = "02" },
]
"""
APPROVED = """approved-runs = [
  { what = "x", where = "y", action = "z", sha256 = "w" },
]
"""
ROWS = [
    {"what": "file", "where": "a.py", "action": "executable", "sha256": "01"},
    {"what": "hook", "where": "hooks.Stop", "action": "", "sha256": "02"},
]
TEXT_LISTS = [
    "groups", "dependencies", "capabilities", "agent-tools", "agent-limits", "approved", "approved-tools", "approved-limits",
    "approved-facts",
]  # fmt: skip


def test_what_can_run_is_read_field_by_field() -> None:
    text = HEAD + ITEM + RUNS + APPROVED
    found = read_canonical(text)
    assert found is not None
    assert found["item"][0]["runs"] == ROWS
    assert found["item"][0]["approved-runs"] == [{"what": "x", "where": "y", "action": "z", "sha256": "w"}]
    assert found == tomllib.loads(text)


@pytest.mark.parametrize("name", TEXT_LISTS)
def test_each_list_of_texts_is_read(name: str) -> None:
    text = f'{HEAD}{ITEM}{name} = [\n  "a",\n  "",\n  "b c",\n]\n{RUNS}'
    found = read_canonical(text)
    assert found is not None
    assert (found["item"][0][name], found["item"][0]["runs"]) == (["a", "", "b c"], ROWS)
    assert found == tomllib.loads(text)


@pytest.mark.parametrize(
    "lists",
    [
        RUNS + RUNS,
        APPROVED + RUNS + APPROVED,
        'groups = [\n  "a",\n]\n' * 2,
        'runs = [\n  "a",\n]\n',
        RUNS.replace("runs", "groups"),
        RUNS.replace("runs", "later"),
        RUNS.replace("runs", "runs~"),
        APPROVED.replace("-", "_"),
        RUNS.replace('what = "file", where = "a.py"', 'where = "a.py", what = "file"'),
        RUNS.replace(', sha256 = "01"', ""),
        RUNS.replace(', sha256 = "01"', ', sha256 = "01", more = "x"'),
        RUNS.replace('"01"', "1"),
        RUNS.replace('"01"', '"\\u0030"'),
        RUNS.replace("{ ", "{"),
        RUNS.replace('"02" },\n]', '"02" }\n]'),
        "runs = [\n]\n",
        "runs = []\n",
        RUNS.replace("]\n", "] # more\n"),
        f"{RUNS}more = 1\n",
    ],
)
def test_every_other_form_of_a_list_is_left_to_the_toml_reader(lists: str) -> None:
    assert read_canonical(HEAD + ITEM + lists) is None


WANTED = """
[wanted]
"a/b" = "^1"
"skill:c/d" = "*"
"""
FORCED = 'forced = ">=1 <2"\n'


def test_each_wanted_range_is_read() -> None:
    wanted = {"a/b": "^1", "skill:c/d": "*"}
    for text in (HEAD + WANTED, HEAD + WANTED + ITEM, (HEAD + WANTED).removesuffix("\n")):
        found = read_canonical(text)
        assert found is not None
        assert found["wanted"] == wanted
        assert found == tomllib.loads(text)


@pytest.mark.parametrize(
    "head",
    [
        '"a/b" = "^1"\n',
        '\n"a/b" = "^1"\n',
        '\n[other]\n"a/b" = "^1"\n',
        "\n[wanted]\n",
        f'{WANTED}"e/f" = "*""x\n',
        f'{WANTED}"e/f" = "*"""\n',
        f'{WANTED}# "e/f" = "*"\n',
        f'{WANTED}"e/f"   "*"\n',
        f'{WANTED}"e/f" = "*" # more\n',
        f'{WANTED}"a/b" = "*"\n',
    ],
)
def test_every_other_form_of_the_wanted_table_is_left_to_the_toml_reader(head: str) -> None:
    for text in (HEAD + head, HEAD + head + ITEM):
        assert read_canonical(text) is None


@pytest.mark.parametrize("forced", [">=1 <2", "", "=1.0.0"])
def test_a_forced_range_is_read_with_the_lists_after_it(forced: str) -> None:
    for lists in ("", RUNS, APPROVED):
        text = f'{HEAD}{ITEM}forced = "{forced}"\n{lists}'
        found = read_canonical(text)
        assert found is not None
        assert found["item"][0]["forced"] == forced
        assert found == tomllib.loads(text)


@pytest.mark.parametrize(
    "forced",
    [
        'forced = "1"2"\n',
        'forced = "1\n2"\n',
        'forced = """\n1"""\n',
        'forced = "1" # more\n',
        'forced = "1\n',
        'forced = "groups = [\n  "a",\n]\n',
        "forced = 1\n",
        FORCED + FORCED,
        RUNS + FORCED,
    ],
)
def test_every_other_form_of_a_forced_range_is_left_to_the_toml_reader(forced: str) -> None:
    assert read_canonical(HEAD + ITEM + forced) is None
    assert read_canonical(HEAD + ITEM + forced + APPROVED) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("size = 3", "site = 3"),
        ("sha256 = ", "sha255 = "),
        ("log = 9", "lag = 9"),
        ("\nlog = 9", ""),
        ("keyset = 1", "kayset = 1"),
        ("keyset = 1", "keyset = 1\nkeyset = 2"),
        ("\nkeyset = 1", ""),
        ("signer = ", "sinner = "),
        ("size = 3", "size = \u0663"),  # a digit, but none of TOML's: int() would take it for 3
        ("log = 9", "log = \u00b2"),  # a digit that int() refuses
        ("keyset = 1", "keyset = "),
        ('signer = "SHA256:abc"', "signer = 1"),
        ('signer = "SHA256:abc"\n', 'signer = "SHA256:abc"'),
        ('signer = "SHA256:abc"\n', 'signer = "SHA256:abc" '),
        ('signer = "SHA256:abc"\n', 'signer = "SHA256:abc"#'),
        ('signer = "SHA256:abc"', 'signer = """\nSHA256:abc"""'),
        ("acme/pdf", "acme\n/pdf"),
        ("1.0.0", "1.0\n.0"),
        ("cdcd", "cd\ncd"),
        ("SKILL.md", "SKILL\n.md"),
        ("registry.example", "registry\n.example"),
        ("SHA256:abc", "SHA256\n:abc"),
        ('SKILL.md"\n', 'SKILL.md" \n'),
        ('SKILL.md"\n', 'SKILL.md" '),
        ('SKILL.md"\n', 'SKILL.md"'),
        ("acme/pdf", "acme\x1f/pdf"),
        ("acme/pdf", "acme\x7f/pdf"),
        ("acme/pdf", "acme\x7f/\u00e9"),
        ("acme/pdf", "acme/\u202epdf"),
        ('suffix = "SKILL.md"', 'suffix   "SKILL.md"'),
        ('registry = "registry.example"', 'registry   "registry.example"'),
    ],
)
def test_every_other_form_of_a_row_is_left_to_the_toml_reader(before: str, after: str) -> None:
    assert before in ITEM
    changed = ITEM.replace(before, after)
    for lists in (RUNS, FORCED + APPROVED):
        assert read_canonical(HEAD + changed + lists) is None


def test_a_row_that_is_cut_off_anywhere_is_left_to_the_toml_reader() -> None:
    for end in range(len("\n[[item]]\n"), len(ITEM) - 1):
        assert read_canonical(HEAD + ITEM[:end]) is None, ITEM[:end]
        assert read_canonical(f"{HEAD}{ITEM[:end]}\n") is None, ITEM[:end]


@pytest.mark.parametrize("text", [" ~", "\u00e9", "\u4e2d~", "\U0001f642"])
def test_each_printable_text_is_read_as_it_stands(text: str) -> None:
    lock = f'{HEAD}{ITEM}groups = [\n  "{text}",\n]\n'
    found = read_canonical(lock)
    assert found is not None
    assert found["item"][0]["groups"] == [text]
    assert found == tomllib.loads(lock)


@pytest.mark.parametrize(
    "inside",
    [
        '"rye.*",',  # without its indentation: TOML reads rye.*, and a reader that cuts three characters would not
        ' "a*",',
        '  "a"',
        '  ",',
        '  "a",\n"b",',
        '  "a", "b",',
        '  "a""b",',
        '  """,\n  "b",',
        '  "a\nb",',
        '  "a",\n\n  "b",',
        '  "a",\n  # "b",',
        '  "a = [\n  "b",',
    ],
)
def test_every_other_layout_of_a_list_is_left_to_the_toml_reader(inside: str) -> None:
    for after in ("", APPROVED):
        assert read_canonical(f"{HEAD}{ITEM}approved = [\n{inside}\n]\n{after}") is None


@pytest.mark.parametrize(
    "lists",
    [
        RUNS.replace('"01" },', '"01" },"x'),
        RUNS.replace('"01" },', '"01" },""'),
        RUNS.replace("]\n", ""),
        f"{RUNS}{APPROVED}".removesuffix("]\n"),
        f"{RUNS}]\n",
        f"]\n{RUNS}",
        f"\n]\n{RUNS}",
        "groups\n]\n",
        'groups = [\n  "a",\n',
    ],
)
def test_a_list_that_opens_or_closes_in_another_place_is_left_to_the_toml_reader(lists: str) -> None:
    assert read_canonical(HEAD + ITEM + lists) is None


ATTACHED = """attached = [
  { path = "a.md", size = 1, sha256 = "01" },
  { path = "b.py", size = 20, sha256 = "02", executable = true },
]
"""
HOOKS = """hooks = [
  { when = "c > 3", item_type = "tool", item_id = "n" },
  { when = "d", item_type = "tool", item_id = "m", inputs = [["a", "1"], ["b", "2"]] },
]
"""
GIT = 'source = { git = "https://git.example/a", ref = "v1", commit = "3f", tree = "4a", place = "SKILL.md" }\n'
FOLDER = 'source = { path = "../a", place = "SKILL.md", editable = true }\n'
RELEASE = ITEM[ITEM.index("registry = ") :]
LATE = """facts-rules = 9
approved-hooks = [
  { when = "d", item_type = "tool", item_id = "m" },
]
approved-signer = "SHA256:abc"
"""


@pytest.mark.parametrize("lists", [ATTACHED, HOOKS, LATE, ATTACHED + RUNS + HOOKS + APPROVED + LATE])
@pytest.mark.parametrize("origin", [RELEASE, GIT, FOLDER, GIT.replace(" }", ", editable = true }"), FOLDER + FORCED])
def test_each_part_of_a_row_is_read(origin: str, lists: str) -> None:
    text = HEAD + ITEM.replace(RELEASE, origin) + lists
    found = read_canonical(text)
    assert found is not None
    assert found == tomllib.loads(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (GIT, f"{GIT}{GIT}"),
        (GIT, f"{GIT}{RELEASE}"),
        (GIT, f"{RELEASE}{GIT}"),
        (GIT, GIT.replace(" }", ", editable = false }")),
        (GIT, GIT.replace(" }", ', editable = "true" }')),
        (GIT, GIT.replace(" }", ', path = "b" }')),
        (GIT, GIT.replace(" }", "")),
        (GIT, GIT.replace(" }", " } # more")),
        (GIT, GIT.replace('"v1"', "'v1'")),
        (GIT, GIT.replace('"v1"', '"v""1"')),
        (GIT, GIT.replace('"v1"', "1")),
        (GIT, GIT.replace('ref = "v1", commit = "3f"', 'commit = "3f", ref = "v1"')),
        (GIT, GIT.replace(', ref = "v1"', "")),
        (GIT, GIT.replace("{ git", "{git")),
        ('"01" },', '"01", executable = false },'),
        ('"01" },', '"01", executable = true, more = 1 },'),
        ('"01" },', '"01" }'),
        ('"01" },', '"01" },"x'),
        ('"01" },', '"01" }, # more'),
        ("size = 1,", "size = 01,"),
        ("size = 1,", 'size = "1",'),
        ("size = 1,", "size = -1,"),
        ('path = "a.md", size = 1,', 'size = 1, path = "a.md",'),
        ('{ path = "a.md"', '{ place = "a.md"'),
        ('item_type = "tool", item_id = "n"', 'item_id = "n", item_type = "tool"'),
        (', item_id = "n"', ""),
        ('item_id = "n" },', 'item_id = "n", inputs = [] },'),
        ('item_id = "n" },', 'item_id = "n", more = "x" },'),
        ('[["a", "1"], ["b", "2"]]', '[["a", "1"], ["b"]]'),
        ('[["a", "1"], ["b", "2"]]', '[["a", "1", "b", "2"]]'),
        ('[["a", "1"], ["b", "2"]]', '[["a", "1"],["b", "2"]]'),
        ('[["a", "1"], ["b", "2"]]', '[["a", "1"], ["b", "2"]'),
        ("facts-rules = 9", "facts-rules = 09"),
        ("facts-rules = 9", 'facts-rules = "9"'),
        ("facts-rules = 9", "facts-rules = 9 # more"),
        ("facts-rules = 9", "facts-rules = 9\nfacts-rules = 9"),
        ("facts-rules = 9", "other-rules = 9"),
        ('approved-signer = "SHA256:abc"', "approved-signer = 1"),
        ('approved-signer = "SHA256:abc"', 'approved-signer = "SHA256:"abc"'),
        ('approved-signer = "SHA256:abc"', 'approved-signer = x"SHA256:abc"'),
        ('approved-signer = "SHA256:abc"', 'approved-signer = "SHA256:abc" # more'),
        ('approved-signer = "SHA256:abc"', 'approved-signer = """SHA256:abc"""'),
        ('approved-signer = "SHA256:abc"\n', 'approved-signer = "SHA256:abc"\nforced = "1"\n'),
    ],
)
def test_every_other_form_of_a_part_is_left_to_the_toml_reader(before: str, after: str) -> None:
    text = HEAD + ITEM.replace(RELEASE, GIT) + ATTACHED + HOOKS + LATE
    assert before in text
    assert read_canonical(text) is not None
    assert read_canonical(text.replace(before, after)) is None


NOTE = ["registry.example", "12", "abc=", "", "\u2014 registry.example xyz="]
HEADS = '\n[heads]\n"registry.example" = [\n' + "".join(f'  "{line}",\n' for line in NOTE) + "]\n"
OTHER = '"other.example" = [\n  "abcd",\n]\n'


@pytest.mark.parametrize("before", ["", WANTED])
@pytest.mark.parametrize("after", ["", ITEM, OTHER, OTHER + ITEM])
def test_the_heads_are_read_line_by_line(before: str, after: str) -> None:
    text = HEAD + before + HEADS + after
    found = read_canonical(text)
    assert found is not None
    assert found["heads"] == {"registry.example": NOTE, **({"other.example": ["abcd"]} if OTHER in text else {})}
    assert found == tomllib.loads(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (OTHER, OTHER + OTHER),
        (OTHER, OTHER.replace("]\n", "")),
        (OTHER, OTHER.replace('  "abcd",\n', "")),
        (OTHER, OTHER.replace('  "abcd"', '"abcd"')),
        (OTHER, OTHER.replace('"abcd",', '"abcd"')),
        (OTHER, OTHER.replace('"abcd",', '"abcd", "b",')),
        (OTHER, OTHER.replace('"abcd",', '",')),
        (OTHER, OTHER.replace('"abcd",', "1,")),
        (OTHER, OTHER.replace('"abcd",', '"abcd",\n  1,')),
        (OTHER, OTHER.replace('"abcd",', '""abcd",')),
        (OTHER, OTHER.replace('"abcd",', '"abcd"",')),
        (OTHER, OTHER.replace(" = [", " = [ ")),
        (OTHER, OTHER.replace('"other', 'x"other')),
        (OTHER, OTHER.replace('"other', '"ot"her')),
        (OTHER, f"more\n{OTHER}"),
        (OTHER, f"{OTHER}]\n"),
        (HEADS + OTHER, "\n[heads]\n"),
        (HEADS + OTHER, "\n[heads]\n\n"),
        (HEADS, HEADS + HEADS),
    ],
)
def test_every_other_form_of_the_heads_is_left_to_the_toml_reader(before: str, after: str) -> None:
    for end in ("", ITEM):
        text = HEAD + WANTED + HEADS + OTHER + end
        assert read_canonical(text) is not None
        assert read_canonical(text.replace(before, after)) is None
