"""The project's own items: there are enough, they conform with ``--strict``, and the key in ``keys/`` signed them all."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rye.items.reading import ReadOptions
from rye.project.checking import check_files
from rye.project.context import FileToRead, own_items
from rye.signing.trust_store import read_key_file
from rye.text.diagnostics import strict
from rye.workspace.authoring.signature_check import verify_file

pytestmark = pytest.mark.processes

REPOSITORY = Path(__file__).resolve().parents[2]
PATHS = own_items(REPOSITORY / ".ai")


def test_there_are_enough_of_each_kind() -> None:
    folders = Counter(path.relative_to(REPOSITORY / ".ai").parts[0] for path in PATHS)
    assert folders["directives"] >= 12
    assert folders["knowledge"] >= 4
    assert folders["tools"] >= 2


def test_all_conform_with_strict() -> None:
    found = [FileToRead(path, str(path), set_root=REPOSITORY / ".ai") for path in PATHS]
    errors = {
        entry.shown: [finding.message for finding in strict(entry.diagnostics) if finding.severity == "error"]
        for entry in check_files(found, None, ReadOptions(publishing=True))
    }
    assert {shown: messages for shown, messages in errors.items() if messages} == {}


def test_all_are_signed_by_the_published_key() -> None:
    key, _ = read_key_file(REPOSITORY / "keys" / "rye.pem")
    verdicts = {str(path): verify_file(path, str(path), None, [key], []).verification.verdict for path in PATHS}
    assert set(verdicts.values()) == {"valid"}, verdicts


@pytest.mark.parametrize("path", [path for path in PATHS if "directives" in path.parts], ids=lambda path: path.stem)
def test_each_part_of_a_directive_can_be_overridden_alone(path: Path) -> None:
    headings = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("## ")]
    assert headings == ["## Process", "## Rules", "## Success criteria"]


def test_every_reference_between_them_leads_somewhere() -> None:
    ids = {f"rye/{path.relative_to(REPOSITORY / '.ai').with_suffix('').as_posix().split('/', 1)[1]}" for path in PATHS}
    for entry in check_files([FileToRead(path, str(path)) for path in PATHS], None, ReadOptions()):
        assert entry.item is not None
        assert entry.item.reading.metadata is not None
        for dependency in entry.item.reading.metadata.dependencies:
            if "/" in dependency.reference:
                assert dependency.reference in ids, f"{entry.shown}: {dependency.reference}"


def test_no_private_key_is_anywhere_in_the_repository() -> None:
    import re
    import subprocess

    pem = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE " + rb"KEY-----\n(?:[a-z-]+: .*\n)*[A-Za-z0-9+/=]{40,}\n")
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=False).stdout
    for name in filter(None, tracked.decode().split("\0")):
        path = REPOSITORY / name
        assert not path.is_file() or pem.search(path.read_bytes()) is None, name
