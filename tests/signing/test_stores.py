"""The user's keys and trusted signers on disk (DESIGN §4 Keys)."""

from __future__ import annotations

import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rye.errors import RyeError, UsageError
from rye.signing import private_text
from rye.signing.key_store import KeyStore
from rye.signing.keys import PrivateKey, PublicKey
from rye.signing.sealed_form import is_sealed
from rye.signing.trust_store import MAX_PROPOSALS, TrustStore, proposals, read_key_file
from tests.signing.samples import NOW

POSIX = pytest.mark.skipif(os.name != "posix", reason="file modes")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def store(tmp_path: Path) -> KeyStore:
    return KeyStore(tmp_path / "config")


@pytest.fixture
def trust(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "config")


@pytest.fixture
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sealing at the lowest cost, since the default takes half a second."""
    derive = private_text._derive
    monkeypatch.setattr(private_text, "_derive", lambda passphrase, salt, _o, _m: derive(passphrase, salt, 1, 8192))


def public() -> PublicKey:
    return PrivateKey.generate().public


class TestOwnKeys:
    @POSIX
    def test_a_made_key_is_stored_for_its_owner_only(self, store: KeyStore) -> None:
        before = os.umask(0)
        try:
            stored = store.generate("work", NOW)
        finally:
            os.umask(before)
        assert mode(store.folder) == mode(store.folder.parent) == 0o700
        assert {mode(path) for path in store.folder.iterdir()} == {0o600}
        assert mode(store.trust.path) == 0o600
        assert stored.warning is None

    def test_a_made_key_is_trusted(self, store: KeyStore) -> None:
        stored = store.generate("work", NOW)
        assert store.trust.trusted() == (stored.public,)
        assert store.trust.find("work").source == "made on this machine"

    def test_the_first_key_is_the_default_until_changed(self, store: KeyStore) -> None:
        assert store.default_name() is None
        first, second = store.generate("b", NOW), store.generate("a", NOW)
        assert (first.default, second.default) == (True, False)
        assert store.get().name == "b"
        assert [key.name for key in store.list()] == ["a", "b"]
        assert store.set_default("a").default
        assert store.get().name == "a"

    def test_a_key_is_never_overwritten(self, store: KeyStore) -> None:
        first = store.generate("work", NOW)
        with pytest.raises(RyeError) as caught:
            store.generate("work", NOW)
        assert (caught.value.code, caught.value.details["what"]) == ("already-exists", "key")
        assert store.get("work") == first
        assert store.trust.trusted() == (first.public,)

    @pytest.mark.parametrize("name", ["../x", "a/b", "", "A", ".x", "con", "x" * 65, "a\n"])
    def test_names_are_names_and_never_paths(self, store: KeyStore, name: str) -> None:
        with pytest.raises(UsageError):
            store.generate(name, NOW)
        with pytest.raises(RyeError):
            store.get(name)

    def test_without_keys_the_error_says_how_to_make_one(self, store: KeyStore) -> None:
        for name, to_sign in ((None, False), (None, True), ("work", True), ("work", False)):
            with pytest.raises(RyeError) as caught:
                store.get(name, to_sign=to_sign)
            assert ("rye keys generate" in (caught.value.hint or "")) is (name is None or to_sign)

    def test_what_it_gives_back_signs(self, store: KeyStore) -> None:
        stored = store.generate("work", NOW)
        key = store.private(None, lambda: pytest.fail("no passphrase is needed"))
        assert stored.public.verifies(b"m", key.sign(b"m"))

    @pytest.mark.usefixtures("cheap")
    def test_a_sealed_key_asks_for_its_passphrase(self, store: KeyStore) -> None:
        stored = store.generate("work", NOW, "secret words")
        assert stored.sealed
        assert is_sealed(stored.path.read_text())
        assert store.private("work", lambda: "secret words").public == stored.public
        with pytest.raises(RyeError) as caught:
            store.private("work", lambda: "other words")
        assert caught.value.code == "wrong-passphrase"

    @pytest.mark.usefixtures("cheap")
    def test_export_and_import_keep_the_key(self, store: KeyStore, tmp_path: Path) -> None:
        plain, sealed = store.generate("plain", NOW), store.generate("sealed", NOW, "one")
        other = KeyStore(tmp_path / "other")
        assert other.import_private("a", store.export_private("plain"), NOW).public == plain.public
        again = other.import_private("b", store.export_private("sealed"), NOW, "two", unseal_with="one")
        assert (again.public, again.sealed) == (sealed.public, True)
        assert other.private("b", lambda: "two").public == sealed.public
        assert set(other.trust.trusted()) == {plain.public, sealed.public}
        with pytest.raises(RyeError, match="is sealed"):
            other.import_private("c", store.export_private("sealed"), NOW)
        assert not (other.folder / "c.key").exists()

    @POSIX
    @pytest.mark.parametrize("bits", [0o640, 0o604, 0o660, 0o644])
    def test_a_private_key_that_others_can_read_is_reported_with_the_mending_command(
        self, store: KeyStore, bits: int
    ) -> None:
        path = store.generate("work", NOW).path
        path.chmod(bits)
        warning = store.get("work").warning or ""
        assert "Other users can read" in warning
        assert f"chmod 600 {path}" in warning
        assert store.list()[0].as_json()["warning"] == warning

    def test_a_swapped_public_half_is_found_when_the_key_is_used(self, store: KeyStore) -> None:
        stored = store.generate("work", NOW)
        stored.path.with_suffix(".pub").write_text(public().pem)
        with pytest.raises(RyeError, match="does not belong"):
            store.private("work", lambda: "")

    def test_a_key_file_that_is_too_large_or_no_text_is_refused(self, store: KeyStore) -> None:
        path = store.generate("work", NOW).path
        for data in (b"x" * 100_000, b"\xff"):
            path.write_bytes(data)
            with pytest.raises(RyeError) as caught:
                store.private("work", lambda: "")
            assert caught.value.code == "bad-key"

    def test_a_failure_to_trust_leaves_no_key_behind(self, store: KeyStore) -> None:
        store.trust.path.parent.mkdir(parents=True)
        store.trust.path.write_text("nonsense")
        with pytest.raises(RyeError):
            store.generate("work", NOW)
        assert store.list() == ()
        assert list(store.folder.iterdir()) == []

    def test_a_new_key_has_not_signed_although_one_of_its_name_did(self, store: KeyStore) -> None:
        """Another process may sign while the key is removed, and note it afterwards."""
        store.generate("work", NOW)
        store.remove("work")
        store.mark_used("work", NOW)
        store.generate("work", NOW)
        assert store.last_used("work") is None
        store.mark_used("work", NOW)
        assert store.last_used("work") is not None

    @POSIX
    @pytest.mark.parametrize("name", ["work.key", "work.pub", "default"])
    def test_a_pipe_in_a_key_s_place_keeps_nobody_waiting(self, store: KeyStore, name: str) -> None:
        store.generate("work", NOW)
        (store.folder / name).unlink()
        os.mkfifo(store.folder / name)
        with pytest.raises(RyeError) as caught:
            store.private(None, str)
        assert caught.value.code in ("bad-key", "no-key")

    @POSIX
    def test_a_pipe_in_the_place_of_a_note_is_no_note(self, store: KeyStore) -> None:
        store.generate("work", NOW)
        os.mkfifo(store.folder / "work.used")
        assert store.last_used("work") is None
        store.mark_used("work", NOW)
        assert store.last_used("work") is not None


class TestTrust:
    def test_nothing_is_trusted_at_first(self, trust: TrustStore) -> None:
        assert (trust.entries(), trust.trusted(), trust.revoked()) == ((), (), ())

    def test_a_key_is_trusted_from_add_to_remove(self, trust: TrustStore) -> None:
        key = public()
        entry = trust.add(key, "Leo", "keys/leo.pem", NOW)
        assert (entry.label, entry.source, entry.added) == ("Leo", "keys/leo.pem", "2026-03-01T12:30:05Z")
        assert trust.trusted() == (key,)
        assert trust.add(key, "Other", "elsewhere", NOW) == entry
        assert trust.remove("Leo") == entry
        assert trust.trusted() == ()

    def test_a_revoked_key_is_kept_and_cannot_be_added_again_by_accident(self, trust: TrustStore) -> None:
        key = public()
        trust.add(key, "Leo", "x", NOW)
        assert trust.revoke(key.fingerprint, NOW).revoked == "2026-03-01T12:30:05Z"
        assert (trust.trusted(), trust.revoked()) == ((), (key,))
        assert trust.revoke(key.key_id, NOW) == trust.find(key.key_id)
        with pytest.raises(RyeError, match="was revoked"):
            trust.add(key, "Leo", "x", NOW)
        trust.remove(key.later_key_id)
        trust.add(key, "Leo", "x", NOW)
        assert trust.trusted() == (key,)

    def test_a_selector_must_stand_for_one_key(self, trust: TrustStore) -> None:
        one, two = public(), public()
        trust.add(one, "same", "x", NOW)
        trust.add(two, "same", "x", NOW)
        with pytest.raises(RyeError) as caught:
            trust.remove("same")
        assert caught.value.code == "ambiguous-key"
        assert trust.find(two.fingerprint).key == two
        with pytest.raises(RyeError) as caught:
            trust.find("nobody")
        assert caught.value.code == "unknown-key"

    @pytest.mark.parametrize("label", ["", "  ", "a\nb", "\x1b[2J", "x" * 101, "a\u202eb"])
    def test_a_label_is_something_that_can_be_printed(self, trust: TrustStore, label: str) -> None:
        with pytest.raises(RyeError):
            trust.add(public(), label, "x", NOW)

    def test_labels_with_quotes_and_other_scripts_survive(self, trust: TrustStore) -> None:
        for label in ('say "hi"', "C:\\keys", "Жанна = [x]", "'''", '"""'):
            trust.add(public(), label, label, NOW)
            assert trust.find(label).source == label

    def test_a_small_order_key_is_never_added(self, trust: TrustStore) -> None:
        with pytest.raises(RyeError, match="small order"):
            trust.add(PublicKey((1).to_bytes(32, "little")), "x", "x", NOW)
        assert trust.entries() == ()

    @POSIX
    @pytest.mark.parametrize("bits", [0o620, 0o602, 0o666])
    def test_a_file_that_others_can_change_is_refused(self, trust: TrustStore, bits: int) -> None:
        trust.add(public(), "Leo", "x", NOW)
        trust.path.chmod(bits)
        with pytest.raises(RyeError, match="can be changed by other users"):
            trust.trusted()

    def test_a_damaged_or_extended_file_is_refused_as_a_whole(self, trust: TrustStore) -> None:
        trust.add(public(), "Leo", "x", NOW)
        good = trust.path.read_text()
        for text in (
            good + "\n[more]\n",
            "x = 1\n" + good,
            good.replace("label =", "lable ="),
            good.replace("Leo", "Le\\q"),
            good.replace('"Leo"', "5"),
            good.replace("SHA256:", "SHA256:A"),
            good.replace("BEGIN PUBLIC", "BEGIN"),
            "key = 5\n",
            "key = " + "[" * 5000,
            "\ufeffnonsense",
        ):
            trust.path.write_text(text)
            trust.path.chmod(0o600)
            with pytest.raises(RyeError) as caught:
                trust.trusted()
            assert caught.value.code == "bad-trust-store"

    def test_writers_at_the_same_time_lose_nothing(self, trust: TrustStore) -> None:
        made = [public() for _ in range(12)]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda n: TrustStore(trust.path.parent).add(made[n], f"k{n}", "x", NOW), range(12)))
        assert set(trust.trusted()) == set(made)


