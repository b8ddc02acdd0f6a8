"""The log of a run is a hash chain, and each event is written before it happens (design: agents 3.1, Log)."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.runtime.event_log import FIRST, HEAD, Event, EventLog, LogUnwritable, line, parse_head, verify

NOW = datetime(2026, 11, 22, 12, 0, 0, 123456, tzinfo=UTC)
KEYS = [
    *("n", "time", "prev", "principal", "event", "tool", "item", "sha256"),
    *("params_sha256", "params_redacted", "decision", "by", "exit", "seconds"),
]


def written(folder: Path, count: int = 3, *, end: bool = True) -> tuple[bytes, tuple[int, str] | None]:
    folder.mkdir(exist_ok=True)
    log = EventLog(folder / ".ai" / "runs" / "run", "directive:acme/work/ship@1.0.0")
    for number in range(count):
        log.append(NOW, Event(event="call", tool="rye_load", item=f"knowledge:acme/notes/n{number}"))
    if end:
        log.close(NOW)
    return log.path.read_bytes(), parse_head((log.folder / "head").read_bytes())


def test_each_line_has_exactly_the_keys_and_the_hash_of_the_line_before(tmp_path: Path) -> None:
    data, _ = written(tmp_path)
    lines = data.split(b"\n")
    assert lines.pop() == b""
    prev = "0" * 64
    for number, each in enumerate(lines, 1):
        found = json.loads(each)
        assert list(found) == KEYS
        assert (found["n"], found["prev"], found["time"]) == (number, prev, "2026-11-22T12:00:00.123Z")
        prev = sha256(each).hexdigest()
    assert json.loads(lines[-1])["event"] == "end"


def test_a_whole_log_is_ok_and_a_killed_one_incomplete(tmp_path: Path) -> None:
    data, head = written(tmp_path / "a")
    assert verify(data, head).as_json() == {"state": "ok", "lines": 4, "line": None, "reason": None}
    data, head = written(tmp_path / "b", end=False)
    assert verify(data, head).state == "incomplete"
    assert verify(data[:-5], head and (head[0] - 1, json.loads(data.split(b"\n")[-2])["prev"])).state == "incomplete"
    assert verify(b"").state == "incomplete"


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_no_byte_can_be_flipped_unnoticed(data: st.DataObject) -> None:
    prev, whole = FIRST, b""
    for number in range(1, 5):
        one = line(number, "t", prev, "p", Event(event="end" if number == 4 else "call", tool="rye_load"))
        prev = sha256(one).hexdigest()
        whole += one + b"\n"
    at = data.draw(st.integers(0, len(whole) - 1))
    bit = data.draw(st.integers(0, 7))
    changed = whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :]
    verdict = verify(changed, (4, prev))
    assert verdict.state != "ok"
    changed_line = whole[:at].count(b"\n") + 1
    if whole[at] != 10 and changed[at] != 10:
        assert (verdict.state, verdict.line) == ("broken", changed_line)


def test_a_line_taken_out_or_put_in_or_cut_off_is_broken(tmp_path: Path) -> None:
    data, head = written(tmp_path)
    lines = data.split(b"\n")
    assert verify(b"\n".join([lines[0], *lines[2:]]), head).state == "broken"
    assert verify(b"\n".join([lines[0], lines[0], *lines[1:]]), head).state == "broken"
    cut = verify(b"\n".join(lines[:2]) + b"\n", head)
    assert (cut.state, cut.line) == ("broken", 3)
    assert verify(data + lines[-2] + b"\n", head).state == "broken"


def test_a_last_line_that_was_changed_shows_by_the_head(tmp_path: Path) -> None:
    data, head = written(tmp_path)
    changed = data.replace(
        b'"principal":"directive:acme/work/ship@1.0.0","event":"end"', b'"principal":"x","event":"end"'
    )
    assert changed != data
    assert (verify(changed, head).state, verify(changed, head).line) == ("broken", 4)


def test_files_and_folders_are_the_users_own(tmp_path: Path) -> None:
    written(tmp_path)
    runs = tmp_path / ".ai" / "runs"
    assert stat.S_IMODE((runs / "run" / "events.jsonl").stat().st_mode) == 0o600
    assert stat.S_IMODE((runs / "run").stat().st_mode) == 0o1700
    assert (runs / ".gitignore").read_text() == "*\n"


@pytest.mark.processes
@pytest.mark.parametrize("committed", ["", "!*\n"])
def test_a_committed_gitignore_publishes_no_log(tmp_path: Path, committed: str) -> None:
    runs = tmp_path / ".ai" / "runs"
    runs.mkdir(parents=True)
    (runs / ".gitignore").write_text(committed)
    (tmp_path / ".gitignore").write_text("!.ai/runs/**\n")
    written(tmp_path)
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)
    listed = subprocess.run(["git", "-C", str(tmp_path), "ls-files"], check=True, capture_output=True, text=True)
    assert listed.stdout.split() == [".ai/runs/.gitignore", ".gitignore"]


def test_a_runs_folder_that_is_a_link_takes_no_log(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".ai").mkdir()
    (tmp_path / ".ai" / "runs").symlink_to(tmp_path / "elsewhere")
    log = EventLog(tmp_path / ".ai" / "runs" / "run", "p")
    with pytest.raises(LogUnwritable):
        log.append(NOW, Event(event="call"))
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_log_whose_file_was_replaced_takes_nothing_more(tmp_path: Path) -> None:
    log = EventLog(tmp_path / ".ai" / "runs" / "run", "p")
    log.append(NOW, Event(event="call"))
    os.replace(log.path, tmp_path / "taken")
    with pytest.raises(LogUnwritable):
        log.append(NOW, Event(event="call"))
    log.path.write_text("")
    with pytest.raises(LogUnwritable):
        log.append(NOW, Event(event="call"))


@pytest.mark.parametrize("at", range(1, 9))
def test_an_interrupt_while_it_is_written_does_not_break_the_chain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Whichever system call a user's interrupt comes before or after, the next line still fits the chain."""
    log = EventLog(tmp_path / "runs" / "run", "directive:a/b")
    log.append(NOW, Event(event="call", tool="rye_load"))
    left = at

    def interrupting(real: Callable[..., object]) -> Callable[..., object]:
        def call(*given: object) -> object:
            nonlocal left
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
            done = real(*given)
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
            return done

        return call

    with monkeypatch.context() as patched:
        for name in ("fstat", "write", "fdatasync", "pwrite"):
            patched.setattr(f"rye.runtime.event_log.os.{name}", interrupting(getattr(os, name)))
        with pytest.raises(KeyboardInterrupt):
            log.append(NOW, Event(event="allow", tool="rye_load"), Event(event="return", tool="rye_load"))
    log.close(NOW)
    verdict = verify(log.path.read_bytes(), parse_head((log.folder / HEAD).read_bytes()))
    assert (verdict.state, verdict.lines) == ("ok", 2 if at < 4 else 4)


@pytest.mark.parametrize(
    "changed", [{"principal": 5}, {"time": None}, {"tool": ["x"]}, {"exit": True}, {"seconds": "1"}, {"n": True}]
)
def test_a_file_that_only_looks_like_a_log_is_broken(changed: dict[str, object]) -> None:
    found = {**json.loads(line(1, "t", FIRST, "p", Event(event="end"))), **changed}
    data = json.dumps(found, separators=(",", ":")).encode() + b"\n"
    assert (verify(data).state, verify(data).line) == ("broken", 1)
