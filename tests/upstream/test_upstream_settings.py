"""``[[upstream]]`` in registry.toml: what it means, and that nothing strange is taken for it."""

from __future__ import annotations

import tomllib

import pytest

from registry_server.upstream_settings import read_upstreams
from rye.errors import UsageError

GOOD = """
address = "https://registry.example.org/"
fingerprint = "%s"
namespaces = ["tools", "docs"]
block = ["skill:tools/old", "directive:tools/work/deploy@1.2.0"]
minimum-release-age = "3d"
facts = ["pipe-to-shell"]
""" % ("a" * 64)


def read(*tables: str) -> object:
    return read_upstreams(tomllib.loads("".join(f"[[upstream]]\n{table}\n" for table in tables))["upstream"], "FILE")


def test_a_table_says_where_what_and_what_not() -> None:
    (upstream,) = read_upstreams([tomllib.loads(GOOD)], "FILE")
    assert upstream.address == "https://registry.example.org"
    assert upstream.minimum_release_age == 3 * 86400
    assert upstream.blocks("skill:tools/old", "7.0.0")
    assert upstream.blocks("directive:tools/work/deploy", "1.2.0")
    assert not upstream.blocks("directive:tools/work/deploy", "1.2.1")
    assert read_upstreams([], "FILE") == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("address", "adress"),
        ("facts", "fact"),
        ('"https://registry.example.org/"', '"http://registry.example.org/"'),
        ('"https://registry.example.org/"', '"https://u:p@registry.example.org/"'),
        ('"https://registry.example.org/"', "7"),
        ("a" * 64, "a" * 63),
        ("a" * 64, "A" * 64),
        ('["tools", "docs"]', "[]"),
        ('["tools", "docs"]', '"tools"'),
        ('["tools", "docs"]', '["*"]'),
        ('["tools", "docs"]', '["tools", "tools"]'),
        ('["tools", "docs"]', '["root"]'),
        ("skill:tools/old", "tools/old"),
        ("skill:tools/old", "skill:tools"),
        ("@1.2.0", "@v1.2.0"),  # it would block nothing
        ("@1.2.0", "@^1.2.0"),
        ("@1.2.0", "@"),
        ('"3d"', '"3 days"'),
        ('"3d"', "3"),
        ('"3d"', '"-3d"'),
        ("pipe-to-shell", "pipe"),
    ],
)
def test_anything_else_is_an_error(before: str, after: str) -> None:
    assert read(GOOD)  # the control
    with pytest.raises(UsageError) as caught:
        read(GOOD.replace(before, after, 1))
    assert caught.value.code in ("bad-setting", "unknown-name")


def test_a_namespace_comes_from_one_registry_and_a_registry_has_one_table() -> None:
    other = GOOD.replace("a" * 64, "b" * 64)
    assert read(GOOD, other.replace('["tools", "docs"]', '["more"]'))
    for tables in ((GOOD, other), (GOOD, GOOD.replace('["tools", "docs"]', '["more"]'))):
        with pytest.raises(UsageError):
            read(*tables)
    with pytest.raises(UsageError):
        read_upstreams({"address": "https://registry.example.org"}, "FILE")
