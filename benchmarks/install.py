"""Installing 50 and 1,000 items from a local registry, against npm and uv with as many tiny packages. Ratios within one run.

    python benchmarks/install.py [--sizes 50,1000] [--rounds 3] [--peers npm,uv] [--profile]

Every tool gets the same graph: one package in twenty is asked for by the project, the others are needed by those, at most three
levels deep. All installed files are checked to be there. Four situations, wall clock of the whole program, best of the rounds:

==========  ==========================================================================================================
cold        Nothing is cached, nothing is installed, no lock: resolve, fetch over loopback HTTP, verify, write.
warm        The lock and the cache are there, the installed files are not.
frozen      As warm, with the flag that must not resolve (``rye ci``, ``npm ci``, ``uv sync --frozen``).
no-op       Everything is installed; the tool has to find that out.
==========  ==========================================================================================================

* rye: a registry process (``rye-registry serve``), signed directives; what it installs is verified up to the log.
* npm: a registry process of 60 lines of Python here that serves packuments and tarballs from memory: what verdaccio does, without
  its cost, so the comparison favors npm. ``--ignore-scripts --no-audit --no-fund``.
* uv: a simple index of wheels (PEP 503), served by the same process; ``uv sync`` into a project environment.

A peer that is not installed is skipped, and the output says so. Everything is made in a temporary folder.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from registry_server import database, keys
from registry_server.acceptance import Candidate
from registry_server.embedded import start_embedded, stop_embedded
from registry_server.founding import found
from registry_server.objects import Folder
from registry_server.sequencer import Receipt, Sequencer
from registry_server.settings import Settings
from rye.items.identity import Identity
from rye.registry import notes
from rye.registry.notes import Signer, VerifierKey
from rye.registry.statements import FileEntry, Keyset, Relation, Release, namespace_key_name
from rye.signing.keys import PrivateKey
from rye.signing.sign_item import sign

ORIGIN = "registry.example.org"
SITUATIONS = ("cold", "warm", "frozen", "no-op")
LIMIT_SECONDS = 300
DIRECTIVE = """# {name}

A small directive for measuring.

```xml
<directive name="{name}" version="1.0.0">
  <metadata>
    <description>Measured item {name}</description>
    <category>bench</category>
    <author>bench</author>
    <model tier="fast">any</model>
    <limits max_turns="5" max_tokens="1000"/>
    <permissions><search><tool>*</tool></search><execute><tool>bench.read</tool></execute></permissions>
    <context>{needs}</context>
  </metadata>
  <inputs><input name="what" type="string" required="true">What to work on</input></inputs>
  <outputs><output name="result">What came of it</output></outputs>
</directive>
```

<process>
  <step name="look">Look at {{input:what}} and describe what is there in a few words.</step>
  <step name="tell">Tell what came of it.</step>
</process>
"""


def name_of(number: int) -> str:
    """Letters that do not fold together, for every tool's rules of names."""
    return "p" + "".join("abcdefghjk"[int(digit)] for digit in f"{number:05d}")


