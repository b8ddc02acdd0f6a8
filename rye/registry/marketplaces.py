"""Exports skills and agents for other programs: plugin marketplaces and the well-known index. Pure and deterministic.

There is one plugin per namespace. Its folder is the same for all programs, so one export can serve several::

    .claude-plugin/marketplace.json            Claude Code, Copilot: relative sources
    .agents/plugins/marketplace.json           Codex: another schema
    plugins/acme/.claude-plugin/plugin.json, .codex-plugin/plugin.json
    plugins/acme/skills/pdf/SKILL.md, agents/reviewer.md

    .well-known/agent-skills/index.json        OpenCode, `npx skills`
    .well-known/agent-skills/pdf/SKILL.md, pdf.tar.gz

At most, these programs check a hash that they fetched over TLS. They check no author, no log and no revocations.
"""

from __future__ import annotations

import io
import json
import struct
import tarfile
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from msgspec import Struct

from rye.resolution.versions import Version, comparable

SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
WELL_KNOWN = ".well-known/agent-skills"
_LISTED = 12
"""The maximum number of items that a plugin's description lists."""
_STORED = 65_535
"""The maximum size of a stored block, in bytes (RFC 1951 3.2.4)."""


class SharedFile(Struct, frozen=True):
    """One file in an export."""

    data: bytes
    executable: bool = False


class SharedSkill(Struct, frozen=True):
    """One skill. ``files``: by path in its folder, including ``SKILL.md``."""

    namespace: str
    name: str
    version: str
    description: str
    files: Mapping[str, SharedFile]


class SharedAgent(Struct, frozen=True):
    """One agent's file, written for the program that reads the export."""

    namespace: str
    file_name: str
    version: str
    data: bytes


Export = dict[str, SharedFile]
"""Files by path in the export's folder."""


def claude_marketplace(name: str, skills: Sequence[SharedSkill], agents: Sequence[SharedAgent] = ()) -> Export:
    """Return the marketplace for Claude Code and Copilot. ``name``: its name, e.g. that of the project or the registry."""
    found = _plugin_folders(skills, agents)
    rows = []
    for namespace, version, described in _plugins(skills, agents):
        rows.append(
            {"name": namespace, "source": f"./plugins/{namespace}", "description": described, "version": version}
        )
        manifest = {"name": namespace, "version": version, "description": described}
        found[f"plugins/{namespace}/.claude-plugin/plugin.json"] = _json(manifest)
    marketplace = {"name": _plain(name), "owner": {"name": name}, "plugins": rows}
    found[".claude-plugin/marketplace.json"] = _json(marketplace)
    return found


def codex_marketplace(name: str, skills: Sequence[SharedSkill]) -> Export:
    """Return the marketplace for Codex, whose plugins contain only skills."""
    found = _plugin_folders(skills, ())
    rows = []
    for namespace, version, described in _plugins(skills, ()):
        rows.append(
            {
                "name": namespace,
                "source": {"source": "local", "path": f"./plugins/{namespace}"},
                "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
                "category": "Productivity",
            }
        )
        manifest = {"name": namespace, "version": version, "description": described, "skills": "./skills/"}
        found[f"plugins/{namespace}/.codex-plugin/plugin.json"] = _json(manifest)
    marketplace = {"name": _plain(name), "interface": {"displayName": name}, "plugins": rows}
    found[".agents/plugins/marketplace.json"] = _json(marketplace)
    return found


def well_known(skills: Sequence[SharedSkill], base: str = "") -> Export:
    """Return the index and the files that it lists. Names that several namespaces use are left out, because they would be
    ambiguous.

    ``base``: the path before ``/.well-known`` in a URL, e.g. ``/acme``.
    """
    counts: dict[str, int] = defaultdict(int)
    for skill in skills:
        counts[skill.name] += 1
    export: Export = {}
    rows = []
    for skill in sorted(skills, key=lambda one: one.name):
        if counts[skill.name] > 1:
            continue
        names = sorted(skill.files, key=lambda path: (path != "SKILL.md", path))
        export |= {f"{WELL_KNOWN}/{skill.name}/{path}": skill.files[path] for path in names}
        if len(names) == 1:
            artifact = skill.files["SKILL.md"].data
        else:
            artifact = archive(skill.files)
            export[f"{WELL_KNOWN}/{skill.name}.tar.gz"] = SharedFile(artifact)
        digest = sha256(artifact).hexdigest()
        rows.append(WellKnownSkill(skill.name, skill.version, skill.description, tuple(names), digest))
    export[f"{WELL_KNOWN}/index.json"] = SharedFile(well_known_index(rows, base))
    return export


