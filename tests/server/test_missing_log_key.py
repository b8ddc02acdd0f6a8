"""A registry without its log key serves readers, publishes nothing, and says so: at its start, in ``/readyz``, to publishers and
in ``verify``."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path

import pytest

from registry_server.accounts import registry_keys
from registry_server.sequencer.batching import TROUBLE
from rye.registry.protocol import wire
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, error_code
from tests.scenes.registry_process import init, run
from tests.server.delegated import handed_over

pytestmark = pytest.mark.processes


@pytest.fixture
def keyless(tmp_path: Path) -> Path:
    """A registry that served once, and whose log key is in the folder ``kept`` beside it now."""
    data = tmp_path / "data"
    init(data)
    with LocalRegistry(data, make=False) as local:
        local.owner("acme")
    (tmp_path / "kept").mkdir()
    (key,) = (data / "keys").glob("log-*.key")
    shutil.move(key, tmp_path / "kept" / key.name)
    return data


def ready(local: LocalRegistry) -> tuple[int, str]:
    """The status of ``/readyz``, and its code; empty: it is ready."""
    answer = local.get("/readyz")
    return answer.status_code, "" if answer.is_success else error_code(answer)


MISSING = (503, "log-key-missing")


def test_a_start_without_it_is_said_and_is_not_ready(keyless: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "rye.registry")
    with LocalRegistry(keyless, make=False) as local:
        (told,) = [record.getMessage() for record in caplog.records]
        assert told.startswith("nothing can be published: The key folder contains no log key of root 1")
        assert "restart" in told
        assert ready(local) == MISSING
        assert "rye_ready 0.0" in local.get("/metrics").text
        assert local.get("/head").status_code == 200


def test_it_stays_unready_however_often_it_is_asked(keyless: Path) -> None:
    """A check lets the sequencer show the newest head again, which works without the key."""
    with LocalRegistry(keyless, make=False) as local:
        beta = Publisher("beta")
        for _ in range(2):
            refused = local.statements(local.token(), beta.claim())
            assert (refused.status_code, error_code(refused)) == MISSING
            assert [ready(local) for _ in range(3)] == [MISSING] * 3


def test_a_store_that_works_again_does_not_hide_it(keyless: Path) -> None:
    with LocalRegistry(keyless, make=False) as local:
        local.service.sequencer.show()
        assert ready(local) == MISSING


def test_the_process_that_appends_under_load_says_it_as_well(keyless: Path) -> None:
    with LocalRegistry(keyless, make=False) as local:
        handed_over(local.service.sequencer)
        assert error_code(local.statements(local.token(), Publisher("beta").claim())) == "log-key-missing"
        assert [ready(local) for _ in range(3)] == [MISSING] * 3


def test_with_the_key_back_it_is_ready_after_a_restart(keyless: Path, tmp_path: Path) -> None:
    for path in (tmp_path / "kept").iterdir():
        shutil.copy(path, keyless / "keys")
    with LocalRegistry(keyless, make=False) as local:
        assert ready(local) == (200, "")
        assert local.statements(local.token(), Publisher("beta").claim()).status_code == 200


def test_a_publisher_is_told_whom_to_ask(keyless: Path) -> None:
    with LocalRegistry(keyless, make=False) as local:
        error = local.statements(local.token(), Publisher("beta").claim()).json()["error"]
    assert error["code"] == "log-key-missing"
    assert "cannot publish anything" in error["message"]
    assert "operator" in error["hint"]
    assert "rye-registry" not in error["message"] + error["hint"]


def test_what_only_the_operator_can_change_is_no_fault_of_a_request() -> None:
    assert wire.OPERATOR_ERRORS <= TROUBLE


def test_verify_finds_it(keyless: Path, tmp_path: Path) -> None:
    """A warning: the files are all right, and a rehearsal (docs/how-to/registry-recovery.md) leaves the key out."""
    found = run("verify", "--data", str(keyless))
    assert "No problems" not in found.stdout
    assert "contains no log key of root 1" in found.stderr
    document = json.loads(run("verify", "--data", str(keyless), "--json").stdout)
    assert document["ok"]
    assert [text.endswith("(log-key-missing)") for text in document["warnings"]] == [True]
    foreign = registry_keys.PrivateKey.generate("other.example")
    registry_keys.write(keyless / "keys" / registry_keys.file_name("log", foreign), foreign)
    assert "contains no log key of root 1" in run("verify", "--data", str(keyless)).stderr
    for path in (tmp_path / "kept").iterdir():
        shutil.copy(path, keyless / "keys")
    whole = run("verify", "--data", str(keyless))
    assert whole.stdout.startswith("No problems found")
    assert "warning" not in whole.stderr
