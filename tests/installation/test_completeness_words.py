"""Each way in which a lock does not fit its manifest: the rule, what is said, and the chain that leads there (DESIGN 6.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from rye.consent.ask import approving
from rye.installation.completeness import OTHER_REGISTRY, RULES, Problem, does_not_fit, next_step, problems
from rye.items.consented import HookAction, Run
from rye.items.identity import Identity
from rye.items.signed_release import Mention, SignedRelation, SignedRelease
from rye.project.lock import Lock
from rye.project.lock_file import wanted_ranges
from rye.project.manifest import Manifest
from rye.text.facts.fact import RULES_VERSION
from tests.installation.test_completeness import BASE, LEAF, MANIFEST, SIGNED, TOP, WHOLE, item, lock, manifest, on

TO_TOP = ("rye.toml", f"{TOP}@1.0.0")
TO_BASE = (*TO_TOP, f"{BASE}@1.0.0")
TO_LEAF = (*TO_BASE, f"{LEAF}@1.3.0")
RUN = Run("tool-code", "run.py", "python", "ab" * 32)
Said = tuple[str, str, str, tuple[str, ...]]


def said(given: Lock, signed: Mapping[Identity, SignedRelease] = SIGNED, wanted: Manifest = MANIFEST) -> list[Said]:
    return [(found.rule, found.item, found.message, found.chain) for found in problems(wanted, given, signed)]


def changed(identity: Identity, **words: Any) -> Lock:
    return Lock(WHOLE.wanted, tuple(replace(one, **words) if one.identity == identity else one for one in WHOLE.items))


def of(identity: Identity, rule: str, message: str, chain: tuple[str, ...]) -> list[Said]:
    return [(rule, str(identity), message, chain)]


# G1


def test_a_line_that_is_not_locked_in_its_group_or_range_is_said() -> None:
    line = "acme/work/top"
    wanted = manifest(f'[dependencies]\n"{line}" = "^2"\n')
    here = ("rye.toml", line)
    only = lock(wanted=wanted)
    assert said(only, wanted=wanted) == [("G1", line, "rye.toml asks for ^2, but it is not locked", here)]
    made = ("G1", line, "rye.toml asks for ^2, but rye.lock was made for ^1.0", here)
    assert said(Lock(WHOLE.wanted, (replace(item(TOP), version="2.0.0"),)), {TOP: SignedRelease()}, wanted) == [made]
    unknown = ("G1", line, "rye.toml asks for ^2, but rye.lock was made for a rye.toml without it", here)
    assert said(Lock({}, (replace(item(TOP), version="2.0.0"),)), {TOP: SignedRelease()}, wanted) == [unknown]
    group = manifest(f'[groups.dev]\n"{line}" = "^1.0"\n')
    found = said(lock(item(TOP), wanted=group), {TOP: SignedRelease()}, group)
    assert found[0] == ("G1", line, "rye.toml has it in the group 'dev', but rye.lock does not", here)
    assert found[1][:3] == ("G3", str(TOP), "the groups that need it are dev; rye.lock says main")
    nothing = manifest("")
    gone = "rye.lock was made for a rye.toml that asks for it, but this one does not"
    assert said(Lock({"b": "*", "a": "*"}), wanted=nothing) == [("G1", "a", gone, ()), ("G1", "b", gone, ())]


def test_a_line_without_a_kind_is_satisfied_by_any_kind_that_fits() -> None:
    tool = Identity("tool", "acme/work/top")
    signed = {TOP: SignedRelease(), tool: SignedRelease()}
    wanted = manifest('[dependencies]\n"acme/work/top" = "^2"\n')
    both = lock(item(TOP), item(tool, version="2.1.0"), wanted=wanted)
    assert [found for found in said(both, signed, wanted) if found[0] == "G1"] == []
    neither = lock(item(TOP), item(tool), wanted=wanted)
    message = "rye.toml asks for ^2, but 1.0.0 and 1.0.0 is locked"
    assert said(neither, signed, wanted) == [("G1", "acme/work/top", message, ("rye.toml", "acme/work/top"))]
    named = manifest('[dependencies]\n"tool:acme/work/top" = "^1"\n')
    assert said(lock(item(tool), wanted=named), signed, named) == []


SOURCES = '[sources]\nteam = { git = "https://h/a", rev = "v2" }\n'


def test_a_source_in_another_state_is_said() -> None:
    wanted = manifest(SOURCES)
    spec = "git+https://h/a#v2"
    message = f"rye.toml has it at {spec}, but rye.lock was made for "
    (key,) = wanted_ranges(wanted)
    assert said(Lock(wanted_ranges(wanted)), wanted=wanted) == []
    other = said(Lock({key: "git+https://h/a#v1"}), wanted=wanted)
    assert other == [("G1", key, message + "git+https://h/a#v1", ("rye.toml", "team"))]
    assert said(Lock({}), wanted=wanted) == [("G1", key, message + "a rye.toml without it", ("rye.toml", "team"))]


FORCING = manifest('[dependencies]\n"acme/work/top" = "^1.0"\n[overrides]\n"acme/work/leaf" = "^3"\n')


def forcing(**words: Any) -> Lock:
    return Lock(wanted_ranges(FORCING), changed(LEAF, **words).items)


def test_a_forced_range_replaces_the_others_and_must_be_recorded() -> None:
    assert said(forcing(version="3.1.0", forced="^3"), wanted=FORCING) == []
    chain = (*TO_BASE, f"{LEAF}@3.1.0")
    here = "[overrides] of rye.toml forces ^3, but rye.lock "
    assert said(forcing(version="3.1.0"), wanted=FORCING) == of(LEAF, "G1", here + "does not have it as forced", chain)
    other = said(forcing(version="3.1.0", forced="^2"), wanted=FORCING)
    assert other == of(LEAF, "G1", here + "has it as forced to ^2", chain)
    unasked = "[overrides] of rye.toml does not force it, but rye.lock has it as forced to ^3"
    assert said(changed(LEAF, forced="^3")) == of(LEAF, "G1", unasked, TO_LEAF)
    outside = said(forcing(forced="^3"), wanted=FORCING)
    assert outside[0] == ("G1", str(LEAF), "[overrides] of rye.toml forces ^3, but 1.3.0 is locked", TO_LEAF)
    assert outside[1:] == of(BASE, "G2", f"it depends on {LEAF} ^3, but 1.3.0 is locked", TO_LEAF)


def test_a_forced_range_counts_for_a_line_of_the_manifest_as_well() -> None:
    wanted = manifest('[dependencies]\n"acme/work/top" = "^1.0"\n[overrides]\n"acme/work/top" = "^2"\n')
    given = Lock(wanted_ranges(wanted), (replace(item(TOP, version="2.0.0"), forced="^2"),))
    assert said(given, {TOP: SignedRelease()}, wanted) == []


# G2


def test_dependencies_are_those_of_the_signed_release() -> None:
    message = f"its signed release depends on {LEAF}; rye.lock says otherwise"
    assert said(changed(BASE, dependencies=())) == of(BASE, "G2", message, TO_BASE)
    assert said(changed(BASE, dependencies=(str(LEAF), str(LEAF)))) == of(BASE, "G2", message, TO_BASE)
    more = said(changed(LEAF, dependencies=(str(TOP),)))
    assert more == of(LEAF, "G2", "its signed release depends on nothing; rye.lock says otherwise", TO_LEAF)
    two = {**SIGNED, TOP: SignedRelease(depends_on=(on(LEAF), on(BASE)))}
    assert said(changed(TOP, dependencies=(str(LEAF), str(BASE))), two) == []
    told = said(changed(TOP, dependencies=()), two)[0][2]
    assert told == f"its signed release depends on {BASE}, {LEAF}; rye.lock says otherwise"
    assert said(changed(BASE, dependencies=()), {**SIGNED, BASE: SignedRelease()})[0][:2] == ("G4", str(LEAF))


def test_a_dependency_that_is_missing_or_out_of_range_is_said_with_its_chain() -> None:
    alone = Lock(WHOLE.wanted, WHOLE.items[:2])
    assert said(alone) == of(BASE, "G2", f"it depends on {LEAF} >=1.2 <2, which is not locked", (*TO_BASE, str(LEAF)))
    any_version = {**SIGNED, BASE: SignedRelease(depends_on=(on(LEAF),))}
    assert said(alone, any_version)[0][2] == f"it depends on {LEAF}, which is not locked"
    assert said(alone, {TOP: SIGNED[TOP]})[0][2] == f"it depends on {LEAF}, which is not locked"
    outside = said(changed(LEAF, version="2.0.0"))
    assert outside == of(BASE, "G2", f"it depends on {LEAF} >=1.2 <2, but 2.0.0 is locked", (*TO_BASE, f"{LEAF}@2.0.0"))
    assert said(changed(LEAF, version="1.3.0-rc.1")) == []
    assert said(changed(LEAF, version="newest"))[0][:2] == ("G2", str(BASE))


# G3 and G4


def test_what_no_line_reaches_is_said_without_a_chain() -> None:
    stray = Identity("skill", "evil/stray")
    given = Lock(WHOLE.wanted, (*WHOLE.items, item(stray)))
    assert said(given) == of(stray, "G4", "nothing in rye.toml needs it", ())
    two = manifest('[dependencies]\n"acme/work/top" = "^1.0"\n[groups.dev]\n"acme/work/leaf" = "*"\n')
    told = said(Lock(wanted_ranges(two), changed(LEAF, groups=("zeta", "dev")).items), wanted=two)
    chain = ("rye.toml", f"{LEAF}@1.3.0")
    assert told == of(LEAF, "G3", "the groups that need it are dev, main; rye.lock says dev, zeta", chain)


def test_a_chain_is_a_shortest_one() -> None:
    both = manifest('[dependencies]\n"acme/work/top" = "^1.0"\n"acme/work/base" = "*"\n')
    told = said(Lock(wanted_ranges(both), changed(LEAF, version="9.0.0").items), wanted=both)
    assert told[0][3] == ("rye.toml", f"{BASE}@1.0.0", f"{LEAF}@9.0.0")


# G5


RELEASE = SignedRelease(
    agent_tools=("Read",), agent_limits=("blocked Bash",), runs=(RUN,), mentions=(Mention("command", "make", "alarm", "a", 1),)
)  # fmt: skip


def approves(release: SignedRelease | None = RELEASE, **words: Any) -> list[Said]:
    signed = {**SIGNED, LEAF: release} if release is not None else {TOP: SIGNED[TOP], BASE: SIGNED[BASE]}
    given = {"agent_tools": ("Read",), "agent_limits": ("blocked Bash",), "runs": (RUN,), **words}
    return said(changed(LEAF, **given), signed)


def test_an_approval_of_everything_that_an_item_has_is_no_problem() -> None:
    assert approves() == []
    whole = approving(run=(RUN,), tool=("Read",), limit=("blocked Bash",), fact=("command make",))
    assert approves(approved=whole) == []
    assert approves(replace(RELEASE, mentions=None), approved=whole) == []
    assert approves(None, approved=whole) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"right": ("rye.*",)}, "the right rye.*, which it does not ask for"),
        (
            {"right": ("rye.execute.*", "rye.search.tool.*")},
            "the right rye.execute.*, which it does not ask for",
        ),
        ({"hook": (HookAction("x", "tool", "a/b"),)}, "a hook that it does not have: execute tool a/b"),
        (
            {"run": (replace(RUN, sha256="cd" * 32),)},
            "code to run that it does not contain: tool-code run.py",
        ),
        ({"tool": ("Edit",)}, "more of the agent program's tools than it asks for: Edit"),
        ({"fact": ("command rm",)}, "a fact that it does not have: command rm"),
    ],
)
def test_an_approval_of_more_than_an_item_asks_for_is_said(words: dict[str, Any], message: str) -> None:
    """Otherwise its next version would have it without a question."""
    words = {**words, **({"limit": ("blocked Bash",)} if "tool" in words else {})}
    assert approves(approved=approving(RULES_VERSION, **words)) == of(
        LEAF, "G5", f"rye.lock approves {message}", TO_LEAF
    )


def test_what_a_row_says_of_itself_counts_only_where_the_bytes_were_not_examined() -> None:
    """The note alone lists neither runs nor tools; once the bytes are known, the row's own words count for nothing."""
    other = replace(RUN, where="evil.py")
    words: dict[str, Any] = {
        "runs": (other,), "agent_tools": ("Edit",), "agent_limits": ("blocked Bash",),
        "approved": approving(run=(other,), tool=("Edit",), limit=("blocked Bash",)),
    }  # fmt: skip
    for unexamined in (replace(RELEASE, mentions=None), None):
        assert approves(unexamined, **words) == []
        assert approves(unexamined, approved=approving(fact=("command rm",))) == []
    assert [found[2].partition(": ")[2] for found in approves(**words)] == ["tool-code evil.py", "Edit"]
    assert [found[2].partition(": ")[2] for found in approves(replace(RELEASE, mentions=()), **words)] == [
        "tool-code evil.py",
        "Edit",
    ]


