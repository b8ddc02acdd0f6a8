"""What `rye-registry` says when it made or restored something: each value has its name, and a hint fits the command."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from registry_server.embedded import start_embedded, stop_embedded
from rye.signing.private_text import seal
from tests.scenes.registry_process import init, run

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("words") / "data"
    init(folder)
    return folder


def test_a_trusted_publisher_is_told_in_a_sentence(data: Path) -> None:
    words = ("--repository", "acme/site", "--workflow", "release.yml", "--environment", "live")
    shown = run("publisher", "add", "acme", *words, "--data", str(data)).stdout
    said, identifier = shown.splitlines()
    assert "acme/site release.yml in live" in said
    assert "tokens for acme, with the scope stage." in said
    (listed,) = json.loads(run("publisher", "list", "--data", str(data), "--json").stdout)["publishers"]
    assert identifier == f"ID: {listed['id']}"


def test_a_webhooks_id_and_secret_have_their_names(data: Path) -> None:
    shown = run("webhook", "add", "https://hooks.example.org/rye", "--data", str(data)).stdout
    (listed,) = json.loads(run("webhook", "list", "--data", str(data), "--json").stdout)["webhooks"]
    assert f"ID: {listed['id']}\n" in shown
    assert re.search(r"^Secret: \S{20,}$", shown, re.MULTILINE)


def test_a_group_that_no_sign_in_has_is_a_warning(data: Path) -> None:
    run("team", "create", "ops", "--data", str(data))
    said = run("team", "map", "platform", "ops", "--data", str(data)).stderr
    assert said.startswith("warning: `oidc_issuer` is not set")
    assert "next sign-in" not in said
    run("team", "unmap", "platform", "ops", "--issuer", "", "--data", str(data))  # the command that it names
    with (data / "registry.toml").open("a") as file:
        file.write('oidc_issuer = "https://id.example.org"\noidc_client_id = "rye"\n')
    assert "next sign-in" in run("team", "map", "platform", "ops", "--data", str(data)).stderr


def test_keys_in_a_backup_and_a_wrong_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "__kwdefaults__", {"operations": 1, "memory": 8192})
    data, backup, fresh = tmp_path / "data", tmp_path / "backup", tmp_path / "fresh"
    init(data)
    process, _ = start_embedded(data)
    stop_embedded(process)
    monkeypatch.setenv("RYE_REGISTRY_PASSPHRASE", "right")
    said = run("backup", str(backup), "--with-keys", "--data", str(data)).stderr
    assert "contains 2 private keys, sealed" in said
    monkeypatch.setenv("RYE_REGISTRY_PASSPHRASE", "wrong")
    wrong = run("restore", "--from", str(backup), "--with-keys", "--data", str(fresh), "--json", check=False)
    error = json.loads(wrong.stdout)["error"]
    assert error["code"] == "wrong-passphrase"
    assert "Nothing was restored" in error["message"]
    assert "RYE_REGISTRY_PASSPHRASE" in error["hint"]
    assert "rye keys" not in error["hint"]
    assert not fresh.exists()
    nothing = run("verify", "--data", str(fresh), "--json", check=False)
    assert "restore --from" in json.loads(nothing.stdout)["error"]["hint"]
