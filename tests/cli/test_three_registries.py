"""A project with three real registries, one of which is off, hangs, breaks off, is out of order or answers wrongly: what a team
can still do, and what is refused by name (docs/reference/outages.md)."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import force_setattr

from rye.importing.digests import folder_digest
from rye.limits import REGISTRY
from rye.project.lock import parse_lock
from tests.scenes.effort import rest_thorough
from tests.scenes.gates import Gate
from tests.scenes.person import Person
from tests.scenes.three_registries import SILENCES, Three, ask_for, gates, three, user, versions
from tests.schemas.test_catalog import check
from tests.sources.git_server import serving

pytestmark = pytest.mark.processes

PDF = "---\nname: pdf\ndescription: Reads documents. Use it for documents.\n---\n\nRead.\n"
__all__ = ["gates", "three", "user"]


class TestLock:
    @pytest.mark.parametrize("silence", rest_thorough(1, SILENCES))
    def test_what_the_others_have_is_locked_and_the_rest_stays(
        self, user: Person, gates: dict[str, Gate], silence: str
    ) -> None:
        before = parse_lock(user.path("rye.lock").read_text()).by_identity()
        ask_for(user, '"zeta/work/extra" = "^1.0"')
        SILENCES[silence](gates["acme"])
        done = user.ok("lock", "--json")
        check("json-lock-check", done.json)
        assert [one["registry"] for one in done.json["not_asked"]] == [gates["acme"].url]
        assert f"The registry at {gates['acme'].url} does not answer" in done.stderr
        assert "What it has in rye.lock stays as it is." in done.stderr
        after = parse_lock(user.path("rye.lock").read_text()).by_identity()
        assert {identity.id for identity in after.keys() - before.keys()} == {"zeta/work/extra"}
        assert {identity: after[identity] for identity in before} == before

    def test_what_rye_toml_no_longer_has_needs_nobody(self, user: Person, gates: dict[str, Gate]) -> None:
        text = user.path("rye.toml").read_text()
        user.write("rye.toml", "\n".join(line for line in text.split("\n") if "acme/work/top" not in line))
        for gate in gates.values():
            gate.refuse()
        user.ok("lock")
        assert sorted(versions(user)) == ["omni/work/base", "omni/work/top", "zeta/work/base", "zeta/work/top"]

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ('"acme/work/extra" = "^1.0"', "asks for acme/work/extra ^1.0, and rye.lock does not have it."),
            (
                '"directive:acme/work/base" = "^2.0"',
                "asks for directive:acme/work/base ^2.0, and rye.lock has it at 1.0.0.",
            ),
        ],
    )
    def test_what_only_the_silent_one_has_is_refused_by_name(
        self, user: Person, gates: dict[str, Gate], line: str, said: str
    ) -> None:
        """Also where the cache has it: it may have been yanked since."""
        user.ok("info", "acme/work/extra")
        before = user.path("rye.lock").read_bytes()
        ask_for(user, line)
        gates["acme"].refuse()
        for words in (("lock",), ("lock", "--dry-run")):
            error = user.fails(*words, code="fetch-unreachable")
            assert gates["acme"].url in error["message"]
            assert said in error["message"]
            assert "take that line out of rye.toml until then" in error["hint"]
        assert user.path("rye.lock").read_bytes() == before

    def test_a_first_lock_needs_everybody(self, user: Person, gates: dict[str, Gate]) -> None:
        user.path("rye.lock").unlink()
        gates["omni"].refuse()
        error = user.fails("lock", code="fetch-unreachable")
        assert "asks for omni/work/top ^1.0.0, and rye.lock does not have it" in error["message"]
        assert not user.path("rye.lock").exists()

    def test_a_new_item_is_not_taken_at_an_older_version_because_of_it(
        self, three: Three, user: Person, gates: dict[str, Gate]
    ) -> None:
        zeta = three.owners["zeta"]
        zeta.release("work/made")
        zeta.release("work/made", "1.1.0", depends=(("acme/work/extra", "^1.0"),))
        ask_for(user, '"zeta/work/made" = "^1.0"')
        gates["acme"].refuse()
        error = user.fails("lock", code="fetch-unreachable")
        assert "directive:zeta/work/made 1.1.0 needs another directive:acme/work/extra than is here" in error["message"]
        assert "`rye add directive:zeta/work/made@=1.0.0`" in error["hint"]
        user.ok("add", "directive:zeta/work/made@=1.0.0", "--yes")
        assert versions(user)["zeta/work/made"] == "1.0.0"

    @pytest.mark.parametrize(
        ("status", "body"),
        [("200 OK", b"<html>Log in to this network</html>"), ("302 Found", b""), ("403 Forbidden", b"")],
    )
    def test_a_wrong_answer_is_no_silence(self, user: Person, gates: dict[str, Gate], status: str, body: bytes) -> None:
        before = user.path("rye.lock").read_bytes()
        ask_for(user, '"zeta/work/extra" = "^1.0"')
        gates["acme"].answer(status, body)
        done = user.run("lock", "--json")
        assert done.code != 0
        assert "does not answer" not in done.error["message"]
        assert user.path("rye.lock").read_bytes() == before

    def test_whose_items_rye_toml_has_no_longer_is_asked_nothing(self, user: Person, gates: dict[str, Gate]) -> None:
        """Nor does it have to be known who that would be now."""
        text = user.path("rye.toml").read_text()
        user.write("rye.toml", "\n".join(line for line in text.split("\n") if "acme" not in line))
        user.ok("config", "unset", "registry")
        gates["acme"].refuse()
        assert "not_asked" not in user.ok("lock", "--json").json
        assert not any(name.startswith("acme/") for name in versions(user))


class TestImport:
    """Another tool's lock names a skill of a git repository. rye.toml has items of the three registries."""

    @pytest.fixture
    def far(self, tmp_path: Path) -> Iterator[Gate]:
        """The repository ``skills``, behind a gate."""
        with serving(tmp_path / "served") as server, Gate(server.address) as gate:
            server.repository("skills").commit({"skills/pdf/SKILL.md": PDF})
            yield gate

    @pytest.fixture
    def importing(self, user: Person, far: Gate) -> Person:
        row = {"source": f"{far.url}/skills.git", "sourceType": "git", "skillPath": "skills/pdf/SKILL.md"}
        digest = folder_digest("skills-folder", {"SKILL.md": PDF.encode()})
        lock = {"version": 1, "skills": {"pdf": {**row, "sourceUrl": row["source"], "computedHash": digest}}}
        user.write("skills-lock.json", json.dumps(lock))
        return user

    @pytest.mark.parametrize("silence", rest_thorough(1, SILENCES))
    def test_what_a_silent_registry_has_stays_and_the_rest_is_imported(
        self, importing: Person, gates: dict[str, Gate], silence: str
    ) -> None:
        before = parse_lock(importing.path("rye.lock").read_text()).by_identity()
        SILENCES[silence](gates["zeta"])
        done = importing.ok("import", "--yes", "--json")
        assert [one["registry"] for one in done.json["not_asked"]] == [gates["zeta"].url]
        assert "What it has in rye.lock stays as it is." in done.stderr
        after = parse_lock(importing.path("rye.lock").read_text()).by_identity()
        assert {identity.id for identity in after.keys() - before.keys()} == {"skills/pdf"}
        assert {identity: after[identity] for identity in before} == before

    def test_what_it_would_be_needed_for_is_refused_by_name(self, importing: Person, gates: dict[str, Gate]) -> None:
        ask_for(importing, '"zeta/work/extra" = "^1.0"')
        before = importing.path("rye.toml").read_bytes(), importing.path("rye.lock").read_bytes()
        gates["zeta"].refuse()
        error = importing.fails("import", "--yes", code="fetch-unreachable")
        assert gates["zeta"].url in error["message"]
        assert "zeta/work/extra ^1.0" in error["message"]
        assert (importing.path("rye.toml").read_bytes(), importing.path("rye.lock").read_bytes()) == before

    def test_a_silent_repository_is_named_with_what_leaves_it_out(
        self, importing: Person, gates: dict[str, Gate], far: Gate
    ) -> None:
        rows = json.loads(importing.path("skills-lock.json").read_text())
        far.refuse()
        error = importing.fails("import", "--yes", code="source-unreachable")
        assert error["message"].startswith("skills-lock.json: pdf: ")
        assert f"{far.url}/skills.git" in error["message"]
        assert "`rye import --without pdf` imports the rest." in error["hint"]
        assert "left out with --without" in importing.ok("import", "--without", "pdf", "--yes").stderr
        assert rows

    @pytest.mark.parametrize("body", [b"<html>Log in to this network</html>", b""])
    def test_a_wrong_answer_is_no_silence(self, importing: Person, gates: dict[str, Gate], body: bytes) -> None:
        before = importing.path("rye.lock").read_bytes()
        gates["zeta"].answer("200 OK", body)
        done = importing.run("import", "--yes", "--json")
        assert done.code != 0
        assert "does not answer" not in done.error["message"]
        assert importing.path("rye.lock").read_bytes() == before


