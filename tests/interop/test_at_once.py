"""Reading while others publish and withdraw: no one gets partial data, or anything withdrawn before the request."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from registry_server.embedded import start_embedded, stop_embedded
from registry_server.interop import osv, skills
from registry_server.interop.interop_pool import MayRead
from registry_server.interop.paths import GitPack, GitRefs, wanted
from tests.interop.unchecked_registry import UncheckedRegistry

pytestmark = [pytest.mark.processes, pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")]
RELEASES = 4


def test_clones_while_releases_come(tmp_path: Path) -> None:
    local = UncheckedRegistry(tmp_path / "data")
    local.release("acme/s0")
    process, url = start_embedded(local.data)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    done, failures, seen = threading.Event(), list[str](), list[int]()

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", "-c", "http.proxy=", *words], cwd=tmp_path, env=environment, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip

    def clone(who: int) -> None:
        number = 0
        while not done.is_set() or number == 0:
            name = f"clone-{who}-{number}"
            number += 1
            cloned = git("clone", "-q", f"{url}/git/acme.git", name)
            if cloned.returncode:
                failures.append(cloned.stderr)
                continue
            checked = git("-C", name, "fsck", "--strict")
            failures.extend([checked.stderr] if checked.returncode else [])
            seen.append(len(list((tmp_path / name / "plugins/acme/skills").iterdir())))

    readers = [threading.Thread(target=clone, args=(who,)) for who in range(2)]
    try:
        for reader in readers:
            reader.start()
        for number in range(1, RELEASES):
            local.release(f"acme/s{number}")
        done.set()
        for reader in readers:
            reader.join(60)
        assert failures == []
        assert seen
        assert set(seen) <= set(range(1, RELEASES + 1))
        local.yank("acme/s3")
        git("clone", "-q", f"{url}/git/acme.git", "after")
        assert {path.name for path in (tmp_path / "after/plugins/acme/skills").iterdir()} == {
            f"s{number}" for number in range(RELEASES) if number != 3
        }
    finally:
        done.set()
        stop_embedded(process)
        local.close()


@pytest.mark.parametrize(
    ("path", "module", "name"),
    [("/acme/.well-known/agent-skills/index.json", skills, "index"), ("/osv/all.zip", osv, "entries")],
)
def test_many_who_ask_at_once_cost_as_much_as_one(
    local: UncheckedRegistry, monkeypatch: pytest.MonkeyPatch, path: str, module: Any, name: str
) -> None:
    local.release("acme/pdf", "1.0.0", {"a.md": b"0"})
    local.advise("acme/pdf")
    derive, derived = getattr(module, name), []

    def slowly(*words: Any) -> Any:
        derived.append(words)
        time.sleep(0.2)  # the others are waiting by then
        return derive(*words)

    monkeypatch.setattr(module, name, slowly)
    asked = wanted(path)
    assert asked is not None
    assert not isinstance(asked, GitRefs | GitPack)
    answers = [local.service.interop_pool.document(asked, MayRead()) for _ in range(4)]
    documents = {answer.result(30) for answer in answers}
    assert len(documents) == 1
    assert len(derived) == 1


def test_the_archive_of_advisories_is_made_once_for_what_is_in_it(
    local: UncheckedRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    local.release("acme/pdf")
    local.advise("acme/pdf", "1")
    make, made = osv.archive, list[int]()

    def archive(files: Mapping[str, bytes]) -> bytes:
        made.append(len(files))
        return make(files)

    monkeypatch.setattr(osv, "archive", archive)
    first = local.get("/osv/all.zip")
    assert local.get("/osv/all.zip").content == first.content
    assert local.get("/osv/all.zip", headers={"If-None-Match": first.headers["etag"]}).status_code == 304
    assert made == [1]
    local.advise("acme/pdf", "1", title="It is worse.")
    worse = local.get("/osv/all.zip")
    assert worse.headers["etag"] != first.headers["etag"]
    assert made == [1, 1]


def test_an_index_and_what_it_names_fit_while_releases_come(local: UncheckedRegistry) -> None:
    """An artifact's bytes are always those of one release, the one in the index or another."""
    local.release("acme/pdf", "1.0.0", {"a.md": b"0"})
    digests = set()
    for number in range(1, 6):
        (row,) = local.get("/acme/.well-known/agent-skills/index.json").json()["skills"]
        digests.add(row["digest"])
        local.release("acme/pdf", f"1.{number}.0", {"a.md": b"%d" % number})
        artifact = local.get(row["url"]).content
        (after,) = local.get("/acme/.well-known/agent-skills/index.json").json()["skills"]
        assert f"sha256:{sha256(artifact).hexdigest()}" == after["digest"]
    assert len(digests) == 5
