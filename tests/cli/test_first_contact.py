"""A registry that only a repository names is contacted only after this user agreed (DESIGN 6.1)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from rye.storage.home import Home
from tests.scenes.directive_text import directive
from tests.scenes.installed import put
from tests.scenes.person import Person

pytestmark = pytest.mark.processes


class Listener:
    """A web server that answers nothing useful, and records its visitors."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_error(404)

            def log_message(self, *_: object) -> None:
                return None

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def clone(tmp_path_factory: pytest.TempPathFactory, listener: Listener) -> Person:
    """A repository with a locked item, on a machine that verified and pinned nothing."""
    person = Person(tmp_path_factory.mktemp("clone"))
    person.write(
        "rye.toml",
        f'[project]\nregistry = "{listener.url}"\nnamespace = "shop"\n\n[dependencies]\n"acme/work/top" = "*"\n',
    )
    elsewhere = Home.from_environment({**person.environment, "RYE_DATA_DIR": str(person.home / "elsewhere")})
    place = "acme/directives/work/top.md"
    put(elsewhere, person.folder, "directive", "acme/work/top", place, directive("work/top").encode())
    return person


COMMANDS = (
    ("render", "acme/work/top"),
    ("show", "acme/work/top"),
    ("ci",),
    ("install",),
    ("audit",),
    ("outdated",),
    ("update",),
    ("lock",),
    ("info", "acme/work/top"),
    ("search", "work"),
    ("diff", "acme/work/top"),
    ("doctor",),
    ("namespace", "show", "acme"),
    ("log", "verify"),
    ("whoami",),
    ("sbom",),
    ("add", "acme/work/other"),
)


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_off_a_terminal_nobody_contacts_it(clone: Person, listener: Listener, words: tuple[str, ...]) -> None:
    done = clone.run(*words, "--json")
    assert listener.asked == []
    if words[0] not in ("search", "doctor", "whoami", "show", "render"):
        assert done.code == 1
    if words[0] in ("info", "audit", "outdated", "update"):
        assert done.error["code"] == "registry-unpinned"
        assert f"rye registry add {listener.url}" in done.error["hint"]
    if words[0] == "render":
        assert (done.error["code"], done.error["cause"]) == ("unverified-item", "registry-unpinned")
        assert f"rye registry add {listener.url}" in done.error["hint"]


def test_on_a_terminal_it_asks_first(clone: Person, listener: Listener) -> None:
    shown = clone.terminal("outdated", answer=b"n\n")
    assert listener.url in shown
    assert "Contact it? [y/N]" in shown
    assert listener.asked == []
    clone.terminal("outdated", answer=b"y\n")
    assert "/root/1" in listener.asked


@pytest.mark.parametrize("how", ["registry add", "--registry", "the user's setting"])
def test_what_the_user_names_is_contacted(clone: Person, listener: Listener, how: str) -> None:
    if how == "registry add":
        clone.run("registry", "add", listener.url)
    elif how == "--registry":
        clone.run("info", "acme/work/top", "--registry", listener.url)
    else:
        clone.ok("config", "set", "registry", listener.url)
        clone.run("info", "acme/work/top")
    assert "/root/1" in listener.asked


def test_tree_and_why_mark_rows_that_nobody_verified(clone: Person, listener: Listener) -> None:
    [node] = clone.ok("tree", "--json").json["tree"]
    assert node["state"] == "unverified"
    assert clone.ok("tree").stdout == "directive:acme/work/top 1.0.0 (unverified)\n"
    why = clone.ok("why", "acme/work/top", "--json").json
    assert (why["state"], why["unverified"]) == ("unverified", ["directive:acme/work/top"])
    assert clone.ok("why", "acme/work/top").stdout == "rye.toml → directive:acme/work/top 1.0.0 (unverified)\n"
    seen = {"RYE_DATA_DIR": str(clone.home / "elsewhere")}
    assert clone.ok("tree", "--json", env=seen).json["tree"][0]["state"] == "ok"
    assert clone.ok("why", "acme/work/top", env=seen).stdout == "rye.toml → directive:acme/work/top 1.0.0\n"
    assert listener.asked == []
