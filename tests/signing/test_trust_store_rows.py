"""The trust store, value by value: what it writes, what it refuses with which code, and its limits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from rye.errors import RyeError
from rye.limits import KEYS
from rye.signing import trust_store
from rye.signing.keys import PrivateKey, PublicKey
from rye.signing.trust_store import TrustedKey, TrustStore, proposals, read_key_file
from tests.signing.samples import NOW

POSIX = pytest.mark.skipif(os.name != "posix", reason="file modes and links")
ONE, TWO = (PrivateKey(bytes([number]) * 32).public for number in (1, 2))
TIME = "2026-03-01T12:30:05Z"


@pytest.fixture
def trust(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "config")


def entry(key: PublicKey, label: str, revoked: str | None = None) -> str:
    text = f'[[key]]\nlabel = "{label}"\nfingerprint = "{key.fingerprint}"\nsource = "x"\nadded = "{TIME}"\n'
    if revoked is not None:
        text += f'revoked = "{revoked}"\n'
    return f'{text}pem = """\n{key.pem}"""\n'


HEAD = "# Keys that this user trusts. Change it with `rye trust add`, `rye trust remove` and `rye trust revoke`.\n\n"


def put(trust: TrustStore, data: str | bytes) -> None:
    trust.path.parent.mkdir(mode=0o700, exist_ok=True)
    trust.path.write_bytes(data.encode() if isinstance(data, str) else data)
    trust.path.chmod(0o600)


def refusal(trust: TrustStore) -> str:
    """The reason why the store is refused as unreadable."""
    with pytest.raises(RyeError) as caught:
        trust.entries()
    assert caught.value.code == "bad-trust-store"
    before, _, reason = caught.value.message.partition(f"{trust.path} cannot be read: ")
    assert before == ""
    return reason


def test_the_file_has_this_name_and_these_lines(trust: TrustStore) -> None:
    trust.add(ONE, "one", "x", NOW)
    trust.add(TWO, "two", "x", NOW)
    trust.revoke("two", NOW)
    assert trust.path.name == "trusted-keys.toml"
    assert trust.path.read_text() == f"{HEAD}{entry(ONE, 'one')}\n{entry(TWO, 'two', TIME)}"


def test_an_entry_as_json_has_these_keys() -> None:
    assert TrustedKey(ONE, "one", "mail", TIME).as_json() == {
        "fingerprint": ONE.fingerprint,
        "key_id": ONE.key_id,
        "label": "one",
        "source": "mail",
        "added": TIME,
        "revoked": None,
    }
    assert TrustedKey(ONE, "one", "mail", TIME, "later").as_json()["revoked"] == "later"


def test_a_revoked_key_stays_apart_from_a_trusted_one(trust: TrustStore) -> None:
    put(trust, HEAD + entry(ONE, "one") + "\n" + entry(TWO, "two", "2026-01-01T00:00:00Z"))
    assert (trust.trusted(), trust.revoked()) == ((ONE,), (TWO,))


def test_revoking_again_keeps_the_first_date_and_does_not_write(trust: TrustStore) -> None:
    text = HEAD + entry(ONE, "one", "2026-01-01T00:00:00Z")
    put(trust, text)
    assert trust.revoke("one", NOW).revoked == "2026-01-01T00:00:00Z"
    assert trust.path.read_text() == text


def test_revoking_one_key_leaves_the_others_as_they_were(trust: TrustStore) -> None:
    first, second = trust.add(ONE, "one", "x", NOW), trust.add(TWO, "two", "x", NOW)
    assert trust.revoke("one", NOW) == replace(first, revoked=TIME)
    assert trust.entries() == (replace(first, revoked=TIME), second)
    assert trust.remove("one") == replace(first, revoked=TIME)
    assert trust.entries() == (second,)


def test_a_key_that_the_store_does_not_name_is_revoked_beside_the_others(trust: TrustStore) -> None:
    first = trust.add(ONE, "one", "x", NOW)
    revoked = TrustedKey(TWO, "acme", "signed items of acme", TIME, TIME)
    assert trust.revoke_unknown(TWO, "acme", "signed items of acme", NOW) == revoked
    assert trust.entries() == (first, revoked)
    again = TrustedKey(ONE, "one again", "y", TIME, TIME)
    assert trust.revoke_unknown(ONE, "one again", "y", NOW) == again
    assert trust.entries() == (revoked, again), "it is no longer trusted"
    with pytest.raises(RyeError) as caught:
        trust.revoke_unknown(PublicKey(bytes(32)), "weak", "y", NOW)
    assert caught.value.code == "bad-key"
    assert trust.revoked() == (TWO, ONE)


@pytest.mark.parametrize("data", ["", "\n", " \n\t\n"])
def test_an_empty_store_is_refused_since_it_may_have_said_what_is_revoked(trust: TrustStore, data: str) -> None:
    put(trust, data)
    assert refusal(trust) == "it is empty, and what it said of keys that you revoked is lost."
    put(trust, HEAD)
    assert trust.entries() == ()


def test_adding_a_revoked_key_is_refused_with_its_date(trust: TrustStore) -> None:
    put(trust, HEAD + entry(ONE, "one", "2026-01-01T00:00:00Z"))
    with pytest.raises(RyeError) as caught:
        trust.add(ONE, "one", "x", NOW)
    assert caught.value.code == "revoked-key"
    assert caught.value.message == f"The key {ONE.fingerprint} was revoked on 2026-01-01T00:00:00Z."


def test_an_ambiguous_name_lists_each_fingerprint(trust: TrustStore) -> None:
    trust.add(ONE, "same", "x", NOW)
    trust.add(TWO, "same", "x", NOW)
    with pytest.raises(RyeError) as caught:
        trust.find("same")
    assert caught.value.code == "ambiguous-key"
    assert caught.value.message == f"'same' matches several keys: {ONE.fingerprint}, {TWO.fingerprint}."


@pytest.mark.parametrize("label", ["x", "x" * 100])
def test_the_shortest_and_the_longest_label(trust: TrustStore, label: str) -> None:
    assert trust.add(ONE, label, "x", NOW).label == label


@pytest.mark.parametrize("label", ["", " ", "x" * 101, "a\nb"])
def test_what_is_no_label_has_a_code_and_nothing_is_written(trust: TrustStore, label: str) -> None:
    with pytest.raises(RyeError) as caught:
        trust.add(ONE, label, "x", NOW)
    assert (caught.value.code, caught.value.details["what"]) == ("invalid-value", "label")
    assert not trust.path.exists()


@POSIX
def test_a_store_that_others_may_change_names_the_command_that_ends_it(trust: TrustStore) -> None:
    trust.add(ONE, "one", "x", NOW)
    trust.path.chmod(0o622)
    with pytest.raises(RyeError) as caught:
        trust.entries()
    assert caught.value.code == "bad-trust-store"
    assert caught.value.message == f"{trust.path} can be changed by other users, so nothing in it can be trusted."
    assert caught.value.hint == f"Check its content, then run `chmod 600 {trust.path}`."


def test_what_is_no_file_is_refused_and_never_an_empty_store(trust: TrustStore) -> None:
    trust.path.mkdir(mode=0o700, parents=True)
    assert "it is not a regular file" in refusal(trust)


def test_the_longest_file_is_read_and_no_longer_one(trust: TrustStore) -> None:
    text = HEAD + entry(ONE, "one") + "#"
    longest = text + "c" * (KEYS.trust_file_bytes - len(text))
    put(trust, longest)
    assert trust.trusted() == (ONE,)
    put(trust, longest + "c")
    assert refusal(trust) == f"it is larger than {KEYS.trust_file_bytes:,} bytes."


def test_bytes_that_are_no_text_are_refused(trust: TrustStore) -> None:
    put(trust, (HEAD + entry(ONE, "one")).encode() + b"# \xff\n")
    assert "can't decode byte 0xff" in refusal(trust)


def test_a_long_reason_is_cut(trust: TrustStore) -> None:
    name = "n" * 300
    put(trust, f"[{name}]\n[{name}]\n")
    assert len(refusal(trust)) == 201


@pytest.mark.parametrize("text", ["key = [5]\n", 'key = ["label"]\n', "key = [[]]\n"])
def test_a_row_that_is_no_table_is_refused(trust: TrustStore, text: str) -> None:
    put(trust, text)
    assert refusal(trust).startswith(
        "a [[key]] can only have text values for added, fingerprint, label, pem, revoked, source"
    )


@pytest.mark.parametrize(
    ("old", "new"), [('source = "x"', 'source = "x"\nmore = "y"'), ('source = "x"', "source = 1"), ("pem", "PEM")]
)
def test_a_row_with_another_field_or_type_is_refused(trust: TrustStore, old: str, new: str) -> None:
    put(trust, entry(ONE, "one").replace(old, new))
    assert refusal(trust).startswith("a [[key]] can only have text values for ")


@pytest.mark.parametrize("field", ["label", "fingerprint", "source", "added"])
def test_a_row_without_a_field_is_refused_and_the_field_named(trust: TrustStore, field: str) -> None:
    lines = [line for line in entry(ONE, "one").splitlines() if not line.startswith(f"{field} =")]
    put(trust, "\n".join(lines) + "\n")
    assert refusal(trust) == f"a [[key]] has no {field}."
    put(trust, "[[key]]\n")
    assert refusal(trust) == "a [[key]] has no added, fingerprint, label, pem, source."


def test_a_row_whose_fingerprint_is_another_keys_is_refused(trust: TrustStore) -> None:
    put(trust, entry(ONE, "one").replace(ONE.fingerprint, TWO.fingerprint))
    assert refusal(trust) == "the key of 'one' does not have the stated fingerprint."


def test_the_writer_holds_a_lock_beside_the_file_in_a_folder_of_its_own(
    trust: TrustStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[tuple[Path, float, bool]] = []

    @contextmanager
    def lock(path: Path, seconds: float) -> Iterator[None]:
        held.append((path, seconds, path.parent.is_dir()))
        yield

    monkeypatch.setattr(trust_store, "file_lock", lock)
    trust.add(ONE, "one", "x", NOW)
    trust.revoke("one", NOW)
    trust.remove("one")
    assert held == [(trust.path.parent / ".trusted-keys.toml.lock", 10.0, True)] * 3


def test_proposals_are_sorted_by_folder_and_name_and_of_three_suffixes(tmp_path: Path) -> None:
    folder, other = tmp_path / "keys", tmp_path / ".ai" / "keys"
    folder.mkdir()
    other.mkdir(parents=True)
    for name in ("c.toml", "a.pub", "b.pem", "d.key", "e"):
        (folder / name).write_text(ONE.pem)
    (other / "0.pem").write_text(TWO.pem)
    assert [(p.path, p.key, p.owner, p.problem) for p in proposals(tmp_path)][:2] == [
        (folder / "a.pub", ONE, None, None),
        (folder / "b.pem", ONE, None, None),
    ]
    assert [p.path for p in proposals(tmp_path)] == [
        folder / "a.pub",
        folder / "b.pem",
        folder / "c.toml",
        other / "0.pem",
    ]


def test_proposals_come_sorted_whatever_the_folder_says_and_at_most_a_hundred(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "keys"
    folder.mkdir()
    paths = [folder / f"{number:03}.pem" for number in range(101)]
    for path in paths:
        path.write_text("x")
    monkeypatch.setattr(Path, "iterdir", lambda _folder: reversed(paths))
    assert [proposal.path for proposal in proposals(tmp_path)] == paths[:100]


@POSIX
def test_a_folder_of_proposals_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "one.pem").write_text(ONE.pem)
    project = tmp_path / "project"
    project.mkdir()
    (project / "keys").symlink_to(outside)
    assert proposals(project) == ()


def test_a_key_file_of_the_longest_length_is_read_and_no_longer_one(tmp_path: Path) -> None:
    path = tmp_path / "k.pem"
    path.write_text(ONE.pem + "\n" * (KEYS.file_bytes - len(ONE.pem)))
    assert read_key_file(path) == (ONE, None)
    path.write_text(ONE.pem + "\n" * (KEYS.file_bytes + 50 - len(ONE.pem)))
    with pytest.raises(RyeError) as caught:
        read_key_file(path)
    assert caught.value.code == "bad-key"
    limit = KEYS.file_bytes
    expected = f"{path}: The key file has {limit + 1:,} bytes; the limit is {limit:,}."
    assert caught.value.message == expected


def test_a_named_file_that_is_missing_or_no_key_has_its_own_code(tmp_path: Path) -> None:
    with pytest.raises(RyeError) as caught:
        read_key_file(tmp_path / "missing.pem")
    assert caught.value.code == "no-such-file"
    (tmp_path / "k.pem").write_text("nonsense")
    with pytest.raises(RyeError) as caught:
        read_key_file(tmp_path / "k.pem")
    assert (caught.value.code, caught.value.message.startswith(f"{tmp_path / 'k.pem'}: ")) == ("bad-key", True)
