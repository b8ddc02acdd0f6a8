"""Who owns a name: claims, thresholds across machines, rotation, revocation, recovery, and the alarm about a stranger's key."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rye.items.identity import Identity
from rye.registry.protocol.statements import Keyset, Revocation
from tests.registry.simulated_registry import SimulatedRegistry, key
from tests.scenes.person import Person
from tests.scenes.registry import Registry
from tests.scenes.registry_process import operator

pytestmark = pytest.mark.processes


def hand_over(file: str, giver: Person, taker: Person) -> None:
    """Carry a file from one machine to another."""
    shutil.copy(giver.path(file), taker.path(file))


class TestClaim:
    def test_show_says_who_owns_it(self, registry: Registry) -> None:
        user = registry.owner("claimed")
        shown = user.ok("namespace", "show", "claimed", "--json").json
        assert (shown["number"], shown["threshold"]) == (1, 1)
        assert shown["keys"] == [user.fingerprint()]
        assert user.fails("namespace", "claim", "claimed", code="namespace-yours")["hint"]
        user.fails("namespace", "show", "unheard-of", code="namespace-unclaimed")

    @pytest.mark.parametrize("name", ["root", "Upper", "a/b", "con", "-x", "x" * 65, "ünicode"])
    def test_names_that_cannot_be_one(self, registry: Registry, name: str) -> None:
        user = registry.owner("names", claim=False)
        result = user.run("namespace", "claim", "--json", "--", name)
        assert result.code == 2
        assert result.error["code"] in ("bad-argument", "usage")

    def test_a_name_like_another_is_asked_about_on_a_terminal(self, registry: Registry) -> None:
        registry.owner("granary").release("work/one")
        other = registry.owner("granery", claim=False)
        shown = other.terminal("namespace", "claim", "granery", answer=b"n\n")
        assert "is similar to the namespace 'granary'" in shown
        assert "Claim 'granery' in " in shown
        other.fails("namespace", "show", "granery", code="namespace-unclaimed")
        other.ok("namespace", "claim", "granery")  # a script is warned, as before
        other.ok("namespace", "show", "granery")

    def test_a_threshold_that_nobody_can_reach(self, registry: Registry) -> None:
        user = registry.owner("lonely", claim=False)
        user.fails("namespace", "claim", "lonely", "--threshold", "2", code="bad-argument threshold", exit_code=2)


class TestThreeOwnersOnThreeMachines:
    def test_two_of_three_sign_by_passing_a_file(self, registry: Registry) -> None:
        one, two, three = (registry.owner("guild", claim=False) for _ in range(3))
        owners = [word for other in (two, three) for word in ("--owner", other.public_key())]
        error = one.fails("namespace", "claim", "guild", *owners, "--threshold", "2", code="signatures-missing")
        assert "-o FILE" in error["hint"]
        made = one.ok("namespace", "claim", "guild", *owners, "--threshold", "2", "-o", "claim.note", "--json")
        assert "2 signatures" in made.json["missing"]
        one.fails("namespace", "submit", "claim.note", code="signatures-missing")

        hand_over("claim.note", one, two)
        assert two.ok("namespace", "sign", "claim.note", "--json").json["signatures"] == 2
        two.ok("namespace", "submit", "claim.note")
        shown = three.ok("namespace", "show", "guild", "--json").json
        assert shown["threshold"] == 2
        assert set(shown["keys"]) == {user.fingerprint() for user in (one, two, three)}

        # Any one of them publishes; changing keys needs two.
        three.release("work/shared")
        new = registry.owner("guild", claim=False)
        three.fails("namespace", "keys", "add", "guild", new.public_key(), code="signatures-missing")
        three.ok("namespace", "keys", "add", "guild", new.public_key(), "-o", "add.note")
        hand_over("add.note", three, one)
        one.ok("namespace", "sign", "add.note")
        one.ok("namespace", "submit", "add.note")
        assert len(one.ok("namespace", "show", "guild", "--json").json["keys"]) == 4

    def test_signing_twice_is_one_signature_and_a_stranger_s_does_not_count(self, registry: Registry) -> None:
        one, two, stranger = (registry.owner("pair", claim=False) for _ in range(3))
        one.ok(
            "namespace",
            "claim",
            *("pair", "--owner", two.public_key(), "--threshold", "2", "-o", "pair.note", "--json"),
        )
        assert one.ok("namespace", "sign", "pair.note", "--json").json["signatures"] == 1
        one.fails("namespace", "submit", "pair.note", code="signatures-missing")
        hand_over("pair.note", one, stranger)
        signed = stranger.ok("namespace", "sign", "pair.note")
        assert "not in the new keyset" in signed.stderr
        stranger.fails("namespace", "submit", "pair.note", code="signatures-missing")

    def test_a_file_that_was_changed_on_the_way(self, registry: Registry) -> None:
        one, two = (registry.owner("relay", claim=False) for _ in range(2))
        one.ok("namespace", "claim", "relay", "--owner", two.public_key(), "--threshold", "2", "-o", "r.note")
        text = one.path("r.note").read_text()
        two.write("r.note", text.replace("threshold 2", "threshold 1"))
        two.ok("namespace", "sign", "r.note")
        result = two.run("namespace", "submit", "r.note", "--json")
        assert result.code == 1
        assert result.error["code"] in ("signatures-missing", "note-signature-wrong")
        two.write("r.note", "nonsense")
        two.fails("namespace", "sign", "r.note", code="note-malformed")


class TestChangesOfKeys:
    def test_rotation_keeps_earlier_releases_good(self, registry: Registry) -> None:
        user, new = registry.owner("rotated"), registry.owner("rotated", claim=False)
        user.release("work/before")
        shown = user.terminal("namespace", "keys", "add", "rotated", new.public_key(), answer=b"n\n")
        assert f"Add {new.fingerprint()} to 'rotated'" in shown
        assert len(user.ok("namespace", "show", "rotated", "--json").json["keys"]) == 1
        user.ok("namespace", "keys", "add", "rotated", new.public_key())
        shown = new.terminal("namespace", "keys", "remove", "rotated", user.fingerprint(), answer=b"n\n")
        assert f"Remove {user.fingerprint()} from 'rotated'" in shown
        new.release("work/after")
        new.ok("namespace", "keys", "remove", "rotated", user.fingerprint())
        assert new.ok("info", "rotated/work/before", "--json").json["revoked"] is False
        user.fails("publish", user.directive("work/late"), code="not-signed")
        user.fails("namespace", "keys", "add", "rotated", user.public_key(), code="signatures-missing")
        assert new.ok("namespace", "show", "rotated", "--json").json["keys"] == [new.fingerprint()]

    def test_revocation_counts_from_a_position(self, registry: Registry) -> None:
        user, new = registry.owner("robbed"), registry.owner("robbed", claim=False)
        early = user.release("work/item")["published"][0]["log"]
        stolen = user.release("work/item", "1.1.0")["published"][0]["log"]
        user.fails("namespace", "revoke", "robbed", user.fingerprint(), code="last-key")
        user.ok("namespace", "keys", "add", "robbed", new.public_key())
        new.fails(
            "namespace",
            "revoke",
            "robbed",
            user.fingerprint(),
            "--from",
            "999999",
            code="bad-argument position",
            exit_code=2,
        )
        new.ok("namespace", "revoke", "robbed", user.fingerprint(), "--from", str(stolen), "--yes")
        shown = new.ok("namespace", "show", "robbed", "--json").json
        assert shown["revoked"] == [{"key": user.fingerprint(), "position": stolen}]
        versions = new.ok("info", "robbed/work/item", "--json").json["versions"]
        assert [(row["version"], row["revoked"]) for row in versions] == [("1.0.0", False), ("1.1.0", True)]
        assert early < stolen
        assert new.ok("info", "robbed/work/item", "--json").json["version"] == "1.0.0"
        error = new.fails("namespace", "keys", "add", "robbed", user.public_key(), code="revoked-key")
        assert "rye keys generate" in error["hint"]

    def test_a_key_that_was_taken_out_can_be_revoked_later(self, registry: Registry) -> None:
        user, new = registry.owner("belated"), registry.owner("belated", claim=False)
        position = user.release("work/item")["published"][0]["log"]
        user.ok("namespace", "keys", "add", "belated", new.public_key())
        new.ok("namespace", "keys", "remove", "belated", user.fingerprint())
        new.ok("namespace", "revoke", "belated", user.fingerprint(), "--from", str(position), "--yes")
        assert new.ok("info", "belated/work/item", "--json").json["revoked"] is True
        new.fails("namespace", "revoke", "belated", user.fingerprint(), code="revoked-key")
        new.fails("namespace", "revoke", "belated", "SHA256:unknown", code="unknown-key")

    def test_a_threshold_is_never_lowered_silently(self, registry: Registry) -> None:
        one, two = (registry.owner("strict", claim=False) for _ in range(2))
        one.ok("namespace", "claim", "strict", "--owner", two.public_key(), "--threshold", "2", "-o", "c.note")
        hand_over("c.note", one, two)
        two.ok("namespace", "sign", "c.note")
        two.ok("namespace", "submit", "c.note")
        for words in (("keys", "remove"), ("revoke",)):
            error = one.fails(
                "namespace", *words, "strict", two.fingerprint(), code="bad-argument threshold", exit_code=2
            )
            assert "--threshold 1" in error["hint"]


class TestRecovery:
    def test_it_stands_in_public_and_the_owners_can_object(self, registry: Registry) -> None:
        owner, finder = registry.owner("orphan"), registry.owner("orphan", claim=False)
        owner.release("work/item")
        user = registry.reader()
        user.write("rye.toml", '[dependencies]\n"orphan/work/item" = "*"\n')
        user.ok("install", "--yes")
        assert user.ok("info", "orphan/work/item", "--json").json["pending_recovery"] is None
        assert user.ok("audit", "--json").json["findings"] == []
        finder.ok("namespace", "recover", "orphan", "-o", "recovery.note")
        # Without the registry's owners it has no effect.
        finder.fails("namespace", "submit", "recovery.note", code="recovery-signatures")
        (root,) = [path for path in (registry.data / "keys").iterdir() if path.name.startswith("root")]
        said = operator("root", "sign", str(finder.path("recovery.note")), "--key", str(root))
        assert "2 signature" in said
        finder.ok("namespace", "submit", "recovery.note")

        shown = owner.ok("namespace", "show", "orphan", "--json").json
        assert shown["number"] == 1
        assert shown["pending_recovery"]
        assert shown["pending_keys"] == [finder.fingerprint()]
        assert "can object" in owner.ok("namespace", "show", "orphan").stdout
        error = finder.fails("trust", "accept", "orphan", code="recovery-pending")
        assert shown["pending_recovery"] in error["message"]
        self.is_shown_to_users(user, shown["pending_recovery"], finder.fingerprint())
        # Until then the old keys are in force and the new ones are not.
        finder.fails("publish", finder.directive("work/early"), code="not-signed")
        owner.release("work/item", "1.1.0")

        finder.fails("namespace", "object", "orphan", code="signatures-missing")
        owner.ok("namespace", "object", "orphan")
        shown = owner.ok("namespace", "show", "orphan", "--json").json
        assert (shown["number"], shown["pending_recovery"]) == (2, None)
        assert shown["keys"] == [owner.fingerprint()]
        owner.fails("namespace", "object", "orphan", code="nothing-to-do")
        owner.fails("trust", "accept", "orphan", code="nothing-to-do")
        owner.release("work/item", "1.2.0")
        assert user.ok("audit", "--json").json["findings"] == []
        assert user.ok("info", "orphan/work/item", "--json").json["pending_recovery"] is None

    def is_shown_to_users(self, user: Person, time: str, fingerprint: str) -> None:
        """Anyone who has an item of the namespace installed, or looks at one, is warned in advance."""
        shown = user.ok("info", "orphan/work/item", "--json").json
        assert (shown["pending_recovery"], shown["pending_keys"]) == (time, [fingerprint])
        assert f"pending recovery: {time}" in user.ok("info", "orphan/work/item").stdout
        done = user.run("audit", "--json")
        (finding,) = done.json["findings"]
        assert (done.code, finding["rule"], finding["severity"]) == (0, "pending-recovery", "warning")
        assert (finding["item"], finding["path"]) == (None, "rye.lock")
        assert time in finding["message"]
        assert fingerprint in finding["message"]
        assert "rye namespace object orphan" in finding["hint"]
        assert "warning[pending-recovery]: The registry's owners" in user.run("audit").stdout
        (result,) = user.run("audit", "--sarif").json["runs"][0]["results"]
        assert (result["ruleId"], result["level"]) == ("pending-recovery", "warning")


class TestTrustAccept:
    """A recovery in effect: a registry with backdated signatures, read as files, makes 72 hours pass."""

    ITEM = Identity("directive", "acme/work/one")

    def recovered(self, tmp_path: Path, hours: int = 100) -> tuple[SimulatedRegistry, Person, tuple[str, str]]:
        simulated = SimulatedRegistry(now=datetime.now(UTC).replace(microsecond=0) - timedelta(hours=hours))
        simulated.claim("acme", [key("lost")])
        simulated.release(self.ITEM)
        simulated.publish()
        keyset: Keyset = simulated.recover("acme", [key("new")])
        simulated.publish()
        simulated.pass_time(hours=73)
        simulated.release(self.ITEM, "1.1.0", b"by the new owner\n")
        simulated.publish()
        simulated.write_to(tmp_path / "public")
        user = Person(tmp_path / "user", "acme")
        address = (tmp_path / "public").as_uri()
        user.ok("registry", "add", address, "--fingerprint", simulated.fingerprint)
        assert keyset.number == 2
        return simulated, user, (key("lost").public.fingerprint, key("new").public.fingerprint)

    def test_clients_stop_and_name_both_keys_until_it_is_accepted(self, tmp_path: Path) -> None:
        _, user, (old, new) = self.recovered(tmp_path)
        error = user.fails("info", "acme/work/one", code="recovery-unaccepted")
        assert len(error["old_keys"]) == len(error["new_keys"]) == 1
        assert "rye trust accept" in error["hint"]
        other = user.fails("trust", "accept", "acme", "--statement", "0" * 64, code="other-recovery")
        assert error["statement"] in other["hint"]
        user.fails("info", "acme/work/one", code="recovery-unaccepted")

        shown = user.ok("trust", "accept", "acme")
        assert old in shown.stderr
        assert new in shown.stderr
        assert user.ok("info", "acme/work/one", "--json").json["version"] == "1.1.0"
        user.fails("trust", "accept", "acme", code="nothing-to-do")

    def test_as_a_document_and_by_its_statement(self, tmp_path: Path) -> None:
        _, user, (old, new) = self.recovered(tmp_path)
        statement = user.fails("info", "acme/work/one", code="recovery-unaccepted")["statement"]
        document = user.ok("trust", "accept", "acme", "--statement", statement, "--json").json
        assert document["accepted"] == [{"statement": statement, "old_keys": [old], "new_keys": [new]}]

    def test_a_second_recovery_asks_again(self, tmp_path: Path) -> None:
        simulated, user, _ = self.recovered(tmp_path, hours=200)
        user.ok("trust", "accept", "acme")
        simulated.recover("acme", [key("third")])
        simulated.pass_time(hours=73)
        simulated.publish()
        simulated.write_to(tmp_path / "public")
        user.fails("info", "acme/work/one", code="recovery-unaccepted")


class TestRevokingAfterARecovery:
    """An old key and the registry's help: a release that is logged after the recovery and dated before it."""

    QUIET = Identity("directive", "acme/work/quiet")

    @pytest.fixture
    def quiet(self, tmp_path: Path) -> tuple[SimulatedRegistry, Person, dict[str, int]]:
        """A recovered namespace with an item of which nothing was logged since, and positions in its log."""
        simulated = SimulatedRegistry(now=datetime.now(UTC).replace(microsecond=0) - timedelta(hours=100))
        simulated.claim("acme", [key("lost")])
        places = {"last good": simulated.release(self.QUIET), "recovery": simulated.size}
        simulated.recover("acme", [key("new")])
        simulated.publish()
        simulated.write_to(tmp_path / "public")
        simulated.pass_time(hours=73)
        user = Person(tmp_path / "user", "acme")
        user.ok("registry", "add", (tmp_path / "public").as_uri(), "--fingerprint", simulated.fingerprint)
        return simulated, user, places

    def good(self, simulated: SimulatedRegistry, user: Person, tmp_path: Path) -> list[str]:
        """The versions of the item that count."""
        simulated.publish()
        simulated.write_to(tmp_path / "public")
        user.ok("trust", "accept", "acme", "--yes")
        versions = user.ok("info", f"{self.QUIET}@1.0.0", "--json").json["versions"]
        return [one["version"] for one in versions if not one["revoked"]]

    def dated_back(self, simulated: SimulatedRegistry) -> None:
        time = simulated.now - timedelta(hours=72.5)
        simulated.release(self.QUIET, "1.1.0", b"theft\n", keys=[key("lost")], keyset=1, time=time)

    def revoke(self, simulated: SimulatedRegistry, position: int) -> None:
        simulated.claim("acme", [key("new")], revoked=(Revocation(key("lost").public.raw, position),))

    def test_without_it_the_old_key_still_counts(
        self, quiet: tuple[SimulatedRegistry, Person, dict[str, int]], tmp_path: Path
    ) -> None:
        simulated, user, _ = quiet
        self.dated_back(simulated)
        assert self.good(simulated, user, tmp_path) == ["1.0.0", "1.1.0"]

    @pytest.mark.parametrize("first", [True, False])
    @pytest.mark.parametrize("since", ["recovery", "last good", "now"])
    def test_it_counts_from_a_position_of_the_log_whatever_a_release_is_dated(
        self, quiet: tuple[SimulatedRegistry, Person, dict[str, int]], tmp_path: Path, since: str, first: bool
    ) -> None:
        """That of the recovery keeps what was good. "The position of the last good release" takes that release away as well, and
        what the thief logged before an end that begins now stays."""
        simulated, user, places = quiet
        if not first:
            self.dated_back(simulated)
        self.revoke(simulated, places.get(since, simulated.size))
        if first:
            self.dated_back(simulated)
        good = {"last good": [], "recovery": ["1.0.0"], "now": ["1.0.0"] if first else ["1.0.0", "1.1.0"]}
        assert self.good(simulated, user, tmp_path) == good[since]


class TestChangedSigner:
    def test_a_signer_without_a_keyset_is_an_alarm_that_names_both_keys(self, tmp_path: Path) -> None:
        simulated = SimulatedRegistry(now=datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1))
        simulated.claim("acme", [key("owner")])
        item = Identity("directive", "acme/work/one")
        simulated.release(item)
        simulated.publish()
        simulated.write_to(tmp_path / "public")
        user = Person(tmp_path / "user", "acme")
        user.ok("registry", "add", (tmp_path / "public").as_uri(), "--fingerprint", simulated.fingerprint)
        assert user.ok("info", "acme/work/one").stdout
        simulated.release(item, "1.1.0", b"theft\n", keys=[key("thief")])
        simulated.publish()
        simulated.write_to(tmp_path / "public")
        error = user.fails("info", "acme/work/one", code="statement-signer")
        (expected,) = error["expected_keys"]
        (found,) = error["found_keys"]
        assert expected.split("+")[:2] != found.split("+")[:2]
        text = user.run("info", "acme/work/one").stderr
        assert expected in text
        assert found in text
