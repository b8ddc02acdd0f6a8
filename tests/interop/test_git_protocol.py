"""Malformed and hostile input to ``/git/NAMESPACE.git``: packet lines, wants, compressed bodies, paths of a tree."""

from __future__ import annotations

import gzip
import time
import zlib
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path

import httpx
import pytest

from registry_server.api.git_reading import unpacked
from registry_server.interop.git_lines import (
    Fetch,
    GitRefusal,
    ListRefs,
    Mark,
    line,
    read_lines,
    read_version_0,
    read_version_2,
)
from registry_server.interop.git_objects import BLOB, GitObject, pack, snapshot
from registry_server.interop.paths import GitPack, GitRefs, wanted
from rye.errors import RyeError
from rye.registry.marketplaces import SharedFile
from tests.interop.unchecked_registry import UncheckedRegistry
from tests.scenes.publisher import error_code

ASKED = "application/x-git-upload-pack-request"
REFS = "/git/acme.git/info/refs?service=git-upload-pack"
ONE = "1" * 40
PACKED = gzip.compress(b"x", mtime=0)
PREFIX = line("command=fetch") + line("object-format=sha1") + b"0001"


class TestLines:
    def test_lines_and_marks(self) -> None:
        data = line("want x\n") + b"0001" + b"0004" + b"0000" + b"000Aabcdef"
        assert read_lines(data) == [b"want x\n", Mark.DELIMITER, b"", Mark.FLUSH, b"abcdef"]
        assert read_lines(b"") == []
        assert read_lines(b"fff0" + b"x" * 65_516) == [b"x" * 65_516]

    @pytest.mark.parametrize(
        "data",
        [
            b"0002", b"0003", b"0", b"000", b"0005", b"0009abc", b"fff1" + b"x" * 65_517, b"fffe" + b"x" * 65_530,
            b"ffff", b"-001", b"+0041", b"0x04", b" 004", b"00_4", b"\xb2\xb2\xb2\xb2", b"zzzz", b"0000junk",
        ],
    )  # fmt: skip
    def test_other_lengths_are_refused(self, data: bytes) -> None:
        with pytest.raises(GitRefusal):
            read_lines(data)


class TestVersion2:
    @staticmethod
    def read(*arguments: str, before: bytes = PREFIX) -> ListRefs | Fetch:
        return read_version_2(read_lines(before + b"".join(map(line, arguments)) + b"0000"))

    def test_a_fetch(self) -> None:
        asked = self.read("want " + ONE, "have " + "2" * 40, "deepen 1", "thin-pack", "ofs-delta", "done\n")
        assert asked == Fetch(wants=(ONE,), haves=("2" * 40,), done=True, deepens=True)

    @pytest.mark.parametrize(
        "arguments",
        [
            (), ("want",), ("want " + "1" * 39,), ("want " + "1" * 41,), ("want " + "A" * 40,), (f"want {ONE} x",),
            (f"want {ONE}", "have x"), (f"want {ONE}", "deepen 0"), (f"want {ONE}", "deepen -1"),
            (f"want {ONE}", "deepen " + "9" * 20), (f"want {ONE}", "deepen ²"), (f"want {ONE}", "deepen-since x"),
            (f"want {ONE}", "filter blob:none"), (f"want {ONE}", "want-ref refs/heads/main"), (f"want {ONE}", "sideband-all"),
            (f"want {ONE}", "packfile-uris https"), (f"want {ONE}", "shallow ../x"), (f"want {ONE}", "wait-for-done"),
        ],
    )  # fmt: skip
    def test_what_a_fetch_cannot_ask(self, arguments: tuple[str, ...]) -> None:
        with pytest.raises(GitRefusal):
            self.read(*arguments)

    @pytest.mark.parametrize(
        "data",
        [
            b"", b"0000", b"0001", PREFIX, line("command=push") + b"0000",
            line("command=ls-refs") + line("command=fetch") + b"0000",
            line("command=ls-refs") + b"0001" + line("upload-pack") + b"0000",
            line("command=ls-refs") + line("object-format=sha256") + b"0000",
            line("command=ls-refs") + line("server-option=x") + b"0000",
            line("command=ls-refs") + b"0001" + line("peel") + b"0001" + line("symrefs") + b"0000",
            line(b"command=ls-refs\xff") + b"0000",
        ],
    )  # fmt: skip
    def test_what_is_no_command(self, data: bytes) -> None:
        with pytest.raises(GitRefusal):
            read_version_2(read_lines(data))


