"""What pages say that their words mean is what the glossary says, and each word that a page explains has a meaning."""

from __future__ import annotations

import re
from pathlib import Path

from registry_server.pages.meanings import MEANINGS

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "registry_server/pages/templates"


def test_pages_and_glossary_say_the_same() -> None:
    text = (ROOT / "docs/reference/glossary.md").read_text("utf-8").replace("\\|", "\0")
    rows = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE))
    told = {word: rows[word].replace("\0", "|").replace("`", "") for word in MEANINGS}
    assert told == MEANINGS


def test_every_explained_word_has_a_meaning_and_every_meaning_a_page() -> None:
    used = {
        word
        for path in TEMPLATES.rglob("*.html")
        for words in re.findall(r"show\.words\(([^)]*)\)", path.read_text("utf-8"))
        for word in re.findall(r'"([^"]+)"', words)
    }
    assert used == MEANINGS.keys()
