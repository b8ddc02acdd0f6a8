"""Exact comparison of sets of capability patterns (DESIGN §7; DECISIONS Directives 16).

A set of patterns grants the union of the strings that its patterns match. :func:`find` looks for a string that matches
every pattern of one list and none of another. Everything else here is expressed with it:

* *Is new contained in old?* No string matches a new pattern and none of the old ones.
* *Do two patterns overlap?* Some string matches both.

The search walks the product of the automata breadth first, so that the string it finds, the *witness*, is a shortest
one. Two things keep it small. A state is dropped if a state that asks for less was seen (fewer states of the patterns
to avoid). And it is dropped if a single pattern to avoid *simulates* what is still wanted, which settles nearly every
real case at once.

Deciding containment is hard in the worst case (patterns like ``*a?????????``), and authors may be hostile, so the steps
are counted. Beyond :class:`rye.limits.PermissionLimits` the search raises :class:`TooComplex`, and the caller chooses
the careful answer: :func:`diff` then reports the pattern as widened, without a witness.

The strings that name a real action are a deterministic automaton: ``rye.{primary}.{item_type}`` followed by one or more
dotted segments ``[a-z0-9][a-z0-9_-]*``, and ``rye.search.{item_type}`` alone, a search without an id. The automaton is
used to tier a capability by what it can really reach, and to prefer a witness that a reader recognizes as an action.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from string import ascii_lowercase, digits

from msgspec import Struct

from rye.items.capabilities import ITEM_TYPES, PRIMARIES
from rye.limits import PERMISSIONS
from rye.permissions.patterns import (
    READABLE,
    Glob,
    PatternSet,
    compile_glob,
    cut_alphabet,
    glob_matches,
    has_wildcards,
    holds,
)

_SEGMENT_START = 0
_IN_SEGMENT = 1
START = 2

_FIRST = ascii_lowercase + digits
_REST = _FIRST + "_-"


def _build() -> tuple[dict[tuple[int, str], int], frozenset[int]]:
    moves = {(_SEGMENT_START, character): _IN_SEGMENT for character in _FIRST}
    moves |= {(_IN_SEGMENT, character): _IN_SEGMENT for character in _REST}
    moves[_IN_SEGMENT, "."] = _SEGMENT_START
    accepting = {_IN_SEGMENT}
    following = START + 1
    for primary in PRIMARIES:
        for item_type in ITEM_TYPES:
            state = START
            for character in f"rye.{primary}.{item_type}":
                if (state, character) not in moves:
                    moves[state, character] = following
                    following += 1
                state = moves[state, character]
            moves[state, "."] = _SEGMENT_START
            if primary == "search":
                accepting.add(state)
    return moves, frozenset(accepting)


MOVES, ACCEPTING = _build()
"""``MOVES[state, character]`` is the next state; a missing pair means no match. ``ACCEPTING``: the states of complete actions."""

FIXED_LETTERS = frozenset("rye." + "".join(PRIMARIES) + "".join(ITEM_TYPES))
"""Characters that the automaton distinguishes from other letters."""


def is_action(text: str) -> bool:
    """Whether ``text`` is the capability string of a real action."""
    state = START
    for character in text:
        if (state, character) not in MOVES:
            return False
        state = MOVES[state, character]
    return state in ACCEPTING


class TooComplex(Exception):
    """The comparison needs more steps than the limit allows."""


class Budget:
    """The steps left for one comparison. A step over long sets costs more."""

    __slots__ = ("left",)

    def __init__(self, steps: int = PERMISSIONS.containment_steps):
        self.left = steps

    def spend(self, steps: int) -> None:
        """Use up steps. Raises TooComplex when none are left."""
        self.left -= steps
        if self.left < 0:
            raise TooComplex


class Change(Struct, frozen=True):
    """A pattern that grants more than the other set does. ``witness`` is a string that shows it, correct under
    fnmatch's rules by construction; None: the comparison was too complex to finish, which counts as a change.
    """

    pattern: str
    witness: str | None


class Diff(Struct, frozen=True):
    """How two sets compare: ``widened`` are the new set's patterns that exceed the old set, ``narrowed`` the
    reverse.
    """

    widened: tuple[Change, ...]
    narrowed: tuple[Change, ...]

    @property
    def equal(self) -> bool:
        """Whether both grant exactly the same strings, however they are written."""
        return not self.widened and not self.narrowed


def diff(old: Iterable[str], new: Iterable[str]) -> Diff:
    """Compare what two sets of capability patterns grant, over all strings. Patterns are reported sorted."""
    before, after = sorted(set(old)), sorted(set(new))
    return Diff(tuple(_beyond(after, before)), tuple(_beyond(before, after)))


def contained(pattern: str, patterns: Iterable[str], budget: Budget | None = None) -> bool:
    """Whether one of ``patterns`` matches every string that ``pattern`` matches. Too complex to tell counts as no."""
    try:
        return find([pattern], list(patterns), budget) is None
    except TooComplex:
        return False


def _beyond(patterns: Sequence[str], others: Sequence[str]) -> Iterator[Change]:
    budget = Budget(PERMISSIONS.containment_steps + PERMISSIONS.pattern_steps * len(patterns))
    granted = Granted(others)
    for pattern in patterns:
        try:
            witness = find_readable([pattern], granted, budget)
        except TooComplex:
            yield Change(pattern, None)
        else:
            if witness is not None:
                yield Change(pattern, witness)


class Granted:
    """A set of patterns to avoid, indexed so that only those are compared that could match what is wanted."""

    __slots__ = ("_by_prefix", "_prefixes", "texts")

    def __init__(self, patterns: Iterable[str]):
        self.texts = frozenset(patterns)
        self._by_prefix: dict[str, list[Glob]] = {}
        for pattern in sorted(self.texts):
            glob = compile_glob(pattern)
            if not glob.empty:
                self._by_prefix.setdefault(glob.literal_prefix, []).append(glob)
        self._prefixes = sorted(self._by_prefix)

    def near(self, prefix: str) -> list[Glob]:
        """Return the patterns that can match a string beginning with ``prefix``, going by their literal
        prefixes.
        """
        found = [glob for end in range(len(prefix)) for glob in self._by_prefix.get(prefix[:end], ())]
        for longer in self._prefixes[bisect_left(self._prefixes, prefix) :]:
            if not longer.startswith(prefix):
                break
            found += self._by_prefix[longer]
        return found


def find_readable(wanted: Sequence[str], avoided: Granted | Iterable[str], budget: Budget | None = None) -> str | None:
    """Do the same as :func:`find` over all strings, but prefer a string that names a real action, then one that is
    not empty.
    """
    budget = budget or Budget()
    granted = avoided if isinstance(avoided, Granted) else Granted(avoided)
    witness = find(wanted, granted, budget, real_actions=True)
    if witness is None:
        witness = find([*wanted, "?*"], granted, budget)
    return find(wanted, granted, budget) if witness is None else witness


def find(
    wanted: Sequence[str],
    avoided: Granted | Iterable[str],
    budget: Budget | None = None,
    *,
    real_actions: bool = False,
) -> str | None:
    """Return a shortest string that matches all of ``wanted`` (one or more patterns) and none of ``avoided``; None if
    no such string exists.

    ``real_actions`` considers only strings that name an action (:mod:`rye.permissions.containment`). Raises TooComplex.
    """
    budget = budget or Budget()
    granted = avoided if isinstance(avoided, Granted) else Granted(avoided)
    globs = [compile_glob(pattern) for pattern in wanted]
    if not granted.texts.isdisjoint(wanted) or any(glob.empty for glob in globs):
        return None
    longest = max((glob.literal_prefix for glob in globs), key=len)
    if not all(longest.startswith(glob.literal_prefix) for glob in globs):
        return None
    others = granted.near(longest)
    budget.spend(1 + (len(longest) + len(others) >> 3))
    if any(longest.startswith(other.text[:-1]) for other in others if _is_prefix_star(other)):
        return None  # the usual case: "acme.tools.*" grants everything with this prefix
    for pattern in wanted:
        if not has_wildcards(pattern):  # only one string is possible
            matched = all(glob_matches(pattern, other) for other in wanted)
            allowed = matched and not any(glob_matches(pattern, other.text) for other in others)
            return pattern if allowed and (not real_actions or is_action(pattern)) else None
    return _Search(globs, others, budget, real_actions).run()


def _is_prefix_star(glob: Glob) -> bool:
    """Whether the pattern is literal text with one star at the end."""
    return glob.text == glob.literal_prefix + "*"


_State = tuple[tuple[int, ...], int]
"""The state of each wanted pattern, and that of the automaton of actions (always 0 if all strings count)."""


class _Search:
    def __init__(self, globs: Sequence[Glob], others: Sequence[Glob], budget: Budget, real_actions: bool):
        budget.spend(sum(len(glob.tokens) for glob in others) >> 1)
        self.globs = globs
        self.avoided = PatternSet(others)
        self.budget = budget
        self.real_actions = real_actions
        self.cost = 1 + (self.avoided.size >> 12)
        """Cost of one operation on a set of avoided states: one, and one more for every 4096 states."""
        self.alphabet = self.distinct([*globs, *others])
        self.moves = [[self.moves_from(glob, state) for state in range(len(glob.tokens) + 1)] for glob in globs]
        self.settled = [self.simulation(glob, moves) for glob, moves in zip(globs, self.moves, strict=True)]

    def distinct(self, globs: Sequence[Glob]) -> list[str]:
        """One character of each kind that the automata distinguish."""
        wanted = PatternSet(self.globs)
        seen: dict[tuple[int, int, str], str] = {}
        for character in READABLE if self.real_actions else cut_alphabet(globs):
            self.budget.spend(self.cost)
            kind = ""
            if self.real_actions:
                kind = character if character in FIXED_LETTERS or character in "-_" else "other"
            seen.setdefault((wanted.matches(character), self.avoided.matches(character), kind), character)
        return list(seen.values())

    def moves_from(self, glob: Glob, state: int) -> dict[str, tuple[int, ...]]:
        """For each character, the states that a wanted pattern can move to: the next, and the same if it has a star."""
        stays = bool(glob.loops >> state & 1)
        result: dict[str, tuple[int, ...]] = {}
        self.budget.spend(1 + (len(self.alphabet) >> 2))
        for character in self.alphabet:
            onward = state < len(glob.tokens) and holds(glob.tokens[state], character)
            if onward or stays:
                result[character] = (state + 1, state) if onward and stays else (state + 1,) if onward else (state,)
        return result

    def simulation(self, glob: Glob, moves: Sequence[dict[str, tuple[int, ...]]]) -> list[int]:
        """For each state of a wanted pattern, the avoided states that match everything it can still match.

        This is the greatest relation in which an end state is paired with end states, and each move is answered by a
        move to a pair. A star that does not settle in time gets no pairs, which is still such a relation.
        """
        last = len(glob.tokens)
        pairs = [0] * (last + 1)
        for state in range(last, -1, -1):  # from the end, because a move leads to the next state or stays
            own = (1 << self.avoided.size) - 1 if state < last else self.avoided.accepting
            for character, targets in moves[state].items():
                if state + 1 in targets:
                    self.budget.spend(self.cost)
                    own &= self.answers(character, pairs[state + 1])
            if glob.loops >> state & 1:
                own = self.settle(own)
            pairs[state] = own
        return pairs

    def settle(self, own: int) -> int:
        """The greatest part of ``own`` that every character leads back into, which a wanted star needs. 0 if that
        takes too many rounds: claiming fewer pairs only makes the search longer, claiming more would make it wrong.
        """
        for _ in range(PERMISSIONS.simulation_rounds):
            before = own
            self.budget.spend(self.cost * len(self.alphabet))
            for character in self.alphabet:
                own &= self.answers(character, own)
            if own == before:
                return own
        return 0

    def answers(self, character: str, pairs: int) -> int:
        """The avoided states from which ``character`` leads to one of ``pairs``.

        Bit ``n`` is the state before token ``n``: a match moves it to bit ``n + 1``, so the sources are one to the
        right. A star keeps its state.
        """
        return ((pairs >> 1) & self.avoided.matches(character)) | (pairs & self.avoided.loops)

    def run(self) -> str | None:
        state: _State = ((0,) * len(self.globs), START if self.real_actions else 0)
        avoided = self.avoided.start
        queue = deque([(state, avoided, -1)])
        trail: list[tuple[int, str]] = []  # for each state queued later: the one before it, and the character between
        seen: dict[_State, list[int]] = {state: [avoided]}
        while queue:
            state, avoided, number = queue.popleft()
            if self.is_found(state, avoided):
                return _spelled(trail, number)
            for character in self.moves[0][
                state[0][0]
            ]:  # a character that the first pattern cannot match is impossible
                self.budget.spend(1)
                targets = self.targets(state, character)
                if not targets:
                    continue
                self.budget.spend(self.cost)
                following = self.avoided.step(avoided, character)
                for target in targets:
                    if self.is_hopeless(target, following) or not self.is_new(seen, target, following):
                        continue
                    trail.append((number, character))
                    queue.append((target, following, len(trail) - 1))
        return None

    def is_found(self, state: _State, avoided: int) -> bool:
        positions, action = state
        return (
            all(position == len(glob.tokens) for position, glob in zip(positions, self.globs, strict=True))
            and not self.avoided.accepts(avoided)
            and (not self.real_actions or action in ACCEPTING)
        )

    def targets(self, state: _State, character: str) -> list[_State]:
        positions, action = state
        if self.real_actions:
            following = MOVES.get((action, character))
            if following is None:
                return []
            action = following
        choices = []
        for moves, position in zip(self.moves, positions, strict=True):
            choice = moves[position].get(character)
            if choice is None:
                return []
            choices.append(choice)
        return [(target, action) for target in product(*choices)]

    def is_hopeless(self, state: _State, avoided: int) -> bool:
        """Whether one avoided pattern matches everything that can still follow."""
        return any(settled[position] & avoided for settled, position in zip(self.settled, state[0], strict=True))

    def is_new(self, seen: dict[_State, list[int]], state: _State, avoided: int) -> bool:
        """Whether no state at least as promising was seen. Records this one if so."""
        earlier = seen.setdefault(state, [])
        self.budget.spend(len(earlier) * self.cost >> 4)
        if any(one & avoided == one for one in earlier):  # the earlier one has fewer patterns left to avoid
            return False
        earlier.append(avoided)
        return True


def _spelled(trail: Sequence[tuple[int, str]], number: int) -> str:
    characters = []
    while number >= 0:
        number, character = trail[number]
        characters.append(character)
    return "".join(reversed(characters))