class TestVersion0:
    def test_wants_and_haves(self) -> None:
        data = line(f"want {ONE} side-band-64k ofs-delta agent=git/2") + b"0000" + line("have " + ONE) + line("done")
        assert read_version_0(read_lines(data)) == Fetch(wants=(ONE,), haves=(ONE,), done=True)
        assert read_version_0([]) is None
        assert read_version_0(read_lines(b"0000")) is None

    @pytest.mark.parametrize(
        "data",
        [
            line(f"want {ONE}"),
            line("done"),
            line(f"have {ONE}") + b"0000",
            line(f"want {ONE}") + b"0000" + line(f"want {ONE}"),
            line(f"want {ONE} object-format=sha256") + b"0000" + line("done"),
            line(f"want {ONE}") + b"0001" + line("done"),
            line(f"push {ONE}") + b"0000",
        ],
    )
    def test_other_orders_are_refused(self, data: bytes) -> None:
        with pytest.raises(GitRefusal):
            read_version_0(read_lines(data))


class TestObjects:
    def test_the_hash_is_git_s(self) -> None:
        assert GitObject(BLOB, b"hello\n").name == "ce013625030ba8dba906f756967f9e9ca394464a"

    @pytest.mark.parametrize(
        "path",
        [
            ".git/config", "a/.git/hooks/x", ".GIT/x", ".gitmodules", "a/.gitattributes", "../x", "a/../x", "/x", "a//x", "a/",
            "a/.", "a\\b", "a\0b", "a\nb", "git~1:x", "x.", "", "é", ".claude-plugin2/x", "a/" + "x" * 256,
        ],
    )  # fmt: skip
    def test_a_path_that_means_something_to_git_or_a_system_is_refused(self, path: str) -> None:
        with pytest.raises(RyeError, match="is not a safe path"):
            snapshot({path: SharedFile(b"")}, "o", 0, "m")

    @pytest.mark.parametrize("paths", [("a/x", "A/y"), ("a", "a/x"), ("a/B", "a/b"), ("a/x", "a")])
    def test_paths_that_one_system_takes_for_the_same_are_refused(self, paths: tuple[str, str]) -> None:
        with pytest.raises(RyeError, match="is not a safe path"):
            snapshot({path: SharedFile(b"") for path in paths}, "o", 0, "m")

    def test_sizes_of_all_lengths_are_written(self) -> None:
        for size in (0, 1, 15, 16, 2047, 2048, 300_000):
            data = pack([GitObject(BLOB, b"x" * size)])
            at, found, shift = 13, data[12] & 15, 4
            while data[at - 1] & 128:
                found |= (data[at] & 127) << shift
                at, shift = at + 1, shift + 7
            assert found == size
            assert zlib.decompress(data[at:-20]) == b"x" * size
            assert sha1(data[:-20], usedforsecurity=False).digest() == data[-20:]


class TestUnpacking:
    def test_what_git_packs(self) -> None:
        assert unpacked(gzip.compress(b"x" * 1000), 1000) == b"x" * 1000

    def test_a_bomb_is_refused_at_its_limit(self) -> None:
        bomb = gzip.compress(bytes(40 << 20))
        began = time.process_time()
        with pytest.raises(RyeError, match="more than"):
            unpacked(bomb, 1 << 20)
        assert time.process_time() - began < 0.5

    @pytest.mark.parametrize(
        "data",
        [
            b"", b"x", PACKED[:-4], PACKED + b"x", PACKED * 2, zlib.compress(b"x"),
        ],
        ids=["empty", "no-gzip", "cut", "more", "two", "zlib"],
    )  # fmt: skip
    def test_anything_else_is_refused(self, data: bytes) -> None:
        with pytest.raises(RyeError, match="not valid gzip"):
            unpacked(data, 1000)


