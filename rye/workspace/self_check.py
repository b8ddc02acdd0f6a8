"""Whether the files of this program are those of a signed release (``rye self check``).

A release is an item whose text lists its files with their SHA-256, as ``sha256sum`` prints them, in one fence. One of them is
``rye-VERSION.files``: the same list of what is inside the wheel. The list that pip left in the environment (RECORD) counts only
if it says the same, so that whoever changes a module and that list together is noticed.

What this cannot know is in :data:`CANNOT_KNOW`, and every report says it.
"""

from __future__ import annotations

import base64
import binascii
import csv
import hashlib
import io
import json
import marshal
import os
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from rye import __version__
from rye.errors import RyeError
from rye.limits import CONTENT
from rye.project.item_file import place
from rye.signing.verification import Verification, verify
from rye.storage.safe_files import open_regular, read_bytes, read_regular
from rye.workspace.context import Context
from rye.workspace.registries.registry_access import last_seen_keyset
from rye.workspace.trusting.trusted_keys import trusted_keys

State = Literal["as-released", "changed", "other-list", "checkout", "no-list", "not-listed", "unsigned-release"]
CANNOT_KNOW = (
    "A changed program can lie about itself: check it with another copy and --site. Python, the other packages, the start "
    "script, what Python runs when it starts (.pth files, sitecustomize) and what PYTHONPATH adds are not compared."
)
_DISTRIBUTION = "rye_registry"
_FENCE = re.compile(r"(?m)^```sha256sums\n((?:[0-9a-f]{64} {2}[A-Za-z0-9._+-]+\n)+)```$")
_BY_INSTALLERS = {"INSTALLER", "RECORD", "REQUESTED", "direct_url.json", "uv_build.json", "uv_cache.json"}
"""Files of ``.dist-info`` that pip and uv write, or write anew."""
_AT_START = ("*.pth", "sitecustomize*", "usercustomize*")
"""What Python runs from ``site`` before any program."""
_MOST_RECORD = 4 * 1024 * 1024
_WITHOUT_REFERENCES = 2
"""A version of Python's encoding of code in which the same code is always the same bytes."""
_COMPILED = re.compile(r"(.+)\.([a-z]+-[0-9]+)(?:\.opt-([12]))?\.pyc")


class SelfCheck(Struct, frozen=True, kw_only=True):
    """The result. ``state`` is ``as-released`` only if everything that was compared is as signed."""

    state: State
    message: str
    place: str
    """The folder or file that was compared."""
    version: str | None = None
    signer: str | None = None
    """Fingerprint of the key that signed the release."""
    files: int = 0
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    not_compared: tuple[str, ...] = ()
    """Compiled files that only another Python reads, and what Python runs from ``place`` when it starts."""


def check_program(context: Context, release: Path, site: Path, keys: Iterable[Path], program: Path | None) -> SelfCheck:
    """Compare an installation with the release that an item describes. ``site``: the folder that has the package ``rye``;
    ``keys``: files of keys that count beside the user's own and, for an installed item, those of its namespace; ``program``: what
    was started, if ``site`` is its own. Raises RyeError if the item or a key cannot be read."""
    data = read_bytes(release, CONTENT.item_bytes)
    text = data.decode("utf-8", "replace")
    location = place(release, text, None)
    if location is None or len(data) > CONTENT.item_bytes:
        return SelfCheck(state="not-listed", message=f"{release.name} is not the item of a release.", place=str(site))
    trusted = trusted_keys(context.home, list(keys))
    keyset = last_seen_keyset(context, location.namespace) if location.namespace is not None else None
    accepted = (*trusted.keys, *(keyset.accepted_keys() if keyset is not None else ()))
    verdict = verify(data, location.kind, release.name, accepted, trusted.revoked)
    return compare(verdict, listed_files(text), site, program)


def listed_files(text: str) -> Mapping[str, str]:
    """SHA-256 by file name, as the one fence of a release lists them; empty if it has none, several, or a name twice."""
    fences = _FENCE.findall(text)
    rows = [line.split("  ") for line in fences[0].rstrip("\n").split("\n")] if len(fences) == 1 else []
    sums = {name: digest for digest, name in rows}
    return sums if len(sums) == len(rows) else {}


def list_of(files: Mapping[str, str]) -> bytes:
    """The list of a wheel's files, by path with their SHA-256, as ``sha256sum`` prints it."""
    return "".join(f"{files[path]}  {path}\n" for path in sorted(files)).encode()


