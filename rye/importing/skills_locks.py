"""The locks of `npx skills`: ``skills-lock.json`` of a project (version 1) and ``.agents/.skill-lock.json`` (version 3).

The formats are those of vercel-labs/skills (src/local-lock.ts, src/skill-lock.ts; 1.5): an object ``skills`` maps each skill's
name to its entry. Neither lock has a commit, so Rye resolves the ref again, and the digest shows whether the skill is still the
installed one. The project's ``computedHash`` is that tool's hash of the folder. The user's ``skillFolderHash`` is the git tree
id of the folder if it has 40 digits, and that tool's hash if it has 64.
"""

from __future__ import annotations

from collections.abc import Callable

from rye.importing import git_words
from rye.importing.foreign import (
    Cannot,
    Digest,
    Foreign,
    ForeignEntry,
    ForeignRow,
    GitPlace,
    LeftOut,
    Place,
    bad_file,
    folder_here,
    json_object,
    shown,
    skill_folder,
)
from rye.limits import IMPORTS

PROJECT_LOCK = "skills-lock.json"
USER_LOCK = ".agents/.skill-lock.json"
_HOSTS = {"github": git_words.GITHUB, "gitlab": "gitlab.com"}
_PROJECT_KEYS = ("source", "sourceUrl", "sourceType", "ref", "skillPath", "computedHash", "subagents")
_USER_KEYS = (
    "source",
    "sourceUrl",
    "sourceType",
    "ref",
    "skillPath",
    "skillFolderHash",
    "pluginName",
    "installedAt",
    "updatedAt",
)


def read_project_lock(data: bytes, file: str = PROJECT_LOCK) -> Foreign:
    """Read ``skills-lock.json``. Raises RyeError ``bad-foreign-file``."""
    return _read(file, data, 1, {"version", "skills"}, _project_entry)


def read_user_lock(data: bytes, file: str = USER_LOCK) -> Foreign:
    """Read ``.skill-lock.json`` of version 3. Raises RyeError ``bad-foreign-file``."""
    known = {"version", "skills", "dismissed", "lastSelectedAgents"}
    return _read(file, data, 3, known, _user_entry)


def _read(
    file: str, data: bytes, version: int, known: set[str], entry: Callable[[str, str, object], ForeignEntry]
) -> Foreign:
    table = json_object(file, data)
    if table.get("version") != version or isinstance(table.get("version"), bool):
        raise bad_file(file, f"it is of version {shown(table.get('version'), 20)}; this Rye reads version {version}")
    unknown = sorted(key for key in table if key not in known)
    if unknown:
        raise bad_file(file, f"this version of Rye does not know its key {shown(unknown[0])!r}")
    skills = table.get("skills")
    if not isinstance(skills, dict) or len(skills) > IMPORTS.entries:
        raise bad_file(file, f"it has no skills, or more than {IMPORTS.entries}")
    entries: list[ForeignEntry] = []
    left_out: list[LeftOut] = []
    for name in sorted(skills):
        try:
            entries.append(entry(file, name, skills[name]))
        except Cannot as error:
            left_out.append(LeftOut(file, shown(name), str(error)))
    return Foreign(tuple(entries), tuple(left_out), frozenset(skills))


def _project_entry(file: str, name: str, value: object) -> ForeignEntry:
    if isinstance(value, dict) and value.get("sourceType") == "well-known":  # has other keys, too
        raise Cannot("it comes from a web site, which is neither a git repository nor a folder")
    row = ForeignRow(value, _PROJECT_KEYS)
    digest = Digest("skills-folder", git_words.hex_digest(row.required("computedHash")))
    return ForeignEntry(file=file, name=name, place=_place(row), digests=(digest,), only=(name,), is_one=True)


def _user_entry(file: str, name: str, value: object) -> ForeignEntry:
    row = ForeignRow(value, _USER_KEYS)
    place, digest = _place(row), row.text("skillFolderHash")
    if not digest:
        return ForeignEntry(
            file=file, name=name, place=place, only=(name,), is_one=True, note="the lock has no digest for it"
        )
    if len(digest) == 40:
        found = Digest("git-tree", git_words.hex_digest(digest, 40))
    else:
        found = Digest("skills-folder", git_words.hex_digest(digest))
    return ForeignEntry(file=file, name=name, place=place, digests=(found,), only=(name,), is_one=True)


def _place(row: ForeignRow) -> Place:
    source, sort, url = row.required("source"), row.required("sourceType"), row.text("sourceUrl")
    path, ref = row.text("skillPath"), git_words.ref(row.text("ref"))
    if sort == "local":
        return folder_here(source)
    if sort not in ("git", *_HOSTS):
        raise Cannot(f"it comes from {shown(sort)!r}, which is neither a git repository nor a folder")
    if url and "://" in url:
        where = git_words.address(url)
    elif sort in _HOSTS and "://" not in source and "@" not in source:
        where = git_words.hosted(_HOSTS[sort], source)
    else:
        where = git_words.address(source)
    if path is None:
        return GitPlace(where, ref, folder="")
    return GitPlace(where, ref, folder=skill_folder(path))