def test_facts_by_other_rules_are_not_compared() -> None:
    assert approves(approved=approving(RULES_VERSION + 1, fact=("command rm",))) == []


# G6


def test_a_conflict_and_a_missing_feature_are_said_with_their_chains() -> None:
    signed = {
        **SIGNED,
        BASE: replace(SIGNED[BASE], conflicts_with=(on(LEAF, "<2"), on(BASE), SignedRelation("x", None))),
    }
    message = f"it conflicts with {LEAF} <2, but 1.3.0 is locked"
    assert said(WHOLE, signed) == of(BASE, "G6", message, (*TO_BASE, f"{LEAF}@1.3.0"))
    requiring = {**SIGNED, LEAF: SignedRelease(requires=(SignedRelation("docker-runtime", None),))}
    message = "it requires docker-runtime, which [environment] provides of rye.toml does not list"
    assert said(WHOLE, requiring) == of(LEAF, "G6", message, (*TO_LEAF, "docker-runtime"))


def test_an_item_that_will_be_removed_conflicts_with_nothing() -> None:
    stray = Identity("skill", "evil/stray")
    given = Lock(WHOLE.wanted, (*WHOLE.items, item(stray)))
    against = {**SIGNED, stray: SignedRelease(conflicts_with=(on(TOP),), requires=(SignedRelation("x", None),))}
    assert [found[0] for found in said(given, against)] == ["G4"]
    with_it = {**SIGNED, stray: SignedRelease(), TOP: replace(SIGNED[TOP], conflicts_with=(on(stray),))}
    assert [found[0] for found in said(given, with_it)] == ["G4"]


