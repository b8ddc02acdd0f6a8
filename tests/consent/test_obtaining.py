"""Who agrees to a plan, and to what: nothing that waits for a person is made without one (DESIGN §7)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from rye.consent.ask import Ask, approving
from rye.consent.changes import Asked
from rye.errors import RyeError
from rye.installation.plan import Consent, ItemChange, Plan
from rye.items.consented import HookAction, Run
from rye.items.identity import Identity
from rye.items.signed_release import Mention
from rye.permissions.risk import Tier
from rye.project.lock import LockedItem, LockedSource
from rye.workspace.installing.consent import change_documents, obtain_consent
from rye.workspace.installing.install_request import InstallRequest, LockUse, Proposal
from tests.scenes.approvals import item_change, with_asks

NOW = datetime(2026, 1, 2, tzinfo=UTC)
HASH = "ab" * 32
OLD = LockedItem(
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
NEW = replace(OLD, version="1.1.0")
RIGHT = Asked("rye.execute.*", Tier.UNRESTRICTED, "rye.execute.tool.a")
ADDED = item_change("add", OLD.identity, None, OLD, asks=(RIGHT,))
"""Needs a yes; ``--yes`` is one."""
WIDER = item_change("update", OLD.identity, OLD, NEW, asks=(RIGHT,))
"""Needs a person, or an approval by name."""
QUIET = item_change("update", OLD.identity, OLD, NEW)
LABEL = "tool:acme/fs/read@1.1.0"
UNSEEN = (Ask("tool:acme/fs/read", "right", "rye.load.*"),)


class Face:
    """A face that shows proposals and answers as told."""

    def __init__(self, *, person: bool = False, yes: bool = False, says: bool = False):
        self.context: Any = SimpleNamespace(assume_yes=yes, interactive=person, now=lambda: NOW)
        self.says = says
        self.shown: list[Proposal] = []

    def agree(self, proposal: Proposal) -> bool:
        self.shown.append(proposal)
        return self.says

    def asked(
        self, *changes: ItemChange, use: LockUse = "repair", approve: tuple[str, ...] = (), dry: bool = False,
        unseen: tuple[Ask, ...] = (),
    ) -> Consent:  # fmt: skip
        request = InstallRequest(command="rye update", approved=approve, dry_run=dry, lock_use=use)
        return obtain_consent(self.context, request, Plan(changes), ["a note"], self.agree, unseen)


def refused(code: str, act: Callable[[], object]) -> RyeError:
    with pytest.raises(RyeError) as raised:
        act()
    assert raised.value.code == code
    return raised.value


def test_a_plan_that_needs_nothing_is_shown_and_made() -> None:
    for says in (True, False):
        face = Face(says=says)
        assert face.asked(QUIET) == Consent()
        assert face.shown == [Proposal(plan=Plan((QUIET,)), notes=("a note",), waiting=(), time=NOW, unseen=())]


def test_a_persons_yes_covers_what_waits() -> None:
    face = Face(person=True, says=True)
    assert face.asked(WIDER, unseen=UNSEEN) == Consent(person=True)
    assert face.shown == [Proposal(plan=Plan((WIDER,)), notes=("a note",), waiting=(WIDER,), time=NOW, unseen=UNSEEN)]


def test_a_persons_no_changes_nothing() -> None:
    for changes, unseen in (((WIDER,), ()), ((QUIET,), UNSEEN), ((WIDER,), UNSEEN)):
        face = Face(person=True)
        error = refused("declined", lambda: face.asked(*changes, unseen=unseen))  # noqa: B023
        assert error.message == "Nothing was changed."


def test_without_a_person_what_waits_is_refused_with_the_command_that_agrees() -> None:
    error = refused("consent-needed", lambda: Face().asked(ADDED))
    assert error.message.startswith(
        "Approval required, so nothing was changed: tool:acme/fs/read@1.0.0 asks for rights"
    )
    assert error.hint == "`rye update --yes` agrees to what is shown; on a terminal you are asked."
    assert error.details == {"changes": change_documents((ADDED,))}


def test_yes_in_advance_covers_a_first_installation_and_no_wider_update() -> None:
    face = Face(yes=True)
    assert face.asked(ADDED) == Consent(yes=True)
    assert face.shown[0].waiting == ()
    other = replace(ADDED, identity=Identity("tool", "acme/fs/x"), new=replace(OLD, id="acme/fs/x"))
    error = refused("consent-needed", lambda: face.asked(other, WIDER))
    assert (
        error.hint
        == f"`rye diff tool:acme/fs/read` shows what changed. Then approve it by name: rye update --yes --approve {LABEL}"
    )
    assert "acme/fs/x" not in error.message
    error = refused("consent-needed", lambda: Face().asked(other, WIDER))
    assert "acme/fs/x" not in error.message
    assert (
        error.hint
        == f"`rye diff tool:acme/fs/read` shows what changed. Then approve it by name: rye update --yes --approve {LABEL}"
    )
    error = refused("consent-needed", lambda: Face().asked(WIDER))
    assert (
        error.hint
        == f"`rye diff tool:acme/fs/read` shows what changed. Then approve it by name: rye update --approve {LABEL}"
    )


def test_an_approval_by_name_covers_that_version_and_no_other() -> None:
    for name in (LABEL, LABEL.partition(":")[2]):
        assert Face().asked(WIDER, approve=(name,)) == Consent(approved=frozenset({LABEL}))
    other = replace(WIDER, identity=Identity("tool", "acme/fs/x"), new=replace(NEW, id="acme/fs/x"))
    error = refused("consent-needed", lambda: Face().asked(WIDER, other, approve=(LABEL,)))
    assert (error.hint or "").endswith(f"rye update --approve {LABEL} --approve tool:acme/fs/x@1.1.0")
    error = refused("unknown-name", lambda: Face().asked(WIDER, approve=("acme/fs/read@1.0.0",)))
    assert error.message == "--approve acme/fs/read@1.0.0 matches nothing that would be installed."
    assert error.details == {"what": "release"}
    assert error.hint == f"To approve: {LABEL}."
    error = refused("unknown-name", lambda: Face().asked(approve=("x",)))
    assert error.hint == "To approve: nothing."


def test_all_that_stops_is_named_after_what_was_approved_already() -> None:
    made = [replace(WIDER, identity=Identity("tool", f"a/b/{n}"), new=replace(NEW, id=f"a/b/{n}")) for n in range(9)]
    labels = [change.label for change in made]
    error = refused("consent-needed", lambda: Face().asked(*made, approve=tuple(labels[6::-1])))
    assert error.message.endswith("; ".join(f"{label} widens its rights (rye.execute.*)" for label in labels[7:]) + ".")
    assert (error.hint or "").endswith(f"rye update {' '.join(f'--approve {label}' for label in labels)}")


def test_an_approval_that_names_two_items_names_none() -> None:
    same = replace(
        WIDER, identity=Identity("directive", "acme/fs/read"), new=replace(NEW, kind="directive", suffix=".md")
    )
    error = refused("ambiguous", lambda: Face().asked(WIDER, same, approve=("acme/fs/read@1.1.0",)))
    assert error.message == f"--approve acme/fs/read@1.1.0 matches {LABEL}, directive:acme/fs/read@1.1.0."
    assert error.hint == f"Name one: --approve {LABEL}."


def test_at_most_eight_changes_are_suggested() -> None:
    many = [replace(WIDER, identity=Identity("tool", f"a/b/{n}"), new=replace(NEW, id=f"a/b/{n}")) for n in range(9)]
    error = refused("unknown-name", lambda: Face().asked(*many, approve=("x",)))
    assert error.hint == f"To approve: {', '.join(f'tool:a/b/{n}@1.1.0' for n in range(8))}."


def test_neither_yes_in_advance_nor_a_name_covers_what_this_user_never_saw() -> None:
    """Anyone who can commit writes rye.lock: only a person who was shown it agrees to it."""
    for face, approve in ((Face(yes=True), ()), (Face(), (LABEL,))):
        error = refused("project-not-accepted", lambda: face.asked(WIDER, approve=approve, unseen=UNSEEN))  # noqa: B023
        assert error.details == {"approvals": [{"item": "tool:acme/fs/read", "what": "right", "value": "rye.load.*"}]}
        assert "no mark" not in error.message
        assert face.shown[0].unseen == UNSEEN
    assert Face(person=True, says=True, yes=True).asked(ADDED, unseen=UNSEEN) == Consent(yes=True)


def test_a_dry_run_shows_the_plan_and_agrees_to_nothing() -> None:
    face = Face(says=True, yes=True)
    assert face.asked(WIDER, dry=True, unseen=UNSEEN) == Consent()
    assert face.shown == [Proposal(plan=Plan((WIDER,)), notes=("a note",), waiting=(), time=NOW, unseen=())]


def test_a_frozen_lock_is_installed_with_its_own_approvals_or_not_at_all() -> None:
    for face in (Face(person=True, says=True), Face(yes=True)):
        error = refused("consent-needed", lambda: face.asked(WIDER, ADDED, use="frozen", unseen=UNSEEN))  # noqa: B023
        assert error.message.startswith("rye.lock does not approve everything in it, so nothing was changed: ")
        assert f"{LABEL} widens its rights (rye.execute.*); tool:acme/fs/read@1.0.0 asks for rights" in error.message
        assert (error.hint or "").startswith("`rye update` approves nothing.")
        assert error.details == {"changes": change_documents((WIDER, ADDED))}
        assert face.shown == [Proposal(plan=Plan((WIDER, ADDED)), notes=("a note",), waiting=(), time=NOW, unseen=())]
    for says in (True, False):
        assert Face(person=True, says=says).asked(QUIET, use="frozen") == Consent()
    assert Face().asked(QUIET, use="locked") == Consent()


def test_a_frozen_lock_that_this_user_never_saw_needs_a_person() -> None:
    face = Face(person=True, says=True)
    assert face.asked(QUIET, use="frozen", unseen=UNSEEN) == Consent()
    assert face.shown[0].unseen == UNSEEN
    refused("declined", lambda: Face(person=True).asked(QUIET, use="frozen", unseen=UNSEEN))
    refused("project-not-accepted", lambda: Face(yes=True).asked(QUIET, use="frozen", unseen=UNSEEN))


# The reasons


RUN = Run("tool-code", "run.py", "python", HASH)
SOURCE = LockedSource(place="run.py", path="../shared")
OF_SOURCE = replace(NEW, source=SOURCE, registry="path+../shared", signer="path+../shared")
NOTE = Mention("command", "make", "alarm", "a.md", 3)


def reason(**fields: Any) -> str:
    change = with_asks(WIDER, asks=(), **fields)
    if not change.needs_consent:
        change = with_asks(change, asks=(RIGHT,))
    message = refused("consent-needed", lambda: Face().asked(change)).message
    return message.removeprefix(f"Approval required, so nothing was changed: {LABEL} ").removesuffix(".")


@pytest.mark.parametrize(
    ("fields", "update", "first"),
    [
        ({"hooks": (HookAction("x", "tool", "a"),)}, "adds hooks", "has hooks"),
        (
            {"tools": ("A", "B", "C", "D", "E")},
            "widens its tools of the agent program (A, B, C and 2 more)",
            "names tools of the agent program (A, B, C and 2 more)",
        ),
        ({"runs": (RUN,)}, "adds or changes code (run.py)", "has code (run.py)"),
        (
            {"runs": tuple(replace(RUN, what="attached-file", where=f"{n}.sh") for n in range(3))},
            "adds or changes executables (0.sh, 1.sh, 2.sh)",
            "has executables (0.sh, 1.sh, 2.sh)",
        ),
        (
            {
                "runs": (
                    replace(RUN, what="inline-command", action="make"),
                    replace(RUN, what="mcp-server", where="mcp.db"),
                )
            },
            "adds or changes MCP servers (mcp.db) and adds or changes commands that run on loading (make)",
            "has MCP servers (mcp.db) and has commands that run on loading (make)",
        ),
        (
            {
                "runs": (
                    replace(RUN, what="tool-needs", where="network", action="a:443"),
                    replace(RUN, what="frontmatter-hook"),
                )
            },
            "adds or changes hooks of the agent program (run.py) and adds or changes needs beyond the sandbox (network a:443)",
            "has hooks of the agent program (run.py) and has needs beyond the sandbox (network a:443)",
        ),
        ({"new_mentions": (NOTE,)}, "names the command: make (a.md:3)", "names the command: make (a.md:3)"),
        (
            {"signer_unknown": True},
            "is the first item from a signer that you never agreed to",
            "is the first item from a signer that you never agreed to",
        ),
        (
            {"signer_unknown": True, "new": OF_SOURCE, "brought": True},
            "is the first item from a source that you never agreed to (path+../shared)",
            "is the first item from a source that you never agreed to (path+../shared)",
        ),
        (
            {"new": OF_SOURCE, "brought": True},
            "is a new, unsigned item from path+../shared",
            "is a new, unsigned item from path+../shared",
        ),
        (
            {"new": replace(NEW, forced="^1")},
            "is forced by [overrides] of rye.toml (^1)",
            "is forced by [overrides] of rye.toml (^1)",
        ),
    ],
)
def test_each_reason_is_said(fields: dict[str, Any], update: str, first: str) -> None:
    assert reason(**fields) == update
    assert reason(old=None, **fields) == first


def test_rights_are_shown_by_the_first_and_reasons_are_joined() -> None:
    more = replace(RIGHT, pattern="rye.sign.*")
    error = refused(
        "consent-needed",
        lambda: Face().asked(with_asks(WIDER, asks=(RIGHT, more), hooks=(HookAction("x", "tool", "a"),))),
    )
    assert error.message.endswith(f"{LABEL} widens its rights (rye.execute.*, …) and adds hooks.")
    error = refused("consent-needed", lambda: Face().asked(replace(WIDER, old=None, pulled_in=True)))
    assert error.message.endswith(f"{LABEL} is pulled in by an update and asks for rights (rye.execute.*).")


def test_how_a_signer_changed_is_said() -> None:
    assert reason(signer_changed=True) == "is signed by a different key"
    assert reason(signer_changed=True, new=OF_SOURCE) == "is no longer signed"
    before = replace(OLD, approved=approving(1, "path+../other"))
    said = "comes from a different source (path+../shared, previously path+../other)"
    assert reason(signer_changed=True, new=OF_SOURCE, old=before) == said


def test_a_change_is_shown_to_programs_with_everything_that_is_agreed_to() -> None:
    change = with_asks(
        WIDER, hooks=(HookAction("x", "tool", "a", (("k", "v"),)),), tools=("Bash",),
        runs=(RUN, replace(RUN, what="attached-file", where="a.sh")),
        mentions=(NOTE, replace(NOTE, line=9)), new_mentions=(NOTE,), signer_changed=True, signer_new=True, signer_unknown=True,
    )  # fmt: skip
    mention = {"fact": "command", "value": "make", "level": "alarm", "path": "a.md", "line": 3}
    run = {"what": "tool-code", "where": "run.py", "action": "python", "sha256": HASH}
    document = {
        "action": "update", "kind": "tool", "id": "acme/fs/read", "from": "1.0.0", "to": "1.1.0", "signer": "SHA256:a",
        "source": None, "signer_before": "SHA256:a", "signer_changed": True, "signer_new": True,
        "asks": [{"capability": "rye.execute.*", "tier": "unrestricted", "example": "rye.execute.tool.a"}],
        "hooks": [{"when": "x", "item_type": "tool", "item_id": "a", "inputs": {"k": "v"}}],
        "pulled_in": False, "signer_unknown": True, "agent_tools": ["Bash"], "executables": ["a.sh"],
        "runs": [run, {**run, "what": "attached-file", "where": "a.sh"}],
        "facts": [{**mention, "new": True}, {**mention, "line": 9, "new": False}], "lost": [], "needs_approval": True,
            "declared": None, "alarms": None, "cautions": None, "licence": None, "bytes": None, "tokens": None,
    }  # fmt: skip
    assert change_documents([change]) == [document]
    assert list(change_documents([change])[0]) == list(document)


def test_an_addition_a_removal_and_an_item_of_a_source_are_shown_to_programs() -> None:
    (added,) = change_documents([with_asks(ADDED, new=replace(OLD, forced="^1"))])
    assert (added["from"], added["to"], added["forced"], added["signer_before"]) == (None, "1.0.0", "^1", None)
    (removed,) = change_documents([item_change("remove", OLD.identity, OLD, None)])
    shown = ("from", "to", "signer", "source", "needs_approval")
    assert [removed[key] for key in shown] == ["1.0.0", None, None, None, False]
    (of_source,) = change_documents([with_asks(QUIET, new=OF_SOURCE)])
    assert (of_source["signer"], of_source["source"]) == ("none (folder ../shared)", SOURCE.as_json())
