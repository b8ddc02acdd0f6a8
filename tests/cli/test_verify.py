"""``rye verify``: a verdict for each file; any verdict but ``valid`` exits 1 (DESIGN §4)."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.scenes.person import Person
from tests.scenes.shared_data import shared

DIRECTIVE = ".ai/directives/workflows/deploy.md"


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    person = Person(tmp_path)
    person.new("directive", "workflows/deploy")
    person.ok("keys", "generate")
    return person


def verdict(rye: Person, *arguments: str) -> tuple[int, str]:
    result = rye.run("verify", *arguments, "--json")
    return result.code, result.json["results"][0]["verdict"]


def test_a_result_has_the_documented_fields(rye: Person) -> None:
    rye.ok("sign", DIRECTIVE)
    document = rye.ok("verify", DIRECTIVE, "--json").json
    assert document["counts"] == {"valid": 1}
    (entry,) = document["results"]
    assert {"path", "kind", "verdict", "key", "coverage", "detail"} <= set(entry)
    assert (entry["path"], entry["kind"], entry["verdict"]) == (DIRECTIVE, "directive", "valid")


def test_every_verdict_but_valid_exits_1(rye: Person) -> None:
    path = rye.path(DIRECTIVE)
    assert verdict(rye, DIRECTIVE) == (1, "unsigned")
    rye.ok("sign", DIRECTIVE)
    signed = path.read_text()
    assert verdict(rye, DIRECTIVE) == (0, "valid")
    path.write_text(signed + "More.\n")
    assert verdict(rye, DIRECTIVE) == (1, "modified")
    path.write_text(signed.replace("rye:signed:2", "rye:signed:X", 1))
    assert verdict(rye, DIRECTIVE) == (1, "malformed")
    path.write_text(signed)
    key = rye.ok("keys", "list", "--json").json["keys"][0]
    rye.ok("trust", "revoke", key["fingerprint"])
    assert verdict(rye, DIRECTIVE) == (1, "revoked")
    rye.ok("trust", "remove", key["fingerprint"])
    assert verdict(rye, DIRECTIVE) == (1, "untrusted")


def test_a_key_file_in_the_project_is_only_a_proposal(rye: Person) -> None:
    """DESIGN §4: only the user can grant trust."""
    other = Person(rye.folder.parent / "other")
    other.ok("keys", "generate")
    pem = other.ok("keys", "export").stdout
    other.write("deploy.md", rye.path(DIRECTIVE).read_text())
    other.ok("sign", "deploy.md", "--kind", "directive")
    rye.path(DIRECTIVE).write_text(other.path("deploy.md").read_text())
    for place in ("keys/author.pem", ".ai/keys/author.pem", ".rye/keys/author.pem"):
        rye.write(place, pem)
    assert verdict(rye, DIRECTIVE) == (1, "untrusted")
    assert verdict(rye, DIRECTIVE, "--trusted-key", "keys/author.pem") == (0, "valid")
    assert verdict(rye, DIRECTIVE) == (1, "untrusted")
    rye.ok("trust", "add", "keys/author.pem")
    assert verdict(rye, DIRECTIVE) == (0, "valid")


def test_one_file_that_cannot_be_judged_does_not_hide_the_others(rye: Person) -> None:
    rye.ok("sign", DIRECTIVE)
    rye.write("odd.xyz", "x")
    result = rye.run("verify", "odd.xyz", DIRECTIVE, "--json")
    assert (result.code, [entry["verdict"] for entry in result.json["results"]]) == (1, ["malformed", "valid"])
    assert rye.run("verify", "odd.xyz", "--json").error["code"] == "unknown-kind-of-file"


def test_a_file_over_the_limit_is_never_valid(rye: Person) -> None:
    rye.ok("sign", DIRECTIVE)
    with rye.path(DIRECTIVE).open("a") as stream:
        stream.write("x" * 10_000_000)
    assert verdict(rye, DIRECTIVE) == (1, "malformed")


@pytest.mark.corpus
def test_the_real_files_come_out_as_expected(tmp_path: Path) -> None:
    corpus = shared("corpus/ryeos")
    rye = Person(tmp_path)
    expected = list(csv.DictReader((corpus / "expected.csv").open()))
    arguments = [str(corpus / row["path"]) for row in expected]
    keys = [str(path) for path in sorted((corpus / "keys").iterdir())]
    trusted = [word for key in keys for word in ("--trusted-key", key)]
    result = rye.run("verify", *arguments, *trusted, "--json")
    assert [(e["kind"], e["verdict"]) for e in result.json["results"]] == [(r["kind"], r["verdict"]) for r in expected]
    assert rye.run("verify", *arguments, "--json").json["counts"].get("valid") is None


@pytest.mark.corpus
def test_the_format_document_itself_is_a_signed_knowledge_item(tmp_path: Path) -> None:
    """DESIGN §4: a real signed item under the rule of HASH and SIGNATURE."""
    document = shared("spec/003_9b92539be3ce5591.txt")
    key = shared("corpus/ryeos/keys/4b987fd4e40303ac.toml")
    rye = Person(tmp_path)
    result = rye.ok("verify", str(document), "--kind", "knowledge", "--trusted-key", str(key), "--json")
    assert result.json["counts"] == {"valid": 1}


def test_without_paths_the_project_s_own_items_are_meant(tmp_path: Path) -> None:
    """DECISIONS "Every kind" 5."""
    rye = Person(tmp_path)
    rye.write("rye.toml", "[project]\n")
    path = rye.new("directive", "ops/deploy")
    rye.write(".ai/packages/acme/directives/ops/other.md", path.read_bytes())
    rye.ok("keys", "generate")
    assert [one["path"] for one in rye.ok("sign", "--json").json["results"]] == [".ai/directives/ops/deploy.md"]
    for words in (("verify",), ("validate",)):
        results = rye.ok(*words, "--json").json["results"]
        assert [one["path"] for one in results] == [".ai/directives/ops/deploy.md"], words
