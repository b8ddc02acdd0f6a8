"""Attacks on a user who remembers verdicts: an earlier acceptance bypasses no check, and saves work.

Rules:

1. Every attack on items, indexes and namespaces in the other tables ends with the same code for a user whose store
   holds verdicts on everything that the honest registry shows, before and after (:class:`Primed`). The one exception: a
   checked index file is not requested again, so changing or withholding it has no effect.
2. Whatever a registry does over time, clients with and without verdicts see the same histories or the same error.
3. A run repeats no check that an earlier one made, and makes every check that is new.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import rye.registry.client
import rye.registry.judgements
import rye.verified.release
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.client import RegistryClient
from rye.registry.protocol import wire
from rye.registry.protocol.statements import Keyset, Revocation
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from rye.registry.trust.records import ItemHistory
from rye.signing.keys import PrivateKey
from rye.storage import verdicts as module
from rye.storage.verdicts import VERDICTS, Verdicts
from tests.attacks import test_index, test_items, test_keysets
from tests.attacks.signed_items import directive, release
from tests.attacks.simulation import (
    ADD,
    CHECK,
    DEPLOY,
    INSTALL,
    LINT,
    SKILL,
    Attack,
    Attacker,
    AttackRunner,
    founded,
    tree,
)
from tests.registry.memory_transport import MemoryTransport
from tests.registry.simulated_registry import START, SimulatedRegistry, key
from tests.scenes.effort import rest_thorough, tries
from tests.scenes.person import Person

pytestmark = pytest.mark.slow

EXAMPLES = tries(8, 500)
ITEMS = (DEPLOY, CHECK, SKILL, LINT, Identity("tool", "acme/not/there"))
OLD, NEW = key("acme 1"), key("acme 2")


def rows(user: Person) -> dict[bytes, bytes]:
    """The rows of a user's store."""
    path = user.home / "data" / VERDICTS
    if not path.exists():
        return {}
    with closing(sqlite3.connect(path)) as database:
        return dict(database.execute("SELECT key, value FROM verdict"))


class PrimedRunner(AttackRunner):
    """The same runner; each user has the store of another user who looked at everything before and after."""

    def __init__(self, base: Path):
        super().__init__(base)
        self._stores: dict[object, Path] = {}
        """The filled stores, by what the honest registry did, since it is the same each time."""

    def attacker(self, attack: Attack) -> Attacker:
        attacker = super().attacker(attack)
        if attack.build not in self._stores:
            other = self.user("pinned")
            for registry in (attacker.past, attacker.present):
                self.server.serve(registry.files)
                for identity in (DEPLOY, CHECK, SKILL):
                    other.run("add", str(identity), "--yes", "--dry-run")
            assert rows(other)
            self._stores[attack.build] = other.home / "data" / VERDICTS
        (attacker.user.home / "data").mkdir(exist_ok=True)
        shutil.copy(self._stores[attack.build], attacker.user.home / "data" / VERDICTS)
        return attacker


@pytest.fixture(scope="module")
def primed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrimedRunner]:
    found = PrimedRunner(tmp_path_factory.mktemp("primed"))
    yield found
    found.close()


INDEX_FILES = (
    "no index file",
    "an index file of before",
    "an index file of the same size",
    "an index file that is far too long",
)
TABLES = (
    test_keysets.CHAINS,
    test_keysets.SIGNERS,
    test_keysets.RECOVERIES,
    test_index.SNAPSHOTS,
    test_index.NOTES,
    tuple(attack for attack in test_index.FILES if attack.name not in INDEX_FILES),
    test_items.BLOBS,
    test_items.SIGNATURES,
    test_items.CONFUSION,
    test_items.MISPLACED,
)
_FIRST_OF_EACH = [attack for row in zip_longest(*TABLES) for attack in row if attack is not None]
"""All attacks: the first of each table, then the second of each … Without verdicts each is played in its own file."""


