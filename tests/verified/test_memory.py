"""What was verified before: which rows count, and under which basis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from rye.consent.ask import approving
from rye.items.identity import Identity
from rye.items.signed_release import SignedRelease
from rye.project.lock import LockedItem, LockedSource
from rye.storage.home import Home
from rye.storage.verdicts import Verdicts
from rye.verified.memory import Basis, LockBasis, Memory, user_memory
from tests.verified.rows import FILES, ROW, SIGNED

BASIS = Basis(rules=1, root="1")


def from_source(**fields: Any) -> LockedItem:
    """The row of an unsigned item of a source."""
    source = LockedSource(**fields)
    return replace(ROW, registry=source.origin, log=0, keyset=0, signer=source.origin, source=source)


GIT: dict[str, Any] = {
    "place": "pdf/SKILL.md", "git": "https://git.example/pdf", "ref": "HEAD", "commit": "1" * 40, "tree": "2" * 40,
}  # fmt: skip
OF_GIT = from_source(**GIT)
OF_FOLDER = from_source(place="SKILL.md", path="../mine")


class Asked:
    """One basis for everything; counts the queries."""

    def __init__(self, basis: Basis | None = BASIS) -> None:
        self.basis = basis
        self.asked: list[tuple[str, str]] = []

    def __call__(self, origin: str, namespace: str) -> Basis | None:
        self.asked.append((origin, namespace))
        return self.basis


@pytest.fixture
def verdicts(tmp_path: Path) -> Verdicts:
    return Verdicts(tmp_path / "verdicts", b"code")


def test_a_verified_row_is_remembered_with_what_its_release_says(verdicts: Verdicts) -> None:
    second = replace(ROW, id="acme/work/other")
    Memory(verdicts, Asked()).remember([(ROW, SIGNED), (second, SignedRelease())])
    assert Memory(verdicts, Asked()).known([ROW, second]) == {
        Identity("skill", "acme/work/pdf"): SIGNED,
        Identity("skill", "acme/work/other"): SignedRelease(),
    }
    row = ("skill", "acme/work/pdf", "1.0.0", 3, "cd" * 32, "SKILL.md", "registry.example", 9, 2, "SHA256:abc", FILES)
    key = verdicts.key("row", BASIS.encoded(), msgspec.msgpack.encode(row))
    assert verdicts.get([key]) == {key: msgspec.msgpack.encode(SIGNED)}


def test_the_basis_of_a_namespace_is_asked_for_once(verdicts: Verdicts) -> None:
    other = replace(ROW, id="beta/x")
    rows = [ROW, replace(ROW, id="acme/y"), other]
    asking = Asked()
    Memory(verdicts, asking).remember([(row, SIGNED) for row in rows])
    assert asking.asked == [("registry.example", "acme"), ("registry.example", "beta")]
    again = Asked()
    assert len(Memory(verdicts, again).known(rows)) == 3
    assert again.asked == asking.asked


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kind", "tool"), ("id", "acme/work/pdg"), ("version", "1.0.1"), ("size", 4), ("sha256", "ab" * 32), ("suffix", ".md"),
        ("registry", "other.example"), ("log", 10), ("keyset", 3), ("signer", "SHA256:abd"), ("attached", FILES[:1]),
        ("attached", (FILES[0], replace(FILES[1], executable=False))),
    ],
)  # fmt: skip
def test_a_row_that_differs_in_anything_is_another_row(verdicts: Verdicts, name: str, value: object) -> None:
    Memory(verdicts, Asked()).remember([(ROW, SIGNED)])
    assert Memory(verdicts, Asked()).known([replace(ROW, **{name: value})]) == {}


def test_approvals_groups_and_the_order_of_files_are_no_part_of_a_row(verdicts: Verdicts) -> None:
    Memory(verdicts, Asked()).remember([(ROW, SIGNED)])
    same = replace(ROW, attached=FILES[::-1], groups=("dev",), approved=approving(right=("a",)), capabilities=())
    assert Memory(verdicts, Asked()).known([same]) == {ROW.identity: SIGNED}


def test_another_basis_is_a_miss_and_none_remembers_nothing(verdicts: Verdicts) -> None:
    Memory(verdicts, Asked(None)).remember([(ROW, SIGNED)])
    assert Memory(verdicts, Asked(None)).known([ROW]) == {}
    assert Memory(verdicts, Asked()).known([ROW]) == {}
    Memory(verdicts, Asked(Basis(rules=1, root="1", keyset="before the revocation"))).remember([(ROW, SIGNED)])
    assert Memory(verdicts, Asked(Basis(rules=1, root="1", keyset="after it"))).known([ROW]) == {}
    assert Memory(verdicts, Asked(None)).known([ROW]) == {}


def test_a_result_that_is_not_of_todays_form_is_a_miss(verdicts: Verdicts) -> None:
    other = replace(ROW, id="acme/other")
    Memory(verdicts, Asked()).remember([(ROW, SIGNED), (other, SIGNED)])
    row = ("skill", "acme/work/pdf", "1.0.0", 3, "cd" * 32, "SKILL.md", "registry.example", 9, 2, "SHA256:abc", FILES)
    verdicts.put({verdicts.key("row", BASIS.encoded(), msgspec.msgpack.encode(row)): b"\x01"})
    assert Memory(verdicts, Asked()).known([ROW, other]) == {other.identity: SIGNED}


def test_a_row_of_a_git_source_is_remembered_for_its_commit_whoever_signed_it(verdicts: Verdicts) -> None:
    Memory(verdicts, Asked()).remember([(OF_GIT, SIGNED)])
    assert Memory(verdicts, Asked()).known([replace(OF_GIT, signer="SHA256:abc")]) == {OF_GIT.identity: SIGNED}
    for field in ("place", "ref", "commit", "tree"):
        assert Memory(verdicts, Asked()).known([from_source(**{**GIT, field: "main"})]) == {}
    assert Memory(verdicts, Asked()).known([replace(OF_GIT, source=None)]) == {}


def test_a_row_of_an_editable_folder_is_never_remembered(verdicts: Verdicts) -> None:
    editable = from_source(place="SKILL.md", path="../mine", editable=True)
    Memory(verdicts, Asked()).remember([(editable, SIGNED), (OF_FOLDER, SIGNED)])
    assert Memory(verdicts, Asked()).known([editable]) == {}
    assert Memory(verdicts, Asked()).known([OF_FOLDER]) == {OF_FOLDER.identity: SIGNED}


# whole locks

WHOLE: tuple[bytes, str, str, list[LockedItem]] = (b"lock", "manifests", "policies", [ROW])


def test_a_whole_lock_is_known_under_exactly_its_basis(tmp_path: Path) -> None:
    Memory(Verdicts(tmp_path / "verdicts", b"code"), Asked()).remember_whole(*WHOLE)
    verdicts = Verdicts(tmp_path / "verdicts", b"code")  # it was written at once
    assert Memory(verdicts, Asked()).knows_whole(*WHOLE)
    for other in ((b"x", *WHOLE[1:]), (b"lock", "x", *WHOLE[2:]), (b"lock", "manifests", "x", [ROW])):
        assert not Memory(verdicts, Asked()).knows_whole(*other)
    assert not Memory(verdicts, Asked(Basis(rules=1, root="2"))).knows_whole(*WHOLE)
    assert not Memory(Verdicts(tmp_path / "verdicts", b"other code"), Asked()).knows_whole(*WHOLE)


def test_a_whole_lock_is_one_row_without_content(verdicts: Verdicts) -> None:
    memory = Memory(verdicts, Asked())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdicts, "flush", lambda: None)
        memory.remember_whole(*WHOLE)
    basis = LockBasis(
        lock=b"lock", manifests="manifests", policies="policies", rows=(("registry.example", "acme", BASIS),)
    )
    key = verdicts.key("whole lock", basis.encoded())
    assert verdicts.get([key]) == {key: b""}


def test_a_whole_lock_without_a_basis_is_not_looked_up(verdicts: Verdicts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "get", lambda keys: dict.fromkeys(keys, b""))
    assert Memory(verdicts, Asked()).knows_whole(*WHOLE) is True
    assert Memory(verdicts, Asked(None)).knows_whole(*WHOLE) is False


def test_a_whole_lock_with_a_row_that_has_no_basis_is_neither_remembered_nor_known(verdicts: Verdicts) -> None:
    Memory(verdicts, Asked(None)).remember_whole(*WHOLE)
    assert not Memory(verdicts, Asked(None)).knows_whole(*WHOLE)
    Memory(verdicts, Asked()).remember_whole(*WHOLE)
    assert not Memory(verdicts, Asked(None)).knows_whole(*WHOLE)


def test_the_memory_of_a_user_is_in_their_own_folder_and_closed_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[Verdicts] = []
    monkeypatch.setattr(Verdicts, "close", lambda self: closed.append(self))
    home, other = (
        Home(tmp_path / name / "config", tmp_path / name / "data", tmp_path / name / "cache") for name in ("one", "two")
    )
    with user_memory(home) as memory:
        memory.remember([(OF_GIT, SIGNED)])
        memory.remember_whole(b"lock", "", "", [OF_GIT])
    with user_memory(home) as memory:
        assert memory.known([OF_GIT]) == {OF_GIT.identity: SIGNED}
        assert memory.knows_whole(b"lock", "", "", [OF_GIT])
    with user_memory(other) as memory:
        assert memory.known([OF_GIT]) == {}
    assert len(closed) == 3
