"""Other tools' digests: against values from those tools, and against their own runtime if it is installed."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.importing.digests import collation_key, folder_digest

SKILL = {
    "SKILL.md": b"---\nname: pdf\ndescription: Reads documents.\n---\n\nRead.\n",
    "scripts/read.py": b"print(1)\n",
    "Refs/a-b.md": b"a\n",
    "Refs/a_b.md": b"b\n",
    ".hidden": b"c\n",
}


def test_the_hash_of_npx_skills_is_the_one_that_it_wrote() -> None:
    """From skills 1.5.18, `skills add`, for this folder alone."""
    found = folder_digest("skills-folder", SKILL)
    assert found == "6b656a2b3d532ce3f2ab91e74b5398fdd2b7029c1993b720138c5b9f58bfcd88"


def test_it_leaves_out_what_that_tool_leaves_out() -> None:
    more = {**SKILL, ".git/config": b"x", "node_modules/a/b.js": b"x", "lib/node_modules/c": b"x"}
    assert folder_digest("skills-folder", more) == folder_digest("skills-folder", SKILL)
    assert folder_digest("skills-folder", {**SKILL, ".gitignore": b""}) != folder_digest("skills-folder", SKILL)


def test_an_apm_package_is_hashed_by_code_points() -> None:
    files = {"b.md": b"2", "B.md": b"1", ".apm-pin": b"x", "__pycache__/x.pyc": b"x", "sub/.apm-pin": b"3"}
    expected = hashlib.sha256(b"B.md1b.md2sub/.apm-pin3").hexdigest()
    assert folder_digest("apm-package", files) == expected


def test_a_toolhive_digest_keeps_paths_and_bytes_apart() -> None:
    one, other = {"a": b"bc"}, {"ab": b"c"}
    assert folder_digest("toolhive-files", one) != folder_digest("toolhive-files", other)
    expected = hashlib.sha256(b"a\0" + hashlib.sha256(b"bc").digest() + b"\n").hexdigest()
    assert folder_digest("toolhive-files", one) == expected


_NODE = shutil.which("node")
_ASCII = "".join(map(chr, range(32, 127)))


@pytest.mark.processes
@pytest.mark.skipif(_NODE is None, reason="no node here to compare with")
class TestAgainstNode:
    def order(self, names: list[str]) -> list[str]:
        program = "const n=JSON.parse(process.argv[1]);n.sort((a,b)=>a.localeCompare(b));console.log(JSON.stringify(n))"
        done = subprocess.run(
            [_NODE or "", "-e", program, json.dumps(names)], capture_output=True, timeout=20, check=True
        )
        return list(json.loads(done.stdout))

    def test_every_ascii_character_is_in_its_place(self) -> None:
        assert sorted(_ASCII, key=collation_key) == self.order(list(_ASCII))

    def test_letters_with_accents_sort_with_their_letters(self) -> None:
        names = [
            "éa",
            "eb",
            "ec",
            "Éa",
            "ea",
            "fa",
            "zz",
            "ärm",
            "arm",
            "Arm",
            "özil",
            "ozil",
            "ozin",
            "ñu",
            "nu",
            "nv",
        ]
        assert sorted(names, key=collation_key) == self.order(names)

    @settings(max_examples=3, deadline=None)
    @given(st.lists(st.text(_ASCII.replace("\\", ""), min_size=1, max_size=6), min_size=200, max_size=400, unique=True))
    def test_names_sort_as_there(self, names: list[str]) -> None:
        assert sorted(names, key=collation_key) == self.order(names)
