"""Copies that need no trust: mirrors, bundles for machines without a network, audits, and proofs that anyone can check."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from registry_server.embedded import start_embedded, stop_embedded
from rye.items.identity import Identity
from tests.registry.simulated_registry import SimulatedRegistry, key
from tests.scenes.person import Person
from tests.scenes.registry import Registry
from tests.scenes.registry_process import init, operator

pytestmark = pytest.mark.processes

ITEM = Identity("directive", "acme/work/one")


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    """The owner of ``acme`` with two items, one of which needs the other."""
    user = registry.owner("acme")
    user.release("work/base")
    user.release("work/top", depends=[("base", "^1.0")])
    return user


def simulated(tmp_path: Path) -> tuple[SimulatedRegistry, Person]:
    """A registry whose operator can cheat, and someone who pinned it."""
    made = SimulatedRegistry(now=datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1))
    made.claim("acme", [key("acme")])
    made.release(ITEM)
    made.publish()
    made.write_to(tmp_path / "public")
    user = Person(tmp_path / "user", "acme")
    user.ok("registry", "add", (tmp_path / "public").as_uri(), "--fingerprint", made.fingerprint)
    return made, user


class TestMirror:
    @pytest.mark.thorough
    def test_a_mirror_answers_for_the_registry(self, acme: Person, registry: Registry, tmp_path: Path) -> None:
        target = tmp_path / "mirror"
        done = acme.ok("mirror", str(target), "--json").json
        assert done["origin"] == "registry.example.org"
        assert done["fetched"] > 0
        assert json.loads((target / "config.json").read_text())["api"] is None
        served = {path.relative_to(registry.public) for path in registry.public.rglob("*") if path.is_file()}
        copied = {path.relative_to(target) for path in target.rglob("*") if path.is_file()}
        head = json.loads((target / "head").read_text())
        assert head == json.loads((registry.public / "head").read_text())
        assert {path for path in served if path.parts[0] == "blobs"} <= copied

        reader = Person(tmp_path / "reader")
        reader.fails("info", "acme/work/top", "--registry", target.as_uri(), code="registry-unpinned")
        reader.ok("registry", "add", target.as_uri(), "--fingerprint", registry.fingerprint)
        assert reader.ok("info", "acme/work/top", "--json").json["version"] == "1.0.0"
        assert reader.ok("search", "top", "--json").json["total"] == 1
        assert reader.ok("log", "verify", "--json").json["ok"] is True

    def test_it_is_incremental(self, acme: Person, tmp_path: Path) -> None:
        target = str(tmp_path / "mirror")
        first = acme.ok("mirror", target, "--json").json
        assert acme.ok("mirror", target, "--json").json["fetched"] == 0
        acme.release("work/later")
        again = acme.ok("mirror", target, "--json").json
        assert again["before"] == first["size"]
        assert 0 < again["fetched"] < first["fetched"]
        assert "nothing new" in acme.ok("mirror", target).stdout

    def test_an_export_of_the_operator_is_carried_on(self, acme: Person, registry: Registry, tmp_path: Path) -> None:
        operator("export", str(tmp_path / "export"), "--data", str(registry.data))
        assert acme.ok("mirror", str(tmp_path / "export"), "--json").json["fetched"] == 0

    def test_it_is_served_by_any_web_server(self, acme: Person, registry: Registry, tmp_path: Path) -> None:
        import threading
        from functools import partial
        from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

        class Quiet(SimpleHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                """Log nothing."""

        acme.ok("mirror", str(tmp_path / "mirror"))
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "mirror")))
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            address = f"http://127.0.0.1:{server.server_address[1]}"
            reader = Person(tmp_path / "reader")
            reader.ok("registry", "add", address, "--fingerprint", registry.fingerprint)
            assert reader.ok("info", "acme/work/top", "--json").json["version"] == "1.0.0"
            reader.write("rye.toml", '[project]\nname = "x"\nnamespace = "acme"\n')
            reader.ok("keys", "generate")
            reader.fails("yank", "acme/work/top@1.0.0", "--reason", "x", code="not-an-owner", env={"RYE_TOKEN": "x"})
            reader.fails("login", address, "--token", "x", code="read-only-registry")
        finally:
            server.shutdown()
            server.server_close()

    @pytest.mark.parametrize(
        ("damage", "code"),
        [
            (lambda data: data[:-1], "blob-size"),
            (lambda data: data[:-1] + b"~", "blob-hash"),
            (lambda data: data + b"\n", "blob-size"),
        ],
    )
    def test_every_reader_refuses_bytes_without_their_hash(
        self, acme: Person, registry: Registry, tmp_path: Path, damage: Callable[[bytes], bytes], code: str
    ) -> None:
        target = tmp_path / "mirror"
        acme.ok("mirror", str(target))
        reader = Person(tmp_path / "reader")
        reader.ok("registry", "add", target.as_uri(), "--fingerprint", registry.fingerprint)
        reader.write("rye.toml", f'[project]\nname = "x"\n\n[registries]\nacme = "{target.as_uri()}"\n')
        cache = Path(reader.environment["RYE_CACHE_DIR"])
        sha256 = reader.ok("info", "acme/work/top", "--json").json["sha256"]
        [blob] = [path for path in (target / "blobs").rglob("*") if path.name == sha256]
        blob.write_bytes(damage(blob.read_bytes()))
        for words in (
            ("info", "acme/work/top"),
            ("info", "acme/work/top@1.0.0"),
            ("add", "acme/work/top", "--dry-run"),
            ("add", "acme/work/top", "--yes"),
        ):
            shutil.rmtree(cache, ignore_errors=True)
            assert reader.fails(*words, code=code)["sha256"] == sha256
        shutil.rmtree(cache, ignore_errors=True)
        shown = reader.run("info", "acme/work/top")
        assert (shown.code, shown.stdout) == (1, "")
        assert sha256 in shown.stderr

    def test_a_release_without_its_file_is_still_described(
        self, acme: Person, registry: Registry, tmp_path: Path
    ) -> None:
        target = tmp_path / "mirror"
        acme.ok("mirror", str(target))
        reader = Person(tmp_path / "reader")
        reader.ok("registry", "add", target.as_uri(), "--fingerprint", registry.fingerprint)
        shutil.rmtree(target / "blobs")
        assert reader.ok("info", "acme/work/top", "--json").json["facts"] is None

    def test_words_that_are_wrong(self, acme: Person, tmp_path: Path) -> None:
        acme.fails("mirror", code="usage", exit_code=2)
        acme.fails("mirror", "x", "--bundle", "y", code="usage", exit_code=2)
        acme.fails("mirror", "x", "--offline", code="offline")
        (tmp_path / "letter.txt").write_text("dear")
        acme.fails("mirror", str(tmp_path), code="wrong-folder mirror")
        acme.fails("mirror", "--bundle", "b", code="empty-lock")

    def test_a_run_that_is_killed_is_taken_up(self, tmp_path: Path) -> None:
        made, user = simulated(tmp_path)
        for number in range(600):
            made.release(Identity("directive", f"acme/work/item{number}"), content=b"%d\n" % number)
        made.publish()
        made.write_to(tmp_path / "public")
        for _ in range(5):  # on a busy machine it may finish before it is killed
            shutil.rmtree(user.path("copy"), ignore_errors=True)
            process = user.begin("mirror", "copy")
            while process.poll() is None and not user.path("copy/index").exists():
                time.sleep(0.001)
            process.kill()
            process.wait()
            if not user.path("copy/head").exists():
                break
        assert not user.path("copy/head").exists()
        done = user.ok("mirror", "copy", "--json").json
        assert (done["before"], done["releases"]) == (None, 601)
        assert user.ok("mirror", "copy", "--json").json["fetched"] == 0
        reader = ("--registry", user.path("copy").as_uri(), "--json")
        assert user.ok("info", "acme/work/item599", *reader).json["version"] == "1.0.0"

    def test_a_registry_that_forks_ends_it_with_both_heads(self, tmp_path: Path) -> None:
        made, user = simulated(tmp_path)
        other = made.fork()
        made.release(ITEM, "2.0.0", b"one\n")
        made.publish()
        made.write_to(tmp_path / "public")
        user.ok("mirror", "copy")
        for version in ("2.0.0", "3.0.0"):
            other.release(ITEM, version, b"another\n")
        other.publish()
        shutil.rmtree(tmp_path / "public")
        other.write_to(tmp_path / "public")
        # The user's own memory notices first; someone with a fresh memory notices it from the old copy.
        error = user.fails("mirror", "copy", code="head-inconsistent")
        assert set(error["evidence"]) == {"trusted", "offered"}
        fresh = Person(tmp_path / "fresh", "acme")
        fresh.ok("registry", "add", (tmp_path / "public").as_uri(), "--fingerprint", made.fingerprint)
        error = fresh.fails("mirror", str(user.path("copy")), code="mirror-fork")
        assert set(error["evidence"]) == {"trusted", "offered"}


class TestLog:
    def test_an_honest_log_verifies(self, acme: Person) -> None:
        found = acme.ok("log", "verify", "--json").json
        assert (found["ok"], found["findings"], found["count"]) == (True, [], 0)
        assert found["releases"] >= 2
        assert "no problems found" in acme.ok("log", "verify").stdout

    def test_findings_name_the_entry_and_exit_1(self, tmp_path: Path) -> None:
        made, user = simulated(tmp_path)
        made.release(ITEM, "2.0.0", b"theft\n", keys=[key("thief")])
        position = made.size - 1
        made.publish()
        made.write_to(tmp_path / "public")
        result = user.run("log", "verify", "--json")
        assert result.code == 1
        assert result.json["ok"] is False
        assert [(row["position"], row["code"]) for row in result.json["findings"]] == [(position, "statement-signer")]
        text = user.run("log", "verify")
        assert text.code == 1
        assert f"entry {position}: statement-signer" in text.stdout

    def test_an_index_that_hides_a_release(self, tmp_path: Path) -> None:
        made, user = simulated(tmp_path)
        made.release(ITEM, "2.0.0", b"hidden\n")
        made.publish_index({name: data for name, data in made.index_files().items() if name != str(ITEM)})
        made.write_to(tmp_path / "public")
        result = user.run("log", "verify", "--json")
        assert result.code == 1
        assert "snapshot-map" in [row["code"] for row in result.json["findings"]]

    def test_watching_an_honest_registry(self, acme: Person) -> None:
        found = acme.ok("log", "watch", "--count", "2", "--interval", "0.1", "--json").json
        assert len(found["observations"]) == 2
        assert found["observations"][0] == found["observations"][1]
        assert len(acme.ok("log", "watch", "--count", "2", "--interval", "0.1").stdout.splitlines()) == 1
        acme.fails("log", "watch", code="usage", exit_code=2)

    @pytest.mark.parametrize("more", [1, 2])
    def test_a_fork_is_reported_with_both_signed_heads(self, tmp_path: Path, more: int) -> None:
        made, user = simulated(tmp_path)
        other = made.fork()
        made.release(ITEM, "2.0.0", b"one\n")
        made.publish()
        made.write_to(tmp_path / "public")
        user.ok("log", "watch", "--count", "1")
        for number in range(more):
            other.release(ITEM, f"{number + 2}.0.0", b"another\n")
        other.publish()
        shutil.rmtree(tmp_path / "public")
        other.write_to(tmp_path / "public")
        rule = "head-fork" if more == 1 else "head-inconsistent"
        error = user.fails("log", "watch", "--count", "3", "--evidence", "fork.json", code=rule)
        assert error["file"] == "fork.json"
        written = json.loads(user.path("fork.json").read_text())
        assert written["rule"] == rule
        assert written["heads"]["trusted"].encode() == made.files["checkpoint"]
        assert written["heads"]["offered"].encode() == other.files["checkpoint"]
        # Evidence is never overwritten.
        user.fails("log", "watch", "--count", "1", "--evidence", "fork.json", code=rule)
        assert json.loads(user.path("fork.json").read_text()) == written

    def test_a_mirror_that_shows_another_history_than_the_registry(self, tmp_path: Path) -> None:
        """What one address showed is remembered for every address of the same registry."""
        made, user = simulated(tmp_path)
        other = made.fork()
        made.release(ITEM, "2.0.0", b"one\n")
        made.publish()
        made.write_to(tmp_path / "public")
        other.release(ITEM, "2.0.0", b"for you alone\n")
        other.publish()
        other.write_to(tmp_path / "mirror")
        user.ok("log", "watch", "--count", "1")
        mirror = (tmp_path / "mirror").as_uri()
        user.fails("log", "watch", "--count", "1", "--registry", mirror, "--evidence", "e.json", code="head-fork")

    def test_a_registry_that_is_away_for_a_while_is_only_a_warning(self, tmp_path: Path) -> None:
        made, user = simulated(tmp_path)
        (tmp_path / "public" / "head").unlink()
        result = user.ok("log", "watch", "--count", "1")
        assert "warning" in result.stderr
        made.write_to(tmp_path / "public")
        assert user.ok("log", "watch", "--count", "1").stdout

    def test_a_proof_is_checked_without_a_network(self, acme: Person, registry: Registry) -> None:
        made = acme.ok("log", "prove", "acme/work/base@1.0.0", "-o", "base.tlog-proof", "--json").json
        assert made["proof"] == acme.path("base.tlog-proof").read_text()
        assert made["proof"].startswith("c2sp.org/tlog-proof@v1\nextra ")
        checker = registry.reader()
        proof, item = str(acme.path("base.tlog-proof")), acme.path(".ai/directives/work/base.md")
        registry.stop()
        try:
            checked = checker.ok("log", "check-proof", proof, "--item", str(item), "--json").json
        finally:
            registry.start()
        assert (checked["id"], checked["version"], checked["log"]) == ("acme/work/base", "1.0.0", made["log"])
        checker.write("changed.md", item.read_bytes() + b"\n")
        checker.fails("log", "check-proof", proof, "--item", "changed.md", code="other-bytes")
        acme.fails("log", "prove", "acme/work/base@1.0.0", "-o", "base.tlog-proof", code="already-exists file")
        acme.fails("log", "prove", "acme/work/base", code="no-version", exit_code=2)
        acme.fails("log", "prove", "acme/work/base@7.0.0", code="no-such-version")

    def test_a_proof_of_an_unknown_log_and_a_forged_one(self, acme: Person, tmp_path: Path) -> None:
        text = acme.ok("log", "prove", "acme/work/base@1.0.0").stdout
        stranger = Person(tmp_path / "stranger")
        stranger.write("p", text)
        stranger.fails("log", "check-proof", "p", code="registry-unpinned")
        shown = acme.ok("registry", "show")
        (vkey,) = acme.ok("registry", "show", "--json").json["verifier_keys"]
        assert f"verifier keys   {vkey}\n" in shown.stdout
        stranger.ok("log", "check-proof", "p", "--key", vkey)
        lines = text.split("\n")
        acme.write("forged", "\n".join([*lines[:3], lines[4], lines[3], *lines[5:]]))
        acme.fails("log", "check-proof", "forged", code="proof-wrong")
        acme.write("nonsense", "nonsense")
        acme.fails("log", "check-proof", "nonsense", code="proof-malformed")


class TestBundle:
    def installed(self, acme: Person, registry: Registry) -> tuple[Person, Path]:
        """Someone with a network who installed the items and created a bundle."""
        user = registry.reader("web")
        user.ok("add", "acme/work/top", "--yes", "--approve", "directive:acme/work/top@1.0.0")
        user.ok("mirror", "--bundle", "web.rye-bundle")
        return user, user.path("web.rye-bundle")

    def offline(self, maker: Person, tmp_path: Path, name: str = "island") -> Person:
        """Someone without a network who got the project's files."""
        user = Person(tmp_path / name)
        for file in ("rye.toml", "rye.lock"):
            shutil.copy(maker.path(file), user.path(file))
        return user

    def test_installing_needs_nothing_but_the_file_and_the_fingerprint(
        self, acme: Person, registry: Registry, tmp_path: Path
    ) -> None:
        maker, bundle = self.installed(acme, registry)
        assert maker.ok("mirror", "--bundle", "again", "--json").json["items"] == 2
        assert maker.path("again").read_bytes() == bundle.read_bytes()
        island = self.offline(maker, tmp_path)
        registry.stop()
        try:
            error = island.fails(
                "install", "--offline", "--bundle", str(bundle), "--registry", registry.url, code="registry-unpinned"
            )
            assert "--bundle" in error["hint"]
            assert not island.path(".ai").exists()
            island.ok("registry", "add", registry.url, "--bundle", str(bundle), "--fingerprint", registry.fingerprint)
            result = island.run("install", "--offline", "--frozen", "--trust-lock", "--bundle", str(bundle))
            assert result.code == 0, result
        finally:
            registry.start()
        placed = sorted(path.name for path in island.path(".ai/packages").rglob("*.md"))
        assert placed == ["base.md", "top.md"]
        for path in island.path(".ai/packages").rglob("*.md"):
            twin = maker.path(str(path.relative_to(island.folder)))
            assert path.read_bytes() == twin.read_bytes()

    def test_a_changed_bundle_installs_nothing(self, acme: Person, registry: Registry, tmp_path: Path) -> None:
        from rye.registry.airgap import TITLE, encode_airgap, open_airgap

        maker, bundle = self.installed(acme, registry)
        island = self.offline(maker, tmp_path)
        island.ok("registry", "add", registry.url, "--bundle", str(bundle), "--fingerprint", registry.fingerprint)
        data = bundle.read_bytes()
        island.write("cut", data[:-10])
        island.fails("install", "--offline", "--bundle", "cut", code="airgap-malformed")
        island.write("damaged", data.replace(b"What came", b"What went", 1))
        island.fails("install", "--offline", "--bundle", "damaged", code="bundle-damaged")
        read = open_airgap(bundle)
        files = {
            **read.files,
            "rye.lock": read.lock,
            "registries.json": data.split(b"registries.json ")[1].split(b"\n")[1],
        }
        forged = {
            name: content.replace(b"What came", b"What went") if "/blobs/" in name else content
            for name, content in files.items()
        }
        assert encode_airgap(files) == data
        assert data.startswith(TITLE.encode())
        island.write("forged", encode_airgap(forged))
        island.fails("install", "--offline", "--bundle", "forged", code="blob-hash")
        assert not list(island.folder.rglob("packages/**/*.md"))

    def test_a_bundle_for_another_lock_says_what_is_missing(
        self, acme: Person, registry: Registry, tmp_path: Path
    ) -> None:
        maker, bundle = self.installed(acme, registry)
        maker.ok("add", "acme/work/base", "--yes", "--approve", "directive:acme/work/base@1.0.0")
        acme.release("work/extra")
        maker.ok("add", "acme/work/extra", "--yes", "--approve", "directive:acme/work/extra@1.0.0")
        island = self.offline(maker, tmp_path)
        island.ok("registry", "add", registry.url, "--bundle", str(bundle), "--fingerprint", registry.fingerprint)
        error = island.fails("install", "--offline", "--bundle", str(bundle), code="bundle-other-lock")
        assert "acme/work/extra" in error["message"]

    def test_the_day_of_an_old_bundle_must_be_a_day_and_needs_a_bundle(self, acme: Person, tmp_path: Path) -> None:
        user = Person(tmp_path / "u", "acme")
        user.write("rye.toml", '[project]\nname = "x"\n[dependencies]\n"acme/a/b" = "*"\n')
        user.fails(
            "install",
            "--bundle-as-of",
            "2026-01-01",
            "--registry",
            "https://r.example",
            code="missing-argument",
            exit_code=2,
        )
        user.fails("install", "--bundle", "absent", "--registry", "https://r.example", code="no-such-file")


