"""The server: the five tools, prompts, resources and skills of a run, with the official SDK's low-level API
(docs/explanation/runtime.md).

The low-level API does not check arguments against schemas; :mod:`rye.runtime.calls` does. Every request that returns an item's
text or has an effect goes through :meth:`rye.runtime.session.Session.act` and related methods: decided, logged, then made.
Lists show what may be requested. Errors reach the caller as the error document of a call, never as a traceback.

The SDK's loop serves both protocol generations: 2025 with handshakes, and 2026-07-28 without sessions.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from rye import __version__
from rye.errors import RyeError
from rye.items.needs import NOTHING
from rye.limits import RUNTIME
from rye.mcp import served_texts as served
from rye.mcp import skills
from rye.mcp.asking import Asking, Context
from rye.mcp.declared import declared_single, declared_tools, tool_names
from rye.mcp.hosting import Runs
from rye.mcp.tokens import Grant
from rye.runtime.calls import TOOLS, CallError, cut, from_rye_error
from rye.runtime.chain import READ_ONLY
from rye.runtime.effects import BY_THE_CLIENT, BY_THE_HOST
from rye.runtime.opening import Opened
from rye.runtime.sandbox.journal import sweep_interrupted

_T = TypeVar("_T")
_PAGE = 100
"""The number of entries on a page of a list."""
GRANT = "rye.grant"
"""The key of the ASGI scope with the grant from a request's token."""
_TTL_MS = 0


