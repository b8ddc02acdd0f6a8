"""What the change of one item asks for, sort by sort (DESIGN 7). Pure.

Only what the lock approved before counts; the new row's own approvals do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct

from rye.consent.agreement import by_other_rules
from rye.consent.ask import Ask
from rye.consent.rows import Row
from rye.consent.sorts import SORTS, Sort, Values
from rye.items.signed_release import Mention
from rye.permissions.containment import diff
from rye.permissions.risk import Tier, tiers
from rye.text.facts.fact import RULES_VERSION


class Asked(Struct, frozen=True):
    """A right that is not approved yet. ``witness``: an action that it allows and the approved ones do not; None if not found."""

    pattern: str
    tier: Tier
    witness: str | None


class NewSigner(Struct, frozen=True, kw_only=True):
    """Why the signer of an item, or its source, needs a yes."""

    changed: bool = False
    """Whether it is signed by a different key than the installed version."""
    unknown: bool = False
    """Whether it is new here, and this user never agreed to anything that this key signed."""
    brought: bool = False
    """Whether it is new here and unsigned, and rye.toml asked for it before this command."""
    registry: str = ""
    """The registry's origin, or the source's."""
    is_source: bool = False
    is_unsigned: bool = False
    is_editable: bool = False
    """Whether it is read from its folder each time: a stranger's rye.toml could name any folder here."""
    unsigned_from: str | None = None
    """The source of the approved version, if no one signed that."""

    @property
    def editable(self) -> bool:
        """Whether rye.toml brings in a folder to read in place."""
        return self.brought and self.is_editable

    @property
    def reasons(self) -> list[str]:
        """The same in words."""
        said = []
        if self.unknown:
            of = f"source that you never agreed to ({self.registry})" if self.is_source else _UNKNOWN
            said.append(f"is the first item from a {of}")
        elif self.brought:
            said.append(f"is a new, unsigned item from {self.registry}")
        if self.changed and not self.is_unsigned:
            said.append("is signed by a different key")
        elif self.changed and self.unsigned_from is not None:
            said.append(f"comes from a different source ({self.registry}, previously {self.unsigned_from})")
        elif self.changed:
            said.append("is no longer signed")
        return said


_UNKNOWN = "signer that you never agreed to"


class ItemStep(Struct, frozen=True, kw_only=True):
    """One item before and after."""

    was: Row | None
    wanted: Row
    is_kept: bool = False
    """Whether the release stays the same."""
    mentions: tuple[Mention, ...] = ()
    """Cautions and alarms of the new text."""
    mentions_before: tuple[Mention, ...] = ()
    """Those of the old one, as far as known."""
    signers_in_lock: frozenset[str] = frozenset()
    """Signers and sources of the namespace's approved items."""
    known_signers: frozenset[str] | None = None
    """Those that this user agreed to before; None: none counts as unknown."""
    unsigned_from: str | None = None
    """The source of the approved version, if no one signed that."""
    is_wanted: bool = False
    """Whether rye.toml asked for the item before this command."""
    knows_bytes: Callable[[Any], bool] = lambda row: False
    """Whether this user agreed to exactly the bytes of a row before."""

    @property
    def is_first(self) -> bool:
        """Whether no release of the item was ever approved."""
        return self.was is None or self.was.approved.is_nothing


def asks_of(step: ItemStep) -> tuple[Ask, ...]:
    """Everything that the change asks for, in the order of the table of sorts."""
    return tuple(ask for sort in SORTS for ask in _SPECIAL.get(sort.name, _plain)(sort, step))


def _plain(sort: Sort, step: ItemStep) -> Iterable[Ask]:
    """What is asked for beyond what was approved. What can stay denied is not asked for again if the installed version had it."""
    wanted = sort.asked(step.wanted)
    if not wanted:
        return []
    name = str(step.wanted.identity)
    return [Ask(name, sort.name, sort.text(value), value) for value in sort.beyond(_agreed(sort, step.was), wanted)]


def _agreed(sort: Sort, was: Row | None) -> Values:
    if was is None:
        return {key.name: () for key in sort.keys}
    agreed = sort.values(was.approved)
    if sort.is_denied and not was.approved.is_pending:
        had = sort.asked(was)
        return {name: (*values, *had.get(name, ())) for name, values in agreed.items()}
    return agreed


def _rights(sort: Sort, step: ItemStep) -> Iterable[Ask]:
    name, was = str(step.wanted.identity), step.was
    agreed = was.approved.of("right") if was is not None else ()
    return [Ask(name, "right", right.pattern, right) for right in _judged(agreed, step.wanted.capabilities)]


