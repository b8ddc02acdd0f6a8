"""verdaccio under load, as an operator would run it: accounts, JSON web tokens, publishing for signed-in users only."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
from contextlib import ExitStack
from pathlib import Path

import httpx
from install_tools.verdaccio import Verdaccio

from publish_tools.peer import Publish, cpu_of, message
from publish_tools.registry import ITEM, STEPS, letters


class NpmRegistry:
    """A verdaccio in ``folder``, served until the stack ends."""

    def __init__(self, verdaccio: Verdaccio, folder: Path, stack: ExitStack) -> None:
        self.name = f"verdaccio {verdaccio.version}"
        self.url = verdaccio.start(folder, stack, with_accounts=True).rstrip("/")
        self._process = verdaccio.process
        answer = httpx.put(
            f"{self.url}/-/user/org.couchdb.user:bench",
            json={"name": "bench", "password": "benchmark-only"},
            trust_env=False,
            timeout=30,
        )
        self._token: str = answer.raise_for_status().json()["token"]

    def publish(self, label: str, number: int) -> Publish:
        name = f"{label.lower()}-{letters(number)}"
        text = ITEM.format(name=name, category=label, text="An item that a benchmark publishes", steps=STEPS)
        manifest = {"name": name, "version": "1.0.0", "description": "An item that a benchmark publishes"}
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            for path, data in (("package.json", json.dumps(manifest).encode()), ("index.md", text.encode())):
                entry = tarfile.TarInfo(f"package/{path}")
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
        tarball = buffer.getvalue()
        dist = {
            "tarball": f"{self.url}/{name}/-/{name}-1.0.0.tgz",
            "integrity": "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode(),
            "shasum": hashlib.sha1(tarball).hexdigest(),
        }
        document = {
            "_id": name,
            "name": name,
            "dist-tags": {"latest": "1.0.0"},
            "versions": {"1.0.0": {**manifest, "dist": dist}},
            "_attachments": {
                f"{name}-1.0.0.tgz": {
                    "content_type": "application/octet-stream",
                    "data": base64.b64encode(tarball).decode(),
                    "length": len(tarball),
                }
            },
        }
        return [message(self.url, "PUT", f"/{name}", json.dumps(document).encode(), self._token)]

    def cpu_seconds(self) -> float:
        return cpu_of(self._process.pid)