# The error


def test_problems_come_by_rule_item_and_message() -> None:
    given = Lock({}, changed(LEAF, version="9.0.0", groups=("dev",), approved=approving(right=("rye.*", "*"))).items)
    found = problems(MANIFEST, given, SIGNED)
    assert [one.rule for one in found] == ["G1", "G2", "G3", "G5", "G5"]
    assert found == sorted(found, key=lambda one: (one.rule, one.item, one.message))
    assert set(RULES) == {"G1", "G2", "G3", "G4", "G5", "G6"}
    assert OTHER_REGISTRY == "other-registry"


def test_the_error_lists_three_problems_and_gives_all_to_programs() -> None:
    many = [Problem("G4", f"skill:a/{number}", "nothing needs it") for number in range(4)]
    error = does_not_fit(many)
    lines = [f"  G4 skill:a/{number}: nothing needs it" for number in range(3)]
    assert error.message == "\n".join(["rye.lock does not match rye.toml:", *lines, "  and 1 more"])
    assert error.details == {
        "problems": [
            {"rule": "G4", "item": f"skill:a/{number}", "message": "nothing needs it", "chain": []}
            for number in range(4)
        ]
    }
    assert "more" not in does_not_fit(many[:3]).message
    chained = does_not_fit([Problem("G2", "a", "b", ("x", "y"))])
    assert chained.message.endswith("\n  G2 a: b (x → y)")
    assert chained.details["problems"] == [{"rule": "G2", "item": "a", "message": "b", "chain": ["x", "y"]}]


