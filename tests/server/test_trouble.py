"""Full disks, hanging or missing stores, and clients that hang up: a code and a hint, never a traceback, and an end in time."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from registry_server.embedded import launch, start_embedded, stop_embedded
from tests.scenes.publisher import Client, Publisher, error_code
from tests.scenes.registry_process import ORIGIN, init, run, token

pytestmark = pytest.mark.processes
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


def error_of(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    assert "Traceback" not in done.stderr
    error: dict[str, str] = json.loads(done.stdout)["error"]
    assert "\n" not in error["message"]
    assert error["hint"]
    return error


class StallingProxy:
    """Forwards bytes to an S3 endpoint until the test makes it hang."""

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        self._target = (str(parts.hostname), int(parts.port or 80))
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        self.open = threading.Event()
        self.open.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                here, _ = self._server.accept()
            except OSError:
                return
            there = socket.create_connection(self._target)
            for pair in ((here, there), (there, here)):
                threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                self.open.wait(60)
                target.sendall(data)
        except OSError:
            pass
        finally:
            for end in (source, target):
                with closing(end):
                    pass

    def close(self) -> None:
        self.open.set()
        self._server.close()


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[StallingProxy]:
    moto = pytest.importorskip("moto.server")
    import boto3  # type: ignore[import-untyped]

    for name in (*_KEYS, "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    boto3.client("s3", endpoint_url=f"http://{host}:{port}").create_bucket(Bucket="rye")
    found = StallingProxy(f"http://{host}:{port}")
    yield found
    found.close()
    server.stop()


@contextmanager
def in_bucket(proxy: StallingProxy, data: Path, **settings: float) -> Iterator[tuple[subprocess.Popen[bytes], Client]]:
    objects = f"s3://rye/{data.parent.name}"
    run("init", "--origin", ORIGIN, "--data", str(data), "--objects", objects, "--s3-endpoint", proxy.url)
    with (data / "registry.toml").open("a") as file:
        file.writelines(f"{name} = {value}\n" for name, value in settings.items())
    process, url = start_embedded(data)
    try:
        yield process, Client(url, token(data))
    finally:
        stop_embedded(process)


class TestStores:
    def test_init_without_credentials_says_so_and_can_be_tried_again(self, tmp_path: Path) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        done = subprocess.run(
            [sys.executable, "-m", "registry_server.cli", "init", "--origin", ORIGIN, "--data", str(tmp_path / "data"),
             "--objects", "s3://rye/prod", "--json"],
            capture_output=True, text=True, check=False, timeout=120, env=environment,
        )  # fmt: skip
        assert done.returncode == 1
        assert error_of(done)["code"] in ("store-credentials", "store-unavailable")
        assert list(tmp_path.iterdir()) == []

    def test_a_bucket_that_does_not_exist_leaves_a_database_that_can_be_used(
        self, proxy: StallingProxy, empty: str, tmp_path: Path
    ) -> None:
        words = [
            "init",
            "--origin",
            ORIGIN,
            "--data",
            str(tmp_path / "data"),
            "--database",
            empty,
            "--s3-endpoint",
            proxy.url,
        ]
        done = run(*words, "--objects", "s3://nowhere/prod", "--json", check=False)
        assert error_of(done)["code"] == "store-unavailable"
        assert run(*words, "--objects", "s3://rye/again").returncode == 0
        taken = run("init", "--origin", *(ORIGIN, "--data", str(tmp_path / "more"), "--s3-endpoint", proxy.url,
                    "--objects", "s3://rye/again", "--json"), check=False)  # fmt: skip
        assert error_of(taken)["code"] == "registry-exists"

    def test_a_store_that_does_not_answer_is_503_and_publishing_goes_on_afterwards(
        self, proxy: StallingProxy, tmp_path: Path
    ) -> None:
        with in_bucket(proxy, tmp_path / "data", store_wait_seconds=1.0) as (_, client):
            acme = Publisher("acme")
            proxy.open.clear()
            refused = client.statements(acme.claim())
            assert (refused.status_code, error_code(refused)) == (503, "store-silent")
            assert refused.headers["Retry-After"]
            assert error_code(client.get("/readyz")) == "store-silent"
            proxy.open.set()
            assert client.statements(acme.claim()).status_code == 200
            assert client.get("/readyz").status_code == 200

    def test_sigterm_ends_the_server_in_time_while_the_store_hangs(self, proxy: StallingProxy, tmp_path: Path) -> None:
        with in_bucket(proxy, tmp_path / "data", store_wait_seconds=60.0, stop_seconds=2) as (process, client):
            proxy.open.clear()
            answers: list[object] = []

            def publish() -> None:
                try:
                    answers.append(client.statements(Publisher("acme").claim()).status_code)
                except httpx.HTTPError as error:
                    answers.append(error)

            waiting = threading.Thread(target=publish)
            waiting.start()
            time.sleep(1)
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            process.wait(30)
            assert time.monotonic() - began < 20  # the store hangs for a minute
            waiting.join(20)
            assert answers != [200]
            written = (tmp_path / "data" / "server.log").read_text()
            assert "Traceback" not in written
            assert "in use" not in written


class TestFullDisk:
    @pytest.fixture
    def small(self, tmp_path: Path) -> Iterator[Path]:
        folder = tmp_path / "small"
        folder.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], capture_output=True, check=False
        )
        if mounted.returncode:
            pytest.skip("only root can mount a small disk")
        yield folder
        subprocess.run(["umount", "-l", str(folder)], check=True)

    def test_it_answers_507_loses_nothing_and_goes_on_when_there_is_room(self, small: Path) -> None:
        data = small / "data"
        init(data)
        process, url = start_embedded(data)
        try:
            client, acme = Client(url, token(data)), Publisher("acme")
            client.statements(acme.claim()).raise_for_status()
            client.publish(acme, "a/before").raise_for_status()
            filler = small / "filler"
            left = os.statvfs(small)
            filler.write_bytes(b"x" * max(left.f_bavail * left.f_frsize - 40_000, 0))
            refused = None
            for number in range(60):
                answer = client.statements(Publisher(f"space-{number}").claim())
                if answer.status_code != 200:
                    refused = answer
                    break
            assert refused is not None
            assert (refused.status_code, error_code(refused)) == (507, "storage-full")
            assert error_code(client.blob(os.urandom(100_000))) == "storage-full"
            assert client.get("/readyz").status_code == 507
            assert client.get("/head").status_code == 200
            filler.unlink()
            assert client.publish(acme, "a/after").status_code == 200
            assert client.get("/readyz").status_code == 200
            assert run("verify", "--data", str(data), check=False).returncode == 0
        finally:
            stop_embedded(process)
        assert "Traceback" not in (data / "server.log").read_text()

    def test_a_restart_without_room_serves_files_and_opens_the_rest_when_there_is_room(
        self, small: Path, tmp_path: Path
    ) -> None:
        data = small / "data"
        init(data)
        secret = token(data)
        process, url = start_embedded(data)
        acme = Publisher("acme")
        Client(url, secret).statements(acme.claim()).raise_for_status()
        stop_embedded(process)
        filler = small / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(b"x" * 4096):
                pass
        assert os.statvfs(small).f_bavail == 0
        ready = tmp_path / "ready.json"
        with (tmp_path / "said").open("wb") as said:
            process = launch([sys.executable, "-P", "-m", "registry_server.cli", "serve", "--data", str(data), "--port", "0",
                              "--ready-file", str(ready)], said)  # fmt: skip
        try:
            until(ready.exists)
            document = json.loads(ready.read_text())
            assert document["origin"] == ORIGIN
            client = Client(document["url"], secret)
            for path in ("head", "checkpoint", "config.json", "root/1"):
                assert client.get(f"/{path}").content == (data / "public" / path).read_bytes(), path
            assert client.get("/livez").status_code == 200
            for answer in (client.get("/readyz"), client.statements(acme.claim()), client.get("/api/v1/whoami")):
                assert (answer.status_code, error_code(answer)) == (507, "storage-full")
            filler.unlink()
            until(lambda: client.get("/readyz").status_code == 200)
            assert client.publish(acme, "a/after").status_code == 200
        finally:
            stop_embedded(process)
        assert "Traceback" not in (tmp_path / "said").read_text()
        assert run("verify", "--data", str(data), check=False).returncode == 0

    def test_commands_say_it_in_words(self, small: Path) -> None:
        data = small / "data"
        init(data)
        left = os.statvfs(small)
        (small / "filler").write_bytes(b"x" * (left.f_bavail * left.f_frsize - 4096))
        for command in (["root", "renew"], ["export", str(small / "copy")], ["backup", str(small / "backup")]):
            done = run(*command, "--data", str(data), "--json", check=False)
            if command[0] == "root":
                assert error_of(done)["code"] == "storage-full"
            else:
                assert "Traceback" not in done.stderr


def until(is_over: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_over():
        assert time.monotonic() < deadline
        time.sleep(0.05)


class TestClients:
    def test_a_client_that_hangs_up_is_no_error(self, tmp_path: Path) -> None:
        data = tmp_path / "data"
        init(data)
        process, url = start_embedded(data)
        try:
            client = Client(url, token(data))
            parts = urlsplit(url)
            for _ in range(3):
                with socket.create_connection((str(parts.hostname), int(parts.port or 0))) as connection:
                    connection.sendall(
                        f"POST /api/v1/statements HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {client.token}\r\n"
                        "Content-Length: 1000\r\n\r\nonly this".encode()
                    )
            time.sleep(1)
            assert client.get("/readyz").status_code == 200
        finally:
            stop_embedded(process)
        lines = [json.loads(line) for line in (data / "server.log").read_text().splitlines() if line.startswith("{")]
        assert {line["level"] for line in lines} == {"info"}
        assert not any("error" in line for line in lines)

    def test_the_ready_file_appears_when_the_port_answers(self, tmp_path: Path) -> None:
        data = tmp_path / "data"
        init(data)
        for _ in range(3):
            process, url = start_embedded(data)
            try:
                assert httpx.get(f"{url}/head", timeout=5).status_code == 200  # the first attempt
            finally:
                stop_embedded(process)
