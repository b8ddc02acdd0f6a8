"""What operators see: readiness, metrics, logs with request IDs, and the OpenAPI document, on an application in this process."""

from __future__ import annotations

import io
import json
import logging
import re
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from registry_server.api import logs
from registry_server.api.application import OPERATIONS, framework
from registry_server.api.metrics import may_read, route_of
from registry_server.settings import Settings
from rye.errors import RyeError
from rye.registry.protocol import wire
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, error_code

pytestmark = pytest.mark.processes


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """The log, as JSON lines."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    stream = io.StringIO()
    logs.set_up("json", stream)
    yield stream
    root.handlers, root.level = before, level
    logging.getLogger("rye").setLevel(logging.NOTSET)


class TestReadiness:
    def test_alive_and_ready(self, local: LocalRegistry) -> None:
        assert local.get("/livez").json() == {"status": "ok"}
        ready = wire.decode_json(local.get("/readyz").content, wire.ReadyAnswer)
        assert ready.size >= 2
        assert 0 <= ready.head_age_seconds < 600

    def test_an_old_head_is_not_ready(self, local: LocalRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
        readiness = local.service.readiness
        clock = readiness._clock
        for hours, status in ((35, 200), (37, 503)):
            monkeypatch.setattr(readiness, "_known", None)
            monkeypatch.setattr(readiness, "_clock", lambda hours=hours: clock() + timedelta(hours=hours))
            answer = local.get("/readyz")
            assert answer.status_code == status
        assert error_code(answer) == "head-old"
        assert local.get("/livez").status_code == 200
        readiness._known = None

    def test_a_sequencer_that_stands_still_is_not_ready(
        self, local: LocalRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        readiness = local.service.readiness
        for silent in (10_000.0, None):
            monkeypatch.setattr(readiness, "_known", None)
            monkeypatch.setattr(local.service.sequencer, "silent_seconds", lambda silent=silent: silent)
            answer = local.get("/readyz")
            assert (answer.status_code, error_code(answer)) == (503, "sequencer-stuck")
            assert answer.headers["Retry-After"]
        readiness._known = None

    def test_a_hanging_store_costs_one_thread_however_many_ask(
        self, local: LocalRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        go, asked = threading.Event(), []

        def hang(path: str) -> bytes:
            asked.append(path)
            assert go.wait(30)
            return b"{}"

        monkeypatch.setattr("registry_server.api.readiness.PROBE_SECONDS", 0.05)
        monkeypatch.setattr(local.service.readiness, "_known", None)
        monkeypatch.setattr(local.service.readiness._public, "get", hang)
        try:
            for _ in range(5):
                assert error_code(local.get("/readyz")) == "store-silent"
            assert asked == ["head"]
            assert local.get("/livez").status_code == 200
        finally:
            go.set()
            local.service.readiness._known = None

    def test_trouble_of_the_last_batch_is_said(self, local: LocalRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("registry_server.sequencer.sequencer.has_room", lambda _settings: False)
        monkeypatch.setattr(local.service.sequencer, "trouble", RyeError("storage-full", "Full.", "Make room."))
        assert (local.get("/readyz").status_code, error_code(local.get("/readyz"))) == (507, "storage-full")
        assert "rye_ready 0.0" in local.get("/metrics").text


class TestMetrics:
    def test_requests_batches_and_searches_are_counted_by_route(self, local: LocalRegistry) -> None:
        acme = Publisher("acme")
        token = local.token()
        assert local.statements(token, acme.claim()).status_code == 200
        assert local.publish(acme, "a/one", token).status_code == 200
        local.get("/api/v1/search?q=secretquery")
        local.get(f"/index/{'0' * 64}")
        local.get("/some/secret/path")
        text = local.get("/metrics").text
        assert 'rye_requests_total{method="POST",route="/api/v1/statements",status="200"} 2.0' in text
        assert 'rye_request_seconds_count{method="POST",route="/api/v1/blobs"} 1.0' in text
        assert 'route="/index/…",status="404"' in text
        for part in ("lock", "append", "commit", "store", "show"):
            assert re.search(rf'rye_batch_seconds_count{{part="{part}"}} [2-9]', text), part
        assert "rye_batch_statements_count 2.0" in text
        for gauge in (
            "rye_queue_requests 0.0",
            "rye_searches 0.0",
            "rye_ready 1.0",
            "rye_log_size",
            "rye_uploads_bytes",
        ):
            assert gauge in text
        for secret in ("secret", "acme", "a/one", token, "0" * 64):
            assert secret not in text

    @pytest.mark.parametrize(
        ("path", "route"),
        [("/head", "/head"), ("/tile/0/000", "/tile/…"), (f"/map/{'a' * 64}", "/map/…"), ("/api/v1/search", "/api/v1/search"),
         ("/api/v1/stages/abc/files/x", "/api/v1/stages"), ("/api/v1/x", "/api/v1/…"), ("/api/search", "/api/…"),
         ("/-/directive/acme/a", "/-/…"), ("/-", "other"), ("//x", "other"), ("/" + "a" * 9999, "other"), ("/readyz", "/readyz")],
    )  # fmt: skip
    def test_there_are_few_routes_whatever_is_asked_for(self, path: str, route: str) -> None:
        assert route_of(path) == route

    @pytest.mark.parametrize(
        ("setting", "client", "headers", "may"),
        [
            ("loopback", "127.0.0.1", [], True),
            ("loopback", "::1", [], True),
            ("loopback", "192.0.2.1", [], False),
            ("loopback", "192.0.2.1", [(b"x-forwarded-for", b"127.0.0.1")], False),
            ("loopback", "127.0.0.1", [(b"x-forwarded-for", b"127.0.0.1")], False),
            ("loopback", "127.0.0.1", [(b"forwarded", b"for=192.0.2.1")], False),
            ("public", "192.0.2.1", [], True),
            ("off", "127.0.0.1", [], False),
        ],
    )
    def test_who_may_read_them(self, setting: str, client: str, headers: list[Any], may: bool) -> None:
        assert may_read({"client": (client, 1), "headers": headers}, setting, "") is may

    def test_they_have_one_address_that_a_proxy_can_close(self, local: LocalRegistry) -> None:
        for path in ("/metrics/", "/metrics%2f", "/metrics//"):
            assert local.get(path).status_code == 404, path

    def test_others_learn_nothing(self, local: LocalRegistry) -> None:
        answer = local.get("/metrics", headers={"X-Forwarded-For": "192.0.2.1"})
        assert (answer.status_code, error_code(answer)) == (404, "not-found")


class TestLogs:
    def test_a_request_has_one_id_in_answer_and_log(self, local: LocalRegistry, lines: io.StringIO) -> None:
        assert (
            local.post("/api/v1/statements", headers={"X-Request-Id": "build-7.b_c"}).headers["X-Request-Id"]
            == "build-7.b_c"
        )
        (line,) = map(json.loads, lines.getvalue().splitlines())
        assert line["request"] == "build-7.b_c"
        assert (line["method"], line["path"], line["status"]) == ("POST", "/api/v1/statements", 401)
        assert line["level"] == "info"
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])

    @pytest.mark.parametrize("sent", ["", "a b", "x" * 65, 'q"', "é", "a;b", "<x>"])
    def test_an_id_that_is_none_is_replaced(self, local: LocalRegistry, sent: str) -> None:
        got = local.get("/head", headers={"X-Request-Id": sent.encode()}).headers["X-Request-Id"]
        assert re.fullmatch(r"[0-9a-f]{16}", got)

    def test_reading_writes_no_lines_unless_it_is_asked_for(
        self, local: LocalRegistry, lines: io.StringIO, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise RyeError("busy", "Too many.", "Try again.")

        assert local.get("/head").status_code == 200
        local.get("/nothing?q=secret")
        monkeypatch.setattr(local.service.searches, "ask", refuse)
        assert local.get("/api/v1/search?q=word").status_code == 503  # a rejected flood does not fill the disk
        assert lines.getvalue() == ""

    def test_no_request_begins_a_line_of_its_own(self, lines: io.StringIO) -> None:
        logging.getLogger("rye.registry").warning("bad: %s", 'x\n{"level":"info"}\u2028\x1b[2J')
        assert len(lines.getvalue().splitlines()) == 1
        assert json.loads(lines.getvalue())["message"].startswith("bad: x\n")
        record = logging.LogRecord("rye", logging.WARNING, "", 0, "a\nb\x1b\u2028c\u202ed\u200b\ud800é", (), None)
        assert logs.TextLines().format(record).endswith("a\\x0ab\\x1b\\u2028c\\u202ed\\u200b\\ud800é")

    def test_a_failure_is_logged_with_its_traceback_and_told_without(
        self, local: LocalRegistry, lines: io.StringIO, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object, **__: object) -> None:
            raise ValueError("a secret of the inside")

        monkeypatch.setattr(local.service.searches, "ask", fail)
        answer = local.get("/api/v1/search?q=word", headers={"X-Request-Id": "r1"})
        assert (answer.status_code, error_code(answer)) == (500, "internal")
        assert "secret" not in answer.text
        written = [json.loads(line) for line in lines.getvalue().splitlines()]
        assert any("ValueError" in line.get("error", "") and line["request"] == "r1" for line in written)


def document(local: LocalRegistry) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(local.get("/openapi.json").content)
    return found


class TestOpenApi:
    def test_it_is_valid(self, local: LocalRegistry) -> None:
        validator = pytest.importorskip("openapi_spec_validator")
        validator.validate(document(local))

    def test_it_lists_the_calls_that_there_are_and_no_others(self) -> None:
        routes = {
            (re.sub(r"\{(\w+):\w+\}", r"{\1}", route.path), method.lower())
            for route in framework().routes
            for method in route.methods
        }
        calls = {
            (path, method)
            for path, method in routes
            if path not in ("/", "/{path}") and method not in ("options", "head")
        }
        # An upload can also be sent with PUT.
        calls.discard(("/api/v1/blobs/{sha256}", "put"))
        # This address predates API versions and is in the configurations of build servers.
        calls.discard(("/api/oidc/exchange", "post"))
        for_pages = {"/robots.txt", "/feed.atom", "/sitemap.xml", "/opensearch.xml", "/favicon.ico"}
        for_pages.add("/.well-known/security.txt")
        browser = {(path, method) for path, method in calls if path.startswith("/-") or path in for_pages}
        assert calls - browser == {(operation.path, operation.method) for operation in OPERATIONS}

    def test_every_dynamic_call_is_below_one_version(self) -> None:
        outside = {operation.path for operation in OPERATIONS if not operation.path.startswith("/api/v1/")}
        assert outside == {"/livez", "/readyz", "/metrics", "/openapi.json"}
        assert Settings(data=Path()).api == "/api/v1"

    def test_a_client_generated_from_it_works(self, local: LocalRegistry) -> None:
        source = generated_client(document(local))
        space: dict[str, Any] = {}
        exec(compile(source, "generated_client.py", "exec"), space)  # noqa: S102 - written by this test from our own document
        token = local.token()
        client = space["Client"](lambda method, path, **options: local.ask(method, path, token, **options))
        ghost = Publisher("ghost")
        assert client.whoami()["name"] == "test"
        assert client.postStatements({"notes": [ghost.claim()]})["results"][0]["duplicate"] is False
        item = ghost.file("a/numbat")
        release = ghost.release("a/numbat", item)
        assert client.putBlob(release.file.sha256, item) == {
            "sha256": release.file.sha256, "size": len(item), "duplicate": False,
        }  # fmt: skip
        client.postStatements({"notes": [ghost.note(release)]})
        found = client.search(q="numbat", kind="directive", limit=5)
        assert [row["id"] for row in found["results"]] == ["ghost/a/numbat"]
        assert client.readyz()["status"] == "ok"
        assert client.listStages() == {"stages": []}
        with pytest.raises(space["ApiError"]) as caught:
            client.search(q="x")
        assert (caught.value.status, caught.value.code) == (400, "query-too-short")
        with pytest.raises(ValueError, match="size"):  # an answer that does not match the document is noticed
            client.check("BlobAnswer", {"sha256": "0" * 64, "duplicate": True})


def generated_client(api: dict[str, Any]) -> str:
    """A client's source code, generated from the document alone."""
    lines = [
        "import json, re",
        f"SCHEMAS = {api['components']['schemas']!r}",
        "class ApiError(Exception):",
        "    def __init__(self, status, code): super().__init__(code); self.status, self.code = status, code",
        "class Client:",
        "    def __init__(self, send): self.send = send",
        "    def check(self, name, value):",
        "        fits(SCHEMAS[name], value, name); return value",
        "    def _call(self, method, path, query, body, answers):",
        "        options = {'params': {k: v for k, v in query.items() if v is not None}} if query else {}",
        "        if isinstance(body, bytes): options['content'] = body",
        "        elif body is not None: options['json'] = body",
        "        answer = self.send(method, path, **options)",
        "        if str(answer.status_code) not in answers:",
        "            raise ApiError(answer.status_code, answer.json()['error']['code'])",
        "        schema = answers[str(answer.status_code)]",
        "        if schema is None: return answer.content",
        "        value = answer.json(); fits(schema, value, path); return value",
    ]
    for path, calls in api["paths"].items():
        for method, call in calls.items():
            parameters = call.get("parameters", [])
            inside = [part["name"] for part in parameters if part["in"] == "path"]
            query = [part["name"] for part in parameters if part["in"] == "query"]
            given = [*inside, *(["body"] if "requestBody" in call else []), *(f"{name}=None" for name in query)]
            answers = {
                status: response["content"].get("application/json", {}).get("schema")
                for status, response in call["responses"].items()
                if status.startswith("2")
            }
            place = path.replace("{", "{str(").replace("}", ")}")
            asked = "{" + ", ".join(f"{name!r}: {name}" for name in query) + "}"
            lines += [
                f"    def {call['operationId']}(self, {', '.join(given)}):",
                (
                    f"        return self._call({method.upper()!r}, f{place!r}, {asked}, "
                    f"{'body' if 'requestBody' in call else None}, {answers!r})"
                ),
            ]
    lines += [
        "TYPES = {'object': dict, 'array': list, 'string': str, 'boolean': bool, 'null': type(None)}",
        "def fits(schema, value, at):",
        "    if '$ref' in schema: return fits(SCHEMAS[schema['$ref'].rpartition('/')[2]], value, at)",
        "    if 'anyOf' in schema:",
        "        for one in schema['anyOf']:",
        "            try: return fits(one, value, at)",
        "            except ValueError: pass",
        "        raise ValueError(at)",
        "    if 'enum' in schema and value not in schema['enum']: raise ValueError(at)",
        "    kind = schema.get('type')",
        "    if kind in ('integer', 'number'):",
        "        wanted = int if kind == 'integer' else (int, float)",
        "        if isinstance(value, bool) or not isinstance(value, wanted): raise ValueError(at)",
        "    elif kind is not None and not isinstance(value, TYPES[kind]): raise ValueError(at)",
        "    if 'pattern' in schema and not re.search(schema['pattern'], value): raise ValueError(at)",
        "    if 'minimum' in schema and value < schema['minimum']: raise ValueError(at)",
        "    for name in schema.get('required', ()):",
        "        if name not in value: raise ValueError(f'{at}.{name}')",
        "    for name, part in schema.get('properties', {}).items():",
        "        if name in value: fits(part, value[name], f'{at}.{name}')",
        "    if kind == 'array' and isinstance(schema.get('items'), dict):",
        "        for part in value: fits(schema['items'], part, at)",
    ]
    return "\n".join(lines) + "\n"
