"""Every case in ``benchmarks/facts`` gives its expected facts, and no benign look-alike raises an alarm."""

from __future__ import annotations

import importlib.util
import sys
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rye.text.facts import ALARM, NOTE, find_facts
from rye.text.facts.fact import RULES_VERSION, Fact

PROGRAM = Path(__file__).resolve().parents[3] / "benchmarks" / "facts.py"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("facts_benchmark", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


BENCHMARK = load()
MALICIOUS = list(BENCHMARK.cases("malicious"))
BENIGN = list(BENCHMARK.cases("benign"))


def waves(cases: list[Any]) -> list[str]:
    """The lists that the cases were written in: one test each, for two thousand tests would take longer than their facts."""
    return sorted({case.wave for case in cases})


_FACTS: dict[int, tuple[Fact, ...]] = {}


def facts_of(case: Any) -> tuple[Fact, ...]:
    """What is found in a case, looked for once for all tests."""
    if id(case) not in _FACTS:
        _FACTS[id(case)] = tuple(find_facts(case.files))
    return _FACTS[id(case)]


@pytest.mark.parametrize("wave", waves(MALICIOUS))
def test_a_malicious_shape_gives_the_expected_facts(wave: str) -> None:
    missing = {
        f"{case.name}: {wanted}": facts_of(case)
        for case in MALICIOUS
        if case.wave == wave
        for wanted in case.expect
        if not BENCHMARK.has(facts_of(case), wanted)
    }
    assert missing == {}


@pytest.mark.parametrize("wave", waves(BENIGN))
def test_a_look_alike_gives_no_alarm(wave: str) -> None:
    wrong = {
        f"{case.name}: {fact.fact}": fact
        for case in BENIGN
        if case.wave == wave
        for fact in facts_of(case)
        if fact.level in case.absent or fact.fact in case.absent
    }
    assert wrong == {}


def test_the_corpus_is_as_large_as_promised() -> None:
    assert len(MALICIOUS) >= 420
    assert len(BENIGN) >= 250


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.corpus
def test_real_skills_give_less_than_five_alarms_in_a_hundred() -> None:
    skills = list(BENCHMARK.skills())
    if not skills:
        pytest.skip("shared data 'corpus/skills' is not here (set RYE_SHARED to its folder)")
    alarmed = [name for name, files in skills if any(fact.level == ALARM for fact in find_facts(files))]
    assert len(alarmed) * 100 < 5 * len(skills), alarmed


FOUND = "681eb85807102b5cab3bf6208185fe6d"


def test_other_cautions_and_alarms_are_other_rules() -> None:
    """rye.lock records the rules version of approved facts. If this fails after an intended change, raise ``RULES_VERSION``."""
    words = [
        f"{case.name} {fact.fact} {fact.value}"
        for case in (*MALICIOUS, *BENIGN)
        for fact in facts_of(case)
        if fact.level != NOTE
    ]
    assert (RULES_VERSION, sha256("\n".join(words).encode()).hexdigest()[:32]) == (10, FOUND)
