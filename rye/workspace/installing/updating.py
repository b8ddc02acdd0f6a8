"""Moving locked items to newer versions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rye.errors import RyeError, UsageError
from rye.installation.completeness import ambiguous, locked_items
from rye.items.identity import Identity, parse_reference
from rye.project.layout import Project
from rye.project.lock import Lock
from rye.project.lock_file import Unlock
from rye.resolution.versions import Version
from rye.workspace.context import Context
from rye.workspace.installing.install import run_attempt
from rye.workspace.installing.install_outcome import InstallOutcome
from rye.workspace.installing.install_request import Agree, InstallRequest
from rye.workspace.installing.install_session import open_session, retry_when_overtaken


def update(
    context: Context, project: Project, request: InstallRequest, names: Sequence[str], agree: Agree
) -> InstallOutcome:
    """Move the named items, or all, to the newest versions that rye.toml allows; ``[kind:]id@version`` to exactly that version,
    which rye.toml must already allow.

    Raises RyeError ``not-installed``, ``no-such-version``, ``outside-range``, UsageError ``bad-version``, ``contradiction``.
    """

    def attempt() -> InstallOutcome:
        session = open_session(context, project, request, agree)
        return run_attempt(session, _unlocked(session.before.lock, names) if names else Unlock.everything())

    return retry_when_overtaken(context, attempt)


def _unlocked(lock: Lock, names: Iterable[str]) -> Unlock:
    exact: dict[Identity, str] = {}
    free: set[Identity] = set()
    for name in names:
        reference = parse_reference(name)
        plain = f"{reference.kind}:{reference.id}" if reference.kind else reference.id
        matches = [item.identity for item in locked_items(lock, plain)]
        if len({one.id for one in matches}) > 1:
            raise ambiguous(plain, list(map(str, matches)))
        if reference.range is None:
            free.update(matches)
            continue
        version = _version(name, reference.range)
        if len(matches) > 1:
            listed = ", ".join(map(str, matches))
            raise UsageError("ambiguous", f"{name!r} matches {listed}.", f"Name one: {matches[0]}@{version}.")
        if exact.setdefault(matches[0], version) != version:
            raise UsageError("contradiction", f"{matches[0]} is named with two versions.", "Name it once.")
    return Unlock.to(exact, free)


def _version(name: str, text: str) -> str:
    """The one version after the ``@``."""
    try:
        return str(Version.parse(text))
    except RyeError as error:
        raise UsageError(
            "bad-version",
            f"{name!r}: {text!r} is not one version.",
            "`rye update ID@1.2.3` moves to exactly that version; `rye add 'ID@^1.2'` changes the range in rye.toml.",
        ) from error
