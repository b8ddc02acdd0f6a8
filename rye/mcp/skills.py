"""Skills as the protocol's extension serves them (SEP-2640): entries with the frontmatter and a manifest of every file.

A skill's address is ``skill://NAMESPACE/NAME``; its ``SKILL.md`` and the files attached to it lie below. Digests prove that
entry and file are of one piece and nothing more, so entries carry in ``_meta`` what does prove something: the signer, the
place in the registry's log, and a proof of it in the form of C2SP tlog-proof, where this machine can make one without a
network.
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


class SkillFiles(Struct, frozen=True):
    """One skill with all its bytes."""

    item: UsableItem
    files: Mapping[str, bytes]
    """By path below the skill's folder, ``SKILL.md`` included."""

    @property
    def root(self) -> str:
        return f"{SCHEME}{self.item.id}"


def fits(skill: SkillFiles) -> bool:
    """Whether every host takes it: 512 files and 16 MiB."""
    return len(skill.files) <= RUNTIME.skill_files and sum(map(len, skill.files.values())) <= RUNTIME.skill_bytes


def frontmatter(text: str) -> dict[str, Any]:
    """The frontmatter as JSON, as its author wrote it. Raises RyeError ``does-not-parse``."""
    try:
        value = read_yaml(split(text).yaml).value
    except (FrontmatterError, YamlError) as error:
        raise RyeError("does-not-parse", f"The skill's frontmatter cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise RyeError("does-not-parse", "The skill has no frontmatter.")
    found = json_safe(value)
    assert isinstance(found, dict)
    return found


def entry(skill: SkillFiles, proof: str | None) -> dict[str, Any]:
    """The ``Skill`` of the extension. Raises RyeError ``does-not-parse``."""
    return {
        "uri": f"{skill.root}/{MAIN}",
        "frontmatter": frontmatter(skill.item.text),
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
    """The direct children of a folder of the skill, as resources; None where there is no such folder."""
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
    """By its suffix; what nobody knows is bytes."""
    if path.endswith(".md"):
        return "text/markdown"
    return mimetypes.guess_type(path)[0] or "application/octet-stream"
