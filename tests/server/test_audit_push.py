"""Failed sign-ins are audit events, a bounded number of them; and every audit event reaches the receiver that is set."""

from __future__ import annotations

import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from registry_server.accounts import audit_events, audit_push, device_logins, failed_sign_ins, members
from registry_server.accounts.audit_events import AuditEvent
from registry_server.accounts.failed_sign_ins import SINGLE, WINDOW_SECONDS, FailedSignIns
from registry_server.accounts.rate_limits import RateLimit
from registry_server.accounts.times import after, now_text
from registry_server.api.auditing import Auditing
from registry_server.storage import database
from rye.errors import RyeError
from tests.registry.test_http_tls import Authority
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.registry_process import run

NOW = "2026-01-02T03:04:05Z"
EVENT = AuditEvent(
    position=7, time=NOW, actor="operator", address="", action="account.disable", subject="account:x",
    detail={"name": "Zoë\n<13>1 forged"}, hash="0" * 64,
)  # fmt: skip


def events(local: LocalRegistry, action: str = "") -> list[AuditEvent]:
    with database.reader(local.service.engine) as connection:
        return [event for event in audit_events.listing(connection) if action in event.action]


def _away(*_: object) -> None:
    raise RyeError("database-unavailable", "The database failed.")


class TestFailedSignIns:
    def test_the_first_are_single_and_the_others_a_count(self) -> None:
        clock = [0.0]
        failed = FailedSignIns(lambda: clock[0])
        for number in range(1000):
            failed.note("link" if number % 2 else "issuer", "link-used", f"192.0.2.{number}", NOW)
        single = failed.take(NOW)
        assert [(each.address, each.count) for each in single] == [(f"192.0.2.{number}", 1) for number in range(SINGLE)]
        assert failed.take(NOW) == []
        clock[0] += WINDOW_SECONDS
        counted = [(each.way, each.code, each.address, each.count) for each in failed.take(NOW)]
        assert counted == [("issuer", "link-used", "", 495), ("link", "link-used", "", 495)]
        failed.note("link", "link-used", "192.0.2.1", NOW)
        assert [each.count for each in failed.take(NOW)] == [1]  # a new window

    def test_the_last_ones_are_taken_at_the_end(self) -> None:
        failed = FailedSignIns(lambda: 0.0)
        for _ in range(SINGLE + 3):
            failed.note("link", "link-used", "192.0.2.1", NOW)
        assert [each.count for each in failed.take(NOW, is_last=True)] == [1] * SINGLE + [3]

    def test_what_could_not_be_recorded_is_recorded_later(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """While the database was away, for a fail-over for example, attempts left no trace."""
        with LocalRegistry(tmp_path / "data") as local:
            failed = FailedSignIns()
            auditing = Auditing(local.service.engine, failed, None)
            failed.note("link", "link-used", "192.0.2.1", NOW)
            with monkeypatch.context() as away:
                away.setattr(failed_sign_ins, "record", _away)
                with pytest.raises(RyeError):
                    auditing.record()
            failed.note("link", "link-used", "192.0.2.2", NOW)
            auditing.record()
            auditing.record()
            assert [event.address for event in events(local, "sign-in")] == ["192.0.2.1", "192.0.2.2"]

    def test_a_flood_of_wrong_links_and_answers_is_a_few_events(self, tmp_path: Path) -> None:
        with LocalRegistry(tmp_path / "data") as local:
            local.service.sign_in_rate = RateLimit(100_000)
            for number in range(60):
                assert local.post(f"/-/account/link/{number:043}").status_code == 410
                assert local.get("/-/account/callback?state=x&code=y").status_code in (403, 404)
            local.post("/api/v1/oidc/exchange", json={"token": "x.y.z"})
            local.service.auditing.record()
            first = events(local, "sign-in.refused")
            assert len(first) == SINGLE
            assert (first[0].subject, first[0].address, first[0].detail) == (
                "sign-in:link", "127.0.0.1", {"code": "link-used", "count": 1},
            )  # fmt: skip
        run_again = run("audit-events", "verify", "--data", str(tmp_path / "data"))
        assert "intact" in run_again.stdout
        with LocalRegistry(tmp_path / "data", make=False) as local:
            later = events(local, "sign-in.refused")
        assert sum(event.detail["count"] for event in later) == 121
        assert len(later) < SINGLE + 5

    def test_a_disabled_person_who_tries_is_named_by_the_reason(self, tmp_path: Path) -> None:
        with LocalRegistry(tmp_path / "data") as local:
            made = local.member("gone")
            with database.change(local.service.engine) as connection:
                secret = members.make_link(connection, made, now_text())
                begun = device_logins.begin(connection, "x", now_text())
                device_logins.decide(connection, begun.user_code, made, True, now_text())
                members.disable(connection, made, now_text())
                members.enable(connection, made, now_text())
            assert local.post(f"/-/account/link/{secret}").status_code == 410
            # A program that was approved before gets no token afterwards.
            body = {"grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": begun.device_code}
            assert local.post("/api/v1/device/token", data=body).json() == {"error": "expired_token"}
            local.service.auditing.record()
            assert [(event.subject, event.detail["code"]) for event in events(local, "sign-in")] == [
                ("sign-in:link", "link-used"), ("sign-in:device", "expired_token"),
            ]  # fmt: skip


class SyslogServer:
    """Reads counted frames until the other end stops, then closes. ``cut``: closes without reading to the end."""

    def __init__(self, tls: ssl.SSLContext | None = None, *, cut: bool = False) -> None:
        self.messages: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._tls, self._cut = tls, cut
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                plain, _ = self._socket.accept()
            except OSError:
                return
            with plain, self._tls.wrap_socket(plain, server_side=True) if self._tls else plain as peer:
                if self._cut:
                    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    continue
                data = b"".join(iter(lambda: peer.recv(4096), b""))
                while data:
                    size, _, rest = data.partition(b" ")
                    self.messages.append(rest[: int(size)].decode("ascii"))
                    data = rest[int(size) :]

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRegistry]:
    with LocalRegistry(tmp_path_factory.mktemp("pushed") / "data") as made:
        for name in ("web", "ops", "all"):
            run("team", "create", name, "--data", str(made.data))
        yield made


