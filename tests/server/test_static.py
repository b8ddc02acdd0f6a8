"""Which paths are served at all: a closed list (docs/reference/protocol.md)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry_server.storage.served import served
from rye.registry.protocol.wire import blob_path

HASH = "ab" + "0" * 62


@pytest.mark.parametrize(
    ("path", "immutable"),
    [
        ("/config.json", False),
        ("/head", False),
        ("/checkpoint", False),
        ("/root/1", True),
        ("/root/12", True),
        ("/tile/0/000", True),
        ("/tile/63/x001/x234/067.p/255", True),
        ("/tile/entries/x001/000.p/1", True),
        (f"/map/{HASH}", True),
        (f"/index/{HASH}", True),
        ("/" + blob_path(HASH), True),
    ],
)
def test_every_path_of_the_protocol_is_served(path: str, immutable: bool) -> None:
    found = served(path)
    assert found is not None
    assert found.is_immutable == immutable
    assert ("immutable" in found.cache_control) == immutable


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "/head/",
        "//head",
        "/head\n",
        "/../keys/log-00000000.key",
        "/tile/../../keys",
        "/tile/64/000",
        "/tile/00/000",
        "/tile/0/1",
        "/tile/0/000.p/0",
        "/tile/0/000.p/1/../..",
        "/root/0",
        "/root/01",
        "/root/１",
        f"/map/{HASH.upper()}",
        f"/shards/{HASH}",
        f"/map/{HASH}.tmp",
        f"/blobs/sha256/ac/{HASH}",
        f"/blobs/sha256/{HASH}",
        "/registry.db",
        "/config.json\0",
        "/.head.abc.tmp",
    ],
)
def test_nothing_else_is(path: str) -> None:
    assert served(path) is None


@given(st.text())
def test_what_is_served_never_leaves_the_folder(path: str) -> None:
    found = served("/" + path)
    if found is not None:
        assert ".." not in found.path
        assert not found.path.startswith("/")
