"""What a user agreed to, and what is missing from it. Pure.

Rows may have been approved under other rules for facts (DESIGN 7.2). A row records which rules found its
``approved-facts``. Other rules can find more in the same bytes, or name the same thing differently. If the row is
installed exactly as it was agreed to, such an alarm becomes a caution and nothing is refused. A changed text makes a
different row, and its alarms need consent as usual. So do alarms of items in an editable folder, because nothing proves
that their text is the one that was agreed to.

Which rules found a row's facts is a claim, like everything in rye.lock. So it counts only for exact bytes that this
user agreed to before. A user who never did sees the alarms and is asked. A run that trusts the lock also trusts this
claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.consent.ask import Ask
from rye.consent.memory import MARK
from rye.consent.sorts import SORTS, approvals, beyond_patterns, of_the_lock, sort_of
from rye.describing.words import mention_words
from rye.errors import RyeError
from rye.text.facts.fact import RULES_VERSION
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    import json

    from rye.consent.rows import Row
    from rye.items.identity import Identity
    from rye.items.signed_release import Mention, SignedRelease
else:
    json = lazy_module("json")  # only for a right that is not agreed to word for word

_LISTED = 3


def by_other_rules(row: Row) -> bool:
    """Whether the row's approved facts were found by rules other than this Rye's. False for a row that was never installed,
    and for an editable folder."""
    return row.approved.rules != RULES_VERSION and not row.approved.is_pending and not row.is_editable


def refused_alarms(row: Row, mentions: Iterable[Mention] | None) -> list[Mention]:
    """The alarms of the row's text that need an approval and have none."""
    return [] if by_other_rules(row) else _open(row, mentions)


def late_alarms(row: Row, mentions: Iterable[Mention] | None) -> list[Mention]:
    """The alarms that are only reported, because the rules at approval did not find them or named them differently."""
    return _open(row, mentions) if by_other_rules(row) else []


def late_facts(rows: Iterable[Row], signed: Mapping[Identity, SignedRelease]) -> list[tuple[Row, list[Mention]]]:
    """The late alarms of each row that has any. ``signed``: the releases, as far as known."""
    late = []
    for row in rows:
        release = signed.get(row.identity)
        mentions = late_alarms(row, release.mentions if release is not None else None)
        if mentions:
            late.append((row, mentions))
    return late


def byte_approval(row: Row) -> Ask:
    """The approval of exactly these bytes, whatever rules find in them later."""
    return Ask(
        str(row.identity), "text", bytes_hash(row.sha256, ((entry.path, entry.sha256) for entry in row.attached))
    )


def bytes_hash(own: str, attached: Iterable[tuple[str, str]]) -> str:
    """What the bytes of an item are remembered by. ``own``: the hash of its file; ``attached``: paths and hashes, in the order of
    rye.lock."""
    whole = "\n".join([own, *(f"{path} {digest}" for path, digest in attached)])
    return sha256(whole.encode()).hexdigest()[:32]


def installed_state(row: Row) -> Ask:
    """The state of an item that this user agreed to last: its name for ``rye diff``, the hashes of its bytes and of its own file,
    and where it is from."""
    state = row.state or f"{row.identity}@{row.version}"
    return Ask(str(row.identity), "state", f"{state} {byte_approval(row).text} {row.sha256} {row.registry}")


def byte_approvals(rows: Iterable[Row]) -> frozenset[Ask]:
    """What is remembered of rows whose bytes this user agreed to: the bytes, and the state of each item."""
    return frozenset(ask(row) for row in rows for ask in (byte_approval, installed_state))


def late_notice(late: Sequence[tuple[Row, list[Mention]]]) -> tuple[str, str]:
    """The warning about late alarms (at least one), and the command that approves them."""
    listed = "; ".join(f"{row.identity} {mention_words(mentions[0])}" for row, mentions in late[:_LISTED])
    more = f"; and {len(late) - _LISTED} more" if len(late) > _LISTED else ""
    named = " ".join(f"--approve {row.identity}@{row.version}" for row, _ in late)
    return (
        f"The rules of this version of rye find more than the rules that rye.lock was approved with: {listed}{more}",
        f"`rye facts ID` shows it. `rye install {named}` approves it in rye.lock.",
    )


def _open(row: Row, mentions: Iterable[Mention] | None) -> list[Mention]:
    return [mention for mention in mentions or () if mention.is_alarm and mention.word not in row.approved.of("fact")]


_ELSEWHERE = frozenset(("signer", "source"))
"""Asked about when an item is installed, and not again for each use of it."""


