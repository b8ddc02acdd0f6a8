"""The server that `rye deploy` configures for a bound agent starts, and serves that directive only (design: agents 3.4)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.mcp.serving import BINDING, binding_of
from rye.storage.home import Home
from rye.workspace.context import LibraryContext
from tests.mcp.sessions import opened
from tests.scenes.installed import install, project_with_targets
from tests.scenes.item_texts import bound


def test_the_entry_of_a_bound_agent_starts_its_server(tmp_path: Path) -> None:
    shop = project_with_targets(tmp_path, 'targets = ["opencode"]')
    install(shop, "directive", "acme/work/ship", bound())
    shop.ok("deploy", "-y")
    settings = json.loads(shop.path("opencode.json").read_text())
    (entry,) = settings["mcp"].values()
    rye, *words = entry["command"]
    assert (rye, words[:3]) == ("rye", ["mcp", "serve", "--as"])
    run = opened(shop, words[3])
    assert run.session.chain.root.label == "directive:acme/work/ship@1.0.0"
    assert (
        binding_of(LibraryContext(cwd=shop.folder, home=shop.folders, environment=entry["environment"])) == "exclusive"
    )
    with pytest.raises(RyeError) as caught:
        opened(shop, "acme/work/ship@1.0.1")
    assert caught.value.code == "other-version"


def test_a_binding_that_means_nothing_is_refused(home: Home, tmp_path: Path) -> None:
    assert binding_of(LibraryContext(cwd=tmp_path, home=home)) == "advisory"
    with pytest.raises(RyeError, match=BINDING):
        binding_of(LibraryContext(cwd=tmp_path, home=home, environment={BINDING: "yes"}))
