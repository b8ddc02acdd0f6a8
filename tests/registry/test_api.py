"""The client's write API: a token is sent nowhere else, and the server's answers are never trusted (protocol.md, Writing)."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rye.errors import RyeError
from rye.registry.protocol import wire
from rye.registry.transport import api as module
from rye.registry.transport.api import RegistryApi

Answer = Callable[[BaseHTTPRequestHandler], tuple[int, bytes]]


class _Server(ThreadingHTTPServer):
    answer: Answer
    seen: list[tuple[str, str, str | None]]


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def _any(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.seen.append((self.command, self.path, self.headers.get("Authorization")))
        status, body = self.server.answer(self)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if 300 <= status < 400:
            self.send_header("Location", "http://elsewhere.example/")
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = _any

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def server() -> Iterator[_Server]:
    started = _Server(("127.0.0.1", 0), _Handler)
    started.seen = []
    thread = threading.Thread(target=started.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield started
    started.shutdown()
    started.server_close()


def client(server: _Server, answer: Answer | tuple[int, bytes], token: str | None = "secret") -> RegistryApi:
    server.answer = answer if callable(answer) else lambda _: answer
    address = f"http://127.0.0.1:{server.server_address[1]}"
    return RegistryApi(address, address + "/api", token)


def refused(call: Callable[[], object], code: str) -> RyeError:
    with pytest.raises(RyeError) as error:
        call()
    assert error.value.code == code, error.value.message
    assert "secret" not in error.value.message + (error.value.hint or "")
    return error.value


class TestToken:
    def test_it_is_sent_as_a_bearer_token(self, server: _Server) -> None:
        found = client(server, (200, b'{"name":"a","token":"t","namespaces":[]}')).whoami()
        assert found.name == "a"
        assert server.seen == [("GET", "/api/whoami?account=1", "Bearer secret")]

    def test_no_redirect_is_followed(self, server: _Server) -> None:
        for status in (301, 302, 307, 308):
            assert refused(client(server, (status, b"")).whoami, "fetch-redirect").hint
        assert len(server.seen) == 4

    @pytest.mark.parametrize("address", ["http://registry.example/api", "http://127.0.0.1.evil.example/api"])
    def test_plain_http_is_for_this_machine_only(self, address: str) -> None:
        refused(lambda: RegistryApi("http://registry.example", address, "secret"), "insecure-registry")

    @pytest.mark.parametrize("address", [None, "file:///srv/registry/api", "ftp://registry.example"])
    def test_a_registry_without_an_api_is_only_read(self, address: str | None) -> None:
        assert refused(lambda: RegistryApi("file:///srv/registry", address, None), "read-only-registry").hint

    @pytest.mark.parametrize("token", ["", "a b", "a\nb", "tökn", "a\x00b"])
    def test_a_token_that_could_break_the_header(self, token: str) -> None:
        refused(lambda: RegistryApi("https://r.example", "https://r.example/api", token), "invalid-value")


class TestAnswers:
    def test_an_error_is_the_registry_s_own(self, server: _Server) -> None:
        body = json.dumps(
            {"error": {"code": "version-exists", "message": "It is there.", "hint": "Raise it."}}
        ).encode()
        error = refused(lambda: client(server, (409, body)).post_statements(["x"]), "version-exists")
        assert (error.message, error.hint) == ("It is there.", "Raise it.")

    def test_a_401_says_how_to_log_in(self, server: _Server) -> None:
        body = b'{"error":{"code":"unauthorized","message":"No.","hint":null}}'
        assert "rye login" in (refused(client(server, (401, body)).whoami, "unauthorized").hint or "")
        assert "rye login" in (refused(client(server, (401, b"<html>")).whoami, "registry-failed").hint or "")

    @pytest.mark.parametrize(
        "body", [b"", b"{}", b"[]", b"null", b"\xff", b'{"results":[],"size":1,"more":1}', b"[" * 100_000]
    )
    def test_an_answer_of_another_form(self, server: _Server, body: bytes) -> None:
        refused(lambda: client(server, (200, body)).post_statements(["x"]), "answer-malformed")

    def test_fewer_results_than_statements(self, server: _Server) -> None:
        body = b'{"results":[{"log":1,"duplicate":false}],"size":3}'
        assert refused(lambda: client(server, (200, body)).post_statements(["x", "y"]), "answer-malformed").hint

    def test_an_endless_answer_is_cut(self, server: _Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_ANSWER_BYTES", 1000)
        refused(client(server, (200, b"x" * 100_000)).whoami, "fetch-too-large")

    def test_a_page_of_html_with_a_500(self, server: _Server) -> None:
        assert refused(client(server, (500, b"<h1>oops</h1>")).whoami, "registry-failed").hint


class TestTryingAgain:
    @pytest.mark.slow
    def test_busy_is_tried_again(self, server: _Server) -> None:
        answers = iter([(503, b""), (429, b""), (200, b'{"results":[{"log":1,"duplicate":false}],"size":3}')])
        found = client(server, lambda _: next(answers)).post_statements(["x"])
        assert found.results[0].log == 1
        assert len(server.seen) == 3

    @pytest.mark.slow
    def test_but_not_for_ever(self, server: _Server) -> None:
        body = b'{"error":{"code":"busy","message":"Later.","hint":"Wait."}}'
        refused(lambda: client(server, (503, body)).put_blob("0" * 64, b"x"), "busy")
        assert len(server.seen) == 4

    @pytest.mark.parametrize("code", sorted(wire.OPERATOR_ERRORS))
    def test_a_registry_that_needs_its_operator_is_not(self, server: _Server, code: str) -> None:
        """Some seconds change nothing, and the person waits for the answer."""
        body = json.dumps({"error": {"code": code, "message": "m", "hint": "h"}}).encode()
        refused(lambda: client(server, (503, body)).put_blob("0" * 64, b"x"), code)
        assert len(server.seen) == 1

    def test_a_refusal_is_not(self, server: _Server) -> None:
        refused(lambda: client(server, (400, b"")).put_blob("0" * 64, b"x"), "registry-failed")
        assert len(server.seen) == 1

    def test_nobody_there(self) -> None:
        address = "http://127.0.0.1:9"
        error = refused(RegistryApi(address, address + "/api", "secret").whoami, "fetch-unreachable")
        assert "rye registry serve" in (error.hint or "")

    def test_an_answer_that_breaks_off_leaves_it_open_whether_it_was_done(self, server: _Server) -> None:
        def hang_up(handler: BaseHTTPRequestHandler) -> tuple[int, bytes]:
            handler.connection.shutdown(socket.SHUT_RDWR)
            return 200, b""

        error = refused(lambda: client(server, hang_up).post_statements(["x"]), "fetch-unreachable")
        assert "harmless" in error.message
