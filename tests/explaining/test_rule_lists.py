"""Some rooms list their own codes with a short text. Those lists and rye/explaining/codes name the same codes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rye.explaining.table import by_code, load
from rye.installation.audit import finding
from rye.registry.trust import trust_error
from tests.explaining.raised import ROOT

AREAS: Mapping[str, frozenset[str]] = {area.name: frozenset(code.code for code in area.codes) for area in load()}
TABLE = by_code(load())
NOT_FINDINGS = {"no-policy", "policy-violation"}
"""Codes on the auditing page that commands raise and that no audit reports."""


def test_each_audit_rule_has_a_page_and_advice() -> None:
    assert finding.RULES.keys() == finding.HELP.keys() == finding.RULE_SEVERITIES.keys()
    assert sorted(finding.RULES.keys() - TABLE.keys()) == []
    assert AREAS["auditing"] - finding.RULES.keys() == NOT_FINDINGS


def test_an_audit_finding_that_is_an_error_ends_in_failure() -> None:
    errors = {rule for rule, severity in finding.RULE_SEVERITIES.items() if severity == "error"}
    assert {rule for rule in errors if TABLE[rule].exit != 1} == set()


def test_each_rule_of_trust_has_a_page() -> None:
    places = ("log", "registry", "witnesses", "organizations")
    assert sorted(trust_error.RULES.keys() - set().union(*map(AREAS.__getitem__, places))) == []


def test_each_trust_error_has_advice() -> None:
    written = {
        code
        for path in (ROOT / "rye").rglob("*.py")
        for code in re.findall(r'TrustError\(\s*"([a-z0-9-]+)"', path.read_text("utf-8"))
    }
    assert len(written) > 20
    assert sorted(written - trust_error.RULES.keys()) == []