class TestRollback:
    @pytest.fixture
    def updated(self, three: Three, user: Person) -> Person:
        """Someone who just updated everything."""
        three.release("work/top", "1.1.0")
        user.ok("update", "--yes")
        assert set(versions(user).values()) == {"1.0.0", "1.1.0"}
        return user

    @pytest.mark.parametrize("silence", rest_thorough(1, SILENCES))
    def test_it_goes_on_by_itself_and_says_what_was_not_checked(
        self, updated: Person, gates: dict[str, Gate], silence: str
    ) -> None:
        SILENCES[silence](gates["acme"])
        done = updated.ok("rollback", "--yes", "--json")
        check("json-install", done.json)
        assert set(versions(updated).values()) == {"1.0.0"}
        assert [one["registry"] for one in done.json["not_asked"]] == [gates["acme"].url]
        assert f"The registry at {gates['acme'].url} does not answer" in done.stderr
        assert "Whether what it has was yanked, taken down or revoked since then was not checked" in done.stderr

    def test_if_nobody_answers_too(self, updated: Person, gates: dict[str, Gate]) -> None:
        for gate in gates.values():
            gate.refuse()
        done = updated.ok("rollback", "--yes", "--json")
        assert [one["registry"] for one in done.json["not_asked"]] == sorted(gate.url for gate in gates.values())
        assert set(versions(updated).values()) == {"1.0.0"}

    def test_what_is_not_in_the_cache_is_refused_by_name(self, updated: Person, gates: dict[str, Gate]) -> None:
        shutil.rmtree(updated.home / "cache")
        before = updated.path("rye.lock").read_bytes()
        gates["acme"].refuse()
        error = updated.fails("rollback", "--yes", code="fetch-unreachable")
        assert gates["acme"].url in error["message"]
        assert updated.path("rye.lock").read_bytes() == before

    def test_what_those_who_answer_refuse_stays_refused(
        self, three: Three, user: Person, gates: dict[str, Gate]
    ) -> None:
        """Whoever silences one registry does not bring back what another one refuses, nor what it was seen to refuse itself."""
        three.release("work/leak", "1.0.0")
        user.ok("add", "zeta/work/leak@^1.0", "--yes")
        three.release("work/leak", "1.1.0")
        user.ok("update", "--yes")
        before = user.path("rye.lock").read_bytes()
        three.take_down("zeta", "directive:zeta/work/leak@1.0.0")
        gates["acme"].refuse()
        user.fails("rollback", "--yes", code="release-taken-down")
        gates["zeta"].refuse()  # the run that saw it had failed
        user.fails("rollback", "--yes", code="release-taken-down")
        assert user.path("rye.lock").read_bytes() == before

    def test_a_wrong_answer_is_no_silence(self, updated: Person, gates: dict[str, Gate]) -> None:
        before = updated.path("rye.lock").read_bytes()
        gates["acme"].answer("200 OK", b"<html>Log in to this network</html>")
        updated.fails("rollback", "--yes", code="head-malformed")
        assert updated.path("rye.lock").read_bytes() == before


