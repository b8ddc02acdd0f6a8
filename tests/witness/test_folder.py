"""What a witness keeps: durable before it answers, never from zero, and one root for each size."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.registry.protocol import notes
from rye.registry.protocol.cosignatures import TreeHead, read_cosignatures
from rye.witness.folder import MOST_LOGS, WitnessFolder
from rye.witness.serving import WitnessService
from tests.witness.test_deciding import FORK, LOG, ORIGIN, TREE, Tree

KEY = LOG.verifier


@pytest.fixture
def folder(tmp_path: Path) -> WitnessFolder:
    made = WitnessFolder(tmp_path / "witness")
    made.create("witness.example")
    made.add_log((KEY,))
    return made


def asks(folder: WitnessFolder, old: int, size: int, tree: Tree = TREE) -> tuple[int, bytes]:
    witness = WitnessService(folder, folder.cosigners(), lambda: 1_000_000.0)
    status, _, body = witness.add_checkpoint(tree.request(old, size).encode())
    return status, body


def problem(call: object) -> str:
    assert callable(call)
    with pytest.raises(RyeError) as raised:
        call()
    assert raised.value.code == "bad-witness"
    return raised.value.message


def test_keys_are_private_and_both_algorithms_sign(folder: WitnessFolder) -> None:
    for file in ("ed25519.key", "ml-dsa-44.key"):
        assert (folder.root / file).stat().st_mode & 0o777 == 0o600
    status, body = asks(folder, 0, 5)
    assert status == 200
    note = notes.parse(TREE.note(5).encode().encode() + body)
    keys = [one.verifier for one in folder.cosigners()]
    assert [one.key for one in read_cosignatures(note, keys)] == keys
    assert [key.algorithm_name for key in keys] == ["Ed25519", "ML-DSA-44"]
    (folder.root / "ed25519.key").chmod(0o644)
    assert "can be read by other users" in problem(folder.cosigners)


def test_ed25519_only_makes_one_key(tmp_path: Path) -> None:
    folder = WitnessFolder(tmp_path / "w")
    made = folder.create("w", ed25519_only=True)
    assert [one.verifier for one in folder.cosigners()] == list(made)
    assert len(made) == 1
    with pytest.raises(RyeError) as raised:
        folder.create("w")
    assert raised.value.code == "already-exists"
    assert "`rye witness list`" in (raised.value.hint or "")


def test_what_was_signed_is_remembered_by_the_next_process(folder: WitnessFolder) -> None:
    assert asks(folder, 0, 5)[0] == 200
    assert asks(WitnessFolder(folder.root), 0, 9) == (409, b"5\n")
    assert asks(WitnessFolder(folder.root), 5, 9)[0] == 200
    assert asks(folder, 9, 9)[0] == 200  # the same head again, with a new time


def test_a_fork_is_kept_as_evidence_once(folder: WitnessFolder) -> None:
    asks(folder, 0, 7)
    assert [asks(folder, 7, 7, FORK)[0], asks(folder, 0, 7, FORK)[0], asks(folder, 7, 7, FORK)[0]] == [422, 409, 422]
    kept = [json.loads(path.read_text()) for path in (folder.root / "evidence").iterdir()]
    assert {notes.parse(one["offered"]).text for one in kept} == {FORK.note(7).text}
    assert all(notes.parse(one["signed"]).text == TREE.note(7).text for one in kept)
    assert len(kept) == 2, "one for each answer"


def test_a_lost_or_damaged_state_signs_nothing_until_somebody_says_from_where(
    folder: WitnessFolder, tmp_path: Path
) -> None:
    asks(folder, 0, 7)
    file = folder._file(ORIGIN)
    good = file.read_bytes()
    for data in (None, b"", good[:-9], good.replace(b"\n7\n", b"\n6\n"), TREE.note(7).encode().encode()):
        file.unlink() if data is None else file.write_bytes(data)
        assert "lost or damaged" in problem(lambda: asks(folder, 0, 3))
        assert folder.logs()[0].problem is not None
        assert "lost or damaged" in problem(lambda: folder.add_log((KEY,)))
    with pytest.raises(RyeError):
        folder.add_log((KEY,), last=TREE.note(7).encode().encode())  # it never cosigned this
    folder.add_log((KEY,), last=good)
    assert folder.logs()[0].size == 7
    folder.add_log((KEY,), forget=True)
    assert folder.logs()[0].size == 0


def test_what_was_signed_counts_although_the_settings_do_not_have_the_log(folder: WitnessFolder) -> None:
    """An older ``witness.json`` was put back, and the operator adds the log again: that is no first time."""
    asks(folder, 0, 7)
    settings = folder.root / "witness.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"logs": []}))
    folder.add_log((KEY,))
    assert folder.logs()[0].size == 7
    assert asks(folder, 0, 7, FORK) == (409, b"7\n")
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"logs": []}))
    folder._file(ORIGIN).write_bytes(b"damaged")
    assert "lost or damaged" in problem(lambda: folder.add_log((KEY,)))
    folder.add_log((KEY,), forget=True)
    assert folder.logs()[0].size == 0


def test_an_older_checkpoint_takes_nothing_back(folder: WitnessFolder) -> None:
    """It is a head that this witness cosigned, and the log's operator may have handed it over."""
    asks(folder, 0, 5)
    older = folder._file(ORIGIN).read_bytes()
    asks(folder, 5, 7)
    newer = folder._file(ORIGIN).read_bytes()
    assert "would take that back" in problem(lambda: folder.add_log((KEY,), last=older))
    assert folder.logs()[0].size == 7
    folder.add_log((KEY,), last=newer)
    settings = folder.root / "witness.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"logs": []}))
    assert "would take that back" in problem(lambda: folder.add_log((KEY,), last=older))
    folder._file(ORIGIN).write_bytes(b"damaged")
    folder.add_log((KEY,), last=older)
    assert folder.logs()[0].size == 5
    folder.add_log((KEY,), last=newer)
    folder.add_log((KEY,), last=older, forget=True)
    assert folder.logs()[0].size == 5


