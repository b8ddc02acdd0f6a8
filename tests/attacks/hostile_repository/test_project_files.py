"""rye.toml and rye.lock in forms that no rye wrote: too large, too deep, another version, control characters, not files."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from rye.limits import PROJECT
from tests.attacks.hostile_repository.attacks import Attack, CloneAttackRunner, everywhere, rows
from tests.attacks.hostile_repository.clones import Clone, Posture
from tests.attacks.hostile_repository.upstream import DEPLOY, WIDE

pytestmark = pytest.mark.slow

Act = Callable[[Clone], object]


def lock(change: Callable[[str], str]) -> Act:
    return lambda clone: clone.edit_text("rye.lock", change)


def manifest(change: Callable[[str], str]) -> Act:
    return lambda clone: clone.manifest(change)


def bytes_of(name: str, change: Callable[[bytes], bytes]) -> Act:
    def act(clone: Clone) -> None:
        path = clone.path(name)
        path.write_bytes(change(path.read_bytes()))

    return act


def instead(name: str, make: Callable[[Clone], object]) -> Act:
    """Put something else in a file's place."""

    def act(clone: Clone) -> None:
        clone.path(name).unlink()
        make(clone)

    return act


def link(name: str, to: str) -> Act:
    return instead(name, lambda clone: clone.path(name).symlink_to(to))


def moved_out(name: str) -> Act:
    """Move the file out of the project and put a link to it in its place."""

    def act(clone: Clone) -> None:
        clone.path(name).rename(clone.outside / name)
        clone.path(name).symlink_to(clone.outside / name)

    return act


def said(code: str) -> dict[str, str]:
    """The outcome of one command of each sort; all of them read the file first."""
    return everywhere(code, rights="", diff="", sbom="")


def first_row(text: str) -> str:
    start = text.index("[[item]]")
    return text[start : text.index("[[item]]", start + 1)]


