"""`make release`: everything that a release consists of, from a commit, the same bytes on every machine of one kind.

    python -m making.release OUT [--commit COMMIT] [--packages DIR]

DIR has the wheels to put into the one file (default: pip downloads them). What git has of the commit is written to a folder of
its own, and this program as it is there does the rest: nothing else that lies around gets in. The files:

* ``rye_registry-VERSION-….whl``, ``rye_registry-VERSION.tar.gz``, ``rye-VERSION.pyz``
* ``rye-VERSION.files``: what is in the wheel, with hashes; `sha256sum -c` reads it, in the folder of an installation as well
* ``rye-VERSION.cdx.json`` and ``.spdx.json``: the client's packages (CycloneDX, SPDX)
* ``rye-VERSION.intoto.json``: how the files were made (in-toto statement, SLSA provenance v1)
* ``SHA256SUMS`` of all these, and ``rye-VERSION.md``, an item that lists the same, to be signed and published

`python -m making.sign_release` signs both.
"""

import argparse
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from making import zipapp
from rye.installation.cyclonedx import cyclonedx
from rye.installation.sbom import Bill, Component, serial_of
from rye.installation.spdx import spdx
from rye.workspace.self_check import list_of

ROOT = Path(__file__).resolve().parents[1]
ITEM = """```yaml
name: rye
title: "Rye {version}"
entry_type: reference
category: releases
version: "{version}"
author: rye
tags:
  - release
```

# Rye {version}

The files of this release with their SHA-256, made from commit {commit}. `rye self check` compares an
installation with this list; `sha256sum -c SHA256SUMS` compares what was downloaded.

```sha256sums
{sums}```

## Judged by programs of others

{judged}
"""


def git(*words: str, **settings: str) -> bytes:
    """What git prints, about objects as they are and not as replaced. ``settings``: variables of the environment."""
    kept = {name: value for name, value in os.environ.items() if name[:4] != "GIT_" or name.startswith("GIT_CONFIG_")}
    command = ["git", "-C", str(ROOT), "-c", "log.showSignature=false", *words]
    environment = {**kept, "GIT_NO_REPLACE_OBJECTS": "1", **settings}
    return subprocess.run(command, env=environment, check=True, capture_output=True).stdout


def export(commit: str, into: Path) -> None:
    """Write what git has of a commit. It is read from an empty repository that borrows the objects, so that neither attributes in
    ``.git`` nor anybody's settings leave out files or change lines."""
    objects = ROOT / git("rev-parse", "--git-path", "objects").decode().rstrip("\n")
    nobody = {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_COUNT": "0",
        "GIT_ATTR_NOSYSTEM": "1",
    }
    with tempfile.TemporaryDirectory() as folder:
        git("init", "--quiet", "--bare", "--template=", folder, **nobody)
        alternates = Path(folder, "objects/info/alternates")
        alternates.parent.mkdir(exist_ok=True)
        alternates.write_bytes(os.fsencode(f"{objects}\n"))
        plain = ("--git-dir", folder, "-c", "core.attributesFile=/dev/null")
        data = git(*plain, "archive", "--format=tar", commit, **nobody)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extractall(into, filter="data")


def build(out: Path, commit: str, packages: Iterable[Path] | None) -> None:
    """Make every file of the release in ``out``, from the folder that this file is in. ``packages``: None: pip downloads them."""
    out.mkdir(parents=True)
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    version, name = project["version"], f"rye-{project['version']}"
    for target in ("wheel", "sdist"):
        command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = out.glob("*.whl")
    with tempfile.TemporaryDirectory() as folder:
        found = zipapp.downloaded(Path(folder), zipapp.VERSIONS) if packages is None else sorted(packages)
        inputs = {path.name: _sha256(path) for path in found}
        zipapp.build(out / f"{name}.pyz", [*found, wheel])
    (out / f"{name}.pyz").chmod(0o644)
    (out / f"{name}.files").write_bytes(list_of(_content(wheel)))
    time = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    bill = client_bill(version, time)
    _write_json(out / f"{name}.cdx.json", cyclonedx(bill))
    _write_json(out / f"{name}.spdx.json", spdx(bill))
    _write_json(out / f"{name}.intoto.json", provenance(_sums(out), commit, inputs))
    sums = "".join(f"{digest}  {file}\n" for file, digest in sorted(_sums(out).items()))
    (out / "SHA256SUMS").write_text(sums, encoding="utf-8")
    item = ITEM.format(version=version, commit=commit, sums=sums, judged=judged())
    (out / f"{name}.md").write_text(item, encoding="utf-8")


