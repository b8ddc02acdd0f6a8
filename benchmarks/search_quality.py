"""How often a search puts the right item first, beside what SQLite's own ranking (FTS5, ``bm25``) does, in one run.

The questions are in ``benchmarks/search_quality/questions.txt``, in four parts: those that the ranking was tuned on, those held
out, and fresh and last ones that nobody asked before the ranking was finished. The items are the skills of eight public
collections, which are not part of the repository: give a folder that has a clone of each, with or without a work tree, under the
names in :data:`COLLECTIONS`. Printed for each part: how often the first result is one that a person would accept, how often one
of the first three is, and nDCG at 10 with equal grades::

    python benchmarks/search_quality.py FOLDER [--misses]

``--misses`` lists the questions of the tuned part whose first result is wrong, and of no other part: what is listed is tuned on.
"""

from __future__ import annotations

import hashlib
import math
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from rye.items.identity import is_id
from rye.items.search_words import search_words
from rye.text.ranking.answering import answers, findable
from rye.text.ranking.frequencies import stop_words
from rye.text.ranking.scoring import Searched
from rye.text.yaml_reading import read_yaml

QUESTIONS = Path(__file__).with_name("search_quality") / "questions.txt"
COLLECTIONS = {
    "anthropics": ("anthropics+skills", "9d2f1ae"),
    "openai": ("openai+skills", "f6b8344"),
    "superpowers": ("obra+superpowers", "44c9b2d"),
    "cloudflare": ("cloudflare+skills", "73070f8"),
    "vercel": ("vercel-labs+agent-skills", "b9c8ee0"),
    "tob": ("trailofbits+skills", "293fb74"),
    "kdense": ("K-Dense-AI+claude-scientific-skills", "899a51b"),
    "copilot": ("github+awesome-copilot", "ab7544d"),
}
"""The namespace of each collection's skills, its folder (owner and name of the repository on GitHub), and its commit."""
PARTS = ("tuned", "held out", "fresh", "last")
AIM = 0.90
"""The share of first results that should be right, on questions that nobody tuned on."""
SHOWN = 10


class Asked(NamedTuple):
    """A question, the part it belongs to, and the items that a person would accept as the first result."""

    words: str
    part: str
    right: frozenset[str]


class Skill(NamedTuple):
    """What is searched."""

    id: str
    description: str
    text: str
    """Of its ``SKILL.md``."""


def questions() -> list[Asked]:
    """Return all questions. Lines after ``# fresh`` and ``# last`` are of these parts; of the others, a digest decides what is
    held out."""
    found, later = [], ""
    for line in QUESTIONS.read_text("utf-8").splitlines():
        if line.startswith("#"):
            later = next((part for part in PARTS[2:] if line.startswith(f"# {part}")), later)
        elif line:
            words, right = line.split(" | ")
            is_held_out = hashlib.sha256(words.encode()).digest()[0] % 2 == 1
            found.append(Asked(words, later or PARTS[int(is_held_out)], frozenset(right.split())))
    return found


def skills(folder: Path) -> Iterator[Skill]:
    """Yield the skills of the collections, each name once."""
    for namespace, (name, commit) in COLLECTIONS.items():
        place = next(path for path in (folder / name / ".git", folder / name / "repo", folder / name) if path.exists())
        git = ["git", "--git-dir", str(place)]
        listed = subprocess.run(
            [*git, "ls-tree", "-r", "--name-only", commit], capture_output=True, text=True, check=True
        )
        taken: set[str] = set()
        for path in listed.stdout.splitlines():
            if not path.endswith("/SKILL.md"):
                continue
            read = subprocess.run([*git, "show", f"{commit}:{path}"], capture_output=True, check=False)
            if read.returncode:
                continue
            text = read.stdout.decode("utf-8", "replace").replace("\r\n", "\n")
            fields = _fields(text)
            given = str(fields.get("name") or path.split("/")[-2])
            item_id = f"{namespace}/{re.sub(r'[^a-z0-9-]+', '-', given.lower()).strip('-')}"
            if is_id(item_id) and item_id not in taken:
                taken.add(item_id)
                yield Skill(item_id, " ".join(str(fields.get("description") or "").split()), text)