class WellKnownSkill(Struct, frozen=True):
    """One skill in the index."""

    name: str
    version: str
    description: str
    paths: tuple[str, ...]
    """``SKILL.md`` first."""
    digest: str
    """The SHA-256 of ``SKILL.md`` if it is the only file, otherwise of the archive."""


def well_known_index(skills: Iterable[WellKnownSkill], base: str = "") -> bytes:
    """Return the index. OpenCode identifies a skill by its name alone, wherever it comes from, and fetches it again only if its
    ``version`` changed, so the version contains a hash of the content.
    """
    rows = []
    for skill in skills:
        is_archive = len(skill.paths) > 1
        place = f"{skill.name}.tar.gz" if is_archive else f"{skill.name}/SKILL.md"
        rows.append(
            {
                "name": skill.name,
                "type": "archive" if is_archive else "skill-md",
                "version": f"{skill.version}{'.' if '+' in skill.version else '+'}{skill.digest[:12]}",
                "description": skill.description,
                "url": f"{base}/{WELL_KNOWN}/{place}",
                "digest": f"sha256:{skill.digest}",
                "files": list(skill.paths),
            }
        )
    return _json({"$schema": SCHEMA, "skills": rows}).data


def archive(files: Mapping[str, SharedFile]) -> bytes:
    """Return a reproducible ``.tar.gz``: sorted, without times and owners, and stored without compression, because compressed
    bytes differ between versions of zlib.

    The format is ustar if all paths fit, because `npx skills` skips the long names of pax archives.
    """
    try:
        data = _tar(files, tarfile.USTAR_FORMAT)
    except ValueError:
        data = _tar(files, tarfile.PAX_FORMAT)
    blocks = [data[start : start + _STORED] for start in range(0, len(data), _STORED)] or [b""]
    body = b"".join(
        struct.pack("<BHH", number == len(blocks) - 1, len(block), len(block) ^ 0xFFFF) + block
        for number, block in enumerate(blocks)
    )
    head = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    return head + body + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)


def _tar(files: Mapping[str, SharedFile], form: int) -> bytes:
    """Return a tar archive. Raises ValueError if a path does not fit the format."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=form) as tar:
        for path in sorted(files):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(files[path].data), 0o755 if files[path].executable else 0o644
            tar.addfile(entry, io.BytesIO(files[path].data))
    return stream.getvalue()


def _plugin_folders(skills: Iterable[SharedSkill], agents: Iterable[SharedAgent]) -> Export:
    export: Export = {}
    for skill in skills:
        for path, file in skill.files.items():
            export[f"plugins/{skill.namespace}/skills/{skill.name}/{path}"] = file
    for agent in agents:
        export[f"plugins/{agent.namespace}/agents/{agent.file_name}"] = SharedFile(agent.data)
    return export


def _plugins(skills: Sequence[SharedSkill], agents: Sequence[SharedAgent]) -> list[tuple[str, str, str]]:
    """Return the namespace, version and description of each plugin. The version ends in a hash of the content: the items share
    no version, overrides may have changed them, and programs detect updates by it."""
    parts = [(one.namespace, one.name, one.version) for one in skills]
    parts += [(one.namespace, one.file_name, one.version) for one in agents]
    folders = _plugin_folders(skills, agents)
    plugins = []
    for namespace in sorted({namespace for namespace, _, _ in parts}):
        own = sorted(f"{name}@{version}" for of, name, version in parts if of == namespace)
        versions = [version for of, _, version in parts if of == namespace]
        place = f"plugins/{namespace}/"
        hashes = (
            f"{path} {sha256(folders[path].data).hexdigest()}" for path in sorted(folders) if path.startswith(place)
        )
        digest = sha256("\n".join(hashes).encode()).hexdigest()[:12]
        more = f" and {len(own) - _LISTED} more" if len(own) > _LISTED else ""
        described = f"What {namespace} publishes: {', '.join(own[:_LISTED])}{more}"
        plugins.append((namespace, f"{_newest(versions)}+{digest}", described))
    return plugins


def shared_name(namespace: str, origin: str) -> str:
    """Return the title of the marketplace that a registry offers for one of its namespaces."""
    return f"{namespace} at {origin}"


def marketplace_name(namespace: str, origin: str) -> str:
    """Return the name by which programs know that marketplace."""
    return _plain(shared_name(namespace, origin))


def _plain(name: str) -> str:
    """Return a name that every program accepts: lowercase letters, digits and single hyphens."""
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in name.lower()).split()
    return "-".join(words) or "rye"


def _newest(versions: Iterable[str]) -> str:
    """Return the highest version, without build metadata."""
    parsed = [version for text in versions if (version := comparable(text.partition("+")[0])) is not None]
    return str(max(parsed, default=Version.of(0, 0, 0)))


def _json(value: object) -> SharedFile:
    return SharedFile((json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())
