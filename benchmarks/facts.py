"""How well and how fast facts are found: recall on malicious shapes, precision on real collections, look-alikes, speed.

The corpus is ``benchmarks/facts/``: we wrote its cases after published incidents; see the README there.
The real skills are not part of the repository: ``../shared/corpus/skills``, or below the folder that ``RYE_SHARED`` names.
Every alarm on them is listed with its line, because someone should read it; ``--cautions`` also lists the cautions.

``--collections FOLDER`` reads further collections, one repository each in ``FOLDER/OWNER/NAME``, and prints for each rule how
many of its alarms a person judged right (``--labels FILE``, by default ``facts/real_alarms.tsv``). A label has no text of
others: repository, path, fact, a hash of the line, and the verdict. Alarms without a label are listed.
Run: ``python benchmarks/facts.py``.
"""

from __future__ import annotations

import argparse
import os
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from rye.text.facts import ALARM, CAUTION, FACTS, NOTE, Fact, find_facts, severity
from rye.text.facts.readable import readable_text

CORPUS = Path(__file__).with_name("facts")
SHARED = Path(os.environ.get("RYE_SHARED") or Path(__file__).resolve().parents[2] / "shared")
SECONDS = 3.0
ITEMS_A_SECOND = 500
"""The rate that DESIGN §7.2 requires, for texts of ``TEXT_BYTES``."""
TEXT_BYTES = 10_000
LABELS = CORPUS / "real_alarms.tsv"
LARGEST = 2_000_000
"""Files of collections that are larger are not read: no item may have one."""
LEAST_PRECISION = 0.9
"""A rule with less is a caution, not an alarm."""


class Case(NamedTuple):
    """One case: files, facts that must be found (``LEVEL FACT [PART OF VALUE]``), facts or levels that must not be."""

    name: str
    wave: str
    files: dict[str, str]
    expect: tuple[str, ...]
    absent: tuple[str, ...]


def cases(folder: str) -> Iterator[Case]:
    """The cases of ``malicious``, ``benign`` or ``held_out``, file by file."""
    for path in sorted((CORPUS / folder).glob("*.toml")):
        for row in tomllib.loads(path.read_text("utf-8"))["case"]:
            absent = row.get("absent", [ALARM] if folder == "benign" else [])
            yield Case(
                row["name"], path.stem.partition("_")[0], row["files"], tuple(row.get("expect", ())), tuple(absent)
            )


def has(facts: tuple[Fact, ...], wanted: str) -> bool:
    """Whether ``LEVEL FACT [PART OF VALUE]`` is among the facts, at this level or a higher one."""
    level, fact, *part = wanted.split(" ", 2)
    return any(
        severity(found.level) >= severity(level) and found.fact == fact and (not part or part[0] in found.value)
        for found in facts
    )


def skills() -> Iterator[tuple[str, dict[str, str]]]:
    """The real skills with all their files, read as the product reads them. Empty if the folder is missing."""
    root = SHARED / "corpus" / "skills"
    for path in sorted(root.rglob("SKILL.md")):
        files = (file for file in sorted(path.parent.rglob("*")) if file.is_file())
        texts = {file.relative_to(path.parent).as_posix(): readable_text(file.read_bytes()) for file in files}
        yield path.parent.relative_to(root).as_posix(), texts


def recall(folder: str) -> None:
    """Print the recall for each fact in a folder of cases, and every expectation that is not met."""
    wanted: Counter[str] = Counter()
    met: Counter[str] = Counter()
    missed = []
    number = 0
    for case in cases(folder):
        number += 1
        facts = find_facts(case.files)
        for line in case.expect:
            fact = line.split(" ", 2)[1]
            for key in (fact, f"all, {case.wave} list"):
                wanted[key] += 1
                met[key] += has(facts, line)
            if not has(facts, line):
                missed.append(f"  missed in {case.wave} list, {case.name!r}: {line}")
    print(f"recall on {number} {folder.replace('_', ' ')} cases")
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


class Label(NamedTuple):
    """Identifies an alarm on a line of a collection, without the line."""

    repository: str
    path: str
    fact: str
    line: str
    """The first 16 digits of the SHA-256 of the line without surrounding blanks."""


