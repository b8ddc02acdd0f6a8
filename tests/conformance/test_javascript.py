"""The second client passes the conformance suite, but for what its file of expected failures explains."""

from __future__ import annotations

import pytest

from conformance.cases import every_case
from conformance.reports import read_expected
from conformance.running import Process, run
from tests.clients_js.node import CLIENT, command

pytestmark = [pytest.mark.processes, pytest.mark.thorough]

LACKS = ("solving",)
"""A feature of clients that install: choosing versions."""


def test_it_plays_each_case_as_the_documents_say() -> None:
    expected = read_expected(CLIENT / "conformance.xfails")
    with Process([*command(), str(CLIENT / "conformance.mjs")]) as process:
        results = run(every_case(), process, LACKS)
    failed = {result.case.id: result.failure for result in results if result.failure is not None}
    assert failed.keys() == expected, {case: failed[case] for case in failed.keys() - expected}
    assert sum(result.passed for result in results) > 800