def test_the_next_step_is_the_one_that_can_help() -> None:
    repair = "Run `rye install` to repair it, and commit rye.lock."
    rules = ("G1", "G2", "G3", "G4", "G5")
    assert next_step([]) == next_step([Problem(rule, "x", "y") for rule in rules]) == repair
    project = next_step([Problem("G1", "x", "y"), Problem("G6", "x", "y")])
    assert project.startswith("Change rye.toml to resolve the conflict")
    registry = next_step([Problem("G6", "x", "y"), Problem(OTHER_REGISTRY, "x", "y")])
    assert registry.startswith("If rye.toml names the wrong registry, correct the address")
    assert [Problem(rule, "x", "y").repairable for rule in (*rules, "G6")] == [True] * 5 + [False]


# What must not end the search


def test_an_ambiguous_line_does_not_end_the_search_for_groups() -> None:
    one, other = Identity("directive", "acme/work/aaa"), Identity("tool", "acme/work/aaa")
    text = '[dependencies]\n"acme/work/aaa" = "*"\n"acme/work/top" = "^1.0"\n[groups.dev]\n"acme/work/leaf" = "*"\n'
    wanted = manifest(text)
    items = (*changed(LEAF, groups=("dev",)).items, item(one), item(other))
    told = said(Lock(wanted_ranges(wanted), items), {**SIGNED, one: SignedRelease(), other: SignedRelease()}, wanted)
    assert [found[:3] for found in told] == [
        ("G3", str(LEAF), "the groups that need it are dev, main; rye.lock says dev")
    ]


