"""Bundles: a TOML manifest of items at exact versions, published and installed as one.

::

    [bundle]
    name = "starter"
    version = "1.0.0"
    description = "What the bundle is for"
    members = ["directive:acme/workflows/deploy@1.2.3", "tool:acme/file-system/read@2.0.1"]

or each member as a table ``[[members]]`` with ``kind``, ``id`` and ``version``.

====  =========================================================================================================
Code  Rule
====  =========================================================================================================
B01   The file is TOML with a table ``[bundle]``; unknown keys are errors.
B02   ``name`` is an item name (to publish, the file's), ``version`` exact SemVer, ``description`` a string.
B03   At least one member; each is ``kind:namespace/…/name@X.Y.Z``, appears once, and is not the bundle itself.
====  =========================================================================================================

Members become dependencies with the range ``=X.Y.Z``, so resolution, consent and installation need no special case.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from rye.items.declared import normalized_version, version_of
from rye.items.identity import is_id, is_segment
from rye.items.kinds import KINDS
from rye.items.reading import Dependency, Metadata, Reading, ReadOptions, Source
from rye.text.diagnostics import Diagnostic, Severity, in_order
from rye.text.spelling import near_miss
from rye.text.toml_reading import TomlDocument, TomlError, read_toml

_KEYS = ("name", "version", "description", "members")
MEMBER_KEYS = ("kind", "id", "version")
MOST_MEMBERS = 1000


class Member(Struct, frozen=True, order=True):
    """One item at one exact version."""

    kind: str
    id: str
    version: str
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}@{self.version}"


class Bundle(Struct, frozen=True):
    """One manifest, with its members in the file's order."""

    name: str
    version: str
    description: str
    members: tuple[Member, ...]


def read(source: Source, options: ReadOptions) -> Reading[Bundle]:
    """Read a bundle's manifest. ``value`` is None if a required part is missing or malformed."""
    try:
        document = read_toml(source.text)
    except TomlError as error:
        return Reading(
            None,
            None,
            (Diagnostic("error", "B01", f"The file is not valid TOML: {error.message}.", error.line, error.column),),
        )
    data, found = document.value, list[Diagnostic]()
    table = data.get("bundle")
    if not isinstance(table, dict):
        hint = "Add [bundle] with name, version, description and members."
        return Reading(None, None, (Diagnostic("error", "B01", "There is no [bundle] table.", 1, hint=hint),))
    _unknown(data, ("bundle", "members"), document, found)
    _unknown(table, _KEYS, document, found, "bundle")
    name = _name(table, source, options, document, found)
    if "version" not in table:
        found.append(Diagnostic("error", "B02", "bundle.version is missing.", document.line("bundle")))
    version = version_of(table.get("version"), "B02", "bundle.version", document.line("bundle", "version"), found)
    description = table.get("description", "")
    if not isinstance(description, str):
        found.append(
            Diagnostic("error", "B02", "bundle.description must be a string.", document.line("bundle", "description"))
        )
        description = ""
    members = _members(data, table, name, document, found)
    if name is None or version is None or not members:
        return Reading(None, None, in_order(found))
    dependencies = tuple(Dependency("depends_on", f"{m.kind}:{m.id}", f"={m.version}", m.line) for m in members)
    metadata = Metadata(
        name=name, version=version, description=" ".join(description.split()), dependencies=dependencies
    )
    return Reading(Bundle(name, version, description, members), metadata, in_order(found))


def _unknown(
    table: dict[str, Any], known: tuple[str, ...], document: TomlDocument, found: list[Diagnostic], *path: str | int
) -> None:
    for key in table:
        if key not in known:
            meant = near_miss(key, known)
            shown = ".".join(str(part) for part in (*path, key))
            hint = f"Did you mean {meant}?" if meant else f"Keys: {', '.join(known)}."
            found.append(
                Diagnostic("error", "B01", f"{shown} is not a key of a bundle.", document.line(*path, key), hint=hint)
            )


