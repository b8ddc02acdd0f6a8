"""A formula as a value: steps and templates, variables, composition rules (DECISIONS Role directives and formula overlays 7)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

TYPES = ("workflow", "convoy", "expansion", "aspect")


@dataclass(kw_only=True, frozen=True, slots=True)
class Step:
    """A workflow's step, an expansion's template step, a convoy's leg or an aspect: the content of its table."""

    id: str
    title: str = ""
    description: str = ""
    needs: tuple[str, ...] = ()
    parallel: bool = False
    interactive: bool = False
    acceptance: str | None = None
    extra: dict[str, Any] = field(default_factory=dict, hash=False)
    """All other keys, as TOML gives them (``children``, ``type``, ``focus``, …)."""
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Var:
    """A variable, used as ``{{name}}``. ``default`` is None if there is none; an empty string is one."""

    name: str
    description: str = ""
    required: bool = False
    default: str | None = None
    extra: dict[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class ExpandRule:
    """``[[compose.expand]]``: replace the step ``target`` by the template of the expansion ``with_``."""

    target: str
    with_: str
    vars: dict[str, str] = field(default_factory=dict, hash=False)


@dataclass(kw_only=True, frozen=True, slots=True)
class Formula:
    """One formula. Once resolved, its ``extends``, ``expand`` and ``weave`` are empty."""

    formula: str
    type: str
    description: str = ""
    version: str | None = None
    steps: tuple[Step, ...] = ()
    vars: tuple[Var, ...] = ()
    extends: tuple[str, ...] = ()
    expand: tuple[ExpandRule, ...] = ()
    weave: tuple[str, ...] = ()
    """Names of the aspects to apply (``compose.aspects``)."""
    template: tuple[Step, ...] = ()
    legs: tuple[Step, ...] = ()
    synthesis: Step | None = None
    """A convoy's last step. Its ``needs`` are called ``depends_on`` in the file."""
    aspects: tuple[Step, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict, hash=False)
    """All other top-level keys (``inputs``, ``prompts``, ``output``, ``squash``, ``advice``, the rest of ``compose``, …)."""
