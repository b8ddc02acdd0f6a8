"""``rye usage``: counts what was used here from files that anybody may have written, and sends nothing."""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn
from xml.etree import ElementTree

import pytest

from rye.limits import UsageLimits
from rye.runtime.event_log import Event, EventLog
from rye.runtime.ulid import new_ulid
from rye.runtime.usage import Use, report
from tests.scenes.person import Person
from tests.schemas.test_catalog import check

NOW = datetime.now(UTC)
PDF = "skill:acme/pdf"
SHIP = "directive:acme/work/ship"


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    """Somebody with an own directive and an own skill, which they deployed to Claude Code."""
    person = Person(tmp_path)
    person.ok("init", "--namespace", "acme")
    person.new("directive", "work/ship")
    person.ok("new", "skill", "pdf")
    person.ok("keys", "generate")
    person.ok("sign")
    person.accepts()
    person.ok("deploy", "--target", "claude", "--yes")
    return person


def run_log(person: Person, ago: timedelta, *events: Event, end: Event | None = None, mode: int = 0o600) -> None:
    when = NOW - ago
    log = EventLog(person.path(f".ai/runs/{new_ulid(when)}"), f"{SHIP}@1.0.0")
    log.append(when, *events)
    log.close(when, end)
    log.path.chmod(mode)


CALL = Event(event="call", tool="rye_load", item=f"{PDF}@0.1.0")
ALLOW = Event(event="allow", tool="rye_load", item=f"{PDF}@0.1.0", decision="allowed", by="rye.load.*")
DENY = Event(event="deny", tool="rye_execute", item=f"{PDF}@0.1.0", decision="not-allowed")


def usage(person: Person, *words: str) -> Any:
    document = person.ok("usage", "--json", *words).json
    check("json-usage", document)
    return document


def rows(document: Any) -> dict[str, Any]:
    return {row["item"]: row for row in document["items"]}