def _fields(text: str) -> dict[str, object]:
    """Return the front matter; of one that is no valid YAML, the lines that have a value."""
    found = re.match(r"\ufeff?---\n(.*?)\n---", text.replace("\r\n", "\n"), re.DOTALL)
    if found is None:
        return {}
    try:
        value = read_yaml(found[1]).value
    except Exception:  # a measurement reads what it can
        value = None
    return value if isinstance(value, dict) else dict(re.findall(r"^(\w+): *(.*)$", found[1], re.MULTILINE))


def ours(items: list[Skill]) -> Callable[[str], list[str]]:
    """Return Rye's search."""
    words = (search_words("", item.text, "SKILL.md") for item in items)
    searched = [
        findable(Searched("skill", item.id, item.description, said), item.id)
        for item, said in zip(items, words, strict=True)
    ]
    return lambda words: [item_id for _, item_id in answers(words, searched)][:SHOWN]


def fts5(items: list[Skill]) -> Callable[[str], list[str]]:
    """Return SQLite's search: Porter stems, ``bm25`` with the name six times as heavy, stop words left out, any word."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE t USING fts5(name, description, tokenize = porter)")
    rows = ((item.id.partition("/")[2].replace("-", " "), item.description) for item in items)
    database.executemany("INSERT INTO t VALUES (?, ?)", rows)

    return _asking(database, items, "bm25(t, 6, 1)")


def fts5_of_texts(items: list[Skill]) -> Callable[[str], list[str]]:
    """Return the same with whole texts as a third column, with a tenth of the description's weight."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE t USING fts5(name, description, text, tokenize = porter)")
    rows = ((item.id.partition("/")[2].replace("-", " "), item.description, item.text) for item in items)
    database.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    return _asking(database, items, "bm25(t, 6, 1, 0.1)")


def _asking(database: sqlite3.Connection, items: list[Skill], rank: str) -> Callable[[str], list[str]]:
    def search(words: str) -> list[str]:
        telling = [word for word in re.findall(r"\w+", words.lower()) if word not in stop_words()]
        query = " OR ".join(f'"{word}"' for word in telling or re.findall(r"\w+", words))
        found = database.execute(f"SELECT rowid FROM t WHERE t MATCH ? ORDER BY {rank} LIMIT ?", (query, SHOWN))
        return [items[number - 1].id for (number,) in found]

    return search


class Quality(NamedTuple):
    """How well a part was answered."""

    asked: int
    first: int
    among_three: int
    ndcg: float
    misses: list[tuple[str, list[str]]]


def quality(search: Callable[[str], list[str]], asked: list[Asked]) -> Quality:
    """Ask the questions of one part."""
    first = among_three = 0
    gain = 0.0
    misses = []
    for question in asked:
        found = search(question.words)
        first += found[:1] != [] and found[0] in question.right
        among_three += not question.right.isdisjoint(found[:3])
        best = sum(1 / math.log2(at + 2) for at in range(min(SHOWN, len(question.right))))
        gain += sum(1 / math.log2(at + 2) for at, each in enumerate(found) if each in question.right) / best
        if not found or found[0] not in question.right:
            misses.append((question.words, found[:3]))
    return Quality(len(asked), first, among_three, gain / max(len(asked), 1), misses)


def main() -> None:
    """Print the table."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    if folder is None or not folder.is_dir():
        print("skipped: give the folder of the collections, python benchmarks/search_quality.py FOLDER [--misses]")
        return
    items = list(skills(folder))
    every = questions()
    unknown = sorted({each for asked in every for each in asked.right} - {item.id for item in items})
    print(f"{len(items)} skills, {len(every)} questions" + (f"; no such skill: {' '.join(unknown)}" if unknown else ""))
    engines = {"rye": ours(items), "FTS5": fts5(items), "FTS5, texts": fts5_of_texts(items)}
    print(f"{'':22}{'asked':>7}{'first right':>14}{'among three':>14}{'nDCG@10':>10}")
    for part in PARTS:
        for name, search in engines.items():
            got = quality(search, [asked for asked in every if asked.part == part])
            if not got.asked:
                continue
            print(f"{part:10}{name:12}{got.asked:7}{got.first:6} {got.first / got.asked:6.0%}"
                  f"{got.among_three:7} {got.among_three / got.asked:6.0%}{got.ndcg:10.3f}")  # fmt: skip
            if part == "tuned" and name == "rye" and "--misses" in sys.argv:
                print("".join(f"    {words} -> {' '.join(found)}\n" for words, found in got.misses), end="")
    print(f"aim: {AIM:.0%} of first results right on questions that nobody tuned on")


if __name__ == "__main__":
    main()
