"""What a verdict depends on, read from this user's files; whatever cannot be determined is None."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from rye.errors import RyeError
from rye.project.lock import LockedItem
from rye.registry.store.pins import Pinned, addresses_path, remember_removal, remember_withdrawn, state_path
from rye.signing.keys import PublicKey
from rye.signing.trust_store import TrustStore
from rye.storage.home import Home
from rye.text.facts.fact import RULES_VERSION
from rye.verified import memory
from rye.verified.memory import (
    Basis,
    distrusted_keys,
    lock_basis,
    policies_hash,
    registry_basis,
    source_basis,
    stored_basis,
    trusted_keys_hash,
)
from tests.registry.simulated_registry import key

ORIGIN = "registry.example"
NOW = datetime(2026, 1, 2, tzinfo=UTC)
ROOT = "a root\n"
PINNED = Pinned(
    fingerprint="f",
    removal="r",
    keysets={"acme": "k"},
    withdrawn=frozenset({"tool:acme/b 1.0.0", "tool:acme/a 2.0.0", "tool:acme-more/c 1.0.0"}),
)
GIT = "git+https://git.example/pdf"
ROW = LockedItem(
    kind="tool",
    id="acme/a",
    version="1.0.0",
    size=3,
    sha256="cd" * 32,
    suffix=".py",
    registry=ORIGIN,
    log=9,
    keyset=2,
    signer="SHA256:abc",
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A user who pinned a registry and has a trust store."""
    made = Home(tmp_path / "config", tmp_path / "data", tmp_path / "cache", named_policy=tmp_path / "policy.toml")
    made.config.mkdir()
    (made.config / "trusted-keys.toml").write_text("# keys\n")
    state = state_path(made.registries, ORIGIN)
    state.parent.mkdir(parents=True)
    state.write_text(
        json.dumps({"origin": ORIGIN, "roots": [f"{ROOT}\nsigned\n"], "keysets": {"acme": {"sha256": "k"}}})
    )
    addresses_path(made.registries).write_text(json.dumps({"https://registry.example": ORIGIN}))
    return made


def test_a_release_depends_on_pin_keyset_takedowns_and_rules() -> None:
    assert registry_basis(PINNED, "acme") == Basis(
        rules=RULES_VERSION,
        root="f",
        removal="r",
        keyset="k",
        withdrawn=("tool:acme/a 2.0.0", "tool:acme/b 1.0.0"),
    )
    assert registry_basis(PINNED, "acme-more").withdrawn == ("tool:acme-more/c 1.0.0",)
    assert registry_basis(PINNED, "zeta") == Basis(rules=RULES_VERSION, root="f", removal="r")
    unknown = replace(PINNED, withdrawn=frozenset("?"))
    assert registry_basis(unknown, "zeta").withdrawn == ("?",)


def test_the_order_of_revoked_keys_does_not_matter() -> None:
    names = [f"SHA256:{letter}" for letter in "hgfedcba"]
    assert registry_basis(PINNED, "acme", frozenset(names)).distrusted == tuple(sorted(names))


def test_an_item_of_a_source_depends_on_the_trust_store_and_rules() -> None:
    assert source_basis("keys") == Basis(rules=RULES_VERSION, keys="keys")
    assert source_basis(None) is None
    assert Basis(rules=1) == Basis(rules=1, root="", removal="", keyset="", withdrawn=(), keys="")


def test_bases_have_the_same_bytes_only_if_they_are_equal() -> None:
    one = Basis(rules=1, root="a", withdrawn=("b", "c"))
    others = [
        replace(one, rules=3), replace(one, root="", removal="a"), replace(one, withdrawn=("b c",)),
        replace(one, withdrawn=("b",), keys="c"), replace(one, keyset="a"),
    ]  # fmt: skip
    assert len({one.encoded(), *(other.encoded() for other in others)}) == 6
    assert one.encoded() == Basis(rules=1, root="a", withdrawn=("b", "c")).encoded()


def test_the_stored_basis_is_what_the_users_files_say(home: Home) -> None:
    basis = stored_basis(home)(ORIGIN, "acme")
    assert basis == Basis(rules=RULES_VERSION, root=hashlib.sha256(ROOT.encode()).hexdigest(), keyset="k")
    remember_withdrawn(home.registries, ORIGIN, ["tool:acme/a 1.0.0"])
    remember_removal(home.registries, ORIGIN)
    later = stored_basis(home)(ORIGIN, "acme")
    assert basis is not None
    assert later is not None
    assert (basis.withdrawn, later.withdrawn) == ((), ("tool:acme/a 1.0.0",))
    assert (basis.removal, len(later.removal)) == ("", 64)
    assert stored_basis(home)(GIT, "pdf") == Basis(rules=RULES_VERSION, keys=hashlib.sha256(b"# keys\n").hexdigest())


