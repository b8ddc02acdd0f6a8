"""`rye mcp serve`: one server, either on stdio for a single run, or over HTTP for one run per token."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator
from typing import cast, get_args

import anyio
from mcp.server.stdio import stdio_server
from msgspec import Struct

from rye.errors import UsageError
from rye.items.identity import parse_reference
from rye.mcp import http
from rye.mcp.hosting import OneRun, RunsByToken
from rye.mcp.server import build_server
from rye.mcp.tokens import token_key
from rye.project.context import require_project
from rye.project.layout import Project
from rye.runtime.limits import UNCOUNTED_UNDER_MCP
from rye.runtime.opening import Opened, open_session, read_directive, rules_now
from rye.runtime.project_items import ProjectItems
from rye.runtime.rules import Rules
from rye.runtime.run.user_models import user_models
from rye.runtime.sandbox.running import end_calls
from rye.runtime.sandboxed_tools import SandboxedTools
from rye.runtime.session import Binding
from rye.workspace.context import Context

BINDING = "RYE_BINDING"
"""The variable that bound agents' entries set: whether their program gives them only these tools (`rye deploy`)."""


class ServeRequest(Struct, frozen=True):
    """The options of `rye mcp serve`."""

    as_: str | None = None
    """The directive whose rights apply; None: search and load only."""
    http: str | None = None
    """``HOST:PORT``; None: stdio."""
    expand: bool = False
    read_only: bool = False


def serve(
    context: Context,
    request: ServeRequest,
    tell_start: Callable[[str], None],
    tell_address: Callable[[str, bool], None],
) -> None:
    """Serve until the client is gone or a signal arrives. Raises RyeError.

    ``tell_start``: on stdio, called with one line of JSON about the run before the first message is read;
    ``tell_address``: over HTTP, called once connections are accepted with the URL, and whether every request needs a token.
    """
    if request.http is not None:
        _serve_http(context, request, request.http, tell_address)
    else:
        _serve_stdio(context, request, tell_start)


def open_run(context: Context, reference: str | None, *, read_only: bool, rules: Rules | None = None) -> Opened:
    """Open a run. Its tools never get the key of a model, even if it is granted. ``rules``: what its server started under. Raises
    RyeError."""
    own = user_models(context.home, context.environment)
    return open_session(
        context,
        reference,
        lambda items: SandboxedTools(context, items, own.names),
        read_only=read_only,
        binding=binding_of(context),
        not_enforced=UNCOUNTED_UNDER_MCP,
        secrets=own.secrets,
        rules=rules,
    )


def runs_by_token(context: Context, project: Project, *, read_only: bool = False) -> RunsByToken:
    """The runs of a server over HTTP. Clients choose when they begin, so what holds for them as well is the policies at the
    server's start. Raises RyeError for one that cannot be read."""
    rules = rules_now(context, project)
    return RunsByToken(lambda reference: open_run(context, reference, read_only=read_only, rules=rules))


def binding_of(context: Context) -> Binding:
    """Return the binding set in ``RYE_BINDING``, by default ``advisory``. Raises UsageError ``bad-argument``."""
    given = context.environment.get(BINDING) or "advisory"
    if given not in get_args(Binding):
        raise UsageError(
            "bad-argument", f"{BINDING}={given!r} is not supported.", "Set it to exclusive or advisory.", what="binding"
        )
    return cast("Binding", given)


def _instructions(start: dict[str, object]) -> str:
    return (
        "Rye gives you the items of this project: search and load them, run tools in a sandbox, start directives. What this "
        "run may do was decided when it started; rewording a denied call does not change that. Every call is logged.\n"
        f"{json.dumps(start)}"
    )


def _serve_stdio(context: Context, request: ServeRequest, tell_start: Callable[[str], None]) -> None:
    opened = open_run(context, request.as_, read_only=request.read_only)
    runs, start = OneRun(opened), opened.session.start()
    server = build_server(runs, expand=request.expand, instructions=_instructions(start), start=start)
    tell_start(json.dumps({"rye": "mcp", **start}))

    async def main() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    with _ended_by_signals(runs.close):
        try:
            anyio.run(main)
        finally:
            end_calls()
            runs.close()


@contextlib.contextmanager
def _ended_by_signals(close: Callable[[], None]) -> Iterator[None]:
    """On a termination signal, end the runs' tools and sweep what they left, seal the logs, and exit: the thread that waits for
    input would keep the process alive."""

    def end(number: int, frame: object) -> None:
        end_calls()
        close()
        os._exit(128 + number)

    before = {each: signal.signal(each, end) for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _serve_http(
    context: Context, request: ServeRequest, address: str, tell_address: Callable[[str, bool], None]
) -> None:
    host, port = http.parse_address(address)
    http.require_safe(host, demands_token=request.as_ is not None)
    project = require_project(context.cwd)
    only = None
    if request.as_ is not None:  # report errors now, not to the first client
        item, _ = read_directive(ProjectItems(context, project), request.as_)
        only = item.id if parse_reference(request.as_).range is None else f"{item.id}@{item.version}"
    runs = runs_by_token(context, project, read_only=request.read_only)
    start: dict[str, object] = {"binding": binding_of(context), "not_enforced": list(UNCOUNTED_UNDER_MCP)}
    server = build_server(runs, expand=request.expand, instructions=_instructions(start), start=start)
    token_key(context.home)  # report errors now, not to the first client
    where = http.listening(host, port)
    demanded = not http.is_loopback(host)
    found = where.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    gate = http.BearerGate(
        http.application(server, host, found),
        runs,
        project,
        lambda: token_key(context.home),
        context.now,
        only=only,
        demanded=demanded,
    )
    with _ended_by_signals(runs.close):
        try:
            anyio.run(
                http.serve, gate, runs, where, lambda: tell_address(f"http://{shown}:{found}{http.PATH}", demanded)
            )
        finally:
            end_calls()
            runs.close()
            where.close()
