"""``rye-registry`` as a program: real processes, signals, kill -9, offline root keys, static copies."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import httpx
import pytest
from click.testing import CliRunner

from registry_server.cli.serve import serve
from registry_server.embedded import launch, start_embedded, stop_embedded
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.client import RegistryClient
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from tests.scenes.publisher import Client, Publisher
from tests.scenes.registry_process import ORIGIN, init, run, spawn, token

pytestmark = pytest.mark.processes


def error_of(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    assert "Traceback" not in done.stderr
    error: dict[str, str] = json.loads(done.stdout)["error"]
    return error


class TestFolder:
    def test_a_folder_that_nobody_named_is_told_once(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.delenv("RYE_REGISTRY_DATA", raising=False)
        told = f"The registry's folder: {tmp_path / 'rye-registry-data'} (--data names another).\n"
        refused = run("account", "list", check=False)
        assert (refused.returncode, refused.stderr.count(told)) == (1, 1)
        assert list(tmp_path.iterdir()) == []
        run("init", "--origin", ORIGIN)
        assert run("account", "list").stderr == told
        assert run("account", "list", "--json").stderr == ""
        assert run("account", "list", "--data", "rye-registry-data").stderr == ""
        assert run("account", "list", RYE_REGISTRY_DATA="rye-registry-data").stderr == ""


class TestInit:
    def test_what_the_environment_gives_is_used_and_not_written_down(self, tmp_path: Path) -> None:
        data, elsewhere = tmp_path / "data", tmp_path / "elsewhere.db"
        address = f"sqlite:///{elsewhere}"
        run("init", "--origin", ORIGIN, "--data", str(data), RYE_REGISTRY_DATABASE=address)
        assert elsewhere.is_file()
        assert not (data / "registry.db").exists()
        assert "elsewhere" not in (data / "registry.toml").read_text()
        assert run("verify", "--data", str(data), RYE_REGISTRY_DATABASE=address).returncode == 0

    def test_it_makes_a_registry_that_verifies_and_keeps_its_keys_to_itself(self, tmp_path: Path) -> None:
        data = tmp_path / "data"
        made = run("init", "--origin", ORIGIN, "--data", str(data), "--json")
        assert len(json.loads(made.stdout)["fingerprint"]) == 64
        assert stat.S_IMODE((data / "keys").stat().st_mode) == 0o700
        for key in (data / "keys").iterdir():
            assert stat.S_IMODE(key.stat().st_mode) == 0o600
        assert run("verify", "--data", str(data)).returncode == 0
        assert {path.name for path in (data / "public").iterdir()} >= {
            "head",
            "checkpoint",
            "config.json",
            "root",
            "tile",
        }

    def test_it_never_touches_a_folder_that_holds_something(self, tmp_path: Path) -> None:
        data = tmp_path / "data"
        init(data)
        before = (data / "public" / "head").read_bytes()
        again = run("init", "--origin", ORIGIN, "--data", str(data), "--json", check=False)
        assert again.returncode == 1
        assert error_of(again)["code"] == "registry-exists"
        assert (data / "public" / "head").read_bytes() == before

    def test_a_bad_origin_leaves_nothing_behind(self, tmp_path: Path) -> None:
        done = run("init", "--origin", "Not An Origin", "--data", str(tmp_path / "data"), "--json", check=False)
        assert error_of(done)["code"] == "invalid-value"
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        "command", [["token", "create", "ci"], ["account", "list"], ["verify"], ["backup", "copy"]]
    )
    def test_a_command_without_the_variable_that_names_the_database_says_so_and_makes_no_other(
        self, tmp_path: Path, command: list[str]
    ) -> None:
        data, elsewhere = tmp_path / "data", tmp_path / "elsewhere.db"
        run("init", "--origin", ORIGIN, "--data", str(data), RYE_REGISTRY_DATABASE=f"sqlite:///{elsewhere}")
        done = run(*command, "--data", str(data), "--json", check=False)
        assert (done.returncode, error_of(done)["code"]) == (1, "no-database")
        assert "RYE_REGISTRY_DATABASE" in error_of(done)["hint"]
        assert not (data / "registry.db").exists()

    def test_the_owners_key_can_stay_away_from_the_server(self, tmp_path: Path) -> None:
        data, key = tmp_path / "data", tmp_path / "usb" / "owner.key"
        run("init", "--origin", ORIGIN, "--data", str(data), "--root-key-out", str(key))
        assert key.exists()
        assert [path.name[:4] for path in (data / "keys").iterdir()] == ["log-"]
        renewed = run("root", "renew", "--data", str(data), "--json", check=False)
        assert error_of(renewed)["code"] == "no-key"
        assert run("root", "renew", "--data", str(data), "--key", str(key)).returncode == 0


class TestWords:
    @pytest.mark.parametrize(
        ("arguments", "code", "exit_code"),
        [
            (["nonsense"], "usage", 2),
            (["serve", "--data", "/nowhere/at/all"], "no-registry", 1),
            (["token", "list", "--data", "/nowhere/at/all"], "no-registry", 1),
            (["serve", "--port", "70000"], "usage", 2),
            (["root", "sign", "missing.txt", "--key", "missing.key"], "unreadable", 1),
        ],
    )
    def test_an_error_is_one_document_and_an_exit(self, arguments: list[str], code: str, exit_code: int) -> None:
        done = run(*arguments, "--json", check=False)
        assert done.returncode == exit_code
        assert error_of(done)["code"] == code
        plain = run(*arguments, check=False)
        assert plain.stderr.startswith("error: ")
        assert "hint: " in plain.stderr
        assert "Traceback" not in plain.stderr

    def test_help_lists_the_commands(self) -> None:
        assert all(name in run("--help").stdout for name in ("init", "serve", "token", "export", "verify", "root"))

    def test_tokens_are_listed_without_their_secrets(self, tmp_path: Path) -> None:
        init(tmp_path / "data")
        made = run("token", "create", "ci", "--namespace", "acme", "--data", str(tmp_path / "data")).stdout.strip()
        listed = run("token", "list", "--data", str(tmp_path / "data"), "--json").stdout
        assert json.loads(listed)["tokens"][0]["namespaces"] == ["acme"]
        assert made[-43:] not in listed


class TestServe:
    @pytest.mark.thorough
    def test_a_port_in_use_is_said_with_another_to_try(self, tmp_path: Path) -> None:
        init(tmp_path / "data")
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen(1)
            port = taken.getsockname()[1]
            done = spawn("serve", "--data", str(tmp_path / "data"), "--port", str(port), "--json", check=False)
        error = error_of(done)
        assert error["code"] == "address-in-use"
        assert str(port + 1) in error["hint"]

    @pytest.mark.parametrize(
        ("settings", "expected"),
        [
            ('host = "0.0.0.0"\n', True),
            ('trusted_proxies = "10.0.0.1"\n', True),
            ('host = "0.0.0.0"\naddress = "https://registry.example.org"\n', False),
            ("", False),
        ],
    )
    def test_it_says_at_the_start_if_links_lead_where_no_reader_gets(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, expected: bool
    ) -> None:
        init(tmp_path / "data")
        with (tmp_path / "data" / "registry.toml").open("a") as file:
            file.write(settings)
        monkeypatch.setattr("registry_server.cli.serve.run", lambda *_, **__: None)
        said = CliRunner().invoke(serve, ["--data", str(tmp_path / "data")])
        assert ("set `address`" in " ".join(said.output.split())) == expected

    def test_ctrl_c_while_it_starts_leaves_no_server_running(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        init(tmp_path / "data")
        started: list[subprocess.Popen[bytes]] = []
        sleep = time.sleep

        def interrupt(_seconds: float) -> None:
            monkeypatch.setattr("time.sleep", sleep)
            raise KeyboardInterrupt

        def launched(words: Sequence[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
            started.append(launch(words, log))
            monkeypatch.setattr("time.sleep", interrupt)
            return started[0]

        monkeypatch.setattr("registry_server.embedded.launch", launched)
        with pytest.raises(KeyboardInterrupt):
            start_embedded(tmp_path / "data")
        assert started[0].returncode is not None

    def test_a_second_server_on_the_port_is_refused(self, tmp_path: Path) -> None:
        init(tmp_path / "data")
        process, url = start_embedded(tmp_path / "data")
        try:
            port = int(url.rpartition(":")[2])
            with pytest.raises(RyeError, match="in use"):
                start_embedded(tmp_path / "data", port=port)
        finally:
            stop_embedded(process)

    def test_the_ready_file_tells_the_port_and_sigterm_ends_it_cleanly(self, tmp_path: Path) -> None:
        init(tmp_path / "data")
        ready = tmp_path / "ready.json"
        process = subprocess.Popen(
            [sys.executable, "-m", "registry_server.cli", "serve", "--data", str(tmp_path / "data"), "--port", "0",
             "--ready-file", str(ready)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while not ready.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        facts = json.loads(ready.read_text())
        assert facts["pid"] == process.pid
        with httpx.Client(base_url=facts["url"]) as kept_alive:
            assert kept_alive.get("/readyz").status_code == 200
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=20)
        assert process.returncode == 0
        said = [json.loads(line) for line in err.splitlines()]
        assert [line["message"].split()[0] for line in said] == ["opening", "comparing"]  # slow steps are announced
        assert {line["level"] for line in said} == {"info"}
        assert facts["url"] in out
        assert not ready.exists()

    def test_what_was_answered_survives_kill_9_among_many_publishers(self, tmp_path: Path) -> None:
        data = tmp_path / "data"
        fingerprint = init(data)
        process, url = start_embedded(data)
        client = Client(url, token(data))
        acme = Publisher("acme")
        client.statements(acme.claim()).raise_for_status()
        answered: list[str] = []

        def publish(worker: int) -> None:
            for number in range(1000):
                name = f"w{worker}/item_{number}"
                try:
                    if client.publish(acme, name).status_code == 200:
                        answered.append(name)
                except (httpx.HTTPError, OSError):
                    return

        threads = [threading.Thread(target=publish, args=(worker,)) for worker in range(6)]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 60
        while len(answered) < 12 and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        for thread in threads:
            thread.join()
        assert len(answered) >= 12
        process, url = start_embedded(data)
        try:
            assert run("verify", "--data", str(data), check=False).returncode == 0
            store, cache = StateStore(tmp_path / "state"), Cache(tmp_path / "cache")
            with RegistryClient.open(url, accept_root=fingerprint, store=store, cache=cache) as reader:
                identities = [Identity("directive", f"acme/{name}") for name in answered]
                found = reader.releases(identities)
                assert [identity for identity in identities if not found.get(identity)] == []
                reader.prove([records[0] for records in found.values()])
            again = Client(url, client.token).publish(acme, "after/restart")
            assert again.status_code == 200
        finally:
            stop_embedded(process)


class TestOwners:
    def test_two_of_three_owners_sign_a_new_root_on_machines_of_their_own(self, tmp_path: Path) -> None:
        data = tmp_path / "data"
        fingerprint = init(data)
        (first,) = (data / "keys").glob("root-*.key")
        public = [
            run("root", "key", str(tmp_path / f"{name}.key"), "--origin", ORIGIN).stdout.strip() for name in ("b", "c")
        ]
        draft = tmp_path / "root2"
        run("root", "draft", *("-o", str(draft), "--add-owner", public[0], "--add-owner", public[1], "--threshold", "2",
            "--data", str(data)))  # fmt: skip
        run("root", "sign", str(draft), "--key", str(tmp_path / "b.key"))
        refused = run("root", "publish", str(draft), "--data", str(data), "--json", check=False)
        assert error_of(refused)["code"] == "root-signatures"
        run("root", "sign", str(draft), "--key", str(first))
        run("root", "publish", str(draft), "--data", str(data))
        alone = run("root", "renew", "--data", str(data), "--key", str(tmp_path / "c.key"), "--json", check=False)
        assert error_of(alone)["code"] == "root-signatures"
        assert run("verify", "--data", str(data)).returncode == 0
        store, cache = StateStore(tmp_path / "state"), Cache(tmp_path / "cache")
        address = (data / "public").as_uri()
        with RegistryClient.open(address, accept_root=fingerprint, store=store, cache=cache) as reader:
            assert reader.state.root.number == 2
            assert reader.state.root.threshold == 2

    def test_the_logs_key_is_replaced(self, tmp_path: Path) -> None:
        data = tmp_path / "data"
        fingerprint = init(data)
        (old,) = (data / "keys").glob("log-*.key")
        (owner,) = (data / "keys").glob("root-*.key")
        text = json.loads(run("root", "show", "--data", str(data), "--json").stdout)["text"]
        old_public = next(line for line in text.splitlines() if line.startswith("log "))[4:]
        fresh = run("root", "key", str(tmp_path / "log.key"), "--origin", ORIGIN, "--log").stdout.strip()
        draft = tmp_path / "root2"
        run("root", "draft", *("-o", str(draft), "--add-log", fresh, "--remove-log", old_public, "--data", str(data)))
        run("root", "sign", str(draft), "--key", str(owner))
        lost = run("root", "publish", str(draft), "--data", str(data), "--json", check=False)
        assert error_of(lost)["code"] == "log-key-missing"
        run("root", "publish", str(draft), "--log-key", str(tmp_path / "log.key"), "--data", str(data))
        old.unlink()
        store, cache = StateStore(tmp_path / "state"), Cache(tmp_path / "cache")
        address = (data / "public").as_uri()
        with RegistryClient.open(address, accept_root=fingerprint, store=store, cache=cache) as reader:
            assert reader.state.root.number == 2
        process, url = start_embedded(data)
        try:
            client = Client(url, token(data))
            assert client.statements(Publisher("acme").claim()).status_code == 200
        finally:
            stop_embedded(process)

    def test_a_key_of_another_registry_signs_nothing(self, tmp_path: Path) -> None:
        data = tmp_path / "data"
        init(data)
        run("root", "key", str(tmp_path / "other.key"), "--origin", "other.example.org")
        run("root", "draft", "-o", str(tmp_path / "draft"), "--data", str(data))
        done = run("root", "sign", str(tmp_path / "draft"), "--key", str(tmp_path / "other.key"), "--json", check=False)
        assert error_of(done)["code"] == "wrong-key"


class TestCopies:
    def test_an_export_is_a_registry_of_its_own_and_grows_incrementally(self, tmp_path: Path) -> None:
        data, copy = tmp_path / "data", tmp_path / "copy"
        fingerprint = init(data)
        process, url = start_embedded(data)
        try:
            client = Client(url, token(data))
            acme = Publisher("acme")
            client.statements(acme.claim()).raise_for_status()
            sizes = []
            for name in ("a/one", "a/two"):
                client.publish(acme, name).raise_for_status()
                first = json.loads(run("export", str(copy), "--data", str(data), "--json").stdout)["files"]
                second = json.loads(run("export", str(copy), "--data", str(data), "--json").stdout)["files"]
                assert (first > 0, second) == (True, 0)
                store, cache = StateStore(tmp_path / "state"), Cache(tmp_path / f"cache-{name[2:]}")
                with RegistryClient.open(copy.as_uri(), accept_root=fingerprint, store=store, cache=cache) as reader:
                    identity = Identity("directive", f"acme/{name}")
                    reader.fetch_items(reader.releases([identity])[identity])
                    assert reader.api is None
                    assert reader.state.checkpoint is not None
                    sizes.append(reader.state.checkpoint.size)
            assert sizes[0] < sizes[1]
        finally:
            stop_embedded(process)

    def test_rebuild_puts_back_what_verify_misses_and_prunes_what_no_head_needs(self, tmp_path: Path) -> None:
        data = tmp_path / "data"
        init(data)
        run("root", "renew", "--data", str(data))
        tile = next((data / "public" / "tile" / "0").glob("000.p/4"))
        tile.write_bytes(b"x" * 128)
        done = run("verify", "--data", str(data), "--json", check=False)
        assert (done.returncode, json.loads(done.stdout)["ok"]) == (1, False)
        old = data / "public" / "tile" / "0" / "000.p" / "2"
        os.utime(old, (0, 0))
        assert json.loads(run("rebuild", "--prune", "--data", str(data), "--json").stdout)["pruned"] == 1
        assert not old.exists()
        assert run("verify", "--data", str(data)).returncode == 0


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mistyped") / "data"
    init(folder)
    return folder


class TestWhatAnOperatorMistypes:
    """The hint is a command or a change that works."""

    def fails(self, data: Path, *words: str) -> tuple[str, str, str]:
        error = json.loads(run(*words, "--data", str(data), "--json", check=False).stdout)["error"]
        return error["code"], error["message"], error["hint"]

    def test_a_registry_that_is_there_is_served_not_made_again(self, data: Path) -> None:
        code, message, hint = self.fails(data, "init", "--origin", ORIGIN)
        assert (code, message) == ("registry-exists", f"There is already a registry in {data}.")
        assert f"`rye-registry serve --data {data}`" in hint

    def test_a_role_without_a_namespace_is_refused_instead_of_ignored(self, data: Path) -> None:
        assert self.fails(data, "account", "create", "bob", "--role", "reader")[:2] == (
            "usage",
            "--role needs --namespace.",
        )
        assert json.loads(run("account", "list", "--data", str(data), "--json").stdout)["accounts"] == []
        run("account", "create", "carol", "--namespace", "acme", "--data", str(data))
        (carol,) = json.loads(run("account", "list", "--data", str(data), "--json").stdout)["accounts"]
        assert carol["roles"] == [{"namespace": "acme", "role": "owner"}]

    def test_a_token_s_name_is_answered_with_its_id(self, data: Path) -> None:
        made = json.loads(run("token", "create", "builder", "--data", str(data), "--json").stdout)
        assert self.fails(data, "token", "revoke", "builder")[2] == f"Tokens of this name: {made['id']}."
        run("token", "revoke", made["id"], "--data", str(data))
        assert self.fails(data, "token", "revoke", "builder")[2] == "`rye-registry token list` shows all tokens."

    def test_a_root_that_nobody_signed_is_not_called_a_forgery(self, data: Path, tmp_path: Path) -> None:
        draft = tmp_path / "root-2"
        run("root", "draft", "-o", str(draft), "--data", str(data))
        code, message, hint = self.fails(data, "root", "publish", str(draft))
        assert (code, message) == ("root-signatures", "No owner has signed this root yet.")
        assert "rye-registry root sign" in hint

    def test_a_key_that_is_not_there_is_said_before_anything_is_shown(self, data: Path, tmp_path: Path) -> None:
        draft = tmp_path / "root-2"
        run("root", "draft", "-o", str(draft), "--data", str(data))
        done = run("root", "sign", str(draft), "--key", str(tmp_path / "none"), check=False)
        assert done.stderr.startswith(
            f"error: The key file {tmp_path / 'none'} cannot be read: No such file or directory."
        )
