"""G1 … G6: a lock is a complete answer to its manifest, or the rule that it breaks is named (DESIGN 6.1, Complete)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from rye.consent.ask import approving
from rye.installation.completeness import Problem, does_not_fit, problems
from rye.items.consented import HookAction
from rye.items.identity import Identity
from rye.items.signed_release import SignedRelation, SignedRelease
from rye.project.lock import Lock, LockedItem
from rye.project.lock_file import wanted_ranges
from rye.project.manifest import Manifest, parse_manifest

TOP, BASE, LEAF = (Identity("directive", f"acme/work/{name}") for name in ("top", "base", "leaf"))
HOOK = HookAction("cost.current > 1", "directive", "acme/work/notify", ())


def item(
    identity: Identity, *needs: Identity, version: str = "1.0.0", groups: tuple[str, ...] = ("main",)
) -> LockedItem:
    return LockedItem(
        kind=identity.kind,
        id=identity.id,
        version=version,
        size=1,
        sha256="0" * 64,
        suffix=".md",
        registry="registry.example",
        log=1,
        keyset=1,
        signer="SHA256:x",
        dependencies=tuple(map(str, needs)),
        groups=groups,
        capabilities=("rye.search.tool.*",),
        approved=approving(right=("rye.search.tool.*",)),
        hooks=(HOOK,),
    )


def on(identity: Identity, wanted: str = "*") -> SignedRelation:
    return SignedRelation(identity.id, identity, wanted)


def manifest(text: str) -> Manifest:
    return parse_manifest(text)


MANIFEST = manifest('[dependencies]\n"acme/work/top" = "^1.0"\n')
SIGNED: Mapping[Identity, SignedRelease] = {
    TOP: SignedRelease(depends_on=(on(BASE, "^1.0"),)),
    BASE: SignedRelease(depends_on=(on(LEAF, ">=1.2 <2"),)),
    LEAF: SignedRelease(),
}


def lock(*items: LockedItem, wanted: Manifest = MANIFEST) -> Lock:
    return Lock(wanted_ranges(wanted), items)


WHOLE = lock(item(TOP, BASE), item(BASE, LEAF), item(LEAF, version="1.3.0"))


def found(
    given: Lock, signed: Mapping[Identity, SignedRelease] = SIGNED, wanted: Manifest = MANIFEST
) -> list[tuple[str, str]]:
    return [(problem.rule, problem.item) for problem in problems(wanted, given, signed)]


def changed(identity: Identity, **words: object) -> Lock:
    return Lock(WHOLE.wanted, tuple(replace(one, **words) if one.identity == identity else one for one in WHOLE.items))


def without(identity: Identity) -> Lock:
    return Lock(WHOLE.wanted, tuple(one for one in WHOLE.items if one.identity != identity))


def test_a_whole_lock_has_no_problem() -> None:
    assert found(WHOLE) == []
    assert found(WHOLE, signed={}) == []
    assert found(Lock(), wanted=manifest("")) == []


class TestG1:
    """Each dependency in rye.toml is locked, in its range and groups."""

    def test_a_direct_dependency_that_was_dropped(self) -> None:
        assert ("G1", "acme/work/top") in found(without(TOP))

    def test_a_locked_version_out_of_its_range(self) -> None:
        """rye.toml and [wanted] were both edited to ^2 over a locked 1.0.0."""
        wanted = manifest('[dependencies]\n"acme/work/top" = "^2"\n')
        [problem] = problems(wanted, lock(*WHOLE.items, wanted=wanted), SIGNED)
        assert (problem.rule, problem.item, problem.chain) == ("G1", "acme/work/top", ("rye.toml", "acme/work/top"))
        assert problem.message == "rye.toml asks for ^2, but 1.0.0 is locked"

    def test_a_lock_that_was_made_for_another_manifest(self) -> None:
        assert found(WHOLE, wanted=manifest('[dependencies]\n"acme/work/top" = "^1"\n')) == [("G1", "acme/work/top")]
        assert ("G1", "acme/work/top") in found(WHOLE, wanted=manifest(""))

    def test_a_group_that_the_entry_does_not_have(self) -> None:
        wanted = manifest('[groups.dev]\n"acme/work/top" = "^1.0"\n')
        assert ("G1", "acme/work/top") in found(lock(*WHOLE.items, wanted=wanted), wanted=wanted)

    def test_the_kind_counts(self) -> None:
        wanted = manifest('[dependencies]\n"tool:acme/work/top" = "^1.0"\n')
        assert ("G1", "tool:acme/work/top") in found(lock(*WHOLE.items, wanted=wanted), wanted=wanted)


class TestG2:
    """Each entry's dependencies are those of its signed release, each locked and in range."""

    def test_an_item_that_a_merge_lost(self) -> None:
        [problem] = problems(MANIFEST, without(LEAF), SIGNED)
        assert (problem.rule, problem.item) == ("G2", str(BASE))
        assert problem.message == f"it depends on {LEAF} >=1.2 <2, which is not locked"
        assert problem.chain == ("rye.toml", f"{TOP}@1.0.0", f"{BASE}@1.0.0", str(LEAF))

    def test_a_transitive_version_out_of_range(self) -> None:
        assert found(changed(LEAF, version="2.0.0")) == [("G2", str(BASE))]

    @pytest.mark.parametrize("says", [(), (str(LEAF), str(TOP)), (str(TOP),)])
    def test_an_entry_that_says_other_dependencies_than_its_release(self, says: tuple[str, ...]) -> None:
        assert ("G2", str(BASE)) in found(changed(BASE, dependencies=says))

    def test_what_the_environment_provides_is_not_needed_as_an_item(self) -> None:
        signed = {**SIGNED, LEAF: SignedRelease(requires=(on(Identity("tool", "acme/run/docker")),))}
        provided = manifest('[dependencies]\n"acme/work/top" = "^1.0"\n[environment]\nprovides = ["acme/run/docker"]\n')
        assert found(WHOLE, signed, provided) == []
        assert ("G2", str(LEAF)) in found(WHOLE, signed)


