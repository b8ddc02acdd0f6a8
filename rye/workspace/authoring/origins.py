"""The recorded origins of a project's forks, and who agreed to them.

A commit can change :data:`rye.project.origins.ORIGINS`, and then ``rye update --origin`` would bring another item's text into
an own one. So an origin counts once this user agreed to it: by ``rye fork``, or with ``rye trust project``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from msgspec import Struct

from rye.consent.agreement import not_accepted
from rye.consent.ask import Ask
from rye.errors import RyeError, UsageError
from rye.items.identity import parse_reference
from rye.limits import OVERRIDES
from rye.project.context import load_manifest, require_project
from rye.project.layout import Project, read_project_file
from rye.project.origins import ORIGINS, ForkOrigin, read_origins
from rye.project.spaces import Entry, entries_of
from rye.storage.home import Home
from rye.workspace.context import Context
from rye.workspace.trusting.acceptance import agreement, remembered


class Fork(Struct, frozen=True):
    """An own item and where it comes from."""

    entry: Entry
    origin: ForkOrigin

    @property
    def label(self) -> str:
        """``kind:id`` of the own item."""
        return f"{self.entry.location.kind}:{self.entry.id}"


def origins_bytes(project: Project) -> bytes | None:
    """The file's bytes; None if there is none. Raises RyeError for a link, and for one that is too large."""
    return read_project_file(project.root / ORIGINS, OVERRIDES.file_bytes)


def origin_key(entry: Entry) -> str:
    """The key of an own item in the file."""
    return f"{entry.location.kind}:{entry.location.local_id}"


def forks(home: Home, project: Project) -> list[Fork]:
    """The own items with a recorded origin, sorted. Raises RyeError ``bad-origins``."""
    data = origins_bytes(project)
    if data is None:
        return []
    known = read_origins(data)
    own = entries_of(home, "project", project, load_manifest(project).namespace)
    return [Fork(entry, known[origin_key(entry)]) for entry in own if origin_key(entry) in known]


def followed_namespaces(project: Project) -> set[str]:
    """The namespaces of the originals. An origins file that cannot be read has none."""
    with contextlib.suppress(RyeError):
        return {origin.item.namespace for origin in read_origins(origins_bytes(project) or b"").values()}
    return set()


def forks_named(context: Context, names: tuple[str, ...]) -> list[Fork]:
    """The forks with these ids; without any, all. Raises UsageError ``no-such-entry`` for one that is no fork, RyeError
    ``no-project``."""
    project = require_project(context.cwd)
    found = forks(context.home, project)
    if not names:
        return found
    chosen = []
    for name in names:
        reference = parse_reference(name)
        meant = [
            fork
            for fork in found
            if reference.kind in (None, fork.entry.location.kind)
            and reference.id in (fork.entry.id, fork.entry.location.local_id)
        ]
        if not meant:
            there = ", ".join(fork.label for fork in found) or "none"
            raise RyeError(
                "no-such-entry",
                f"{name} is no fork of this project, so it has no origin.",
                f"Forks: {there}. `rye fork ID` makes one of an installed item.",
                what="fork",
            )
        if len(meant) > 1:
            labels = ", ".join(fork.label for fork in meant)
            raise UsageError("ambiguous", f"{name!r} is ambiguous: {labels}.", "Name one with its kind.")
        chosen += meant
    return chosen


def origin_approvals(home: Home, project: Project) -> Iterator[Ask]:
    """What to agree to for all forks of a project. An origins file that cannot be read has none, and is of no use either."""
    try:
        yield from (fork.origin.approval(fork.label) for fork in forks(home, project))
    except RyeError:
        return


def not_agreed_origins(home: Home, project: Project) -> tuple[Ask, ...]:
    """Those of :func:`origin_approvals` that this user has not agreed to."""
    return remembered(home, project).missing(origin_approvals(home, project))


def require_origin(context: Context, project: Project, fork: Fork) -> None:
    """Require that this user agreed to the origin. Raises RyeError ``project-not-accepted``."""
    waiting = agreement(context, project).missing_from_lock([fork.origin.approval(fork.label)])
    if waiting:
        raise not_accepted(waiting)
