"""The server: the five tools, prompts, resources and skills of a run, over the official SDK's low level
(docs/explanation/runtime.md).

The low level does not check arguments against schemas; :mod:`rye.runtime.calls` does. Every answer that gives an item's text
or does something goes through :meth:`rye.runtime.session.Session.act` and its siblings: decided, written down, then made.
Lists show what may be asked for. What goes wrong reaches the caller as the error document of a call and never as a traceback.

One loop of the SDK serves both eras: handshakes of 2025 and requests of 2026-07-28, which have no sessions. A person is asked
in the way of the era: by a request to the client, or by an answer that asks for input and is sent again.
"""

from __future__ import annotations

import base64
import json
import secrets
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from rye import __version__
from rye.errors import RyeError
from rye.items.directive.input_values import from_text
from rye.items.identity import is_id
from rye.limits import RUNTIME
from rye.mcp import skills
from rye.mcp.hosting import Runs
from rye.mcp.tokens import Grant
from rye.mcp.tool_names import tool_names
from rye.runtime.approvals import Question
from rye.runtime.calls import TOOLS, CallError, cut, from_rye_error
from rye.runtime.chain import READ_ONLY
from rye.runtime.effects import UsableItem
from rye.runtime.opening import Opened
from rye.workspace.registries.known_proofs import known_proof

_T = TypeVar("_T")
_Context = ServerRequestContext[Any, Any]
_PAGE = 100
"""Entries of one page of a list."""
_SCHEME = "rye://"
GRANT = "rye.grant"
"""Where the HTTP face puts what a request's token says."""
_NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
"""The form of a question that only needs a yes."""
_TTL_MS = 0


