"""Detects that a deploy has nothing to do without reading any item: it hashes the inputs and the deployed files.

A successful run is remembered under a hash of everything that it read: rye.toml, rye.lock and the state file as the
run left it, every installed file, every customization, the policies, the state files of the surrounding projects,
which files this user's Rye wrote, and the request. The memory is valid while every deployed file has the bytes that
the run wrote, and the basis of the verdicts on the releases is unchanged. Projects with an editable folder never use
it, because their items are in none of these files. It is stored with the user's verdicts
(:mod:`rye.storage.verdicts`), which no commit can change.

It imports almost nothing, because most runs of ``rye deploy`` end here.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.limits import DEPLOY
from rye.project.agent_programs import STATE
from rye.project.layout import Project
from rye.project.lock_file import editable_rows
from rye.project.user_config import policy_contents
from rye.storage.home import Home
from rye.storage.verdicts import running_code
from rye.text.json_reading import UNDECODABLE
from rye.verified.memory import Basis, stored_basis
from rye.verified.on_disk import Present, read_present, scan
from rye.workspace.installing.project_state import bytes_of, joined_manifests
from rye.workspace.trusting.acceptance import own_record

_CUSTOMIZATIONS = ("overrides", "formula-overlays", "role-directives")


def own_files(home: Home, root: Project) -> Path:
    """Return the file that records what this user's Rye deployed below a root (:mod:`rye.deployment.own_files`)."""
    return own_record(home, root, "deployed")


class Recalled(Struct, frozen=True):
    """The output of a run that has nothing to do."""

    document: dict[str, Any]
    """The document of ``--json``."""
    said: str
    """The summary line."""
    files: Mapping[str, str]
    """The hash and executable bit of every file that is deployed or contains an entry of ours."""
    bases: tuple[tuple[str, str, Basis | None], ...]
    """The registries and namespaces of the items, each with the basis of this user's verdicts on their releases."""


def recall(home: Home, project: Project, root: Path, words: Iterable[str]) -> Recalled | None:
    """Return the remembered output of the same run if nothing changed since. ``words``: the request."""
    verdicts = home.verdicts()
    try:
        if editable_rows(project):
            return None
        data = verdicts.get(
            [verdicts.key("deployed", running_code(faces=True), *_inputs(home, project, root, words, scan(project)))]
        )
    except (OSError, RyeError):
        return None
    finally:
        verdicts.close()
    for value in data.values():
        with contextlib.suppress(*UNDECODABLE):
            found = msgspec.msgpack.decode(value, type=Recalled)
            basis = stored_basis(home)
            same = all(before is not None and basis(*releases) == before for *releases, before in found.bases)
            if same and found.files == prints(root, found.files):
                return found
    return None


def remember(
    home: Home,
    project: Project,
    root: Path,
    words: Iterable[str],
    recalled: Recalled,
    state: bytes | None,
    present: Mapping[str, Present],
) -> None:
    """Store the output of the next run. ``state``: the new state file; ``present``: what is in ``.ai/packages``."""
    verdicts = home.verdicts()
    try:
        key = verdicts.key(
            "deployed", running_code(faces=True), *_inputs(home, project, root, words, present, _sha(state))
        )
        verdicts.put({key: msgspec.msgpack.encode(recalled)})
        verdicts.flush()
    except (OSError, RyeError):
        return
    finally:
        verdicts.close()


def prints(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """Return hash and executable bit of each file; a path with a link counts as a different file."""
    found, folders = {}, dict[str, bool]()
    for path in paths:
        here = read_present(f"{root}/{path}")
        linked = any(_is_link(root, part, folders) for part in _above(path))
        found[path] = "link" if linked else print_of(here.sha256, executable=here.executable)
    return found


def print_of(sha256: str | None, *, executable: bool) -> str:
    """Return the print of one file: its hash, and ``x`` if it is executable."""
    return f"{sha256}{'x' * executable}"


def _above(path: str) -> Iterable[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _is_link(root: Path, folder: str, known: dict[str, bool]) -> bool:
    if folder not in known:
        known[folder] = os.path.islink(f"{root}/{folder}")
    return known[folder]


def _inputs(
    home: Home,
    project: Project,
    root: Path,
    words: Iterable[str],
    present: Mapping[str, Present],
    state: bytes | None = None,
) -> list[bytes]:
    places = (os.path.abspath(root), os.path.realpath(project.root))
    parts = [*map(os.fsencode, places), "\0".join(words).encode()]
    parts += [joined_manifests(project).encode(), bytes_of(project.lock_path) or b""]
    parts += map(_sha, policy_contents(home))
    parts += [
        _file(root / STATE) if state is None else state,
        _packages(present),
        _file(own_files(home, Project(root))),
    ]
    parts += [_folder(base / name) for base in (project.ai, home.user_space) for name in _CUSTOMIZATIONS]
    parts += [_folder(project.ai / kind.folder) for kind in KINDS.values()]
    around = list(root.resolve().parents)[: DEPLOY.outer_projects]
    return [*parts, *(_file(folder / STATE) for folder in around)]


def _packages(present: Mapping[str, Present]) -> bytes:
    found = (f"{path}\0{here.sha256}\0{here.executable}" for path, here in sorted(present.items()))
    return hashlib.sha256("\n".join(found).encode("utf-8", "surrogateescape")).digest()


def _folder(folder: Path) -> bytes:
    """Hash every file below a folder. Follows links to files, because a user's own customizations may be links."""
    digest = hashlib.sha256()
    for here, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(here, name)
            digest.update(os.fsencode(f"{path}\0{os.path.islink(path)}\0"))
            digest.update(_file(Path(path)))
    return digest.digest()


def _file(path: Path) -> bytes:
    """Return the hash of a file. Anything but a regular file, such as a pipe, counts as missing."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return _sha(None)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)  # fdopen would fail for a folder
        return _sha(None)
    with os.fdopen(descriptor, "rb") as stream:
        return _sha(stream.read(DEPLOY.state_bytes))


def _sha(data: bytes | None) -> bytes:
    return b"-" if data is None else hashlib.sha256(data).digest()
