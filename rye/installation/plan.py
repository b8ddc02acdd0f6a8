"""What an installation will change, and which changes need consent. Pure: two locks in, a plan out.

The rules of consent (DESIGN §7):

* A right is approved if the approved patterns of the item's lock entry contain it, exactly
  (:mod:`rye.permissions.containment`).
* A hook is new if the installed version does not have an identical one (condition, item, inputs). It is denied until
  it is approved, even after the item is installed. A hook that the installed version already had, unapproved, stays
  denied, and no one is asked again.
* Code that can run (attached scripts, frontmatter hooks, servers, inline commands, a tool's code) is approved if the
  same run, byte for byte, is among the entry's approved runs (DESIGN 7.1).
* ``rye lock`` approves nothing: an entry that it wrote is compared with what was approved before it (:attr:`Approved.signer`).
* Tools of the agent program (an agent's ``tools``, a skill's ``allowed-tools``) are not ``rye.`` rights, but they
  still need consent, together with their restrictions: losing a restriction counts as gaining a tool.
* The first item of a signer that this user never agreed to needs consent, whether it has rights or not. So does each
  unsigned item that this command did not name: someone else may have written its line of rye.toml.
* Cautions and alarms describe what the texts mention (:mod:`rye.text.facts`). An alarm stops a first installation that
  has no terminal; a new caution or alarm stops an update. ``--yes`` approves neither.
* A first installation asks for all of these. An update *stops* if it asks for more, pulls in another item that does,
  or comes from another signer. It continues only if a person says yes, or with an approval that names the item and its
  version; ``--yes`` is never enough.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from rye.consent.approved import approving
from rye.consent.ask import Ask, hook_text, run_text
from rye.consent.facts import by_other_rules
from rye.consent.sorts import approvals
from rye.items.agent_tools import widened as widened_tools
from rye.items.consented import HookAction, Run
from rye.items.identity import Identity
from rye.permissions.containment import diff
from rye.permissions.risk import Tier, tiers
from rye.project.declared_sources import is_source_origin
from rye.project.lock import Lock, LockedItem, in_words
from rye.resolution.versions import Version
from rye.text.facts.fact import RULES_VERSION

if TYPE_CHECKING:
    from rye.items.signed_release import Mention
    from rye.permissions.risk import Tier
    from rye.registry.trust.signer_history import SignerHistory

Action = Literal["add", "update", "downgrade", "replace", "remove", "keep"]


class Asked(Struct, frozen=True):
    """A right that is not approved yet. ``witness``: an action that it allows and the approved ones do not; None if not found."""

    pattern: str
    tier: Tier
    witness: str | None


class ItemChange(Struct, frozen=True, kw_only=True):
    """The change of one item."""

    action: Action
    identity: Identity
    old: LockedItem | None
    new: LockedItem | None
    asks: tuple[Asked, ...] = ()
    """Rights that need consent, by tier (worst first) and pattern."""
    hooks: tuple[HookAction, ...] = ()
    """Hooks that need consent."""
    tools: tuple[str, ...] = ()
    """Tools of the agent program that are not approved, and lost restrictions of approved ones, in words."""
    runs: tuple[Run, ...] = ()
    """New or changed code that can run and is not approved."""
    mentions: tuple[Mention, ...] = ()
    """Its cautions and alarms, including approved ones."""
    new_mentions: tuple[Mention, ...] = ()
    """Those that need consent: alarms that are not approved and, in an update, cautions that the installed version lacks."""
    signer_changed: bool = False
    """Whether it is signed by a different key than the installed version."""
    signer_new: bool = False
    """Whether no approved item of its namespace is signed by this key. Entries that ``rye lock`` wrote do not count."""
    signer_unknown: bool = False
    """Whether it is new here, and this user never agreed to anything that this key signed."""
    history: SignerHistory | None = None
    """How old the release, its key and its namespace are; None if nothing new is installed."""
    brought: bool = False
    """Whether it is new here and unsigned, and rye.toml asked for it before this command."""
    pulled_in: bool = False
    """Whether it is added only because the new version of an installed item needs it."""

    @property
    def forced(self) -> str | None:
        """The range that ``[overrides]`` of rye.toml forces on it."""
        return self.new.forced if self.new is not None else None

    @property
    def forces_anew(self) -> bool:
        """Whether ``[overrides]`` forces a different range than before, or no longer forces one."""
        return self.old is not None and self.new is not None and self.old.forced != self.new.forced

    @property
    def newly_forced(self) -> bool:
        """Whether rye.toml forces a range that rye.lock does not record."""
        return self.forced is not None and (self.old is None or self.forces_anew)

    @property
    def label(self) -> str:
        """``kind:id@version``, as an approval names it."""
        item = self.new or self.old
        assert item is not None
        return f"{self.identity}@{item.version}"

    @property
    def stops(self) -> bool:
        """Whether it needs a person's yes, or an approval by name. A locked item that no one approved counts as new."""
        if self.new is None:
            return False
        if any(mention.is_alarm for mention in self.new_mentions):
            return True
        if self.brought and self.new.is_editable:  # a stranger's rye.toml could name any folder here
            return True
        if self.old is None:
            return self.pulled_in and self._asks
        pending = self.old.approved.signer is not None
        if never_approved(self.old) or (self.action == "keep" and not pending and _approves_nothing(self.old)):
            return False
        return self._asks

    @property
    def signer_before(self) -> str | None:
        """Who signed the approved version, if the signer changed: a fingerprint, or words for an unsigned item of a source."""
        if not self.signer_changed or self.old is None:
            return None
        before = self.old.approved.signer
        if before is None:
            return self.old.signed_by
        return f"none ({before})" if is_source_origin(before) else before

    @property
    def unsigned_from(self) -> str | None:
        """The source of the approved version, if no one signed that."""
        before = _signer_approved(self.old) if self.old is not None else ""
        return before if is_source_origin(before) else None

    @property
    def signed_before(self) -> str | None:
        """The same in words: ``by FINGERPRINT`` or ``not signed (git commit …)``."""
        return in_words(self.signer_before).removeprefix("signed ") if self.signer_before is not None else None

    @property
    def needs_consent(self) -> bool:
        """Whether the change needs consent: an answer, an approval or ``--yes``."""
        return self.newly_forced or self.brought or self._asks

    @property
    def _asks(self) -> bool:
        """Whether the item itself needs consent. What rye.toml forces or brings in may be the user's own line, so it is not
        included: ``--yes`` is enough there."""
        return self.new is not None and bool(
            self.asks
            or self.hooks
            or self.tools
            or self.runs
            or self.new_mentions
            or self.signer_changed
            or self.signer_unknown
        )