class TestKnownAttacks:
    @pytest.mark.parametrize("attack", rest_thorough(8, _FIRST_OF_EACH), ids=lambda attack: attack.name)
    def test_an_attack_ends_as_it_does_without_verdicts(self, primed: PrimedRunner, attack: Attack) -> None:
        primed.perform(attack)

    @pytest.mark.parametrize("name", INDEX_FILES)
    def test_a_changed_index_file_that_was_judged_is_not_even_asked_for(self, primed: PrimedRunner, name: str) -> None:
        [attack] = [attack for attack in test_index.FILES if attack.name == name]
        honest, attacked = primed.attacker(attack), primed.attacker(attack)
        attacked.serve(attacked.present)
        honest.user.ok(*ADD)
        path = attacked.index_path(str(DEPLOY))
        attack.act(attacked)
        attacked.server.seen.clear()
        attacked.user.ok(*ADD)
        assert path not in {request.path for request in attacked.server.seen}
        assert tree(attacked.user.path(".ai/packages")) == tree(honest.user.path(".ai/packages"))


# -- a client with verdicts, and one without ---------------------------------------------------------------------------------

Outcome = dict[Identity, ItemHistory] | str
"""The histories, or the code of the error."""


class Client:
    """A user of the library, with their own state and cache. ``store`` None: without verdicts."""

    def __init__(self, folder: Path, store: Path | None):
        self.folder = folder
        self.store = store
        self.error: RyeError | None = None
        self.accepted: set[str] = set()

    def look(self, registry: SimulatedRegistry, now: datetime | None = None) -> Outcome:
        """The current statements about all items; if there is no error they are remembered, as installing does."""
        verdicts = Verdicts(self.store, b"code")
        self.error = None
        client = RegistryClient(
            "https://registry.example",
            MemoryTransport(registry.files),
            StateStore(self.folder / "state"),
            Cache(self.folder / "cache"),
            now=lambda: now or registry.now,
            verdicts=verdicts,
        )
        try:
            client.refresh(registry.fingerprint)
            for recovery in self.accepted:
                client.accept_recovery(recovery)
            found = client.histories(ITEMS)
            client.commit()
            verdicts.flush()
        except RyeError as error:
            self.error = error
            return error.code
        finally:
            verdicts.close()
        return found

    def accept(self) -> None:
        """Accept the recovery that the last look refused."""
        assert self.error is not None
        self.accepted.add(str(self.error.details["statement"]))

    def unpin(self) -> None:
        """`rye registry remove`, and another machine's cache."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.accepted.clear()


@dataclass
class Pair:
    """Two users who always look at the same time."""

    base: Path
    looks: int = 0
    outcomes: list[Outcome] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.remembers = Client(self.base / "with", self.base / "verdicts.sqlite")
        self.forgets = Client(self.base / "without", None)

    def look(self, registry: SimulatedRegistry) -> Outcome:
        """What both users see, which must be the same."""
        found, expected = self.remembers.look(registry), self.forgets.look(registry)
        assert found == expected
        self.outcomes.append(found)
        return found

    def accept(self) -> None:
        self.remembers.accept()
        self.forgets.accept()

    def unpin(self) -> None:
        self.remembers.unpin()
        self.forgets.unpin()


class Counter:
    """Counts the calls of a function and passes them through."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: Any, name: str):
        self.calls: list[tuple[Any, ...]] = []
        original = getattr(module, name)

        def counted(*arguments: Any) -> Any:
            self.calls.append(arguments)
            return original(*arguments)

        monkeypatch.setattr(module, name, counted)

    def take(self) -> int:
        """The number of calls since the last time."""
        found = len(self.calls)
        self.calls.clear()
        return found


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Counter:
    return Counter(monkeypatch, rye.registry.client, "judge")


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


