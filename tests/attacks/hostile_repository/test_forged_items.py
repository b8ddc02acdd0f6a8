"""Forged bytes with a matching lock, and rows that differ from their release (DESIGN 6.1, Verified here)."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

import pytest
from msgspec.structs import replace

from rye.items.consented import HookAction
from rye.items.identity import Identity
from rye.project.lock import LockedFile
from tests.attacks.hostile_repository.attacks import Attack, CloneAttackRunner, everywhere, rows
from tests.attacks.hostile_repository.clones import FORGED, Clone, Posture, says, unsigned
from tests.attacks.hostile_repository.upstream import (
    AGENT,
    BUNDLE,
    CHECK,
    DEPLOY,
    FORMULA,
    KNOWLEDGE,
    ROLE,
    SCRIPT,
    SKILL,
    TOOL,
    WIDE,
)
from tests.attacks.signed_items import directive, signed
from tests.registry.simulated_registry import key
from tests.scenes.approvals import but
from tests.scenes.effort import rest_thorough

pytestmark = pytest.mark.slow

Act = Callable[[Clone], object]
THIEF = key("thief")


def forged(identity: Identity, before: str, after: str, **words: object) -> Act:
    return lambda clone: clone.forge(identity, says(before, after), **words)


def row(identity: Identity, **words: object) -> Act:
    return lambda clone: clone.edit_row(identity, **words)


def with_rights(clone: Clone) -> None:
    """Add rights to the item; the lock lists and approves them."""
    wide = ("rye.execute.*", *clone.row(DEPLOY).capabilities)
    clone.forge(
        DEPLOY,
        says("</permissions>", "<execute>*</execute></permissions>"),
        capabilities=wide,
        approved=but(right=wide),
    )


def with_another_hook(clone: Clone) -> None:
    hook = HookAction("true", "tool", "shell/run", (("command", FORGED),))
    clone.forge(
        DEPLOY,
        lambda data: (
            says("cost.current &gt; 3", "true")(data) if b"&gt;" in data else says("cost.current > 3", "true")(data)
        ),
        hooks=(hook,),
        approved=but(hook=(hook,)),
    )


def without_restrictions(clone: Clone) -> None:
    """Remove the agent's write restrictions; the lock agrees."""
    limits = tuple(limit for limit in clone.row(AGENT).agent_limits if not limit.startswith("blocked"))
    clone.forge(AGENT, says("  blocked: [Write, WebFetch]\n", ""), agent_limits=limits, approved=but(limit=limits))


def swap_script(clone: Clone) -> None:
    """Replace a script of a skill and leave its SKILL.md unchanged."""
    data = b"#!/bin/sh\necho FORGED\n"
    clone.file_of(SKILL).parent.joinpath(SCRIPT).write_bytes(data)
    hashed = sha256(data).hexdigest()
    attached = tuple(
        replace(one, size=len(data), sha256=hashed) if one.path == SCRIPT else one for one in clone.row(SKILL).attached
    )
    runs = tuple(
        replace(run, sha256=hashed, action="#!/bin/sh, executable") if run.where == SCRIPT else run
        for run in clone.row(SKILL).runs
    )
    clone.edit_row(SKILL, attached=attached, runs=runs, approved=but(run=runs))


def add_script(clone: Clone) -> None:
    """Add a file that the lock also lists."""
    data = b"#!/bin/sh\necho FORGED\n"
    path = clone.file_of(SKILL).parent / "scripts/more.sh"
    path.write_bytes(data)
    path.chmod(0o755)
    more = LockedFile("scripts/more.sh", len(data), sha256(data).hexdigest(), True)
    clone.edit_row(SKILL, attached=(*clone.row(SKILL).attached, more))


def drop_script(clone: Clone) -> None:
    """Remove a file, in the lock as well."""
    clone.file_of(SKILL).parent.joinpath("notes.md").unlink()
    clone.edit_row(SKILL, attached=tuple(one for one in clone.row(SKILL).attached if one.path != "notes.md"))


def another_item(clone: Clone) -> None:
    """Put one genuine acme item in the place of another."""
    clone.forge(DEPLOY, lambda _: clone.file_of(CHECK).read_bytes())


def older_bytes(clone: Clone) -> None:
    """Put the bytes that acme signed as 1.0.0 in the place of 1.1.0."""
    text = directive(CHECK, "1.0.0", text="Check the work.") + "\n## Notes\n\nNone yet.\n"
    clone.forge(CHECK, lambda _: signed(CHECK, text, key("acme 1")))


def own_signature(clone: Clone) -> None:
    """Sign a text with the attacker's key, which the lock names."""
    clone.forge(
        DEPLOY,
        lambda _: signed(DEPLOY, directive(DEPLOY, text=FORGED), THIEF),
        signer=THIEF.public.fingerprint,
    )


