"""``allowed-secret``: a line that looks like a secret and declares that it is none (``rye:allow-secret REASON``).

The registry lets such a line pass, so whoever installs the item sees the publisher's reason. A declaration where nothing looks
like a secret says nothing, and is not listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rye.text.facts.fact import ALLOWED_SECRET
from rye.text.facts.source import RuleMatch, Source
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    from rye.text import secrets
else:
    secrets = lazy_module("rye.text.secrets")  # few texts declare one: the others need not read its patterns

MARK = b"rye:allow-secret"
"""Without it, a text declares nothing."""


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield each declaration: what the line looks like, and the reason given."""
    for line, what, reason in secrets.declared_secrets(source.text):
        yield RuleMatch(ALLOWED_SECRET, f"{what}: {reason}", line - 1, 0)