BAD_LOCK = said("bad-lock")
LOCKS = (
    Attack(name="a row twice", act=lock(lambda text: text + first_row(text)), outcomes=BAD_LOCK),
    Attack(
        name="an id with a capital letter",
        act=lock(lambda text: text.replace("ops/deploy", "ops/Deploy")),
        outcomes=BAD_LOCK,
    ),
    Attack(
        name="an id that leads upwards",
        act=lock(lambda text: text.replace("ops/deploy", "../deploy")),
        outcomes=BAD_LOCK,
    ),
    Attack(
        name="an attached file that leads upwards",
        act=lock(lambda text: text.replace('"notes.md"', '"../x.md"')),
        outcomes=BAD_LOCK,
    ),
    Attack(
        name="an attached file in another case",
        act=lock(lambda text: text.replace('path = "notes.md"', 'path = "skill.MD"')),
        outcomes=BAD_LOCK,
    ),
    Attack(
        name="a hidden attached file",
        act=lock(lambda text: text.replace('path = "notes.md"', 'path = ".notes.md"')),
        outcomes=BAD_LOCK,
    ),
    Attack(
        name="a hash in capital letters",
        act=lock(lambda text: text.replace('sha256 = "', 'sha256 = "AA', 1)),
        outcomes=BAD_LOCK,
    ),
    Attack(
        name="a lock of version 0",
        act=lock(lambda text: text.replace("version = 1\n", "version = 0\n")),
        outcomes=BAD_LOCK,
    ),
    Attack(
        name="a lock of a version to come",
        act=lock(lambda text: text.replace("version = 1\n", "version = 2\n")),
        outcomes=BAD_LOCK,
    ),
    Attack(
        name="a lock without a version", act=lock(lambda text: text.replace("version = 1\n", "")), outcomes=BAD_LOCK
    ),
    Attack(
        name="an unknown field",
        act=lock(lambda text: text.replace("keyset = 1\n", "keyset = 1\ntrusted = true\n")),
        outcomes=BAD_LOCK,
    ),
    Attack(name="an unknown table", act=lock(lambda text: text + '\n[accepted]\n"*" = true\n'), outcomes=BAD_LOCK),
    Attack(
        name="a size that is text",
        act=lock(lambda text: text.replace("size = ", 'size = "1" # ', 1)),
        outcomes=BAD_LOCK,
    ),
    Attack(
        name="lists inside each other",
        act=lock(lambda text: f"{text}x = {'[' * 20_000}{']' * 20_000}\n"),
        outcomes=BAD_LOCK,
    ),
    Attack(
        name="a key of many parts", act=lock(lambda text: f"{text}{'.'.join('a' * 5_000)} = 1\n"), outcomes=BAD_LOCK
    ),
    Attack(name="a byte order mark in the lock", act=lock(lambda text: "\ufeff" + text), outcomes=BAD_LOCK),
    Attack(
        name="a lock that is not UTF-8", act=bytes_of("rye.lock", lambda data: data + b"# \xff\n"), outcomes=BAD_LOCK
    ),
    Attack(
        name="a steering character in an unknown field",
        act=lock(lambda text: text.replace("keyset = 1\n", 'keyset = 1\n"\\u001b[2J\\u202e" = true\n', 1)),
        outcomes=BAD_LOCK,
        spoken=True,
    ),
    Attack(
        name="a steering character in a hook's condition",
        act=lock(lambda text: text.replace("cost.current > 3", "cost.current > 3\\u001b[2J\\u2028\\u202e")),
        outcomes={"install": "lock-mismatch", "rights": "lock-mismatch", "audit": "lock-mismatch"},
        spoken=True,
    ),
    Attack(
        name="a steering character in a signer",
        act=lock(lambda text: text.replace('signer = "SHA256:', 'signer = "\\u001b[2J\\u2028\\u202eSHA256:', 1)),
        outcomes={"install": "lock-mismatch", "audit": "lock-mismatch", "list": "unverified"},
        spoken=True,
    ),
    Attack(
        name="conflict markers",
        act=lock(
            lambda text: text.replace(
                first_row(text), f"<<<<<<< ours\n{first_row(text)}=======\n{first_row(text)}>>>>>>> b\n"
            )
        ),
        outcomes={**BAD_LOCK, "repair": "ok"},
    ),
    Attack(
        name="a lock beyond the limit",
        act=lambda clone: os.truncate(clone.path("rye.lock"), PROJECT.lock_bytes + 1),
        outcomes={"install": "file-too-large", "list": "file-too-large"},
    ),
    Attack(
        name="a folder as lock",
        act=instead("rye.lock", lambda clone: clone.path("rye.lock").mkdir()),
        outcomes=said("not-a-file"),
    ),
    Attack(
        name="a pipe as lock",
        act=instead("rye.lock", lambda clone: os.mkfifo(clone.path("rye.lock"))),
        outcomes=said("not-a-file"),
    ),
    Attack(name="a device as lock", act=link("rye.lock", "/dev/zero"), outcomes=said("not-a-file")),
    Attack(name="a link to itself as lock", act=link("rye.lock", "rye.lock"), outcomes=said("unreadable")),
    Attack(
        name="a lock that is a link",
        act=moved_out("rye.lock"),
        outcomes={"install": "symlink-in-the-way", "repair": "symlink-in-the-way", "read": "ok"},
    ),
)
BAD_MANIFEST = said("bad-manifest")
MANIFESTS = (
    Attack(
        name="an override that names a file",
        act=manifest(lambda text: text + f'\n[overrides]\n"{DEPLOY.id}" = {{ path = "evil.md" }}\n'),
        outcomes=BAD_MANIFEST,
    ),
    Attack(
        name="trust in the lock, by the manifest",
        act=manifest(lambda text: text.replace("[project]\n", "[project]\ntrust-lock = true\n")),
        outcomes=BAD_MANIFEST,
    ),
    Attack(
        name="pins by the manifest",
        act=manifest(lambda text: text + f'\n[pins]\n"registry.example" = "{"a" * 64}"\n'),
        outcomes=BAD_MANIFEST,
    ),
    Attack(
        name="a policy that nobody knows",
        act=manifest(lambda text: text + "\n[policy]\ntrust-lock = true\n"),
        outcomes=BAD_MANIFEST,
    ),
    Attack(
        name="a fact that is allowed",
        act=manifest(lambda text: text + '\n[policy.facts]\npipe-to-shell = "allow"\n'),
        outcomes=BAD_MANIFEST,
    ),
    Attack(
        name="a tier that does not exist",
        act=manifest(lambda text: text + '\n[policy.risk]\n"rye.*" = "harmless"\n'),
        outcomes=BAD_MANIFEST,
    ),
    Attack(
        name="conflict markers in rye.toml",
        act=manifest(lambda text: text.replace("[dependencies]\n", "[dependencies]\n<<<<<<< a\n=======\n>>>>>>> b\n")),
        outcomes=BAD_MANIFEST,
    ),
    Attack(
        name="lists inside each other in rye.toml",
        act=manifest(lambda text: f"{text}\n[x]\ny = {'[' * 20_000}{']' * 20_000}\n"),
        outcomes=BAD_MANIFEST,
    ),
    Attack(
        name="a key of many parts in rye.toml",
        act=manifest(lambda text: f"{'.'.join('a' * 5_000)} = 1\n{text}"),
        outcomes=BAD_MANIFEST,
    ),
    Attack(
        name="a rye.toml that is not UTF-8",
        act=bytes_of("rye.toml", lambda data: data + b"# \xff\n"),
        outcomes=BAD_MANIFEST,
    ),
    Attack(
        name="a key that steers",
        act=manifest(lambda text: text.replace("[project]\n", '[project]\n"\\u001b[2J\\u202e\\u2028" = 1\n')),
        outcomes=BAD_MANIFEST,
        spoken=True,
    ),
    Attack(
        name="a dependency on a path",
        act=manifest(lambda text: text.replace("[dependencies]\n", '[dependencies]\n"../../etc/passwd" = "*"\n')),
        outcomes=BAD_MANIFEST,
    ),
    Attack(
        name="a rye.toml beyond the limit",
        act=lambda clone: os.truncate(clone.path("rye.toml"), PROJECT.manifest_bytes + 1),
        outcomes=said("file-too-large"),
    ),
    Attack(
        name="a pipe as rye.toml",
        act=instead("rye.toml", lambda clone: os.mkfifo(clone.path("rye.toml"))),
        outcomes=said("not-a-file|no-manifest|no-registry|unverified-item"),
    ),
    Attack(
        name="a device as rye.toml",
        act=link("rye.toml", "/dev/zero"),
        outcomes=said("not-a-file|no-manifest|no-registry|unverified-item"),
    ),
    Attack(
        name="two thousand ranges in one",
        act=manifest(lambda text: text.replace('deploy" = "^1.0.0"', f'deploy" = "{"^1.0.0 || " * 2_000}*"')),
        outcomes={"install": "lock-does-not-fit", "repair": "bad-range", "check": "G1", "audit": "G1"},
    ),
    Attack(
        name="thousands of dependencies",
        act=manifest(
            lambda text: text.replace(
                "[dependencies]\n",
                "[dependencies]\n" + "".join(f'"acme/a/x{number}" = "*"\n' for number in range(3_000)),
            )
        ),
        outcomes={"install": "lock-does-not-fit", "check": "G1"},
    ),
)
HARMLESS = (
    Attack(
        name="a name that steers",
        act=manifest(lambda text: text.replace('name = "shop"', 'name = "\\u001b[2J\\u202eshop\\u2028"')),
        outcomes=everywhere("ok", list="ok|unverified", diff=""),
        spoken=True,
        mends=False,
    ),
    Attack(
        name="a comment that ends a line elsewhere",
        act=lock(lambda text: text.replace("version = 1\n", "version = 1 # \u2028<<<<<<< x\n")),
        outcomes=everywhere("ok", list="ok|unverified", diff=""),
        spoken=True,
    ),
    Attack(
        name="risk tiers that call everything safe",
        act=manifest(lambda text: text + '\n[policy.risk]\n"rye.*" = "safe"\n'),
        outcomes={"install": "ok", "read": "ok"},
        item=WIDE,
        mends=False,
    ),
)


