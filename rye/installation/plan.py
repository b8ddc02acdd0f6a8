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
* The text of an unsigned item that changed needs consent, unless this user agreed to exactly these bytes here before;
  ``--yes`` is enough.
* Cautions and alarms describe what the texts mention (:mod:`rye.text.facts`). An alarm stops a first installation that
  has no terminal; a new caution or alarm stops an update. ``--yes`` approves neither.
* A first installation asks for all of these. An update *stops* if it asks for more, pulls in another item that does,
  or comes from another signer. It continues only if a person says yes, or with an approval that names the item and its
  version; ``--yes`` is never enough.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from rye.consent.agreement import by_other_rules
from rye.consent.ask import Ask, approving
from rye.consent.changes import Asked, ItemStep, NewSigner, asks_of, signers_in_lock
from rye.consent.sorts import SORTS, approvals, approves_nothing, row_of
from rye.items.identity import Identity
from rye.permissions.risk import Tier
from rye.project.declared_sources import is_source_origin
from rye.project.lock import Lock, LockedItem, in_words
from rye.resolution.versions import Version
from rye.text.facts.fact import RULES_VERSION

if TYPE_CHECKING:
    from rye.describing.description import Description
    from rye.items.signed_release import Mention
    from rye.registry.trust.records import SignerHistory

Action = Literal["add", "update", "downgrade", "replace", "remove", "keep"]


class ItemChange(Struct, frozen=True, kw_only=True):
    """The change of one item."""

    action: Action
    identity: Identity
    old: LockedItem | None
    new: LockedItem | None
    asks: tuple[Ask, ...] = ()
    """What needs consent, in the order of the table of sorts (:mod:`rye.consent.changes`)."""
    mentions: tuple[Mention, ...] = ()
    """Its cautions and alarms, including approved ones."""
    signer_new: bool = False
    """Whether no approved item of its namespace is signed by this key. Entries that ``rye lock`` wrote do not count."""
    namespace_new: bool = False
    """Whether the project has no approved item of its namespace at all."""
    description: Description | None = None
    """What a person is told about the new version; None if nothing new is installed."""
    history: SignerHistory | None = None
    """How old the release, its key and its namespace are; None if nothing new is installed."""
    pulled_in: bool = False
    """Whether it is added only because the new version of an installed item needs it."""

    def of(self, sort: str) -> tuple[Any, ...]:
        """What it asks for of one sort: Asked rights, HookActions, tools in words, Runs, Mentions, NewSigners, or
        the texts."""
        return tuple(ask.text if ask.subject is None else ask.subject for ask in self.asks if ask.sort == sort)

    @property
    def signer_changed(self) -> bool:
        """Whether it is signed by a different key than the installed version."""
        return any(why.changed for why in self._signers)

    @property
    def signer_unknown(self) -> bool:
        """Whether it is new here, and this user never agreed to anything that this key signed."""
        return any(why.unknown for why in self._signers)

    @property
    def _signers(self) -> tuple[NewSigner, ...]:
        return (*self.of("signer"), *self.of("source"))

    @property
    def forced(self) -> str | None:
        """The range that ``[overrides]`` of rye.toml forces on it."""
        return self.new.forced if self.new is not None else None

    @property
    def forces_anew(self) -> bool:
        """Whether ``[overrides]`` forces a different range than before, or no longer forces one."""
        return self.old is not None and self.new is not None and self.old.forced != self.new.forced

    @property
    def is_first(self) -> bool:
        """Whether no version of it was ever approved, so that nothing of it is newer than the rest."""
        return self.old is None or self.old.approved.is_nothing

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
        if any(row_of(ask).stops_always(ask) for ask in self.asks):
            return True
        wider = any(row_of(ask).stops(ask) for ask in self.asks)
        if self.old is None:
            return self.pulled_in and wider
        approved = self.old.approved
        if approved.is_nothing or (self.action == "keep" and not approved.is_pending and approves_nothing(approved)):
            return False
        return wider

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
    def signed_before(self) -> str | None:
        """The same in words: ``by FINGERPRINT`` or ``not signed (git commit …)``."""
        return in_words(self.signer_before).removeprefix("signed ") if self.signer_before is not None else None

    @property
    def is_shown(self) -> bool:
        """Whether a screen describes the item: anything but one that stays as it was approved."""
        return self.action != "keep" or (self.old is not None and self.old.approved.is_pending and self.needs_consent)

    @property
    def needs_consent(self) -> bool:
        """Whether the change needs consent: an answer, an approval or ``--yes``."""
        return bool(self.asks)


class Plan(Struct, frozen=True):
    """All changes, sorted by identity. Unchanged items are included, with the action ``keep``."""

    changes: tuple[ItemChange, ...]

    @property
    def effective(self) -> tuple[ItemChange, ...]:
        """The changes that do something, need consent, or have a different forced range than before."""
        return tuple(
            change for change in self.changes if change.action != "keep" or change.needs_consent or change.forces_anew
        )

    @property
    def from_lock(self) -> tuple[LockedItem, ...]:
        """The entries that stay as somebody approved them in the lock, with their signers."""
        return tuple(
            change.new
            for change in self.changes
            if change.action == "keep" and change.new and change.old and not change.old.approved.is_pending
        )