def post(
    local: UncheckedRegistry, body: bytes, version: int = 2, *, encoding: str = "", media_type: str = ASKED
) -> httpx.Response:
    sent = {"Content-Type": media_type, "Git-Protocol": f"version={version}"}
    if encoding:
        sent["Content-Encoding"] = encoding
    return local.post("/git/acme.git/git-upload-pack", content=body, headers=sent)


def head_of(local: UncheckedRegistry) -> str:
    listed = post(local, line("command=ls-refs") + b"0001" + line("ref-prefix HEAD") + b"0000")
    assert listed.status_code == 200
    return listed.text[4:44]


def fetch(local: UncheckedRegistry, commit: str) -> bytes:
    return post(local, PREFIX + line(f"want {commit}") + line("done") + b"0000").content


class TestServer:
    def test_a_want_of_anything_else_is_refused(self, local: UncheckedRegistry) -> None:
        local.release("acme/pdf", files={"a.md": b"a"})
        commit = head_of(local)
        assert b"packfile" in fetch(local, commit)
        blob = GitObject(BLOB, b"a").name
        for name in (ONE, "0" * 40, blob):
            assert fetch(local, name) == line(f"ERR upload-pack: not our ref {name}\n")
        both = PREFIX + line(f"want {commit}") + line(f"want {ONE}") + line("done") + b"0000"
        assert b"not our ref" in post(local, both).content

    def test_a_clone_that_began_before_a_release_ends_well_and_before_a_takedown_does_not(
        self, local: UncheckedRegistry
    ) -> None:
        local.release("acme/pdf", files={"a.md": b"secret"})
        before = head_of(local)
        local.release("acme/notes")
        assert b"packfile" in fetch(local, before)
        assert head_of(local) != before
        local.take_down("skill:acme/pdf@1.0.0")
        assert b"not our ref" in fetch(local, before)
        after = head_of(local)
        assert b"packfile" in fetch(local, after)

    def test_a_release_that_was_yanked_and_offered_again_is_the_commit_of_before(
        self, local: UncheckedRegistry
    ) -> None:
        local.release("acme/pdf")
        before = head_of(local)
        local.yank("acme/pdf")
        empty = head_of(local)
        assert empty != before
        assert b"not our ref" in fetch(local, before)
        assert b"packfile" in fetch(local, empty)
        local.yank("acme/pdf", yanked=False)
        assert head_of(local) == before

    def test_the_dumb_protocol_and_writing_are_refused(self, local: UncheckedRegistry) -> None:
        local.release("acme/pdf")
        for path, code in (
            ("/git/acme.git/info/refs", "git-dumb"),
            ("/git/acme.git/info/refs?service=git-receive-pack", "git-read-only"),
            ("/git/acme.git/info/refs?service=git-upload-pack&service=git-receive-pack", "git-read-only"),
        ):
            refused = local.get(path)
            assert (refused.status_code, error_code(refused)) == (403, code)
        assert local.post("/git/acme.git/git-receive-pack").status_code in (404, 405)
        assert local.get("/git/acme.git/HEAD").status_code == 404
        assert local.get("/git/acme.git/git-upload-pack").status_code == 405
        assert local.post(REFS).status_code == 405

    def test_bodies_are_bounded_and_of_their_type(self, local: UncheckedRegistry) -> None:
        local.release("acme/pdf")
        wanted_type = post(local, b"0000", media_type="text/plain")
        assert (wanted_type.status_code, error_code(wanted_type)) == (400, "bad-request")
        many = PREFIX + line(f"want {ONE}") + line(f"have {ONE}") * 25_000 + b"0000"
        assert post(local, many).status_code == 413
        packed = gzip.compress(many)
        assert post(local, packed, encoding="gzip").status_code == 413
        assert post(local, b"x", encoding="gzip").status_code == 400
        assert post(local, b"x", encoding="br").status_code == 400
        few = gzip.compress(line("command=ls-refs") + b"0000")
        assert head_of(local).encode() in post(local, few, encoding="gzip").content

    def test_what_is_no_git_is_told_so(self, local: UncheckedRegistry) -> None:
        local.release("acme/pdf")
        for body in (b"", b"GET / HTTP/1.1\r\n\r\n", b"\0" * 1000, b"0003", PREFIX, b"fffe" * 1000):
            for version in (0, 2):
                answer = post(local, body, version)
                assert answer.status_code == 200
                assert answer.content == b"" or b"ERR " in answer.content

    def test_haves_without_end_are_answered_no_until_it_is_done(self, local: UncheckedRegistry) -> None:
        local.release("acme/pdf")
        commit = head_of(local)
        asked = PREFIX + line(f"want {commit}") + line(f"have {ONE}") * 1000 + b"0000"
        assert post(local, asked).content == line("acknowledgments\n") + line("NAK\n") + b"0000"
        known = PREFIX + line(f"want {commit}") + line(f"have {commit}") + b"0000"
        assert line("ready\n") + b"0001" + line("packfile\n") in post(local, known).content

    def test_answers_are_not_kept_by_anybody(self, local: UncheckedRegistry) -> None:
        local.release("acme/pdf")
        for answer in (local.get(REFS), post(local, b"0000", 0)):
            assert answer.headers["cache-control"] == "no-cache"
            assert answer.headers["x-content-type-options"] == "nosniff"

    def test_too_large_a_repository_and_too_many_at_once_are_refused(self, tmp_path: Path) -> None:
        local = UncheckedRegistry(tmp_path / "data", "repository_bytes = 5000\ngit_sending = 0\n")
        try:
            local.release("acme/pdf")
            busy = post(local, line("command=ls-refs") + b"0000")
            assert (busy.status_code, busy.headers["retry-after"]) == (503, "1")
            local.release("acme/pdf", "1.1.0", {"a.md": b"x" * 5000})
            refused = local.get(REFS)
            assert (refused.status_code, error_code(refused)) == (422, "repository-too-large")
        finally:
            local.close()

    def test_a_damaged_file_leaves_its_skill_out_until_it_is_mended(self, local: UncheckedRegistry) -> None:
        local.release("acme/pdf", files={"a.md": b"fine"})
        local.release("acme/notes")
        whole = head_of(local)
        (place,) = [
            one for one in local.service.settings.public.rglob("*") if one.is_file() and one.read_bytes() == b"fine"
        ]
        place.write_bytes(b"evil")
        local.release("acme/more")
        assert b"evil" not in fetch(local, head_of(local))
        local.yank("acme/more")
        place.write_bytes(b"fine")
        assert head_of(local) == whole


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[UncheckedRegistry]:
    with UncheckedRegistry(tmp_path / "data", 'read = "namespaces"\n') as made:
        yield made


