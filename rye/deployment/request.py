"""The request for a deploy, from a person or a program."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Scope = Literal["project", "user"]


class DeployRequest(Struct, frozen=True):
    """One deploy, as it was asked for."""

    items: tuple[str, ...] = ()
    """``[kind:]id``; none: all."""
    member: str | None = None
    """Only what this member of the workspace asks for, by its folder or name."""
    targets: tuple[str, ...] = ()
    """None: those of rye.toml."""
    scope: Scope = "project"
    dry_run: bool = False
    allow: tuple[str, ...] = ()
    adopt: tuple[str, ...] = ()
    overwrite: tuple[str, ...] = ()


def words_of(request: DeployRequest, *, trusts_lock: bool) -> tuple[str, ...] | None:
    """What a run is remembered by (:mod:`rye.deployment.recall`); None for one that is never remembered. ``trusts_lock``: whether
    what others allowed counts in it."""
    if request.dry_run or request.allow or request.adopt or request.overwrite:
        return None
    member = () if request.member is None else ("-p", request.member)
    return (request.scope, str(trusts_lock), *request.items, *member, "--", *request.targets)