def judged() -> str:
    """The table of `make outside-page`: which program judged what, when, and of how many cases how many passed."""
    page = (ROOT / "docs/reference/outside.md").read_text("utf-8")
    return "\n".join(line for line in page.partition("\n## ")[0].splitlines() if line.startswith("|"))


def _content(wheel: Path) -> dict[str, str]:
    """SHA-256 by path of what a wheel has, but the list of its files."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith(".dist-info/RECORD")]
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in names}


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _sums(out: Path) -> dict[str, str]:
    return {path.name: _sha256(path) for path in out.iterdir()}


def _write_json(path: Path, document: object) -> None:
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def pinned(text: str) -> dict[str, tuple[str, list[str]]]:
    """Version and SHA-256 of each file that counts, by package, from a list of pins."""
    entries = re.split(r"(?m)^(?=[A-Za-z])", text)[1:]
    pins = (re.match(r"([a-z0-9.-]+)==([^ ;\n]+)", entry) for entry in entries)
    return {
        pin[1]: (pin[2], re.findall(r"--hash=sha256:([0-9a-f]{64})", entry))
        for pin, entry in zip(pins, entries, strict=True)
        if pin is not None
    }


def builders() -> dict[str, str]:
    """Who builds each package, from the table in docs/reference/packages.md."""
    text = (ROOT / "docs/reference/packages.md").read_text("utf-8")
    rows = re.findall(r"^\| ([a-z0-9-]+) \|[^|\n]*\| ([^|\n]+) \|[^|\n]*\|$", text, re.MULTILINE)
    return {package: who for package, who in rows if package != "package"}


def client_bill(version: str, time: str) -> Bill:
    """What the client is made of."""
    text = (ROOT / "requirements/client.txt").read_text("utf-8")
    who = builders()
    components = tuple(
        Component(
            ref=f"pkg:pypi/{package}@{pin}",
            name=package,
            version=pin,
            purl=f"pkg:pypi/{package}@{pin}",
            supplier=who.get(package),
            properties=tuple(("sha256", digest) for digest in digests),
        )
        for package, (pin, digests) in sorted(pinned(text).items())
        if package not in zipapp.BUILDING
    )
    return Bill(
        project="rye-registry",
        version=version,
        supplier="rye",
        components=components,
        direct=tuple(each.ref for each in components),
        serial=serial_of(f"{version}\0{text}".encode()),
        time=time,
    )


def provenance(files: dict[str, str], commit: str, packages: dict[str, str]) -> dict[str, object]:
    """The statement of how the files were made: from which commit, with which builder's packages and which Python."""
    pins = pinned((ROOT / "requirements/client.txt").read_text("utf-8"))
    tools = [
        {"uri": f"pkg:pypi/{name}@{pins[name][0]}", "digest": {"sha256": digest}}
        for name in sorted(zipapp.BUILDING)
        for digest in sorted(pins[name][1])
    ]
    wheels = [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(packages.items())]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(files.items())],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:rye:make-release:v1",
                "externalParameters": {"commit": commit},
                "internalParameters": {"python": sys.implementation.cache_tag, "platform": sys.platform},
                "resolvedDependencies": [{"name": "source", "digest": {"gitCommit": commit}}, *tools, *wheels],
            },
            "runDetails": {"builder": {"id": "urn:rye:whoever-signs-SHA256SUMS"}},
        },
    }


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Make the files of a release.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--packages", type=Path, help="a folder of wheels")
    parser.add_argument("--from-here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    out = given.out.resolve()
    if given.from_here:
        build(out, given.commit, None if given.packages is None else given.packages.glob("*.whl"))
        return
    if out.exists():
        sys.exit(f"error: {out} exists. Remove it, or name another folder.")
    commit = git("rev-parse", "--verify", f"{given.commit}^{{commit}}").decode().strip()
    time = git("log", "-1", "--format=%ct", commit).decode().strip()
    words = ["--from-here", "--commit", commit]
    words += [] if given.packages is None else ["--packages", str(given.packages.resolve())]
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
    }  # it imports from there only
    environment = {**kept, "SOURCE_DATE_EPOCH": time, "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    with tempfile.TemporaryDirectory() as folder:
        export(commit, Path(folder))
        command = [sys.executable, "-m", "making.release", str(out), *words]
        subprocess.run(command, cwd=folder, env=environment, check=True, umask=0o022)
    print((out / "SHA256SUMS").read_text("utf-8"), end="")


if __name__ == "__main__":
    main()