def test_a_repository_of_a_namespace_that_one_may_not_read_is_not_there(limited: UncheckedRegistry) -> None:
    limited.release("acme/pdf")
    limited.release("beta/notes")
    assert limited.get(REFS).status_code == 401
    token = limited.token(account=limited.member("ann", acme="reader"))
    mine = limited.get(REFS, token)
    assert mine.status_code == 200
    assert "private" in mine.headers["cache-control"] or mine.headers["cache-control"] == "no-cache"
    assert mine.headers["vary"].startswith("Authorization")
    assert limited.get(REFS.replace("acme", "beta"), token).status_code == 404
    body = line("command=ls-refs") + b"0000"
    headers = {"Content-Type": ASKED, "Git-Protocol": "version=2"}
    hidden = limited.post("/git/beta.git/git-upload-pack", token, content=body, headers=headers)
    assert hidden.status_code == 404
    stolen = limited.post("/git/acme.git/git-upload-pack", content=body, headers=headers)
    assert stolen.status_code == 401


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/git/acme.git/info/refs", GitRefs("acme")),
        ("/git/acme.git/git-upload-pack", GitPack("acme")),
        ("/git/acme/info/refs", None),
        ("/git/../acme.git/info/refs", None),
        ("/git/ACME.git/info/refs", None),
        ("/git/acme.git/info/refs/", None),
        ("/git/a/b.git/info/refs", None),
        ("/git/.git/info/refs", None),
        ("/git/acme.git/objects/info/packs", None),
    ],
)
def test_paths(path: str, found: object) -> None:
    assert wanted(path) == found
