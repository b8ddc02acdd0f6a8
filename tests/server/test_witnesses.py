"""The registry's witnesses: each head is sent, nothing waits for them, and whatever they answer can do no harm."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from registry_server.accounts import registry_keys
from registry_server.api import writer
from registry_server.api.frames import Sent
from registry_server.migrations import opening
from registry_server.sequencer.cosigned_head import read_cosigned, size_of
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.sequencer import Sequencer
from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.objects import Folder
from registry_server.upkeep import audit
from registry_server.witnesses import asking, records
from registry_server.witnesses.asking import WitnessAnswer
from registry_server.witnesses.collecting import Collector
from registry_server.witnesses.lag import Lag, lags
from registry_server.witnesses.quorum import quorum_of
from rye.errors import RyeError
from rye.registry.protocol import add_checkpoint, notes, wire
from rye.registry.protocol.cosignatures import Cosigner, cosign, read_cosignatures
from rye.registry.protocol.notes import NoteSignature, SignedNote
from rye.registry.protocol.statements import Checkpoint
from rye.registry.transport import guarded
from tests.registry.witness_keys import ed25519, ml_dsa
from tests.scenes.publisher import Publisher
from tests.scenes.registry_process import init, run

A, B, QUANTUM = ed25519("a.example"), ed25519("b.example"), ml_dsa("a.example")
NOW = 1_800_000_000.0


class Playing:
    """A witness that answers as a test tells it; honest by default. It remembers the last size, as real ones do."""

    def __init__(self, *cosigners: Cosigner):
        self.cosigners = cosigners
        self.size = 0
        self.asked: list[int] = []
        self.trouble: WitnessAnswer | RyeError | None = None
        self.time = int(NOW)

    def answer(self, body: bytes) -> WitnessAnswer:
        request = add_checkpoint.read_request(body)
        self.asked.append(request.old)
        if isinstance(self.trouble, RyeError):
            raise self.trouble
        if self.trouble is not None:
            return self.trouble
        if request.old != self.size:
            return WitnessAnswer(409, f"{self.size}\n".encode())
        note = notes.parse(request.checkpoint)
        self.size = Checkpoint.parse(note.text).size
        return WitnessAnswer(200, add_checkpoint.encode_answer(self.lines(note.text)))

    def lines(self, text: str) -> Sequence[NoteSignature]:
        return [cosign(text, one, self.time) for one in self.cosigners]


class Scene:
    """A registry without its server: the log's writer, its store, and the collector of cosignatures, step by step."""

    def __init__(self, data: Path):
        self.settings = Settings(data=data)
        self.engine = opening.connect(self.settings.database_url)
        self.public = Folder(self.settings.public)
        keys = registry_keys.in_folder(self.settings.keys, "log")
        self.log = Sequencer(self.engine, self.public, Folder(self.settings.uploads), keys, self.settings)
        self.now = NOW
        self.playing: dict[str, Playing] = {}
        self.collector = Collector(
            self.engine, self.public, self.settings, self.log.learn_cosigned, self.ask, lambda: self.now
        )
        self.collector.load()
        self.log.recover()

    def ask(self, url: str, body: bytes, seconds: float) -> WitnessAnswer:
        return self.playing[url].answer(body)

    def add(self, url: str, *cosigners: Cosigner) -> Playing:
        with database.change(self.engine) as connection:
            for one in cosigners:
                records.add(connection, one.verifier.vkey, url, "2026-01-01T00:00:00Z")
        self.playing[url] = Playing(*cosigners)
        return self.playing[url]

    def publish(self, namespace: str) -> None:
        self.log.append([[Publisher(namespace).claim_candidate()]])

    def round(self) -> None:
        self.collector.round()
        self.log.heartbeat()

    @property
    def head(self) -> wire.Head:
        return wire.decode_head(self.public.get("head") or b"")

    def sizes(self) -> tuple[int, int, int | None]:
        """Of the head, of ``/checkpoint``, and of the member."""
        head, checkpoint = self.head, notes.parse(self.public.get("checkpoint") or b"")
        inner = None if head.cosigned is None else Checkpoint.parse(notes.parse(head.cosigned.checkpoint).text).size
        return Checkpoint.parse(notes.parse(head.checkpoint).text).size, Checkpoint.parse(checkpoint.text).size, inner

    @property
    def cosigners(self) -> set[str]:
        note = notes.parse(self.public.get("checkpoint") or b"")
        return {one.key.name for one in read_cosignatures(note, [each.verifier for each in (A, B, QUANTUM)])}

    @property
    def rows(self) -> dict[str, records.WitnessRow]:
        with database.reader(self.engine) as connection:
            return {f"{row.key.name} {row.key.algorithm_name}": row for row in records.listing(connection)}


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    init(tmp_path / "data")
    found = Scene(tmp_path / "data")
    yield found
    found.engine.dispose()


