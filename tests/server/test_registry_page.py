"""The account commands of docs/how-to/registry.md are run as written."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from registry_server.api.forwarded import client_address, is_secure, networks
from rye.errors import RyeError
from tests.scenes.registry_process import init, run

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to"
PAGE = "".join(
    (HOW_TO / name).read_text("utf-8") for name in ("registry.md", "registry-upkeep.md", "registry-access.md")
)


def commands(heading: str) -> list[list[str]]:
    """The arguments of each ``rye-registry`` line in the first block below a heading."""
    block = re.split(rf"\n##+ {heading}\n", PAGE)[1].partition("```\n")[2].partition("```")[0]
    lines = [re.sub(r"\s+#.*", "", line) for line in block.splitlines()]
    found = [shlex.split(line)[1:] for line in lines if line.startswith("rye-registry ")]
    assert found, heading
    return found


def test_who_may_do_what(tmp_path: Path) -> None:
    data = tmp_path / "data"
    init(data)
    played = commands("Tokens, accounts, roles")
    assert len(played) >= 9
    for words in played:
        run(*words, "--data", str(data))


def test_webhooks(tmp_path: Path) -> None:
    data = tmp_path / "data"
    init(data)
    for words in commands("Webhooks"):
        run(*words, "--data", str(data))


def test_trusted_publishing(tmp_path: Path) -> None:
    data = tmp_path / "data"
    init(data)
    for words in commands("Trusted publishing"):
        run(*words, "--data", str(data))
    assert len(run("publisher", "list", "--data", str(data)).stdout.splitlines()) == 2


@pytest.mark.parametrize(
    ("peer", "headers", "address", "secure"),
    [
        ("127.0.0.1", {}, "127.0.0.1", False),
        ("127.0.0.1", {"x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https"}, "203.0.113.9", True),
        ("127.0.0.1", {"x-forwarded-for": "6.6.6.6, 203.0.113.9"}, "203.0.113.9", False),  # the first one is invented
        ("127.0.0.1", {"x-forwarded-for": "203.0.113.9, 127.0.0.2"}, "203.0.113.9", False),
        ("127.0.0.1", {"x-forwarded-for": "<script>"}, "127.0.0.1", False),
        ("203.0.113.5", {"x-forwarded-for": "6.6.6.6", "x-forwarded-proto": "https"}, "203.0.113.5", False),
        ("::ffff:127.0.0.1", {"x-forwarded-for": "2001:db8::1"}, "2001:db8::1", False),
        ("127.0.0.1", {"x-forwarded-proto": "https, http"}, "127.0.0.1", False),
    ],
)
def test_only_a_trusted_proxy_says_where_a_request_came_from(
    peer: str, headers: dict[str, str], address: str, secure: bool
) -> None:
    scope = {
        "client": (peer, 1),
        "scheme": "http",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    assert client_address(scope, "") == address
    assert is_secure(scope, "") is secure


def test_a_setting_that_is_no_network_is_refused() -> None:
    with pytest.raises(RyeError, match="trusted_proxies"):
        networks("10.0.0.0/8, proxy.example")
