"""The conformance suite itself: its cases quote the documents, its simulator knows nothing of Rye, its reports are exact."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from conformance import reports
from conformance.__main__ import main
from conformance.cases import every_case
from conformance.play import CLASSES, FEATURES, Case
from conformance.running import Process, Result, run
from conformance.simulator.keys import b64, sha256
from conformance.simulator.names import NameMap, Row
from conformance.simulator.tree import Tree, follow, leaf_hash
from tests.scenes.effort import rest_thorough

ROOT = Path(__file__).resolve().parents[2]
FOLDER, DOCS = ROOT / "conformance", ROOT / "docs" / "reference"
CASES = every_case()
CLIENT = f"{sys.executable} -m conformance.clients.rye_client"
SAMPLE = CASES[:: len(CASES) // 40]


def sections(page: str) -> dict[str, str]:
    """The text of a page below each heading's anchor, without what Markdown adds to it; all of it under ``""``."""
    text = (DOCS / page).resolve().read_text("utf-8")
    found = {"": plain(text)}
    for part in re.split(r"^(?=#+ )", text, flags=re.MULTILINE):
        heading = part.split("\n", 1)[0].lstrip("#").strip()
        anchor = re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-")
        found[anchor] = found.get(anchor, "") + plain(part)
    return found


def plain(text: str) -> str:
    return " ".join(text.replace("*", "").split())


def in_documents(case: Case) -> bool:
    page, _, anchor = case.page.partition("#")
    return any(plain(case.quote) in section for section in related(page, anchor))


def related(page: str, anchor: str) -> list[str]:
    """The section that a case names; for a rule of grammar, also those that hold for every statement."""
    own = sections(page)[anchor]
    return [own, sections("protocol.md")["common-rules"], sections("statements.md")["statements"]]


def test_there_are_at_least_three_hundred_cases_each_with_a_name_of_its_own() -> None:
    assert len(CASES) >= 300
    assert max(Counter(case.id for case in CASES).values()) == 1


@pytest.mark.parametrize("subject", rest_thorough(4, sorted({case.id.split("/")[0] for case in CASES})))
def test_each_case_quotes_the_paragraph_that_it_plays(subject: str) -> None:
    wrong = [
        (case.id, case.page, case.quote)
        for case in CASES
        if case.id.startswith(f"{subject}/") and not in_documents(case)
    ]
    assert not wrong


def test_a_case_that_quotes_nothing_would_be_noticed() -> None:
    assert not in_documents(replace(CASES[0], quote="words that no document has"))
    with pytest.raises(KeyError):
        in_documents(replace(CASES[0], page="protocol.md#no-such-section"))


def test_each_case_expects_classes_and_needs_features_that_the_contract_lists() -> None:
    contract = (FOLDER / "CONTRACT.md").read_text("utf-8")
    assert {found for case in CASES for found in case.refuses} <= CLASSES
    assert {found for case in CASES for found in case.needs} <= FEATURES
    assert set(re.findall(r"^\| `([a-z-]+)` \| ", contract.partition("## Error classes")[2], re.MULTILINE)) == CLASSES
    assert all(f"`{feature}`" in contract.partition("## Features")[2] for feature in FEATURES)


def test_every_class_is_expected_by_a_case() -> None:
    assert {found for case in CASES for found in case.refuses} == CLASSES


def test_honest_registries_are_accepted_in_many_cases() -> None:
    assert sum(not case.refuses for case in CASES) >= 100


def test_only_the_client_under_test_imports_the_program() -> None:
    importing = {
        path.relative_to(FOLDER).as_posix()
        for path in FOLDER.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [])
        + ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [])
        if name.split(".")[0] in ("rye", "registry_server", "tests")
    }
    assert importing == {"clients/rye_client.py"}


def test_its_name_map_is_that_of_the_golden_vectors() -> None:
    for row in json.loads((ROOT / "tests/vectors/name_map/trees.json").read_text())[:7]:
        names = (f"namespace:n{n}" if n % 10 == 0 else f"tool:n{n - n % 10}/tools/t{n}" for n in range(row["count"]))
        made = NameMap.of(Row(name, sha256(name), number + 1) for number, name in enumerate(names))
        assert (made.root, len(made.nodes), sum(map(len, made.nodes.values()))) == (
            row["root"],
            row["nodes"],
            row["bytes"],
        )


