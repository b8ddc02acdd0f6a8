"""Moving locked items to newer versions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rye.installation.graph import not_installed
from rye.installation.unlock import Unlock
from rye.items.identity import Identity, parse_reference
from rye.project.layout import Project
from rye.project.lock import Lock
from rye.workspace.context import Context
from rye.workspace.installing.install import carry_out
from rye.workspace.installing.install_outcome import InstallOutcome
from rye.workspace.installing.install_request import Agree, InstallRequest
from rye.workspace.installing.install_session import open_session, retry_when_overtaken


def update(
    context: Context, project: Project, request: InstallRequest, names: Sequence[str], agree: Agree
) -> InstallOutcome:
    """Move the named items, or all, to the newest versions that rye.toml allows. Raises RyeError ``not-installed``."""

    def attempt() -> InstallOutcome:
        session = open_session(context, project, request, agree)
        return carry_out(session, Unlock.only(_named(session.before.lock, names)) if names else Unlock.everything())

    return retry_when_overtaken(context, attempt)


def _named(lock: Lock, names: Iterable[str]) -> set[Identity]:
    found: set[Identity] = set()
    for name in names:
        reference = parse_reference(name)
        matches = [i.identity for i in lock.items if i.id == reference.id and reference.kind in (None, i.kind)]
        if not matches:
            raise not_installed(lock, name)
        found.update(matches)
    return found
