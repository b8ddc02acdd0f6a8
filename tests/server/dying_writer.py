"""The process that appends to the log, ended by SIGKILL at a step of its first batch: ``python -m tests.server.dying_writer``.

The step is in ``RYE_TEST_DIES_AT``. The file in ``RYE_TEST_DIED`` is made first, so that only one of several processes dies.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

from registry_server.api import writer

STEP, DIED = "RYE_TEST_DIES_AT", "RYE_TEST_DIED"


class DyingDiary(writer.Diary):
    """Ends the process when the step is done."""

    def step(self, name: str) -> None:
        """Note the step, or die."""
        super().step(name)
        if name == os.environ[STEP] and not Path(os.environ[DIED]).exists():
            Path(os.environ[DIED]).touch()
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    writer.Diary = DyingDiary  # type: ignore[misc]
    writer.main()
