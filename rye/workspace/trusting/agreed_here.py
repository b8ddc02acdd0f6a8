"""What this user agreed to for one installed item (DESIGN 6.1, Agreed here).

An item's text says what it wants, and rye.lock says what the team approved. On this machine, only what is in both and
this user agreed to counts. Any other right, tool or runnable code is denied, and a text that comes with one is not
returned for use.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.consent.ask import Ask, run_text
from rye.consent.sorts import approvals
from rye.errors import RyeError
from rye.installation.fact_rules import refused_alarms
from rye.items.agent_tools import widened
from rye.items.identity import Identity
from rye.permissions.containment import diff
from rye.workspace.trusting.acceptance import not_accepted, trusts_lock, unseen
from rye.workspace.trusting.other_rules import unseen_alarms

if TYPE_CHECKING:
    from rye.items.signed_release import SignedRelease
    from rye.project.lock import LockedItem
    from rye.verified.installed import CheckedItem
    from rye.workspace.context import Context

_LISTED = 3


class AgreedHere(Struct, frozen=True):
    """What an installed item may do on this machine, and what still needs consent."""

    identity: Identity
    capabilities: tuple[str, ...]
    """The patterns that the user agreed to."""
    waiting: tuple[Ask, ...] = ()
    """Approvals in rye.lock that this user has not agreed to, without its signer."""
    unapproved: tuple[Ask, ...] = ()
    """What its release asks for and rye.lock does not approve, except hooks, which are denied one by one."""

    @property
    def is_whole(self) -> bool:
        """Whether the user agreed to everything that the item comes with."""
        return not self.waiting and not self.unapproved

    def allowed(self, wanted: Iterable[str]) -> tuple[str, ...]:
        """The patterns covered by what the user agreed to."""
        return tuple(
            pattern for pattern in wanted if pattern in self.capabilities or not _beyond(self.capabilities, (pattern,))
        )

    def waits_for(self, what: str) -> frozenset[str]:
        """The values of one sort that still need consent."""
        return frozenset(one.text for one in (*self.waiting, *self.unapproved) if one.sort == what)

    def refusal(self) -> RyeError | None:
        """The error why the item's text is not returned for use; None if no consent is missing."""
        if self.unapproved:
            return unapproved(self.identity, self.unapproved)
        return not_accepted(self.waiting) if self.waiting else None


def agreed_here(context: Context, item: CheckedItem, trust_lock: bool = False) -> AgreedHere:
    """What this user agreed to. ``trust_lock``: the option ``--trust-lock``."""
    row = item.row
    waiting: tuple[Ask, ...] = ()
    if not trusts_lock(context, trust_lock):
        waiting = tuple(
            one for one in unseen(context.home, item.project, approvals([row])) if one.sort not in ("signer", "source")
        )
        waiting += unseen_alarms(context.home, item.project, [row], {row.identity: item.release})
    refused = {one.text for one in waiting if one.sort == "right"}
    agreed = tuple(pattern for pattern in row.approved.of("right") if pattern not in refused)
    return AgreedHere(row.identity, agreed, waiting, tuple(not_approved(row, item.release)))


def not_approved(row: LockedItem, release: SignedRelease) -> Iterable[Ask]:
    """What a release comes with beyond what its row approves, except hooks."""
    name = str(row.identity)
    for pattern in _beyond(row.approved.of("right"), release.capabilities):
        yield Ask(name, "right", pattern)
    for run in release.runs:
        if run not in row.approved.of("run"):
            yield Ask(name, "run", run_text(run))
    for tool in widened(row.approved.tools, release.tools):
        yield Ask(name, "tool", tool)
    for mention in refused_alarms(row, release.mentions):
        yield Ask(name, "fact", mention.word)


def _beyond(agreed: tuple[str, ...], wanted: tuple[str, ...]) -> list[str]:
    if set(wanted) <= set(agreed):
        return []
    return [change.pattern for change in diff(agreed, wanted).widened]


def unapproved(identity: Identity, what: tuple[Ask, ...]) -> RyeError:
    """The error for parts of an item that rye.lock does not approve."""
    listed = "; ".join(f"{one.sort} {one.text}" for one in what[:_LISTED])
    more = f"; and {len(what) - _LISTED} more" if len(what) > _LISTED else ""
    return RyeError(
        "consent-needed",
        f"rye.lock does not approve everything in {identity}: {listed}{more}.",
        "Run `rye install` to review and approve it.",
        details={"approvals": [one.as_json() for one in what]},
    )