@lru_cache(maxsize=4096)
def _judged(approved: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[Asked, ...]:
    """The rights by tier (worst first) and pattern."""
    if set(wanted) <= set(approved):
        return ()
    widened = diff(approved, wanted).widened
    levels = tiers(change.pattern for change in widened)
    rights = [Asked(change.pattern, levels[change.pattern], change.witness) for change in widened]
    return tuple(sorted(rights, key=lambda right: (-right.tier, right.pattern)))


def _facts(sort: Sort, step: ItemStep) -> Iterable[Ask]:
    """Alarms that are not approved and, in an update, cautions that the installed version lacks."""
    was = step.was
    if was is not None and step.is_kept and by_other_rules(was):
        return []  # the text did not change, only the rules (facts.py)
    had = {mention.word for mention in step.mentions_before}
    approved = set(was.approved.of("fact")) if was is not None else set()
    if was is not None and was.approved.rules != RULES_VERSION:
        approved &= had  # an approval counts only if today's rules find the fact in the approved text
    first = step.is_first or (step.is_kept and was is not None and not was.approved.is_pending)
    name = str(step.wanted.identity)
    return [
        Ask(name, "fact", mention.word, mention)
        for mention in step.mentions
        if mention.word not in approved and (mention.is_alarm or not (first or mention.word in had))
    ]


def _signers(sort: Sort, step: ItemStep) -> Iterable[Ask]:
    wanted, was = step.wanted, step.was
    if (wanted.source is not None) is not (sort.name == "source"):
        return []
    why = NewSigner(
        changed=was is not None and _is_another(was, wanted),
        unknown=step.known_signers is not None and step.is_first and not _is_known(step, step.known_signers),
        brought=wanted.is_unsigned and step.is_first and step.is_wanted,
        registry=wanted.registry,
        is_source=wanted.source is not None,
        is_unsigned=wanted.is_unsigned,
        is_editable=wanted.is_editable,
        unsigned_from=step.unsigned_from,
    )
    asked = why.changed or why.unknown or why.brought
    return [Ask(sort.of(wanted), sort.name, wanted.signer, why)] if asked else []


def _is_another(was: Row, wanted: Row) -> bool:
    """Whether a different signer vouches for it. For an item of a source, approved bytes that did not change, and a first
    signature by a trusted key, do not count as a change of signer. The bytes of an entry that ``rye lock`` wrote are not
    approved."""
    before = was.approved.signer_of(was.signer)
    if was.source is not None and was.registry == wanted.registry:
        same = (was.sha256, was.attached, was.approved.is_pending) == (wanted.sha256, wanted.attached, False)
        return not same and before not in ("", wanted.signer, was.registry)
    return before not in ("", wanted.signer)


def _is_known(step: ItemStep, known: frozenset[str]) -> bool:
    """Whether this user agreed to the signer. For an item of a source, also to the source: in this project or, for a
    repository, in any project."""
    wanted = step.wanted
    if wanted.source is None:
        return wanted.signer in known
    agreed = known | step.signers_in_lock
    return wanted.registry in agreed and wanted.signer in agreed


def _unsigned_text(sort: Sort, step: ItemStep) -> Iterable[Ask]:
    """Other bytes of an item that nobody signed: whoever can write to its source may have changed what agents read. The bytes of
    an entry that ``rye lock`` wrote were never installed. An editable folder is read in place, whatever is agreed to. What this
    user agreed to here before, byte for byte, is not asked about again."""
    wanted, was = step.wanted, step.was
    if was is None or step.is_first or not wanted.is_unsigned or wanted.is_editable:
        return []
    is_same = (was.sha256, was.attached, was.approved.is_pending) == (wanted.sha256, wanted.attached, False)
    return [] if is_same or step.knows_bytes(wanted) else [Ask(sort.of(wanted), sort.name, wanted.sha256)]


def _forced(sort: Sort, step: ItemStep) -> Iterable[Ask]:
    """A range that ``[overrides]`` forces and rye.lock does not record."""
    wanted, was = step.wanted, step.was
    if wanted.forced is None or (was is not None and was.forced == wanted.forced):
        return []
    return [Ask(sort.of(wanted), sort.name, wanted.forced)]


_SPECIAL: dict[str, Callable[[Sort, ItemStep], Iterable[Ask]]] = {
    "right": _rights,
    "fact": _facts,
    "signer": _signers,
    "source": _signers,
    "unsigned-text": _unsigned_text,
    "forced": _forced,
}
"""The sorts that need more than what a row says before and after."""


def signers_in_lock(rows: Sequence[Row]) -> dict[str, frozenset[str]]:
    """The signers and sources of approved items, by namespace. The source of an entry that ``rye lock`` wrote is not approved."""
    agreed: dict[str, set[str]] = {}
    for row in rows:
        mine = agreed.setdefault(row.identity.namespace, set())
        mine.add(row.approved.signer_of(row.signer))
        if not row.approved.is_pending:
            mine.add(row.registry)
    return {namespace: frozenset(names) for namespace, names in agreed.items()}