class TestG3:
    """An item's groups follow from reachability."""

    def test_a_main_item_that_the_lock_moves_to_another_group(self) -> None:
        """Otherwise ``ci --without dev`` would omit it."""
        assert found(changed(LEAF, groups=("dev",))) == [("G3", str(LEAF))]
        assert found(changed(LEAF, groups=("dev", "main"))) == [("G3", str(LEAF))]

    def test_a_group_reaches_through_every_chain(self) -> None:
        both = manifest('[dependencies]\n"acme/work/top" = "^1.0"\n[groups.dev]\n"acme/work/leaf" = "*"\n')
        whole = lock(*WHOLE.items, wanted=both)
        assert found(whole, wanted=both) == [("G1", "acme/work/leaf"), ("G3", str(LEAF))]
        fixed = tuple(replace(one, groups=("dev", "main")) if one.identity == LEAF else one for one in whole.items)
        assert found(Lock(whole.wanted, fixed), wanted=both) == []

    def test_a_line_that_may_mean_two_kinds_is_certain_of_neither(self) -> None:
        tool = Identity("tool", "acme/work/top")
        wanted = manifest('[dependencies]\n"acme/work/base" = "*"\n[groups.dev]\n"acme/work/top" = "*"\n')
        signed = {
            BASE: SignedRelease(depends_on=(on(tool),)),
            TOP: SignedRelease(),
            tool: SignedRelease(),
        }
        given = lock(item(BASE, tool), item(TOP, groups=("dev",)), item(tool), wanted=wanted)
        assert found(given, signed, wanted) == []


class TestG4:
    """Every entry is reachable."""

    def test_an_item_that_nobody_needs(self) -> None:
        stray = item(Identity("skill", "evil/stray"))
        assert found(Lock(WHOLE.wanted, (*WHOLE.items, stray))) == [("G4", "skill:evil/stray")]

    def test_two_items_that_need_each_other_and_nobody_else_does(self) -> None:
        one, other = Identity("directive", "evil/a/one"), Identity("directive", "evil/a/other")
        signed = {**SIGNED, one: SignedRelease(depends_on=(on(other),)), other: SignedRelease(depends_on=(on(one),))}
        given = Lock(WHOLE.wanted, (*WHOLE.items, item(one, other), item(other, one)))
        assert found(given, signed) == [("G4", str(one)), ("G4", str(other))]


class TestG5:
    """``approved ⊆ capabilities``, and so for hooks."""

    @pytest.mark.parametrize("approved", [("rye.*",), ("rye.search.*",), ("rye.execute.tool.acme.shell",)])
    def test_an_approval_of_more_than_the_item_asks_for(self, approved: tuple[str, ...]) -> None:
        """Otherwise no one would be asked when its next version requests that right."""
        assert found(changed(BASE, approved=approving(right=approved))) == [("G5", str(BASE))]

    @pytest.mark.parametrize("approved", [(), ("rye.search.tool.*",), ("rye.search.tool.acme.read",)])
    def test_an_approval_of_part_of_it(self, approved: tuple[str, ...]) -> None:
        assert found(changed(BASE, approved=approving(right=approved))) == []

    def test_an_approved_hook_that_the_item_does_not_have(self) -> None:
        other = replace(HOOK, when="true")
        assert found(changed(BASE, approved=approving(hook=(HOOK,)))) == []
        assert found(changed(BASE, approved=approving(hook=(other,)))) == [("G5", str(BASE))]


class TestG6:
    """``conflicts_with`` and ``requires`` hold."""

    def test_two_locked_items_that_exclude_each_other(self) -> None:
        signed = {**SIGNED, BASE: replace(SIGNED[BASE], conflicts_with=(on(TOP, "<2"),))}
        [problem] = problems(MANIFEST, WHOLE, signed)
        assert (problem.rule, problem.item, problem.repairable) == ("G6", str(BASE), False)
        assert problem.chain[-1] == f"{TOP}@1.0.0"

    def test_a_conflict_with_another_version_is_none(self) -> None:
        signed = {**SIGNED, BASE: replace(SIGNED[BASE], conflicts_with=(on(TOP, ">=2"),))}
        assert found(WHOLE, signed) == []

    def test_a_feature_that_the_project_no_longer_provides(self) -> None:
        signed = {**SIGNED, LEAF: SignedRelease(requires=(SignedRelation("docker-runtime", None),))}
        assert found(WHOLE, signed) == [("G6", str(LEAF))]
        provided = manifest('[dependencies]\n"acme/work/top" = "^1.0"\n[environment]\nprovides = ["docker-runtime"]\n')
        assert found(WHOLE, signed, provided) == []


def test_the_error_names_rule_item_and_chain() -> None:
    error = does_not_fit(problems(MANIFEST, without(LEAF), SIGNED))
    assert error.code == "lock-does-not-fit"
    assert f"G2 {BASE}: it depends on {LEAF}" in error.message
    assert f"(rye.toml → {TOP}@1.0.0 → {BASE}@1.0.0 → {LEAF})" in error.message
    assert error.hint is not None
    assert "`rye install`" in error.hint
    many = does_not_fit([Problem("G4", f"skill:evil/{number}", "nothing needs it") for number in range(5)])
    assert "and 2 more" in many.message
    hint = does_not_fit([Problem("G6", "x", "it conflicts")]).hint
    assert hint is not None
    assert hint.startswith("Change rye.toml")
