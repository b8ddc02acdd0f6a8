"""The second client on real registries: what Rye published it confirms, and what somebody changed it refuses."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.clients_js.node import CLIENT, node
from tests.registry.simulated_registry import SimulatedRegistry, key
from tests.scenes.effort import rest_thorough
from tests.scenes.item_texts import skill
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

SKILL = "skill:acme/pdf@1.0.0"
SHIP = "directive:acme/work/ship@1.0.0"


@dataclass(frozen=True)
class Scene:
    registry: Registry
    acme: Person
    user: Person

    @property
    def pin(self) -> tuple[str, str]:
        return self.registry.url, self.registry.fingerprint

    @property
    def key(self) -> str:
        """The log's verifier key."""
        return run("verify-registry", *self.pin).rpartition("key of its log: ")[2].strip()


@pytest.fixture(scope="module")
def scene(registry: Registry, acme: Person) -> Scene:
    acme.write(".ai/skills/pdf/scripts/run.sh", "echo hello\n").chmod(0o755)
    acme.sign("skills/pdf/SKILL.md", skill("pdf"))
    acme.publish(".ai/skills/pdf")
    acme.release("work/base")
    acme.release("work/ship", depends=[("acme/work/base", "^1")])
    user = registry.user()
    user.ok("add", "acme/pdf", "acme/work/ship", "--yes")
    return Scene(registry, acme, user)