def invented(clone: Clone) -> None:
    """Add a text signed by the namespace's own key but never released, as with a stolen key and no access to the log."""
    clone.forge(DEPLOY, lambda _: signed(DEPLOY, directive(DEPLOY, text=FORGED), key("acme 1")))


def carriage_returns(clone: Clone) -> None:
    """Write CR LF line endings: the signature's hash reads them as LF, the release's hash does not."""
    clone.forge(CHECK, lambda data: data.replace(b"\n", b"\r\n"))


def twin(clone: Clone) -> None:
    """Add a row for an item that no registry has."""
    data = signed(Identity("directive", "acme/ops/twin"), directive(DEPLOY, text=FORGED), THIEF)
    clone.write(".ai/packages/acme/directives/ops/twin.md", data)
    lock = clone.lock
    made = replace(clone.row(DEPLOY), id="acme/ops/twin", sha256=sha256(data).hexdigest(), size=len(data))
    clone.put_lock(replace(lock, items=(*lock.items, made)))


def flag(path: str, executable: bool) -> Act:
    def act(clone: Clone) -> None:
        clone.file_of(SKILL).parent.joinpath(path).chmod(0o755 if executable else 0o644)
        attached = tuple(
            replace(one, executable=executable) if one.path == path else one for one in clone.row(SKILL).attached
        )
        clone.edit_row(SKILL, attached=attached)

    return act


def renamed_file(clone: Clone) -> None:
    folder = clone.file_of(SKILL).parent
    folder.joinpath("notes.md").rename(folder / "other.md")
    attached = tuple(
        replace(one, path="other.md") if one.path == "notes.md" else one for one in clone.row(SKILL).attached
    )
    clone.edit_row(SKILL, attached=attached)


def position_of(identity: Identity, other: Identity) -> Act:
    return lambda clone: clone.edit_row(identity, log=clone.row(other).log)


_BYTES: dict[str, tuple[Identity, Act]] = {
    "other steps": (DEPLOY, forged(DEPLOY, "Do the work", FORGED)),
    "wider rights that the lock approves": (DEPLOY, with_rights),
    "another hook that the lock approves": (DEPLOY, with_another_hook),
    "no signature line": (DEPLOY, lambda clone: clone.forge(DEPLOY, unsigned)),
    "an agent without its restrictions": (AGENT, without_restrictions),
    "another inline command in a skill": (SKILL, forged(SKILL, "!`date`", "!`echo FORGED`")),
    "another script in a skill": (SKILL, swap_script),
    "one script more in a skill": (SKILL, add_script),
    "one file fewer in a skill": (SKILL, drop_script),
    "a renamed file in a skill": (SKILL, renamed_file),
    "other code of a tool": (TOOL, forged(TOOL, "print('run')", "print('FORGED')")),
    "another role": (ROLE, forged(ROLE, "You are the Builder", FORGED)),
    "another formula": (FORMULA, forged(FORMULA, "Send it out.", FORGED)),
    "other knowledge": (KNOWLEDGE, forged(KNOWLEDGE, "Ask before you delete.", FORGED)),
    "other members of a bundle": (BUNDLE, forged(BUNDLE, "zeta/ops/lint", "zeta/ops/evil")),
    "the signed bytes of another item": (DEPLOY, another_item),
    "the signed bytes of an older version": (CHECK, older_bytes),
    "bytes that the attacker signed": (DEPLOY, own_signature),
    "bytes that a stolen key signed and no log has": (DEPLOY, invented),
    "the signed text with other line endings": (CHECK, carriage_returns),
}

_ROWS: dict[str, tuple[Identity, Act]] = {
    "a higher version": (DEPLOY, row(DEPLOY, version="1.0.1")),
    "the version of another release": (WIDE, row(WIDE, version="1.1.0")),
    "another hash": (DEPLOY, row(DEPLOY, sha256="0" * 64)),
    "another size": (DEPLOY, row(DEPLOY, size=1)),
    "a script without its executable flag": (SKILL, flag(SCRIPT, False)),
    "a text with an executable flag": (SKILL, flag("notes.md", True)),
    "another signer": (DEPLOY, row(DEPLOY, signer=THIEF.public.fingerprint)),
    "another key of the same namespace as signer": (DEPLOY, row(DEPLOY, signer=key("acme 2").public.fingerprint)),
    "another keyset": (DEPLOY, row(DEPLOY, keyset=2)),
    "keyset nought": (DEPLOY, row(DEPLOY, keyset=0)),
    "the log position of another release": (DEPLOY, position_of(DEPLOY, CHECK)),
    "a log position beyond the log": (DEPLOY, row(DEPLOY, log=10**6)),
    "a negative log position": (DEPLOY, row(DEPLOY, log=-1)),
    "another registry": (DEPLOY, row(DEPLOY, registry="other.example")),
    "another suffix": (TOOL, row(TOOL, suffix=".sh")),
    "a row for an item that no registry has": (DEPLOY, twin),
    "fewer rights than the item has": (DEPLOY, row(DEPLOY, capabilities=(), approved=but(right=()))),
    "no hooks": (DEPLOY, row(DEPLOY, hooks=(), approved=but(hook=()))),
    "more restrictions than the agent has": (
        AGENT,
        row(AGENT, agent_limits=("blocked Bash", "blocked WebFetch", "blocked Write")),
    ),
    "fewer runs than the skill has": (SKILL, lambda clone: clone.edit_row(SKILL, runs=clone.row(SKILL).runs[:1])),
    "runs of other bytes": (
        SKILL,
        lambda clone: clone.edit_row(SKILL, runs=tuple(replace(one, sha256="0" * 64) for one in clone.row(SKILL).runs)),
    ),
}

