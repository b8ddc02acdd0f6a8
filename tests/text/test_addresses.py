"""What of an address may be shown: never a user or a password, also where the address is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.errors import RyeError
from rye.importing.foreign import Cannot
from rye.importing.git_words import address
from rye.project.manifest import parse_manifest
from rye.project.registries import normal_address
from rye.registry.transport.factory import open_transport
from rye.text.addresses import without_credentials
from rye.workspace.installing.source_words import read_source

PASSWORD = "h0rse-battery"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://robot:SECRET@host/x", "https://…@host/x"),
        ("git+https://u:p@h/x.git#v1", "git+https://…@h/x.git#v1"),
        ("https://host/a?token=SECRET", "https://host/a?…"),
        ("robot:SECRET@host/x", "…@host/x"),
        ("https://a:b@c@host/", "https://…@host/"),
        ("https:robot:SECRET@host", "…@host"),
        ("https://host/plain", "https://host/plain"),
        ("ssh://git@host/x", "ssh://git@host/x"),
        ("git+ssh://git:SECRET@host/x", "git+ssh://…@host/x"),
        ("../folder#x", "../folder#x"),
        ("git@github.com:owner/repo.git", "git@github.com:owner/repo.git"),
    ],
)
def test_an_address_is_shown_without_what_is_secret(text: str, shown: str) -> None:
    assert without_credentials(text) == shown


def said_by(read: Callable[[], object]) -> str:
    """Everything that an error says."""
    try:
        read()
    except (RyeError, Cannot) as error:
        return f"{error} {getattr(error, 'hint', '')} {getattr(error, 'details', '')}"
    return ""


@pytest.mark.parametrize(
    "scheme", ["https://", "http://", "ssh://", "git+https://", "git+ssh://", "ftp://", "https:", ""]
)
@pytest.mark.parametrize("path", ["", "/", "/a/b.git", "/a b", "/../x", "/%00", "?x=1", "#v 1", ":99999/x"])
def test_no_error_shows_a_password(scheme: str, path: str, tmp_path: Path) -> None:
    word = f"{scheme}robot:{PASSWORD}@host.example{path}"
    readers = (
        lambda: read_source(word),
        lambda: parse_manifest(f"[sources]\nx = {{git = '{word}'}}\n"),
        lambda: parse_manifest(f"[sources]\nx = {{path = '{word}'}}\n"),
        lambda: normal_address(word, tmp_path),
        lambda: open_transport(word),
        lambda: address(word),
    )
    for read in readers:
        assert PASSWORD not in said_by(read)


@given(st.text(alphabet="ab:/@?#.", max_size=12), st.text(alphabet="ab:/@", max_size=8))
def test_no_password_is_left_whatever_stands_around_it(before: str, after: str) -> None:
    assert PASSWORD not in without_credentials(f"https://{before.replace('/', '')}u:{PASSWORD}@host/{after}")
