"""Git repositories for tests, and a server on 127.0.0.1 that serves them over git's smart protocol (``git http-backend``)."""

from __future__ import annotations

import atexit
import gzip
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.scenes.prompt_server import PromptServer

_CLEAN = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "Test",
    "GIT_AUTHOR_EMAIL": "test@example.org",
    "GIT_COMMITTER_NAME": "Test",
    "GIT_COMMITTER_EMAIL": "test@example.org",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}


@cache
def _empty_repository() -> Path:
    """Created once per process, then copied."""
    folder = Path(tempfile.mkdtemp(prefix="rye-tests-git-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    words = ["git", "init", "--bare", "--quiet", "--template=", "--initial-branch=main", "empty.git"]
    subprocess.run(words, cwd=folder, env=_CLEAN, check=True, timeout=60)
    return folder / "empty.git"


class Repository:
    """A bare repository; commits are created without a working tree."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.marks = 0
        shutil.copytree(_empty_repository(), path)

    def git(self, *words: str, data: bytes | None = None) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.path, env=_CLEAN, input=data, capture_output=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    def blob(self, data: bytes) -> str:
        return self.git("hash-object", "-w", "--stdin", data=data)

    def commit(self, files: Mapping[str, str | bytes | tuple[str, str]], branch: str = "main") -> str:
        """Create a commit of these files: text, bytes, or ``(mode, object)``. Text that begins with ``#!`` is executable."""
        self.marks += 1
        out = [
            f"commit refs/heads/{branch}\nmark :{self.marks}\ncommitter Test <test@example.org> 1767225600 +0000\n".encode()
        ]
        out.append(b"data 6\nchange\n")
        head = self.path / "refs" / "heads" / branch
        if head.exists():
            out.append(f"from refs/heads/{branch}^0\ndeleteall\n".encode())
        for path, content in files.items():
            quoted = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").encode()
            if isinstance(content, tuple):
                out.append(f"M {content[0]} {content[1]} ".encode() + b'"' + quoted + b'"\n')
                continue
            data = content.encode() if isinstance(content, str) else content
            mode = b"100755" if data.startswith(b"#!") else b"100644"
            out.append(b"M " + mode + b' inline "' + quoted + b'"\n' + f"data {len(data)}\n".encode() + data + b"\n")
        self.git("fast-import", "--quiet", "--force", data=b"".join(out))
        return head.read_text("ascii").strip()

    def commit_tree(self, tree: str, branch: str = "main") -> str:
        parent = subprocess.run(
            ["git", "rev-parse", "-q", "--verify", f"refs/heads/{branch}"],
            cwd=self.path,
            env=_CLEAN,
            capture_output=True,
        )
        above = ["-p", parent.stdout.decode().strip()] if parent.returncode == 0 else []
        commit = self.git("commit-tree", tree, *above, "-m", "change")
        self.git("update-ref", f"refs/heads/{branch}", commit)
        return commit

    def tag(self, name: str, commit: str, *, annotated: bool = False) -> None:
        self.git("tag", "-f", *(["-a", "-m", name] if annotated else []), name, commit)


class GitServer(PromptServer):
    """Serves the bare repositories of a folder as ``/NAME.git``. ``answer``: called with the path before git; its result is
    sent instead, as status and headers."""

    daemon_threads = True

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.root = root
        self.requests: list[str] = []
        self.answer: Callable[[str], tuple[int, Mapping[str, str]] | None] = lambda path: None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def repository(self, name: str) -> Repository:
        return Repository(self.root / f"{name}.git")

    def url(self, name: str) -> str:
        return f"{self.address}/{name}.git"


_Answer = tuple[list[tuple[str, str]], bytes]
"""Headers and body."""
_ADVERTISED: dict[bytes, _Answer] = {}
"""What git says that it can do, by the repository's configuration."""


class _Handler(BaseHTTPRequestHandler):
    server: GitServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        return

    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline().strip() or b"0", 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._serve(body)

    def _serve(self, body: bytes) -> None:
        self.server.requests.append(self.path)
        given = self.server.answer(self.path)
        if given is not None:
            status, headers = given
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        lines, said = self._quick(body) or self._by_http_backend(body)
        status = next((int(value.split()[0]) for name, value in lines if name == "Status"), 200)
        self.send_response(status)
        for name, value in lines:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def _quick(self, body: bytes) -> _Answer | None:
        """What ``git http-backend`` answers, with no process or one instead of two; None if it should answer itself."""
        name, _, asked = self.path.lstrip("/").partition("/")
        repository, protocol = self.server.root / name, self.headers.get("Git-Protocol", "")
        if protocol != "version=2" or not (repository / "config").is_file():
            return None
        if (
            asked == "info/refs?service=git-upload-pack"
        ):  # which says what this git can do, and nothing of the repository
            key = (repository / "config").read_bytes()
            if key not in _ADVERTISED:
                _ADVERTISED[key] = self._by_http_backend(body)
            return _ADVERTISED[key]
        if asked != "git-upload-pack" or self.command != "POST":
            return None
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        words = ["git", "upload-pack", "--stateless-rpc", str(repository)]
        env = {**_CLEAN, "GIT_PROTOCOL": protocol}
        done = subprocess.run(words, env=env, input=body, capture_output=True, timeout=60)
        return [("Content-Type", "application/x-git-upload-pack-result"), ("Cache-Control", "no-cache")], done.stdout

    def _by_http_backend(self, body: bytes) -> _Answer:
        path, _, query = self.path.partition("?")
        env = {
            **_CLEAN,
            "GIT_PROJECT_ROOT": str(self.server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        done = subprocess.run(["git", "http-backend"], env=env, input=body, capture_output=True, timeout=60)
        head, _, rest = done.stdout.partition(b"\r\n\r\n")
        lines = [line.partition(": ") for line in head.decode().split("\r\n") if ": " in line]
        return [(name, value) for name, _, value in lines], rest


@contextmanager
def serving(root: Path) -> Iterator[GitServer]:
    """A server for one test."""
    root.mkdir(parents=True, exist_ok=True)
    server = GitServer(root)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
