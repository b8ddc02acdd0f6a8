"""What an installation will change, and which changes need consent. Pure: two locks in, a plan out.

The rules of consent (DESIGN §7):

* A right is approved if the approved patterns of the item's lock entry contain it, exactly
  (:mod:`rye.permissions.containment`).
* A hook is new if the installed version does not have an identical one (condition, item, inputs). It is denied until
  it is approved, even after the item is installed. A hook that was there before and is not approved stays denied
  without a question.
* Code that can run (attached scripts, frontmatter hooks, servers, inline commands, a tool's code) is approved if the
  same run, byte for byte, is among the entry's approved runs (DESIGN 7.1).
* ``rye lock`` approves nothing: an entry that it wrote is compared with what was approved before it (``approved_signer``).
* Tools of the agent program (an agent's ``tools``, a skill's ``allowed-tools``) are not ``rye.`` rights, but they
  still need consent, together with their restrictions: losing a restriction counts as gaining a tool.
* The first item of a signer that this user never agreed to needs consent, whether it has rights or not. So does each
  unsigned item that this command did not name: a line of rye.toml that someone else wrote does not speak for this
  user.
* Cautions and alarms describe what the texts mention (:mod:`rye.text.facts`). An alarm stops a first installation that
  has no terminal; a new caution or alarm stops an update. ``--yes`` approves neither.
* A first installation asks for all of these. An update *stops* if it asks for more, brings in another item that does,
  or comes from another signer. Only a person's yes, or an approval that names the item and its version, lets it
  continue; ``--yes`` never does.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from rye.installation.fact_rules import by_other_rules
from rye.items.agent_tools import widened as widened_tools
from rye.items.identity import Identity
from rye.items.reading import HookAction, Run
from rye.permissions.containment import diff
from rye.permissions.risk import Tier, tiers
from rye.project.lock import Lock, LockedItem
from rye.resolution.versions import Version
from rye.text.facts.fact import RULES_VERSION

if TYPE_CHECKING:
    from rye.installation.signed_release import Mention
    from rye.installation.signer_history import SignerHistory
    from rye.permissions.risk import Tier

Action = Literal["add", "update", "downgrade", "replace", "remove", "keep"]


class Asked(Struct, frozen=True):
    """One right that is not approved yet. ``witness``: an action that it allows and the approved ones do not; None: not found."""

    pattern: str
    tier: Tier
    witness: str | None


class ItemChange(Struct, frozen=True):
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
    """Tools of the agent program that are not approved, and restrictions of approved ones that went away, in words."""
    runs: tuple[Run, ...] = ()
    """Code that can run and is not approved: new or changed."""
    mentions: tuple[Mention, ...] = ()
    """Its cautions and alarms, the approved ones among them."""
    new_mentions: tuple[Mention, ...] = ()
    """Those that need consent: alarms that are not approved, and of an update cautions that the version before did not have."""
    signer_changed: bool = False
    """It is signed by a different key than the installed version."""
    signer_new: bool = False
    """No approved item of its namespace is signed by this key: what ``rye lock`` only chose does not count."""
    signer_unknown: bool = False
    """It is new here, and this user never agreed to anything that this key signed."""
    history: SignerHistory | None = None
    """The age of release, key and namespace; None where nothing new is installed."""
    brought: bool = False
    """New here and unsigned; rye.toml already asked for it, and this command did not name it."""
    pulled_in: bool = False
    """Added because the new version of an installed item needs it; no one named it."""

    @property
    def forced(self) -> str | None:
        """The range that ``[overrides]`` of rye.toml forces on it."""
        return self.new.forced if self.new is not None else None

    @property
    def forces_anew(self) -> bool:
        """Whether it is forced to another version than before, or no longer forced."""
        return self.old is not None and self.new is not None and self.old.forced != self.new.forced

    @property
    def newly_forced(self) -> bool:
        """Whether rye.toml forces a version that rye.lock does not say is forced."""
        return self.forced is not None and (self.old is None or self.forces_anew)

    @property
    def label(self) -> str:
        """``kind:id@version``, as an approval names it."""
        item = self.new or self.old
        assert item is not None
        return f"{self.identity}@{item.version}"

    @property
    def stops(self) -> bool:
        """Whether only a person's yes, or an approval by name, lets it pass. A locked item that no one approved is new."""
        if self.new is None:
            return False
        if any(mention.is_alarm for mention in self.new_mentions):
            return True
        if self.brought and self.new.is_editable:  # rye.toml can name any folder of this machine, and may be anybody's
            return True
        if self.old is None:
            return self.pulled_in and self._asks
        pending = self.old.approved_signer is not None
        if never_approved(self.old) or (self.action == "keep" and not pending and _approves_nothing(self.old)):
            return False
        return self._asks

    @property
    def signer_before(self) -> str | None:
        """Who signed the approved version, if that was another key, or that no one did (an unsigned item of a source)."""
        if not self.signer_changed or self.old is None:
            return None
        if self.old.source is not None and self.old.approved_signer in (None, self.old.source.origin):
            return self.old.signed_by
        return self.old.approved_signer or self.old.signer

    @property
    def needs_consent(self) -> bool:
        """Whether someone must agree to the change, by answer, approval or ``--yes``."""
        return self.newly_forced or self.brought or self._asks

    @property
    def _asks(self) -> bool:
        """Whether the item itself asks for a yes. What rye.toml forces or brings may be the user's line: ``--yes`` answers."""
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
    """All changes, sorted by identity; unchanged items are among them with the action ``keep``."""

    changes: tuple[ItemChange, ...]

    @property
    def effective(self) -> tuple[ItemChange, ...]:
        """Those that do something or ask something, and those that ``[overrides]`` forces to something else than before."""
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

    ``mentions``: cautions and alarms by item, ``mentions_before`` those of the old entries, as far as they are known; what is not
    known counts as new. ``known_signers``: fingerprints that this user agreed to before; None: not asked. ``brought``: the items
    that rye.toml wanted before this command.
    """
    before = old.by_identity()
    after = {item.identity: item for item in new}
    signers: dict[str, set[str]] = {}
    for item in old.items:
        signers.setdefault(item.identity.namespace, set()).add(_approved_signer(item))
        if item.source is not None and not never_approved(item):
            signers[item.identity.namespace].add(item.registry)
    changes = []
    for identity in sorted(before.keys() | after.keys()):
        was, wanted = before.get(identity), after.get(identity)
        if wanted is None:
            changes.append(ItemChange("remove", identity, was, None))
            continue
        approved = was.approved_capabilities if was is not None else ()
        known_hooks = _known_hooks(was) if was is not None else ()
        action, talked = _action(was, wanted), _to_show((mentions or {}).get(identity, ()))
        changes.append(
            ItemChange(
                action,
                identity,
                was,
                wanted,
                asks=_asked(approved, wanted.capabilities),
                hooks=tuple(hook for hook in wanted.hooks if hook not in known_hooks),
                tools=widened_tools(was.tools_approved if was is not None else None, wanted.tools),
                runs=tuple(run for run in wanted.runs if was is None or run not in was.approved_runs),
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
    """Whether a different signer vouches for it. For a source, bytes that are unchanged, or newly signed by a trusted key, are
    vouched for at least as well as before."""
    before = _approved_signer(was)
    if wanted.source is not None and was.source is not None and was.registry == wanted.registry:
        same = (was.sha256, was.attached) == (wanted.sha256, wanted.attached)
        return not same and before not in ("", wanted.signer, was.registry)
    return before not in ("", wanted.signer)


def _is_known(wanted: LockedItem, known: frozenset[str], here: set[str]) -> bool:
    """Whether this user agreed to the signer; of a source's item to the source, too, here or, for a repository, anywhere."""
    if wanted.source is None:
        return wanted.signer in known
    agreed = {*known, *here}
    return wanted.registry in agreed and wanted.signer in agreed