class MovedRow(Struct, frozen=True, kw_only=True):
    """An item of which rye.lock has other bytes than this user agreed to last in this checkout."""

    row: Row
    before: str | None
    """That state, as ``rye diff`` names it; None if it is not known."""
    is_unseen: bool
    """Whether nobody signed these bytes, and this user never agreed to them."""
    is_comparable: bool
    """Whether ``rye diff`` has both states."""
    bytes_before: str = ""
    """What the bytes of that state are remembered by (:func:`bytes_hash`)."""
    own_before: str = ""
    """The hash of the item's own file in that state."""
    registry_before: str = ""
    """The registry or source of that state, if the row has another one."""

    @property
    def states(self) -> str:
        """``1.0.0 → 1.1.0``, or the digits of both commits, and between which registries, if there are two."""
        before, after = (one.rpartition("@")[2] for one in (self.before or "", self.row.state or self.row.version))
        moved = f"{before} → {after}" if before else after
        return f"{moved}, from {self.registry_before} to {self.row.registry}" if self.registry_before else moved

    @property
    def command(self) -> str:
        """What shows the change, or the whole text."""
        name = self.row.identity
        return f"rye diff {self.before} {self.row.state}" if self.is_comparable else f"rye show {name}"

    @property
    def needs(self) -> Ask:
        """The yes that bytes need that nobody signed."""
        return Ask(str(self.row.identity), "unsigned-text", self.states, self)


class Agreement(Struct, frozen=True):
    """What this user agreed to in one project, on this machine."""

    lines: frozenset[str] = frozenset()
    """As :attr:`Ask.line` gives them."""
    trusts_lock: bool = False
    """Whether this run accepts everything that rye.lock approves."""

    def covers(self, ask: Ask) -> bool:
        """Whether the user agreed to it, or for a right to rights of the same item that contain it."""
        if ask.line in self.lines:
            return True
        sort = sort_of(ask.sort)
        if sort is None or sort.covers is None:
            return False
        agreed = _texts_of(self.lines).get((ask.item, ask.sort), ())
        return bool(agreed) and sort.covers(agreed, ask.text)

    def knows_bytes(self, row: Row) -> bool:
        """Whether the user agreed to exactly the bytes of a row, of whatever version."""
        return self.covers(byte_approval(row))

    def moved(self, rows: Iterable[Row]) -> tuple[MovedRow, ...]:
        """The items of these rows of rye.lock whose bytes are not those that the user agreed to last, as after a pull; nothing of
        a source that the user did not agree to at all, since that is asked about with its items."""
        others = [
            row
            for row in rows
            if not (row.is_editable or row.approved.is_pending) and installed_state(row).line not in self.lines
        ]
        moved, last = [], self._installed() if others else {}
        for row in others:
            is_unseen = row.is_unsigned and not self.knows_bytes(row)
            if is_unseen and not self.covers(Ask(str(row.identity), "source", row.registry)):
                continue
            state, whole, own, registry = last.get(str(row.identity), ("", "", "", ""))
            if is_unseen or (state and whole != byte_approval(row).text):
                comparable = bool(state and row.state) and registry == row.registry and state != row.state
                elsewhere = registry if registry != row.registry else ""
                moved.append(
                    MovedRow(
                        row=row,
                        before=state or None,
                        is_unseen=is_unseen,
                        is_comparable=comparable,
                        bytes_before=whole,
                        own_before=own,
                        registry_before=elsewhere,
                    )
                )
        return tuple(moved)

    def _installed(self) -> dict[str, tuple[str, str, str, str]]:
        """The parts of :func:`installed_state` that are remembered of each item."""
        states = {}
        for item, sort, text in _parts(self.lines):
            if sort == "state" and text.count(" ") >= 3:
                state, whole, own, registry = text.split(" ", 3)
                states[item] = state, whole, own, registry
        return states

    def missing(self, asks: Iterable[Ask]) -> tuple[Ask, ...]:
        """What of these the user did not agree to, sorted."""
        return tuple(sorted(ask for ask in set(asks) if not self.covers(ask)))

    def missing_from_lock(self, asks: Iterable[Ask]) -> tuple[Ask, ...]:
        """The same of what rye.lock approves; nothing in a run that trusts it."""
        return () if self.trusts_lock else self.missing(asks)

    def new_in(self, rows: Iterable[Row]) -> tuple[Ask, ...]:
        """What these rows approve and the user did not agree to."""
        return self.missing_from_lock(approvals(rows))

    def late_in(self, rows: Iterable[Row], signed: Mapping[Identity, SignedRelease]) -> tuple[Ask, ...]:
        """The alarms that another version of the rules did not find, in bytes that the user never agreed to, with those bytes.

        ``signed``: the rows' releases, as far as known.
        """
        asks: set[Ask] = set()
        for row, mentions in () if self.trusts_lock else late_facts(rows, signed):
            text = byte_approval(row)
            if not self.covers(text):
                asks.update(self.missing([text, *(Ask(text.item, "fact", mention.word) for mention in mentions)]))
        return tuple(sorted(asks))

    def of_item(self, row: Row, release: SignedRelease) -> ItemAgreement:
        """What an installed item may do."""
        waiting = tuple(ask for ask in self.new_in([row]) if ask.sort not in _ELSEWHERE)
        waiting += self.late_in([row], {row.identity: release})
        refused = {ask.text for ask in waiting if ask.sort == "right"}
        agreed = tuple(pattern for pattern in row.approved.of("right") if pattern not in refused)
        return ItemAgreement(row.identity, agreed, waiting, tuple(not_in_lock(row, release)))


