"""What goes into a parser and what comes out: the contract between the table of kinds and each kind's module.

A kind's module has ``read(source: Source, options: ReadOptions) -> Reading`` which never raises for bad content (it reports
diagnostics), and ``as_json(value) -> dict`` for ``rye show``. A kind with rules across files also has
``check_set(readings) -> {path: diagnostics}``.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from rye.text.diagnostics import Diagnostic, has_errors


class Source(Struct, frozen=True):
    """One file's text and where it stood. ``text`` has LF line endings and no BOM (:func:`rye.text.content.decode`)."""

    text: str
    path: str = ""
    """As the person gave it; for messages only."""
    name: str | None = None
    """The name that the file's place implies: its stem, or a skill's folder. None: unknown, checks against it are skipped."""
    category: str | None = None
    """The folders below the kind's folder, joined by ``/``; ``""`` directly in it; None: the file is not in a kind's folder."""
    attached: tuple[str, ...] | None = None
    """Relative paths of the files attached (skills). None: not looked for, checks of links are skipped."""


class ReadOptions(Struct, frozen=True):
    """What the project adds to the rules."""

    tools: frozenset[str] = frozenset()
    """Agent tools that the project knows beyond the format's own (DECISIONS Agents 8)."""
    publishing: bool = False
    """Apply the rules that hold only for what is published (DECISIONS Agents 2, Roles 3, Skills 2)."""


class Dependency(Struct, frozen=True):
    """One relation to another item: ``relation`` is depends_on, requires, conflicts_with, suggests, used_by or example_of."""

    relation: str
    reference: str
    """The id or bare name as written, possibly with a ``kind:`` prefix; never with a range."""
    range: str | None = None
    """The version range as written; None: any."""
    line: int | None = None


class HookAction(Struct, frozen=True, forbid_unknown_fields=True):
    """A hook as far as consent is concerned: when it fires and exactly what it would execute."""

    when: str
    item_type: str
    item_id: str
    inputs: tuple[tuple[str, str], ...] = ()


class Metadata(Struct, frozen=True):
    """What resolution, search and consent need to know of an item of any kind, taken from its bytes alone."""

    name: str
    version: str | None
    """Exact ``X.Y.Z[-pre][+build]``; None where the file carries none (``rye publish --version`` then gives it)."""
    description: str
    category: str | None = None
    """As the file declares it; None where its format has no category."""
    dependencies: tuple[Dependency, ...] = ()
    capabilities: tuple[str, ...] = ()
    """``rye.…`` capability patterns, sorted, without duplicates."""
    hooks: tuple[HookAction, ...] = ()
    agent_tools: tuple[str, ...] = ()
    """Tools of the agent program itself (an agent's ``tools``, a skill's ``allowed-tools``): shown, never translated."""


class Reading(Struct, frozen=True):
    """What reading one file gave. ``value`` and ``metadata`` are None when the file does not parse far enough to have them."""

    value: Any
    metadata: Metadata | None
    diagnostics: tuple[Diagnostic, ...] = field(default=())

    @property
    def ok(self) -> bool:
        return not has_errors(self.diagnostics)
