"""Demanding witnesses on the command line: with an option, on a build server, and by a registry's suggestion on a terminal.

The registry is a real one, and its witness is Rye's own program's folder, asked without a network.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rye.registry.protocol import wire
from rye.registry.protocol.notes import VerifierKey
from rye.witness.folder import WitnessFolder
from rye.witness.serving import WitnessService
from tests.registry.witness_keys import ed25519
from tests.scenes.person import Person
from tests.scenes.registry import Registry
from tests.scenes.registry_process import run
from tests.witness.test_serving import Served

pytestmark = pytest.mark.processes


class Witnessed:
    """A registry with one witness, which can stop."""

    def __init__(self, registry: Registry, folder: Path):
        self.registry = registry
        self.witness = WitnessFolder(folder / "witness")
        self.name = f"witness.example/{folder.name}"  # tests share the registry
        self.keys = self.witness.create(self.name)
        log = run("witness", "list", "--json", "--data", str(registry.data)).stdout
        vkey = log.split('"log_keys": ["')[1].split('"')[0]
        self.witness.add_log((VerifierKey.from_vkey(vkey),))
        self.served = Served(self.witness)
        for key in self.keys:
            url = "http://{}:{}".format(*self.served.address)
            run("witness", "add", key.vkey, url, "--data", str(registry.data))
        self.served.server.witness = WitnessService(self.witness, self.witness.cosigners())
        self.policy = folder / "policy.txt"
        self.policy.write_text(
            f"witness w {self.keys[0].vkey}\nwitness q {self.keys[1].vkey}\ngroup g all w q\nquorum g\n"
        )
        self.wait()

    def wait(self) -> None:
        """Until the present is cosigned."""
        for _ in range(200):
            head = wire.decode_head((self.registry.public / "head").read_bytes())
            if head.checkpoint.count(self.name) == 2:
                return
            time.sleep(0.1)
        raise AssertionError(head)


@pytest.fixture
def witnessed(registry: Registry, tmp_path: Path) -> Iterator[Witnessed]:
    found = Witnessed(registry, tmp_path)
    yield found
    found.served.close()
    run("witness", "remove", found.name, "--data", str(registry.data))


def adds(person: Person, witnessed: Witnessed, *more: str) -> tuple[str, ...]:
    registry = witnessed.registry
    return ("registry", "add", registry.url, "--fingerprint", registry.fingerprint, "--default", *more)


def test_a_policy_is_demanded_from_then_on_and_kept(witnessed: Witnessed, tmp_path: Path) -> None:
    person = Person(tmp_path / "person")
    person.ok(*adds(person, witnessed, "--witness-policy", str(witnessed.policy), "--json"))
    shown = person.ok("registry", "show", "--json").json
    assert len(shown["cosigned_by"]) == 2
    assert shown["witnesses"][-1] == "quorum: 2 of w, q must have cosigned"
    person.ok(*adds(person, witnessed))  # again, without a policy
    assert person.ok("registry", "show", "--json").json["witnesses"]
    result = person.run(*adds(person, witnessed, "--no-witness-policy", "--json"))
    assert result.error["code"] == "confirmation-needed"
    assert person.ok("registry", "show", "--json").json["witnesses"]


def test_a_registry_that_the_witnesses_did_not_cosign_is_not_pinned(witnessed: Witnessed, tmp_path: Path) -> None:
    person = Person(tmp_path / "person")
    policy = tmp_path / "strangers"
    policy.write_text(f"witness w {ed25519('stranger').verifier.vkey}\nquorum w\n")
    result = person.run(*adds(person, witnessed, "--witness-policy", str(policy), "--json"))
    assert result.error["code"] == "witness-quorum"
    assert person.ok("registry", "list", "--json").json["registries"] == []
    person.ok(*adds(person, witnessed, "--witness-policy", str(witnessed.policy)))  # the control


def test_what_waits_for_witnesses_does_not_exist_yet(witnessed: Witnessed, tmp_path: Path) -> None:
    person = Person(tmp_path / "person")
    person.ok(*adds(person, witnessed, "--witness-policy", str(witnessed.policy)))
    witnessed.served.close()
    owner = witnessed.registry.owner("acme")
    owner.ok("namespace", "show", "acme")
    assert person.ok("registry", "show", "--json").json["waiting_entries"] == 2
    assert "2 entries wait for witnesses" in person.ok("registry", "show").stderr
    witnessed.served = Served(witnessed.witness)
    witnessed.served.server.witness = WitnessService(witnessed.witness, witnessed.witness.cosigners())
    url = "http://{}:{}".format(*witnessed.served.address)
    data = str(witnessed.registry.data)
    run("witness", "remove", witnessed.name, "--data", data)
    for key in witnessed.keys:
        run("witness", "add", key.vkey, url, "--data", data)
    witnessed.wait()
    assert person.ok("registry", "show", "--json").json["waiting_entries"] == 0


def test_a_policy_that_demands_less_takes_no_other_s_place_without_a_terminal(
    witnessed: Witnessed, tmp_path: Path
) -> None:
    """A script, or an agent with a shell, gives a policy that demands nothing, less, or older cosignatures."""
    person = Person(tmp_path / "person")
    person.ok(*adds(person, witnessed, "--witness-policy", str(witnessed.policy)))
    keys = "".join(f"{line}\n" for line in witnessed.policy.read_text().split("\n")[:2])
    less = tmp_path / "less"
    for text in ("quorum none\n", f"{keys}quorum w\n", f"{keys}group g any w q\nquorum g\n"):
        less.write_text(text)
        for more in ((), ("--yes",)):
            person.fails(*adds(person, witnessed, "--witness-policy", str(less), *more), code="confirmation-needed")
    older = ("--witness-policy", str(witnessed.policy), "--max-witness-age", "3d")
    person.fails(*adds(person, witnessed, *older), code="confirmation-needed")
    assert person.ok("registry", "show", "--json").json["witnesses"][-1] == "quorum: 2 of w, q must have cosigned"
    (stored,) = person.home.rglob("witnesses.json")
    good = stored.read_text()
    stored.write_text("{")
    person.fails(*adds(person, witnessed, "--witness-policy", str(witnessed.policy)), code="confirmation-needed")
    stored.write_text(good)
    less.write_text(f"{keys}group other 2 q w\nquorum other\n")
    person.ok(*adds(person, witnessed, "--witness-policy", str(less)))  # the control: it demands as much


def test_what_was_installed_before_the_policy_counts_no_more_without_cosignatures(
    witnessed: Witnessed, tmp_path: Path
) -> None:
    """The registry shows this person a release that no witness saw; from the policy on it does not exist here."""
    person = witnessed.registry.user()
    owner = witnessed.registry.owner("late")
    owner.directive("work/ship")
    owner.publish(".ai/directives/work/ship.md")
    witnessed.wait()
    witnessed.served.close()
    owner.directive("work/send")
    owner.publish(".ai/directives/work/send.md")
    for name in ("ship", "send"):
        person.ok("add", f"late/work/{name}", "--yes")
        person.ok("render", f"late/work/{name}")
    for _ in range(2):
        person.ok("ci")
    person.ok(*adds(person, witnessed, "--witness-policy", str(witnessed.policy)))
    assert person.run("render", "late/work/send", "--json").error["code"] == "not-cosigned"
    person.fails("ci", code="not-cosigned")
    person.ok("render", "late/work/ship")  # the control


def test_a_build_server_demands_witnesses_with_a_fourth_field(witnessed: Witnessed, tmp_path: Path) -> None:
    registry = witnessed.registry
    person = Person(tmp_path / "person")
    pins = tmp_path / "pins"
    line = f"{registry.origin} {registry.fingerprint} {registry.url}"
    person.ok("init", "--name", "shop")
    show = ("registry", "show", registry.url, "--json")

    def shown(text: str) -> Any:
        pins.write_text(f"{text}\n")
        return person.run(*show, env={"RYE_PINS": str(pins)}).json

    strangers = tmp_path / "strangers"
    strangers.write_text(f"witness w {ed25519('stranger').verifier.vkey}\nquorum w\n")
    assert shown(f"{line} {strangers}")["error"]["code"] == "witness-quorum"
    assert len(shown(f"{line} {witnessed.policy}")["cosigned_by"]) == 2
    assert len(shown(line)["cosigned_by"]) == 2, "three fields do not undo it"
    assert shown(f"{line} {strangers}")["error"]["code"] == "bad-pins"
    for inside in (person.folder / "policy", Path("policy")):
        if inside.is_absolute():
            inside.write_text(witnessed.policy.read_text())
        assert shown(f"{line} {inside}")["error"]["code"] == "bad-pins"
    (tmp_path / ".git").mkdir()  # the project is a folder of a checkout, in which the policy and the pins lie
    assert shown(f"{line} {witnessed.policy}")["error"]["code"] == "bad-pins"
    (tmp_path / ".git").rename(person.folder / ".git")
    assert len(shown(f"{line} {witnessed.policy}")["cosigned_by"]) == 2


def test_an_audit_says_who_cosigned_the_head_that_it_used(witnessed: Witnessed, tmp_path: Path) -> None:
    author = witnessed.registry.owner("bell")
    author.release("work/one")
    witnessed.wait()
    person = Person(tmp_path / "person")
    person.ok(*adds(person, witnessed))
    person.ok("init", "--name", "shop")
    person.ok("add", "bell/work/one", "--yes")
    assert "heads" not in person.ok("audit", "--json").json, "the control: nothing is demanded"
    assert "cosigned" not in person.ok("audit").stdout
    person.ok(*adds(person, witnessed, "--witness-policy", str(witnessed.policy)))
    (head,) = person.ok("audit", "--json").json["heads"]
    shown = person.ok("registry", "show", "--json").json
    assert (head["registry"], head["size"]) == (shown["registry"], shown["size"])
    assert [one.split(" at ")[0] for one in head["cosigned_by"]] == [
        f"{witnessed.name} (Ed25519)",
        f"{witnessed.name} (ML-DSA-44)",
    ]
    said = person.ok("audit")
    assert all(one in (said.stdout + said.stderr).replace("\n  ", " ") for one in head["cosigned_by"])


def test_options_that_contradict_each_other(witnessed: Witnessed, tmp_path: Path) -> None:
    person = Person(tmp_path / "person")
    policy = ("--witness-policy", str(witnessed.policy))
    assert person.run(*adds(person, witnessed, "--max-witness-age", "3d")).code == 2
    assert person.run(*adds(person, witnessed, *policy, "--no-witness-policy")).code == 2
    assert person.run(*adds(person, witnessed, *policy, "--max-witness-age", "soon")).code == 2
    person.ok(*adds(person, witnessed, *policy, "--max-witness-age", "3d"))
    none = tmp_path / "none"
    none.write_text("quorum none\n")
    other = Person(tmp_path / "other")
    assert "no witness is needed" in other.ok(*adds(other, witnessed, "--witness-policy", str(none))).stdout
    none.write_text("quorum none")
    assert (
        person.run(*adds(person, witnessed, "--witness-policy", str(none), "--json")).error["code"]
        == "policy-malformed"
    )


def described(person: Person) -> str:
    text: str = person.ok("namespace", "show", "dove", "--json").json["owner"]["description"]
    return text


def test_owners_continue_from_the_newest_head_with_every_statement(witnessed: Witnessed, tmp_path: Path) -> None:
    """What they stated a moment ago, and the keys that they have since then, wait for witnesses."""
    owner = witnessed.registry.owner("dove")
    witnessed.wait()
    owner.ok(*adds(owner, witnessed, "--witness-policy", str(witnessed.policy)))
    witnessed.served.close()
    owner.ok("namespace", "describe", "dove", "--text", "All about doves.")
    owner.ok("keys", "generate", "--name", "second")
    (second,) = owner.home.rglob("second.pub")
    owner.ok("namespace", "keys", "add", "dove", str(second))
    owner.ok("namespace", "describe", "dove", "--text", "With two keys.")
    assert described(witnessed.registry.user()) == "With two keys.", "the control: nothing is demanded"
    assert described(owner) == "With two keys."
