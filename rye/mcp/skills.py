"""Skills as served by the protocol's extension (SEP-2640): entries with the frontmatter and a manifest of all files.

A skill's address is ``skill://NAMESPACE/NAME``; its ``SKILL.md`` and attached files are below it. Digests only prove that entry
and files belong together. So ``_meta`` adds evidence of origin: the signer, the entry in the registry's log, and, if this
machine can create it offline, an inclusion proof in the C2SP tlog-proof format.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from msgspec import Struct

from rye.errors import RyeError
from rye.limits import RUNTIME
from rye.runtime.effects import UsableItem
from rye.text.frontmatter import FrontmatterError, split
from rye.text.yaml_reading import YamlError, json_safe, read_yaml

SCHEME = "skill://"
EXTENSION = "io.modelcontextprotocol/skills"
MAIN = "SKILL.md"
DIRECTORY = "inode/directory"
_LISTED = ("name", "description")


class SkillFiles(Struct, frozen=True):
    """One skill with the bytes of all its files."""

    item: UsableItem
    files: Mapping[str, bytes]
    """By path in the skill's folder, including ``SKILL.md``."""

    @property
    def root(self) -> str:
        """The skill's address."""
        return f"{SCHEME}{self.item.id}"


def fits(skill: SkillFiles) -> bool:
    """Whether the skill is within the limits that all hosts support: 512 files and 16 MiB."""
    return len(skill.files) <= RUNTIME.skill_files and sum(map(len, skill.files.values())) <= RUNTIME.skill_bytes


def frontmatter(text: str) -> dict[str, Any]:
    """Return the frontmatter as a JSON value. Raises RyeError ``does-not-parse``."""
    try:
        value = read_yaml(split(text).yaml).value
    except (FrontmatterError, YamlError) as error:
        raise RyeError("does-not-parse", f"The skill's frontmatter is invalid: {error}") from None
    if not isinstance(value, dict):
        raise RyeError("does-not-parse", "The skill has no frontmatter.")
    found = json_safe(value)
    assert isinstance(found, dict)
    return found


def entry(skill: SkillFiles, proof: str | None, *, whole: bool) -> dict[str, Any]:
    """Return the extension's ``Skill`` value. ``whole``: with all of its frontmatter, which is a part of its text, and not only
    with what every list shows. Raises RyeError ``does-not-parse``."""
    found = frontmatter(skill.item.text)
    return {
        "uri": f"{skill.root}/{MAIN}",
        "frontmatter": found if whole else {key: found[key] for key in _LISTED if key in found},
        "resources": [
            {"uri": f"{skill.root}/{path}", "digest": f"sha256:{sha256(data).hexdigest()}", "size": len(data)}
            for path, data in sorted(skill.files.items(), key=lambda pair: (pair[0] != MAIN, pair[0]))
        ],
        "_meta": {
            "signer": skill.item.signer,
            "release": (
                {
                    "id": f"skill:{skill.item.id}",
                    "version": skill.item.version,
                    "registry": skill.item.registry,
                    "log": skill.item.log,
                }
                if skill.item.log is not None
                else None
            ),
            "tlog-proof": proof,
        },
    }


def children(skill: SkillFiles, folder: str) -> list[dict[str, str]] | None:
    """Return the direct children of a skill's folder, as resources; None if the folder does not exist."""
    prefix = f"{folder}/" if folder else ""
    below = [path.removeprefix(prefix) for path in skill.files if path.startswith(prefix)]
    if folder and not below:
        return None
    files = sorted(path for path in below if "/" not in path)
    folders = sorted({path.partition("/")[0] for path in below if "/" in path})
    return [
        *({"uri": f"{skill.root}/{prefix}{name}", "name": name, "mimeType": media_type(name)} for name in files),
        *({"uri": f"{skill.root}/{prefix}{name}", "name": name, "mimeType": DIRECTORY} for name in folders),
    ]


def media_type(path: str) -> str:
    """Return the media type for a path's suffix; ``application/octet-stream`` if unknown."""
    if path.endswith(".md"):
        return "text/markdown"
    return mimetypes.guess_type(path)[0] or "application/octet-stream"
