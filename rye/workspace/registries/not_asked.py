"""What the JSON of commands says of registries and repositories that did not answer, where they go on without them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rye.installation.silence import NotAsked


def not_asked_document(rows: Sequence[NotAsked]) -> dict[str, object]:
    """The field ``not_asked``; none if everyone answered."""
    return {"not_asked": [one.as_json() for one in rows]} if rows else {}