@lru_cache(maxsize=4)
def _texts_of(lines: frozenset[str]) -> Mapping[tuple[str, str], Sequence[str]]:
    """What was agreed to, by item and sort: each line is read once, however many items ask."""
    texts: dict[tuple[str, str], list[str]] = {}
    for item, sort, text in _parts(lines):
        texts.setdefault((item, sort), []).append(text)
    return texts


def _parts(lines: Iterable[str]) -> Iterable[tuple[str, str, str]]:
    for line in lines:
        try:
            item, sort, text = json.loads(line)
        except (ValueError, TypeError, RecursionError):  # not an approval
            continue
        if isinstance(item, str) and isinstance(sort, str) and isinstance(text, str):
            yield item, sort, text


class ItemAgreement(Struct, frozen=True):
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
            pattern
            for pattern in wanted
            if pattern in self.capabilities or not beyond_patterns(self.capabilities, (pattern,))
        )

    def waits_for(self, sort: str) -> frozenset[str]:
        """The texts of one sort that still need consent."""
        return frozenset(ask.text for ask in (*self.waiting, *self.unapproved) if ask.sort == sort)

    def refusal(self) -> RyeError | None:
        """The error why the item's text is not returned for use; None if no consent is missing."""
        if self.unapproved:
            return unapproved(self.identity, self.unapproved)
        return not_accepted(self.waiting) if self.waiting else None


def not_in_lock(row: Row, release: SignedRelease) -> Iterable[Ask]:
    """What a release comes with beyond what its row approves, except what can stay denied."""
    name = str(row.identity)
    for sort in sorted(SORTS, key=lambda sort: len(sort.keys)):  # what is compared one by one comes first
        if not sort.is_denied:
            beyond = sort.beyond(sort.values(row.approved), sort.asked(release))
            yield from (Ask(name, sort.name, sort.text(value), value) for value in beyond)
    yield from (Ask(name, "fact", mention.word, mention) for mention in refused_alarms(row, release.mentions))


def not_accepted(waiting: tuple[Ask, ...], *, is_unmarked: bool = False) -> RyeError:
    """The error if no one can be asked about what rye.lock approves or the project changes. ``is_unmarked``: the checkout has no
    mark, so nothing that was agreed to in this folder before counts."""
    lock = of_the_lock(waiting)
    if all(ask.sort == "grant" for ask in waiting):
        said = "rye.toml grants tools what you have not agreed to"
    elif len(lock) == len(waiting):
        said = "rye.lock approves what you have not agreed to"
    elif lock:
        said = "This project changes items, and rye.lock approves, what you have not agreed to"
    else:
        said = "This project changes items, and you have not agreed to that"
    return RyeError(
        "project-not-accepted",
        f"{said}: {_listed(_said(ask) for ask in waiting)}.{_UNMARKED if is_unmarked else ''}",
        "On a terminal, run `rye trust project` to review and accept it. On a build server that trusts everyone who can "
        "commit, pass --trust-lock or set RYE_TRUST_LOCK=1.",
        details={"approvals": [ask.as_json() for ask in waiting]},
    )


def _said(ask: Ask) -> str:
    """What is asked, in one line. A customization is a file of the project, which comes first."""
    return f"{ask.text} for {ask.item}" if ask.sort == "customization" else f"{ask.item} {ask.sort} {ask.text}"


_UNMARKED = (
    f" This checkout has no mark ({MARK}), as after a clone, or after .ai was deleted: what you agreed to before does not count "
    "here."
)


def unapproved(identity: Identity, asks: tuple[Ask, ...]) -> RyeError:
    """The error for parts of an item that rye.lock does not approve."""
    return RyeError(
        "consent-needed",
        f"rye.lock does not approve everything in {identity}: {_listed(f'{ask.sort} {ask.text}' for ask in asks)}.",
        "Run `rye install` to review and approve it.",
        details={"approvals": [ask.as_json() for ask in asks]},
    )


def _listed(words: Iterable[str]) -> str:
    every = list(words)
    more = f"; and {len(every) - _LISTED} more" if len(every) > _LISTED else ""
    return f"{'; '.join(every[:_LISTED])}{more}"
