"""A world for sessions without a project: items in a mapping, functions as tools, a clock that the test sets."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from threading import Event

import pytest

from rye.errors import RyeError
from rye.items.directive.model import Output
from rye.runtime.calls import CallError
from rye.runtime.chain import Chain, Level
from rye.runtime.effects import Ask, Children, OwnFile, SearchRow, ToolResult, UsableItem, World
from rye.runtime.event_log import EventLog
from rye.runtime.limits import Limits
from rye.runtime.outputs import Declared
from rye.runtime.results import SignResult
from rye.runtime.rules import Rules
from rye.runtime.session import Session

RUN = "01JDANCE0000000000000000AA"
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return NOW + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds


def level(item_id: str, *rights: str, limits: Limits | None = None) -> Level:
    return Level(
        id=item_id,
        kind="directive",
        version="1.0.0",
        sha256="a" * 64,
        rights=rights,
        hooks=(),
        limits=limits or Limits(),
    )


def item(kind: str, item_id: str, text: str = "text", *, caller: Level | None = None) -> UsableItem:
    digest = sha256(text.encode()).hexdigest()
    return UsableItem(
        kind=kind,
        id=item_id,
        version="1.0.0",
        sha256=digest,
        signer="SHA256:x",
        text=text,
        overridden=False,
        suffix=".py",
        description="says what it is",
        directive=None,
        level=caller,
    )


class Items:
    def __init__(self, *items: UsableItem):
        self.items = {(each.kind, each.id): each for each in items}
        self.problem: RyeError | None = None
        self.reads = 0

    def resolve(self, kind: str, item_id: str) -> str:
        found = [each for _, each in self.items if each == item_id or each.endswith(f"/{item_id}")]
        if not found:
            raise RyeError("no-such-item", f"There is no {item_id}.", "Did you mean acme/secret/plan?")
        return found[0]

    def read(self, kind: str, item_id: str, version: str | None = None, *, runs: bool) -> UsableItem:
        self.reads += 1
        if self.problem is not None:
            raise self.problem
        found = self.items.get((kind, self.resolve(kind, item_id)))
        if found is None:
            raise RyeError("no-such-item", f"There is no {item_id}.", "Did you mean acme/secret/plan?")
        return found

    def search(self, kind: str, query: str, reads: Callable[[str], bool]) -> Sequence[SearchRow]:
        return [
            SearchRow(each.id, kind, each.version, each.description, 1.0)
            for each in self.items.values()
            if each.kind == kind and query in each.id
        ]

    def render(self, item: UsableItem, inputs: Mapping[str, object]) -> str:
        return f"{item.text} {json.dumps(inputs)}"


class Tools:
    def __init__(self, clock: Clock, do: Callable[[UsableItem, object], ToolResult] | None = None):
        self.clock = clock
        self.ran: list[tuple[str, object, float | None]] = []
        self.seconds = 0.0
        self.do = do

    def check(self, item: UsableItem) -> None:
        return None

    def run(self, item: UsableItem, parameters: bytes, seconds: float | None, cancel: Event) -> ToolResult:
        self.ran.append((item.id, json.loads(parameters), seconds))
        if self.do is not None:
            return self.do(item, json.loads(parameters))
        took = self.seconds if seconds is None else min(self.seconds, seconds)
        self.clock.seconds += took
        if took < self.seconds:
            return ToolResult(
                exit=None,
                output=None,
                truncated=False,
                seconds=took,
                error=CallError("tool-timeout", "too long"),
                ended_by_limit=True,
            )
        return ToolResult(exit=0, output={"done": True}, truncated=False, seconds=took)


class Signer:
    def __init__(self) -> None:
        self.signed: list[str] = []

    def find(self, kind: str, item_id: str) -> OwnFile:
        if not item_id.startswith("own/"):
            raise RyeError("installed-item", f"{item_id} is installed.")
        return OwnFile(kind, item_id, f".ai/{item_id}.md", "b" * 64)

    def sign(self, file: OwnFile) -> SignResult:
        self.signed.append(file.id)
        return SignResult(file.path, "c" * 64, "SHA256:mine")


class Simulation:
    """A session and everything around it."""

    def __init__(
        self,
        folder: Path,
        *levels: Level,
        items: Sequence[UsableItem] = (),
        rules: Rules | None = None,
        ask: Ask = lambda question: None,
        children: Children | None = None,
        secrets: tuple[str, ...] = (),
        outputs: tuple[Output, ...] = (),
        declared: Declared = None,
    ):
        self.clock = Clock()
        self.items = Items(*items)
        self.tools = Tools(self.clock)
        self.signer = Signer()
        self.folder = folder / "project" / ".ai" / "runs" / RUN
        (folder / "project").mkdir(exist_ok=True)
        world = World(
            items=self.items,
            tools=self.tools,
            signer=self.signer,
            clock=self.clock,
            ask=ask,
            children=children,
            secrets=secrets,
        )
        log = EventLog(self.folder, levels[0].label)
        self.rules = rules or Rules()
        self.session = Session(RUN, Chain(levels), world, log, lambda: self.rules, declared=declared or outputs)

    def act(self, name: str, **arguments: object) -> dict[str, object]:
        return self.session.act(name, arguments)

    def error(self, name: str, **arguments: object) -> dict[str, object]:
        """The error from a call that must be refused."""
        with pytest.raises(CallError) as caught:
            self.session.act(name, arguments)
        document = caught.value.as_json()
        assert len(json.dumps(document)) <= 2048
        found = document["error"]
        assert isinstance(found, dict)
        return found

    def code(self, name: str, **arguments: object) -> object:
        return self.error(name, **arguments)["code"]

    @property
    def lines(self) -> list[dict[str, object]]:
        """The log."""
        path = self.folder / "events.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def events(self) -> list[object]:
        return [line["event"] for line in self.lines]
