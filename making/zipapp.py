"""`make zipapp`: the client and its pinned packages as one file that any Python from 3.11 on runs.

    zipapp.py OUT [VERSION...]     VERSIONS: of Python, for which compiled packages are put in (default: 3.11 to 3.14)

The wheels are downloaded by pip and must have the hashes of requirements/client.txt. The same wheels give the same bytes.
"""

import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
TIME = (1980, 1, 1, 0, 0, 0)
BUILDING = ("editables", "hatchling", "packaging", "pathspec", "pluggy", "trove-classifiers")
"""Pinned for building alone (requirements/client.in)."""


def requirements() -> str:
    """The pins of requirements/client.txt without what only builds."""
    entries = re.split(r"(?m)^(?=[A-Za-z])", (ROOT / "requirements" / "client.txt").read_text("utf-8"))
    return "".join(entry for entry in entries[1:] if entry.partition("==")[0] not in BUILDING)


def pip(*words: str) -> None:
    """Run pip. Ends the program if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}\nerror: pip could not fetch or build the packages; its words are above.")


def downloaded(folder: Path, versions: tuple[str, ...]) -> list[Path]:
    """The wheels of all packages for these versions of Python."""
    pins = folder / "pins.txt"
    pins.write_text(requirements(), encoding="utf-8")
    for version in versions:
        only = ("--only-binary", ":all:", "--no-deps", "--require-hashes", "--python-version", version)
        pip("download", "--quiet", *only, "-r", str(pins), "-d", str(folder / "packages"))
    return sorted((folder / "packages").glob("*.whl"))


def wheels(folder: Path, versions: tuple[str, ...]) -> list[Path]:
    """The same, and Rye's own, which is the last."""
    packages = downloaded(folder, versions)
    pip("wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder / "own"), str(ROOT))
    return [*packages, *(folder / "own").glob("*.whl")]


def tree(found: list[Path]) -> dict[str, bytes]:
    """The files of the wheels by path. One path with two contents ends the program."""
    files: dict[str, bytes] = {}
    for wheel in found:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith("/") or name.startswith("registry_server/") or ".dist-info/" in name:
                    continue
                data = archive.read(name)
                if files.setdefault(name, data) != data:
                    sys.exit(f"error: two wheels have a different {name}.")
    return files


def compiled(name: str, data: bytes) -> tuple[str, bytes]:
    """A module's compiled form for this Python, which is used unless the module itself is another."""
    code = compile(data, name, "exec", dont_inherit=True, optimize=0)
    return importlib.util.cache_from_source(name), importlib._bootstrap_external._code_to_hash_pyc(  # type: ignore[attr-defined]
        code, importlib.util.source_hash(data), False
    )


def write(out: Path, files: dict[str, bytes]) -> None:
    """Write the archive, the same bytes for the same files."""
    known = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    entries = {
        "__main__.py": (ROOT / "making" / "zipapp_start.py").read_bytes(),
        "files.json": json.dumps(known, indent=0).encode(),
        **{f"tree/{name}": files[name] for name in known},
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = out.with_name(f".{out.name}")
    with draft.open("wb") as stream:
        stream.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in entries.items():
                info = zipfile.ZipInfo(name, TIME)
                info.external_attr, info.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
                archive.writestr(info, data, compresslevel=9)
    draft.chmod(0o755)
    os.replace(draft, out)


def build(out: Path, found: list[Path]) -> None:
    """Make the file from wheels."""
    files = tree(found)
    files |= dict(compiled(name, data) for name, data in files.items() if name.endswith(".py"))
    write(out, files)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        build(Path(sys.argv[1]), wheels(Path(made), tuple(sys.argv[2:]) or VERSIONS))
    print(
        f"{sys.argv[1]}: {Path(sys.argv[1]).stat().st_size / 1e6:.1f} MB, sha256 "
        f"{hashlib.sha256(Path(sys.argv[1]).read_bytes()).hexdigest()}"
    )
