"""Which programs a deploy writes for, and what rye.toml is to say about that afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from rye.deployment.disk import FolderDisk
from rye.deployment.own_files import claims_of
from rye.deployment.planning import deployed_targets, deployer, root_of, standing
from rye.deployment.request import DeployRequest, Scope
from rye.deployment.selection import detected
from rye.deployment.state import State
from rye.deployment.survey import read_state_file
from rye.deployment.targets.protocol import all_targets, target
from rye.errors import RyeError, UsageError
from rye.installation.environment import policy_in_force
from rye.project.layout import Project
from rye.project.manifest import Manifest
from rye.project.user_config import read_other_policies
from rye.workspace.context import Context

ChooseTargets = Callable[[tuple[str, ...]], bool]
"""Asks a person once whether to deploy to these programs, and to record them in rye.toml."""


def require_targets_allowed(context: Context, manifest: Manifest, names: Sequence[str]) -> None:
    """Require that no policy forbids one of these programs. Raises RyeError ``policy-violation``."""
    policy = policy_in_force(manifest, read_other_policies(context.home, context.now()))
    found = [name for name in names if name in policy.forbidden_targets]
    if found:
        raise RyeError(
            "policy-violation",
            f"The policy forbids deploying to {' and '.join(found)}. Nothing was written.",
            "Deploy to another program: `rye deploy --target NAME`, or [deploy] targets in rye.toml. `rye undeploy` removes what "
            "is there.",
        )


class Aim(Struct, frozen=True, kw_only=True):
    """The targets of one run."""

    names: tuple[str, ...]
    recorded: tuple[str, ...] = ()
    """Those that are new in rye.toml after the run."""
    unrecorded: tuple[str, ...] = ()
    """Those that rye.toml does not name after the run either, although nobody asked for that."""


def aim_of(
    context: Context, project: Project, manifest: Manifest, request: DeployRequest, choose: ChooseTargets | None
) -> Aim:
    """Return the run's targets: the request's, otherwise rye.toml's, otherwise those that are deployed to or detected.

    On a terminal, the targets of a run that deploys all items are recorded in rye.toml, unless the request says not to. Programs
    that only the home folder shows are proposed there, and used in no other way. Raises UsageError ``unknown-name`` if there is
    none, and RyeError ``declined``.
    """
    known = manifest.deploy.targets
    given = tuple(dict.fromkeys(target(name).name for name in request.targets))
    if given:
        new = tuple(name for name in given if name not in known)
        if request.once or request.scope == "user":
            return Aim(names=given)
        if context.interactive and not request.items and request.member is None:
            return Aim(names=given, recorded=new)
        return Aim(names=given, unrecorded=new)
    if known:
        return Aim(names=known)
    root = root_of(project, request.scope).root
    state = read_state_file(root, request.scope).state
    state = standing(state, claims_of(context, root_of(project, request.scope), state), FolderDisk(root))
    here = deployed_targets(state, deployer(project, request.scope))
    programs = all_targets()
    found = _detected(request.scope, root)
    found = tuple(one.name for one in programs if one.name in (*here, *found))
    proposed = found or programs_used(root)
    if proposed and context.interactive and choose is not None:
        if choose(proposed):
            return Aim(names=proposed, recorded=proposed if request.scope == "project" else ())
        raise RyeError("declined", "Nothing was deployed.", _name_targets(proposed))
    if found and (here or context.assume_yes):
        return Aim(names=found if context.assume_yes else here)
    said = f"Detected here: {', '.join(found)}. " if found else ""
    if proposed and not found:
        said = f"Your home folder has {', '.join(proposed)}. "
        raise UsageError("unknown-name", "rye.toml has no targets.", f"{said}{_name_them(proposed)}", what="target")
    raise UsageError("unknown-name", "rye.toml has no targets.", f"{said}{_name_targets(found)}", what="target")


def programs_used(root: Path) -> tuple[str, ...]:
    """Return the agent programs that are used in a project, or else by this user. Only to propose them."""
    return _detected("project", root) or _detected("user", root_of(Project(root), "user").root)


def _detected(scope: Scope, root: Path) -> tuple[str, ...]:
    return detected(all_targets(), scope, lambda path: os.path.lexists(root / path))


def configured(manifest: Manifest, state: State) -> tuple[str, ...]:
    """Return the targets in rye.toml; if there are none, those that something is deployed to."""
    return manifest.deploy.targets or deployed_targets(state)


def _name_targets(found: Sequence[str]) -> str:
    if found:
        return f"{_name_them(found)} `-y` uses the detected ones."
    first, *others = [one.name for one in all_targets()]
    return f"{_name_them([first])} Other programs: {', '.join(others)}."


def _name_them(names: Sequence[str]) -> str:
    listed = ", ".join(f'"{name}"' for name in names)
    flags = " ".join(f"--target {name}" for name in names)
    return f"Choose with `rye deploy {flags}`, or add targets = [{listed}] to [deploy] in rye.toml."
