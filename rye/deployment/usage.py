"""What was used of a project's items (``rye usage``): read from the logs of its runs and, if asked, from what a deployed program
leaves on this machine. Nothing is sent anywhere, and nothing is written.

Claude Code (``--program claude``) keeps a transcript for each session in ``projects/FOLDER/SESSION.jsonl`` of its folder
(``CLAUDE_CONFIG_DIR``, or ``~/.claude``), one JSON object a line. Counted are the calls of its tools ``Skill`` and ``Task`` that
name something that Rye deployed, and ``usage`` of its messages, each once, in sessions in this project's folder. Its texts are
not kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path, PurePosixPath

from msgspec import Struct

from rye.deployment.survey import read_state_file
from rye.describing.description import tokens_in
from rye.errors import RyeError
from rye.limits import USAGE
from rye.project.context import load_manifest, require_project
from rye.project.layout import Project
from rye.project.lock_file import Locks
from rye.project.spaces import Spaces
from rye.runtime.finished_runs import OwnLogs
from rye.runtime.usage import Carried, Usage, Use, counted, moment, report, uses_of
from rye.storage.safe_files import open_regular
from rye.text.json_reading import JsonError, read_json
from rye.workspace.context import Context
from rye.workspace.items.effective_item import effective_entry

_TOOLS = {"Skill": ("skill", "command"), "Task": ("subagent_type",), "Agent": ("subagent_type",)}
"""Claude Code's tools that start what Rye deploys, and the inputs that name it."""


class UsageAnswer(Struct, frozen=True):
    """The report, and what did not count, in sentences."""

    usage: Usage
    notes: tuple[str, ...]


def usage(context: Context, days: int, programs: Iterable[str] = ()) -> UsageAnswer:
    """Report the last ``days`` days of this project. ``programs``: only ``claude`` is known. Raises RyeError ``no-project``."""
    project = require_project(context.cwd)
    notes: list[str] = []
    logs, uses, broken = OwnLogs(context, USAGE.log_bytes), list[Use](), 0
    for log in logs:
        uses += uses_of(log.events)
        broken += log.verdict.state == "broken"
    if broken:
        notes.append(f"Of logs that were changed, only the intact lines count (`rye runs verify`): {broken}.")
    if logs.foreign:
        notes.append(f"Logs in .ai/runs that you did not write on this machine do not count: {logs.foreign}.")
    if logs.left_out:
        notes.append(f"Logs beyond what is read at once do not count: {logs.left_out}.")
    if "claude" in set(programs):
        transcripts = Transcripts(context, project)
        uses += transcripts.uses()
        notes += transcripts.notes()
    return UsageAnswer(report(uses, list(_here(context, project)), context.now(), days), tuple(notes))


def _here(context: Context, project: Project) -> Iterator[Carried]:
    """The project's own and installed items."""
    manifest, locks = load_manifest(project), Locks()
    spaces = Spaces(context.home, project, manifest.namespace)
    for space in ("project", "installed"):
        for entry in spaces.entries_of(space):
            item = f"{entry.location.kind}:{entry.id}"
            try:
                found = effective_entry(context, entry, project, manifest, locks, spaces=spaces)
            except RyeError:
                yield Carried(item, None, space, None, None)
                continue
            metadata = found.item.reading.metadata
            described = metadata.description if metadata is not None else None
            name = entry.location.local_id.rpartition("/")[2]
            carries = tokens_in(len(f"{name} {described or ''}".encode()))
            yield Carried(item, found.version(), space, carries, tokens_in(len(found.item.data)))