def test_without_witnesses_the_files_are_as_always(scene: Scene) -> None:
    before = scene.public.get("head"), scene.public.get("checkpoint")
    scene.round()
    assert (scene.public.get("head"), scene.public.get("checkpoint")) == before
    assert b"cosigned" not in (before[0] or b"")


def test_the_newest_cosigned_head_is_served_with_its_lines(scene: Scene) -> None:
    scene.add("http://a", A, QUANTUM)
    scene.add("http://b", B)
    scene.round()
    size = scene.sizes()[0]
    assert scene.sizes() == (size, size, None)
    assert scene.cosigners == {"a.example", "b.example"}
    assert scene.log.is_shown()
    scene.publish("acme")
    assert scene.sizes() == (size + 2, size, size), "a publish waits for nobody"
    scene.round()
    assert scene.sizes() == (size + 2, size + 2, None)
    assert scene.playing["http://a"].asked == [0, size], "one request for both keys, from the size that was cosigned"


def test_one_that_is_down_stops_the_quorum_and_no_publish(scene: Scene) -> None:
    scene.add("http://a", A)
    down = scene.add("http://b", B)
    scene.round()
    size = scene.sizes()[0]
    down.trouble = RyeError("witness-silent", "b: refused.", None)
    scene.publish("acme")
    scene.publish("other")
    scene.round()
    assert scene.sizes() == (size + 4, size, size)
    assert scene.rows["b.example Ed25519"].error == "b: refused."
    scene.round()
    assert down.asked == [0, size], "it rests after a failure"
    down.trouble = None
    scene.now += 2
    scene.round()
    assert scene.sizes() == (size + 4, size + 4, None)
    assert scene.rows["b.example Ed25519"].error == ""


def test_a_number_is_enough_if_the_operator_says_so(scene: Scene) -> None:
    scene.collector._settings = replace(scene.settings, witness_quorum="1")
    scene.add("http://a", A)
    scene.add("http://b", B).trouble = WitnessAnswer(500, b"")
    scene.round()
    assert scene.cosigners == {"a.example"}


def test_one_that_names_another_size_is_asked_from_there(scene: Scene) -> None:
    one = scene.add("http://a", A)
    scene.round()
    scene.publish("acme")
    one.size = 0  # it was restored from nothing
    scene.round()
    assert one.asked[-2:] == [2, 0]
    assert scene.sizes()[0] == scene.sizes()[1]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (WitnessAnswer(404, b"unknown log\n"), "It answered 404: unknown log."),
        (WitnessAnswer(301, b""), "It answered 301."),
        (WitnessAnswer(409, b"99\n"), "It has cosigned 99 entries of this log, and the registry shows 2."),
        (WitnessAnswer(409, b"no number"), "It answered 409: no number."),
        (WitnessAnswer(200, b""), "not an add-checkpoint"),
        (WitnessAnswer(200, b"hello\n"), "not an add-checkpoint"),
        (WitnessAnswer(200, b"\xff" * 100), "not an add-checkpoint"),
        (
            WitnessAnswer(200, add_checkpoint.encode_answer([NoteSignature("x", b"abcd", bytes(72))])),
            "no valid cosignature",
        ),
    ],
)
def test_answers_that_are_none_are_recorded_and_harm_nothing(scene: Scene, answer: WitnessAnswer, said: str) -> None:
    one = scene.add("http://a", A)
    one.trouble = answer
    before = scene.public.get("head"), scene.public.get("checkpoint")
    scene.round()
    assert (scene.public.get("head"), scene.public.get("checkpoint")) == before
    assert said in scene.rows["a.example Ed25519"].error
    one.trouble = None
    scene.now += 400
    scene.round()
    assert scene.cosigners == {"a.example"}  # the control


