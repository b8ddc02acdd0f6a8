"""``__needs__`` of a tool and an operator's grants: the same lists, read strictly, in every language (docs/how-to/tools.md)."""

from __future__ import annotations

import pytest

from rye.items.autorun import TABLE
from rye.items.needs import BadNeeds, Needs, joined, missing, parse_needs
from rye.items.reading import ReadOptions, Source
from rye.items.tool.reader import read

NEEDS = Needs(("build/",), ("api.example.com:443",), ("GITHUB_TOKEN",))
IN_LANGUAGES = {
    "py": '__needs__ = {"network": ["API.example.com:443"], "write": ["./build/"], "env": ["GITHUB_TOKEN"]}',
    "js": "export const __needs__ = { network: ['api.example.com:443'], \"write\": ['build/'], env: ['GITHUB_TOKEN'] };",
    "ts": """export const __needs__ = {
      network: ['api.example.com:443'],
      write: ['build/'],
      env: ["GITHUB_TOKEN"],
    } as const;""",
    "sh": """__needs__='{"network": ["api.example.com:443"], "write": ["build/"], "env": ["GITHUB_TOKEN"]}'""",
    "yaml": "__needs__:\n  network: [api.example.com:443]\n  write: [build/]\n  env: [GITHUB_TOKEN]",
}


@pytest.mark.parametrize("suffix", IN_LANGUAGES)
def test_needs_are_read_in_every_language(suffix: str) -> None:
    reading = read(Source(IN_LANGUAGES[suffix] + "\n", f"tool.{suffix}"), ReadOptions())
    assert [finding.message for finding in reading.diagnostics if finding.severity == "error"] == []
    assert reading.value is not None
    assert reading.value.needs == NEEDS
    assert reading.metadata is not None
    assert [(run.where, run.action) for run in reading.metadata.runs if run.what == "tool-needs"] == [
        ("write", "build/"),
        ("network", "api.example.com:443"),
        ("env", "GITHUB_TOKEN"),
    ]


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        ("py", "__needs__ = needs()"),
        ("py", '__needs__ = {"network": [host]}'),
        ("py", '__needs__ = {"network": ["a:1"], "network": []}'),
        ("py", '__needs__ = {**other, "network": ["a:1"]}'),
        ("py", '__needs__ = {"read": ["/etc"]}'),
        ("js", "const __needs__ = { network: [host] };"),
        ("js", "const __needs__ = { network: ['a:1'], network: [] };"),
        ("sh", "__needs__='network'"),
    ],
)
def test_needs_that_a_reader_cannot_be_sure_of_are_an_error(suffix: str, text: str) -> None:
    reading = read(Source(text + "\n", f"tool.{suffix}"), ReadOptions())
    assert [finding.code for finding in reading.diagnostics if finding.severity == "error"] == ["T05"]


def test_needs_that_are_changed_later_are_given_twice() -> None:
    text = '__needs__ = {"env": ["A"]}\n__needs__["env"] = []\n__needs__ = {}\n'
    reading = read(Source(text, "tool.py"), ReadOptions())
    assert "T02" in {finding.code for finding in reading.diagnostics}


@pytest.mark.parametrize(
    "write",
    ["/etc", "~/x", "../x", "a/../../x", "", "a\\b", "a\nb", 'a"b', "a/.Git/hooks", ".CLAUDE/", "a/.env", "keys/x.pem"],
)
def test_a_path_that_leaves_the_project_or_steers_agents_is_refused(write: str) -> None:
    with pytest.raises(BadNeeds):
        parse_needs({"write": [write]})


def test_what_programs_obey_can_be_granted_only_as_a_file_that_a_build_obeys() -> None:
    for row in TABLE:
        for name in row.names:
            written = name.replace("*", "x")
            for path, allowed in ((written, row.for_builds), (f"{written}/", False), (f"{written}/x", False)):
                if allowed:
                    assert parse_needs({"write": [path]}).write == (path,)
                else:
                    with pytest.raises(BadNeeds, match="can never be granted"):
                        parse_needs({"write": [path]})
    assert parse_needs({"write": ["src/commands/"]}).write == ("src/commands/",)


NO_PLACES = """
    example.com example.com:0 example.com:65536 *.example.com:443 https://a.com:443 a@b:1 0x7f000001:80 2130706433:80
    127.1:80 ::1:80 [a]:80 -a.com:1 a..b:1 a_b:1
"""


@pytest.mark.parametrize("place", NO_PLACES.split())
def test_a_place_is_one_host_and_one_port(place: str) -> None:
    with pytest.raises(BadNeeds):
        parse_needs({"network": [place]})


def test_a_place_has_one_spelling() -> None:
    assert parse_needs({"network": ["EXAMPLE.com.:443", "example.com:443", "[0:0::1]:80", "127.0.0.1:80"]}).network == (
        "127.0.0.1:80",
        "[::1]:80",
        "example.com:443",
    )


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "home",
        "LD_PRELOAD",
        "PYTHONPATH",
        "NODE_OPTIONS",
        "BASH_ENV",
        "https_proxy",
        "SSH_AUTH_SOCK",
        "RYE_KEY",
        "A=B",
        "",
        "1A",
    ],
)
def test_a_variable_that_rules_the_interpreter_is_refused(name: str) -> None:
    with pytest.raises(BadNeeds):
        parse_needs({"env": [name]})


def test_only_what_is_not_granted_is_missing() -> None:
    needs = parse_needs({"write": ["build/a/", "out.txt"], "network": ["a.com:443", "a.com:80"], "env": ["A", "B"]})
    grants = parse_needs({"write": ["build/"], "network": ["a.com:443"], "env": ["A"]})
    assert missing(needs, grants) == Needs(("out.txt",), ("a.com:80",), ("B",))
    assert missing(needs, joined(grants, needs)).lines() == ()
    assert missing(parse_needs({"write": ["x/"]}), parse_needs({"write": ["."]})).lines() == ()
    assert missing(parse_needs({"write": ["building/"]}), parse_needs({"write": ["build/"]})).lines() != ()