def test_as_many_logs_as_there_can_be_fit_into_the_settings(folder: WitnessFolder) -> None:
    settings = folder.root / "witness.json"
    (row,) = (written := json.loads(settings.read_text()))["logs"]
    many = [row | {"origin": f"{number}.example", "keys": ["k" * 1_900]} for number in range(MOST_LOGS - 1)]
    settings.write_text(json.dumps(written | {"logs": [row, *many]}))
    assert asks(folder, 0, 7)[0] == 200


def test_concurrent_requests_are_decided_one_after_the_other(folder: WitnessFolder) -> None:
    """Of requests for different sizes from the same old size, one is signed; the race of the specification cannot happen."""
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda size=size: results.append(asks(folder, 0, size)[0])) for size in range(1, 17)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [200] + [409] * 15


_KILLED = """
import os, sys
from pathlib import Path
from rye.witness import folder as module
from tests.witness.test_folder import asks
from rye.witness.folder import WitnessFolder
write, step = module._write, sys.argv[2]
def dying(path, data):
    if step == "before":
        os.kill(os.getpid(), 9)
    write(path, data)
    os.kill(os.getpid(), 9)
module._write = dying
asks(WitnessFolder(Path(sys.argv[1])), 0, 7)
"""


@pytest.mark.processes
@pytest.mark.parametrize(("step", "size"), [("before", 0), ("after", 7)])
def test_killed_between_writing_and_answering_it_signs_no_second_root(
    folder: WitnessFolder, step: str, size: int
) -> None:
    """The answer is lost, and another head of the same size is offered."""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(folder.root), step], cwd=root, env={**os.environ, "PYTHONPATH": str(root)}
    )
    assert done.returncode == -9
    log = folder.read(ORIGIN)
    assert log is not None
    assert log.head.size == size
    assert asks(folder, 7, 7, FORK)[0] == (422 if size else 409)
    assert asks(folder, size, 7)[0] == 200  # the control: the honest log asks again
    assert asks(folder, 7, 7, FORK)[0] == 422
    assert TreeHead.parse(notes.parse((folder.read(ORIGIN) or log).note or "").text).root_hash == TREE.root(7)
