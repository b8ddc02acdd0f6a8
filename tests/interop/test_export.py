"""``rye-registry export --plugins`` offers what the running registry does."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import sha256

from registry_server.sequencer.ledger import Ledger
from registry_server.storage import database
from registry_server.upkeep.plugins import plugins
from rye.registry.marketplaces import Export
from tests.interop.unchecked_registry import UncheckedRegistry

INDEX = ".well-known/agent-skills/index.json"


def export(local: UncheckedRegistry) -> Export:
    with database.reader(local.service.engine) as connection:
        return plugins(Ledger(connection), local.service.public, datetime.now(UTC))


def test_the_export_and_the_running_registry_give_the_same_indexes(local: UncheckedRegistry) -> None:
    local.release("acme/pdf", "1.0.0", {"scripts/run.sh": b"echo"})
    local.release("beta/pdf")
    local.release("beta/notes")
    found = export(local)
    for base in ("", "acme/", "beta/"):
        assert found[base + INDEX].data == local.get(f"/{base}{INDEX}").content


def test_two_skills_of_one_name_never_share_a_folder(local: UncheckedRegistry) -> None:
    local.release("acme/a/pdf", files={"a.md": b"a"})
    local.release("acme/b/pdf", files={"b.md": b"b"})
    local.release("acme/notes")
    found = export(local)
    assert {path.split("/")[3] for path in found if path.startswith("plugins/acme/skills/")} == {"notes"}
    assert [row["name"] for row in json.loads(found["acme/" + INDEX].data)["skills"]] == ["notes"]


def test_a_file_that_was_taken_down_elsewhere_does_not_stop_the_export(local: UncheckedRegistry) -> None:
    local.release("acme/pdf", "1.0.0")
    local.release("acme/pdf", "1.1.0", {"a.md": b"secret"})
    local.release("beta/notes", "1.0.0", {"b.md": b"secret"})
    local.take_down(sha256(b"secret").hexdigest())
    (row,) = json.loads(export(local)[INDEX].data)["skills"]
    assert (row["name"], row["version"].partition("+")[0]) == ("pdf", "1.0.0")