class Transcripts:
    """Claude Code's transcripts of sessions in a project."""

    def __init__(self, context: Context, project: Project) -> None:
        given = context.environment.get("CLAUDE_CONFIG_DIR")
        self._folder = Path(given) if given else Path(context.environment.get("HOME", "/")) / ".claude"
        self._root = os.path.realpath(project.root)
        self._names = _deployed_names(project)
        self._seen: set[str] = set()
        self._left_out = self._unread = 0

    def uses(self) -> Iterator[Use]:
        """The uses in all transcripts, up to the limit of what is read at once."""
        room = USAGE.transcript_bytes
        for path in self._files():
            try:
                with open_regular(path) as stream:
                    size = os.fstat(stream.fileno()).st_size
                    if size > room:
                        self._left_out += 1
                        continue
                    room -= size
                    while line := stream.readline(USAGE.line_bytes + 1):
                        if len(line) > USAGE.line_bytes:
                            while line and not line.endswith(b"\n"):
                                line = stream.readline(USAGE.line_bytes)
                            self._unread += 1
                            continue
                        yield from self._of_line(line)
            except OSError:
                self._left_out += 1

    def notes(self) -> list[str]:
        """What did not count."""
        notes = []
        if self._left_out:
            notes.append(
                f"Transcripts that are too many or too large, links, or cannot be read, do not count: {self._left_out}."
            )
        if self._unread:
            notes.append(f"Lines of transcripts that are no JSON, or too long, do not count: {self._unread}.")
        return notes

    def _files(self) -> list[Path]:
        """The transcripts, newest first."""
        dated = []
        for folder, folders, names in os.walk(self._folder / "projects"):
            if len(PurePosixPath(folder).relative_to(self._folder).parts) >= USAGE.transcript_depth:
                folders.clear()
            for name in names:
                path = Path(folder) / name
                if name.endswith(".jsonl") and path.is_symlink():
                    self._left_out += 1
                elif name.endswith(".jsonl"):
                    with suppress(OSError):  # it was removed meanwhile
                        dated.append((path.stat().st_mtime, path))
        self._left_out += max(0, len(dated) - USAGE.transcripts)
        return [path for _, path in sorted(dated, reverse=True)[: USAGE.transcripts]]

    def _of_line(self, line: bytes) -> Iterator[Use]:
        if b'"assistant"' not in line:
            return  # most of a transcript, which need not be read
        try:
            found = read_json(line)
        except JsonError:
            self._unread += bool(line.strip())
            return
        if not isinstance(found, dict) or found.get("type") != "assistant" or not self._is_here(found.get("cwd")):
            return
        when, message = moment(found.get("timestamp")), found.get("message")
        if when is None or not isinstance(message, dict):
            return
        yield from self._calls(when, message.get("content"))
        name, spent = message.get("id"), message.get("usage")
        if isinstance(name, str) and name not in self._seen and isinstance(spent, dict):
            self._seen.add(name)  # one message is several lines, and each has its usage
            tokens = sum(counted(value) for key, value in spent.items() if key.endswith("_tokens"))
            if tokens:
                yield Use(when, None, "program", tokens)

    def _calls(self, when: datetime, content: object) -> Iterator[Use]:
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, dict) or block.get("type") != "tool_use":
                continue
            tool, given, call = block.get("name"), block.get("input"), block.get("id")
            if not isinstance(tool, str) or tool not in _TOOLS or not isinstance(given, dict):
                continue
            if isinstance(call, str):
                if f"call {call}" in self._seen:
                    continue
                self._seen.add(f"call {call}")
            names = (given.get(key) for key in _TOOLS[tool])
            items = (self._names.get((tool == "Skill", name)) for name in names if isinstance(name, str))
            item = next((item for item in items if item is not None), None)
            if item is not None:
                yield Use(when, item, "program")

    def _is_here(self, folder: object) -> bool:
        if not isinstance(folder, str) or not folder.startswith("/") or "\0" in folder:
            return False
        real = os.path.normpath(folder)
        return real == self._root or real.startswith(f"{self._root}/")


def _deployed_names(project: Project) -> Mapping[tuple[bool, str], str]:
    """The items by what Claude Code calls them: whether it is a skill or a command rather than an agent, and the name."""
    names = {}
    for row in read_state_file(project.root, "project").state.files:
        parts = PurePosixPath(row.path).parts
        if len(parts) < 3 or parts[0] != ".claude":
            continue
        if parts[1] == "skills":
            names[True, parts[2]] = row.item
        elif parts[1] in ("agents", "commands"):
            names[parts[1] == "commands", parts[-1].removesuffix(".md")] = row.item
    return names