def test_each_file_is_read_once(home: Home) -> None:
    basis = stored_basis(home)
    before = [basis(ORIGIN, "acme"), basis(GIT, "pdf")]
    addresses_path(home.registries).unlink()
    (home.config / "trusted-keys.toml").unlink()
    assert [basis(ORIGIN, "acme"), basis(GIT, "pdf")] == before
    assert basis(ORIGIN, "zeta") is not None
    assert None not in before


@pytest.mark.parametrize("file", ["addresses", "state"])
@pytest.mark.parametrize("damage", ["gone", "torn", "of others", "a folder"])
def test_a_registry_whose_pin_cannot_be_read_has_no_basis(home: Home, file: str, damage: str) -> None:
    path = addresses_path(home.registries) if file == "addresses" else state_path(home.registries, ORIGIN)
    if damage == "torn":
        path.write_bytes(path.read_bytes()[:-5])
    elif damage == "of others":
        path.chmod(0o666)
    else:
        path.unlink()
        if damage == "a folder":
            path.mkdir()
    assert stored_basis(home)(ORIGIN, "acme") is None


@pytest.mark.parametrize("state", [{"origin": "other.example", "roots": ["x\n\ny\n"]}, {"origin": ORIGIN, "roots": []}])
def test_a_state_of_another_registry_or_without_a_root_is_no_pin(home: Home, state: dict[str, object]) -> None:
    state_path(home.registries, ORIGIN).write_text(json.dumps(state))
    assert stored_basis(home)(ORIGIN, "acme") is None


def test_a_registry_that_was_never_pinned_has_no_basis(home: Home) -> None:
    assert stored_basis(home)("other.example", "acme") is None


def test_a_removal_that_cannot_be_read_is_another_one_each_time(home: Home) -> None:
    remember_removal(home.registries, ORIGIN)
    path = state_path(home.registries, ORIGIN).with_name("removed-pin")
    assert stored_basis(home)(ORIGIN, "acme") == stored_basis(home)(ORIGIN, "acme")
    path.chmod(0o666)
    assert stored_basis(home)(ORIGIN, "acme") != stored_basis(home)(ORIGIN, "acme")


def test_a_trust_store_that_is_not_there_is_empty_and_one_that_cannot_be_believed_is_none(home: Home) -> None:
    store = home.config / "trusted-keys.toml"
    read = trusted_keys_hash(home)
    store.chmod(0o666)
    assert trusted_keys_hash(home) is None
    assert stored_basis(home)(GIT, "pdf") is None
    store.unlink()
    assert (trusted_keys_hash(home), len(read or "")) == ("absent", 64)
    store.mkdir()
    assert trusted_keys_hash(home) is None


REVOKED, TRUSTED = (key(name).public for name in ("revoked", "trusted"))


def test_what_a_key_that_the_user_revoked_signed_is_verified_anew(home: Home) -> None:
    store = TrustStore(home.config)
    (home.config / "trusted-keys.toml").unlink()
    assert distrusted_keys(home) == frozenset()
    before = stored_basis(home)(ORIGIN, "acme")
    for one in (REVOKED, TRUSTED):
        store.add(one, "a key", "given", NOW)
    assert distrusted_keys(home) == frozenset()
    assert stored_basis(home)(ORIGIN, "acme") == before
    store.revoke(REVOKED.fingerprint, NOW)
    assert distrusted_keys(home) == {REVOKED.fingerprint}
    after = stored_basis(home)(ORIGIN, "acme")
    assert after is not None
    assert after != before
    assert after.distrusted == (REVOKED.fingerprint,)
    store.revoke(TRUSTED.fingerprint, NOW)
    assert (stored_basis(home)(ORIGIN, "acme") or after).distrusted == tuple(
        sorted([REVOKED.fingerprint, TRUSTED.fingerprint])
    )


