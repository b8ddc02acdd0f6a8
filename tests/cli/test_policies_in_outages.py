"""An organization's policy while registries are silent: silence hides nothing that was seen, and what could not be looked for is
said (docs/reference/outages.md, Policies)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rye.cli.options import Session
from tests.cli.test_org import Organization, refused
from tests.registry.test_policies import W1
from tests.scenes.effort import rest_thorough
from tests.scenes.gates import Gate
from tests.scenes.person import Person
from tests.scenes.three_registries import SILENCES, Three, ask_for, gates, three, user, versions

pytestmark = pytest.mark.processes
__all__ = ["gates", "three", "user"]

ACME_ALONE = 'namespaces = ["acme"]'
UNSEEN = "You follow its policy, and a newer one could not be looked for."


@pytest.fixture
def organization(three: Three, gates: dict[str, Gate], user: Person, tmp_path: Path) -> Organization:
    """Whose registry is acme's. The user joined; everything is allowed so far."""
    made = Organization(three.registries["acme"], tmp_path)
    made.publish()
    user.ok("org", "join", gates["acme"].url, three.registries["acme"].fingerprint)
    user.run("outdated")  # reads the items under the head that joining saw
    return made


def lose_files(person: Person) -> None:
    shutil.rmtree(person.path(".ai/packages"), ignore_errors=True)


class TestWhatWasSeen:
    @pytest.mark.parametrize("silence", rest_thorough(1, SILENCES))
    def test_a_policy_that_a_failed_run_brought_stays_in_the_outage_that_follows(
        self, user: Person, organization: Organization, gates: dict[str, Gate], silence: str
    ) -> None:
        """The attack: a build stops because a required witness is missing. Somebody silences the registry, and the build runs
        again under the policy before, which forbade nothing."""
        organization.publish(f'{ACME_ALONE}\nrequired-witnesses = ["{W1.verifier.vkey}"]')
        lose_files(user)
        user.fails("ci", code="witness-quorum")
        SILENCES[silence](gates["acme"])
        for command in (("ci",), ("install",), ("update", "zeta/work/top"), ("add", "zeta/work/extra", "--yes")):
            assert user.run(*command, "--json").code == 1, command
        assert not user.path(".ai/packages").exists()
        assert "zeta/work/extra" not in versions(user)

    def test_a_policy_that_arrives_in_an_audit_counts_in_that_audit(
        self, user: Person, organization: Organization
    ) -> None:
        assert user.ok("audit", "--json").json["findings"] == []
        organization.publish(ACME_ALONE)
        done = user.run("audit", "--json")
        assert done.code == 1
        assert {(one["rule"], one["item"].partition(":")[2].partition("/")[0]) for one in done.json["findings"]} == {
            ("policy", "omni"),
            ("policy", "zeta"),
        }

    @pytest.mark.parametrize("silent", rest_thorough(1, ["acme", "zeta"]))
    def test_what_it_forbids_is_refused_whoever_is_silent(
        self, three: Three, user: Person, organization: Organization, gates: dict[str, Gate], silent: str
    ) -> None:
        three.release("work/top", "1.1.0")
        user.ok("update", "--yes")
        organization.publish(ACME_ALONE)
        user.ok("org", "update")
        before = user.path("rye.lock").read_bytes()
        lose_files(user)
        gates[silent].refuse()
        for command in (("ci",), ("install",), ("rollback", "--yes")):
            refused(user.run(*command, "--json"), "locked-release-refused")
        ask_for(user, '"omni/work/extra" = "^1.0"')
        for command in (("lock",), ("update", "omni/work/top")):
            assert "the policy's namespaces do not list" in user.run(*command, "--json").error["message"], command
        assert user.path("rye.lock").read_bytes() == before
        assert not user.path(".ai/packages").exists()

    def test_too_few_reviewers_stay_too_few(
        self, three: Three, user: Person, organization: Organization, gates: dict[str, Gate]
    ) -> None:
        organization.publish("required-reviewers = 2")
        user.run("outdated")
        gates["acme"].refuse()
        lose_files(user)
        refused(user.run("ci", "--json"), "locked-release-refused")
        refused(user.run("rollback", "--yes", "--json"), "nothing-to-roll-back")
        done = user.run("audit", "--json")
        assert {one["rule"] for one in done.json["findings"]} >= {"policy", "not-examined"}


class TestWhatCouldNotBeLookedFor:
    def test_it_is_said_to_who_joined(
        self, three: Three, user: Person, organization: Organization, gates: dict[str, Gate]
    ) -> None:
        three.release("work/top", "1.1.0")
        user.run("outdated")
        gates["acme"].refuse()
        assert UNSEEN in user.ok("update", "zeta/work/top", "--yes").stderr
        assert UNSEEN in user.ok("rollback", "--yes").stderr
        ask_for(user, '"zeta/work/extra" = "^1.0"')
        assert UNSEEN in user.ok("lock").stderr
        lose_files(user)
        assert UNSEEN in user.ok("install", "--yes").stderr
        gates["acme"].open()
        gates["zeta"].refuse()
        assert UNSEEN not in user.ok("update", "omni/work/top", "--yes").stderr

    def test_when_the_policy_expires_nothing_more_is_installed(
        self, user: Person, organization: Organization, gates: dict[str, Gate], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        organization.publish("", expires="2d")
        user.ok("org", "update")
        gates["acme"].refuse()
        later: Callable[[Session], datetime] = lambda self: datetime.now(UTC) + timedelta(days=3)  # noqa: E731
        monkeypatch.setattr(Session, "now", later)
        ask_for(user, '"zeta/work/extra" = "^1.0"')
        for command in (("ci",), ("lock",), ("update", "zeta/work/top"), ("add", "zeta/work/extra", "--yes")):
            refused(user.run(*command, "--json"), "policy-expired")
