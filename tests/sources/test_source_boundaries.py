"""Addresses, names and paths of ``[sources]``: why each is refused, and the last one that is not (design/sources.md 1).

Anyone who can commit writes them, and git and the file system get them. What is refused must be refused by its own rule, so
that no other rule has to happen to refuse it too.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rye.limits import SOURCES
from rye.project.declared_sources import (
    FOLDER_PREFIXES,
    HEAD,
    BadSource,
    GitSource,
    PathSource,
    folder_path,
    git_address,
    git_rev,
    inner_path,
    is_commit,
    is_source_origin,
)


def refused(read: Callable[[str], str], text: str) -> str:
    with pytest.raises(BadSource) as raised:
        read(text)
    return str(raised.value)


def test_a_source_is_named_with_its_state_and_recorded_without() -> None:
    url = "https://git.example.org/a.git"
    source = GitSource("team", url, "v1", "items")
    assert (source.origin, source.spec) == (f"git+{url}", f"git+{url}#v1:items")
    assert GitSource("team", url, "v1").spec == f"git+{url}#v1"
    assert GitSource("team", url, None, "items").spec == f"git+{url}#:items"
    assert GitSource("team", url).spec == f"git+{url}"
    assert PathSource("x", "../a").origin == PathSource("x", "../a").spec == "path+../a"
    assert PathSource("x", "../a", editable=True).origin == PathSource("x", "../a", True).spec == "editable+../a"
    assert FOLDER_PREFIXES == ("path+", "editable+")
    assert HEAD == "HEAD"


def test_an_origin_of_a_source_is_no_registrys_and_no_fingerprint() -> None:
    for origin in ("git+https://h/a", "path+../a", "editable+../a"):
        assert is_source_origin(origin) is True
    for origin in ("registry.example", "SHA256:git+", "x git+", "", "Git+x", "githttps://h/a"):
        assert is_source_origin(origin) is False


PLAIN = "it is not a plain ASCII address"
SCHEME = "git repositories can only be fetched over https:// or ssh://, or from this machine (file:///PATH)"
FILE = "a file address has three slashes and an absolute path: file:///PATH"
USER = "it contains a user or password; use git's credential helper instead"
HOST = "it has no valid host"
PATH = "its path has unsupported characters"
PARTS = "its path has an empty part, a '..', or a part that begins with '-'"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("", PLAIN),
        ("https://h/a b", PLAIN),
        ("https://h/a\n", PLAIN),
        ("https://h/é", PLAIN),
        ("-https://h/a", "it begins with '-'"),
        ("--upload-pack=id", "it begins with '-'"),
        ("https://[::1/a", "it is not an address"),
        ("https://h:99999/a", "it is not an address"),
        ("https://h:x/a", "it is not an address"),
        ("ext::sh", SCHEME),
        ("file://h/a", FILE),
        ("file://localhost/a", FILE),
        ("file:///a/../b", "its path has an empty part, a '..', or a part that begins with '-'"),
        ("file:///-a", "its path has an empty part, a '..', or a part that begins with '-'"),
        ("file:///a%2e%2e/b", "its path has unsupported characters"),
        ("file:a", "its path has unsupported characters"),
        ("git://h/a", SCHEME),
        ("h/a", SCHEME),
        ("https://u@h/a", USER),
        ("https://u:p@h/a", USER),
        ("ssh://u:p@h/a", USER),
        ("ssh://u:@h/a", USER),
        ("ssh://u$x@h/a", "its user name has unsupported characters"),
        ("ssh://-u@h/a", "its user name has unsupported characters"),
        ("ssh://@h/a", "its user name has unsupported characters"),
        ("https:///a", HOST),
        ("https://h_x/a", HOST),
        ("https://-h/a", HOST),
        ("https://h-/a", HOST),
        ("ssh://-oProxyCommand=id/a", HOST),
        ("https://h:0/a", HOST),
        ("http://h/a", "plain http is only allowed for this machine: use https://"),
        ("https://h/a?b", "it has a query or a fragment"),
        ("https://h/a#b", "it has a query or a fragment"),
        ("https://h/a?", "it has a query or a fragment"),
        ("https://h/a#", "it has a query or a fragment"),
        ("https://h", PATH),
        ("https://h/", PATH),
        ("https://h/a$b", PATH),
        ("https://h/a;b", PATH),
        *((f"https://h/a%{code}b", PATH) for code in ("00", "1f", "1F", "7f", "2e", "2E", "2f", "2F", "5c", "5C")),
        ("https://h//a", PATH),
        ("https://h/a//b", PARTS),
        ("https://h/a/", PARTS),
        ("https://h/./a", PARTS),
        ("https://h/a/../b", PARTS),
        ("https://h/a/-b", PARTS),
    ],
)
def test_an_address_is_refused_for_its_own_reason(url: str, why: str) -> None:
    assert refused(git_address, url) == why


@pytest.mark.parametrize(
    "url",
    [
        "https://h/a", "https://h:1/a", "https://h:65535/a.git", "https://a-b.example.org/~u/a_b.c+d@e%20f/x", "ssh://h/a",
        "ssh://git@h:22/a", "ssh://g.i-t_1@h/a", "http://127.0.0.1:8000/a", "http://localhost/a", "https://[2001:db8::1]/a",
        "https://h/a-b", "https://h/...a",
    ],
)  # fmt: skip
def test_an_ordinary_address_is_taken_as_it_is(url: str) -> None:
    assert git_address(url) == url


@pytest.mark.parametrize(
    ("read", "start", "most", "why"),
    [
        (git_address, "https://h/", SOURCES.url_characters, PLAIN),
        (git_rev, "v", SOURCES.rev_characters, "it is not the name of a tag or branch, nor a commit"),
        (inner_path, "a", SOURCES.path_characters, "it is not a relative path"),
        (folder_path, "../", SOURCES.path_characters, "it is not a path of a folder"),
    ],
)
def test_each_has_a_longest_length(read: Callable[[str], str], start: str, most: int, why: str) -> None:
    longest = start.ljust(most, "a")
    assert read(longest) == longest
    assert refused(read, longest + "a") == why


@pytest.mark.parametrize(
    "rev", ["", "-v", "v 1", "v~1", "v^", "v:a", "v\n", "é", "/v", ".v", "@{u}", "a\\b", "v*", "v?", "v["]
)
def test_a_rev_with_other_characters_is_no_name(rev: str) -> None:
    assert refused(git_rev, rev) == "it is not the name of a tag or branch, nor a commit"


@pytest.mark.parametrize("rev", ["a..b", "a//b", "a/.b", "a/", "a.", "a.lock", "a.lock/b"])
def test_a_rev_that_git_does_not_allow_is_refused(rev: str) -> None:
    assert refused(git_rev, rev) == "git does not allow such a name"


@pytest.mark.parametrize(
    "rev", ["v1.4.0", "main", "feature/a-b_c", "a+b@c=d", "a.locks", "a.b/c", "a.locked/b", "0", "_"]
)
def test_an_ordinary_rev_is_taken_as_it_is(rev: str) -> None:
    assert git_rev(rev) == rev


def test_a_commit_is_a_whole_hash_of_either_kind() -> None:
    assert [is_commit("a1" * (size // 2)) for size in (38, 40, 42, 62, 64, 66)] == [
        False,
        True,
        False,
        False,
        True,
        False,
    ]
    for text in ("A" * 40, "g" * 40, "a" * 39, "a" * 41, " " + "a" * 40, "a" * 40 + "\n", ""):
        assert is_commit(text) is False


@pytest.mark.parametrize(
    ("path", "found"), [("", ""), (".", ""), ("/", ""), ("a", "a"), ("a/", "a"), (".a/b c/d@e+f-g_h.i", None)]
)
def test_a_folder_of_a_repository_is_taken_without_the_slash_at_its_end(path: str, found: str | None) -> None:
    assert inner_path(path) == (path if found is None else found)


@pytest.mark.parametrize("path", ["/a", "/etc/passwd", "//a"])
def test_a_folder_of_a_repository_is_relative(path: str) -> None:
    assert refused(inner_path, path) == "it is not a relative path"


@pytest.mark.parametrize(
    "part",
    [
        "..",
        ".",
        "",
        ".git",
        ".GIT",
        ".Git",
        "a.",
        "a ",
        "a$b",
        "-a",
        "~a",
        "a~",
        " a",
        "a\\b",
        "a:b",
        "a\nb",
        "é",
        "...",
    ],
)
def test_a_part_that_means_more_than_a_name_is_refused(part: str) -> None:
    said = f"{part!r} is not a folder name that works on every system"
    assert refused(inner_path, f"x/{part}/y") == said
    if part not in ("", "."):
        assert refused(inner_path, part) == said


@pytest.mark.parametrize("path", ["", "a\\b", "a\nb", "a\x00b", "\u202ea"])
def test_a_folder_that_cannot_be_shown_is_refused(path: str) -> None:
    assert refused(folder_path, path) == "it is not a path of a folder"


@pytest.mark.parametrize("path", ["-a", "--a", "~", "~a", "~/a"])
def test_a_folder_that_a_program_would_read_otherwise_is_refused(path: str) -> None:
    assert refused(folder_path, path) == "it begins with '-' or '~'"


@pytest.mark.parametrize("path", ["/", "//", ".", "./", ".//"])
def test_the_project_itself_and_the_whole_disk_are_no_source(path: str) -> None:
    assert refused(folder_path, path) == "it is the project itself, or the whole disk"


@pytest.mark.parametrize(
    ("path", "found"), [("../a", "../a"), ("../a//", "../a"), ("/srv/a", "/srv/a"), ("a~/", "a~"), ("é", "é")]
)
def test_an_ordinary_folder_is_taken_without_the_slash_at_its_end(path: str, found: str) -> None:
    assert folder_path(path) == found