def test_its_tree_is_that_of_the_rfc() -> None:
    leaves = [bytes.fromhex(text) for text in ("", "00", "10", "2021", "3031", "40414243")]
    tree = Tree([leaf_hash(leaf) for leaf in leaves])
    assert tree.root.hex() == "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef"
    assert all(follow(tree.hashes[n], n, 6, tree.inclusion(n)) == tree.root for n in range(6))
    assert follow(tree.hashes[0], 1, 6, tree.inclusion(0)) != tree.root
    assert b64(Tree([]).root) == "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="


# Reports


def results() -> list[Result]:
    one, two, three, four, five = CASES[:5]
    return [
        Result(one, "accepted", 0.1),
        Result(two, "accepted", 0.1, failure="it should <refuse> \x01"),
        Result(three, "skipped", 0.0, skipped="solving"),
        Result(four, "accepted", 0.1, failure="known"),
        Result(five, "accepted", 0.1),
    ]


def test_expected_failures_are_exact_both_ways(tmp_path: Path) -> None:
    file = tmp_path / "known"
    file.write_text(f"# reasons\n{CASES[3].id}  # too early\n\n{CASES[4].id}\nno/such-case\n")
    expected = reports.read_expected(file)
    outcomes = [reports.outcome(result, expected) for result in results()]
    assert outcomes == ["passed", "failed", "skipped", "expected failure", "unexpected pass"]
    assert reports.unknown(expected, results()) == ["no/such-case"]
    good, failed, skipped, known, passes = results()
    assert reports.is_good([good, skipped, known], expected)
    assert not reports.is_good([good, failed], expected)
    assert not reports.is_good([good, passes], expected)


def test_the_reports_say_what_happened() -> None:
    expected = frozenset({CASES[3].id, CASES[4].id})
    document = json.loads(reports.as_json("mine", results(), expected))
    assert document["counts"] == {
        "cases": 5,
        "passed": 1,
        "failed": 1,
        "skipped": 1,
        "expected failure": 1,
        "unexpected pass": 1,
    }
    assert [case["id"] for case in document["cases"]] == [case.id for case in CASES[:5]]
    assert document["cases"][1]["failure"] == "it should <refuse> \x01"
    suite = ElementTree.fromstring(reports.as_junit("mine", results(), expected))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped"), suite.get("errors")) == (
        "5",
        "2",
        "2",
        "0",
    )
    assert [case.find("failure") is not None for case in suite] == [False, True, False, False, True]
    assert all(case.get("classname") and case.get("name") and case.get("time") for case in suite)


def test_a_client_without_a_feature_skips_what_needs_it() -> None:
    needing = [case for case in CASES if "solving" in case.needs][:3]
    asked: list[object] = []
    found = run([*needing], lambda request: asked.append(request) or {}, ["solving"])  # type: ignore[func-returns-value]
    assert [result.skipped for result in found] == ["solving"] * 3
    assert not asked


def test_a_client_that_accepts_everything_fails_every_refusal() -> None:
    refusing = [case for case in SAMPLE if case.refuses]
    found = run(refusing, lambda request: {"ok": True})
    assert not any(result.passed for result in found)


def test_a_client_that_refuses_everything_passes_nothing_but_what_must_be_refused_at_once() -> None:
    found = run(SAMPLE, lambda request: {"ok": False, "error": "malformed"})
    assert all(result.case.refuses for result in found if result.passed)
    assert sum(result.passed for result in found) < len(found) // 5


def test_an_answer_outside_of_the_contract_fails() -> None:
    for reply in ({}, {"ok": "yes"}, {"ok": False}, {"ok": False, "error": "unheard-of"}):
        [found] = run([CASES[0]], lambda request, reply=reply: reply)  # type: ignore[misc]
        assert found.failure is not None


