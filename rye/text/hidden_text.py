"""Characters that people do not see, or that programs read differently. Everything that becomes part of a prompt must be free of
them (DESIGN §5 Content).

Customizations are not items and are never published, so other content rules (normal form, line endings) do not apply to them.
"""

from __future__ import annotations

from msgspec.structs import replace

from rye.limits import OVERRIDES, ContentLimits
from rye.text import content
from rye.text.diagnostics import Diagnostic

_CODES = frozenset({"C03", "C04", "C05", "C06", "C07", "C11", "C13"})
_LIMITS = replace(ContentLimits(), item_bytes=OVERRIDES.merged_bytes)


def hidden_text(text: str) -> tuple[Diagnostic, ...]:
    """Return an error for each such character in ``text``, with its line and column, up to a limit."""
    if text.isascii() and text.isprintable():
        return ()
    found = content.decode(text.encode("utf-8"), _LIMITS).diagnostics
    return tuple(finding for finding in found if finding.severity == "error" and finding.code in _CODES)