class Face:
    """The handlers of one server."""

    def __init__(self, runs: Runs, *, expand: bool = False):
        self.runs = runs
        self.expand = expand
        self._waiting: dict[str, str] = {}
        """What a person is being asked about, by the state that their client sends back."""

    # -- tools ---------------------------------------------------------------------------------------------------------

    async def list_tools(self, ctx: _Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        opened = self._opened(ctx)
        tools = [
            types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema)
            for tool in TOOLS.values()
            if tool.name in ("rye_search", "rye_load") or not _reads_only(opened)
        ]
        if self.expand:
            tools += await _aside(partial(self._single_tools, opened))
        return types.ListToolsResult(tools=tools)

    def _single_tools(self, opened: Opened) -> list[types.Tool]:
        found = []
        for name, item_id in self._names(opened).items():
            try:
                description = opened.items.read("tool", item_id, runs=False).description
            except RyeError:  # what may not be used is not offered
                continue
            found.append(
                types.Tool(
                    name=name,
                    description=cut(f"{description} (tool:{item_id}, run in a sandbox)".strip(), 1000),
                    input_schema={"type": "object", "properties": {}, "additionalProperties": True},
                )
            )
        return found

    def _names(self, opened: Opened) -> dict[str, str]:
        """Names of single tools → ids of what the chain may execute."""
        ids = [entry.id for entry in opened.items.listed("tool") if opened.session.may("execute", "tool", entry.id)]
        return tool_names(ids[: RUNTIME.listed], TOOLS)

    async def call_tool(
        self, ctx: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        opened, name, arguments = self._opened(ctx), params.name, params.arguments or {}
        if self.expand and name not in TOOLS:
            item_id = (await _aside(partial(self._names, opened))).get(name)
            if item_id is not None:
                name, arguments = "rye_execute", {"item_type": "tool", "item_id": item_id, "parameters": arguments}
        try:
            result = await self._with_person(
                ctx, params, lambda ask, cancel: opened.session.act(name, arguments, ask=ask, cancel=cancel)
            )
        except CallError as error:
            return _answer(error.as_json(), is_error=True)
        except Exception as error:  # a fault of ours must not tell a model more than that
            failed = CallError("not-runnable", f"Something inside rye went wrong: {type(error).__name__}.")
            return _answer(failed.as_json(), is_error=True)
        return result if isinstance(result, types.InputRequiredResult) else _answer(result)

    # -- asking a person -----------------------------------------------------------------------------------------------

    async def _with_person(
        self,
        ctx: _Context,
        params: types.InputResponseRequestParams,
        act: Callable[[Callable[[Question], bool | None], threading.Event], _T],
    ) -> _T | types.InputRequiredResult:
        """Act in a thread, where a question reaches the person at the client, if the client can ask."""
        cancel = threading.Event()
        capabilities = ctx.session.client_capabilities
        can_ask = capabilities is not None and capabilities.elicitation is not None
        asked: list[Question] = []

        def ask(question: Question) -> bool | None:
            if not can_ask or len(json.dumps(question.params)) > RUNTIME.asked_characters:
                return None
            if ctx.session.can_send_request:
                return anyio.from_thread.run(self._ask_now, ctx, question)
            answer = self._answer_to(params, question)
            if answer is None:
                asked.append(question)
                return None
            return _said(answer)

        try:
            return await anyio.to_thread.run_sync(partial(act, ask, cancel), abandon_on_cancel=True)
        except CallError as error:
            if error.code != "approval-required" or not asked:
                raise
            return self._ask_later(asked[0])
        except anyio.get_cancelled_exc_class():
            cancel.set()
            raise

    async def _ask_now(self, ctx: _Context, question: Question) -> bool | None:
        try:
            answer = await ctx.session.elicit_form(_words(question), _NOTHING, related_request_id=ctx.request_id)
        except (MCPError, ValueError):  # the client cannot, or gave no answer that is one
            return None
        return _said(answer)

    def _ask_later(self, question: Question) -> types.InputRequiredResult:
        state = secrets.token_urlsafe(24)
        while len(self._waiting) >= RUNTIME.questions:
            self._waiting.pop(next(iter(self._waiting)))
        self._waiting[state] = question.key
        form = types.ElicitRequestFormParams(message=_words(question), requested_schema=_NOTHING)
        return types.InputRequiredResult(
            input_requests={"approve": types.ElicitRequest(params=form)}, request_state=state
        )

    def _answer_to(self, params: types.InputResponseRequestParams, question: Question) -> types.ElicitResult | None:
        """The person's answer, where this request carries one to exactly this question; it counts once."""
        answer = (params.input_responses or {}).get("approve")
        if params.request_state is None or not isinstance(answer, types.ElicitResult):
            return None
        if self._waiting.get(params.request_state) != question.key:
            return None
        del self._waiting[params.request_state]
        return answer

    # -- prompts -------------------------------------------------------------------------------------------------------

    async def list_prompts(self, ctx: _Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        opened = self._opened(ctx)
        names, following = _page(list(self._prompts(opened).items()), params)
        prompts = await _aside(lambda: [_prompt(opened, name, kind, item_id) for name, (kind, item_id) in names])
        return types.ListPromptsResult(prompts=[found for found in prompts if found is not None], next_cursor=following)

    def _prompts(self, opened: Opened) -> dict[str, tuple[str, str]]:
        """Name → kind and id of every directive and skill that may be asked for."""
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
        self, ctx: _Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        opened = self._opened(ctx)
        known = (await _aside(partial(self._prompts, opened))).get(params.name)
        if known is None:
            raise MCPError(types.INVALID_PARAMS, f"No prompt {cut(params.name, 100)!r} is permitted here.")
        kind, item_id = known
        try:
            text = await self._with_person(
                ctx, params, lambda ask, cancel: _prompt_text(opened, kind, item_id, params.arguments or {}, ask)
            )
        except CallError as error:
            raise _protocol_error(error) from error
        if isinstance(text, types.InputRequiredResult):
            return text
        content = types.TextContent(type="text", text=text)
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

    # -- resources -----------------------------------------------------------------------------------------------------

    async def list_resources(
        self, ctx: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        opened = self._opened(ctx)
        ids = [each.id for each in opened.items.listed("knowledge") if opened.session.may("load", "knowledge", each.id)]
        page, following = _page(ids[: RUNTIME.listed], params)
        found = await _aside(lambda: [_resource(opened, item_id) for item_id in page])
        return types.ListResourcesResult(resources=[each for each in found if each is not None], next_cursor=following)

    async def list_templates(
        self, ctx: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            name="knowledge", uri_template="rye://{+id}@{version}", mime_type="text/markdown"
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, ctx: _Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        opened, uri = self._opened(ctx), params.uri
        try:
            found = await self._with_person(ctx, params, lambda ask, cancel: _read(opened, uri, ask))
        except CallError as error:
            raise _protocol_error(error) from error
        return found if isinstance(found, types.InputRequiredResult) else types.ReadResourceResult(contents=[found])

    # -- the extension for skills --------------------------------------------------------------------------------------

    async def list_skills(self, ctx: _Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        opened = self._opened(ctx)
        page, following = _page(_skill_ids(opened), params)
        found = await _aside(lambda: [_listed_skill(opened, item_id) for item_id in page])
        result: dict[str, Any] = {"resultType": "complete", "skills": [each for each in found if each is not None]}
        if following is not None:
            result["nextCursor"] = following
        return _cacheable(result)

    async def get_skill(self, ctx: _Context, params: SkillParams) -> dict[str, Any]:
        opened = self._opened(ctx)
        item_id = params.uri.removeprefix(skills.SCHEME).removesuffix(f"/{skills.MAIN}")
        known = params.uri == f"{skills.SCHEME}{item_id}/{skills.MAIN}" and item_id in _skill_ids(opened)
        found = await _aside(lambda: _listed_skill(opened, item_id)) if known else None
        if found is None:
            raise MCPError(types.INVALID_PARAMS, f"No skill is served at {cut(params.uri, 200)}")
        return _cacheable({"resultType": "complete", "skill": found})

    async def read_directory(self, ctx: _Context, params: SkillParams) -> dict[str, Any]:
        opened = self._opened(ctx)
        place = _skill_place(opened, params.uri)
        found = await _aside(lambda: _directory(opened, *place)) if place is not None else None
        if found is None:
            raise MCPError(types.INVALID_PARAMS, f"{cut(params.uri, 200)} is not a directory resource")
        return {"resultType": "complete", "resources": found}

    # -- whose run it is -----------------------------------------------------------------------------------------------

    def _opened(self, ctx: _Context) -> Opened:
        grant: Grant | None = None
        if ctx.request is not None:
            grant = ctx.request.scope.get(GRANT)
        try:
            return self.runs.of(grant)
        except RyeError as error:
            raise MCPError(types.INVALID_REQUEST, error.message) from error


class SkillParams(types.RequestParams):
    """Parameters of ``skills/get`` and ``resources/directory/read``."""

    uri: str
    cursor: str | None = None


def build_server(runs: Runs, *, expand: bool, instructions: str, start: dict[str, object]) -> Server[Any]:
    """The server with its handlers. ``start``: what the start of a run says, for clients that look for it."""
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
    )
    server.middleware.clear()  # telemetry: what a run does is in its own log, and leaves the machine in no other way
    server.extensions[skills.EXTENSION] = {"directoryRead": True}
    server.extensions["dev.rye/run"] = dict(start)
    server.add_request_handler("skills/list", types.PaginatedRequestParams, face.list_skills)
    server.add_request_handler("skills/get", SkillParams, face.get_skill)
    server.add_request_handler("resources/directory/read", SkillParams, face.read_directory)
    return server


# -- what handlers are made of -----------------------------------------------------------------------------------------


def _reads_only(opened: Opened) -> bool:
    return opened.session.chain.levels[-1] is READ_ONLY or opened.directive is None


async def _aside(work: Callable[[], _T]) -> _T:
    """Reading files happens in a thread, so that other requests go on."""
    return await anyio.to_thread.run_sync(work)


def _answer(document: dict[str, object], *, is_error: bool = False) -> types.CallToolResult:
    text = json.dumps(document, ensure_ascii=is_error)
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=document, is_error=is_error)


def _protocol_error(error: CallError) -> MCPError:
    """For requests that are no tool calls: the same document, as the error's data."""
    return MCPError(types.INVALID_PARAMS, cut(f"{error.code}: {error.message}", 300), error.as_json()["error"])


def _words(question: Question) -> str:
    """What a person is asked, with nothing in it that could be taken for Rye's own words."""
    lines = [
        f"Rye: {question.tool} of {cut(question.item, 200)}",
        f"It needs {cut(question.required, 300)}.",
        f"Parameters: {cut(json.dumps(question.params), RUNTIME.asked_characters)}",
        "Allow this one call?",
    ]
    return "\n".join(lines)


def _said(answer: types.ElicitResult) -> bool | None:
    """Accept is yes unless a field says no; decline is no; to close the question is no answer."""
    if answer.action == "accept":
        return all(value is not False for value in (answer.content or {}).values())
    return False if answer.action == "decline" else None


def _page(entries: Sequence[_T], params: types.PaginatedRequestParams | None) -> tuple[Sequence[_T], str | None]:
    """One page, and the cursor of the next. Raises MCPError for a cursor that is none."""
    start = 0
    if params is not None and params.cursor is not None:
        try:
            start = int(base64.urlsafe_b64decode(params.cursor.encode()).decode("ascii"))
        except ValueError:
            start = -1
        if not 0 <= start <= len(entries):
            raise MCPError(types.INVALID_PARAMS, "The cursor is not one of this list.")
    end = start + _PAGE
    return entries[start:end], base64.urlsafe_b64encode(str(end).encode()).decode() if end < len(entries) else None


def _cacheable(result: dict[str, Any]) -> dict[str, Any]:
    return {**result, "ttlMs": _TTL_MS, "cacheScope": "private"}


def _prompt(opened: Opened, name: str, kind: str, item_id: str) -> types.Prompt | None:
    try:
        item = opened.items.read(kind, item_id, runs=False)
    except RyeError:  # what may not be used is not offered
        return None
    arguments = [
        types.PromptArgument(
            name=each.name, description=f"{each.description} ({each.type})".strip(), required=each.required
        )
        for each in (item.directive.inputs if item.directive is not None else ())
    ]
    return types.Prompt(name=name, description=item.description, arguments=arguments)


def _prompt_text(
    opened: Opened,
    kind: str,
    item_id: str,
    arguments: dict[str, str],
    ask: Callable[[Question], bool | None],
) -> str:
    """The text of a prompt. A directive that the run may execute is started: from then on it narrows the run."""
    session = opened.session
    if kind == "skill":
        return session.load_item(kind, item_id, ask=ask).text
    own = opened.directive
    if own is not None and own.id == item_id:
        return session.own_prompt(own, _values(own, arguments))
    if not session.may("execute", kind, item_id):
        item = session.load_item(kind, item_id, ask=ask)
        return _rendered(opened, item, arguments)
    try:
        values = _values(opened.items.read(kind, item_id, runs=True), arguments)
    except RyeError:
        values = dict(arguments)  # the call says what is wrong
    call = {"item_type": kind, "item_id": item_id, "parameters": values}
    return str(session.act("rye_execute", call, ask=ask)["prompt"])


def _rendered(opened: Opened, item: UsableItem, arguments: dict[str, str]) -> str:
    if item.directive is None:
        raise CallError("not-runnable", f"{item.label} cannot be read as a directive.", "Run `rye validate`.")
    try:
        return opened.items.render(item, _values(item, arguments))
    except RyeError as error:
        raise from_rye_error(error, item.label) from error


def _values(item: UsableItem, arguments: dict[str, str]) -> dict[str, object]:
    """Prompt arguments are texts; a directive's inputs have types."""
    types_ = {each.name: each.type for each in item.directive.inputs} if item.directive is not None else {}
    found: dict[str, object] = {}
    for name, text in arguments.items():
        try:
            found[name] = from_text(types_[name], text) if name in types_ else text
        except ValueError:
            found[name] = text  # rendering says what was expected
    return found


def _resource(opened: Opened, item_id: str) -> types.Resource | None:
    try:
        item = opened.items.read("knowledge", item_id, runs=False)
    except RyeError:
        return None
    meta = {"signer": item.signer, "sha256": item.sha256}
    return types.Resource(
        uri=_uri(item),
        name=item.id,
        description=item.description,
        mime_type="text/markdown",
        size=len(item.text.encode()),
        _meta=meta,
    )


def _uri(item: UsableItem) -> str:
    return f"{_SCHEME}{item.id}@{item.version}" if item.version else f"{_SCHEME}{item.id}"


def _read(
    opened: Opened, uri: str, ask: Callable[[Question], bool | None]
) -> types.TextResourceContents | types.BlobResourceContents:
    """A piece of knowledge, or a file of a skill."""
    if uri.startswith(skills.SCHEME):
        return _read_skill_file(opened, uri, ask)
    item_id, at, version = uri.removeprefix(_SCHEME).partition("@")
    if not uri.startswith(_SCHEME) or not is_id(item_id) or (at and not version):
        message = f"{cut(uri, 200)!r} is no resource of this server."
        raise CallError("invalid-parameters", message, "Resources are rye://NAMESPACE/CATEGORY/NAME@VERSION.")
    item = opened.session.load_item("knowledge", item_id, version or None, ask=ask)
    meta = {"signer": item.signer, "sha256": item.sha256}
    return types.TextResourceContents(uri=uri, mime_type="text/markdown", text=item.text, _meta=meta)


def _skill_ids(opened: Opened) -> list[str]:
    ids = [each.id for each in opened.items.listed("skill") if opened.session.may("load", "skill", each.id)]
    return ids[: RUNTIME.listed]


def _skill_files(opened: Opened, item: UsableItem) -> skills.SkillFiles:
    attached = opened.items.attached("skill", item.id)
    return skills.SkillFiles(item, {skills.MAIN: item.text.encode(), **attached})


def _listed_skill(opened: Opened, item_id: str) -> dict[str, Any] | None:
    """The entry; None for a skill that may not be used, or that not every host takes."""
    try:
        found = _skill_files(opened, opened.items.read("skill", item_id, runs=False))
        if not skills.fits(found):
            return None
        proof = known_proof(opened.items.context, opened.project, "skill", found.item.id, found.item.version)
        return skills.entry(found, proof)
    except RyeError:
        return None


def _skill_place(opened: Opened, uri: str) -> tuple[str, str] | None:
    """The skill that an address lies in, and the path in it; None for an address of no skill that may be loaded."""
    rest = uri.removeprefix(skills.SCHEME)
    if rest == uri:
        return None
    for item_id in _skill_ids(opened):
        if rest == item_id or rest.startswith(f"{item_id}/"):
            return item_id, rest.removeprefix(item_id).removeprefix("/")
    return None


def _directory(opened: Opened, item_id: str, folder: str) -> list[dict[str, str]] | None:
    try:
        return skills.children(_skill_files(opened, opened.items.read("skill", item_id, runs=False)), folder)
    except RyeError:
        return None


def _read_skill_file(
    opened: Opened, uri: str, ask: Callable[[Question], bool | None]
) -> types.TextResourceContents | types.BlobResourceContents:
    place = _skill_place(opened, uri)
    if place is None:
        raise CallError("denied", f"{cut(uri, 200)!r} is in no skill that this run may load.")
    item_id, path = place
    try:
        found = _skill_files(opened, opened.session.load_item("skill", item_id, ask=ask))
    except RyeError as error:
        raise from_rye_error(error, f"skill:{item_id}") from error
    data = found.files.get(path)
    if data is None:
        raise CallError("unknown-item", f"skill:{item_id} has no file {cut(path, 200)!r}.")
    kind = skills.media_type(path)
    try:
        return types.TextResourceContents(uri=uri, mime_type=kind, text=data.decode("utf-8"))
    except UnicodeDecodeError:
        return types.BlobResourceContents(uri=uri, mime_type=kind, blob=base64.b64encode(data).decode())
