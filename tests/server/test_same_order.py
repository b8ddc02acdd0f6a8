"""One set of items has one order: in the registry's index and among items that are all at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from registry_server.search.documents import SearchDocument
from registry_server.search.finding import find
from rye.text.ranking.answering import answers, findable
from rye.text.ranking.scoring import Searched
from tests.server.test_search_on_both import filled

pytestmark = pytest.mark.processes

ITEMS = [
    SearchDocument("tool", "acme/deploy", "1.0.0", "Deploy an app to the cluster"),
    SearchDocument("tool", "acme/ops/deploy-app", "1.0.0", "Ship it", "release kubernetes"),
    SearchDocument("directive", "acme/deploy", "1.0.0", "Deploy with care"),
    SearchDocument("knowledge", "other/kubernetes", "1.0.0", "How clusters deploy apps", "operations"),
    SearchDocument("tool", "other/deployer", "1.0.0", "Deploys", "", True),
    SearchDocument("tool", "zoo/file-system", "1.0.0", "Read files and write them"),
    SearchDocument("skill", "zoo/keeper", "1.0.0", "Keeps files", "\nbackup:47 restor:20 deploi:5"),
    SearchDocument("skill", "zoo/backup", "1.0.0", "Keeps files", "operations\nrestor:10"),
]
QUERIES = (
    "deploy",
    "deploy app",
    "k8s",
    "kubernetse",
    "filesystem",
    "acme/deploy",
    "the a of",
    "deploy " * 250,
    "de",
    "release",
    "restore a backup",
    "backp",
)


def test_the_index_and_the_items_at_hand_agree(empty: str, tmp_path: Path) -> None:
    items = [
        findable(Searched(it.kind, it.id, it.description, it.keywords), (it.kind, it.id), deprecated=it.deprecated)
        for it in ITEMS
    ]
    for address in (empty, f"sqlite:///{tmp_path / 'registry.db'}"):
        with filled(address, tmp_path, ITEMS, [], []) as connection:
            for query in QUERIES:
                at_hand = [(kind, name, points) for points, (kind, name) in answers(query, items)]
                found = [(hit.kind, hit.id, hit.score) for hit in find(connection, query).hits]
                assert found == at_hand, (query, address)
