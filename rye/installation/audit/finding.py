"""What an audit finds: its rules, how severe each is, what to do about it, and the finding itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from rye.errors import RyeError
from rye.installation import completeness, shadows
from rye.items.kinds import KINDS
from rye.items.named import ABSENT
from rye.project.lock import LockedItem
from rye.project.lock_file import item_path

RULES: Mapping[str, str] = {
    "modified-file": "An installed file differs from what its publisher signed.",
    "missing-file": "An installed file is missing.",
    "wrong-flag": "An installed file is executable but should not be, or the reverse.",
    "extra-file": "A file among the installed ones was not installed by Rye.",
    "revoked-key": "The release is signed with a revoked key, or the key you want to use is revoked.",
    "changed-release": "The registry no longer has the release that rye.lock records.",
    "lock-mismatch": "rye.lock and the publisher's signed release disagree.",
    "not-examined": "A release could not be examined, or a registry did not answer, so the state of its items is unknown.",
    "policy": "The policy forbids what an installed item asks for, its signer, or its age.",
    "advisory": "A security advisory affects a version that you use.",
    "advisory-vanished": "The registry no longer shows an advisory that this machine saw, although nobody withdrew it.",
    "unapproved-right": "An item has an unapproved right.",
    "unapproved-hook": "An item has an unapproved hook, which is denied.",
    "unapproved-run": "An item contains something that can run and is not approved, or has changed since.",
    "unapproved-tool": "An item can use tools of the agent program that are not approved.",
    "unapproved-fact": "An item mentions something alarming that no one approved.",
    "unapproved-change": "A customization in the project changes an item, and you have not agreed to it on this machine.",
    "pending-recovery": "The registry is about to transfer a namespace that you use to other keys.",
    "yanked": "The publisher withdrew an installed version.",
    "deprecated": "The publisher says that the item should no longer be used.",
    "forced-version": "[overrides] in rye.toml forces a version that other items do not ask for.",
    "unused-override": "A line of [overrides] in rye.toml forces nothing.",
    ABSENT: "The item names another item that is not installed.",
    "unsigned": "The item comes from a git repository or folder, and no key that counts here signed it.",
    "source-changed": "A folder that an item comes from does not match rye.lock.",
    "editable-source": "Items of an editable folder are used in place, so rye.lock does not pin their content.",
    "deploy-missing": "A file is missing that rye.toml deploys to a target.",
    "not-as-deployed": "A file that an agent program reads is not what the installed item gives.",
    "deploy-drift": "A deployed file was edited.",
    "deploy-stale": "The record of a deployed file is out of date: the version or the customizations have changed.",
    "deploy-conflict": "A file that Rye did not write is where it would deploy one.",
    "deploy-unchecked": "The deployed files cannot be checked.",
    "unexplained-hook": "An agent program's settings name a hook that no deployed item explains.",
    "unexplained-server": "An agent program's settings name a server that no deployed item explains.",
    shadows.CODE: "An item of your own has the id of an installed one and would be used in its place.",
    "customization-lapsed": "A customization in the project no longer applies, so the items would be used without it.",
    **completeness.RULES,
}
SEVERITIES = ("error", "warning", "info")
_INSTALL = (
    "Run `rye install` on a terminal: it shows {} and asks. Without a terminal: `rye install --approve ID@VERSION`."
)
_CHECK = "Check it: Rye did not write it, but anyone who can commit could have."
_REPAIR = "Run `rye install` to repair `rye.lock`, and commit it. `rye lock --check` lists all problems."
_FIND_OUT = f"{_REPAIR} If no one edited the lock by accident, find out who changed it."
HELP: Mapping[str, str] = {
    "modified-file": (
        "Run `rye install --discard-local-edits` to restore it as `rye.lock` has it, or move your change "
        "into an override."
    ),
    "missing-file": "Run `rye install`.",
    "wrong-flag": "Run `rye install`; it corrects executable bits.",
    "extra-file": (
        "Move it out of `.ai/packages`: agent programs read everything in that folder. Your own items belong in `.ai`."
    ),
    "revoked-key": (
        "Run `rye update ID` to look for a release that another key signed, or `rye remove ID`. A revocation "
        "cannot be undone: for a key of yours, `rye keys generate` creates another."
    ),
    "changed-release": (
        "Compare `rye.lock` with version control: `git log -p rye.lock`. If no one edited it, install "
        "nothing from the registry and tell its operator; `rye log verify` checks the log."
    ),
    "lock-mismatch": (
        "Compare `rye.lock` with version control: `git log -p rye.lock` shows who changed it. Restore it, "
        "then run `rye install`."
    ),
    "not-examined": (
        "Run `rye audit` again when the registry answers. Until then nobody looked, so the audit is not clean."
    ),
    "policy": "Choose another item or version, or ask the people responsible for the policy to change it.",
    "advisory-vanished": (
        "Treat the advisory as in force. `rye log verify` finds what the registry leaves out: tell its operator, or ask a mirror."
    ),
    "advisory": "Read it with `rye advisory list ID`, then run `rye update ID` or `rye remove ID`.",
    "unapproved-right": _INSTALL.format("the right"),
    "unapproved-hook": "It is denied. Read it, then run `rye hooks approve ID` if you want it.",
    "unapproved-run": _INSTALL.format("what can run"),
    "unapproved-tool": _INSTALL.format("them"),
    "unapproved-fact": _INSTALL.format("the line") + " `rye facts ID` shows all of them.",
    "unapproved-change": (
        "`rye trust project` shows what it changes and asks. If nobody in your project wrote it, remove the file; "
        "if it is gone and nobody wanted that, restore it."
    ),
    "pending-recovery": (
        "Ask its owners whether they lost their keys. If not, they should run `rye namespace object NAMESPACE`."
    ),
    "yanked": "Read the reason in the message, then run `rye update ID` or `rye remove ID`.",
    "deprecated": "Move to the replacement in the message, then run `rye remove ID`.",
    "forced-version": "Remove the line from `[overrides]` once the items that it is for ask for a version that fits.",
    "unused-override": "Check its spelling with `rye tree`, or remove the line.",
    shadows.CODE: "Rename your item, or remove it and use the installed one.",
    "unsigned": (
        "No publisher vouches for its text, so read what changes: `rye diff ID` before an update. `[policy] sources` says where "
        "items may come from."
    ),
    "source-changed": "Run `rye install`: it shows what changed and writes `rye.lock`.",
    "editable-source": (
        "Remove `editable = true` from `[sources]` in `rye.toml` before others rely on the project, then run "
        "`rye install`."
    ),
    "deploy-missing": "Run `rye deploy`.",
    "deploy-drift": "`rye deploy --overwrite-edited ID` discards the edit. To keep it, move it into an override, "
    "of a formula into an overlay; of a skill, `rye override new ID --file PATH` takes a whole file.",
    "deploy-stale": "Run `rye deploy`.",
    "deploy-conflict": "Move the file away, or take it over with `rye deploy --adopt PATH` if it is identical.",
    ABSENT: "Add the item with `rye add KIND:ID`. If its name is wrong, correct the text, or tell its publisher.",
    "not-as-deployed": (
        "`rye deploy` writes such files, and says what it would discard; commit what it wrote. `rye deploy --check` lists all. "
        "`rye install` and `rye ci` only compare. Delete a file that no item gives. If nobody here made the difference, find out "
        "who did."
    ),
    "deploy-unchecked": "Run `rye deploy --check`; the message says why.",
    "unexplained-hook": _CHECK,
    "unexplained-server": _CHECK,
    "customization-lapsed": (
        "Renew it with `rye override edit ID` or `rye overlay edit FORMULA`, or remove the file, and commit that."
    ),
    **dict.fromkeys(completeness.RULES, _REPAIR),
    **dict.fromkeys(("G2", "G5"), _FIND_OUT),
    "G6": "Change `rye.toml` to resolve the conflict. `rye why ID` shows why an item is here.",
}
"""Rule → what to do, for programs that show it next to a finding."""
_WARNINGS = frozenset(
    (
        "unapproved-hook",
        "pending-recovery",
        "yanked",
        "deprecated",
        "forced-version",
        "unused-override",
        ABSENT,
        "deploy-missing",
        "deploy-stale",
    )
)
_NOTES = frozenset(("unexplained-hook", "unexplained-server", "unsigned"))
RULE_SEVERITIES: Mapping[str, str] = {
    rule: "info" if rule in _NOTES else "warning" if rule in _WARNINGS else "error" for rule in RULES
}
"""Rule → the severity of its findings, except for advisories of low severity."""


class Finding(Struct, frozen=True, kw_only=True):
    """One result of an audit."""

    rule: str
    severity: Literal["error", "warning", "info"]
    """``info`` never fails an audit by default."""
    message: str
    path: str
    """The file, relative to the project: the item's main file for an item, the lock for a namespace."""
    item: LockedItem | None = None
    hint: str | None = None
    about: str | None = None
    """``[kind:]id`` of an item that is not locked."""
    advisory: str | None = None
    """The number of the advisory."""
    line: int = 1
    """The line in ``path``."""

    @property
    def names(self) -> frozenset[str]:
        """The names by which ``[audit] ignore`` can refer to it."""
        item = str(self.item.identity) if self.item is not None else self.about or ""
        items = [item] if ":" in item or not item else [f"{kind}:{item}" for kind in KINDS]
        found = {f"{self.rule}:{name}" for name in items if name}
        return frozenset(found | ({self.advisory} if self.advisory is not None else set()))

    def as_json(self) -> dict[str, object]:
        """Return the finding as ``rye audit --json`` prints it."""
        return {
            **({"code": "lock-does-not-fit"} if self.rule in completeness.RULES else {}),
            "rule": self.rule,
            "severity": self.severity,
            "message": self.message,
            "path": self.path,
            "item": str(self.item.identity) if self.item is not None else None,
            "version": self.item.version if self.item is not None else None,
            "hint": self.hint,
        }


def lock_mismatch(item: LockedItem, error: RyeError) -> Finding:
    """Report what ``error`` says of a row of the lock that contradicts its release."""
    return Finding(
        rule="lock-mismatch",
        severity="error",
        message=error.message,
        path=item_path(item),
        item=item,
        hint=error.hint,
    )


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings by severity, rule and path."""
    return sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), list(RULES).index(f.rule), f.path, f.message))
