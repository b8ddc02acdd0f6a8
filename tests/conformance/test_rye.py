"""Rye passes every case of the conformance suite. Here it runs in this process; :mod:`tests.conformance.test_suite` starts it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.cases import every_case
from conformance.clients.rye_client import handle
from conformance.play import Case
from conformance.reports import read_expected
from conformance.running import play_one
from conformance.simulator.server import Server
from tests.scenes.effort import rest_thorough

pytestmark = pytest.mark.slow  # a thousand short cases
EXPECTED = read_expected(Path("conformance/clients/rye_client.xfails"))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


def refusal(case: Case) -> tuple[str, tuple[str, ...]]:
    """The subject of a case, and the codes that it may be refused with."""
    return case.id.rpartition("/")[0], case.refuses


@pytest.mark.parametrize("case", rest_thorough(1, every_case(), refusal), ids=lambda case: case.id)
def test_rye_plays_each_case_as_the_documents_say(case: Case, server: Server, tmp_path: Path) -> None:
    result = play_one(case, handle, server, tmp_path, "case")
    assert (result.failure is not None) is (case.id in EXPECTED), f"{case.page}: {case.quote}\n{result.failure}"
