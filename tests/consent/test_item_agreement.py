"""What an installed item may do here is what its release asks for, what the lock approves, and what this user agreed to: all
three (DESIGN 6.1, Agreed here). Written as an author would try it who can change only one or two of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from rye.consent.agreement import ItemAgreement, byte_approval, late_facts, late_notice, not_in_lock, unapproved
from rye.consent.ask import Ask, approving
from rye.consent.sorts import approvals
from rye.errors import RyeError
from rye.items.consented import HookAction, Run
from rye.items.needs import NOTHING, Needs
from rye.items.signed_release import Mention, SignedRelease
from rye.permissions.policy_table import PolicyTable
from rye.project.layout import Project
from rye.project.lock import LockedItem, LockedSource
from rye.project.manifest import Manifest
from rye.storage.home import Home
from rye.text.facts.fact import RULES_VERSION
from rye.verified.installed import CheckedItem
from rye.workspace.context import LibraryContext
from rye.workspace.items.agreement import item_agreement
from rye.workspace.trusting.acceptance import remember, remembered
from rye.workspace.trusting.project_changes import approval_in_force, grant_approvals, grants_in_force, require_granted

HASH = "0123456789abcdef" * 4
RUN = Run("tool-code", "run.py", "python", HASH)
HOOK = HookAction("x > 1", "tool", "acme/ops/alarm")
ALARM = Mention("command", "rm -rf", "alarm", "a.md", 3)
NAME = "tool:acme/fs/read"
ROW = LockedItem(
    kind="tool",
    id="acme/fs/read",
    version="1.0.0",
    size=12,
    sha256=HASH,
    suffix=".py",
    registry="registry.example",
    log=0,
    keyset=1,
    signer="SHA256:a",
)
READ, WRITE = "rye.execute.tool.acme.read", "rye.execute.tool.acme.write"


def nobody(home: Home) -> LibraryContext:
    """A run without anyone to ask."""
    return LibraryContext(cwd=Path(), home=home)


def server(home: Home) -> LibraryContext:
    """A run on a build server that trusts the lock."""
    return LibraryContext(cwd=Path(), home=home, environment={"RYE_TRUST_LOCK": "1"})


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "work"
    (root / ".ai").mkdir(parents=True)
    return Project(root)


def agreed(
    home: Home, project: Project, row: LockedItem, release: SignedRelease | None = None, *, trust_lock: bool = False
) -> ItemAgreement:
    context = LibraryContext(cwd=Path(), home=home, trust_lock=trust_lock)
    return item_agreement(context, CheckedItem(project, row, release or SignedRelease()))


# Installed items


def test_a_right_counts_once_this_user_agreed_to_it(home: Home, project: Project) -> None:
    row = replace(ROW, approved=approving(right=(READ, WRITE)))
    remember(home, project, [Ask(NAME, "right", READ)])
    found = agreed(home, project, row, SignedRelease(capabilities=(READ, WRITE)))
    assert (found.identity, found.capabilities) == (ROW.identity, (READ,))
    assert found.waiting == (Ask(NAME, "right", WRITE),)
    assert found.unapproved == ()
    assert found.is_whole is False
    refusal = found.refusal()
    assert refusal is not None
    assert refusal.code == "project-not-accepted"


def test_whoever_trusts_the_lock_is_not_asked_and_gets_no_more_than_the_lock_approves(
    home: Home, project: Project
) -> None:
    row, release = replace(ROW, approved=approving(right=(READ,))), SignedRelease(capabilities=(READ, WRITE))
    for found in (
        agreed(home, project, row, release, trust_lock=True),
        item_agreement(server(home), CheckedItem(project, row, release)),
    ):
        assert (found.capabilities, found.waiting) == ((READ,), ())
        assert found.unapproved == (Ask(NAME, "right", WRITE),)
        assert found.is_whole is False


def test_signers_and_sources_are_asked_about_elsewhere_and_everything_else_here(home: Home, project: Project) -> None:
    row = replace(
        ROW, approved=approving(right=(READ,), hook=(HOOK,), tool=("Bash",), run=(RUN,), fact=("command make",)), forced="^1",
    )  # fmt: skip
    found = agreed(home, project, row)
    assert {one.sort for one in found.waiting} == {"right", "hook", "tool", "run", "fact", "forced"}
    assert {what: found.waits_for(what) for what in ("tool", "fact", "signer")} == {
        "tool": {"Bash"}, "fact": {"command make"}, "signer": frozenset(),
    }  # fmt: skip
    remember(home, project, found.waiting)
    whole = agreed(home, project, row)
    assert (whole.waiting, whole.is_whole, whole.refusal()) == ((), True, None)
    source = LockedSource(place="run.py", path="../shared")
    of_source = replace(row, source=source, registry="path+../shared", signer="path+../shared")
    assert approvals([of_source]) >= {Ask(NAME, "source", "path+../shared")}
    assert agreed(home, project, of_source).waiting == ()


def test_a_hook_that_reads_like_a_right_takes_no_right_away(home: Home, project: Project) -> None:
    row = replace(ROW, approved=approving(right=(READ,), fact=(READ,)))
    remember(home, project, [Ask(NAME, "right", READ)])
    found = agreed(home, project, row)
    assert found.capabilities == (READ,)
    assert found.waiting == (Ask(NAME, "fact", READ),)


@pytest.mark.parametrize(
    ("release", "what"),
    [
        (SignedRelease(capabilities=(READ,)), Ask(NAME, "right", READ)),
        (SignedRelease(runs=(RUN,)), Ask(NAME, "run", f"tool-code run.py: python (sha256 {HASH[:32]})")),
        (SignedRelease(agent_tools=("Bash",)), Ask(NAME, "tool", "Bash")),
        (SignedRelease(mentions=(ALARM,)), Ask(NAME, "fact", "command rm -rf")),
    ],
)
def test_what_the_lock_does_not_approve_is_refused_even_to_a_user_who_agreed_to_all_of_it(
    home: Home, project: Project, release: SignedRelease, what: Ask
) -> None:
    remember(home, project, [what])
    found = agreed(home, project, replace(ROW, approved=approving(RULES_VERSION)), release)
    assert (found.waiting, found.unapproved, found.capabilities) == ((), (what,), ())
    assert found.is_whole is False
    assert found.waits_for(what.sort) == {what.text}
    refusal = found.refusal()
    assert refusal is not None
    assert refusal.code == "consent-needed"


def test_what_the_lock_approves_is_not_refused_again() -> None:
    release = SignedRelease(
        capabilities=(READ,), agent_tools=("Bash",), runs=(RUN,), mentions=(ALARM,), agent_limits=("blocked X",)
    )
    row = replace(
        ROW, approved=approving(right=("rye.execute.tool.acme.*",), tool=("Bash",), limit=("blocked X",), run=(RUN,),
        fact=("command rm -rf",)),
    )  # fmt: skip
    assert list(not_in_lock(row, release)) == []
    assert list(not_in_lock(row, SignedRelease(hooks=(HOOK,)))) == []
    other = replace(release, runs=(replace(RUN, sha256="f" * 64),), agent_limits=())
    assert [one.sort for one in not_in_lock(row, other)] == ["run", "tool"]


def test_a_pattern_is_allowed_within_what_was_agreed_to(project: Project) -> None:
    found = ItemAgreement(ROW.identity, ("rye.execute.tool.acme.*", "rye.load.[ab]"))
    wanted = [READ, "rye.load.[ab]", "rye.load.a", "rye.load.c", "rye.execute.tool.*", "rye.load.[ab]"]
    assert found.allowed(wanted) == (READ, "rye.load.[ab]", "rye.load.a", "rye.load.[ab]")
    assert ItemAgreement(ROW.identity, ()).allowed([READ]) == ()
    assert ItemAgreement(ROW.identity, (READ,)).allowed([]) == ()


def test_what_is_not_approved_is_said_before_what_waits_and_three_of_it() -> None:
    rights = tuple(Ask(NAME, "right", f"rye.load.{number}") for number in range(5))
    both = ItemAgreement(ROW.identity, (), rights[:1], rights[1:2])
    error = both.refusal()
    assert error is not None
    assert error.code == "consent-needed"
    assert both.is_whole is False
    error = unapproved(ROW.identity, rights)
    said = f"rye.lock does not approve everything in {NAME}: right rye.load.0; right rye.load.1; right rye.load.2"
    assert error.message == f"{said}; and 2 more."
    assert unapproved(ROW.identity, rights[:3]).message == f"{said}."
    assert error.hint == "Run `rye install` to review and approve it."
    assert error.details == {
        "approvals": [{"item": NAME, "what": "right", "value": f"rye.load.{number}"} for number in range(5)]
    }


# Alarms that other rules did not find


CURRENT = replace(ROW, approved=approving(RULES_VERSION))
OTHER = replace(ROW, approved=approving(RULES_VERSION + 1))


def test_a_claim_about_other_rules_counts_only_for_bytes_that_this_user_agreed_to(home: Home, project: Project) -> None:
    """Otherwise a lock that claims other rules would hide an alarm."""
    signed = {ROW.identity: SignedRelease(mentions=(ALARM,))}
    text = byte_approval(OTHER)
    fact = Ask(NAME, "fact", ALARM.word)
    assert text == replace(text, item=NAME, sort="text")
    assert remembered(home, project).late_in([OTHER], signed) == (fact, text)
    assert agreed(home, project, OTHER, signed[ROW.identity]).waiting == (fact, text)
    assert agreed(home, project, OTHER, signed[ROW.identity], trust_lock=True).waiting == ()
    remember(home, project, [fact])
    assert remembered(home, project).late_in([OTHER], signed) == (text,)
    remember(home, project, [text])
    assert remembered(home, project).late_in([OTHER], signed) == ()
    changed = replace(OTHER, sha256="f" * 64)
    assert [one.sort for one in remembered(home, project).late_in([changed], signed)] == ["text"]


def test_rows_of_these_rules_and_rows_without_alarms_ask_nothing_here(home: Home, project: Project) -> None:
    signed = {ROW.identity: SignedRelease(mentions=(ALARM,))}
    assert remembered(home, project).late_in([CURRENT], signed) == ()
    assert remembered(home, project).late_in([OTHER], {}) == ()
    assert remembered(home, project).late_in([OTHER], {ROW.identity: SignedRelease()}) == ()
    assert (
        remembered(home, project).late_in(
            [replace(OTHER, approved=approving(RULES_VERSION, fact=(ALARM.word,)))], signed
        )
        == ()
    )
    assert late_facts([CURRENT], signed) == []
    said = late_notice(late_facts([OTHER], signed))
    assert said[0].endswith(f": {NAME} names the command: rm -rf")
    assert f"rye install --approve {NAME}@1.0.0" in said[1]


# Grants of rye.toml


TOOL, OTHER_TOOL = "tool:acme/net/fetch", "tool:acme/net/send"
MANIFEST = Manifest(
    sandbox={
        OTHER_TOOL: Needs(env=("TOKEN",)),
        TOOL: Needs(("build/",), ("a.example:443", "b.example:443"), ("TOKEN",)),
    },
    policy=PolicyTable(approval={"rye.load.*": "allow", READ: "allow", WRITE: "ask", "rye.sign.*": "deny"}),
)


def test_each_entry_of_each_tool_and_each_call_without_asking_is_its_own_grant() -> None:
    assert [(one.item, one.sort, one.text) for one in grant_approvals(MANIFEST)] == [
        (TOOL, "grant", "write build/"),
        (TOOL, "grant", "network a.example:443"),
        (TOOL, "grant", "network b.example:443"),
        (TOOL, "grant", "env TOKEN"),
        (OTHER_TOOL, "grant", "env TOKEN"),
        ("[policy.approval]", "grant", f"{READ} = allow"),
        ("[policy.approval]", "grant", "rye.load.* = allow"),
    ]
    assert grant_approvals(Manifest()) == []


def test_a_row_that_allows_counts_once_this_user_agreed_and_one_that_asks_or_denies_always(
    home: Home, project: Project
) -> None:
    strict = {WRITE: "ask", "rye.sign.*": "deny"}
    assert approval_in_force(nobody(home), project, MANIFEST) == strict
    remember(home, project, [Ask("[policy.approval]", "grant", f"{READ} = allow")])
    assert approval_in_force(nobody(home), project, MANIFEST) == {READ: "allow", **strict}
    remember(home, project, [Ask(TOOL, "grant", "rye.load.* = allow")])
    assert "rye.load.*" not in approval_in_force(nobody(home), project, MANIFEST)
    assert approval_in_force(server(home), project, MANIFEST) == MANIFEST.policy.approval


def test_a_tools_grant_counts_entry_by_entry_for_this_tool(home: Home, project: Project) -> None:
    assert grants_in_force(nobody(home), project, MANIFEST, TOOL) == NOTHING
    remember(home, project, [Ask(TOOL, "grant", "network b.example:443"), Ask(OTHER_TOOL, "grant", "env TOKEN")])
    assert grants_in_force(nobody(home), project, MANIFEST, TOOL) == Needs(network=("b.example:443",))
    assert grants_in_force(nobody(home), project, MANIFEST, OTHER_TOOL) == Needs(env=("TOKEN",))
    assert grants_in_force(server(home), project, MANIFEST, TOOL) == MANIFEST.sandbox[TOOL]
    for context in (nobody(home), server(home)):
        assert grants_in_force(context, project, MANIFEST, "tool:acme/net/none") == NOTHING


def test_a_tool_that_lacks_a_grant_is_told_the_lines_to_write_or_the_command_to_agree(project: Project) -> None:
    needs = Needs(("build/",), ("a.example:443", "c.example:443"), ("TOKEN",))
    require_granted(TOOL, needs, MANIFEST, needs)
    require_granted(TOOL, NOTHING, MANIFEST, NOTHING)
    with pytest.raises(RyeError) as raised:
        require_granted(TOOL, needs, MANIFEST, Needs(env=("TOKEN",)))
    lacking = ["write build/", "network a.example:443", "network c.example:443"]
    table = f'[sandbox."{TOOL}"]\nnetwork = ["a.example:443", "b.example:443", "c.example:443"]'
    assert raised.value.code == "not-runnable"
    assert raised.value.message == f"{TOOL} needs access that rye.toml does not grant: {'; '.join(lacking)}."
    assert raised.value.hint == f"To grant it, add to rye.toml:\n{table}\nThen agree to it: rye trust project"
    assert raised.value.details == {"needs": lacking, "toml": table}
    written = Needs(("build/",), ("a.example:443",))
    with pytest.raises(RyeError) as raised:
        require_granted(TOOL, written, MANIFEST, NOTHING)
    assert raised.value.code == "not-runnable"
    assert raised.value.message.endswith("have not agreed to on this machine: write build/; network a.example:443.")
    assert raised.value.hint == "Run `rye trust project` to review and accept the grants."
    assert raised.value.details == {"needs": ["write build/", "network a.example:443"]}