class Face:
    """The handlers of one server."""

    def __init__(self, runs: Runs, *, expand: bool = False):
        self.runs = runs
        self.expand = expand
        self._asking = Asking()

    # -- tools ---------------------------------------------------------------------------------------------------------

    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """Handle ``tools/list``: the five tools, and with ``expand`` each executable tool. A read-only run gets two."""
        opened = await self._opened(ctx)
        tools = declared_tools(reading_only=_reads_only(opened))
        if self.expand:
            tools += await _aside(partial(self._single_tools, opened))
        return types.ListToolsResult(tools=tools)

    def _single_tools(self, opened: Opened) -> list[types.Tool]:
        tools = []
        for name, item_id in self._names(opened).items():
            try:
                item = opened.items.read("tool", item_id, runs=False)
                written = opened.items.manifest().sandbox.get(f"tool:{item_id}", NOTHING)
                tools.append(declared_single(name, item, written))
            except RyeError:  # do not offer items that cannot be used
                continue
        return tools

    def _names(self, opened: Opened) -> dict[str, str]:
        """Return the ids of the tools that the chain may execute, by their names under ``expand``."""
        ids = [entry.id for entry in opened.items.listed("tool") if opened.session.may("execute", "tool", entry.id)]
        return tool_names(ids[: RUNTIME.listed], TOOLS)

    async def call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Handle ``tools/call``. Errors are results, not protocol errors, except that there is no such tool: MCPError."""
        opened, name, arguments = self._run_of(ctx), params.name, params.arguments or {}
        try:
            await _aside(partial(_sweep, opened))
        except RyeError as error:
            return _answer(from_rye_error(error).as_json(), is_error=True)
        if self.expand and name not in TOOLS:
            item_id = (await _aside(partial(self._names, opened))).get(name)
            if item_id is not None:
                name, arguments = "rye_execute", {"item_type": "tool", "item_id": item_id, "parameters": arguments}
        try:
            result = await self._asking.while_asking(
                ctx,
                params,
                lambda ask, cancel: opened.session.act(name, arguments, ask=ask, cancel=cancel),
                _answered_by(ctx),
            )
        except CallError as error:
            if name not in TOOLS:
                raise _protocol_error(error) from error
            return _answer(error.as_json(), is_error=True)
        except Exception as error:  # a bug of ours must not reveal more to a model
            message = f"Internal error in rye: {type(error).__name__}."
            hint = f"`rye runs show {opened.session.run}` shows the call. Please report this as a bug in Rye."
            failed = CallError("not-runnable", message, hint)
            return _answer(failed.as_json(), is_error=True)
        return result if isinstance(result, types.InputRequiredResult) else _answer(result)

    # -- prompts -------------------------------------------------------------------------------------------------------

    async def list_prompts(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """Handle ``prompts/list``: directives and skills."""
        opened = await self._opened(ctx)
        names, following = _page(list(self._prompts(opened).items()), params)
        prompts = await _aside(lambda: [served.prompt(opened, name, kind, item_id) for name, (kind, item_id) in names])
        return types.ListPromptsResult(prompts=[found for found in prompts if found is not None], next_cursor=following)

    def _prompts(self, opened: Opened) -> dict[str, tuple[str, str]]:
        """Return kind and id of every directive and skill that may be requested, by name."""
        session, found = opened.session, {}
        own = opened.directive.id if opened.directive is not None else None
        for entry in opened.items.listed("directive"):
            if entry.id == own or any(session.may(action, "directive", entry.id) for action in ("execute", "load")):
                found[entry.id] = ("directive", entry.id)
        for entry in opened.items.listed("skill"):
            if session.may("load", "skill", entry.id):
                found[entry.id if entry.id not in found else f"skill:{entry.id}"] = ("skill", entry.id)
        return dict(list(found.items())[: RUNTIME.listed])

    async def get_prompt(
        self, ctx: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """Handle ``prompts/get``. Raises MCPError."""
        opened = await self._opened(ctx)
        known = (await _aside(partial(self._prompts, opened))).get(params.name)
        if known is None:
            raise _no_prompt(params.name)
        kind, item_id = known
        try:
            text = await self._asking.while_asking(
                ctx,
                params,
                lambda ask, cancel: served.prompt_text(opened, kind, item_id, params.arguments or {}, ask),
                _answered_by(ctx),
            )
        except CallError as error:
            raise _protocol_error(error) from error
        if isinstance(text, types.InputRequiredResult):
            return text
        content = types.TextContent(type="text", text=text)
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

    # -- resources -----------------------------------------------------------------------------------------------------

    async def list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """Handle ``resources/list``: the knowledge that the run may load."""
        opened = await self._opened(ctx)
        ids = [each.id for each in opened.items.listed("knowledge") if opened.session.may("load", "knowledge", each.id)]
        page, following = _page(ids[: RUNTIME.listed], params)
        found = await _aside(lambda: [served.resource(opened, item_id) for item_id in page])
        return types.ListResourcesResult(resources=[each for each in found if each is not None], next_cursor=following)

    async def list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Handle ``resources/templates/list``: the template of knowledge addresses."""
        template = types.ResourceTemplate(name="knowledge", uri_template=served.TEMPLATE, mime_type="text/markdown")
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        """Handle ``resources/read``: knowledge, or a skill's file. Raises MCPError."""
        opened, uri = await self._opened(ctx), params.uri
        try:
            found = await self._asking.while_asking(
                ctx, params, lambda ask, cancel: served.read(opened, uri, ask), _answered_by(ctx)
            )
        except CallError as error:
            raise _protocol_error(error) from error
        return found if isinstance(found, types.InputRequiredResult) else types.ReadResourceResult(contents=[found])

    # -- completion ----------------------------------------------------------------------------------------------------

    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Handle ``completion/complete``. Raises MCPError for a prompt or a template that is not offered."""
        opened, ref, argument = await self._opened(ctx), params.ref, params.argument
        if isinstance(ref, types.PromptReference):
            known = (await _aside(partial(self._prompts, opened))).get(ref.name)
            if known is None:
                raise _no_prompt(ref.name)
            declared = await _aside(partial(served.inputs, opened, *known))
            return types.CompleteResult(completion=served.input_values(declared, argument.name, argument.value))
        if ref.uri != served.TEMPLATE:
            raise MCPError(types.INVALID_PARAMS, f"There is no template {cut(ref.uri, 200)!r}; use {served.TEMPLATE}.")
        others = (params.context.arguments if params.context is not None else None) or {}
        found = await _aside(partial(served.address_values, opened, argument.name, argument.value, others))
        return types.CompleteResult(completion=found)

    # -- the extension for skills --------------------------------------------------------------------------------------

    async def list_skills(self, ctx: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        """Handle ``skills/list``."""
        opened = await self._opened(ctx)
        page, following = _page(served.skill_ids(opened), params)
        found = await _aside(lambda: [served.listed_skill(opened, item_id) for item_id in page])
        result: dict[str, Any] = {"resultType": "complete", "skills": [each for each in found if each is not None]}
        if following is not None:
            result["nextCursor"] = following
        return _cacheable(result)

    async def get_skill(self, ctx: Context, params: SkillParams) -> dict[str, Any]:
        """Handle ``skills/get``. Raises MCPError for an unknown skill."""
        opened = await self._opened(ctx)
        item_id = params.uri.removeprefix(skills.SCHEME).removesuffix(f"/{skills.MAIN}")
        known = params.uri == f"{skills.SCHEME}{item_id}/{skills.MAIN}" and item_id in served.skill_ids(opened)
        found = await _aside(lambda: served.listed_skill(opened, item_id)) if known else None
        if found is None:
            raise MCPError(types.INVALID_PARAMS, f"No skill is served at {cut(params.uri, 200)}")
        return _cacheable({"resultType": "complete", "skill": found})

    async def read_directory(self, ctx: Context, params: SkillParams) -> dict[str, Any]:
        """Handle ``resources/directory/read``: the entries of a skill's folder. Raises MCPError if there is none."""
        opened = await self._opened(ctx)
        place = served.skill_place(opened, params.uri)
        found = await _aside(lambda: served.directory(opened, *place)) if place is not None else None
        if found is None:
            raise MCPError(types.INVALID_PARAMS, f"{cut(params.uri, 200)} is not a directory resource")
        return {"resultType": "complete", "resources": found}

    # -- whose run it is -----------------------------------------------------------------------------------------------

    async def _opened(self, ctx: Context) -> Opened:
        """The run of a request, once what interrupted calls left is swept and policies are read again. Raises MCPError."""
        opened = self._run_of(ctx)
        try:
            await _aside(partial(_sweep, opened))
            await _aside(opened.session.renew)
        except RyeError as error:
            raise _protocol_error(from_rye_error(error)) from error
        except CallError as error:
            raise _protocol_error(error) from error
        return opened

    def _run_of(self, ctx: Context) -> Opened:
        grant: Grant | None = ctx.request.scope.get(GRANT) if ctx.request is not None else None
        try:
            return self.runs.of(grant)
        except RyeError as error:
            raise MCPError(types.INVALID_REQUEST, error.message) from error


