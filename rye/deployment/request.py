"""The request for a deploy, from a person or a program."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Scope = Literal["project", "user"]


class DeployRequest(Struct, frozen=True, kw_only=True):
    """The options of one deploy."""

    items: tuple[str, ...] = ()
    """``[kind:]id``; empty: all."""
    member: str | None = None
    """A member of the workspace, by folder or name: deploy only what it asks for."""
    targets: tuple[str, ...] = ()
    """Empty: those in rye.toml."""
    once: bool = False
    """Whether the targets stay out of rye.toml, whoever asks."""
    scope: Scope = "project"
    dry_run: bool = False
    allow: tuple[str, ...] = ()
    adopt: tuple[str, ...] = ()
    overwrite: tuple[str, ...] = ()


def words_of(request: DeployRequest, *, trusts_lock: bool) -> tuple[str, ...] | None:
    """Return the key under which a run is remembered (:mod:`rye.deployment.recall`); None if it is never remembered.
    ``trusts_lock``: whether the run trusts others' approvals."""
    if request.dry_run or request.allow or request.adopt or request.overwrite:
        return None
    member = () if request.member is None else ("-p", request.member)
    once = ("--once",) if request.once else ()
    return (request.scope, str(trusts_lock), *request.items, *member, "--", *request.targets, *once)
