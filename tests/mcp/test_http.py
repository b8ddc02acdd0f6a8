"""Over HTTP authority comes from the bearer token alone (design: agents 3, rule 2, and 3.1)."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.context import ClientRequestContext
from mcp.client.session import ElicitationFnT
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitRequestParams, ElicitResult

from rye.errors import UsageError
from rye.limits import RUNTIME
from rye.mcp import http
from rye.mcp.server import build_server
from rye.mcp.serving import runs_by_token
from rye.mcp.tokens import issue, token_key
from rye.workspace.context import LibraryContext
from tests.mcp.sessions import Caller, log_of, own_directive, own_knowledge, own_tool, project_with_key, runs_of
from tests.scenes.person import Person

pytestmark = pytest.mark.processes
RUN = {"item_type": "tool", "item_id": "acme/fs/write", "parameters": {"a": 1}}
SHELL = {"item_type": "tool", "item_id": "acme/shell/run", "parameters": {"command": "ls"}}
ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])


class Running:
    """A server on a thread of this process, with its own event loop."""

    def __init__(
        self,
        shop: Person,
        *,
        only: str | None = None,
        demanded: bool = False,
        sessions: int = RUNTIME.sessions,
    ):
        self.shop = shop
        self.context = LibraryContext(cwd=shop.folder, home=shop.folders, environment=dict(shop.environment))
        self.runs = runs_by_token(self.context, shop.project)
        self.where = http.listening("127.0.0.1", 0)
        self.port = self.where.getsockname()[1]
        server = build_server(self.runs, expand=False, instructions="", start={})
        self.gate = http.BearerGate(
            http.application(server, "127.0.0.1", self.port, sessions=sessions),
            self.runs,
            shop.project,
            lambda: token_key(shop.folders),
            self.context.now,
            only=only,
            demanded=demanded,
        )
        self._ready, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=anyio.run, args=(self._serve,), daemon=True)
        self._thread.start()
        assert self._ready.wait(20)

    async def _serve(self) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(http.serve, self.gate, self.runs, self.where, self._ready.set)
            while not self._stop.is_set():
                await anyio.sleep(0.02)
            group.cancel_scope.cancel()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(10)
        self.runs.close()

    def token(self, directive: str = "acme/work/ship", ttl: str = "8h", *options: str) -> str:
        made = self.shop.ok("mcp", "token", "--as", directive, "--ttl", ttl, "--json", *options).json
        assert set(made) >= {"token"}
        return str(made["token"])

    @asynccontextmanager
    async def client(
        self, token: str | None, mode: str = "auto", elicitation_callback: ElicitationFnT | None = None
    ) -> AsyncIterator[Caller]:
        headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
        async with (
            httpx2.AsyncClient(headers=headers) as own,
            Client(
                streamable_http_client(self.url, http_client=own), mode=mode, elicitation_callback=elicitation_callback
            ) as client,
        ):
            yield Caller(client, None)  # type: ignore[arg-type]

    def play(
        self,
        token: str | None,
        story: Callable[[Caller], Awaitable[None]],
        mode: str = "auto",
        elicitation_callback: ElicitationFnT | None = None,
    ) -> None:
        async def main() -> None:
            async with self.client(token, mode, elicitation_callback) as caller:
                await story(caller)

        anyio.run(main)

    def post(self, headers: dict[str, str]) -> httpx2.Response:
        """One request of the newer era, as any program would send it."""
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "rye_execute", "arguments": RUN},
        }
        accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        return httpx2.post(self.url, content=json.dumps(body), headers={**accept, **headers}, timeout=20)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Person:
    made = project_with_key(tmp_path_factory.mktemp("http"))
    own_directive(made, "work/ship")
    own_directive(made, "work/read", "<load><knowledge>acme/notes/*</knowledge></load>")
    own_tool(made, "fs/write")
    own_tool(made, "shell/run")
    own_knowledge(made, "style")
    return made


@pytest.fixture(scope="module")
def server(shop: Person) -> Iterator[Running]:
    running = Running(shop)
    yield running
    running.stop()


@ERAS
def test_a_token_gives_the_rights_of_its_directive(server: Running, mode: str) -> None:
    async def story(caller: Caller) -> None:
        assert (await caller.ok("rye_execute", **RUN))["exit"] == 0

    server.play(server.token(), story, mode)


@ERAS
def test_without_a_token_a_request_searches_and_loads(server: Running, mode: str) -> None:
    async def story(caller: Caller) -> None:
        assert (await caller.ok("rye_load", item_type="knowledge", item_id="acme/notes/style"))["text"]
        assert (await caller.error("rye_execute", **RUN))["code"] == "denied"

    server.play(None, story, mode)


async def accept(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    return ElicitResult(action="accept", content={})


@ERAS
def test_who_asks_over_http_does_not_answer(server: Running, mode: str) -> None:
    """A client that says yes to its own question: the call waits for `rye approve`, whatever the client can show."""

    async def story(caller: Caller) -> None:
        error = await caller.error("rye_execute", **SHELL)
        assert error["code"] == "approval-required"
        server.shop.ok("approve", error["run"], str(error["call"]))
        assert (await caller.ok("rye_execute", **SHELL))["exit"] == 0
        assert by(server, error["run"]) == ["rye approve"]

    server.play(server.token(), story, mode, accept)


@ERAS
def test_a_token_that_may_approve_answers_for_its_client_and_the_log_says_so(server: Running, mode: str) -> None:
    async def story(caller: Caller) -> None:
        run = (await caller.ok("rye_execute", **SHELL))["run"]
        assert by(server, run) == ["answered by the client"]
        assert "answered by the client" in server.shop.ok("runs", "show", run).stdout

    server.play(server.token("acme/work/ship", "8h", "--may-approve"), story, mode, accept)


def by(server: Running, run: str) -> list[str]:
    events = server.shop.ok("runs", "show", run, "--json").json["events"]
    return [event["by"] for event in events if event["event"] == "approve"]


def test_a_run_is_the_tokens_and_no_new_connection_widens_it(server: Running) -> None:
    token = server.token()

    async def narrow(caller: Caller) -> None:
        await caller.ok("rye_execute", item_type="directive", item_id="acme/work/read")

    async def narrowed(caller: Caller) -> None:
        assert (await caller.error("rye_execute", **RUN))["code"] == "denied"

    async def wide(caller: Caller) -> None:
        assert (await caller.ok("rye_execute", **RUN))["exit"] == 0

    server.play(token, narrow)
    server.play(token, narrowed)
    server.play(token, narrowed, "legacy")
    server.play(server.token(), wide)


@pytest.mark.parametrize(
    "authorization",
    ["Bearer nonsense", "Bearer rye1.e30.e30", "Bearer", "Basic dXNlcjpwYXNz", "rye1.x.y", "Bearer a b"],
)
def test_a_bad_token_is_401_and_nothing_more(server: Running, authorization: str) -> None:
    answer = server.post({"Authorization": authorization})
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "token-refused"
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert len(answer.content) <= RUNTIME.error_bytes


def test_an_expired_token_is_401(server: Running) -> None:
    now = server.context.now() - timedelta(hours=2)
    opened = server.runs.of(None)
    item = opened.items.read("directive", "acme/work/ship", runs=True)
    token = issue(
        token_key(server.shop.folders), server.shop.project, item.id, item.version, item.sha256, now, timedelta(hours=1)
    )
    answer = server.post({"Authorization": f"Bearer {token}"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "token-expired")


def test_a_token_for_other_bytes_is_401(server: Running, shop: Person) -> None:
    own_directive(shop, "work/moving")
    token = server.token("acme/work/moving")
    own_directive(shop, "work/moving", "<search>*</search><load>*</load><execute>*</execute>")
    answer = server.post({"Authorization": f"Bearer {token}"})
    assert answer.status_code == 401


def test_a_token_that_was_used_before_is_none_for_other_bytes(server: Running, shop: Person) -> None:
    """The run that the token opened has the old rights, and how far they were narrowed must not be forgotten."""
    own_directive(shop, "work/turning")
    place = shop.path(".ai/directives/work/turning.md")
    first = place.read_bytes()
    token = server.token("acme/work/turning")
    own = {"Authorization": f"Bearer {token}"}

    async def narrow(caller: Caller) -> None:
        assert (await caller.ok("rye_execute", **RUN))["exit"] == 0
        await caller.ok("rye_execute", item_type="directive", item_id="acme/work/read")

    async def narrowed(caller: Caller) -> None:
        assert (await caller.error("rye_execute", **RUN))["code"] == "denied"

    server.play(token, narrow)
    own_directive(shop, "work/turning", "<load><knowledge>acme/notes/*</knowledge></load>")
    assert server.post(own).status_code == 401
    place.write_bytes(first.replace(b"Do the work", b"Do no work"))  # its signature is not valid any more
    refusal = server.post(own)
    assert refusal.status_code == 401
    assert_nothing_local(refusal, shop)
    place.unlink()
    assert server.post(own).status_code == 401
    place.write_bytes(first)
    server.play(token, narrowed)


def test_without_its_key_no_token_is_valid_for_a_server_that_runs(server: Running, shop: Person) -> None:
    own = {"Authorization": f"Bearer {server.token()}"}
    assert server.post(own).status_code != 401
    place = shop.folders.data / "mcp" / "token-key"
    before = place.read_bytes()
    place.unlink()
    assert server.post(own).status_code == 401
    assert server.post({"Authorization": f"Bearer {server.token()}"}).status_code != 401
    place.write_bytes(before)
    place.chmod(0o644)
    refusal = server.post(own)
    assert refusal.status_code == 401
    assert_nothing_local(refusal, shop)
    place.write_bytes(b"damaged")
    place.chmod(0o600)
    assert_nothing_local(server.post({"Authorization": "Bearer nonsense"}), shop)
    place.write_bytes(before)
    assert server.post(own).status_code != 401


def test_a_trust_store_that_others_may_write_is_told_to_no_caller(server: Running, shop: Person) -> None:
    own = {"Authorization": f"Bearer {server.token()}"}
    place = shop.folders.config / "trusted-keys.toml"
    mode = place.stat().st_mode & 0o777
    place.chmod(0o666)
    try:
        assert_nothing_local(server.post(own), shop)
    finally:
        place.chmod(mode)
    assert server.post(own).status_code != 401


def assert_nothing_local(refusal: httpx2.Response, shop: Person) -> None:
    """A refusal goes to whoever asked, so it names no file of this machine, and tells its operator where to look."""
    assert refusal.status_code == 401
    assert str(shop.folders.data.parent) not in refusal.text
    assert str(shop.project.root) not in refusal.text
    assert "/" not in refusal.json()["error"]["message"].replace("acme/work/", "")
    assert "rye mcp token --as ID" in refusal.json()["error"]["hint"]


def test_two_authorizations_are_none(server: Running) -> None:
    headers = [
        ("Authorization", f"Bearer {server.token()}"),
        ("Authorization", "Bearer x"),
        ("Content-Type", "application/json"),
    ]
    assert httpx2.post(server.url, content=b"{}", headers=headers, timeout=20).status_code == 401


@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Host": "127.0.0.1:1"}, {"Origin": "https://evil.example"}]
)
def test_a_name_that_was_rebound_to_this_machine_is_refused(server: Running, headers: dict[str, str]) -> None:
    token = {"Authorization": f"Bearer {server.token()}"}
    assert server.post({**token, **headers}).status_code in (403, 421)


def test_a_session_id_is_no_authority(server: Running) -> None:
    """A client of the older era opens a session with a token; another request in that session has none."""
    token = server.token()
    hello = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    with httpx2.Client(headers=accept, timeout=20) as client:
        own = {"Authorization": f"Bearer {token}"}
        opened = client.post(server.url, content=json.dumps(hello), headers=own)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "Mcp-Protocol-Version": "2025-11-25"}
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        client.post(server.url, content=json.dumps(ready), headers={**own, **session})
        answers = [server.post(session), server.post({**session, **own})]
    assert answers[0].status_code == 404
    assert "exit" in answers[1].text


@pytest.mark.parametrize("with_other", [False, True])
def test_a_session_id_answers_nothing_and_ends_nothing(server: Running, with_other: bool) -> None:
    """Who knows the id of a session, but not its token, cannot say yes to what its client was asked, nor end it."""
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "1"},
    }
    accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    own = {"Authorization": f"Bearer {server.token('acme/work/ship', '8h', '--may-approve')}"}
    other = {"Authorization": f"Bearer {server.token('acme/work/read')}"} if with_other else {}
    yes = {"result": {"action": "accept", "content": {}}}
    call = {"id": 7, "method": "tools/call", "params": {"name": "rye_execute", "arguments": SHELL}}
    with httpx2.Client(headers=accept, timeout=20) as client:

        def post(headers: dict[str, str], **message: object) -> httpx2.Response:
            return client.post(server.url, content=json.dumps({"jsonrpc": "2.0", **message}), headers=headers)

        opened = post(own, id=0, method="initialize", params=hello)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "Mcp-Protocol-Version": "2025-11-25"}
        post({**own, **session}, method="notifications/initialized")
        body = json.dumps({"jsonrpc": "2.0", **call})
        with client.stream("POST", server.url, content=body, headers={**own, **session}) as answer:
            lines = answer.iter_lines()
            asked = json.loads(next(line for line in lines if line.startswith("data:")).removeprefix("data:"))
            assert asked["method"] == "elicitation/create"
            assert post({**other, **session}, id=asked["id"], **yes).status_code == 404
            assert client.delete(server.url, headers={**other, **session}).status_code == 404
            post({**own, **session}, id=asked["id"], result={"action": "decline"})
            assert "declined" in next(line for line in lines if line.startswith("data:"))


def test_where_a_version_is_demanded_tokens_for_another_are_refused(shop: Person) -> None:
    for only, is_refused in (("acme/work/read@1.0.0", False), ("acme/work/read@2.0.0", True)):
        running = Running(shop, only=only, demanded=True)
        try:
            token = {"Authorization": f"Bearer {running.token('acme/work/read')}"}
            assert (running.post(token).status_code == 401) is is_refused
        finally:
            running.stop()


def test_where_tokens_are_demanded_nothing_is_answered_without_one(shop: Person) -> None:
    running = Running(shop, only="acme/work/read", demanded=True)
    try:
        assert running.post({}).status_code == 401
        assert running.post({"Authorization": f"Bearer {running.token('acme/work/ship')}"}).status_code == 401

        async def story(caller: Caller) -> None:
            assert (await caller.ok("rye_load", item_type="knowledge", item_id="acme/notes/style"))["text"]

        running.play(running.token("acme/work/read"), story)
    finally:
        running.stop()


def test_only_this_machine_is_served_unless_tokens_are_demanded() -> None:
    http.require_safe("127.0.0.1", demands_token=False)
    http.require_safe("::1", demands_token=False)
    http.require_safe("192.0.2.7", demands_token=True)
    for host in ("192.0.2.7", "0.0.0.0", "example.com"):
        with pytest.raises(UsageError):
            http.require_safe(host, demands_token=False)
    for host in ("0.0.0.0", "0", "0x0", "000.0.0.0", "::", "::0", "0:0:0:0:0:0:0:0", "::ffff:0.0.0.0", "*"):
        with pytest.raises(UsageError, match="all interfaces"):
            http.require_safe(host, demands_token=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "8080",
        ":8080",
        "127.0.0.1:",
        "127.0.0.1:99999",
        "127.0.0.1:x",
        "127.0.0.1:²",
        "127.0.0.1:0000099999",
        f"127.0.0.1:{'9' * 5000}",
    ],
)
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        http.parse_address(text)


def test_runs_end_with_their_tokens(shop: Person) -> None:
    running = Running(shop)
    try:
        token = running.token(ttl="1h")

        async def story(caller: Caller) -> None:
            assert (await caller.ok("rye_execute", **RUN))["exit"] == 0

        running.play(token, story)
        before = len(runs_of(shop))
        running.runs.expire(running.context.now().timestamp() + 7200)
        assert any(line["decision"] == "token-expired" for line in log_of(shop) if line["event"] == "end")
        assert len(runs_of(shop)) == before
    finally:
        running.stop()