@pytest.mark.parametrize("proof", ["", "trust me\n", 7, None, "c2sp.org/tlog-proof@v1\n\n\n", "\ud800"])
def test_a_proof_that_is_none_fails_its_case_and_not_the_suite(proof: object) -> None:
    [case] = [case for case in CASES if case.id == "proofs/made-in-a-small-log"]
    [found] = run([case], lambda request: {"ok": True, "proof": proof})
    assert found.failure is not None


def test_an_answer_without_its_members_is_shown() -> None:
    [case] = [case for case in CASES if case.id == "proofs/good"]
    [found] = run([case], lambda request: {"ok": True, "size": "many"})
    assert "KeyError('position')" in str(found.failure)
    assert "{'ok': True, 'size': 'many'}" in str(found.failure)


# The program


@pytest.mark.processes
def test_rye_as_a_process_passes_a_sample_and_the_reports_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--client", CLIENT, "--json", str(tmp_path / "report.json"), "--junit", str(tmp_path / "report.xml")]
    assert main([*words, "heads/a-", "clock/", "files/line"]) == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["counts"]["failed"] == 0
    assert report["counts"]["passed"] == report["counts"]["cases"] > 30
    assert ElementTree.parse(tmp_path / "report.xml").getroot().get("failures") == "0"
    assert "passed" in capsys.readouterr().out


@pytest.mark.thorough
@pytest.mark.processes
def test_rye_passes_with_a_process_for_each_request(tmp_path: Path) -> None:
    assert main(["--client", CLIENT, "--each", "heads/a-refused-head", "keysets/recovery-stays-accepted"]) == 0


@pytest.mark.processes
@pytest.mark.parametrize(
    "program", ["", "print('no JSON')", "import sys; sys.stdin.readline(); print('[]', flush=True); sys.stdin.read()"]
)
def test_a_program_that_ends_or_answers_nonsense_fails_its_case(program: str) -> None:
    with Process([sys.executable, "-c", program]) as client:
        found = run([CASES[0], CASES[1]], client)
    assert all("gave no answer" in str(result.failure) for result in found)


@pytest.mark.processes
def test_a_program_that_is_gone_before_it_is_asked_fails_its_case() -> None:
    with Process(["true"]) as client:
        client._running = subprocess.Popen(["true"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        client._running.wait()
        [found] = run([CASES[0]], client)
    assert "gave no answer" in str(found.failure)


@pytest.mark.processes
def test_a_wrong_list_of_expected_failures_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "known"
    file.write_text("heads/a-smaller-log\n")
    assert main(["--client", CLIENT, "--expected-failures", str(file), "heads/a-smaller-log"]) == 1
    assert "UNEXPECTED PASS" in capsys.readouterr().out


def test_the_list_shows_what_each_case_plays(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "heads/a-smaller-log"]) == 0
    first = capsys.readouterr().out.splitlines()[0].split("\t")
    assert first == [
        "heads/a-smaller-log",
        "rollback",
        "protocol.md#what-a-client-does",
        "A smaller size is a rollback.",
    ]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "status"), [(["--list"], 0), (["--list", "heads/a-smaller-log"], 0), (["--client", CLIENT, "heads/"], 1)]
)
def test_a_reader_that_goes_away_is_no_error(words: list[str], status: int) -> None:
    reading, writing = os.pipe()
    os.close(reading)  # as `| head` does once it has its lines
    with open(writing, "wb") as gone:
        ended = subprocess.run(
            [sys.executable, "-m", "conformance", *words], cwd=ROOT, stdout=gone, stderr=subprocess.PIPE, timeout=60
        )
    assert (ended.returncode, ended.stderr) == (status, b"")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--client", "no-such-client --fast"], "there is no program 'no-such-client --fast' to start"),
        (["--client", " "], "there is no program"),
        (["--client", "python 'x"], "No closing quotation"),
        (["--client", sys.executable, "--expected-failures", "/nowhere/list"], "No such file"),
    ],
)
def test_words_that_name_nothing_are_said_in_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert (ended.value.code, said in capsys.readouterr().err.splitlines()[-1]) == (2, True)