def _name(
    table: dict[str, Any], source: Source, options: ReadOptions, document: TomlDocument, found: list[Diagnostic]
) -> str | None:
    name, line = table.get("name"), document.line("bundle", "name")
    if not isinstance(name, str) or not is_segment(name):
        what = "is missing" if "name" not in table else "must be an item name: a-z, 0-9, '-' and '_'"
        found.append(Diagnostic("error", "B02", f"bundle.name {what}.", line))
        return None
    if source.name is not None and name != source.name:
        severity: Severity = "error" if options.publishing else "warning"
        message = f"bundle.name {name!r} does not match the file's name {source.name!r}."
        found.append(Diagnostic(severity, "B02", message, line, hint=f"Rename the file to {name}.bundle.toml."))
    return name


def _members(
    data: dict[str, Any], table: dict[str, Any], name: str | None, document: TomlDocument, found: list[Diagnostic]
) -> tuple[Member, ...]:
    if "members" in data and "members" in table:
        found.append(Diagnostic("error", "B03", "members is defined twice.", document.line("members")))
        return ()
    path: tuple[str | int, ...] = ("members",) if "members" in data else ("bundle", "members")
    entries = data.get("members", table.get("members"))
    if not isinstance(entries, list) or not entries:
        message = (
            "A bundle needs at least one member." if entries is None or entries == [] else "members must be a list."
        )
        found.append(Diagnostic("error", "B03", message, document.line(*path), hint='members = ["kind:id@1.2.3"]'))
        return ()
    if len(entries) > MOST_MEMBERS:
        found.append(
            Diagnostic("error", "B03", f"The bundle has more than {MOST_MEMBERS} members.", document.line(*path))
        )
        return ()
    members: list[Member] = []
    seen: dict[tuple[str, str], Member] = {}
    for index, entry in enumerate(entries):
        line = document.line(*path, index)
        if isinstance(entry, dict):
            _unknown(entry, MEMBER_KEYS, document, found, *path, index)
        member = _member(entry, line)
        if member is None:
            hint = "Write kind:namespace/category/name@X.Y.Z, e.g. tool:acme/file-system/read@1.2.3."
            message = f"members[{index}] is not a reference with a kind and an exact version."
            found.append(Diagnostic("error", "B03", message, line, hint=hint))
        elif (member.kind, member.id) in seen:
            message = f"members[{index}]: {member.kind}:{member.id} is a duplicate."
            found.append(Diagnostic("error", "B03", message, line))
        elif member.kind == "bundle" and member.id.rsplit("/", 1)[-1] == name:
            found.append(Diagnostic("error", "B03", f"members[{index}] is the bundle itself.", line))
        else:
            seen[member.kind, member.id] = member
            members.append(member)
    return tuple(members)


def _member(entry: Any, line: int | None) -> Member | None:
    if isinstance(entry, str):
        reference, _, version = entry.partition("@")
        kind, _, identifier = reference.partition(":")
    elif isinstance(entry, dict) and all(isinstance(entry.get(key), str) for key in MEMBER_KEYS):
        kind, identifier, version = (entry[key] for key in MEMBER_KEYS)
    else:
        return None
    version = version.removeprefix("=")
    exact = normalized_version(version) == version
    if kind not in KINDS or not is_id(identifier) or "/" not in identifier or not exact:
        return None
    return Member(kind, identifier, version, line)


def as_json(bundle: Bundle) -> dict[str, object]:
    """Return the fields for ``rye show``."""
    return {
        "name": bundle.name,
        "version": bundle.version,
        "description": bundle.description,
        "members": [{"kind": m.kind, "id": m.id, "version": m.version} for m in bundle.members],
    }


def template(name: str, category: str = "", author: str | None = None) -> str:
    """Return the file that ``rye new bundle NAME`` writes. Its one member is a placeholder."""
    return f'''[bundle]
name = "{name}"
version = "0.1.0"
description = "What these items do together"
members = [
  "directive:acme/workflows/example@1.0.0",
]
'''
