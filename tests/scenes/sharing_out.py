"""How files are shared out to the processes of a test run, and what these say about tests that passed.

pytest-xdist was written for fewer tests. It looks for each one in the list of all, after each it counts what is left of every
file that its process ever had, and of each it sends six messages. With twenty thousand tests that keeps a processor busy for half
a minute.
"""

from __future__ import annotations

import pytest
from _pytest.runner import runtestprotocol
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

from tests.scenes.compiled_once import compile_share

READERS = (
    "tests/explaining/test_table.py",
    "tests/house/",
    "tests/items/test_kinds_named_once.py",
    "tests/packaging/test_dependencies.py",
    "tests/workspace/test_only_way.py",
)
"""Files that read the whole source. One process has them all, so that it is parsed once (``tests/house/trees.py``)."""


class FileScheduling(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Shares out files as its base does, in a time for each test that does not grow with their number."""

    def schedule(self) -> None:
        if self.collection is None:
            collected = next(iter(self.registered_collections.values()))
            self._numbers = {name: number for number, name in enumerate(collected)}
        super().schedule()

    def _assign_work_unit(self, node: WorkerController) -> None:
        file, unit = self.workqueue.popitem(last=False)
        self.assigned_work[node][file] = unit
        node.send_runtest_some([self._numbers[name] for name in unit])

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        name = self.registered_collections[node][item_index]
        file, files = self._split_scope(name), self.assigned_work[node]
        del files[file][name]
        if not files[file]:
            del files[file]
        self._reschedule(node)

    def _split_scope(self, nodeid: str) -> str:
        return READERS[0] if nodeid.startswith(READERS) else super()._split_scope(nodeid)

    def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
        return sum(map(len, workload.values()))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FileScheduling | None:
    """Replaces xdist's scheduler for ``--dist loadfile``."""
    return FileScheduling(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_sessionstart(session: pytest.Session) -> None:
    compile_share(session.config)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Report the call alone of a test that passed, in a process of xdist. Set-up and tear-down are reported to whom asks for
    them: with ``--durations``, or by a file in JUnit's format."""
    options = item.config.option
    if not hasattr(item.config, "workerinput") or options.durations is not None or options.xmlpath is not None:
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True