def revoke(registry: SimulatedRegistry, position: int) -> None:
    """The next keyset revokes the old key from a position on."""
    keyset = registry.keyset("acme", [NEW], revoked=(Revocation(OLD.public.raw, position),))
    registry.add_keyset(keyset, registry.namespace_signers("acme", [NEW, OLD]), [NEW])


def revoked_in(outcome: Outcome) -> list[bool]:
    assert isinstance(outcome, dict), outcome
    return [record.revoked for record in outcome[DEPLOY].records]


def test_a_later_keyset_revokes_what_was_remembered_as_good(pair: Pair) -> None:
    registry = founded(START)
    assert revoked_in(pair.look(registry)) == [False]
    revoke(registry, 0)
    registry.publish()
    assert revoked_in(pair.look(registry)) == [True]
    assert revoked_in(pair.look(registry)) == [True]


class TestTime:
    """Results that depend on the head, on keysets or on time are computed again."""

    def test_a_recovery_that_waits_is_not_remembered_and_has_effect_in_time(self, pair: Pair, judged: Counter) -> None:
        registry = founded(START)
        revocation = Revocation(OLD.public.raw, 0)
        keyset = registry.keyset("acme", [NEW], recovery=START + timedelta(hours=72), revoked=(revocation,))
        registry.add_keyset(keyset, [*registry.namespace_signers("acme", [NEW]), *registry.owner_signers()], [NEW])
        registry.publish()
        for spared in (0, 1):
            assert revoked_in(pair.look(registry)) == [False]
            assert judged.take() == 8 - spared  # all but the one of the other namespace
        early = registry.fork()
        registry.pass_time(hours=73)
        registry.publish()
        assert pair.look(registry) == "recovery-unaccepted"
        pair.accept()
        assert revoked_in(pair.look(registry)) == [True]
        judged.take()
        assert revoked_in(pair.look(registry)) == [True]
        assert judged.take() == 4
        assert pair.look(early) == "head-rollback"
        # A user who trusts the registry again and is shown the previous day reads the same index files, but other keys count.
        pair.unpin()
        assert revoked_in(pair.look(early)) == [False]
        assert revoked_in(pair.look(early)) == [False]

    def test_a_smaller_log_does_not_hold_what_the_larger_held(self, pair: Pair) -> None:
        registry = founded(START)
        early = registry.fork()
        for identity in (LINT, CHECK, DEPLOY):
            release(registry, identity, "1.1.0", directive(identity, "1.1.0"))
        registry.publish()
        assert isinstance(pair.look(registry), dict)
        pair.unpin()
        early.publish_index({**early.index_files(), str(DEPLOY): registry.index_files()[str(DEPLOY)]})
        assert pair.look(early) == "index-position"

    def test_a_head_from_before_is_a_rollback(self, pair: Pair) -> None:
        registry = founded(START)
        early = registry.fork()
        release(registry, DEPLOY, "1.1.0", directive(DEPLOY, "1.1.0"))
        registry.publish()
        assert isinstance(pair.look(early), dict)
        assert isinstance(pair.look(registry), dict)
        assert pair.look(early) == "head-rollback"
        pair.unpin()
        assert isinstance(pair.look(early), dict)

    def test_a_namespace_or_an_item_that_is_gone(self, pair: Pair) -> None:
        registry = founded(START)
        assert isinstance(pair.look(registry), dict)
        for name in ("namespace:acme", str(DEPLOY)):
            cheat = registry.fork()
            cheat.publish_index({other: data for other, data in cheat.index_files().items() if other != name})
            found = pair.look(cheat)
            assert found == "namespace-vanished" if name == "namespace:acme" else DEPLOY not in found
            pair.unpin()
            found = pair.look(cheat)
            assert found == "namespace-unclaimed" if name == "namespace:acme" else DEPLOY not in found
            pair.unpin()

    def test_a_chain_of_keysets_that_lost_its_end(self, pair: Pair) -> None:
        registry = founded(START)
        assert isinstance(pair.look(registry), dict)
        early = registry.index_files()["namespace:acme"]
        registry.claim("acme", [NEW])
        registry.publish()
        assert isinstance(pair.look(registry), dict)
        registry.publish_index({**registry.index_files(), "namespace:acme": early})
        assert pair.look(registry) == "keyset-fork"


