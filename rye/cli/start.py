"""Where the program starts: a shell's question and an install that finds nothing changed are answered before the command line
is imported."""

from __future__ import annotations

import gc
import os
import sys

_COLLECT_AFTER = 20_000
"""New objects before the first look for cycles, in place of 700: most commands end before it, and none makes many cycles."""


def main() -> None:
    """Run the program with the words it was started with, and exit with its code."""
    gc.set_threshold(_COLLECT_AFTER)
    arguments = sys.argv[1:]
    if "_RYE_COMPLETE" in os.environ:
        from rye.cli.completing.answer import answer

        sys.exit(answer(os.environ["_RYE_COMPLETE"]))
    if arguments[:1] == ["install"]:
        from rye.cli.unchanged import is_plain, recall, watch

        said = recall(arguments, os.environ)
        if said is not None and _write(said.encode()):
            return
        if is_plain(arguments):
            watch()
    from rye.cli.main import main as run

    run(arguments)


def _write(said: bytes) -> bool:
    """Whether stdout took it; a full disk, a closed pipe or no stdout at all is told as every command tells it."""
    try:
        os.write(1, said)
    except OSError:
        return False
    return True
