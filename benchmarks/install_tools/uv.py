"""uv with tiny wheels from a simple index on loopback, into an environment of the project."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import sys
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from install_tools import memory
from install_tools.packages import TEXT, graph, tops_of
from install_tools.tool import Tool, answer_of, on_path

WHERE = "import os; print(os.environ['UV'])"
"""uv tells its child processes where its own binary is."""


def find() -> str | None:
    """The first working uv, not a shim for it: on PATH, or as a module of some Python on PATH."""
    ways = [*([uv] for uv in on_path("uv")), *([python, "-m", "uv"] for python in on_path("python3"))]
    quietly = ("--offline", "--no-project", "--no-config", "--no-python-downloads", "--python", sys.executable)
    for way in ways:
        if found := answer_of(*way, "run", *quietly, "python", "-c", WHERE):
            return found
    return None


def describe(program: str) -> str:
    return f"{(answer_of(program, '--version') or '').partition(' (')[0]}, from memory"


class Uv(Tool):
    name = "uv"

    def __init__(self, base: Path, size: int, stack: ExitStack, program: str) -> None:
        super().__init__(base, size)
        self.program = program
        url = stack.enter_context(memory.serve(lambda _: _files(size)))
        wanted = json.dumps([f"{name}>=1.0.0,<2" for name in tops_of(size)])
        (self.project / "pyproject.toml").write_text(
            f'[project]\nname = "bench"\nversion = "1.0.0"\nrequires-python = ">=3.11"\ndependencies = {wanted}\n\n'
            f'[tool.uv]\npackage = false\n\n[[tool.uv.index]]\nurl = "{url}simple"\ndefault = true\n'
        )

    def environment(self) -> dict[str, str]:
        own = {"UV_CACHE_DIR": str(self.base / "cache"), "UV_PYTHON": sys.executable, "UV_PYTHON_DOWNLOADS": "never"}
        return {**super().environment(), **own}

    def commands(self) -> Mapping[str, Sequence[str]]:
        sync = (self.program, "sync", "-q")
        return {"cold": sync, "warm": sync, "frozen": (*sync, "--frozen"), "no-op": sync}

    def installed(self) -> Sequence[Path]:
        return [self.project / ".venv"]

    def remembered(self) -> Sequence[Path]:
        return [self.project / "uv.lock", self.base / "cache"]

    def count(self) -> int:
        return len(list(self.project.glob(".venv/lib/python*/site-packages/p*.dist-info")))


def _files(size: int) -> memory.Files:
    """An index (PEP 503) with the wheels' metadata (PEP 658), so that uv can resolve without opening wheels."""
    files = {}
    for name, needs in graph(size).items():
        lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0.0"]
        lines += [f"Requires-Dist: {other}>=1.0.0,<2" for other in needs]
        metadata = ("\n".join(lines) + "\n").encode()
        info = f"{name}-1.0.0.dist-info"
        content = {
            f"{name}/__init__.py": b"",
            f"{name}/item.md": TEXT.encode(),
            f"{info}/METADATA": metadata,
            f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: bench\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        record = "".join(f"{path},sha256={_digest(data)},{len(data)}\n" for path, data in content.items())
        content[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for path, data in content.items():
                archive.writestr(path, data)
        wheel, file = buffer.getvalue(), f"{name}-1.0.0-py3-none-any.whl"
        sha256, meta = hashlib.sha256(wheel).hexdigest(), hashlib.sha256(metadata).hexdigest()
        link = f'<a href="/files/{file}#sha256={sha256}" data-core-metadata="sha256={meta}">{file}</a>'
        files[f"/simple/{name}/"] = ("text/html", f"<!DOCTYPE html><html><body>{link}</body></html>".encode())
        files[f"/files/{file}"] = ("application/octet-stream", wheel)
        files[f"/files/{file}.metadata"] = ("application/octet-stream", metadata)
    return files


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
