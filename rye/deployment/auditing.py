"""What ``rye audit`` reports about deployed files and about agent programs' own project settings.

Hooks and servers in those settings start programs, and anyone who can commit can write them. Rye writes none of the
hooks and few of the servers. Those that no deployed item explains are worth a look, but they are not errors.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

from rye.deployment.comparing import compare
from rye.deployment.disk import FolderDisk
from rye.deployment.json_keys import NotReadable, keys_at
from rye.deployment.survey import read_state_file
from rye.deployment.targets.protocol import all_targets
from rye.errors import RyeError
from rye.installation.audit.finding import Finding
from rye.limits import DEPLOY
from rye.project.agent_programs import STATE
from rye.project.layout import Project
from rye.text.toml_keys import has_long_key
from rye.workspace.context import Context

_RULES = {
    "missing": "not-as-deployed",
    "edited": "deploy-drift",
    "stale": "not-as-deployed",
    "unowned": "deploy-conflict",
}
_SAID_ELSEWHERE = frozenset(("modified-item", "not-installed", "lock-mismatch", "unverified-item", "bad-manifest"))
"""Errors that other parts of an audit report as findings."""


def audit_deployed(context: Context, project: Project) -> list[Finding]:
    """Return findings about deployed files, and about hooks and servers that no deployed item explains."""
    return [*_deployed(context, project), *_unexplained(project)]


def _deployed(context: Context, project: Project) -> Iterator[Finding]:
    try:
        found = compare(context, project)
        for one in found.differences:
            rule = "not-as-deployed" if one.is_stranger else _RULES[one.what]
            yield Finding(rule=rule, severity="error", message=one.message, path=one.path, hint=one.hint)
        for each in found.waiting:
            yield Finding(
                rule="deploy-missing",
                severity="warning",
                message=f"rye.toml deploys {each.item} to {each.target}, and it is not deployed there yet.",
                path=STATE,
                hint="`rye deploy` writes it, or says why it cannot.",
            )
        for path in found.outdated:
            yield Finding(
                rule="deploy-stale",
                severity="warning",
                message=f"{path} is as it should be, and its row in {STATE} is out of date.",
                path=STATE,
                hint="`rye deploy` writes the row again.",
            )
    except RyeError as error:
        if error.code not in _SAID_ELSEWHERE:
            yield Finding(rule="deploy-unchecked", severity="error", message=error.message, path=STATE, hint=error.hint)


def _unexplained(project: Project) -> Iterator[Finding]:
    disk = FolderDisk(project.root)
    try:
        ours = {row.path for row in read_state_file(project.root, "project").state.files}
    except RyeError:
        ours = set()
    seen: set[tuple[str, str]] = set()
    for one in all_targets():
        for rule, what, places in (
            ("unexplained-hook", "hook", one.settings_hooks),
            ("unexplained-server", "server", one.settings_servers),
        ):
            for path, key in places:
                here = disk.read(path)
                for name in _names(path, here.data, key) if here.kind == "file" else ():
                    if f"{path}#/{'/'.join((*key, name))}" in ours or (path, f"{rule} {name}") in seen:
                        continue
                    seen.add((path, f"{rule} {name}"))
                    message = f"{path} names the {what} {name!r}, which no deployed item explains."
                    yield Finding(rule=rule, severity="info", message=message, path=path)


def _names(path: str, data: bytes, key: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names below a key of settings; none if the file cannot be read."""
    if len(data) > DEPLOY.shared_bytes:
        return ()
    try:
        text = data.decode("utf-8")
        if not path.endswith(".toml"):
            return keys_at(text, key)
        if has_long_key(text):
            return ()
        value: object = tomllib.loads(text)
    except (NotReadable, ValueError, RecursionError):
        return ()
    for part in key:
        value = value.get(part) if isinstance(value, dict) else None
    return tuple(value) if isinstance(value, dict) else ()