class Reader:
    """In place of the trust store's reader, which takes long to import: what it says, and how often it is asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked = 0
        monkeypatch.setattr(memory, "trust_store", self)

    def TrustStore(self, folder: Path) -> Reader:
        self.asked += 1
        return self

    def revoked(self) -> tuple[PublicKey, ...]:
        return (REVOKED,)


def test_the_stores_reader_decides_about_every_store_but_one_that_surely_revokes_nothing(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, path = TrustStore(home.config), home.config / "trusted-keys.toml"
    path.unlink()
    store.add(TRUSTED, "a key", "given", NOW)
    one = path.read_bytes()
    store.add(REVOKED, "another", "given", NOW)
    two = path.read_bytes()
    head = one.partition(b"\n")[0] + b"\n"
    store.revoke(REVOKED.fingerprint, NOW)
    revoking = path.read_bytes()
    reader = Reader(monkeypatch)
    path.unlink()
    assert distrusted_keys(home) == frozenset()
    for data in (head, one, two):
        path.write_bytes(data)
        assert distrusted_keys(home) == frozenset()
    assert reader.asked == 0
    doubtful = (
        revoking, revoking + b"\n", two[:-1], two + b"#", two.replace(b'"given"', b'"\xff"'), b"", head.replace(b".", b"!"),
        one.replace(b'source = "given"', b'revoked = "2026-01-02T00:00:00Z"'), one.replace(b'"given"', b'"gi\\u0076en"'),
        one.replace(b'"given"', b'"x"\nrevoked = "y"'),
    )  # fmt: skip
    for number, data in enumerate(doubtful):
        path.write_bytes(data)
        assert distrusted_keys(home) == {REVOKED.fingerprint}, data
        assert reader.asked == number + 1


@pytest.mark.parametrize("damage", ["of others", "a folder", "torn"])
def test_nothing_of_a_registry_counts_while_nobody_knows_which_keys_are_revoked(home: Home, damage: str) -> None:
    TrustStore(home.config).revoke_unknown(REVOKED, "a key", "given", NOW)
    path = home.config / "trusted-keys.toml"
    if damage == "of others":
        path.chmod(0o666)
    elif damage == "torn":
        path.write_bytes(path.read_bytes()[:-5])
    else:
        path.unlink()
        path.mkdir()
    with pytest.raises(RyeError) as raised:
        distrusted_keys(home)
    assert raised.value.code == "bad-trust-store"
    assert stored_basis(home)(ORIGIN, "acme") is None


def test_both_policies_count_and_neither_stands_for_the_other(home: Home) -> None:
    hashes = [policies_hash(home)]
    home.policy_file.write_text("[policy]\n")
    hashes.append(policies_hash(home))
    home.organization_policy.write_text("[policy]\n")
    hashes.append(policies_hash(home))
    home.policy_file.unlink()
    hashes.append(policies_hash(home))
    home.organization_policy.write_text("")
    hashes.append(policies_hash(home))
    assert len(set(hashes)) == 5


def test_a_whole_lock_depends_on_the_basis_of_each_origin_and_namespace(home: Home) -> None:
    rows = [replace(ROW, id="zeta/b"), ROW, replace(ROW, id="acme/c")]
    stored = stored_basis(home)
    whole = lock_basis(b"lock", "manifests", "policies", rows, stored)
    assert whole is not None
    assert (whole.lock, whole.manifests, whole.policies) == (b"lock", "manifests", "policies")
    assert whole.rows == ((ORIGIN, "acme", stored(ORIGIN, "acme")), (ORIGIN, "zeta", stored(ORIGIN, "zeta")))
    others = [
        lock_basis(b"other", "manifests", "policies", rows, stored), lock_basis(b"lock", "other", "policies", rows, stored),
        lock_basis(b"lock", "manifests", "other", rows, stored), lock_basis(b"lock", "manifests", "policies", rows[1:], stored),
    ]  # fmt: skip
    assert len({whole.encoded(), *(other.encoded() for other in others if other is not None)}) == 5


def test_the_order_of_the_rows_does_not_matter(home: Home) -> None:
    rows = [replace(ROW, id=f"{name}/b") for name in "hgfedcba"]
    bases = [lock_basis(b"lock", "manifests", "policies", order, stored_basis(home)) for order in (rows, rows[::-1])]
    assert bases[0] == bases[1]
    assert bases[0] is not None
    assert [namespace for _, namespace, _ in bases[0].rows] == list("abcdefgh")


def test_one_row_without_a_basis_leaves_the_whole_lock_without_one(home: Home) -> None:
    rows = [ROW, replace(ROW, id="zeta/b", registry="unpinned.example")]
    assert lock_basis(b"lock", "manifests", "policies", rows, stored_basis(home)) is None