def graph(size: int) -> dict[int, list[int]]:
    """Package → what it depends on. One in twenty stands at the top; each package but those has one that needs it."""
    tops = max(1, size // 20)
    needs: dict[int, list[int]] = {number: [] for number in range(size)}
    for number in range(tops, size):
        needs[(number - tops) // 4 if number < tops * 5 else (number - tops * 5) % (tops * 4) + tops].append(number)
    return needs


def tops_of(size: int) -> range:
    return range(max(1, size // 20))


# -- the three tools -----------------------------------------------------------------------------------------------------


class Tool:
    """One package manager in a folder of its own, with one project."""

    name = ""

    def __init__(self, base: Path, size: int) -> None:
        self.size = size
        self.base = base / f"{self.name}-{size}"
        self.project = self.base / "project"
        self.project.mkdir(parents=True)

    def environment(self) -> dict[str, str]:
        return {**os.environ, "HOME": str(self.base / "home"), "CI": "1", "NO_COLOR": "1"}

    def run(self, *command: str) -> float:
        """Seconds of one run of the program, which must succeed."""
        started = time.perf_counter()
        done = subprocess.run(
            command,
            cwd=self.project,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_SECONDS,
        )
        seconds = time.perf_counter() - started
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return seconds

    def remove(self, *paths: Path) -> None:
        """Moved away, not deleted: a file system that has just deleted thousands of files is slow to make new ones."""
        for path in paths:
            if path.exists():
                trash = self.base / "trash" / str(time.monotonic_ns())
                trash.mkdir(parents=True)
                path.rename(trash / path.name)

    def count(self) -> int:
        """Installed packages."""
        raise AttributeError(self.name)

    def forget_installed(self) -> None: ...

    def forget_all(self) -> None: ...

    def commands(self) -> Mapping[str, Sequence[str]]:
        raise AttributeError(self.name)

    def measure(self, rounds: int) -> dict[str, float]:
        best: dict[str, float] = {}
        commands = self.commands()
        for _ in range(rounds):
            for situation in SITUATIONS:
                if situation == "cold":
                    self.forget_all()
                elif situation != "no-op":
                    self.forget_installed()
                seconds = self.run(*commands[situation])
                best[situation] = min(best.get(situation, seconds), seconds)
                if self.count() != self.size:
                    raise SystemExit(f"{self.name} {situation}: {self.count()} of {self.size} packages are installed")
        return best

    def stop(self) -> None: ...


class Rye(Tool):
    name = "rye"

    def __init__(self, base: Path, size: int) -> None:
        super().__init__(base, size)
        data = self.base / "registry"
        fingerprint = found(data, ORIGIN, {}, None, 365).sha256()
        publish(data, size)
        self.process, url = start_embedded(data)
        self.config = f'[project]\nname = "bench"\nregistry = "{url}"\n\n[dependencies]\n'
        wanted = "".join(f'"acme/bench/{name_of(number)}" = "^1.0.0"\n' for number in tops_of(size))
        (self.project / "rye.toml").write_text(self.config + wanted)
        self.program = [sys.executable, "-c", "from rye.cli.main import main; main()"]
        self.run(*self.program, "registry", "add", url, "--fingerprint", fingerprint)

    def environment(self) -> dict[str, str]:
        folders = {f"RYE_{part}_DIR": str(self.base / part.lower()) for part in ("CONFIG", "DATA", "CACHE")}
        return {**super().environment(), **folders}

    def commands(self) -> Mapping[str, Sequence[str]]:
        install = (*self.program, "install", "--yes", "-q")
        return {"cold": install, "warm": install, "frozen": (*self.program, "ci", "-q"), "no-op": install}

    def count(self) -> int:
        return len(list((self.project / ".ai/packages/acme/directives/bench").glob("*.md")))

    def forget_installed(self) -> None:
        self.remove(self.project / ".ai")

    def forget_all(self) -> None:
        self.remove(self.project / ".ai", self.project / "rye.lock", self.base / "cache")

    def stop(self) -> None:
        stop_embedded(self.process)


def publish(data: Path, size: int) -> None:
    """Signed items, released in one batch by the registry's own sequencer."""
    settings = Settings(data)
    engine = database.connect(settings.database_url)
    uploads = Folder(settings.uploads)
    key = PrivateKey.generate()
    signer = Signer(VerifierKey(namespace_key_name(ORIGIN, "acme"), key.public.raw), key.sign)
    now = datetime.now(UTC).replace(microsecond=0)
    sequencer = Sequencer(engine, Folder(settings.public), uploads, keys.in_folder(settings.keys, "log"), settings)
    claim = Keyset(ORIGIN, "acme", 1, None, now, 1, (key.public.raw,))
    sequencer.append([[Candidate(notes.sign(claim.text(), [signer]), claim)]])
    requests = []
    for number, needs in graph(size).items():
        name = name_of(number)
        relations = tuple(
            Relation(f"acme/bench/{other}", Identity("directive", f"acme/bench/{other}"), "^1.0.0")
            for other in sorted(map(name_of, needs))
        )
        needed = "".join(f'<depends_on version="^1.0.0">{relation.reference}</depends_on>' for relation in relations)
        text = DIRECTIVE.replace("{needs}", needed).replace("{name}", name)
        data_ = sign(text, "directive", f"{name}.md", key, now).encode()
        sha256 = hashlib.sha256(data_).hexdigest()
        uploads.put(sha256, data_)
        release = Release(
            ORIGIN,
            Identity("directive", f"acme/bench/{name}"),
            "1.0.0",
            1,
            now,
            f"Measured item {name}",
            FileEntry(".md", len(data_), sha256),
            depends_on=relations,
            capabilities=("rye.execute.tool.bench.read", "rye.search.tool.*"),
        )
        requests.append(Candidate(notes.sign(release.text(), [signer]), release, key.public.raw))
    for outcome in sequencer.append([requests]):
        if not isinstance(outcome, Receipt):
            raise outcome
    engine.dispose()


class Npm(Tool):
    name = "npm"

    def __init__(self, base: Path, size: int) -> None:
        super().__init__(base, size)
        self.server, url = serve(npm_files(size))
        wanted = {name_of(number): "^1.0.0" for number in tops_of(size)}
        package = {"name": "bench", "version": "1.0.0", "private": True, "dependencies": wanted}
        (self.project / "package.json").write_text(json.dumps(package))
        cache = self.base / "cache"
        (self.project / ".npmrc").write_text(f"registry={url}\ncache={cache}\n")
        self.flags = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")

    def commands(self) -> Mapping[str, Sequence[str]]:
        install = ("npm", "install", *self.flags)
        warm = ("npm", "install", "--prefer-offline", *self.flags)
        return {
            "cold": install,
            "warm": warm,
            "frozen": ("npm", "ci", "--prefer-offline", *self.flags),
            "no-op": install,
        }

    def count(self) -> int:
        return len(list((self.project / "node_modules").glob("p*/package.json")))

    def forget_installed(self) -> None:
        self.remove(self.project / "node_modules")

    def forget_all(self) -> None:
        self.remove(self.project / "node_modules", self.project / "package-lock.json", self.base / "cache")

    def stop(self) -> None:
        self.server.shutdown()


class Uv(Tool):
    name = "uv"

    def __init__(self, base: Path, size: int) -> None:
        super().__init__(base, size)
        self.server, url = serve(wheel_files(size))
        wanted = json.dumps([f"{name_of(number)}>=1.0.0,<2" for number in tops_of(size)])
        (self.project / "pyproject.toml").write_text(
            f'[project]\nname = "bench"\nversion = "1.0.0"\nrequires-python = ">=3.11"\ndependencies = {wanted}\n\n'
            f'[tool.uv]\npackage = false\n\n[[tool.uv.index]]\nurl = "{url}simple"\ndefault = true\n'
        )

    def environment(self) -> dict[str, str]:
        kept = {**super().environment(), "UV_CACHE_DIR": str(self.base / "cache"), "UV_PYTHON": sys.executable}
        return {name: value for name, value in kept.items() if name not in ("VIRTUAL_ENV", "HOME")} | {
            "UV_PYTHON_DOWNLOADS": "never",
            "UV_NO_CONFIG": "0",
        }

    def commands(self) -> Mapping[str, Sequence[str]]:
        sync = ("uv", "sync", "-q")
        return {"cold": sync, "warm": sync, "frozen": ("uv", "sync", "--frozen", "-q"), "no-op": sync}

    def count(self) -> int:
        return len(list(self.project.glob(".venv/lib/python*/site-packages/p*.dist-info")))

    def forget_installed(self) -> None:
        self.remove(self.project / ".venv")

    def forget_all(self) -> None:
        self.remove(self.project / ".venv", self.project / "uv.lock", self.base / "cache")

    def stop(self) -> None:
        self.server.shutdown()


# -- what the peers install ----------------------------------------------------------------------------------------------


def serve(make: Callable[[str], Mapping[str, tuple[str, bytes]]]) -> tuple[ThreadingHTTPServer, str]:
    """A registry of files in memory on loopback: path → (content type, bytes)."""
    files: dict[str, tuple[str, bytes]] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_GET(self) -> None:
            found = files.get(self.path)
            kind, data = found if found is not None else ("text/plain", b"not found")
            self.send_response(200 if found is not None else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Cache-Control", "max-age=600")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None: ...

    class Server(ThreadingHTTPServer):
        request_queue_size = 256
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Handler)
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    files.update(make(url))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, url


def npm_files(size: int) -> Callable[[str], Mapping[str, tuple[str, bytes]]]:
    """Packuments and tarballs."""

    def make(url: str) -> Mapping[str, tuple[str, bytes]]:
        files = {}
        for number, needs in graph(size).items():
            name = name_of(number)
            dependencies = {name_of(other): "^1.0.0" for other in needs}
            package = {"name": name, "version": "1.0.0", "dependencies": dependencies}
            buffer = io.BytesIO()
            with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
                for path, data in (("package.json", json.dumps(package).encode()), ("index.md", DIRECTIVE.encode())):
                    entry = tarfile.TarInfo(f"package/{path}")
                    entry.size = len(data)
                    archive.addfile(entry, io.BytesIO(data))
            tarball = buffer.getvalue()
            integrity = "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()
            dist = {"tarball": f"{url}{name}/-/{name}-1.0.0.tgz", "integrity": integrity}
            versions = {"1.0.0": {**package, "dist": dist}}
            packument = {"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": versions}
            files[f"/{name}"] = ("application/json", json.dumps(packument).encode())
            files[f"/{name}/-/{name}-1.0.0.tgz"] = ("application/octet-stream", tarball)
        return files

    return make


def wheel_files(size: int) -> Callable[[str], Mapping[str, tuple[str, bytes]]]:
    """A simple index with the wheels' metadata beside them (PEP 658), which spares uv from opening wheels to resolve."""

    def make(url: str) -> Mapping[str, tuple[str, bytes]]:
        files = {}
        for number, needs in graph(size).items():
            name = name_of(number)
            lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0.0"]
            lines += [f"Requires-Dist: {name_of(other)}>=1.0.0,<2" for other in needs]
            metadata = ("\n".join(lines) + "\n").encode()
            info = f"{name}-1.0.0.dist-info"
            content = {
                f"{name}/__init__.py": b"",
                f"{name}/item.md": DIRECTIVE.encode(),
                f"{info}/METADATA": metadata,
                f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: bench\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            }
            record = "".join(f"{path},sha256={_record(data)},{len(data)}\n" for path, data in content.items())
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

    return make


def _record(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


# -- the run -------------------------------------------------------------------------------------------------------------


def measured(tool: Tool, rounds: int) -> dict[str, float]:
    """The tool's seconds by situation; its server ends with it."""
    try:
        return tool.measure(rounds)
    finally:
        tool.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", default="50,1000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default="npm,uv")
    options = parser.parse_args()
    peers: list[type[Tool]] = [tool for tool in (Npm, Uv) if tool.name in options.peers.split(",")]
    for tool in list(peers):
        if shutil.which(tool.name) is None:
            print(f"{tool.name} is not installed here: skipped")
            peers.remove(tool)
    tools: list[type[Tool]] = [Rye, *peers]
    print(f"{'items':>6} {'':<8}" + "".join(f"{tool.name:>20}" for tool in tools))
    for size in (int(text) for text in options.sizes.split(",")):
        with tempfile.TemporaryDirectory(prefix="rye-bench-") as folder:
            results: dict[str, dict[str, float]] = {}
            for kind in tools:
                results[kind.name] = measured(kind(Path(folder), size), options.rounds)
        for situation in SITUATIONS:
            base = results["rye"][situation]
            cells = [f"{found[situation]:>9.3f} s {found[situation] / base:>6.2f} x" for found in results.values()]
            print(f"{size:>6} {situation:<8}" + "".join(f"{cell:>20}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