@pytest.mark.parametrize(("attack", "posture"), rows(LOCKS))
def test_a_lock_that_rye_did_not_write(runner: CloneAttackRunner, attack: Attack, posture: Posture) -> None:
    runner.perform(attack, posture)


@pytest.mark.parametrize(("attack", "posture"), rows(MANIFESTS))
def test_a_manifest_that_says_what_it_cannot(runner: CloneAttackRunner, attack: Attack, posture: Posture) -> None:
    runner.perform(attack, posture)


@pytest.mark.thorough
@pytest.mark.parametrize(("attack", "posture"), rows(HARMLESS))
def test_what_changes_nothing_steers_nothing(runner: CloneAttackRunner, attack: Attack, posture: Posture) -> None:
    runner.perform(attack, posture)


def test_risk_tiers_of_a_repository_approve_nothing(runner: CloneAttackRunner) -> None:
    """Declaring everything safe in a repository skips no question about wider rights."""
    clone = runner.agreed()
    clone.manifest(lambda text: text + '\n[policy.risk]\n"rye.*" = "safe"\n')
    refused = clone.run("update", "--no-input", "--json")
    assert refused.error["code"] == "consent-needed"
    assert [asked["capability"] for change in refused.error["changes"] for asked in change["asks"]] == ["rye.execute.*"]