class TestInstall:
    def test_what_a_failed_run_saw_withdrawn_is_not_installed_in_the_outage_that_follows(
        self, three: Three, user: Person, gates: dict[str, Gate]
    ) -> None:
        """The attack: a build fails because of a takedown, somebody silences the registry, and the build runs again."""
        three.release("work/withdrawn", "1.0.0")
        user.ok("add", "zeta/work/withdrawn", "--yes")
        shutil.rmtree(user.path(".ai/packages"))
        three.take_down("zeta", "directive:zeta/work/withdrawn@1.0.0")
        user.fails("ci", code="release-taken-down")
        gates["zeta"].refuse()
        user.fails("ci", code="release-taken-down")
        assert not user.path(".ai/packages").exists()

    def test_a_look_at_the_registries_takes_away_nothing_that_an_outage_needs(
        self, three: Three, user: Person, gates: dict[str, Gate]
    ) -> None:
        three.release("work/unneeded", "1.0.0")
        user.ok("doctor")
        gates["acme"].refuse()
        shutil.rmtree(user.path(".ai/packages"))
        user.ok("ci")
        user.ok("update", "zeta/work/top", "--yes")

    def test_nothing_new_is_taken_from_memory_also_if_rye_toml_was_edited_by_hand(
        self, user: Person, gates: dict[str, Gate]
    ) -> None:
        user.ok("add", "acme/work/extra", "--yes")
        user.ok("remove", "acme/work/extra", "--yes")  # its index and bytes are in the cache
        before = user.path("rye.lock").read_bytes()
        ask_for(user, '"acme/work/extra" = "^1.0"')
        gates["acme"].refuse()
        error = user.fails("install", "--yes", code="fetch-unreachable")
        assert "asks for acme/work/extra ^1.0, and rye.lock does not have it." in error["message"]
        assert user.path("rye.lock").read_bytes() == before

    def test_what_the_others_have_is_installed_also_if_rye_toml_was_edited_by_hand(
        self, user: Person, gates: dict[str, Gate]
    ) -> None:
        ask_for(user, '"zeta/work/extra" = "^1.0"')
        gates["acme"].refuse()
        done = user.ok("install", "--yes", "--json")
        assert [one["registry"] for one in done.json["not_asked"]] == [gates["acme"].url]
        assert "zeta/work/extra" in versions(user)
        user.ok("remove", "acme/work/top", "--yes")
        assert "acme/work/top" not in versions(user)

    def test_a_lock_that_has_to_be_repaired_waits_for_the_registry(self, user: Person, gates: dict[str, Gate]) -> None:
        """Somebody took the row of a dependency out of rye.lock."""
        text = user.path("rye.lock").read_text()
        rows = text.split("[[item]]")
        assert any('id = "acme/work/base"' in row for row in rows)
        user.write("rye.lock", "[[item]]".join(row for row in rows if 'id = "acme/work/base"' not in row))
        before = user.path("rye.lock").read_bytes()
        gates["acme"].refuse()
        assert gates["acme"].url in user.fails("install", "--yes", code="fetch-unreachable")["message"]
        assert user.path("rye.lock").read_bytes() == before
        gates["acme"].open()
        user.ok("install", "--yes")
        assert "acme/work/base" in versions(user)