@POSIX
def test_a_pipe_is_no_key_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "key.pem")
    with pytest.raises(RyeError, match="not a regular file"):
        read_key_file(tmp_path / "key.pem")


class TestProposals:
    def test_key_files_in_a_project_are_listed_and_not_trusted(self, tmp_path: Path, trust: TrustStore) -> None:
        project = tmp_path / "project"
        one, two = public(), public()
        (project / "keys").mkdir(parents=True)
        (project / ".ai" / "keys").mkdir(parents=True)
        (project / "keys" / "one.pem").write_text(one.pem)
        (project / ".ai" / "keys" / "two.toml").write_text(f'owner = "leo"\n[public_key]\npem = """\n{two.pem}"""\n')
        (project / "keys" / "broken.pem").write_text("nonsense")
        (project / "keys" / "README.md").write_text("about")
        found = {proposal.path.name: proposal for proposal in proposals(project)}
        assert set(found) == {"one.pem", "two.toml", "broken.pem"}
        assert (found["one.pem"].key, found["two.toml"].key, found["two.toml"].owner) == (one, two, "leo")
        assert found["broken.pem"].problem
        assert trust.trusted() == ()

    @pytest.mark.skipif(sys.platform == "win32", reason="symlinks")
    def test_links_and_folders_are_not_followed_and_their_number_is_bounded(self, tmp_path: Path) -> None:
        folder = tmp_path / "keys"
        folder.mkdir()
        (tmp_path / "outside.pem").write_text(public().pem)
        (folder / "link.pem").symlink_to(tmp_path / "outside.pem")
        (folder / "loop.pem").symlink_to(folder / "loop.pem")
        (folder / "folder.pem").mkdir()
        assert proposals(tmp_path) == ()
        for number in range(MAX_PROPOSALS + 5):
            (folder / f"{number}.pem").write_text("x")
        assert len(proposals(tmp_path)) == MAX_PROPOSALS

    def test_a_file_that_the_user_names_is_read_or_the_error_names_it(self, tmp_path: Path) -> None:
        key = public()
        (tmp_path / "k.pem").write_text(key.pem)
        assert read_key_file(tmp_path / "k.pem") == (key, None)
        for path in (tmp_path / "missing.pem", tmp_path):
            with pytest.raises(RyeError, match=str(path)):
                read_key_file(path)
