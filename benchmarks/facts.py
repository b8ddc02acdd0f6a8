"""How well and how fast facts are found: recall on malicious shapes, alarms on real skills and look-alikes, speed.

The corpus is ``benchmarks/facts/``: we wrote its cases after published incidents; see the README there.
The real skills are not part of the repository: ``../shared/corpus/skills``, or below the folder that ``RYE_SHARED`` names.
Every alarm on them is listed with its line, because someone should read it; ``--cautions`` also lists the cautions.
Run: ``python benchmarks/facts.py``.
"""

from __future__ import annotations

import os
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rye.text.facts import ALARM, CAUTION, FACTS, NOTE, Fact, find_facts
from rye.text.facts.source import readable_text

CORPUS = Path(__file__).with_name("facts")
SHARED = Path(os.environ.get("RYE_SHARED") or Path(__file__).resolve().parents[2] / "shared")
SECONDS = 3.0
ITEMS_A_SECOND = 500
"""The rate that DESIGN §7.2 requires, for texts of ``TEXT_BYTES``."""
TEXT_BYTES = 10_000
READ_CAUTIONS = "--cautions" in sys.argv[1:]


class Case(NamedTuple):
    """One case: files, facts that must be found (``LEVEL FACT [PART OF VALUE]``), facts or levels that must not be."""

    name: str
    wave: str
    files: dict[str, str]
    expect: tuple[str, ...]
    absent: tuple[str, ...]


def cases(folder: str) -> Iterator[Case]:
    """The cases of ``malicious`` or ``benign``, file by file."""
    for path in sorted((CORPUS / folder).glob("*.toml")):
        for row in tomllib.loads(path.read_text("utf-8"))["case"]:
            absent = row.get("absent", [ALARM] if folder == "benign" else [])
            yield Case(
                row["name"], path.stem.partition("_")[0], row["files"], tuple(row.get("expect", ())), tuple(absent)
            )


def has(facts: tuple[Fact, ...], wanted: str) -> bool:
    """Whether ``LEVEL FACT [PART OF VALUE]`` is among the facts."""
    level, fact, *part = wanted.split(" ", 2)
    return any(found.level == level and found.fact == fact and (not part or part[0] in found.value) for found in facts)


def skills() -> Iterator[tuple[str, dict[str, str]]]:
    """The real skills with all their files, read as the product reads them. Empty if the folder is missing."""
    root = SHARED / "corpus" / "skills"
    for path in sorted(root.rglob("SKILL.md")):
        files = (file for file in sorted(path.parent.rglob("*")) if file.is_file())
        texts = {file.relative_to(path.parent).as_posix(): readable_text(file.read_bytes()) for file in files}
        yield path.parent.relative_to(root).as_posix(), texts


def recall() -> None:
    """Print the recall for each fact, and every expectation that is not met."""
    wanted: Counter[str] = Counter()
    met: Counter[str] = Counter()
    missed = []
    number = 0
    for case in cases("malicious"):
        number += 1
        facts = find_facts(case.files)
        for line in case.expect:
            fact = line.split(" ", 2)[1]
            for key in (fact, f"all, {case.wave} half"):
                wanted[key] += 1
                met[key] += has(facts, line)
            if not has(facts, line):
                missed.append(f"  missed in {case.wave} half, {case.name!r}: {line}")
    print(f"recall on {number} malicious cases")
    for fact in (*FACTS, *sorted(key for key in wanted if key.startswith("all"))):
        if wanted[fact]:
            print(f"  {fact:22} {met[fact]:4} of {wanted[fact]:4}  {met[fact] / wanted[fact]:7.1%}")
    print("\n".join(missed) or "  nothing missed")


def look_alikes() -> None:
    """Print each benign case that has a fact it must not have."""
    number = wrong = 0
    for case in cases("benign"):
        number += 1
        facts = find_facts(case.files)
        for fact in facts:
            if fact.level in case.absent or fact.fact in case.absent:
                wrong += 1
                print(f"  {case.name!r}: {fact.fact} {fact.value!r} at {fact.path}:{fact.line}")
        for line in case.expect:
            if not has(facts, line):
                wrong += 1
                print(f"  {case.name!r}: missed {line}")
    print(f"{number} benign look-alikes, {wrong} wrong facts")


def real_skills() -> list[str]:
    """Print the alarms on real skills, each with its line, and the number of cautions; return the texts."""
    number = alarmed = cautioned = 0
    levels: Counter[str] = Counter()
    found: Counter[str] = Counter()
    texts: list[str] = []
    for name, files in skills():
        number += 1
        texts.extend(files.values())
        facts = find_facts(files)
        levels.update(fact.level for fact in facts)
        found.update(f"{fact.level} {fact.fact}" for fact in facts if fact.level != NOTE)
        alarmed += any(fact.level == ALARM for fact in facts)
        cautioned += any(fact.level == CAUTION for fact in facts)
        for fact in facts:
            if fact.level == ALARM or (READ_CAUTIONS and fact.level == CAUTION):
                print(f"  {fact.level} {fact.fact} {name}/{fact.path}:{fact.line}  {fact.value[:140]}")
    if not number:
        print(f"no real skills: {SHARED / 'corpus' / 'skills'} is missing (set RYE_SHARED to the folder 'shared')")
        return texts
    for level, with_one in ((ALARM, alarmed), (CAUTION, cautioned)):
        print(
            f"{number} real skills: {levels[level]} {level}s ({100 * levels[level] / number:.1f} per 100 skills) "
            f"in {with_one} of them"
        )
    print("  by fact:", ", ".join(f"{fact} {count}" for fact, count in sorted(found.items())) or "none")
    return texts


def speed(texts: list[str]) -> None:
    """Print items per second for texts of 10 kB, cut from the given ones, and the bound."""
    long = "\n".join(texts)
    items = [long[start : start + TEXT_BYTES] for start in range(0, len(long) - TEXT_BYTES, TEXT_BYTES)][:400]
    done = 0
    started = time.process_time()
    while time.process_time() - started < SECONDS:
        find_facts({"SKILL.md": items[done % len(items)]})
        done += 1
    rate = done / (time.process_time() - started)
    print(
        f"{rate:,.0f} items a second of CPU over texts of {TEXT_BYTES:,} characters ({len(items)} different ones); "
        f"the bound is {ITEMS_A_SECOND}: {'kept' if rate >= ITEMS_A_SECOND else 'MISSED'}"
    )


def main() -> None:
    recall()
    look_alikes()
    texts = real_skills()
    speed(texts or [text for case in cases("malicious") for text in case.files.values()] * 100)


if __name__ == "__main__":
    main()
