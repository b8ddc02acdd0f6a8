"""Follow-up steps, such as a deploy, after an installation that changed nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rye.installation.transaction import exclusive

if TYPE_CHECKING:
    from rye.workspace.installing.install_session import InstallSession


def follow(session: InstallSession) -> object | None:
    """Run the request's follow-up and return its report. It is checked first, because it rarely changes anything."""
    look, project = session.request.follow, session.before.project
    found = look(session.context, project) if look is not None and not session.request.dry_run else None
    if look is None or found is None:
        return None
    if not found[0].changes and not found[0].folders:
        return found[1]
    with exclusive(project) as writer:
        again = look(session.context, project)
        if again is None:
            return None
        writer.apply(again[0].changes, folders=again[0].folders)
        return again[1]
