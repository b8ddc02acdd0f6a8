"""A grant names who publishes the item that it is for, so that an item of the same id from elsewhere is another question
(DESIGN 6.1)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from rye.consent.ask import Ask
from rye.items.needs import Needs, parse_needs
from rye.items.signed_release import SignedRelease
from rye.limits import CONTENT
from rye.permissions.policy_table import PolicyTable
from rye.project.layout import Project
from rye.project.lock import Lock, LockedItem, LockedSource, lock_text
from rye.project.manifest import Manifest
from rye.signing.keys import PrivateKey
from rye.signing.sign_item import sign_bytes
from rye.signing.trust_store import TrustStore
from rye.storage.home import Home
from rye.verified.memory import Memory, stored_basis
from rye.workspace.context import LibraryContext
from rye.workspace.trusting.acceptance import remember
from rye.workspace.trusting.project_changes import (
    approval_in_force,
    grant_approvals,
    grants_in_force,
    own_publisher,
    published_by,
    publishers,
)

NOW = datetime(2026, 1, 2, tzinfo=UTC)
KEY, OTHER_KEY = PrivateKey(b"\x07" * 32), PrivateKey(b"\x08" * 32)
SIGNER = KEY.public.fingerprint
TOOL = "tool:acme/net/fetch"
CODE = b"def execute(params):\n    return params\n"
ROW = LockedItem(
    kind="tool",
    id="acme/net/fetch",
    version="1.0.0",
    size=1,
    sha256="ab" * 32,
    suffix=".py",
    registry="registry.example",
    log=4,
    keyset=1,
    signer="SHA256:a",
)
SOURCE = LockedSource(place="fetch.py", git="https://git.example/net", ref="HEAD", commit="1" * 40, tree="2" * 40)
OF_SOURCE = replace(ROW, registry=SOURCE.origin, log=0, keyset=0, signer=SOURCE.origin, source=SOURCE)
EVERY = {"rye.execute.tool.acme.net.fetch": "allow"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "work")
    made.ai.mkdir(parents=True)
    return made


def lock(project: Project, *rows: LockedItem) -> None:
    project.lock_path.write_text(lock_text(Lock({}, rows)))


def verified(home: Home, row: LockedItem, release: SignedRelease) -> None:
    """Act as if this user's Rye had verified the row."""
    verdicts = home.verdicts()
    Memory(verdicts, stored_basis(home)).remember([(row, release)])
    verdicts.flush()
    verdicts.close()


def signed_item(
    folder: Path, key: PrivateKey = KEY, place: str = "tools/net/fetch.py", data: bytes = CODE, kind: str = "tool"
) -> Path:
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(sign_bytes(data, kind, path.name, key, NOW))
    return path


# The question


def test_a_grant_names_the_publisher_of_its_tool_and_nobody_where_none_is_known() -> None:
    manifest = Manifest(sandbox={TOOL: Needs(env=("TOKEN",)), "tool:acme/b": Needs(("out/",))})
    asked: list[str] = []

    def publisher(name: str) -> str:
        asked.append(name)
        return "registry.example" if name == TOOL else ""

    assert grant_approvals(manifest, publisher) == [
        Ask("tool:acme/b", "grant", "write out/"),
        Ask(TOOL, "grant", "env TOKEN to registry.example"),
    ]
    assert sorted(asked) == ["tool:acme/b", TOOL]


@pytest.mark.parametrize(
    ("pattern", "item"),
    [
        ("rye.execute.tool.acme.net.fetch", "tool:acme/net/fetch"),
        ("rye.load.knowledge.acme", "knowledge:acme"),
        ("rye.execute.tool.acme.*", None),
        ("rye.execute.tool.acme.b?", None),
        ("rye.execute.tool.acme.[ab]", None),
        ("rye.execute.tool", None),
        ("rye.execute.tool.", None),
        ("rye.execute", None),
        ("other.execute.tool.acme.b", None),
        ("ryes.execute.tool.acme.b", None),
    ],
)
def test_a_call_without_asking_names_the_publisher_of_the_one_item_that_it_is_for(
    pattern: str, item: str | None
) -> None:
    asked: list[str] = []

    def publisher(name: str) -> str:
        asked.append(name)
        return "someone"

    manifest = Manifest(policy=PolicyTable(approval={pattern: "allow"}))
    said = f"{pattern} = allow{' for someone' if item else ''}"
    assert grant_approvals(manifest, publisher) == [Ask("[policy.approval]", "grant", said)]
    assert asked == ([item] if item else [])
    nobody = [Ask("[policy.approval]", "grant", f"{pattern} = allow")]
    assert grant_approvals(manifest) == grant_approvals(manifest, lambda _: "") == nobody


# Who it is


def test_an_item_of_a_registry_is_its_registrys_and_one_of_a_source_also_its_signers() -> None:
    assert published_by(ROW) == "registry.example"
    assert published_by(OF_SOURCE) == f"{SOURCE.origin}, not signed"
    assert published_by(replace(OF_SOURCE, signer="SHA256:b")) == f"{SOURCE.origin}, signed by SHA256:b"


def test_an_own_item_is_its_spaces_and_its_keys() -> None:
    assert [own_publisher(space, "SHA256:b") for space in ("project", "user", "system", "installed")] == [
        "this project, signed by SHA256:b",
        "your own space, signed by SHA256:b",
        "this machine, signed by SHA256:b",
        "installed, signed by SHA256:b",
    ]