class TestAllAtOnce:
    @pytest.mark.parametrize(
        "words",
        rest_thorough(
            3,
            [
                (("outdated",),),
                (("audit",),),
                (("update",),),
                (("lock",),),
                (("rollback", "--yes"),),
                (("search", "work"),),
                (("doctor",),),
                (("add", "omni/work/extra"),),
            ],
        ),
        ids=lambda words: words[0],
    )
    def test_none_waits_for_another(self, user: Person, gates: dict[str, Gate], words: tuple[str, ...]) -> None:
        """Each answers only once all three have been asked."""
        ask_for(user, '"zeta/work/extra" = "^1.0"')
        user.ok("install", "--yes")
        if words[0] == "lock":
            ask_for(user, '"omni/work/extra" = "^1.0"')
        together = threading.Barrier(3)
        for gate in gates.values():
            gate.meet(together)
        done = user.run(*words, "--json")
        assert "does not answer" not in done.stdout + done.stderr
        assert "not_asked" not in done.json
        assert not together.broken

    def test_who_hangs_costs_one_time_limit_together_and_is_told_in_the_order_of_the_addresses(
        self, user: Person, gates: dict[str, Gate]
    ) -> None:
        before = REGISTRY.answer_seconds
        gates["omni"].hang()
        gates["acme"].hang()
        force_setattr(REGISTRY, "answer_seconds", 3.0)
        try:
            started = time.monotonic()
            done = user.run("outdated", "--json")
            seconds = time.monotonic() - started
        finally:
            force_setattr(REGISTRY, "answer_seconds", before)
        silent = sorted((gates["omni"].url, gates["acme"].url))
        assert [one["registry"] for one in done.json["not_asked"]] == silent
        assert done.code == 1
        assert 3.0 <= seconds < 6.0

    def test_nobody_is_asked_whom_this_user_never_pinned(
        self, three: Three, user: Person, gates: dict[str, Gate], tmp_path: Path
    ) -> None:
        stranger = Person(tmp_path / "stranger")
        for name in ("rye.toml", "rye.lock"):
            stranger.write(name, user.path(name).read_bytes())
        fingerprint = three.registries["acme"].fingerprint
        stranger.ok("registry", "add", gates["acme"].url, "--fingerprint", fingerprint)
        asked = {name: gate.connections for name, gate in gates.items()}
        stranger.fails("outdated", code="registry-unpinned")
        assert (gates["omni"].connections, gates["zeta"].connections) == (asked["omni"], asked["zeta"])