class TestOthersFiles:
    """A verdict applies to one name of one registry under its roots."""

    def test_another_items_index_file(self, pair: Pair) -> None:
        registry = founded(START)
        assert isinstance(pair.look(registry), dict)
        registry.publish_index({**registry.index_files(), str(CHECK): registry.index_files()[str(DEPLOY)]})
        assert pair.look(registry) == "index-foreign"

    def test_a_name_map_with_another_size_of_a_file_that_was_judged(self, pair: Pair) -> None:
        registry = founded(START)
        assert isinstance(pair.look(registry), dict)
        honest = registry.map_entries
        registry.map_entries = lambda indexes=None: [  # type: ignore[method-assign]
            replace(entry, size=entry.size + (entry.name == str(DEPLOY))) for entry in honest(indexes)
        ]
        registry.publish()
        assert pair.look(registry) == "index-size"

    def test_another_registry_of_the_same_name_with_the_same_files(self, pair: Pair, judged: Counter) -> None:
        registry = founded(START)
        other = SimulatedRegistry(now=START, owners=[key("other 1"), key("other 2")])
        other.leaves[2:] = registry.leaves[2:]
        other.blobs, other.namespaces, other.keysets = registry.blobs, registry.namespaces, registry.keysets
        other.publish()
        assert other.index_files() == registry.index_files()
        assert isinstance(pair.look(registry), dict)
        pair.unpin()
        judged.take()
        assert isinstance(pair.look(other), dict)
        assert judged.take() == 4 + 4

    def test_a_new_root_is_judged_by_anew(self, pair: Pair, judged: Counter) -> None:
        registry = founded(START)
        pair.look(registry)
        registry.add_root()
        registry.publish()
        judged.take()
        assert isinstance(pair.look(registry), dict)
        assert judged.take() == 4 + 4

    def test_rows_that_were_swapped_are_judged_anew(self, pair: Pair, judged: Counter) -> None:
        registry = founded(START)
        expected = pair.look(registry)
        assert pair.remembers.store is not None
        with closing(sqlite3.connect(pair.remembers.store)) as database:
            found = dict(database.execute("SELECT key, value FROM verdict").fetchall())
            keys = list(found)
            swapped = zip(keys, [found[key] for key in keys[1:] + keys[:1]], strict=True)
            database.executemany("REPLACE INTO verdict VALUES (?, ?)", list(swapped))
            database.commit()
        judged.take()
        assert pair.look(registry) == expected
        assert judged.take() == 4 + 4

    def test_rows_of_another_form_are_judged_anew(
        self, pair: Pair, judged: Counter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        registry = founded(START)
        monkeypatch.setattr(rye.registry.judgements, "encode_judged", lambda found: b"\x93\x01\x02\x03")
        expected = pair.look(registry)
        monkeypatch.undo()
        assert pair.look(registry) == expected


# -- whatever a registry does ------------------------------------------------------------------------------------------------


class History:
    """The life of a registry, honest or not, and the pair that looks at it after each event."""

    def __init__(self, base: Path):
        self.pair = Pair(base)
        self.registry = SimulatedRegistry(now=START)
        self.registry.claim("acme", [key("acme 1")])
        self.registry.claim("zeta")
        self.numbers = dict.fromkeys(ITEMS, 0)
        self.keys = 1
        self.waiting: tuple[Keyset, list[PrivateKey], datetime] | None = None
        """A recovery that has no effect yet; the keys before it sign until then."""
        self.seen: list[dict[str, bytes]] = []
        for item in ITEMS[:4]:
            self.release(item)
        self.look()

    def look(self) -> None:
        self.registry.pass_time(minutes=1)
        self.registry.publish()
        self.seen.append(dict(self.registry.files))
        while self.pair.look(self.registry) == "recovery-unaccepted":
            self.pair.accept()
        self.pair.look(self.registry)  # from memory

    def show(self, registry: SimulatedRegistry) -> None:
        """Show something other than the honest present; users who came to believe it start over."""
        if isinstance(self.pair.look(registry), dict):
            self.pair.unpin()

    def new_key(self) -> PrivateKey:
        self.keys += 1
        return key(f"acme {self.keys}")

    # events; ``item`` and ``number`` are drawn

    def release(self, item: Identity, number: int = 0) -> None:
        self.numbers[item] += 1
        self.registry.release(item, f"1.{self.numbers[item]}.0", b"x" * (number + 1))

    def release_ahead(self, item: Identity, number: int) -> None:
        """Release under the pending recovery, dated after it; without a recovery, just dated ahead."""
        cheat = self.registry.fork()
        time = cheat.now + timedelta(hours=number)
        if self.waiting is not None:
            cheat.keysets["acme"], cheat.namespaces["acme"], _ = self.waiting
        cheat.release(DEPLOY, "9.0.0", time=time)
        cheat.publish()
        self.show(cheat)

    def release_by_a_thief(self, item: Identity, number: int) -> None:
        cheat = self.registry.fork()
        cheat.release(DEPLOY, "9.0.0", keys=[key(f"acme {1 + number % self.keys}")])
        cheat.publish()
        self.show(cheat)

    def yank(self, item: Identity, number: int) -> None:
        self.registry.yank(item, f"1.{1 + number % self.numbers[item]}.0", yanked=number % 3 > 0)

    def deprecate(self, item: Identity, number: int) -> None:
        self.registry.deprecate(item, deprecated=number % 2 == 0)

    def advise(self, item: Identity, number: int) -> None:
        self.registry.advise(item, f"<1.{number % 5}.0", number=f"RYE-{number % 3}", by_owners=number % 2 == 0)

    def rotate(self, item: Identity, number: int) -> None:
        """The next keyset; while a recovery is pending, the objection to it."""
        present = [key for key in self.registry.namespaces["acme"][:1] if number % 2]
        self.registry.claim("acme", [*present, self.new_key()])
        self.waiting = None

    def revoke(self, item: Identity, number: int) -> None:
        old, new = self.registry.namespaces["acme"], self.new_key()
        before = self.registry.keysets["acme"].revoked
        revoked = [Revocation(one.public.raw, number * self.registry.size // 100) for one in old]
        ordered = tuple(sorted((*before, *revoked), key=lambda one: one.key))
        keyset = self.registry.keyset("acme", [new], revoked=ordered)
        self.registry.add_keyset(keyset, self.registry.namespace_signers("acme", [new, *old]), [new])
        self.waiting = None

    def recover(self, item: Identity, number: int) -> None:
        before = self.registry.keysets["acme"], self.registry.namespaces["acme"]
        revoked = [Revocation(one.public.raw, number * self.registry.size // 100) for one in before[1] if number % 2]
        keys = [self.new_key()]
        keyset = self.registry.keyset("acme", keys, recovery=self.registry.now + timedelta(hours=72))
        keyset = replace(keyset, revoked=tuple(sorted((*keyset.revoked, *revoked), key=lambda one: one.key)))
        signers = [*self.registry.namespace_signers("acme", keys), *self.registry.owner_signers()]
        self.registry.add_keyset(keyset, signers, keys)
        self.registry.keysets["acme"], self.registry.namespaces["acme"] = before
        self.waiting = (keyset, keys, self.registry.now + timedelta(hours=72))

    def wait(self, item: Identity, number: int) -> None:
        self.registry.pass_time(hours=number)
        if self.waiting is not None and self.registry.now >= self.waiting[2]:
            self.registry.keysets["acme"], self.registry.namespaces["acme"], _ = self.waiting
            self.waiting = None

    def new_root(self, item: Identity, number: int) -> None:
        self.registry.add_root()

    def go_back(self, item: Identity, number: int) -> None:
        """An earlier head, for users who know the present and for users who know nothing."""
        past = self.registry.fork()
        past.files = self.seen[number % len(self.seen)]
        self.show(past)
        self.pair.unpin()
        self.show(past)

    def fork(self, item: Identity, number: int) -> None:
        other = self.registry.fork()
        other.release(item, "9.9.9")
        other.publish()
        self.show(other)

    def leave_out(self, item: Identity, number: int) -> None:
        """Omit the last statement of a name, or all of its statements."""
        cheat = self.registry.fork()
        lines = cheat.index_lines()
        name = "namespace:acme" if number % 2 else str(item)
        lines[name] = lines[name][: -1 if number % 3 else 0]
        cheat.publish_index({other: wire.encode_index(found) for other, found in lines.items() if found})
        self.show(cheat)

    def repeat(self, item: Identity, number: int) -> None:
        """Repeat another item's statements, or one of them."""
        cheat = self.registry.fork()
        lines = cheat.index_lines()
        name = str(ITEMS[number % 4])
        lines[str(item)] = sorted(
            {line.log: line for line in lines[str(item)] + lines[name]}.values(), key=lambda x: x.log
        )
        cheat.publish_index({other: wire.encode_index(found) for other, found in lines.items() if found})
        self.show(cheat)

    def unpin(self, item: Identity, number: int) -> None:
        self.pair.unpin()


EVENTS = (
    *[History.release, History.yank, History.deprecate, History.advise, History.rotate, History.revoke],
    *[History.recover, History.recover, History.wait, History.wait, History.wait, History.new_root, History.unpin],
    *[History.release_ahead, History.release_by_a_thief, History.go_back, History.fork, History.leave_out],
    *[History.repeat],
)
EVENT = st.tuples(st.sampled_from(EVENTS), st.sampled_from(ITEMS[:4]), st.integers(0, 100))


class TestLives:
    @pytest.mark.thorough
    @settings(max_examples=EXAMPLES, deadline=None)
    @given(st.lists(EVENT, min_size=4, max_size=16))
    def test_hypothesis_verdicts_change_no_answer(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        events: list[tuple[Callable[[History, Identity, int], None], Identity, int]],
    ) -> None:
        history = History(tmp_path_factory.mktemp("life"))
        for event, item, number in events:
            event(history, item, number)
            history.look()

    @pytest.mark.thorough
    def test_a_life_shows_what_it_is_meant_to(self, tmp_path: Path) -> None:
        """Each event leads somewhere: to histories, or to the error that it is named for."""
        history = History(tmp_path)
        for event in dict.fromkeys(EVENTS):
            event(history, DEPLOY, 75)
            history.look()
        codes = {outcome for outcome in history.pair.outcomes if isinstance(outcome, str)}
        assert isinstance(history.pair.outcomes[-1], dict)
        assert codes >= {"recovery-unaccepted", "head-rollback"}, codes


# -- the work that is saved --------------------------------------------------------------------------------------------------


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter:
    return Counter(monkeypatch, rye.verified.release, "judge_release_file")


class TestInstalling:
    def test_a_second_installation_judges_nothing(
        self, runner: AttackRunner, judged: Counter, read: Counter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        attacker = runner.attacker(Attack(name="", power="mirror", code="", act=lambda attacker: None))
        attacker.serve(attacker.past)
        attacker.user.ok("add", str(DEPLOY), str(SKILL), "--yes")
        assert (judged.take(), read.take()) == (2, 2)
        installed = tree(attacker.user.path(".ai/packages"))

        shutil.rmtree(attacker.user.path(".ai/packages"))
        attacker.user.ok(*INSTALL)
        assert (judged.take(), read.take()) == (0, 0)
        assert tree(attacker.user.path(".ai/packages")) == installed

        attacker.serve(attacker.present)
        attacker.user.ok("update", "--yes")
        assert (judged.take(), read.take()) == (1, 1)  # of the one that has a new release

        monkeypatch.setattr(module, "running_code", lambda: b"a newer rye")
        shutil.rmtree(attacker.user.path(".ai/packages"))
        attacker.user.ok(*INSTALL)
        assert (judged.take(), read.take()) == (2, 2)

        attacker.user.ok("cache", "clean")
        assert rows(attacker.user) == {}
        shutil.rmtree(attacker.user.path(".ai/packages"))
        attacker.user.ok(*INSTALL)
        assert (judged.take(), read.take()) == (2, 2)

    def test_a_run_that_fails_remembers_nothing(self, runner: AttackRunner) -> None:
        attack = next(attack for attack in test_items.SIGNATURES if attack.start == "pinned")
        attacker = runner.attacker(attack)
        attacker.serve(attacker.present)
        attack.act(attacker)
        assert attacker.user.run(*attack.command, "--json").code == 1
        assert rows(attacker.user) == {}

    @pytest.mark.parametrize("served", ["the right bytes", "other bytes"])
    def test_bytes_are_hashed_each_time(self, primed: PrimedRunner, served: str) -> None:
        attacker = primed.attacker(Attack(name="", power="mirror", code="", act=lambda attacker: None))
        attacker.serve(attacker.past)
        attacker.user.ok("add", str(DEPLOY), "--yes")
        before = tree(attacker.user.path(".ai/packages"))
        shutil.rmtree(attacker.user.path(".ai/packages"))
        content = next(data for data in attacker.past.blobs.values() if b'name="deploy"' in data)
        for path in (attacker.user.home / "cache").rglob("*"):
            if path.is_file():
                path.write_bytes(path.read_bytes().replace(b"Do the work", b"Do the harm"))
        if served == "the right bytes":
            attacker.user.ok(*INSTALL)
            assert tree(attacker.user.path(".ai/packages")) == before
        else:
            for name, data in list(attacker.server.files.items()):
                if data == content:
                    attacker.replace(name, data.replace(b"Do the work", b"Do the harm"))
            assert attacker.user.run(*INSTALL, "--json").error["code"] == "blob-hash"
            assert not attacker.user.path(".ai/packages").exists()

    @pytest.mark.parametrize("damage", [b"", b"garbage" * 2_000, None], ids=["empty", "garbage", "a folder"])
    def test_a_damaged_store_costs_time_alone(
        self, primed: PrimedRunner, judged: Counter, damage: bytes | None
    ) -> None:
        attacker = primed.attacker(Attack(name="", power="mirror", code="", act=lambda attacker: None))
        attacker.serve(attacker.past)
        path = attacker.user.home / "data" / VERDICTS
        if damage is None:
            path.unlink()
            path.mkdir()
        else:
            path.write_bytes(damage)
        attacker.user.ok(*ADD)
        assert judged.take() > 0

    def test_a_row_of_another_form_is_judged_anew(self, runner: AttackRunner, read: Counter) -> None:
        attacker = runner.attacker(Attack(name="", power="mirror", code="", act=lambda attacker: None))
        attacker.serve(attacker.past)
        attacker.user.ok(*ADD)
        with_nonsense(attacker.user)
        read.take()
        shutil.rmtree(attacker.user.path(".ai/packages"))
        attacker.user.ok(*INSTALL)
        assert read.take() == 1


def with_nonsense(user: Person) -> None:
    """Every row passes its check and holds something that no current version reads."""
    value = b"\x93\x01\x02\x03"
    with closing(sqlite3.connect(user.home / "data" / VERDICTS)) as database:
        found = [(module._check(key, value) + value, key) for (key,) in database.execute("SELECT key FROM verdict")]
        database.executemany("UPDATE verdict SET value = ? WHERE key = ?", found)
        database.commit()