def test_a_lying_witness_is_refused(scene: Scene) -> None:
    one = scene.add("http://a", A)

    def other_text(text: str) -> Sequence[NoteSignature]:
        return [cosign(text.replace("\n2\n", "\n3\n"), A, int(NOW))]

    one.lines = other_text  # type: ignore[method-assign]
    scene.round()
    assert "does not belong to this checkpoint" in scene.rows["a.example Ed25519"].error
    assert scene.cosigners == set()


@pytest.mark.parametrize("moment", [0, int(NOW) + 700])
def test_a_time_of_zero_or_of_the_future_does_not_count(scene: Scene, moment: int) -> None:
    scene.add("http://a", A).time = moment
    scene.round()
    assert "no valid cosignature" in scene.rows["a.example Ed25519"].error


def test_the_same_head_is_cosigned_again_before_cosignatures_grow_too_old(scene: Scene) -> None:
    one = scene.add("http://a", A)
    scene.round()
    scene.now += 6 * 3600
    scene.round()
    assert one.asked == [0]
    scene.now += 1
    one.time = int(scene.now)
    scene.round()
    assert one.asked == [0, 2]
    (found,) = read_cosignatures(notes.parse(scene.public.get("checkpoint") or b""), [A.verifier])
    assert found.time == int(scene.now)


def test_a_restart_goes_on_where_it_stopped(scene: Scene) -> None:
    one = scene.add("http://a", A)
    scene.round()
    scene.publish("acme")
    again = Scene(scene.settings.data)
    again.playing = scene.playing
    again.collector.load()
    again.log.show()
    assert again.sizes() == (4, 2, 2)
    again.round()
    assert (again.sizes(), one.asked) == ((4, 4, None), [0, 2])
    again.engine.dispose()