def make_plan(
    old: Lock,
    new: Sequence[LockedItem],
    *,
    mentions: Mapping[Identity, tuple[Mention, ...]] | None = None,
    mentions_before: Mapping[Identity, tuple[Mention, ...]] | None = None,
    known_signers: frozenset[str] | None = None,
    brought: Container[Identity] = (),
    knows_bytes: Callable[[LockedItem], bool] = lambda row: False,
) -> Plan:
    """Compare what is installed with what is wanted. The new entries' own approvals are ignored: only the old lock's count.

    ``mentions``: cautions and alarms by item; ``mentions_before``: those of the old entries, as far as known; unknown ones
    count as new. ``known_signers``: fingerprints that this user agreed to before; None skips this check. ``brought``: the
    items that rye.toml asked for before this command. ``knows_bytes``: whether this user agreed to exactly these bytes before.
    """
    before = old.by_identity()
    after = {item.identity: item for item in new}
    signers = signers_in_lock(old.items)
    changes = []
    for identity in sorted(before.keys() | after.keys()):
        was, wanted = before.get(identity), after.get(identity)
        if wanted is None:
            changes.append(ItemChange(action="remove", identity=identity, old=was, new=None))
            continue
        action = _action(was, wanted)
        step = ItemStep(
            was=was,
            wanted=wanted,
            is_kept=action == "keep",
            mentions=_to_show((mentions or {}).get(identity, ())),
            mentions_before=(mentions_before or {}).get(identity, ()),
            signers_in_lock=signers.get(identity.namespace, frozenset()),
            known_signers=known_signers,
            unsigned_from=_unsigned_from(was),
            is_wanted=identity in brought,
            knows_bytes=knows_bytes,
        )
        changes.append(
            ItemChange(
                action=action,
                identity=identity,
                old=was,
                new=wanted,
                asks=asks_of(step),
                mentions=step.mentions,
                signer_new=wanted.signer not in step.signers_in_lock,
                namespace_new=step.signers_in_lock <= {""},
            )
        )
    return Plan(_mark_pulled_in(changes))


def _unsigned_from(was: LockedItem | None) -> str | None:
    """The source of the approved version, if no one signed that."""
    before = was.approved.signer_of(was.signer) if was is not None else ""
    return before if is_source_origin(before) else None


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


def _to_show(mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    return tuple(mention for mention in mentions if not mention.is_note)


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


def agreed_rows(plan: Plan, consent: Consent) -> tuple[LockedItem, ...]:
    """Return the new lock's entries with their approvals. Call only if :func:`refused` returns nothing."""
    return tuple(_approve(change, consent) for change in plan.changes if change.new is not None)


def _approve(change: ItemChange, consent: Consent) -> LockedItem:
    assert change.new is not None
    old, new, explicit = change.old, change.new, consent.person or consent.names(change)
    given: dict[str, tuple[Any, ...]] = {}
    for sort in SORTS:
        seen = change.of(sort.name) if consent.person else ()  # what a person was not shown stays denied
        for name, wanted in sort.asked(new).items():
            known = old.approved.of(name) if old is not None else ()
            is_whole = consent.names(change) or not sort.is_denied
            given[name] = wanted if is_whole else tuple(v for v in wanted if v in known or v in seen)
    before = old.approved.of("fact") if old is not None else ()
    facts = {mention.word for mention in change.mentions if explicit or mention.word in before}
    if new.is_editable:  # later content is compared with what was agreed to
        facts |= {mention.word for mention in change.mentions if not mention.is_alarm}
    rules = RULES_VERSION
    if old is not None and change.action == "keep" and by_other_rules(old) and not explicit:
        facts, rules = set(before), old.approved.rules
    return replace(new, approved=approving(rules, **{**given, "fact": sorted(facts)}))


def approvals_from_lock(plan: Plan) -> frozenset[Ask]:
    """The approvals that an installation takes from the lock instead of asking."""
    relied: set[Ask] = set()
    for change in plan.changes:
        if change.new is None or change.old is None or change.old.approved.is_nothing:
            continue
        row = _approve(change, Consent())
        relied.update(ask for ask in approvals([row]) if ask.sort != "tool" and ask not in change.asks)
        if not change.of("tool"):  # no new tools: the user agreed to the earlier ones
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
        if change.is_shown or change.of("fact"):
            for mention in change.of("fact") if only_new else change.mentions:
                key = (mention.is_alarm, mention.fact, _bare(mention.value))
                gathered.setdefault(key, []).append((change, mention))
    told = []
    for (is_alarm, fact, bare), found in gathered.items():
        lines: dict[tuple[Identity, str, bool], list[int]] = {}
        for change, mention in found:
            new = change.old is not None and mention in change.of("fact")
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
    rows = [(change, asked) for change in changes for asked in change.of("right")]
    return {tier: found for tier in reversed(Tier) if (found := [row for row in rows if row[1].tier == tier])}