def _answered_by(ctx: Context) -> str | None:
    """Who answers this client's questions, as the log says it; None: its answers do not count.

    A server on stdio was started by the person at the host. Over HTTP nobody vouches for the client, so it answers only if the
    token was made for that.
    """
    if ctx.request is None:
        return BY_THE_HOST
    grant: Grant | None = ctx.request.scope.get(GRANT)
    return BY_THE_CLIENT if grant is not None and grant.may_approve else None


class SkillParams(types.RequestParams):
    """Parameters of ``skills/get`` and ``resources/directory/read``."""

    uri: str
    cursor: str | None = None


def build_server(runs: Runs, *, expand: bool, instructions: str, start: dict[str, object]) -> Server[Any]:
    """Return the server with its handlers. ``start``: facts about the run, published as an extension for clients."""
    face = Face(runs, expand=expand)
    server: Server[Any] = Server(
        "rye",
        version=__version__,
        title="Rye",
        instructions=instructions,
        on_list_tools=face.list_tools,
        on_call_tool=face.call_tool,
        on_list_prompts=face.list_prompts,
        on_get_prompt=face.get_prompt,
        on_list_resources=face.list_resources,
        on_list_resource_templates=face.list_templates,
        on_read_resource=face.read_resource,
        on_completion=face.complete,
    )
    server.middleware.clear()  # no telemetry: what a run does is only in its own log
    server.extensions[skills.EXTENSION] = {"directoryRead": True}
    server.extensions["dev.rye/run"] = dict(start)
    server.add_request_handler("skills/list", types.PaginatedRequestParams, face.list_skills)
    server.add_request_handler("skills/get", SkillParams, face.get_skill)
    server.add_request_handler("resources/directory/read", SkillParams, face.read_directory)
    return server


# -- what handlers are made of -----------------------------------------------------------------------------------------


def _sweep(opened: Opened) -> None:
    """Sweep what a tool left whose Rye was killed since this server started. Raises RyeError ``journal-damaged``, ``in-use``."""
    context = opened.items.context
    sweep_interrupted(context.home, opened.project.root, context.warn)


def _reads_only(opened: Opened) -> bool:
    return opened.session.chain.levels[-1] is READ_ONLY or opened.directive is None


async def _aside(work: Callable[[], _T]) -> _T:
    """Run file access in a thread, so that other requests can continue."""
    return await anyio.to_thread.run_sync(work)


def _answer(document: dict[str, object], *, is_error: bool = False) -> types.CallToolResult:
    text = json.dumps(document, ensure_ascii=is_error)
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=document, is_error=is_error)


def _no_prompt(name: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, f"This run has no prompt {cut(name, 100)!r}.")


def _protocol_error(error: CallError) -> MCPError:
    """Convert an error for requests other than tool calls, with the same document as its data."""
    return MCPError(types.INVALID_PARAMS, cut(f"{error.code}: {error.message}", 300), error.as_json()["error"])


def _page(entries: Sequence[_T], params: types.PaginatedRequestParams | None) -> tuple[Sequence[_T], str | None]:
    """Return one page and the cursor of the next. Raises MCPError for an invalid cursor."""
    start = 0
    if params is not None and params.cursor is not None:
        try:
            start = int(base64.urlsafe_b64decode(params.cursor.encode()).decode("ascii"))
        except ValueError:
            start = -1
        if not 0 <= start <= len(entries):
            raise MCPError(types.INVALID_PARAMS, "The cursor does not belong to this list.")
    end = start + _PAGE
    return entries[start:end], base64.urlsafe_b64encode(str(end).encode()).decode() if end < len(entries) else None


def _cacheable(result: dict[str, Any]) -> dict[str, Any]:
    return {**result, "ttlMs": _TTL_MS, "cacheScope": "private"}
