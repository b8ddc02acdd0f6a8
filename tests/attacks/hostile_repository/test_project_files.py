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
    Attack("a row twice", lock(lambda text: text + first_row(text)), BAD_LOCK),
    Attack("an id with a capital letter", lock(lambda text: text.replace("ops/deploy", "ops/Deploy")), BAD_LOCK),
    Attack("an id that leads upwards", lock(lambda text: text.replace("ops/deploy", "../deploy")), BAD_LOCK),
    Attack("an attached file that leads upwards", lock(lambda text: text.replace('"notes.md"', '"../x.md"')), BAD_LOCK),
    Attack(
        "an attached file in another case",
        lock(lambda text: text.replace('path = "notes.md"', 'path = "skill.MD"')),
        BAD_LOCK,
    ),
    Attack(
        "a hidden attached file", lock(lambda text: text.replace('path = "notes.md"', 'path = ".notes.md"')), BAD_LOCK
    ),
    Attack("a hash in capital letters", lock(lambda text: text.replace('sha256 = "', 'sha256 = "AA', 1)), BAD_LOCK),
    Attack("a lock of version 0", lock(lambda text: text.replace("version = 1\n", "version = 0\n")), BAD_LOCK),
    Attack("a lock of a version to come", lock(lambda text: text.replace("version = 1\n", "version = 2\n")), BAD_LOCK),
    Attack("a lock without a version", lock(lambda text: text.replace("version = 1\n", "")), BAD_LOCK),
    Attack(
        "an unknown field", lock(lambda text: text.replace("keyset = 1\n", "keyset = 1\ntrusted = true\n")), BAD_LOCK
    ),
    Attack("an unknown table", lock(lambda text: text + '\n[accepted]\n"*" = true\n'), BAD_LOCK),
    Attack("a size that is text", lock(lambda text: text.replace("size = ", 'size = "1" # ', 1)), BAD_LOCK),
    Attack("lists inside each other", lock(lambda text: f"{text}x = {'[' * 20_000}{']' * 20_000}\n"), BAD_LOCK),
    Attack("a key of many parts", lock(lambda text: f"{text}{'.'.join('a' * 5_000)} = 1\n"), BAD_LOCK),
    Attack("a byte order mark in the lock", lock(lambda text: "\ufeff" + text), BAD_LOCK),
    Attack("a lock that is not UTF-8", bytes_of("rye.lock", lambda data: data + b"# \xff\n"), BAD_LOCK),
    Attack(
        "a steering character in an unknown field",
        lock(lambda text: text.replace("keyset = 1\n", 'keyset = 1\n"\\u001b[2J\\u202e" = true\n', 1)),
        BAD_LOCK,
        spoken=True,
    ),
    Attack(
        "a steering character in a hook's condition",
        lock(lambda text: text.replace("cost.current > 3", "cost.current > 3\\u001b[2J\\u2028\\u202e")),
        {"install": "lock-mismatch", "rights": "lock-mismatch", "audit": "lock-mismatch"},
        spoken=True,
    ),
    Attack(
        "a steering character in a signer",
        lock(lambda text: text.replace('signer = "SHA256:', 'signer = "\\u001b[2J\\u2028\\u202eSHA256:', 1)),
        {"install": "lock-mismatch", "audit": "lock-mismatch", "list": "unverified"},
        spoken=True,
    ),
    Attack(
        "conflict markers",
        lock(
            lambda text: text.replace(
                first_row(text), f"<<<<<<< ours\n{first_row(text)}=======\n{first_row(text)}>>>>>>> b\n"
            )
        ),
        {**BAD_LOCK, "repair": "ok"},
    ),
    Attack(
        "a lock beyond the limit",
        lambda clone: os.truncate(clone.path("rye.lock"), PROJECT.lock_bytes + 1),
        {"install": "file-too-large", "list": "file-too-large"},
    ),
    Attack("a folder as lock", instead("rye.lock", lambda clone: clone.path("rye.lock").mkdir()), said("not-a-file")),
    Attack("a pipe as lock", instead("rye.lock", lambda clone: os.mkfifo(clone.path("rye.lock"))), said("not-a-file")),
    Attack("a device as lock", link("rye.lock", "/dev/zero"), said("not-a-file")),
    Attack("a link to itself as lock", link("rye.lock", "rye.lock"), said("unreadable")),
    Attack(
        "a lock that is a link",
        moved_out("rye.lock"),
        {"install": "symlink-in-the-way", "repair": "symlink-in-the-way", "read": "ok"},
    ),
)
BAD_MANIFEST = said("bad-manifest")
MANIFESTS = (
    Attack(
        "an override that names a file",
        manifest(lambda text: text + f'\n[overrides]\n"{DEPLOY.id}" = {{ path = "evil.md" }}\n'),
        BAD_MANIFEST,
    ),
    Attack(
        "trust in the lock, by the manifest",
        manifest(lambda text: text.replace("[project]\n", "[project]\ntrust-lock = true\n")),
        BAD_MANIFEST,
    ),
    Attack(
        "pins by the manifest",
        manifest(lambda text: text + f'\n[pins]\n"registry.example" = "{"a" * 64}"\n'),
        BAD_MANIFEST,
    ),
    Attack("a policy that nobody knows", manifest(lambda text: text + "\n[policy]\ntrust-lock = true\n"), BAD_MANIFEST),
    Attack(
        "a fact that is allowed",
        manifest(lambda text: text + '\n[policy.facts]\npipe-to-shell = "allow"\n'),
        BAD_MANIFEST,
    ),
    Attack(
        "a tier that does not exist",
        manifest(lambda text: text + '\n[policy.risk]\n"rye.*" = "harmless"\n'),
        BAD_MANIFEST,
    ),
    Attack(
        "conflict markers in rye.toml",
        manifest(lambda text: text.replace("[dependencies]\n", "[dependencies]\n<<<<<<< a\n=======\n>>>>>>> b\n")),
        BAD_MANIFEST,
    ),
    Attack(
        "lists inside each other in rye.toml",
        manifest(lambda text: f"{text}\n[x]\ny = {'[' * 20_000}{']' * 20_000}\n"),
        BAD_MANIFEST,
    ),
    Attack(
        "a key of many parts in rye.toml", manifest(lambda text: f"{'.'.join('a' * 5_000)} = 1\n{text}"), BAD_MANIFEST
    ),
    Attack("a rye.toml that is not UTF-8", bytes_of("rye.toml", lambda data: data + b"# \xff\n"), BAD_MANIFEST),
    Attack(
        "a key that steers",
        manifest(lambda text: text.replace("[project]\n", '[project]\n"\\u001b[2J\\u202e\\u2028" = 1\n')),
        BAD_MANIFEST,
        spoken=True,
    ),
    Attack(
        "a dependency on a path",
        manifest(lambda text: text.replace("[dependencies]\n", '[dependencies]\n"../../etc/passwd" = "*"\n')),
        BAD_MANIFEST,
    ),
    Attack(
        "a rye.toml beyond the limit",
        lambda clone: os.truncate(clone.path("rye.toml"), PROJECT.manifest_bytes + 1),
        said("file-too-large"),
    ),
    Attack(
        "a pipe as rye.toml",
        instead("rye.toml", lambda clone: os.mkfifo(clone.path("rye.toml"))),
        said("not-a-file|no-manifest|no-registry|unverified-item"),
    ),
    Attack(
        "a device as rye.toml",
        link("rye.toml", "/dev/zero"),
        said("not-a-file|no-manifest|no-registry|unverified-item"),
    ),
    Attack(
        "two thousand ranges in one",
        manifest(lambda text: text.replace('deploy" = "^1.0.0"', f'deploy" = "{"^1.0.0 || " * 2_000}*"')),
        {"install": "lock-does-not-fit", "repair": "bad-range", "check": "G1", "audit": "G1"},
    ),
    Attack(
        "thousands of dependencies",
        manifest(
            lambda text: text.replace(
                "[dependencies]\n",
                "[dependencies]\n" + "".join(f'"acme/a/x{number}" = "*"\n' for number in range(3_000)),
            )
        ),
        {"install": "lock-does-not-fit", "check": "G1"},
    ),
)
HARMLESS = (
    Attack(
        "a name that steers",
        manifest(lambda text: text.replace('name = "shop"', 'name = "\\u001b[2J\\u202eshop\\u2028"')),
        everywhere("ok", list="ok|unverified", diff=""),
        spoken=True,
        mends=False,
    ),
    Attack(
        "a comment that ends a line elsewhere",
        lock(lambda text: text.replace("version = 1\n", "version = 1 # \u2028<<<<<<< x\n")),
        everywhere("ok", list="ok|unverified", diff=""),
        spoken=True,
    ),
    Attack(
        "risk tiers that call everything safe",
        manifest(lambda text: text + '\n[policy.risk]\n"rye.*" = "safe"\n'),
        {"install": "ok", "read": "ok"},
        WIDE,
        mends=False,
    ),
)


@pytest.mark.parametrize(("attack", "posture"), rows(LOCKS))
def test_a_lock_that_rye_did_not_write(runner: CloneAttackRunner, attack: Attack, posture: Posture) -> None:
    runner.perform(attack, posture)


@pytest.mark.parametrize(("attack", "posture"), rows(MANIFESTS))
def test_a_manifest_that_says_what_it_cannot(runner: CloneAttackRunner, attack: Attack, posture: Posture) -> None:
    runner.perform(attack, posture)


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
