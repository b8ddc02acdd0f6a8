"""The page of the log says who cosigned it, when, and how far the cosigned head is behind."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from registry_server.storage import database
from registry_server.witnesses import records
from registry_server.witnesses.asking import WitnessAnswer
from registry_server.witnesses.collecting import Collector
from rye.errors import RyeError
from rye.registry.protocol.cosignatures import Cosigner
from tests.registry.witness_keys import ed25519, ml_dsa
from tests.scenes.local_registry import LocalRegistry
from tests.server.test_witnesses import Playing

A, QUANTUM, B = ed25519("a.example"), ml_dsa("a.example"), ed25519("b.example")


class Scene:
    """A registry that answers, whose witnesses are asked step by step."""

    def __init__(self, data: Path):
        self.local = LocalRegistry(data)
        service = self.local.service
        service.collector.stop()
        self.playing: dict[str, Playing] = {}
        self.collector = Collector(
            service.engine, service.public, service.settings, service.sequencer.learn_cosigned, self.ask
        )

    def ask(self, url: str, body: bytes, seconds: float) -> WitnessAnswer:
        return self.playing[url].answer(body)

    def add(self, url: str, *cosigners: Cosigner) -> Playing:
        with database.change(self.local.service.engine) as connection:
            for one in cosigners:
                records.add(connection, one.verifier.vkey, url, "2026-01-01T00:00:00Z")
        self.playing[url] = Playing(*cosigners)
        self.playing[url].time = int(time.time())
        return self.playing[url]

    def document(self) -> Any:
        return self.local.get("/-/log", headers={"Accept": "application/json"}).json()

    def words(self) -> str:
        """What a reader sees of witnesses; empty: nothing."""
        tree: html.HtmlElement = html.fromstring(self.local.get("/-/log", headers={"Accept": "text/html"}).content)
        found = [each.find("dd") for each in tree.iter("div") if each.findtext("dt") == "Witnesses"]
        return " ".join(found[0].text_content().split()) if found else ""


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    found = Scene(tmp_path / "data")
    yield found
    found.local.close()


def test_a_log_without_witnesses_says_nothing_of_them(scene: Scene) -> None:
    assert scene.document()["cosigned"] is None
    assert scene.words() == ""


def test_it_says_who_cosigned_and_when_and_a_kept_page_learns_it(scene: Scene) -> None:
    first, _ = scene.add("http://a", A, QUANTUM), scene.add("http://b", B)
    size = scene.document()["size"]
    assert scene.document()["cosigned"] == {"size": 0, "waiting": size, "seconds": 0, "by": []}
    assert scene.words() == "None has cosigned this log yet."
    scene.collector.round()  # no new head: only cosignatures
    found = scene.document()["cosigned"]
    assert (found["size"], found["waiting"], found["seconds"]) == (size, 0, 0)
    assert sorted((one["name"], one["algorithm"]) for one in found["by"]) == [
        ("a.example", "Ed25519"),
        ("a.example", "ML-DSA-44"),
        ("b.example", "Ed25519"),
    ]
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(first.time))
    assert scene.words().startswith("Enough of them have cosigned all entries.")
    assert f"b.example (Ed25519), {when}" in scene.words()


def test_it_says_how_far_the_cosigned_head_is_behind(scene: Scene) -> None:
    witness = scene.add("http://a", A)
    scene.collector.round()
    size = scene.document()["size"]
    witness.trouble = RyeError("witness-refused", "It is down.", None)
    time.sleep(1.1)  # heads have whole seconds
    scene.local.owner("acme")
    scene.collector.round()
    document = scene.document()
    found = document["cosigned"]
    assert (found["size"], found["waiting"]) == (size, document["size"] - size)
    assert found["waiting"] > 0
    assert 1 <= found["seconds"] <= 60
    assert f"Enough of them have cosigned {size} entries. {found['waiting']} newer entries wait" in scene.words()


def test_a_witness_that_was_removed_is_not_named(scene: Scene) -> None:
    scene.add("http://a", A)
    scene.add("http://b", B)
    scene.collector.round()
    assert "b.example" in scene.words()  # the control
    with database.change(scene.local.service.engine) as connection:
        records.remove(connection, "b.example")
    assert "b.example" not in scene.words()
    assert "a.example" in scene.words()
