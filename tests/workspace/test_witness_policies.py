"""Who may demand witnesses, and who may stop demanding them: only a person, on a terminal."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rye.errors import RyeError
from rye.registry.protocol.witness_policy import simple_policy
from rye.registry.store.state import StateStore
from rye.registry.store.witness_demands import read_demand, write_demand
from rye.registry.trust.cosigned import WitnessDemand
from rye.workspace.registries.witness_policies import drop_demand, suggested_demand, witness_age
from tests.registry.witness_keys import ed25519
from tests.workspace.test_pins_file import own

ORIGIN, ADDRESS = "registry.example", "https://registry.example"
POLICY = simple_policy([ed25519("w1").verifier, ed25519("w2").verifier], 1)


class Told:
    """A person at a terminal, or none, and what they were told."""

    def __init__(self, folder: Path, answer: bool | None):
        self.home = own(folder)
        self.interactive = answer is not None
        self.lines: list[str] = []
        self.asked: list[str] = []
        self._answer = bool(answer)

    @property
    def context(self) -> Any:
        return SimpleNamespace(
            home=self.home,
            interactive=self.interactive,
            tell=lambda text, style=None: self.lines.append(text),
            ask=self.ask,
        )

    def ask(self, question: str) -> bool:
        self.asked.append(question)
        return self._answer


def test_a_suggestion_is_shown_with_its_witnesses_and_taken_on_a_terminal_only(tmp_path: Path) -> None:
    yes, no, nobody = Told(tmp_path, True), Told(tmp_path, False), Told(tmp_path, None)
    taken = suggested_demand(yes.context, ORIGIN, POLICY.text)
    assert taken is not None
    assert taken.policy == POLICY
    assert any("w1 (Ed25519)" in line for line in yes.lines)
    assert any("1 of w1, w2 must have cosigned" in line for line in yes.lines)
    assert suggested_demand(no.context, ORIGIN, POLICY.text) is None
    assert suggested_demand(nobody.context, ORIGIN, POLICY.text) is None
    assert nobody.lines == nobody.asked == []
    assert suggested_demand(yes.context, ORIGIN, None) is None


def test_a_suggestion_never_replaces_what_the_user_demands(tmp_path: Path) -> None:
    person = Told(tmp_path, True)
    write_demand(person.home.registries, ORIGIN, WitnessDemand(POLICY))
    assert suggested_demand(person.context, ORIGIN, "quorum none\n") is None
    assert person.asked == []


def test_only_a_person_on_a_terminal_stops_demanding(tmp_path: Path) -> None:
    store = StateStore(own(tmp_path).registries)
    store.remember_address(ADDRESS, ORIGIN)
    write_demand(store.folder, ORIGIN, WitnessDemand(POLICY))
    for answer, code in ((None, "confirmation-needed"), (False, "declined")):
        with pytest.raises(RyeError) as raised:
            drop_demand(Told(tmp_path, answer).context, ADDRESS)
        assert raised.value.code == code
        assert read_demand(store.folder, ORIGIN) is not None
    drop_demand(Told(tmp_path, True).context, ADDRESS)
    assert read_demand(store.folder, ORIGIN) is None
    with pytest.raises(RyeError) as raised:
        drop_demand(Told(tmp_path, True).context, "https://elsewhere.example")
    assert raised.value.code == "not-pinned"


def test_the_age_is_an_option_a_setting_or_a_day(tmp_path: Path) -> None:
    person = Told(tmp_path, None)
    assert witness_age(person.context, None) == 24 * 3600
    assert witness_age(person.context, "3d") == 3 * 24 * 3600
    person.home.settings_file.parent.mkdir(parents=True, exist_ok=True)
    person.home.settings_file.write_text('max-witness-age = "36h"\n')
    assert witness_age(person.context, None) == 36 * 3600
    for text in ("soon", "0h", ""):
        with pytest.raises(RyeError):
            witness_age(person.context, text)
