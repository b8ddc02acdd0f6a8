"""The program's start: completion and an install where nothing changed are answered before the command line is imported."""

from __future__ import annotations

import gc
import os
import sys

_COLLECT_AFTER = 100_000
"""Objects before the first garbage collection (Python: 700). Most commands end earlier, and none creates many cycles."""


def main() -> None:
    """Run the program with its arguments, and exit with its code."""
    gc.set_threshold(_COLLECT_AFTER)
    arguments = sys.argv[1:]
    if "_RYE_COMPLETE" in os.environ:
        from rye.cli.completing.answer import answer

        sys.exit(answer(os.environ["_RYE_COMPLETE"], os.environ))
    if arguments[:1] == ["install"]:
        from rye.cli.unchanged import is_plain, recall, watch

        said = recall(arguments, os.environ)
        if said is not None and _write(said.encode()):
            return
        if is_plain(arguments):
            watch()
    try:
        from rye.cli.main import main as run
    except KeyboardInterrupt:  # imports take most of a short command's time, and run() handles only what follows
        sys.stderr.write("error: Interrupted. Nothing was done.\n")
        sys.exit(130)
    run(arguments)


def _write(said: bytes) -> bool:
    """Write to stdout; False if that fails, so that the full program reports a full disk or closed pipe as usual."""
    try:
        os.write(1, said)
    except OSError:
        return False
    return True