class Plan(Struct, frozen=True):
    """All changes, sorted by identity. Unchanged items are included, with the action ``keep``."""

    changes: tuple[ItemChange, ...]

    @property
    def effective(self) -> tuple[ItemChange, ...]:
        """The changes that do something, need consent, or have a different forced range than before."""
        return tuple(
            change for change in self.changes if change.action != "keep" or change.needs_consent or change.forces_anew
        )


def make_plan(
    old: Lock,
    new: Sequence[LockedItem],
    *,
    mentions: Mapping[Identity, tuple[Mention, ...]] | None = None,
    mentions_before: Mapping[Identity, tuple[Mention, ...]] | None = None,
    known_signers: frozenset[str] | None = None,
    brought: Container[Identity] = (),
) -> Plan:
    """Compare what is installed with what is wanted. The new entries' own approvals are ignored: only the old lock's count.

    ``mentions``: cautions and alarms by item; ``mentions_before``: those of the old entries, as far as known; unknown ones
    count as new. ``known_signers``: fingerprints that this user agreed to before; None skips this check. ``brought``: the
    items that rye.toml asked for before this command.
    """
    before = old.by_identity()
    after = {item.identity: item for item in new}
    signers: dict[str, set[str]] = {}
    for item in old.items:
        signers.setdefault(item.identity.namespace, set()).add(_signer_approved(item))
        if item.approved.signer is None:  # the source of an entry that `rye lock` wrote is not approved
            signers[item.identity.namespace].add(item.registry)
    changes = []
    for identity in sorted(before.keys() | after.keys()):
        was, wanted = before.get(identity), after.get(identity)
        if wanted is None:
            changes.append(ItemChange(action="remove", identity=identity, old=was, new=None))
            continue
        approved = was.approved.of("right") if was is not None else ()
        known_hooks = _known_hooks(was) if was is not None else ()
        action, talked = _action(was, wanted), _to_show((mentions or {}).get(identity, ()))
        changes.append(
            ItemChange(
                action=action,
                identity=identity,
                old=was,
                new=wanted,
                asks=_asked(approved, wanted.capabilities),
                hooks=tuple(hook for hook in wanted.hooks if hook not in known_hooks),
                tools=widened_tools(was.approved.tools if was is not None else None, wanted.tools),
                runs=tuple(run for run in wanted.runs if was is None or run not in was.approved.of("run")),
                mentions=talked,
                new_mentions=_new_mentions(action, was, talked, (mentions_before or {}).get(identity, ())),
                signer_changed=was is not None and _signer_changed(was, wanted),
                signer_new=wanted.signer not in signers.get(identity.namespace, set()),
                signer_unknown=known_signers is not None
                and (was is None or never_approved(was))
                and not _is_known(wanted, known_signers, signers.get(identity.namespace, set())),
                brought=wanted.is_unsigned and (was is None or never_approved(was)) and identity in brought,
            )
        )
    return Plan(_mark_pulled_in(changes))


