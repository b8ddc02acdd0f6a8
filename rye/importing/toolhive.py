"""``toolhive.lock.yaml`` (stacklok/toolhive, pkg/skills/lockfile, version 1).

``skills`` is a list of pinned skills: ``digest`` is the commit of a ``git://`` reference, or the digest of an image's manifest;
``contentDigest`` is a hash over the skill's files. A reference is ``git://HOST/OWNER/REPOSITORY[@REF][#PATH]``, read over https.
"""

from __future__ import annotations

from typing import Any

from rye.importing import git_words
from rye.importing.foreign import (
    Cannot,
    Digest,
    Foreign,
    ForeignEntry,
    ForeignRow,
    GitPlace,
    LeftOut,
    bad_file,
    folder_in,
    shown,
    yaml_object,
)
from rye.limits import IMPORTS

LOCK = "toolhive.lock.yaml"
_GIT = "git://"
_SHA256 = "sha256:"
_KEYS = (
    "name",
    "version",
    "source",
    "resolvedReference",
    "digest",
    "contentDigest",
    "requiredBy",
    "explicit",
    "provenance",
    "unsigned",
)


def read_toolhive(data: bytes, file: str = LOCK) -> Foreign:
    """Read the skills of the lock. Raises RyeError ``bad-foreign-file``."""
    table = yaml_object(file, data)
    version = table.get("version", 1)
    if version not in (0, 1) or isinstance(version, bool):
        raise bad_file(file, f"it is of version {shown(version, 20)}; this Rye reads version 1")
    unknown = sorted(str(key) for key in table if key not in ("version", "skills", "plugins"))
    if unknown:
        raise bad_file(file, f"this version of Rye does not know its key {shown(unknown[0])!r}")
    entries: list[ForeignEntry] = []
    left_out: list[LeftOut] = []
    for name, value in _rows(file, table, "skills"):
        try:
            entries.append(_entry(file, value))
        except Cannot as error:
            left_out.append(LeftOut(file, name, str(error)))
    names = [entry.name for entry in entries]
    if len(set(names)) != len(names):
        raise bad_file(file, "a skill is in it more than once")
    for name, _ in _rows(file, table, "plugins"):
        left_out.append(
            LeftOut(file, name, "it is a plugin, which can contain more than skills; add its repository separately")
        )
    return Foreign(tuple(entries), tuple(left_out), frozenset(name for name, _ in _rows(file, table, "skills")))


def _rows(file: str, table: dict[str, Any], key: str) -> list[tuple[str, Any]]:
    rows = table.get(key) or []
    if not isinstance(rows, list) or len(rows) > IMPORTS.entries:
        raise bad_file(file, f"its {key} is not a list, or is too long")
    return [(shown(row.get("name", "?") if isinstance(row, dict) else "?"), row) for row in rows]


def _entry(file: str, value: object) -> ForeignEntry:
    row = ForeignRow(value, _KEYS)
    name = row.required("name")
    reference = row.text("resolvedReference") or row.required("source")
    if not reference.startswith(_GIT):
        raise Cannot(f"it comes from {shown(reference)!r}, which is not a git repository")
    commit = git_words.commit(row.required("digest"))
    place = _place(reference, commit)
    content = row.text("contentDigest")
    digests: tuple[Digest, ...] = ()
    if content is not None:
        if not content.startswith(_SHA256):
            raise Cannot(f"its contentDigest {shown(content)!r} is not a sha256")
        digests = (Digest("toolhive-files", git_words.hex_digest(content.removeprefix(_SHA256))),)
    notes = []
    if row.has("provenance"):
        notes.append("its provenance was not checked: Rye trusts keys, not certificates")
    return ForeignEntry(
        file=file, name=name, place=place, digests=digests, only=(name,), is_one=True, note="; ".join(notes) or None
    )


def _place(reference: str, commit: str | None) -> GitPlace:
    rest, _, path = reference.removeprefix(_GIT).partition("#")
    rest, _, ref = rest.partition("@")
    host, _, repository = rest.partition("/")
    wanted = git_words.ref(ref)
    return GitPlace(
        git_words.hosted(host, repository),
        None if wanted == commit else wanted,
        commit,
        folder_in(path) if path else "",
    )