def forget(local: LocalRegistry) -> None:
    with database.change(local.service.engine) as connection:
        connection.exec_driver_sql("DELETE FROM registry WHERE key = 'audit-push'")


def pushing(local: LocalRegistry, address: str) -> Auditing:
    def send(some: Sequence[AuditEvent]) -> None:
        audit_push.send(address, "", local.service.origin, some)

    return Auditing(local.service.engine, FailedSignIns(), send)


class TestSyslog:
    def test_a_message_is_one_line_of_the_standard_whatever_an_event_holds(self) -> None:
        text = audit_push.syslog_message("registry.example.org", EVENT).decode("ascii")
        header = f"<110>1 {NOW} registry.example.org rye-registry - account.disable - "
        assert text.startswith(header)
        assert "\n" not in text
        assert json.loads(text.removeprefix(header))["detail"] == EVENT.detail

    @pytest.mark.processes
    @pytest.mark.parametrize("secure", [False, True], ids=["tcp", "tls"])
    def test_each_event_arrives_once_in_order_and_later_ones_follow(
        self, local: LocalRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secure: bool
    ) -> None:
        forget(local)
        authority = Authority(tmp_path)
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
        server = SyslogServer(authority.server("localhost") if secure else None)
        auditing = pushing(local, f"syslog{'+tls' if secure else ''}://localhost:{server.port}")
        assert auditing.push() == len(events(local))
        assert auditing.push() == 0
        run("team", "delete", "all", "--data", str(local.data))
        run("team", "create", "all", "--data", str(local.data))
        assert (auditing.push(), auditing.waiting) == (2, 0)
        server.close()
        seen = [json.loads(message.partition(" - ")[2].partition(" - ")[2]) for message in server.messages]
        assert [each["position"] for each in seen] == list(range(len(events(local))))
        assert seen[-1]["hash"] == events(local)[-1].hash

    @pytest.mark.processes
    def test_what_did_not_arrive_is_sent_again_and_one_server_at_a_time_sends(self, local: LocalRegistry) -> None:
        forget(local)
        gone = SyslogServer(cut=True)
        broken = pushing(local, f"syslog://127.0.0.1:{gone.port}")
        for _ in range(2):
            with pytest.raises(RyeError) as raised:
                broken.push()
            assert (raised.value.code, broken.waiting) == ("delivery-failed", len(events(local)))
        gone.close()
        sent: list[int] = []

        def slowly(some: Sequence[AuditEvent]) -> None:
            assert other.push() == 0  # another server, meanwhile
            sent.extend(event.position for event in some)

        other = Auditing(local.service.engine, FailedSignIns(), lambda some: sent.extend([-1] * len(some)))
        assert Auditing(local.service.engine, FailedSignIns(), slowly).push() == len(events(local))
        assert sent == list(range(len(events(local))))

    def test_a_server_that_died_while_sending_is_followed_by_another(self, local: LocalRegistry) -> None:
        forget(local)
        with database.change(local.service.engine) as connection:
            assert audit_push.take(connection, now_text()) is not None  # and never settles
        seen: list[AuditEvent] = []
        other = Auditing(local.service.engine, FailedSignIns(), seen.extend)
        assert other.push() == 0
        assert other.push(after(now_text(), 121)) == len(events(local)) == len(seen)


