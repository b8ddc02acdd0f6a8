"""The result of a tool call: the tool's value, or an error that the caller can act on. Pure."""

from __future__ import annotations

from rye.errors import RyeError
from rye.limits import SANDBOX
from rye.runtime.sandbox.tool_run import Outcome
from rye.text.json_reading import JsonError, read_json

_LAST_LINES = 3
_LINE_CHARACTERS = 300


def value_of(outcome: Outcome, item: str) -> object:
    """Return the JSON value that the tool returned. Raises RyeError ``cancelled``, ``tool-timeout``, ``output-too-large``,
    ``tool-failed``."""
    if outcome.ended == "cancelled":
        raise RyeError("cancelled", f"{item} was cancelled after {outcome.seconds:.1f} s.")
    if outcome.ended == "timeout":
        message = f"{item} exceeded its time limit and was killed after {outcome.seconds:.1f} s."
        raise RyeError("tool-timeout", message, "Make it do less in one call.")
    if outcome.truncated or outcome.ended == "output":
        message = f"{item} wrote more than {SANDBOX.output_bytes} bytes, or far too many messages, and was killed."
        raise RyeError("output-too-large", message, "Make it write to a granted folder and return the path.")
    if outcome.ended == "killed":
        raise RyeError("tool-failed", f"{item} was killed: {outcome.reason or 'unknown reason'}.", _said(outcome))
    if outcome.refused:
        message = f"{item} created files that no tool may create; they were renamed to refused-by-rye-…: "
        message += f"{', '.join(outcome.refused[:5])}."
        raise RyeError("tool-failed", message, "Do not use this tool, or remove the folder from its write grants.")
    if outcome.unlisted:
        message = f"{item} left folders that cannot be looked into: {', '.join(outcome.unlisted[:5])}."
        raise RyeError("tool-failed", message, "Delete them, and do not use this tool with write grants.")
    if outcome.exit != 0:
        raise RyeError("tool-failed", f"{item} failed with exit status {outcome.exit}.", _said(outcome))
    try:
        return read_json(outcome.output)
    except JsonError as error:
        what = "nothing" if not outcome.output.strip() else "something that is not a JSON value"
        message = f"{item} returned {what}: {error}."
        raise RyeError(
            "tool-failed", message, "A tool must return exactly one JSON value; write messages to stderr."
        ) from None


def _said(outcome: Outcome) -> str | None:
    """Return the end of the tool's messages, on one line. The text is untrusted."""
    text = outcome.stderr.decode("utf-8", "replace")
    lines = ["".join(each if each.isprintable() else " " for each in line).strip() for line in text.split("\n")]
    last = " / ".join([line for line in lines if line][-_LAST_LINES:])
    return f"Its last messages: {last[-_LINE_CHARACTERS:]}" if last else None