def test_what_is_about_to_be_installed_comes_before_rye_lock_and_that_before_own_items(
    home: Home, project: Project
) -> None:
    other = replace(ROW, id="acme/b", registry="b.example")
    TrustStore(home.config).add(KEY.public, "me", "given", NOW)
    signed_item(project.ai)
    assert publishers(home, project, Manifest(namespace="acme"))(TOOL) == f"this project, signed by {SIGNER}"
    lock(project, replace(ROW, registry="old.example"), other)
    before = publishers(home, project, Manifest())
    assert [before(name) for name in (TOOL, "tool:acme/b", "tool:acme/c")] == ["old.example", "b.example", ""]
    after = publishers(home, project, Manifest(), [ROW])
    assert [after(name) for name in ("tool:acme/b", TOOL)] == ["b.example", "registry.example"]
    project.lock_path.write_text("torn")
    assert publishers(home, project, Manifest(), [ROW])(TOOL) == "registry.example"


def test_the_signer_of_a_source_is_who_signed_it_here_and_not_who_the_row_says(home: Home, project: Project) -> None:
    """Anyone who can commit writes rye.lock."""
    forged = replace(OF_SOURCE, signer="SHA256:forged")
    assert publishers(home, project, Manifest(), [OF_SOURCE])(TOOL) == f"{SOURCE.origin}, not signed"
    verified(home, OF_SOURCE, SignedRelease(signed_by="SHA256:b"))
    for row in (OF_SOURCE, forged):
        assert publishers(home, project, Manifest(), [row])(TOOL) == f"{SOURCE.origin}, signed by SHA256:b"
    verified(home, OF_SOURCE, SignedRelease())
    assert publishers(home, project, Manifest(), [OF_SOURCE])(TOOL) == f"{SOURCE.origin}, not signed"


Space = Callable[[Home, Project], Path]


@pytest.mark.parametrize(
    ("folder", "name", "said"),
    [
        (lambda _, project: project.ai, TOOL, "this project"),
        (lambda home, _: home.user_space, "tool:net/fetch", "your own space"),
        (lambda home, _: home.system_space, "tool:net/fetch", "this machine"),
    ],
)
def test_an_own_item_is_published_by_the_key_that_signed_all_of_it_and_that_this_user_trusts(
    home: Home, project: Project, folder: Space, name: str, said: str
) -> None:
    publisher = publishers(home, project, Manifest(namespace="acme"))
    assert publisher(name) == ""
    path = signed_item(folder(home, project))
    assert publisher(name) == ""
    store = TrustStore(home.config)
    store.add(OTHER_KEY.public, "other", "given", NOW)
    assert publisher(name) == ""
    store.add(KEY.public, "me", "given", NOW)
    assert publisher(name) == f"{said}, signed by {SIGNER}"
    assert publisher("tool:acme/other") == publisher(name.replace("tool", "role")) == ""
    whole = path.read_bytes()
    path.write_bytes(whole + b"# more\n")
    assert publisher(name) == ""
    path.write_bytes(whole + b"#" * CONTENT.item_bytes)
    assert publisher(name) == ""
    path.write_bytes(whole)
    store.revoke(SIGNER, NOW)
    assert publisher(name) == ""


def test_a_part_that_is_signed_is_not_the_item(home: Home, project: Project) -> None:
    """Anyone can have written the rest."""
    TrustStore(home.config).add(KEY.public, "me", "given", NOW)
    text = sign_bytes(CODE, "tool", "fetch.py", KEY, NOW)
    path = project.ai / "tools/fetch.py"
    path.parent.mkdir()
    path.write_bytes(text.replace(b"return params", b"return None"))
    assert publishers(home, project, Manifest())("tool:fetch") == ""
    path.write_bytes(text)
    assert publishers(home, project, Manifest())("tool:fetch") == f"this project, signed by {SIGNER}"


def test_a_key_that_the_project_proposes_counts_for_its_own_items_once_agreed_to_and_for_no_others(
    home: Home, project: Project
) -> None:
    keys = project.ai / "keys"
    keys.mkdir()
    (keys / "team.pem").write_text(KEY.public.pem)
    signed_item(project.ai)
    signed_item(home.user_space, place="tools/mine.py")
    publisher = publishers(home, project, Manifest(namespace="acme"))
    assert publisher(TOOL) == ""
    remember(home, project, [Ask("this project", "own-key", SIGNER)])
    assert publisher(TOOL) == f"this project, signed by {SIGNER}"
    assert publisher("tool:mine") == ""


def test_a_file_among_the_installed_ones_that_rye_lock_does_not_name_is_nobodys(home: Home, project: Project) -> None:
    TrustStore(home.config).add(KEY.public, "me", "given", NOW)
    signed_item(project.packages / "acme")
    assert publishers(home, project, Manifest())(TOOL) == ""
    lock(project)
    assert publishers(home, project, Manifest())(TOOL) == ""


# What counts


def context(home: Home) -> LibraryContext:
    return LibraryContext(cwd=Path(), home=home)


def test_a_yes_for_one_publishers_item_is_none_for_anothers(home: Home, project: Project) -> None:
    manifest = Manifest(
        sandbox={TOOL: parse_needs({"env": ["TOKEN"]})},
        policy=PolicyTable(approval={**EVERY, "rye.load.*": "allow"}),
    )
    lock(project, ROW)
    remember(home, project, grant_approvals(manifest, publishers(home, project, manifest)))
    assert grants_in_force(context(home), project, manifest, TOOL, "registry.example").env == ("TOKEN",)
    assert approval_in_force(context(home), project, manifest) == {**EVERY, "rye.load.*": "allow"}
    for publisher in ("", "other.example", "registry.example, not signed"):
        assert grants_in_force(context(home), project, manifest, TOOL, publisher) == Needs()
    lock(project, replace(ROW, registry="other.example"))
    assert approval_in_force(context(home), project, manifest) == {"rye.load.*": "allow"}
    project.lock_path.unlink()
    assert approval_in_force(context(home), project, manifest) == {"rye.load.*": "allow"}
