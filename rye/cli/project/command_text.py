"""The text of an installing command, for messages that say what to run again."""

from __future__ import annotations

from collections.abc import Sequence


def command_text(
    verb: str,
    items: Sequence[str] = (),
    group: str = "main",
    without: Sequence[str] = (),
    member: str | None = None,
) -> str:
    """The command as given, without the options that agree to something."""
    chosen = [] if group == "main" else ["--group", group]
    chosen += [] if member is None else ["-p", member]
    given = [*items, *chosen, *(word for name in without for word in ("--without", name))]
    if not given:
        return f"rye {verb}"
    import shlex  # not needed for a command without words

    return f"rye {verb} {shlex.join(given)}"