def test_runs_count_for_their_directive_and_calls_for_what_they_called(rye: Person) -> None:
    spent = Event(event="end", params_redacted={"turns": 3, "tokens": 1200, "spend": "0.0150"})
    run_log(rye, timedelta(days=2), CALL, ALLOW, CALL, DENY, end=spent)
    run_log(rye, timedelta(days=1), CALL, ALLOW)
    run_log(rye, timedelta(days=90), CALL, ALLOW)
    found = usage(rye)
    ship, pdf = rows(found)[SHIP], rows(found)[PDF]
    assert (ship["runs"], ship["uses"], ship["tokens"], ship["spend"]) == (2, 2, 1200, "0.0150")
    assert (pdf["allowed"], pdf["denied"], pdf["uses"]) == (2, 1, 2)
    assert pdf["last_used"] == (NOW - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert (found["tokens"], found["spend"], found["unused"]) == (1200, "0.0150", [])
    assert rows(usage(rye, "--days", "100"))[PDF]["allowed"] == 3
    assert sum(week["uses"] for week in found["weeks"]) == 4
    assert "2" in rye.ok("usage").stdout


def test_what_was_not_used_and_what_it_costs(rye: Person) -> None:
    run_log(rye, timedelta(days=40), CALL, ALLOW)
    found = usage(rye)
    assert set(found["unused"]) == {PDF, SHIP}
    assert found["unused_tokens"] == sum(row["carries"] for row in found["items"]) > 0
    assert rows(found)[PDF]["text"] > rows(found)[PDF]["carries"]
    assert rows(found)[PDF]["last_used"] is None
    assert "never" in rye.ok("usage").stdout


def test_a_refused_item_is_not_used(rye: Person) -> None:
    run_log(rye, timedelta(days=1), CALL, DENY)
    found = usage(rye)
    assert found["unused"] == [PDF]
    assert (rows(found)[PDF]["denied"], rows(found)[PDF]["last_used"]) == (1, None)


def test_logs_of_others_do_not_count_and_are_said(rye: Person) -> None:
    run_log(rye, timedelta(days=1), CALL, ALLOW, mode=0o644)
    found = usage(rye)
    assert rows(found)[PDF]["uses"] == 0
    assert "did not write on this machine do not count: 1." in found["notes"][0]


def test_a_link_to_a_log_of_another_project_does_not_count(rye: Person, tmp_path: Path) -> None:
    run_log(rye, timedelta(days=1), CALL, ALLOW)
    (log,) = rye.path(".ai/runs").glob("*/events.jsonl")
    run = log.parent
    run.rename(tmp_path / "elsewhere")
    run.symlink_to(tmp_path / "elsewhere")
    found = usage(rye)
    assert rows(found)[PDF]["uses"] == 0
    assert "did not write on this machine do not count: 1." in found["notes"][0]


def test_transcripts_beyond_what_is_read_at_once_are_said(rye: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rye.deployment.usage.USAGE", UsageLimits(transcripts=1))
    for number in range(3):
        transcript(rye, assistant(rye, skill("pdf", f"c{number}")), name=f"s{number}.jsonl")
    found = usage(rye, "--program", "claude")
    assert rows(found)[PDF]["noted"] == 1
    assert found["notes"][0].endswith("do not count: 2.")


def test_of_a_changed_log_only_the_intact_lines_count(rye: Person) -> None:
    run_log(rye, timedelta(days=1), CALL, ALLOW, CALL, ALLOW)
    (log,) = rye.path(".ai/runs").glob("*/events.jsonl")
    lines = log.read_bytes().split(b"\n")
    lines[2] = b'{"n":3}'
    log.write_bytes(b"\n".join(lines))
    found = usage(rye)
    assert rows(found)[PDF]["allowed"] == 1
    assert "intact lines" in found["notes"][0]


def assistant(person: Person, *blocks: dict[str, Any], **changes: Any) -> dict[str, Any]:
    line = {
        "type": "assistant",
        "timestamp": NOW.isoformat(),
        "cwd": str(person.folder),
        "message": {
            "id": "m1",
            "content": list(blocks),
            "usage": {"input_tokens": 100, "output_tokens": 20, "speed": "x"},
        },
    }
    return {**line, **changes}


def skill(name: object, call: object = "c1", tool: str = "Skill") -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": tool, "input": {"skill": name}}


def transcript(person: Person, *lines: object, name: str = "s1.jsonl") -> Path:
    place = person.home / ".claude/projects/-project" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    texts = (line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    place.write_bytes(b"".join(text + b"\n" for text in texts))
    return place


def test_a_program_s_transcripts_are_read_only_if_asked(rye: Person) -> None:
    transcript(rye, assistant(rye, skill("pdf")), assistant(rye, skill("pdf"), skill("pdf", "c2")))
    assert rows(usage(rye))[PDF]["uses"] == 0
    found = usage(rye, "--program", "claude")
    assert (rows(found)[PDF]["noted"], rows(found)[PDF]["uses"]) == (2, 2)
    assert found["tokens"] == 120, "one message in two lines is billed once"
    elsewhere = rye.elsewhere(rye.folder, CLAUDE_CONFIG_DIR=str(rye.home / "other"))
    assert rows(usage(elsewhere, "--program", "claude"))[PDF]["uses"] == 0


def test_other_projects_and_other_skills_do_not_count(rye: Person) -> None:
    transcript(
        rye,
        assistant(rye, skill("pdf"), cwd=f"{rye.folder}-other"),
        assistant(rye, skill("pdf", "c3"), cwd=f"{rye.folder}/../elsewhere"),
        assistant(rye, skill("unknown", "c4"), skill("pdf", "c5", "Bash")),
    )
    found = usage(rye, "--program", "claude")
    assert rows(found)[PDF]["uses"] == 0
    assert set(rows(found)) == {PDF, SHIP}


def test_hostile_transcripts_break_nothing_and_invent_nothing(rye: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rye.deployment.usage.USAGE", UsageLimits(line_bytes=4096, transcript_bytes=200_000))
    deep = b'{"type":"assistant","a":' + b"[" * 2000
    blocks: list[Any] = [
        None,
        1,
        [],
        {"type": "tool_use", "name": ["Skill"], "input": []},
        skill(["pdf"]),
        skill({"a": 1}),
    ]
    huge = {"id": "m9", "content": blocks, "usage": {"input_tokens": 10**30, "output_tokens": -5, "x_tokens": "9"}}
    transcript(
        rye,
        b"\xff\xfe assistant",
        b'"assistant"',
        b'{"type": "assistant"',
        deep,
        b'{"type":"assistant","cwd":"/\\u0000"}',
        {"type": "assistant", "timestamp": "9999-12-31T23:59:59-14:00", "cwd": str(rye.folder), "message": huge},
        {"type": "assistant", "timestamp": ["x"], "cwd": str(rye.folder), "message": huge},
        assistant(rye, message=huge),
        assistant(rye, message=[1]),
        assistant(rye, timestamp=(NOW + timedelta(days=9)).isoformat(), message={"content": [skill("pdf", "late")]}),
        b'{"type":"assistant","x":"' + b"A" * 9000 + b'"}',
        assistant(rye, skill("\x1b[31mpdf"), skill("pdf", "good")),
    )
    transcript(rye, b"A" * 300_000, name="large.jsonl")
    (rye.home / ".claude/projects/-project/link.jsonl").symlink_to("/etc/passwd")
    (rye.home / ".claude/projects/-project/gone.jsonl").symlink_to("/nowhere")
    found = usage(rye, "--program", "claude")
    assert rows(found)[PDF]["noted"] == 1
    assert set(rows(found)) == {PDF, SHIP}
    assert found["tokens"] == 120
    assert len(found["notes"]) == 2
    assert found["notes"][0].endswith("do not count: 3.")  # two links, and one that is too large
    assert "\x1b" not in rye.ok("usage", "--program", "claude").stdout


def test_names_in_a_log_that_are_no_items_are_none(rye: Person) -> None:
    for item in ("\x1b[2Jskill:x", "nothing:acme/pdf", "skill:" + "a" * 5000, "skill:acme/pdf@1@2", "skill:<b>", ""):
        run_log(rye, timedelta(hours=1), CALL, Event(event="allow", tool="rye_load", item=item))
    spent = Event(event="end", params_redacted={"tokens": True, "spend": "NaN"})
    run_log(rye, timedelta(hours=2), CALL, end=spent)
    run_log(rye, timedelta(hours=3), CALL, end=Event(event="end", params_redacted={"tokens": 1e9, "spend": "1e99"}))
    found = usage(rye)
    assert set(rows(found)) == {PDF, SHIP}
    assert (rows(found)[PDF]["uses"], found["tokens"], found["spend"]) == (0, 0, "0")


def test_nothing_leaves_the_machine_and_nothing_is_written(rye: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("rye usage opened a connection")

    run_log(rye, timedelta(days=1), CALL, ALLOW)
    transcript(rye, assistant(rye, skill("pdf")))
    before = {path: path.stat().st_mtime_ns for path in rye.home.parent.rglob("*")}
    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with pytest.raises(AssertionError):
        socket.create_connection(("127.0.0.1", 9))
    assert rows(usage(rye, "--program", "claude"))[PDF]["uses"] == 2
    assert {path: path.stat().st_mtime_ns for path in rye.home.parent.rglob("*")} == before


def test_the_picture_has_a_bar_for_each_week(rye: Person) -> None:
    run_log(rye, timedelta(days=1), CALL, ALLOW, CALL, DENY)
    assert "wrote usage.svg" in rye.ok("usage", "--days", "60", "--svg", "usage.svg").stderr
    picture = ElementTree.fromstring(rye.path("usage.svg").read_text())
    titles = [title.text or "" for title in picture.iter("{http://www.w3.org/2000/svg}title")]
    weeks = usage(rye, "--days", "60")["weeks"]
    assert len(titles) == 1 + len(weeks) in (10, 11)
    assert any("used 2, denied 1" in title for title in titles)
    assert "script" not in rye.path("usage.svg").read_text()


def test_the_commands_of_the_page(rye: Person) -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/usage.md").read_text()
    lines = page.split("```\n")[1].splitlines()
    assert len(lines) == 2
    for line in lines:
        rye.ok(*line.split(" ")[1:])
    assert rye.path("usage.svg").is_file()


def test_the_weeks_are_without_gaps_and_sum_up() -> None:
    now = datetime(2027, 1, 4, 12, tzinfo=UTC)
    uses = [Use(now - timedelta(days=day), PDF, "allowed", 0, Decimal(0)) for day in range(40)]
    found = report(uses, [], now, 30)
    assert [week.week for week in found.weeks] == [
        "2026-W49",
        "2026-W50",
        "2026-W51",
        "2026-W52",
        "2026-W53",
        "2027-W01",
    ]
    assert sum(week.uses for week in found.weeks) == 31
    assert (found.items[0].space, found.unused) == (None, ())