class TestSetting:
    @pytest.mark.parametrize(
        "address",
        ["udp://x:514", "http://x/", "syslog://", "syslog://x:0", "syslog://u@x", "syslog://x/y", "https://", "x", "https://[x"],
    )  # fmt: skip
    def test_an_address_that_loses_or_leaks_events_is_refused(self, address: str) -> None:
        with pytest.raises(RyeError) as raised:
            audit_push.check_address(address)
        assert raised.value.code == "bad-setting"
        for good in ("syslog://log.corp", "syslog+tls://log.corp:6514", "https://siem.corp/x?y"):
            audit_push.check_address(good)

    @pytest.mark.processes
    def test_an_https_receiver_gets_the_events_and_the_secret_of_the_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        authority = Authority(tmp_path)
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
        seen: list[bytes] = []
        listening = authority.server("localhost").wrap_socket(socket.create_server(("127.0.0.1", 0)), server_side=True)

        def serve() -> None:
            for status in (b"500 No", b"200 OK"):
                peer, _ = listening.accept()
                with peer:
                    head, _, body = peer.recv(65_536).partition(b"\r\n\r\n")
                    size = re.search(rb"Content-Length: (\d+)", head)
                    assert size is not None
                    while len(body) < int(size[1]):
                        body += peer.recv(65_536)
                    seen.extend([head, body])
                    peer.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        data, port = tmp_path / "data", listening.getsockname()[1]
        with LocalRegistry(data) as first:
            origin = first.service.origin
        (data / "siem").touch(0o600)
        (data / "siem").write_text("Splunk sesame\n")
        lines = f'audit_push = "https://localhost:{port}/in"\naudit_push_authorization_file = "siem"\n'
        run("team", "create", "web", "--data", str(data))
        with LocalRegistry(data, lines, make=False) as local:
            thread.join(20)
            found: dict[str, Any] = json.loads(seen[3])
            assert b"Authorization: Splunk sesame" in seen[2]
            assert seen[1] == seen[3]  # sent again after the refusal
            assert (found["origin"], [event["action"] for event in found["events"]]) == (origin, ["team.create"])
            until = time.monotonic() + 10
            while "rye_audit_events_unsent 0.0" not in local.get("/metrics").text:
                assert time.monotonic() < until
        (data / "siem").chmod(0o644)
        with pytest.raises(RyeError) as raised:
            LocalRegistry(data, make=False)
        assert raised.value.code == "exposed-secret"


def test_a_refused_address_is_shown_without_its_password() -> None:
    with pytest.raises(RyeError) as raised:
        audit_push.check_address("https://rye:geheim@log.example.org/in?key=geheim")
    assert "geheim" not in f"{raised.value.message} {raised.value.hint}"
    assert "log.example.org" in raised.value.message  # the control
