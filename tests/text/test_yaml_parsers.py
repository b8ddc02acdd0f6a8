"""A document of YAML is read without a look at the disk: the library looks for plug-ins whenever it makes a parser."""

from __future__ import annotations

import glob

import pytest

from rye.customization.frontmatter_editing import read_frontmatter
from rye.text.yaml_reading import read_yaml


def test_many_documents_are_read_with_one_look_at_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    real = glob.glob

    def counted(pattern: str) -> list[str]:
        looked.append(pattern)
        return real(pattern)

    monkeypatch.setattr(glob, "glob", counted)
    for number in range(5):
        assert read_yaml(f"a: {number}\n").value == {"a": number}
        assert read_frontmatter([f"b: {number}"]).entries
    assert len(looked) <= 1