def test_two_servers_agree_on_the_lines_of_one_head(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each got a cosignature of its own, at another time: they must not replace each other's forever."""
    one = scene.add("http://a", A)
    other = Scene(scene.settings.data)
    other.playing = scene.playing

    def ask_second(url: str, body: bytes, seconds: float) -> WitnessAnswer:
        if not one.asked:
            other.collector.round()
            one.time += 1
        return scene.ask(url, body, seconds)

    monkeypatch.setattr(scene.collector, "_ask", ask_second)
    scene.collector.round()
    kept = []
    for _ in range(3):
        for each in (other, scene):
            each.collector.round()
            with database.reader(scene.engine) as connection:
                kept.append(read_cosigned(connection))
    assert one.asked == [0, 0, 2]
    assert len(set(kept)) == 1
    assert kept[0] == other.log.cosigned == scene.log.cosigned
    other.engine.dispose()


def test_a_slow_answer_does_not_replace_a_larger_head_of_another_server(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.add("http://a", A)
    other = Scene(scene.settings.data)
    other.playing = scene.playing

    def ask_slowly(url: str, body: bytes, seconds: float) -> WitnessAnswer:
        answer = scene.ask(url, body, seconds)
        other.publish("acme")
        other.round()
        return answer

    monkeypatch.setattr(scene.collector, "_ask", ask_slowly)
    scene.round()
    with database.reader(scene.engine) as connection:
        known = read_cosigned(connection)
    assert known is not None
    assert size_of(known) == 4
    assert scene.sizes() == (4, 4, None)
    other.engine.dispose()


def test_a_command_that_knows_no_witnesses_does_not_make_the_checkpoint_smaller_later(scene: Scene) -> None:
    scene.add("http://a", A)
    scene.publish("acme")
    scene.round()
    keys = registry_keys.in_folder(scene.settings.keys, "log")
    command = Sequencer(scene.engine, scene.public, Folder(scene.settings.uploads), keys, scene.settings)
    command.append([[Publisher("beta").claim_candidate()]])
    _, covered, _ = scene.sizes()
    for namespace in ("gamma", "delta", "epsilon"):
        scene.publish(namespace)
        assert scene.sizes()[1] == covered
        assert problems(scene) == []
    scene.round()
    newest, covered, _ = scene.sizes()
    assert covered == newest


@pytest.mark.parametrize("command", ["root renew", "policy publish policy.toml", "rebuild", "restore --from backup"])
def test_a_command_shows_what_witnesses_cosigned(
    scene: Scene, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise clients who demand witnesses could not read what it shows until a server had shown it again."""
    monkeypatch.chdir(tmp_path)
    data = ("--data", str(scene.settings.data))
    scene.add("http://a", A)
    scene.round()
    covered, _, _ = scene.sizes()
    Path("policy.toml").write_text('[policy]\nexpires = "14d"\n')
    if not command.startswith(("root", "policy")):  # it appends nothing, and shows what is there
        scene.publish("acme")
        run("backup", "backup", *data)
        scene.public.delete("head")
    run(*command.split(), *data)
    assert scene.sizes() == (covered + 2, covered, covered)
    assert scene.cosigners == {"a.example"}
    assert problems(scene) == []


@pytest.mark.parametrize("older", ["checkpoint", "head"])
def test_a_lost_database_is_restored_from_the_newer_file(scene: Scene, older: str) -> None:
    """Witnesses hold ``/checkpoint`` back; or it has their lines, and a crash left ``/head`` behind."""
    scene.add("http://a", A)
    scene.round()
    head = scene.public.get("head") or b""
    scene.publish("acme")
    if older == "head":
        scene.round()
        scene.public.put("head", head)
    scene.engine.dispose()
    for suffix in ("", "-wal", "-shm"):
        scene.settings.database_file.with_name(f"registry.db{suffix}").unlink(missing_ok=True)
    assert scene.sizes()[:2] == ((4, 2) if older == "checkpoint" else (2, 4))
    run("restore", "--from", "store", "--data", str(scene.settings.data))
    assert scene.sizes()[:2] == (4, 4)
    assert scene.log.is_shown()
    assert problems(scene) == []


def problems(scene: Scene) -> list[str]:
    with database.reader(scene.engine) as connection:
        return audit.verify(Ledger(connection), scene.public)


def test_verify_knows_what_witnesses_hold_back_and_nothing_else(scene: Scene) -> None:
    playing = scene.add("http://a", A)
    scene.publish("acme")
    scene.round()
    assert problems(scene) == []
    older = {path: scene.public.get(path) or b"" for path in ("checkpoint", "head")}
    scene.publish("beta")
    assert problems(scene) == []
    scene.round()
    playing.trouble = RyeError("witness-silent", "It is down.", None)
    scene.publish("gamma")
    assert scene.sizes() == (8, 6, 6)
    assert problems(scene) == [], "the newest head waits"
    for path in ("checkpoint", "head"):
        good = scene.public.get(path) or b""
        unsigned = SignedNote(notes.parse(older["checkpoint"]).text, ()).text.encode() + b"\n"
        ours = wire.decode_head(good).checkpoint if path == "head" else good.decode()
        line = next(line for line in ours.splitlines() if line.startswith("\N{EM DASH} registry.example.org "))
        forged = good.replace(
            line.encode(), (line[:-8] + ("AAAAAAA=" if line[-8:] != "AAAAAAA=" else "BBBBBBB=")).encode()
        )
        for bad in (older[path], unsigned, forged, b""):
            assert bad != good
            scene.public.put(path, bad)
            assert problems(scene) == [f"/{path} is missing or out of date."]
            assert not scene.log.is_shown()
        scene.public.put(path, good)
    assert problems(scene) == []
    assert scene.log.is_shown()


def test_the_process_that_appends_under_load_shows_the_cosigned_head_as_well(scene: Scene) -> None:
    scene.add("http://a", A)
    scene.round()
    diary = writer.Diary()
    keys = registry_keys.in_folder(scene.settings.keys, "log")
    uploads = Folder(scene.settings.uploads)
    desk = writer.Clerk(Sequencer(scene.engine, scene.public, uploads, keys, scene.settings), diary)
    sent = [[Sent.of(Publisher("acme").claim_candidate())]]
    clock, cosigned = scene.log.clock.believed(), (scene.log.cosigned or b"").decode()
    answer = desk.answer(writer.Ask(what="work", clock=clock, requests=sent, cosigned=cosigned))
    assert answer.failure is None
    assert scene.sizes() == (4, 2, 2)
    scene.collector.round()
    desk.answer(writer.Ask(what="heartbeat", clock=clock, cosigned=(scene.log.cosigned or b"").decode()))
    assert scene.sizes() == (4, 4, None)


def test_witnesses_that_are_added_and_removed_count_at_once(scene: Scene) -> None:
    scene.add("http://a", A)
    scene.round()
    scene.add("http://b", B)
    scene.publish("acme")
    scene.round()
    assert scene.cosigners == {"a.example", "b.example"}
    with database.change(scene.engine) as connection:
        records.remove(connection, "a.example")
        records.remove(connection, B.verifier.vkey)
        assert read_cosigned(connection) is None
    scene.publish("other")
    scene.round()
    assert scene.sizes() == (6, 6, None)


class TestRecords:
    def test_a_key_is_added_once_and_only_16(self, scene: Scene) -> None:
        with database.change(scene.engine) as connection:
            for number in range(16):
                records.add(
                    connection, ed25519(f"w{number}").verifier.vkey, "https://w.example/", "2026-01-01T00:00:00Z"
                )
            for vkey, url, code in (
                (ed25519("w3").verifier.vkey, "https://w.example", "already-exists"),
                (ed25519("w17").verifier.vkey, "https://w.example", "invalid-value"),
                ("w", "https://w.example", "note-key-invalid"),
            ):
                with pytest.raises(RyeError) as raised:
                    records.add(connection, vkey, url, "2026-01-01T00:00:00Z")
                assert raised.value.code == code
            with pytest.raises(RyeError):
                records.remove(connection, "w17")

    @pytest.mark.parametrize(
        "url", ["", "w.example", "ftp://w", "https://", "https://a@w", "https://w/?q", "https://w x"]
    )
    def test_addresses_are_checked(self, scene: Scene, url: str) -> None:
        with database.change(scene.engine) as connection, pytest.raises(RyeError) as raised:
            records.add(connection, A.verifier.vkey, url, "2026-01-01T00:00:00Z")
        assert raised.value.code == "invalid-value"

    def test_the_lag_is_that_of_the_key_that_is_further_behind(self) -> None:
        def row(one: Cosigner, size: int, moment: int | None) -> records.WitnessRow:
            return records.WitnessRow(
                vkey=one.verifier.vkey, url="https://w", created="2026-01-01T00:00:00Z", size=size, cosigned=moment
            )

        found = lags([row(A, 9, 900), row(QUANTUM, 5, 400), row(B, 9, 900)], 9, 1_000)
        assert found == [Lag("a.example", 4, 600, ""), Lag("b.example", 0, 0, "")]
        assert found[0].words() == "The witness a.example has been 4 entries behind for 10 minutes."

    def test_a_quorum_that_cannot_be_met_is_said(self, scene: Scene) -> None:
        rows = [records.WitnessRow(vkey=A.verifier.vkey, url="https://w", created="2026-01-01T00:00:00Z")]
        for demanded in ("2", "0"):
            with pytest.raises(RyeError) as raised:
                quorum_of(replace(scene.settings, witness_quorum=demanded), rows)
            assert raised.value.code == "bad-setting"
        (scene.settings.data / "policy").write_text(f"witness w {B.verifier.vkey}\nquorum w\n")
        policy = quorum_of(replace(scene.settings, witness_quorum="policy"), rows)
        assert policy.keys == (B.verifier,)


class TestAsking:
    """The network's edge, with sockets that behave badly."""

    def answering(self, *pieces: bytes, pause: float = 0.0) -> str:
        listening = socket.create_server(("127.0.0.1", 0))

        def serve() -> None:
            connected, _ = listening.accept()
            with connected, listening:
                connected.recv(65_536)
                try:
                    for piece in pieces:
                        connected.sendall(piece)
                        time.sleep(pause)
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{listening.getsockname()[1]}/prefix"

    def test_the_control(self) -> None:
        url = self.answering(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc")
        assert asking.ask(url, b"x", 5.0) == WitnessAnswer(200, b"abc")

    def test_a_redirect_is_not_followed(self) -> None:
        url = self.answering(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
        assert asking.ask(url, b"x", 5.0).status == 302

    @pytest.mark.parametrize(
        ("pieces", "pause"),
        [
            ((b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n", *[b"x" * 65_536] * 3), 0.0),
            ((b"HTTP/1.1 200 OK\r\n\r\n", *[b"x"] * 1_000), 0.05),
            ((b"H", *[b"T"] * 1_000), 0.05),
            ((b"",), 30.0),
            ((b"not http\r\n\r\n",), 0.0),
        ],
        ids=["10 GB", "drips", "slow head", "hangs", "nonsense"],
    )
    def test_everything_ends_soon(self, pieces: tuple[bytes, ...], pause: float) -> None:
        began = time.monotonic()
        with pytest.raises(RyeError) as raised:
            asking.ask(self.answering(*pieces, pause=pause), b"x", 0.5)
        assert raised.value.code == "witness-silent"
        assert time.monotonic() - began < 20

    def test_what_came_until_the_deadline_is_no_answer_to_anybody_who_asks(self) -> None:
        url = self.answering(b"HTTP/1.1 200 OK\r\n\r\n", *[b"x"] * 1_000, pause=0.05)
        with pytest.raises(guarded.TooSlow):
            guarded.request("GET", url, None, {}, most_bytes=10_000, loopback=True, seconds=0.5)

    def test_nobody_there(self) -> None:
        with pytest.raises(RyeError) as raised:
            asking.ask("http://127.0.0.1:1", b"x", 1.0)
        assert raised.value.code == "witness-silent"


def test_the_commands(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    init(tmp_path / "data")
    assert (
        "Added a.example (Ed25519)"
        in run("witness", "add", A.verifier.vkey, "https://a.example", "--data", data).stdout
    )
    run("witness", "add", QUANTUM.verifier.vkey, "https://a.example", "--data", data)
    listed = run("witness", "list", "--data", data)
    assert "ML-DSA-44" in listed.stdout
    assert "registry.example.org+" in listed.stdout + listed.stderr
    assert '"lag_entries": 2' in run("witness", "status", "--json", "--data", data).stdout
    assert "Removed a.example" in run("witness", "remove", "a.example", "--data", data).stdout
    assert run("witness", "remove", "a.example", "--data", data, check=False).returncode == 1