def _signer_changed(was: LockedItem, wanted: LockedItem) -> bool:
    """Whether a different signer vouches for it. For an item of a source, approved bytes that did not change, and a first
    signature by a trusted key, do not count as a change of signer. The bytes of an entry that ``rye lock`` wrote are not
    approved."""
    before = _signer_approved(was)
    if was.source is not None and was.registry == wanted.registry:
        same = (was.sha256, was.attached, was.approved.signer) == (wanted.sha256, wanted.attached, None)
        return not same and before not in ("", wanted.signer, was.registry)
    return before not in ("", wanted.signer)


def _is_known(wanted: LockedItem, known: frozenset[str], here: set[str]) -> bool:
    """Whether this user agreed to the signer. For an item of a source, also to the source: in this project or, for a
    repository, in any project."""
    if wanted.source is None:
        return wanted.signer in known
    agreed = {*known, *here}
    return wanted.registry in agreed and wanted.signer in agreed


def _mark_pulled_in(changes: Sequence[ItemChange]) -> tuple[ItemChange, ...]:
    """Mark items that an update pulls in. The updated item gains their rights indirectly, so they need consent as well."""
    added = {str(change.identity): change for change in changes if change.action == "add"}
    waiting = [c.new for c in changes if c.new is not None and c.action in ("update", "replace")]
    reached: set[str] = set()
    while waiting:
        for name in waiting.pop().dependencies:
            if name in added and name not in reached:
                reached.add(name)
                new = added[name].new
                assert new is not None
                waiting.append(new)
    return tuple(replace(c, pulled_in=str(c.identity) in reached) if c.action == "add" else c for c in changes)


def never_approved(item: LockedItem) -> bool:
    """Whether ``rye lock`` wrote the entry and no release of the item was ever approved."""
    return item.approved.signer == ""


def _signer_approved(was: LockedItem) -> str:
    """Return the signer of the approved release; empty if none was approved."""
    return was.signer if was.approved.signer is None else was.approved.signer