def labels(path: Path) -> dict[Label, bool]:
    """The judged alarms of a file of labels, and whether they are right."""
    judged: dict[Label, bool] = {}
    for row in path.read_text("utf-8").splitlines():
        if row and not row.startswith("#"):
            repository, file, fact, line, verdict = row.split("\t")
            judged[Label(repository, file, fact, line)] = {"right": True, "wrong": False}[verdict]
    return judged


def collected(folder: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """The items of every repository in ``FOLDER/OWNER/NAME``: skills with their files, and agents, prompts and instructions."""
    for root in sorted(path for path in folder.glob("*/*") if path.is_dir()):
        read: set[Path] = set()
        for main in sorted(root.rglob("SKILL.md")):
            files = [file for file in sorted(main.parent.rglob("*")) if _is_text(file)]
            read.update(files)
            yield (
                main.parent,
                {file.relative_to(main.parent).as_posix(): readable_text(file.read_bytes()) for file in files},
            )
        for file in sorted(root.rglob("*.md")):
            named = file.name.endswith((".agent.md", ".prompt.md", ".instructions.md"))
            if file not in read and (named or file.parent.name in ("agents", "commands")) and _is_text(file):
                yield file.parent, {file.name: readable_text(file.read_bytes())}


def _is_text(file: Path) -> bool:
    return file.is_file() and not file.is_symlink() and ".git" not in file.parts and file.stat().st_size <= LARGEST


def judged_alarms(folder: Path, known: dict[Label, bool]) -> None:
    """Print precision and recall of the alarms on collections, per rule, and the alarms that nobody judged."""
    right: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    found: set[Label] = set()
    items = alarmed = 0
    here: set[str] = set()
    for place, files in collected(folder):
        items += 1
        owner, name, *_ = place.relative_to(folder).parts
        here.add(f"{owner}/{name}")
        alarms = [fact for fact in find_facts(files) if fact.level == ALARM]
        alarmed += bool(alarms)
        for fact in alarms:
            text = files[fact.path].replace("\r\n", "\n").split("\n")[fact.line - 1]
            path = (place / fact.path).relative_to(folder / owner / name).as_posix()
            label = Label(f"{owner}/{name}", path, fact.fact, sha256(text.strip().encode()).hexdigest()[:16])
            if label in found:
                continue
            found.add(label)
            if label in known:
                (right if known[label] else wrong)[fact.fact] += 1
            else:
                row = "\t".join(label)
                print(f"  not judged: {row}  {path}:{fact.line}  {fact.value[:100]}")
    print(f"{items} items of {len(here)} collections: {len(found)} alarms in {alarmed} items")
    if not items:
        return
    wanted = Counter(label.fact for label, verdict in known.items() if verdict and label.repository in here)
    print(f"  {'rule':22} {'right':>5} {'wrong':>5} {'precision':>9} {'recall':>7}")
    for rule in sorted({*right, *wrong, *wanted}):
        _print_rule(rule, right[rule], wrong[rule], wanted[rule])
    _print_rule("all", right.total(), wrong.total(), wanted.total())


def _print_rule(rule: str, right: int, wrong: int, wanted: int) -> None:
    judged = right + wrong
    precision = f"{right / judged:9.1%}" if judged else f"{'-':>9}"
    low = "  below the bound for alarms" if judged and right < LEAST_PRECISION * judged else ""
    print(f"  {rule:22} {right:5} {wrong:5} {precision} {f'{right / wanted:7.1%}' if wanted else '-':>7}{low}")


def real_skills(*, read_cautions: bool) -> list[str]:
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
            if fact.level == ALARM or (read_cautions and fact.level == CAUTION):
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
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--cautions", action="store_true", help="also list the cautions on real skills")
    parser.add_argument("--collections", type=Path, metavar="FOLDER", help="repositories as FOLDER/OWNER/NAME")
    parser.add_argument("--labels", type=Path, default=LABELS, metavar="FILE", help="judged alarms")
    chosen = parser.parse_args()
    recall("malicious")
    recall("held_out")
    look_alikes()
    if chosen.collections is not None:
        judged_alarms(chosen.collections, labels(chosen.labels))
    texts = real_skills(read_cautions=chosen.cautions)
    speed(texts or [text for case in cases("malicious") for text in case.files.values()] * 100)


if __name__ == "__main__":
    main()