class TestRegistryFamily:
    @pytest.mark.parametrize("width", [60, 80, 100])
    def test_the_list_has_aligned_columns_on_a_narrow_terminal(self, registry: Registry, width: int) -> None:
        user = registry.reader()
        shown = user.terminal("registry", "list", env={"COLUMNS": str(width), "NO_COLOR": "1"}).splitlines()
        assert len(shown) == 2, "a header and one row"
        assert shown[0].index("ADDRESS") == shown[1].index(registry.url)
        assert max(map(len, shown)) <= width
        assert registry.fingerprint in user.ok("registry", "list").stdout
        assert registry.fingerprint in user.ok("registry", "show", registry.url).stdout

    def test_add_list_show_remove(self, registry: Registry) -> None:
        user = registry.reader()
        (row,) = user.ok("registry", "list", "--json").json["registries"]
        assert (row["registry"], row["default"], row["fingerprint"]) == (registry.url, True, registry.fingerprint)
        shown = user.ok("registry", "show", "--json").json
        assert (shown["root"], shown["threshold"], len(shown["owners"])) == (1, 1, 1)
        user.ok("registry", "remove", registry.url)
        assert user.ok("registry", "list", "--json").json["registries"] == []
        user.fails("registry", "remove", registry.url, code="not-pinned")
        user.fails("info", "acme/work/base", code="no-registry")
        # Trust in the registry itself remains: it needs no fingerprint, and a different one is refused.
        user.fails("registry", "add", registry.url, "--fingerprint", "0" * 64, code="root-fingerprint")
        user.ok("registry", "add", registry.url)
        user.ok("registry", "remove", registry.url, "--forget-trusted-history")
        user.fails("registry", "add", registry.url, code="registry-unpinned")

    def test_another_registry_at_a_pinned_address(self, tmp_path: Path) -> None:
        init(tmp_path / "one")
        process, url = start_embedded(tmp_path / "one")
        user = Person(tmp_path / "user")
        fingerprint = user.fails("registry", "add", url, code="registry-unpinned")["fingerprint"]
        user.ok("registry", "add", url, "--fingerprint", fingerprint)
        stop_embedded(process)
        operator("init", "--data", str(tmp_path / "two"), "--origin", "other.example")
        process, _ = start_embedded(tmp_path / "two", port=int(url.rsplit(":", 1)[1]))
        try:
            result = user.run("registry", "show", "--json")
        finally:
            stop_embedded(process)
        assert result.code == 1
        assert result.error["hint"]

    @pytest.mark.parametrize(
        "address",
        ["nonsense", "ftp://r.example", "https://", "https://u:p@r.example", "https://r.example?q", "https://r:99999"],
    )
    def test_addresses_that_are_none(self, tmp_path: Path, address: str) -> None:
        Person(tmp_path).fails("registry", "add", address, code="bad-argument registry", exit_code=2)

    def test_plain_http_elsewhere(self, tmp_path: Path) -> None:
        Person(tmp_path).fails("registry", "add", "http://r.example", code="bad-argument registry", exit_code=2)
