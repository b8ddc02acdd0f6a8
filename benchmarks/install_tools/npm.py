"""npm with tiny packages: from verdaccio, or from memory where verdaccio is not installed."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from install_tools import memory
from install_tools.packages import TEXT, graph, tops_of
from install_tools.tool import Tool, answer_of, on_path
from install_tools.verdaccio import Unavailable, Verdaccio, publish

FLAGS = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")


class Programs(NamedTuple):
    """npm and the source of its packages."""

    npm: str
    verdaccio: Verdaccio | None
    description: str


def find(registry: str) -> Programs | None:
    """The first npm that works. ``registry``: "verdaccio" or "memory"."""
    node = next((program for program in on_path("node") if answer_of(program, "--version")), None)
    npm = next((program for program in on_path("npm") if answer_of(program, "--version")), None)
    if node is None or npm is None:
        return None
    words = f"npm {answer_of(npm, '--version')} with node {answer_of(node, '--version')}"
    if registry == "memory":
        return Programs(npm, None, f"{words}, from memory")
    try:
        verdaccio = Verdaccio(npm, node)
    except Unavailable as error:
        return Programs(npm, None, f"{words}, from memory, because verdaccio cannot be had here: {error}")
    return Programs(npm, verdaccio, f"{words}, from verdaccio {verdaccio.version}")


class Npm(Tool):
    name = "npm"

    def __init__(self, base: Path, size: int, stack: ExitStack, programs: Programs) -> None:
        super().__init__(base, size)
        self.npm = programs.npm
        if programs.verdaccio is None:
            self.name = "npm from memory"
            url = stack.enter_context(memory.serve(lambda url: _files(size, url)))
        else:
            self.name = "npm from verdaccio"
            url = programs.verdaccio.start(self.base / "verdaccio", stack)
            publish(url, (_publication(packument, tarball) for packument, tarball in _packages(size, url)))
        wanted = dict.fromkeys(tops_of(size), "^1.0.0")
        package = {"name": "bench", "version": "1.0.0", "private": True, "dependencies": wanted}
        (self.project / "package.json").write_text(json.dumps(package))
        (self.project / ".npmrc").write_text(f"registry={url}\ncache={self.base / 'cache'}\n")

    def environment(self) -> dict[str, str]:
        """Put the chosen npm's folder first on PATH, so that it finds its own node."""
        found = super().environment()
        return {**found, "PATH": os.pathsep.join((str(Path(self.npm).parent), found["PATH"]))}

    def commands(self) -> Mapping[str, Sequence[str]]:
        install = (self.npm, "install", *FLAGS)
        return {
            "cold": install,
            "warm": (*install, "--prefer-offline"),
            "frozen": (self.npm, "ci", "--prefer-offline", *FLAGS),
            "no-op": install,
        }

    def installed(self) -> Sequence[Path]:
        return [self.project / "node_modules"]

    def remembered(self) -> Sequence[Path]:
        return [self.project / "package-lock.json", self.base / "cache"]

    def count(self) -> int:
        return len(list((self.project / "node_modules").glob("p*/package.json")))


def _packages(size: int, url: str) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Packuments and tarballs."""
    for name, needs in graph(size).items():
        package = {"name": name, "version": "1.0.0", "dependencies": dict.fromkeys(needs, "^1.0.0")}
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            for path, data in (("package.json", json.dumps(package).encode()), ("index.md", TEXT.encode())):
                entry = tarfile.TarInfo(f"package/{path}")
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
        tarball = buffer.getvalue()
        dist = {
            "tarball": f"{url}{name}/-/{name}-1.0.0.tgz",
            "integrity": "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode(),
            "shasum": hashlib.sha1(tarball).hexdigest(),
        }
        yield (
            {"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {**package, "dist": dist}}},
            tarball,
        )


def _publication(packument: dict[str, Any], tarball: bytes) -> dict[str, Any]:
    """A packument with its tarball inside, as registries accept it."""
    data = base64.b64encode(tarball).decode()
    attachment = {"content_type": "application/octet-stream", "data": data, "length": len(tarball)}
    name = packument["name"]
    return {**packument, "_id": name, "_attachments": {f"{name}-1.0.0.tgz": attachment}}


def _files(size: int, url: str) -> memory.Files:
    """The same for a registry in memory."""
    files = {}
    for packument, tarball in _packages(size, url):
        name = packument["name"]
        files[f"/{name}"] = ("application/json", json.dumps(packument).encode())
        files[f"/{name}/-/{name}-1.0.0.tgz"] = ("application/octet-stream", tarball)
    return files