def run(*words: str | Path) -> str:
    """What the client confirms."""
    done = node(CLIENT / "rye.mjs", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refusal(*words: str | Path) -> str:
    """The code with which the client refuses."""
    done = node(CLIENT / "rye.mjs", *words)
    assert done.returncode == 1, (done.stdout, done.stderr)
    code = re.search(r"\[([a-z0-9-]+)\]\n$", done.stderr)
    assert code is not None, done.stderr
    return code[1]


@pytest.mark.thorough
def test_it_verifies_a_registry_a_release_and_its_files(scene: Scene) -> None:
    assert "3 releases" in run("verify-registry", *scene.pin)
    assert scene.user.ok("registry", "show", "--json").json["verifier_keys"] == [scene.key]
    assert "2 files" in run("verify-release", *scene.pin, SKILL)
    script = scene.acme.path(".ai/skills/pdf/scripts/run.sh")
    assert "scripts/run.sh" in run("verify-file", *scene.pin, SKILL, script)
    other = scene.user.write("other.sh", "echo goodbye\n")
    assert refusal("verify-file", *scene.pin, SKILL, other) == "other-bytes"
    assert refusal("verify-release", *scene.pin, "skill:acme/pdf@1.0.1") == "release-unknown"
    assert refusal("verify-registry", scene.registry.url, "0" * 64) == "root-fingerprint"


def a_log_with_policies() -> SimulatedRegistry:
    simulated = SimulatedRegistry(now=datetime.now(UTC).replace(microsecond=0))
    simulated.claim("acme")
    simulated.publish_policy(contact="https://acme.example/policy", rules=("limits.spend 2.5", 'namespaces ["acme"]'))
    simulated.publish_policy(rules=())
    simulated.publish()
    return simulated


def by_strangers(simulated: SimulatedRegistry) -> None:
    simulated.publish_policy([key("stranger 1"), key("stranger 2")])


def under_a_new_root(simulated: SimulatedRegistry, *, by_former: bool) -> None:
    former = simulated.owners
    simulated.owners = [key("owner 4"), key("owner 5")]
    simulated.add_root(signers=simulated.owner_signers([*former, *simulated.owners]))
    simulated.publish_policy(former if by_former else None)


@pytest.mark.parametrize(
    ("happens", "code"),
    rest_thorough(
        3,
        [
            (lambda r: r.publish_policy(), ""),
            (lambda r: under_a_new_root(r, by_former=False), ""),
            (by_strangers, "policy-signer"),
            (lambda r: under_a_new_root(r, by_former=True), "policy-signer"),
            (lambda r: r.publish_policy(number=2), "policy-chain"),
            (lambda r: r.publish_policy(number=4), "policy-chain"),
            (lambda r: r.publish_policy(number=1, previous=None), "policy-chain"),
            (lambda r: r.publish_policy(previous="0" * 64), "policy-chain"),
            (lambda r: r.publish_policy(time=r.now - timedelta(seconds=1)), "policy-chain"),
            (lambda r: r.publish_policy(origin="other.example"), "entry-foreign"),
        ],
    ),
)
def test_policies_of_the_owners_follow_each_other(
    tmp_path: Path, happens: Callable[[SimulatedRegistry], object], code: str
) -> None:
    simulated = a_log_with_policies()
    happens(simulated)
    simulated.publish()
    simulated.write_to(tmp_path)
    words = "verify-registry", tmp_path.as_uri(), simulated.fingerprint
    assert refusal(*words) == code if code else "0 releases" in run(*words)


@pytest.mark.thorough
def test_it_reads_a_folder_and_finds_each_changed_file(scene: Scene, tmp_path: Path) -> None:
    folder = tmp_path / "public"
    shutil.copytree(scene.registry.public, folder)
    pin = folder.as_uri(), scene.registry.fingerprint
    assert "3 releases" in run("verify-registry", *pin)
    for place in ("head", "root/1", "map/*", "index/*", "tile/0/*", "tile/entries/*"):
        files = sorted(folder.glob(place), key=lambda path: (path.stat().st_mtime, path.name))
        newest = [path for path in (files[-1:] if place.startswith("map") else files) if path.is_file()]
        kept = {path: path.read_bytes() for path in [*newest, *folder.glob(f"{place}/*")] if path.is_file()}
        assert kept, place
        for path, data in kept.items():
            path.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
        done = node(CLIENT / "rye.mjs", "verify-registry", *pin)
        assert done.returncode == 1, place
        for path, data in kept.items():
            path.write_bytes(data)
    for path in folder.glob("blobs/sha256/*/*"):
        path.write_bytes(path.read_bytes()[:-1] + b"!")
    assert refusal("verify-release", *pin, SKILL) == "blob-hash"


@pytest.mark.thorough
def test_what_it_saw_cannot_be_taken_back(scene: Scene, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    old = tmp_path / "old"
    shutil.copytree(scene.registry.public, old)
    scene.acme.release("work/base", "1.1.0")
    run("verify-registry", *scene.pin, "--state", state)
    seen = state.read_bytes()
    pin = old.as_uri(), scene.registry.fingerprint
    assert refusal("verify-registry", *pin, "--state", state) == "head-rollback"
    assert state.read_bytes() == seen
    run("verify-registry", *pin)


@pytest.mark.parametrize(
    ("pattern", "by", "code"),
    rest_thorough(
        1,
        [
            (r'sha256 = "[0-9a-f]{64}"', f'sha256 = "{"0" * 64}"', "release-changed"),
            (r'"1?\d",\n', '"9000",\n', "checkpoint-signature"),
            (r"executable = true", "executable = false", "lock-mismatch"),
            (r'version = "1.0.0"', 'version = "1.0.7"', "release-vanished"),
            (r"size = \d+\n", "size = 7\n", "release-changed"),
            (r"log = \d+", "log = 1", "lock-mismatch"),
            (r'signer = "SHA256:.', 'signer = "SHA256:_', "lock-mismatch"),
            (r'"directive:acme/work/base",\n', "", "lock-mismatch"),
            (r"version = 1\n", "version = 2\n", "bad-lock"),
            (r"facts-rules = \d+", 'surprise = "x"', "bad-lock"),
        ],
    ),
)
def test_a_changed_lock_is_not_what_was_released(
    scene: Scene, tmp_path: Path, pattern: str, by: str, code: str
) -> None:
    pin = f"{scene.registry.origin} {scene.registry.fingerprint} {scene.registry.url}"
    text = scene.user.path("rye.lock").read_text("utf-8")
    changed = tmp_path / "rye.lock"
    edited, count = re.subn(pattern, lambda _: by, text, count=1)
    assert count == 1
    changed.write_text(edited, "utf-8")
    assert refusal("verify-lock", changed, "--pin", pin) == code
    assert refusal("verify-lock", changed) in ("registry-unpinned", "bad-lock")


def test_a_lock_is_what_was_released(scene: Scene) -> None:
    lock = scene.user.path("rye.lock")
    pin = f"{scene.registry.origin} {scene.registry.fingerprint} {scene.registry.url}"
    assert "3 rows are as released" in run("verify-lock", lock, "--pin", pin)
    assert refusal("verify-lock", lock) == "registry-unpinned"


def test_a_lock_with_an_item_twice_is_none(scene: Scene, tmp_path: Path) -> None:
    """Each row for itself is as released; which of them is installed, such a lock does not say."""
    pin = f"{scene.registry.origin} {scene.registry.fingerprint} {scene.registry.url}"
    text = scene.user.path("rye.lock").read_text("utf-8")
    changed = tmp_path / "rye.lock"
    changed.write_text(text + text[text.rindex("[[item]]") :], "utf-8")
    assert refusal("verify-lock", changed, "--pin", pin) == "bad-lock"


@pytest.mark.thorough
def test_a_proof_is_checked_without_the_registry(scene: Scene, tmp_path: Path) -> None:
    path = tmp_path / "ship.tlog-proof"
    scene.user.ok("log", "prove", "acme/work/ship@1.0.0", "-o", str(path))
    item = scene.acme.path(".ai/directives/work/ship.md")
    assert "directive:acme/work/ship 1.0.0" in run("verify-proof", path, "--key", scene.key, "--item", item)
    base = scene.acme.path(".ai/directives/work/base.md")
    assert refusal("verify-proof", path, "--key", scene.key, "--item", base) == "other-bytes"
    assert refusal("verify-proof", path) == "proof-origin"
    text = path.read_text("utf-8")
    for pattern, by, code in (
        (r"(?<=\n)(\d+)(?=\n[A-Za-z0-9+/]{43}=\n\n)", "9", "checkpoint-signature"),
        (r"\n[A-Za-z0-9+/]{43}=\n", "\n", "proof-length"),
        (r"(?<=index )\d+", lambda found: str(int(found[0]) ^ 1), "proof-root"),
    ):
        edited = re.sub(pattern, by, text, count=1)
        assert edited != text
        path.write_text(edited, "utf-8")
        assert refusal("verify-proof", path, "--key", scene.key) == code


@pytest.mark.thorough
def test_a_yanked_and_a_revoked_release(scene: Scene) -> None:
    def confirmed(words: str) -> Any:
        return run("verify-release", *scene.pin, words)

    assert "yanked" not in confirmed(SHIP)
    scene.acme.ok("yank", "acme/work/ship@1.0.0", "--reason", "It ships too much", "--yes")
    assert "yanked" in confirmed(SHIP)


def test_wrong_words_are_explained() -> None:
    assert node(CLIENT / "rye.mjs").returncode == 2
    assert "Usage" in node(CLIENT / "rye.mjs", "verify-everything").stderr
