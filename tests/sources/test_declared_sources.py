"""``[sources]`` in rye.toml and the resulting rows in rye.lock: what is read, written and refused
(design/sources.md 1)."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rye.installation.completeness import problems
from rye.project.declared_sources import BadSource, GitSource, PathSource, git_address, git_rev, inner_path
from rye.project.lock import Lock, LockedItem, LockedSource, LockError, lock_text, parse_lock
from rye.project.lock_file import is_stale, wanted_ranges
from rye.project.manifest import parse_manifest
from rye.project.manifest_edit import add_source, remove_source
from rye.text.tables import ManifestError

URL = "https://git.example.org/team/prompts.git"
HASH = "ab" * 32
SOURCE = LockedSource(place="items/pdf/SKILL.md", git=URL, ref="refs/tags/v1.4.0", commit="3f2a" * 10, tree="ab" * 20)
ROW = LockedItem(
    kind="skill", id="team/pdf", version="0.0.0+g3f2a3f2a", size=12, sha256=HASH, suffix="SKILL.md", source=SOURCE
)
FOLDER = LockedItem(
    kind="skill",
    id="shared/pdf",
    version="0.0.0+pabababab",
    size=12,
    sha256=HASH,
    suffix="SKILL.md",
    source=LockedSource(place="pdf/SKILL.md", path="../shared"),
)
PLAIN = LockedItem(
    kind="directive",
    id="acme/a/b",
    version="1.0.0",
    size=12,
    sha256=HASH,
    suffix=".md",
    registry="registry.example",
    log=0,
    keyset=1,
    signer="SHA256:a",
)


def test_git_and_path_sources_are_read() -> None:
    manifest = parse_manifest(
        f'[sources]\nteam = {{ git = "{URL}", rev = "v1.4.0", path = "items" }}\n'
        'shared = { path = "../shared-items" }\n'
    )
    assert manifest.sources == {
        "team": GitSource("team", URL, "v1.4.0", "items"),
        "shared": PathSource("shared", "../shared-items"),
    }


@pytest.mark.parametrize(
    "row",
    [
        '"team"',
        "{ }",
        '{ git = "" }',
        f'{{ git = "{URL}", editable = true }}',
        f'{{ git = "{URL}", branch = "main" }}',
        '{ path = "../x", rev = "v1" }',
        '{ path = "." }',
        '{ path = "-x" }',
        '{ path = "a\\u0000b" }',
        f'{{ git = "{URL}", rev = "--upload-pack=x" }}',
        f'{{ git = "{URL}", rev = "a b" }}',
        f'{{ git = "{URL}", path = "../x" }}',
        f'{{ git = "{URL}", path = "a/.GIT/x" }}',
    ],
)
def test_what_is_not_known_is_refused(row: str) -> None:
    with pytest.raises(ManifestError):
        parse_manifest(f"[sources]\nteam = {row}\n")


@pytest.mark.parametrize(
    "text",
    [
        f'[registries]\nteam = "https://r.example"\n[sources]\nteam = {{ git = "{URL}" }}\n',
        f'[project]\nnamespace = "team"\n[sources]\nteam = {{ git = "{URL}" }}\n',
    ],
)
def test_a_name_has_one_home(text: str) -> None:
    with pytest.raises(ManifestError, match="already"):
        parse_manifest(text)


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c id",
        "fd::17/foo",
        "-u./payload",
        "--upload-pack=touch x",
        "file://tmp/x",
        "/tmp/x",
        "git://h/x",
        "http://h.example/x",
        "http://127.0.0.1.example/x",
        "https://u:p@h/x",
        "https://u@h/x",
        "ssh://git:p@h/x",
        "ssh://-oProxyCommand=x/y",
        "ssh://-x@h/y",
        "git@h:team/x.git",
        "https://h",
        "https://h/../x",
        "https://h/-x/y",
        "https://h/x/-y",
        "https://h/a%0ahost=evil",
        "https://h/a%2e%2e/b",
        "https://h/x\n",
        "https://h/x\x1b[31m",
        "https://h/x?y",
        "https://h/x#y",
        "https://h\\@evil/x",
        "https://h/é",
    ],
)
def test_an_address_that_means_more_than_a_place_is_refused(url: str) -> None:
    with pytest.raises(BadSource):
        git_address(url)


@pytest.mark.parametrize(
    "url",
    [
        URL,
        "ssh://git@h.example:22/team/x.git",
        "ssh://h/~me/x",
        "http://127.0.0.1:8000/x.git",
        "https://[::1]/x",
        "file:///srv/x.git",
    ],
)
def test_a_plain_address_is_taken(url: str) -> None:
    assert git_address(url) == url


@pytest.mark.parametrize("rev", ["-x", "a..b", "a b", "x~1", "x^", "x@{1}", "x:y", "/x", "x/", "x.lock", "*", "", "."])
def test_a_rev_is_one_name(rev: str) -> None:
    with pytest.raises(BadSource):
        git_rev(rev)


@pytest.mark.parametrize("rev", ["v1.4.0", "main", "feature/x", "pkg@1.0.0", "refs/tags/v1", "3f2a" * 10])
def test_a_tag_a_branch_and_a_commit_are_names(rev: str) -> None:
    assert git_rev(rev) == rev


def test_a_folder_in_a_repository_may_begin_with_a_dot() -> None:
    assert inner_path("./.claude/skills/".removeprefix("./")) == ".claude/skills"


def test_a_source_is_written_and_removed_and_the_rest_stays() -> None:
    text = '# mine\n[project]\nname = "x"  # shown\n'
    written = add_source(add_source(text, GitSource("team", URL, "v1", "items")), PathSource("s", "../s"))
    assert written.startswith(text)
    assert set(parse_manifest(written).sources) == {"team", "s"}
    moved = add_source(written, GitSource("team", URL, "v2"))
    assert parse_manifest(moved).sources["team"] == GitSource("team", URL, "v2")
    assert parse_manifest(remove_source(remove_source(moved, "team"), "s")).sources == {}
    assert "sources" not in remove_source(remove_source(moved, "team"), "s")


def test_the_lock_says_where_an_item_comes_from_and_reads_it_back() -> None:
    lock = Lock({"skill:team/pdf": "*"}, (PLAIN, FOLDER, ROW))
    text = lock_text(lock)
    assert f'source = {{ git = "{URL}", ref = "refs/tags/v1.4.0", commit = "' in text
    assert 'source = { path = "../shared", place = "pdf/SKILL.md" }' in text
    assert text.count("\nsigner = ") == 1  # the registry's
    read = parse_lock(text)
    assert lock_text(read) == text
    [pdf] = [item for item in read.items if item.id == "team/pdf"]
    assert (pdf.registry, pdf.is_unsigned) == (f"git+{URL}", True)
    assert pdf.signed_by == f"none (git commit {'3f2a' * 10})"
    assert next(i for i in read.items if i.id == "shared/pdf").signed_by == "none (folder ../shared)"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("git = ", "gti = "),
        (URL, "ext::sh"),
        (URL, "https://u:p@h/x"),
        ("refs/tags/v1.4.0", "--output=x"),
        ("3f2a" * 10, "3f2a"),
        ('place = "items/pdf/SKILL.md"', 'place = "../x"'),
        ('place = "items/pdf/SKILL.md"', 'place = ".git/x"'),
        (', tree = "' + "ab" * 20 + '"', ""),
        ('{ git = "', '{ path = "../x", git = "'),
        ("suffix = ", 'signer = "SHA256:a"\nsuffix = '),
        ("}\n", ", editable = true }\n"),
    ],
)
def test_a_row_that_says_something_else_is_refused(old: str, new: str) -> None:
    text = lock_text(Lock({}, (ROW,)))
    assert old in text
    with pytest.raises(LockError):
        parse_lock(text.replace(old, new))


@pytest.mark.parametrize("key", ["registry", "log", "keyset", "signer"])
def test_a_registrys_row_needs_all_four(key: str) -> None:
    lines = [line for line in lock_text(Lock({}, (PLAIN,))).split("\n") if not line.startswith(f"{key} = ")]
    with pytest.raises(LockError):
        parse_lock("\n".join(lines))


def test_the_items_of_a_source_are_of_one_commit() -> None:
    other = replace(ROW, id="team/docx", source=replace(SOURCE, commit="00ff" * 10, place="items/docx/SKILL.md"))
    with pytest.raises(LockError, match="more than one place"):
        parse_lock(lock_text(Lock({}, (ROW, other))))
    with pytest.raises(LockError, match="more than one place"):
        parse_lock(lock_text(Lock({}, (ROW, replace(PLAIN, id="team/a/b")))))


def test_a_source_that_changes_in_rye_toml_makes_the_lock_stale() -> None:
    dependencies = '[dependencies]\n"skill:team/pdf" = "*"\n'
    manifest = parse_manifest(f'[sources]\nteam = {{ git = "{URL}", rev = "v1.4.0" }}\n{dependencies}')
    lock = Lock(wanted_ranges(manifest), (parse_lock(lock_text(Lock({}, (ROW,)))).items[0],))
    assert not is_stale(lock, manifest)
    assert problems(manifest, lock, {}) == []
    moved = parse_manifest(f'[sources]\nteam = {{ git = "{URL}", rev = "v1.5.0" }}\n{dependencies}')
    assert is_stale(lock, moved)
    [problem] = problems(moved, lock, {})
    assert (problem.rule, problem.item) == ("G1", "source team")
    gone = parse_manifest(dependencies)
    assert [problem.rule for problem in problems(gone, lock, {})] == ["G1"]
