"""Quotas of namespaces: what the files of their releases take, each once, without what was taken down."""

from __future__ import annotations

from pathlib import Path

import pytest

from registry_server.accounts.quotas import NamespaceRoom
from registry_server.settings import Settings
from rye.errors import RyeError
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, error_code
from tests.scenes.registry_process import init, run


@pytest.mark.processes
def test_a_namespace_has_its_room_and_gets_it_back(tmp_path: Path) -> None:
    data = tmp_path / "data"
    init(data)
    acme, other = Publisher("acme"), Publisher("other")
    size = len(acme.file("work/x", "1.0.0"))
    lines = f'namespace_bytes = {size * 2 + size // 2}\nnamespace_quotas = ["other=1"]\n'
    with LocalRegistry(data, lines, make=False) as local:
        token = local.token()
        assert local.statements(token, acme.claim(), other.claim()).status_code == 200
        first = acme.file("work/x", "1.0.0")
        note = acme.note(acme.release("work/x", first, "1.0.0"))
        assert local.blob(first, token).status_code == 201
        assert local.statements(token, note).status_code == 200
        assert local.publish(acme, "work/x", token, "1.0.1").status_code == 200
        for publisher, version in ((acme, "1.0.2"), (other, "1.0.0")):
            refused = local.publish(publisher, "work/x", token, version)
            assert (refused.status_code, error_code(refused)) == (413, "namespace-full"), refused.text
        content = acme.file("work/x", "1.0.2")
        staged = local.post("/api/v1/stages", token, json={"drafts": [acme.release("work/x", content, "1.0.2").text()]})
        assert error_code(staged) == "namespace-full", staged.text
        assert local.statements(token, note).status_code == 200  # the same request again adds nothing
        assert local.statements(token, acme.yank("work/x")).status_code == 200  # nor do other statements
        run("takedown", "directive:acme/work/x@1.0.0", "--reason", "Room", "--data", str(data))
        assert local.publish(acme, "work/x", token, "1.0.2").status_code == 200


@pytest.mark.parametrize("text", ["acme", "acme=", "acme=0", "acme=1 GiB", "Acme=1", "acme=-1", "=1"])
def test_a_quota_that_cannot_be_read_is_refused_at_the_start(text: str, tmp_path: Path) -> None:
    for quotas in ((text,), ("acme=1", "acme=2")):
        with pytest.raises(RyeError) as raised:
            NamespaceRoom(Settings(data=tmp_path, namespace_quotas=quotas))
        assert raised.value.code == "bad-setting"
    NamespaceRoom(Settings(data=tmp_path, namespace_quotas=("acme=1", "other=2")))
