"""A registry whose files are in an S3 bucket: a real endpoint on loopback, the same code as for a folder."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry_server.embedded import start_embedded, stop_embedded
from registry_server.settings import Settings
from registry_server.storage.store_factory import public_objects
from registry_server.storage.store_seam import ABSENT, ChangedError
from rye.items.identity import Identity
from rye.registry.client import RegistryClient
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from tests.scenes.publisher import Client, Publisher
from tests.scenes.registry_process import ORIGIN, run, token

pytestmark = pytest.mark.processes


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    moto = pytest.importorskip("moto.server")
    import boto3  # type: ignore[import-untyped]

    for name, value in {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    boto3.client("s3", endpoint_url=address).create_bucket(Bucket="rye")
    yield address
    server.stop()


def test_a_store_in_a_bucket_behaves_like_a_folder(endpoint: str, tmp_path: Path) -> None:
    store = public_objects(Settings(data=tmp_path, objects="s3://rye/registry", s3_endpoint=endpoint))
    assert store.get("head") is None
    store.put("head", b"one")
    store.put("head", b"two")
    store.put_all([("tile/0/000.p/7", b"y"), ("head", b"two")])
    assert store.get("head") == b"two"
    assert sorted((path, size) for path, size, _ in store.listing()) == [("head", 3), ("tile/0/000.p/7", 1)]
    store.delete("head")
    store.delete("head")
    assert store.get("head") is None


def test_a_registry_in_a_bucket_is_published_to_read_and_exported(endpoint: str, tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    run("init", "--origin", ORIGIN, "--data", str(data), "--objects", "s3://rye/prod", "--s3-endpoint", endpoint)
    assert not (data / "public").exists()
    process, url = start_embedded(data)
    try:
        client = Client(url, token(data))
        acme = Publisher("acme")
        client.statements(acme.claim()).raise_for_status()
        client.publish(acme, "a/item").raise_for_status()
        run("export", str(copy), "--data", str(data))
        store, cache = StateStore(tmp_path / "state"), Cache(tmp_path / "cache")
        identity = Identity("directive", "acme/a/item")
        for address in (url, copy.as_uri()):
            with RegistryClient.open(address, accept_root=lambda _proposal: True, store=store, cache=cache) as reader:
                records = reader.releases([identity])[identity]
                reader.fetch_items(records)
                reader.prove(records)
        assert run("verify", "--data", str(data)).returncode == 0
    finally:
        stop_embedded(process)


def test_the_head_is_replaced_only_if_it_is_the_one_that_was_read(endpoint: str, tmp_path: Path) -> None:
    """If-Match and If-None-Match: a leader that was paused and continues cannot overwrite a newer head with its old one."""
    settings = Settings(data=tmp_path, objects="s3://rye/conditional", s3_endpoint=endpoint)
    one, two = public_objects(settings), public_objects(settings)
    assert one.get_tagged("head") == (None, ABSENT)
    first = one.replace("head", b"first", ABSENT)
    with pytest.raises(ChangedError):
        two.replace("head", b"late", ABSENT)
    content, seen = two.get_tagged("head")
    assert (content, seen) == (b"first", first)
    one.replace("head", b"second", first)
    with pytest.raises(ChangedError):
        two.replace("head", b"late", seen)
    assert one.get("head") == b"second"


def test_an_older_database_beside_a_bucket_writes_nothing(endpoint: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    run("init", "--origin", ORIGIN, "--data", str(data), "--objects", "s3://rye/behind", "--s3-endpoint", endpoint)
    old = sqlite3.connect(data / "registry.db")
    kept = sqlite3.connect(tmp_path / "old.db")
    old.backup(kept)
    old.close()
    run("root", "renew", "--data", str(data))
    store = public_objects(Settings(data=tmp_path, objects="s3://rye/behind", s3_endpoint=endpoint))
    before = {path: store.get(path) for path, _, _ in store.listing()}
    (data / "registry.db").unlink()
    target = sqlite3.connect(data / "registry.db")
    kept.backup(target)
    target.close()
    kept.close()
    for command in (["serve", "--port", "0"], ["root", "renew"]):
        done = run(*command, "--data", str(data), "--json", check=False)
        assert json.loads(done.stdout)["error"]["code"] == "database-behind"
    assert {path: store.get(path) for path, _, _ in store.listing()} == before