def test_items_that_need_each_other_are_reached_once() -> None:
    signed = {**SIGNED, LEAF: SignedRelease(depends_on=(on(TOP),))}
    assert said(changed(LEAF, dependencies=(str(TOP),)), signed) == []


def test_a_missing_dependency_does_not_hide_the_next() -> None:
    gone = Identity("tool", "acme/work/gone")
    signed = {**SIGNED, TOP: SignedRelease(depends_on=(on(gone), on(BASE)))}
    told = said(changed(TOP, dependencies=(str(BASE), str(gone))), signed)
    assert told == of(TOP, "G2", f"it depends on {gone}, which is not locked", (*TO_TOP, str(gone)))


def test_a_chain_starts_in_the_file_of_the_member_that_asks() -> None:
    wanted = replace(MANIFEST, dependencies=tuple(replace(line, member="sub") for line in MANIFEST.dependencies))

    def told(given: Lock) -> Said:
        return said(Lock(wanted_ranges(wanted), given.items), wanted=wanted)[0]

    assert told(changed(LEAF, version="2.0.0"))[3] == (
        "sub/rye.toml", f"{TOP}@1.0.0", f"{BASE}@1.0.0", f"{LEAF}@2.0.0",
    )  # fmt: skip
    assert told(changed(TOP, version="2.0.0"))[2] == "sub/rye.toml asks for ^1.0, but 2.0.0 is locked"


def test_what_nothing_reaches_has_no_chain_in_any_problem() -> None:
    stray = Identity("skill", "evil/stray")
    given = Lock(WHOLE.wanted, (*WHOLE.items, replace(item(stray), approved=approving(right=("rye.*",)))))
    assert [found[3] for found in said(given)] == [(), ()]


def test_a_line_has_one_problem_and_so_has_a_forced_range() -> None:
    wanted = manifest('[dependencies]\n"acme/work/top" = "^2"\n')
    assert [found[2] for found in said(WHOLE, wanted=wanted)] == ["rye.toml asks for ^2, but 1.0.0 is locked"]
    told = [found[2] for found in said(forcing(forced="^2"), wanted=FORCING) if found[0] == "G1"]
    assert told == ["[overrides] of rye.toml forces ^3, but rye.lock has it as forced to ^2"]


def test_a_conflict_is_found_after_items_and_relations_that_do_not_matter() -> None:
    against = replace(SIGNED[BASE], conflicts_with=(on(Identity("tool", "a/b/c")), on(LEAF, ">=9"), on(LEAF, "<2")))
    assert [found[:2] for found in said(WHOLE, {BASE: against, LEAF: SignedRelease()})] == [("G6", str(BASE))]


def test_any_version_is_in_the_range_of_all() -> None:
    signed = {**SIGNED, BASE: SignedRelease(depends_on=(on(LEAF),))}
    assert said(changed(LEAF, version="newest"), signed) == []


def test_a_fact_is_compared_only_with_a_text_that_was_examined() -> None:
    approved = changed(LEAF, approved=approving(RULES_VERSION, fact=("command make",)))
    assert said(approved, {**SIGNED, LEAF: SignedRelease()}) == []
    told = said(approved, {**SIGNED, LEAF: SignedRelease(mentions=())})
    assert [found[:2] for found in told] == [("G5", str(LEAF))]
