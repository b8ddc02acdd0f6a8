"""The paths that other programs request: a closed list. A path must match in full.

=============================================================  ========================================================
``/.well-known/agent-skills/index.json``, ``NAME/PATH``,       skills of all namespaces
``NAME.tar.gz``
``/NAMESPACE/.well-known/agent-skills/…``                      skills of one namespace
``/renovate/KIND/NAMESPACE/…/NAME.json``                       one item's versions; ``any`` stands for its only kind
``/osv/all.zip``, ``/osv/ID.json``                             advisories
``/apm/v1/packages/NAMESPACE/SKILL/versions``,                 a skill's versions, and the archive of one
``…/VERSION/download``
``/git/NAMESPACE.git/info/refs``, ``…/git-upload-pack``        a namespace's skills as a plugin marketplace
=============================================================  ========================================================
"""

from __future__ import annotations

import re

from msgspec import Struct

from registry_server.interop.offers import MAIN
from rye.items.identity import SEGMENT_PATTERN, is_id
from rye.items.kinds import KINDS
from rye.items.version_text import version_problem
from rye.registry.protocol.statements.release import is_attached_path

_MOST_CHARACTERS = 1400
"""The longest id and the text around it."""
_SKILLS = re.compile(rf"(?:/({SEGMENT_PATTERN}))?/\.well-known/agent-skills/(.+)")
_SEGMENT = re.compile(SEGMENT_PATTERN)
_OSV = re.compile(r"/osv/(x_rye-[A-Z0-9-]{1,64}-[0-9a-f]{32})\.json")
_GIT = re.compile(rf"/git/({SEGMENT_PATTERN})\.git/(info/refs|git-upload-pack)")
_APM = re.compile(rf"/apm/v1/packages/({SEGMENT_PATTERN})/({SEGMENT_PATTERN})/versions(?:/([^/]+)/download)?")
APM = "/apm/"
"""The prefix of apm's paths."""
_ARCHIVE = ".tar.gz"


class SkillIndex(Struct, frozen=True, tag=True):
    """The index of a namespace's skills; None: of all namespaces."""

    namespace: str | None


class SkillFile(Struct, frozen=True, tag=True):
    """One file of a skill in an index. ``path`` None: the archive of all its files."""

    namespace: str | None
    name: str
    path: str | None


class ItemVersions(Struct, frozen=True, tag=True):
    """An item's versions, for Renovate. ``kind`` None: of the only item with this id, as rye.toml reads a line without a kind."""

    kind: str | None
    id: str


class Advisories(Struct, frozen=True, tag=True):
    """One advisory. ``name`` None: all."""

    name: str | None


class GitRefs(Struct, frozen=True, tag=True):
    """The branches of a namespace's repository."""

    namespace: str


class GitPack(Struct, frozen=True, tag=True):
    """Requests for its branches or objects, sent with POST."""

    namespace: str


class ApmVersions(Struct, frozen=True, tag=True):
    """A skill's versions, for apm."""

    namespace: str
    name: str


class ApmArchive(Struct, frozen=True, tag=True):
    """The archive of one version, for apm."""

    namespace: str
    name: str
    version: str


class ApmUnknown(Struct, frozen=True, tag=True):
    """Any other path below ``/apm``. Its 404 has apm's error format."""


Wanted = SkillIndex | SkillFile | ItemVersions | Advisories | ApmVersions | ApmArchive | ApmUnknown
"""Documents, requested with GET."""
_ANY = "any"
READER: dict[type, str] = {
    SkillIndex: "skills",
    SkillFile: "skills",
    ItemVersions: "renovate",
    Advisories: "osv",
    ApmVersions: "apm",
    ApmArchive: "apm",
    ApmUnknown: "apm",
    GitRefs: "git",
    GitPack: "git",
}
"""The word in the setting ``interoperate`` that enables each."""


def wanted(path: str) -> Wanted | GitRefs | GitPack | None:
    """Parse a decoded request path; None if it is not a path for other programs."""
    if len(path) > _MOST_CHARACTERS:
        return None
    if path.startswith("/renovate/"):
        return _item(path.removeprefix("/renovate/"))
    if path == "/osv/all.zip":
        return Advisories(None)
    if path.startswith("/osv/"):
        advisory = _OSV.fullmatch(path)
        return Advisories(advisory[1]) if advisory is not None else None
    if path.startswith(APM):
        return _package(path)
    if path.startswith("/git/"):
        repository = _GIT.fullmatch(path)
        if repository is None:
            return None
        return GitRefs(repository[1]) if repository[2] == "info/refs" else GitPack(repository[1])
    match = _SKILLS.fullmatch(path)
    return _skill(match[1], match[2]) if match is not None else None


def _skill(namespace: str | None, rest: str) -> Wanted | None:
    if rest == "index.json":
        return SkillIndex(namespace)
    name, slash, path = rest.partition("/")
    if not slash:
        name, path = name.removesuffix(_ARCHIVE), ""
        return SkillFile(namespace, name, None) if rest.endswith(_ARCHIVE) and _SEGMENT.fullmatch(name) else None
    if _SEGMENT.fullmatch(name) is None or not (path == MAIN or is_attached_path(path)):
        return None
    return SkillFile(namespace, name, path)


def _package(path: str) -> ApmVersions | ApmArchive | ApmUnknown:
    match = _APM.fullmatch(path)
    if match is None or (match[3] is not None and version_problem(match[3]) is not None):
        return ApmUnknown()
    return ApmVersions(match[1], match[2]) if match[3] is None else ApmArchive(match[1], match[2], match[3])


def _item(rest: str) -> ItemVersions | None:
    kind, slash, identifier = rest.partition("/")
    if not slash or kind not in (*KINDS, _ANY) or not identifier.endswith(".json"):
        return None
    identifier = identifier.removesuffix(".json")
    return ItemVersions(None if kind == _ANY else kind, identifier) if "/" in identifier and is_id(identifier) else None
