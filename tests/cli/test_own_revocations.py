"""A key that this user revoked counts everywhere at once, for installed items too: whoever revokes a key means now, and here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rye.signing.trust_store import TrustStore
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes
ID = "acme/work/top"
READERS = (
    ("render", ID),
    ("show", ID),
    ("ci",),
    ("install",),
    ("install", "--frozen"),
    ("trust", "project"),
    ("sbom",),
    ("mcp", "serve", "--as", ID),
    ("mcp", "token", "--as", ID),
    ("deploy", "--target", "claude"),
    ("deploy", "--target", "claude", "--check"),
)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Registry, Person]]:
    with Registry(tmp_path_factory.mktemp("registry") / "data") as registry:
        author = registry.owner("acme")
        author.release("work/base")
        author.release("work/top", depends=(("acme/work/base", "^1.0"),))
        yield registry, author


@pytest.fixture
def user(scene: tuple[Registry, Person]) -> Person:
    registry, author = scene
    person = registry.user()
    person.ok("add", ID, "--yes")
    [key] = author.ok("keys", "list", "--json").json["keys"]
    person.ok("trust", "add", str(Path(key["path"]).with_suffix(".pub")), "--label", "acme", "--yes")
    return person


def test_a_signer_that_was_never_trusted_by_name_is_revoked_by_its_fingerprint(scene: tuple[Registry, Person]) -> None:
    registry, author = scene
    person = registry.user()
    person.ok("add", ID, "--yes")
    other = person.run("trust", "revoke", f"SHA256:{'A' * 43}", "--json")
    assert (other.code, other.error["code"]) == (1, "unknown-key")
    assert states(person) == {"ok"}
    person.ok("trust", "revoke", author.fingerprint(), "--yes")
    assert states(person) == {"revoked"}
    assert person.run("render", ID, "--json").error["code"] == "signer-revoked"


def states(person: Person) -> set[str]:
    return {row["state"] for row in person.ok("list", "--json").json["items"]}


def test_what_a_revoked_key_signed_is_used_by_no_command(user: Person) -> None:
    assert states(user) == {"ok"}
    user.ok("trust", "revoke", "acme", "--yes")
    assert states(user) == {"revoked"}
    for offline in ((), ("--offline",)):
        for arguments in READERS:
            refused = user.run(*arguments, *offline, "--json")
            assert refused.code != 0, arguments
            assert "revoked" in refused.stdout + refused.stderr, (arguments, refused)
    findings = user.run("audit", "--json")
    assert findings.code == 1
    assert {finding["rule"] for finding in findings.json["findings"]} == {"revoked-key"}
    verified = user.run("verify", f".ai/packages/{ID.replace('/work', '/directives/work')}.md", "--json")
    assert verified.code == 1
    assert "revoked" in verified.stdout


@pytest.mark.parametrize(
    "damage", rest_thorough(2, ["half", "garbage", "link", "others", "empty", "before the word", "no end", "escaped"])
)
def test_a_damaged_trust_store_is_no_end_of_a_revocation(user: Person, damage: str) -> None:
    """The word was looked for in the file before anybody read it, and half a file did not have it."""
    user.ok("trust", "revoke", "acme", "--yes")
    store = user.home / "config" / "trusted-keys.toml"
    whole = store.read_bytes()
    if damage == "link":
        store.unlink()
        store.symlink_to(user.home / "gone.toml")
    elif damage == "others":
        store.write_bytes(whole.replace(b"revoked", b"removed"))
    elif damage == "escaped":
        store.write_bytes(whole.replace(b"revoked =", b'"r\\u0065voked" ='))
    else:
        cuts = {"half": len(whole) // 2, "before the word": whole.index(b"\nrevoked"), "no end": len(whole) - 3}
        store.write_bytes({"empty": b"", "garbage": b"\xff[\0"}.get(damage, whole[: cuts.get(damage, 0)]))
    for offline in ((), ("--offline",)):
        for arguments in (*READERS, ("audit",), ("add", "acme/work/base", "--yes")):
            refused = user.run(*arguments, *offline, "--json")
            assert refused.code != 0, arguments
            assert "trusted-keys.toml" in refused.stdout + refused.stderr or damage == "escaped", (arguments, refused)


def test_a_whole_store_without_a_revocation_is_known_at_a_glance(user: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    user.ok("keys", "generate")

    def read(_: TrustStore) -> None:
        raise AssertionError("it was read")

    monkeypatch.setattr(TrustStore, "revoked", read)
    user.ok("render", ID)


def test_nothing_new_of_a_revoked_key_is_installed(user: Person, scene: tuple[Registry, Person]) -> None:
    user.ok("trust", "revoke", "acme", "--yes")
    registry, _ = scene
    assert registry.user().run("add", ID, "--yes").code == 0  # the control: another user
    user.path("rye.lock").unlink()
    refused = user.run("add", "acme/work/base", "--yes", "--json")
    assert refused.code != 0
    assert "revoked" in refused.stdout + refused.stderr


def test_a_bundle_has_nothing_of_a_revoked_key(user: Person) -> None:
    user.ok("mirror", "--bundle", "before.zip")
    user.ok("trust", "revoke", "acme", "--yes")
    user.fails("mirror", "--bundle", "after.zip", code="signer-revoked")
    assert not user.path("after.zip").exists()


def test_a_key_that_is_trusted_again_counts_again(user: Person) -> None:
    user.ok("trust", "revoke", "acme", "--yes")
    assert states(user) == {"revoked"}
    user.ok("trust", "remove", "acme", "--yes")
    user.ok("ci")
    assert states(user) == {"ok"}