_MISMATCH = everywhere("lock-mismatch", list="unverified", audit="lock-mismatch|changed-release|lock-does-not-fit|G5")
_CHANGED = everywhere("release-changed", list="unverified", audit="changed-release")
_OUTCOMES = {
    **dict.fromkeys(_BYTES, _CHANGED),
    **dict.fromkeys(_ROWS, _MISMATCH),
    **dict.fromkeys(
        (
            "another script in a skill",
            "one script more in a skill",
            "one file fewer in a skill",
            "a renamed file in a skill",
            "the signed bytes of an older version",
        ),
        _MISMATCH,
    ),
    "another hash": everywhere(
        "modified-item",
        install="edited-files|release-changed",
        repair="edited-files|release-changed",
        sbom="release-changed",
        check="release-changed",
        list="changed",
        audit="changed-release",
    ),
    "another registry": everywhere(
        "unverified-item",
        install="other-registry",
        repair="other-registry",
        check="other-registry",
        list="unverified",
        audit="lock-mismatch",
    ),
    "another suffix": everywhere(
        "not-locked",
        install="edited-files|lock-mismatch",
        repair="edited-files|lock-mismatch",
        sbom="lock-mismatch",
        check="lock-mismatch",
        list="unverified",
        audit="lock-mismatch",
    ),
    "a row for an item that no registry has": everywhere(
        "release-vanished", list="unverified", audit="changed-release", read="", rights="", diff=""
    ),
    "fewer rights than the item has": everywhere("lock-mismatch", list="unverified", audit="unapproved-right"),
    "no hooks": everywhere("lock-mismatch", list="unverified", audit="unapproved-hook"),
}
BYTES = tuple(
    Attack(name=name, act=act, outcomes=_OUTCOMES[name], item=item, postures=("given", "member"))
    for name, (item, act) in _BYTES.items()
)
ROWS = tuple(Attack(name=name, act=act, outcomes=_OUTCOMES[name], item=item) for name, (item, act) in _ROWS.items())
REMEMBERED = ("a higher version", "another size", "another signer", "another keyset", "no hooks")
"""The attacks that are also tried as a member, whose rye remembers the honest rows."""


@pytest.mark.parametrize(("attack", "posture"), rows(BYTES))
def test_forged_bytes_with_a_fitting_lock_are_used_by_nobody(
    runner: CloneAttackRunner, attack: Attack, posture: Posture
) -> None:
    """A member's rye remembers the honest rows, so only commands that just read a forged row differ."""
    brief = {group: attack.outcomes[group] for group in ("install", "read", "list")} if posture == "member" else None
    runner.perform(attack, posture, brief)


@pytest.mark.parametrize("attack", rest_thorough(6, BYTES), ids=lambda attack: attack.name)
def test_forged_bytes_are_used_by_nobody_without_a_network(runner: CloneAttackRunner, attack: Attack) -> None:
    runner.perform(attack, "offline", {"read": "unverified-item", "rights": "unverified-item", "list": "unverified"})


@pytest.mark.parametrize(
    "attack", [one for one in BYTES if one.item in (ROLE, FORMULA)], ids=lambda attack: attack.name
)
def test_forged_roles_and_formulas_prime_nobody(runner: CloneAttackRunner, attack: Attack) -> None:
    runner.perform(attack, "given", {"prime": "release-changed"})


@pytest.mark.parametrize(("attack", "posture"), rows(ROWS))
def test_a_row_that_is_not_its_release_s_is_used_by_nobody(
    runner: CloneAttackRunner, attack: Attack, posture: Posture
) -> None:
    runner.perform(attack, posture)


@pytest.mark.parametrize("attack", [one for one in ROWS if one.name in REMEMBERED], ids=lambda attack: attack.name)
def test_who_verified_the_honest_row_takes_no_other(runner: CloneAttackRunner, attack: Attack) -> None:
    runner.perform(attack, "member")
