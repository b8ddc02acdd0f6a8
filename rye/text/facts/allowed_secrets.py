"""``allowed-secret``: a line that looks like a secret and declares that it is none (``rye:allow-secret REASON``).

The registry lets such a line pass, so whoever installs the item sees the publisher's reason. A declaration where nothing looks
like a secret says nothing, and is not listed.
"""

from __future__ import annotations

from collections.abc import Iterator

from rye.text.facts.fact import ALLOWED_SECRET
from rye.text.facts.source import RuleMatch, Source

_MARK = b"rye:allow-secret"


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield each declaration: what the line looks like, and the reason given."""
    if _MARK not in source.lowered:
        return
    from rye.text.secrets import (
        declared_secrets,
    )  # few texts declare one, and its patterns need not be read for the others

    for line, what, reason in declared_secrets(source.text):
        yield RuleMatch(ALLOWED_SECRET, f"{what}: {reason}", line - 1, 0)