def compare(release: Verification, sums: Mapping[str, str], site: Path, program: Path | None) -> SelfCheck:
    """Compare the program in ``site`` with a release's files."""

    def result(state: State, message: str, place: Path = site, version: str | None = None, **more: object) -> SelfCheck:
        signer = release.key.fingerprint if release.ok and release.key else None
        return SelfCheck(state=state, message=message, place=str(place), version=version, signer=signer, **more)  # type: ignore[arg-type]

    if not release.ok:
        return result("unsigned-release", f"The release is not signed by a key that you trust: {release.detail}")
    infos = sorted(site.glob(f"{_DISTRIBUTION}-*.dist-info"))
    if not infos and program is not None and (single := _single_file(site, program)) is not None:
        name = f"rye-{__version__}.pyz"
        if _digest(single) == sums.get(name):
            return result("as-released", f"It is {name} of the release.", single, __version__, files=1)
        return result("changed", f"It is not {name} of the release.", single, __version__, changed=(single.name,))
    if (site / "pyproject.toml").is_file() or any(_is_editable(info) for info in infos):
        return result(
            "checkout", "It runs from a checkout (an editable installation), whose files no release lists: ask git."
        )
    if len(infos) != 1:
        return result("no-list", f"There are {len(infos)} lists of installed files (RECORD) where one is expected.")
    info = infos[0]
    version = info.name.removeprefix(f"{_DISTRIBUTION}-").removesuffix(".dist-info")
    wanted = sums.get(f"rye-{version}.files")
    if wanted is None:
        return result(
            "not-listed", f"The release does not list rye-{version}.files: it is of another version.", version=version
        )
    try:
        recorded = _recorded(info)
    except (OSError, ValueError, RyeError) as error:
        return result("no-list", f"The list of installed files (RECORD) cannot be read: {error}.", version=version)
    present = dict(_present(site, info.name))
    compiled = {path for path in present if "__pycache__" in Path(path).parts}
    kept = {
        path: digest for path, digest in present.items() if path not in compiled and path not in _of_installers(info)
    }
    changed = [path for path, digest in recorded.items() if path in kept and kept[path] != digest]
    removed = [path for path in recorded if path not in kept]
    added = [path for path in kept if path not in recorded]
    not_compared = [path.name for pattern in _AT_START for path in site.glob(pattern)]
    for path in compiled:
        verdict = present[path] != "link" and _is_compiled_from(site, path, recorded)
        if verdict is None:
            not_compared.append(path)
        elif not verdict:
            changed.append(path)
    if hashlib.sha256(list_of(recorded)).hexdigest() != wanted:
        state, message = (
            "other-list",
            "The list of installed files (RECORD) is not the release's, so the names below are of little use.",
        )
    elif changed or removed or added:
        state, message = "changed", "Files are not as released. Install the release again, into a new environment."
    else:
        state, message = "as-released", f"All {len(recorded)} files are those of the release {version}."
    differences = {
        "changed": tuple(sorted(changed)),
        "added": tuple(sorted(added)),
        "removed": tuple(sorted(removed)),
        "not_compared": tuple(sorted(not_compared)),
    }
    return result(state, message, version=version, files=len(recorded), **differences)  # type: ignore[arg-type]


def _single_file(site: Path, program: Path) -> Path | None:
    """The one file (``make zipapp``) that unpacked ``site``: its list of files names that folder."""
    try:
        with zipfile.ZipFile(program) as archive:
            tag = hashlib.sha256(archive.read("files.json")).hexdigest()[:32]
    except (OSError, KeyError, zipfile.BadZipFile):
        return None
    return program if site.name.startswith(f"{tag}-") else None


def _is_editable(info: Path) -> bool:
    try:
        noted = json.loads(read_bytes(info / "direct_url.json", CONTENT.item_bytes))
        return bool(noted["dir_info"]["editable"])
    except (OSError, ValueError, KeyError, TypeError, RyeError, RecursionError):
        return False


def _of_installers(info: Path) -> set[str]:
    return {f"{info.name}/{name}" for name in _BY_INSTALLERS}


def _recorded(info: Path) -> dict[str, str]:
    """SHA-256 by path of the wheel's files, as RECORD has them. Raises ValueError for a row that is not of its form."""
    data = read_bytes(info / "RECORD", _MOST_RECORD)
    if len(data) > _MOST_RECORD:
        raise ValueError("it is too large")
    recorded: dict[str, str] = {}
    for row in csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True):
        path, hashed, _ = row
        if path in _of_installers(info) or path.startswith("../") or "__pycache__" in path.split("/"):
            continue
        algorithm, _, text = hashed.partition("=")
        if algorithm != "sha256" or path in recorded:
            raise ValueError(f"its row of {path!r} has no SHA-256, or comes twice")
        try:
            recorded[path] = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).hex()
        except binascii.Error:
            raise ValueError(f"its row of {path!r} is not base64") from None
    return recorded


def _present(site: Path, info: str) -> Iterator[tuple[str, str]]:
    """Each file of the program by path, with its SHA-256; ``link`` for what is not an ordinary file."""
    for top in ("rye", "registry_server", info):
        if (site / top).is_symlink():
            yield top, "link"  # others may own what it leads to
        for folder, folders, files in os.walk(site / top):
            links = [name for name in folders if (Path(folder) / name).is_symlink()]
            for name in (*files, *links):
                path = Path(folder) / name
                yield path.relative_to(site).as_posix(), _digest(path)


def _digest(path: Path) -> str:
    if path.is_symlink():
        return "link"
    try:
        with open_regular(path) as stream:
            return hashlib.sha256(stream.read()).hexdigest()
    except OSError:
        return "link"


def _is_compiled_from(site: Path, path: str, recorded: Mapping[str, str]) -> bool | None:
    """Whether a compiled file has the code of the module beside it; None if only another Python reads it."""
    cached = Path(path)
    match = _COMPILED.fullmatch(cached.name)
    if match is None:
        return False
    name, tag, level = match.groups()
    if tag != sys.implementation.cache_tag:
        return None
    source = cached.parent.parent / f"{name}.py"
    if source.as_posix() not in recorded:
        return False  # Python does not read it, and nothing that we have wrote it
    try:
        text = read_regular(site / source)
        held = marshal.loads(read_regular(site / cached)[16:])
        code = compile(text, held.co_filename, "exec", dont_inherit=True, optimize=int(level or 0))
    except (
        ArithmeticError,
        AttributeError,
        EOFError,
        MemoryError,
        OSError,
        RecursionError,
        SyntaxError,
        TypeError,
        ValueError,
    ):
        return False
    return marshal.dumps(held, _WITHOUT_REFERENCES) == marshal.dumps(code, _WITHOUT_REFERENCES)
