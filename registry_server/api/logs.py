"""The server's log: one JSON object a line, or plain text, on standard error.

A line has ``time`` (RFC 3339, UTC), ``level``, ``logger``, ``message``, ``request`` (the ID of the request that it is
about), the facts of a request's own line, and ``error`` with a traceback where the program failed. Control characters, and
those that people do not see or that reorder what they see, are escaped in both forms, so nothing in a request can start a new
line or look like another one.
"""

from __future__ import annotations

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TextIO

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The ID of the request that this task handles; empty: none."""
_encode = json.JSONEncoder(default=str).encode
_CONTROLS = {number: f"\\x{number:02x}" for number in (*range(32), *range(127, 160))} | {
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}


def _plain(text: str) -> str:
    """Return a text that a terminal shows as it is: what is not printable, such as marks of direction, is escaped."""
    text = text.translate(_CONTROLS)
    if text.isascii():
        return text
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text)


class JsonLines(logging.Formatter):
    """Format records as JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line of JSON."""
        document: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC)
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if identifier := request_id.get():
            document["request"] = identifier
        facts = getattr(record, "facts", None)
        if isinstance(facts, dict):
            document.update(facts)
        if record.exc_info:
            document["error"] = self.formatException(record.exc_info)
        return _encode(document)


class TextLines(logging.Formatter):
    """Format records as plain text. A traceback follows on separate lines."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the line without its traceback, with control characters escaped."""
        identifier = request_id.get()
        text = _plain(super().formatMessage(record))
        return f"{text} [{identifier}]" if identifier else text


def set_up(form: str, stream: TextIO | None = None) -> None:
    """Log Rye's messages from ``info`` up, and warnings of other libraries. ``form``: ``json``, ``text`` or
    ``auto``."""
    stream = stream or sys.stderr
    # No line shows these, nor where the program was; finding that takes longer than writing the line.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging._srcfile = None
    is_json = form == "json" or (form == "auto" and not stream.isatty())
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines() if is_json else TextLines())
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("rye").setLevel(logging.INFO)