def _mark_pulled_in(changes: Sequence[ItemChange]) -> tuple[ItemChange, ...]:
    """Mark items that an update pulls in: the updated item gains their rights indirectly, so they need consent as well."""
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
    return item.approved_signer == ""


def _approved_signer(was: LockedItem) -> str:
    """Return the signer of what was approved; empty if nothing was."""
    return was.signer if was.approved_signer is None else was.approved_signer


def _to_show(mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    return tuple(mention for mention in mentions if not mention.is_note)


def _new_mentions(
    action: Action, was: LockedItem | None, talked: Iterable[Mention], before: Iterable[Mention]
) -> tuple[Mention, ...]:
    """Of a first installation, and of the very release that is installed already, a caution stops nothing."""
    if was is not None and action == "keep" and by_other_rules(was):
        return ()  # told, and asked about where the user never saw these bytes: the text did not change
    had = {mention.word for mention in before}
    approved = set(was.approved_facts) if was is not None else set()
    if was is not None and was.facts_rules != RULES_VERSION:
        approved &= had  # what the approved text does not have, by these rules, says nothing of another text
    waiting = [mention for mention in talked if mention.word not in approved]
    first = was is None or never_approved(was) or (action == "keep" and was.approved_signer is None)
    return tuple(m for m in waiting if m.is_alarm or not (first or m.word in had))


def _approves_nothing(item: LockedItem) -> bool:
    """Whether the entry has no approvals at all, like one that another version of rye wrote."""
    return not (item.approved_capabilities or item.approved_tools or item.approved_runs or item.approved_facts)


def _known_hooks(was: LockedItem) -> tuple[HookAction, ...]:
    return was.approved_hooks if was.approved_signer is not None else (*was.approved_hooks, *was.hooks)


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
        return "update"  # versions without numbers: one commit or another
    return "update" if Version.parse(wanted.version) > Version.parse(was.version) else "downgrade"


def _release(item: LockedItem) -> str:
    """The version without what names a commit."""
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
    """The consent given. ``person``: a person was asked and said yes. ``yes``: ``--yes``. ``approved``: ``--approve``
    arguments."""

    person: bool = False
    yes: bool = False
    approved: frozenset[str] = frozenset()
    """Labels, ``kind:id@version`` each: :func:`labels_named` makes them of what a person wrote."""

    def names(self, change: ItemChange) -> bool:
        """Whether an approval names this change."""
        return change.new is not None and change.label in self.approved

    def covers(self, change: ItemChange) -> bool:
        """Whether the change may be made. Hooks of a first installation may stay unapproved: they are denied then."""
        if not change.needs_consent or self.person or self.names(change):
            return True
        return self.yes and not change.stops


def labels_named(plan: Plan, name: str) -> tuple[str, ...]:
    """The labels that ``[kind:]id@version`` means in this plan. More than one: an author gave two kinds the same id."""
    labels = [change.label for change in plan.changes if change.new is not None]
    return tuple(label for label in labels if name in (label, label.partition(":")[2]))


def refused(plan: Plan, consent: Consent) -> tuple[ItemChange, ...]:
    """The changes without consent. Nothing is installed while there are any."""
    return tuple(change for change in plan.changes if not consent.covers(change))


def approved_items(plan: Plan, consent: Consent) -> tuple[LockedItem, ...]:
    """The new lock's entries with what is approved after this consent. Call only when :func:`refused` is empty."""
    return tuple(_approve(change, consent) for change in plan.changes if change.new is not None)


def _approve(change: ItemChange, consent: Consent) -> LockedItem:
    assert change.new is not None
    explicit = consent.person or consent.names(change)
    known = change.old.approved_hooks if change.old is not None else ()
    hooks = change.new.hooks if explicit else tuple(hook for hook in change.new.hooks if hook in known)
    before = change.old.approved_facts if change.old is not None else ()
    facts = {mention.word for mention in change.mentions if explicit or mention.word in before}
    if change.new.is_editable:  # every later reading of it is compared with what it mentioned when it was agreed to
        facts |= {mention.word for mention in change.mentions if not mention.is_alarm}
    rules = RULES_VERSION
    if change.old is not None and change.action == "keep" and by_other_rules(change.old) and not explicit:
        facts, rules = set(before), change.old.facts_rules
    return replace(
        change.new,
        approved_capabilities=change.new.capabilities,
        approved_hooks=hooks,
        approved_tools=change.new.agent_tools,
        approved_limits=change.new.agent_limits,
        approved_runs=change.new.runs,
        approved_facts=tuple(sorted(facts)),
        facts_rules=rules,
    )


def by_tier(changes: Iterable[ItemChange]) -> Mapping[Tier, list[tuple[ItemChange, Asked]]]:
    """All asked rights of a plan, worst tier first, as the consent screen shows them."""
    rows = [(change, asked) for change in changes for asked in change.asks]
    return {tier: found for tier in reversed(Tier) if (found := [row for row in rows if row[1].tier == tier])}
