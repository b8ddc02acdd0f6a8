"""The owner's watch: what was logged under their names since they looked last, against the registry or a mirror.

Neither is trusted: the head that was seen last is proved to be continued, and every entry to be in the tree. What could not be
told to the owner is told again: the state moves on only after everything was told.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from rye.errors import RyeError, UsageError
from rye.items.identity import is_segment
from rye.limits import MIB
from rye.registry import mirroring
from rye.registry.protocol import notes, wire
from rye.registry.protocol.notes import MAX_NOTE_BYTES
from rye.registry.protocol.statements import Checkpoint
from rye.registry.transport.factory import open_transport
from rye.registry.transport.http_connection import authorities_for
from rye.registry.trust.watching import Event, Watched, unexpected
from rye.signing.key_store import KeyStore
from rye.storage.atomic import replace_file
from rye.storage.safe_files import read_bytes
from rye.text.json_reading import UNDECODABLE
from rye.workspace.registries.registry_access import configured, open_registry, reading_token

if TYPE_CHECKING:
    from rye.workspace.context import Context

TELL_SECONDS = 30.0
"""How long a command or a webhook may take."""
_VERSION = 1


class WatchRequest(Struct, frozen=True, kw_only=True):
    """What to watch, from where on, and whom to tell."""

    namespaces: frozenset[str]
    state: Path
    """The file that remembers the head that was seen last. One that does not exist starts from the beginning."""
    since: Path | None = None
    """A signed checkpoint to start from instead."""
    expected: Path | None = None
    """Lines ``KIND:ID@VERSION`` of releases that were announced."""
    look_alikes: bool = False
    command: str | None = None
    webhook: str | None = None


class Watch(Struct, frozen=True, kw_only=True):
    """The result of one look."""

    origin: str
    size: int
    since: int
    """Entries that were seen before."""
    events: tuple[Event, ...]
    new: tuple[Event, ...]
    """Those that were not announced."""
    problem: str | None = None
    """Why somebody could not be told; then the same is told again next time."""

    @property
    def code(self) -> int:
        """The exit status: 0 nothing new, 3 something new, 4 it could not be told."""
        return 4 if self.problem is not None else 3 if self.new else 0


class _State(Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    checkpoint: str


def watch_namespaces(context: Context, request: WatchRequest) -> Watch:
    """Look once, tell what is new, and remember the head. Raises RyeError if the log does not verify, and UsageError
    ``bad-argument`` for what no namespace is called: nothing would ever be logged about it."""
    for name in sorted(request.namespaces):
        if not is_segment(name):
            hint = "Use a-z, 0-9, - and _, at most 64, as in acme/work/ship."
            raise UsageError("bad-argument", f"{name[:80]!r} is not a namespace.", hint, what="namespace")
    expected = _expected(request.expected)
    address = configured(context).main()
    before = _before(request)
    with open_registry(context, address) as client:
        if before is not None:
            client.require_extends(before, "what the watch saw last")
        head, origin = client.head.checkpoint, client.origin
        seen = wire.decode_head(client.document.encode()).checkpoint
    first = 0 if before is None else Checkpoint.parse(notes.parse(before).text).size
    keys = frozenset(key.public.raw for key in KeyStore(context.home.config).list())
    watched = Watched(namespaces=request.namespaces, own=keys, look_alikes=request.look_alikes)
    events: list[Event] = []
    if head.size > first:
        transport = open_transport(address, mirroring.transport_limits(), token=reading_token(context, address))
        try:
            with context.progress("reading the log", -(-(head.size - first) // 256)) as advance:
                start = first // 256 * 256
                entries = enumerate(mirroring.entries(transport, head, advance=advance, first=first), start)
                events = watched.events((position, entry) for position, entry in entries if position >= first)
        finally:
            transport.close()
    new = unexpected(events, expected)
    document = {"origin": origin, "registry": address, "size": head.size, "events": [asdict(one) for one in new]}
    problem = _tell(request, msgspec.json.encode(document)) if new else None
    if problem is None:
        request.state.parent.mkdir(parents=True, exist_ok=True)
        replace_file(request.state, msgspec.json.format(msgspec.json.encode(_State(_VERSION, seen)), indent=1) + b"\n")
    return Watch(origin=origin, size=head.size, since=first, events=tuple(events), new=tuple(new), problem=problem)


def _before(request: WatchRequest) -> str | None:
    """The checkpoint that was seen last; None: start from the beginning. Raises RyeError ``bad-argument`` for a damaged state."""
    if request.since is not None:
        return read_bytes(request.since, MAX_NOTE_BYTES).decode("utf-8", "replace")
    if not request.state.exists():
        return None
    try:
        state = msgspec.json.decode(read_bytes(request.state, MIB), type=_State)
    except UNDECODABLE as error:
        hint = "Delete it to be told everything again, or give a checkpoint with --since."
        raise UsageError(
            "bad-argument", f"{request.state} is not the state of a watch: {error}.", hint, what="file"
        ) from error
    return state.checkpoint


def _expected(file: Path | None) -> frozenset[str]:
    if file is None:
        return frozenset()
    text = read_bytes(file, MIB).decode("utf-8", "replace")
    lines = [line.strip() for line in text.split("\n")]
    wanted = frozenset(line for line in lines if line and not line.startswith("#"))
    wrong = next((line for line in sorted(wanted) if ":" not in line or "@" not in line), None)
    if wrong is not None:
        raise UsageError("bad-argument", f"{wrong[:80]!r} is not of the form KIND:ID@VERSION.", None, what="file")
    return wanted


def _tell(request: WatchRequest, body: bytes) -> str | None:
    """Tell the owner; return why that failed. Every way is tried."""
    ways: list[tuple[Callable[[str, bytes], str | None], str | None]] = [
        (_run, request.command),
        (_post, request.webhook),
    ]
    problems = [problem for way, target in ways if target is not None and (problem := way(target, body)) is not None]
    return " ".join(problems) or None


def _run(command: str, body: bytes) -> str | None:
    try:
        done = subprocess.run(shlex.split(command), input=body, timeout=TELL_SECONDS, check=False)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return f"The command failed: {str(error)[:200]}."
    return None if done.returncode == 0 else f"The command ended with status {done.returncode}."


def _post(url: str, body: bytes) -> str | None:
    headers = {"Content-Type": "application/json", "User-Agent": "rye"}
    try:
        with httpx.Client(verify=authorities_for(url), follow_redirects=False, timeout=TELL_SECONDS) as http:
            status = http.post(url, content=body, headers=headers).status_code
    except (httpx.HTTPError, httpx.InvalidURL, RyeError) as error:
        return f"The webhook was not reached: {str(error)[:200] or type(error).__name__}."
    return None if 200 <= status < 300 else f"The webhook answered {status}."
