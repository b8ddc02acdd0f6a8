"""A server whose wall clock is wrong by the seconds in a file (``RYE_FAULTS_SHIFT``): ``python shifted.py serve …``."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path


def shifted_now() -> datetime:
    """The wrong time."""
    return datetime.now(UTC) + timedelta(seconds=float(Path(os.environ["RYE_FAULTS_SHIFT"]).read_text() or 0))


def main() -> None:
    from registry_server.sequencer import sequencer
    from registry_server.sequencer.clock import Clock

    def wrong(settings: object, _wall: object, *rest: object) -> object:
        return Clock(settings, shifted_now, *rest)  # type: ignore[arg-type]

    setattr(sequencer, "Clock", wrong)  # noqa: B010  a name that the module does not export
    if sys.argv[1] == "writer":
        from registry_server.api import writer

        writer.main()
        return
    from registry_server.api import delegating
    from registry_server.cli.program import main as run

    delegating.COMMAND = (sys.executable, __file__, "writer")  # type: ignore[assignment]
    run()


if __name__ == "__main__":
    main()