def _to_show(mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    return tuple(mention for mention in mentions if not mention.is_note)


def _new_mentions(
    action: Action, was: LockedItem | None, talked: Iterable[Mention], before: Iterable[Mention]
) -> tuple[Mention, ...]:
    """Return the mentions that need consent. In a first installation, or for the release that is already installed, cautions
    do not."""
    if was is not None and action == "keep" and by_other_rules(was):
        return ()  # the text did not change, only the rules (facts.py)
    had = {mention.word for mention in before}
    approved = set(was.approved.of("fact")) if was is not None else set()
    if was is not None and was.approved.rules != RULES_VERSION:
        approved &= had  # an approval counts only if today's rules find the fact in the approved text
    waiting = [mention for mention in talked if mention.word not in approved]
    first = was is None or never_approved(was) or (action == "keep" and was.approved.signer is None)
    return tuple(m for m in waiting if m.is_alarm or not (first or m.word in had))


def _approves_nothing(item: LockedItem) -> bool:
    """Whether the entry has no approvals at all, as if another version of Rye wrote it."""
    return not (
        item.approved.of("right") or item.approved.of("tool") or item.approved.of("run") or item.approved.of("fact")
    )


def _known_hooks(was: LockedItem) -> tuple[HookAction, ...]:
    return was.approved.of("hook") if was.approved.signer is not None else (*was.approved.of("hook"), *was.hooks)


def _action(was: LockedItem | None, wanted: LockedItem) -> Action:
    if was is None:
        return "add"
    if was.version == wanted.version:
        return (
            "keep"
            if (was.sha256, was.attached, was.registry) == (wanted.sha256, wanted.attached, wanted.registry)
            else "replace"
        )

    if wanted.source is not None and was.source is not None and _release(was) == _release(wanted):
        return "update"  # they differ only in the commit, which has no order
    return "update" if Version.parse(wanted.version) > Version.parse(was.version) else "downgrade"


def _release(item: LockedItem) -> str:
    """Return the version without its commit."""
    return item.version.partition("+")[0]


@lru_cache(maxsize=4096)
def _asked(approved: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[Asked, ...]:
    if set(wanted) <= set(approved):
        return ()

    widened = diff(approved, wanted).widened
    levels = tiers(change.pattern for change in widened)
    found = [Asked(change.pattern, levels[change.pattern], change.witness) for change in widened]
    return tuple(sorted(found, key=lambda asked: (-asked.tier, asked.pattern)))


class Consent(Struct, frozen=True):
    """The consent given. ``person``: a person was asked and said yes; ``yes``: ``--yes``; ``approved``: from ``--approve``."""

    person: bool = False
    yes: bool = False
    approved: frozenset[str] = frozenset()
    """Labels, ``kind:id@version``, as :func:`labels_named` returns them."""

    def names(self, change: ItemChange) -> bool:
        """Whether an approval names this change."""
        return change.new is not None and change.label in self.approved

    def covers(self, change: ItemChange) -> bool:
        """Whether the change may be made. Hooks of a first installation can stay unapproved; they are denied then."""
        if not change.needs_consent or self.person or self.names(change):
            return True
        return self.yes and not change.stops


def labels_named(plan: Plan, name: str) -> tuple[str, ...]:
    """Return the labels in this plan that ``[kind:]id@version`` matches: several if items of different kinds share an id."""
    labels = [change.label for change in plan.changes if change.new is not None]
    return tuple(label for label in labels if name in (label, label.partition(":")[2]))


def refused(plan: Plan, consent: Consent) -> tuple[ItemChange, ...]:
    """Return the changes that lack consent. If there are any, nothing may be installed."""
    return tuple(change for change in plan.changes if not consent.covers(change))


def approved_items(plan: Plan, consent: Consent) -> tuple[LockedItem, ...]:
    """Return the new lock's entries with their approvals. Call only if :func:`refused` returns nothing."""
    return tuple(_approve(change, consent) for change in plan.changes if change.new is not None)


def _approve(change: ItemChange, consent: Consent) -> LockedItem:
    assert change.new is not None
    explicit = consent.person or consent.names(change)
    known = change.old.approved.of("hook") if change.old is not None else ()
    hooks = change.new.hooks if explicit else tuple(hook for hook in change.new.hooks if hook in known)
    before = change.old.approved.of("fact") if change.old is not None else ()
    facts = {mention.word for mention in change.mentions if explicit or mention.word in before}
    if change.new.is_editable:  # later content is compared with what was agreed to
        facts |= {mention.word for mention in change.mentions if not mention.is_alarm}
    rules = RULES_VERSION
    if change.old is not None and change.action == "keep" and by_other_rules(change.old) and not explicit:
        facts, rules = set(before), change.old.approved.rules
    return replace(
        change.new,
        approved=approving(
            rules,
            right=change.new.capabilities,
            hook=hooks,
            tool=change.new.agent_tools,
            limit=change.new.agent_limits,
            run=change.new.runs,
            fact=tuple(sorted(facts)),
        ),
    )


def approvals_from_lock(plan: Plan) -> frozenset[Ask]:
    """The approvals that an installation takes from the lock instead of asking."""
    relied: set[Ask] = set()
    for change in plan.changes:
        if change.new is None or change.old is None or never_approved(change.old):
            continue
        asked = {asked.pattern for asked in change.asks}
        asked.update(hook_text(hook) for hook in change.hooks)
        asked.update(run_text(run) for run in change.runs)
        asked.update(mention.word for mention in change.new_mentions)
        if change.forces_anew and change.forced is not None:
            asked.add(change.forced)  # this run asks for it; rye.lock did not have it
        if change.signer_changed:
            asked.add(change.new.signer)
        row = _approve(change, Consent())
        relied.update(ask for ask in approvals([row]) if ask.sort != "tool" and ask.text not in asked)
        if not change.tools:  # no new tools: the user agreed to the earlier ones
            relied.update(ask for ask in approvals([change.old]) if ask.sort == "tool")
    return frozenset(relied)


class MentionPlace(Struct, frozen=True):
    """Where one file of an item has a mention. ``new``: the item is updated, and the mention was not there before."""

    item: Identity
    path: str
    lines: tuple[int, ...]
    new: bool


class GatheredMention(Struct, frozen=True):
    """One mention with every place of it. ``value`` lacks closing tags and full stops after it if the places differ in them."""

    fact: str
    value: str
    is_alarm: bool
    places: tuple[MentionPlace, ...]


def gather_mentions(changes: Iterable[ItemChange], *, only_new: bool = False) -> list[GatheredMention]:
    """Return what a person is told of the changes' mentions, alarms first, otherwise in the order of the changes.
    ``only_new``: without those that need no consent."""
    gathered: dict[tuple[bool, str, str], list[tuple[ItemChange, Mention]]] = {}
    for change in changes:
        if change.action != "keep" or change.new_mentions:
            for mention in change.new_mentions if only_new else change.mentions:
                key = (mention.is_alarm, mention.fact, _bare(mention.value))
                gathered.setdefault(key, []).append((change, mention))
    told = []
    for (is_alarm, fact, bare), found in gathered.items():
        lines: dict[tuple[Identity, str, bool], list[int]] = {}
        for change, mention in found:
            new = change.old is not None and mention in change.new_mentions
            lines.setdefault((change.identity, mention.path, new), []).append(mention.line)
        values = {mention.value for _, mention in found}
        places = tuple(MentionPlace(item, path, tuple(at), new) for (item, path, new), at in lines.items())
        told.append(GatheredMention(fact, values.pop() if len(values) == 1 else bare, is_alarm, places))
    return sorted(told, key=lambda one: not one.is_alarm)


def _bare(value: str) -> str:
    """A mention without what follows it in its sentence: full stops and closing tags."""
    return re.sub(r"(?:</[A-Za-z_-]{1,40}>|[.,;:])+$", "", value) or value


def by_tier(changes: Iterable[ItemChange]) -> Mapping[Tier, list[tuple[ItemChange, Asked]]]:
    """Return the rights that need consent by tier, worst first, as the consent screen shows them."""
    rows = [(change, asked) for change in changes for asked in change.asks]
    return {tier: found for tier in reversed(Tier) if (found := [row for row in rows if row[1].tier == tier])}
