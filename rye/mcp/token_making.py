"""`rye mcp token`: creates a token for a directive of this project, if the directive may be used."""

from __future__ import annotations

from msgspec import Struct

from rye.mcp.tokens import issue, parse_ttl, token_key
from rye.project.context import require_project
from rye.runtime.event_log import timestamp
from rye.runtime.opening import read_directive
from rye.runtime.project_items import ProjectItems
from rye.workspace.context import Context


class MadeToken(Struct, frozen=True):
    """A new token."""

    token: str
    label: str
    """``directive:ID@VERSION``."""
    expires: str
    """The time at which it expires, in UTC."""


def make_token(context: Context, reference: str, ttl: str, *, may_approve: bool = False) -> MadeToken:
    """Create a token for a directive. ``may_approve``: whether its holder's client may answer for a person.

    Raises RyeError if the directive may not be used, UsageError ``bad-argument``.
    """
    life = parse_ttl(ttl)
    project = require_project(context.cwd)
    item, _ = read_directive(ProjectItems(context, project), reference)
    now = context.now()
    token = issue(
        token_key(context.home), project, item.id, item.version, item.sha256, now, life, may_approve=may_approve
    )
    return MadeToken(token, item.label, timestamp(now + life))
