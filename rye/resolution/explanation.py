"""Explain why there is no solution, as a proof that people can read.

The rules of this file:

1. One line per step, "Because … and …, …."; a step that continues the line before begins with "And because". The last line
   is the conclusion about the project. Advice that is not part of the proof is listed separately, as hints.
2. A step that a line other than the next one needs has a number in front, by which it is cited. Each step is proved once.
3. Consecutive steps that each add one fact are combined into one line with both facts.
4. A set of releases is named by the range that someone asked for, if there is one, or else by its releases' bounds.
   Pre-releases between the bounds do not count, as in ranges. "Every version of" covers all known releases.
5. A package whose range is forced is marked "(forced)", because the range is not what the dependent asked for. A hint says
   where it is forced.
6. A proof longer than ``RESOLUTION.proof_lines`` begins with a line that says how many steps are omitted.
7. No recursion: a derivation can be as deep as the search was long.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence

from msgspec import Struct

from rye.limits import RESOLUTION
from rye.resolution.incompatibility import (
    ROOT,
    Absent,
    Conflicts,
    Depends,
    Derived,
    Excluded,
    External,
    Incompatibility,
    LacksFeature,
    NoVersion,
)
from rye.resolution.problem import Absence, Candidate, Exclusion
from rye.resolution.ranges import Range
from rye.resolution.universe import Releases
from rye.resolution.versions import Version


class Explanation(Struct, frozen=True):
    """The proof's lines, conclusion last, and hints."""

    lines: tuple[str, ...]
    hints: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join((*self.lines, *(f"hint: {hint}" for hint in self.hints)))


def explain(
    root_cause: Incompatibility,
    names: Sequence[str],
    releases: Callable[[int], Releases],
    forced: Container[int] = (),
    parts: Container[int] = frozenset((ROOT,)),
) -> Explanation:
    """Explain the derivation of ``root_cause``. All arguments use package indexes. ``forced``: the packages whose range the root
    forces. ``parts``: the project and its parts."""
    facts = list(_facts(root_cause))
    words = _Words(facts, names, releases, forced, parts)
    return Explanation(_lines(root_cause, words), _hints(facts, words))


def _facts(root_cause: Incompatibility) -> Iterator[External]:
    """Yield every fact that the proof rests on, each once, in an order that depends only on the proof."""
    seen = {id(root_cause)}
    waiting = [root_cause]
    while waiting:
        cause = waiting.pop().cause
        if isinstance(cause, Derived):
            for part in (cause.second, cause.first):
                if id(part) not in seen:
                    seen.add(id(part))
                    waiting.append(part)
        else:
            yield cause


# ---------------------------------------------------------------------------------------------------- the order of steps


class _Step(Struct, frozen=True):
    """A future line: it concludes ``node`` from facts and from the steps that proved ``cited``."""

    node: Incompatibility
    cited: tuple[Incompatibility, ...]
    facts: tuple[External, ...]


def _steps(root_cause: Incompatibility) -> list[_Step]:
    """The steps, each after those that it uses (rules 2, 3, 6)."""
    uses = _uses(root_cause)
    steps: list[_Step] = []
    done: set[int] = set()
    waiting: list[tuple[Incompatibility, _Step | None]] = [(root_cause, None)]
    while waiting:
        node, step = waiting.pop()
        if id(node) in done:
            continue
        if step is not None:
            done.add(id(node))
            steps.append(step)
            continue
        step = _step(node, uses, done)
        waiting.append((node, step))
        waiting.extend((cited, None) for cited in reversed(step.cited) if id(cited) not in done)
    return steps


def _step(node: Incompatibility, uses: dict[int, int], done: set[int]) -> _Step:
    proved, facts = _parts(node)
    if len(proved) == 1 and uses[id(proved[0])] == 1 and id(proved[0]) not in done:
        earlier, more = _parts(proved[0])
        if len(earlier) == 1:
            return _Step(node, tuple(earlier), (*more, *facts))
    # The shorter proof goes last, so that the next line can continue from it.
    proved.sort(key=lambda part: not _parts(part)[0])
    return _Step(node, tuple(proved), tuple(facts))


def _parts(node: Incompatibility) -> tuple[list[Incompatibility], list[External]]:
    """What a node follows from: derived incompatibilities, and facts."""
    proved: list[Incompatibility] = []
    facts: list[External] = []
    if isinstance(node.cause, Derived):
        for part in (node.cause.first, node.cause.second):
            if isinstance(part.cause, Derived):
                proved.append(part)
            else:
                facts.append(part.cause)
    else:
        facts.append(node.cause)
    return proved, facts


def _uses(root_cause: Incompatibility) -> dict[int, int]:
    """How many steps need each derived incompatibility."""
    uses = {id(root_cause): 1}
    waiting = [root_cause]
    while waiting:
        for part in _parts(waiting.pop())[0]:
            if id(part) not in uses:
                waiting.append(part)
            uses[id(part)] = uses.get(id(part), 0) + 1
    return uses


def _lines(root_cause: Incompatibility, words: _Words) -> tuple[str, ...]:
    steps = _steps(root_cause)
    left_out = max(0, len(steps) - RESOLUTION.proof_lines)
    place = {id(step.node): number for number, step in enumerate(steps)}
    cited: set[int] = set()
    for number, step in enumerate(steps[left_out:], left_out):
        cited.update(place[id(node)] for node in step.cited if place[id(node)] != number - 1)
    numbers = {line: n for n, line in enumerate(sorted(line for line in cited if line >= left_out), 1)}
    lines = [f"({left_out} earlier steps are omitted.)"] if left_out else []
    for number, step in enumerate(steps[left_out:], left_out):
        goes_on = False
        reasons = []
        for node in step.cited:
            line = place[id(node)]
            if line == number - 1 and line >= left_out:
                goes_on = True
            else:
                reasons.append(words.statement(node) + (f" ({numbers[line]})" if line in numbers else ""))
        reasons.extend(words.facts(step.facts))
        opening = f"({numbers[number]}) " if number in numbers else ""
        opening += "And because" if goes_on else "Because"
        lines.append(f"{opening} {_join(reasons, 'and')}, {words.statement(step.node)}.")
    return tuple(lines)


def _join(parts: Sequence[str], word: str) -> str:
    return f"{', '.join(parts[:-1])} {word} {parts[-1]}" if len(parts) > 1 else parts[0]


# ---------------------------------------------------------------------------------------------------- words


class _Words:
    """The wording for sets of releases, facts and conclusions."""

    def __init__(
        self,
        facts: Sequence[External],
        names: Sequence[str],
        releases: Callable[[int], Releases],
        forced: Container[int],
        parts: Container[int],
    ):
        self.names = names
        self.parts = parts
        self.forced = forced
        self.releases = releases
        self._asked: dict[tuple[int, int], Range] = {}
        """The shortest range in the proof for a mask (rule 4)."""
        for fact in facts:
            if isinstance(fact, Depends | Conflicts):
                key = (fact.target, fact.target_mask)
                known = self._asked.get(key)
                if known is None or (len(fact.range.text), fact.range.text) < (len(known.text), known.text):
                    self._asked[key] = fact.range

    def ranged(self, package: int, wanted: Range) -> str:
        return self.names[package] if wanted.is_any() else f"{self.names[package]} {wanted}"

    def asked(self, package: int, wanted: Range) -> str:
        """What a release depends on (rule 5)."""
        return f"{self.ranged(package, wanted)} (forced)" if package in self.forced else self.ranged(package, wanted)

    def subject(self, package: int, mask: int) -> str:
        """A set of releases as the subject of a sentence."""
        if package in self.parts:
            return self.names[package]
        every = self.releases(package).every
        if mask & every == every and mask & (mask - 1):
            return f"every version of {self.names[package]}"
        if mask & every and not mask & (mask - 1):
            return f"{self.names[package]} {self._bounds(package, mask)}"
        return self.object(package, mask)

    def object(self, package: int, mask: int) -> str:
        """A set of releases that is required or refused."""
        asked = self._asked.get((package, mask))
        if asked is not None:
            return self.ranged(package, asked)
        every = self.releases(package).every
        if every and mask & every == every:
            return self.names[package]
        parts = [self._bounds(package, mask & every)] if mask & every else []
        for (other, single), wanted in sorted(self._asked.items(), key=lambda item: item[1].text):
            if other == package and single > every and single & mask:
                parts.append(wanted.text)
        return f"{self.names[package]} {' || '.join(parts)}"

    def _bounds(self, package: int, mask: int) -> str:
        """Releases by their bounds: first runs of normal releases, then runs of pre-releases."""
        candidates = self.releases(package).candidates
        if not mask & (mask - 1):
            return str(candidates[mask.bit_length() - 1].version)
        runs: list[str] = []
        for prereleases in (False, True):
            line = [bit for bit, c in enumerate(candidates) if c.version.is_prerelease == prereleases]
            start = 0
            while start < len(line):
                end = start
                while end < len(line) and mask >> line[end] & 1:
                    end += 1
                if end > start:
                    first = candidates[line[start]].version
                    if end == start + 1:
                        runs.append(str(first))
                    elif end == len(line) and not prereleases:
                        runs.append(f">={first}")
                    elif start == 0 and not prereleases:
                        runs.append(f"<{candidates[line[end]].version}")
                    elif prereleases:
                        runs.append(f">={first}, <={candidates[line[end - 1]].version}")
                    else:
                        runs.append(f">={first}, <{candidates[line[end]].version}")
                start = end + 1
        if len(runs) <= 6:
            return " || ".join(runs)
        return f"(some versions from {runs[0].lstrip('<>=')} on, {mask.bit_count()} of {len(candidates)})"

    def facts(self, facts: Sequence[External]) -> list[str]:
        """Facts in the order that reads best, with a chain of two dependencies combined."""
        ordered = sorted(facts, key=self._rank)
        dependencies = [fact for fact in ordered if isinstance(fact, Depends)]
        if len(ordered) == len(dependencies) == 2:
            for one, other in (dependencies, dependencies[::-1]):
                if one.target == other.package and not one.target_mask & ~other.mask:
                    return [f"{self.fact(one)}, which depends on {self.asked(other.target, other.range)}"]
            one, other = dependencies
            if (one.package, one.mask) == (other.package, other.mask):
                return [f"{self.fact(one)} and on {self.asked(other.target, other.range)}"]
        return [self.fact(fact) for fact in ordered]

    def _rank(self, fact: External) -> tuple[int, bool, str, str]:
        kind = 0 if isinstance(fact, Depends) else 1 if isinstance(fact, Conflicts) else 2
        return (kind, fact.package in self.parts, self.names[fact.package], self.fact(fact))

    def fact(self, fact: External) -> str:
        if isinstance(fact, Depends):
            return f"{self.subject(fact.package, fact.mask)} depends on {self.asked(fact.target, fact.range)}"
        if isinstance(fact, Conflicts):
            return f"{self.subject(fact.package, fact.mask)} conflicts with {self.ranged(fact.target, fact.range)}"
        if isinstance(fact, NoVersion):
            return f"no version of {self.names[fact.package]} matches {fact.range}"
        if isinstance(fact, LacksFeature):
            return (
                f"{self.subject(fact.package, fact.mask)} needs {fact.feature}, which the environment does not provide"
            )
        detail = f" ({fact.detail})" if fact.detail else ""
        if isinstance(fact, Excluded):
            return f"{self.subject(fact.package, fact.mask)} {_EXCLUDED[fact.reason]}{detail}"
        return f"{self.names[fact.package]} {_ABSENT[fact.absence]}{detail}"

    def statement(self, node: Incompatibility) -> str:
        """An incompatibility as a sentence without a full stop."""
        if node.is_failure():
            return f"the requirements of {self.names[ROOT]} cannot be met"
        if not isinstance(node.cause, Derived):
            return self.fact(node.cause)
        terms = sorted(node.terms, key=lambda term: self.names[term[0]])
        together = [self.subject(package, mask) for package, mask in terms if mask >= 0]
        needed = [self.object(package, ~mask) for package, mask in terms if mask < 0]
        if not together:
            return f"{_join(needed, 'or')} is required"
        if not needed:
            if len(together) == 1:
                whole = together[0].startswith("every version of ")
                return (
                    f"no {together[0].removeprefix('every ')} can be used" if whole else f"{together[0]} cannot be used"
                )
            if len(together) == 2:
                return f"{together[0]} is incompatible with {together[1]}"
            return f"{_join(together, 'and')} cannot be used together"
        verb = "requires" if len(together) == 1 else "together require"
        return f"{_join(together, 'and')} {verb} {_join(needed, 'or')}"


_EXCLUDED = {
    Exclusion.REVOKED: "was signed with a revoked key",
    Exclusion.TAKEN_DOWN: "was taken down by its registry",
    Exclusion.OTHER_SIGNER: "is not signed by a key that the policy requires",
    Exclusion.SOURCE: "comes from a place that the policy does not allow",
    Exclusion.TOO_NEW: "is younger than minimum-release-age",
    Exclusion.HELD: "is held back",
    Exclusion.YANKED: "was yanked",
}
_ABSENT = {
    Absence.NOT_FOUND: "was not found",
    Absence.NOT_IN_SOURCE: "is not in the source of its namespace",
    Absence.OTHER_REGISTRY: "is not in the registry that its namespace is mapped to",
}

# ---------------------------------------------------------------------------------------------------- hints


def _hints(facts: Sequence[External], words: _Words) -> tuple[str, ...]:
    """What might help, most specific first, without duplicates."""
    hints: dict[str, None] = {}
    direct = {fact.target for fact in facts if isinstance(fact, Depends) and fact.package in words.parts}
    for fact in facts:
        hint = _hint(fact, words, direct)
        if hint is not None:
            hints[hint] = None
    forced = {
        words.ranged(fact.target, fact.range)
        for fact in facts
        if isinstance(fact, Depends) and fact.target in words.forced
    }
    for one in sorted(forced):
        hints[f"[overrides] of rye.toml forces {one}, overriding every other range. Change or remove that line."] = None
    askers: dict[str, set[str]] = {}
    yanked = {fact.package for fact in facts if isinstance(fact, Excluded) and fact.reason is Exclusion.YANKED}
    for fact in facts:
        if not isinstance(fact, Depends) or fact.package not in words.parts:
            continue
        candidates = words.releases(fact.target).candidates
        if fact.target in yanked or (candidates and _newest_usable(candidates) is None):
            continue  # its hint names the version; or no range has another
        if fact.target not in words.parts and fact.target not in words.forced:
            askers.setdefault(words.names[fact.package], set()).add(words.ranged(fact.target, fact.range))
    if askers:
        ordered = sorted(askers.items(), key=lambda entry: (entry[0] != words.names[ROOT], entry[0]))
        said = "; ".join(f"{who} asks for {_join(sorted(asked), 'and')}" for who, asked in ordered)
        alone = sum(map(len, askers.values())) == 1
        which = "another range" if alone else "a change to one of these ranges"
        said = f"{said[:1].upper()}{said[1:]}" if said.startswith(words.names[ROOT]) else said
        hints[f"{said}: {which} may help."] = None
    return tuple(hints)[: RESOLUTION.hints]


def _nears(version: Version, wanted: Range) -> bool:
    """Whether a range that matches no version would contain this one, or the release that it is a pre-release of."""
    return version in wanted.versions or (
        version.is_prerelease and Version.of(version.major, version.minor, version.patch) in wanted.versions
    )


def _other_version(name: str, candidates: Sequence[Candidate]) -> str:
    """What to do about a version that can never be installed again."""
    newest = _newest_usable(candidates)
    if newest is None:
        return f"No version of {name} can be installed. The registry's operator can tell you more."
    return f"Choose another version of {name}; the newest is {newest}."


def _newest_usable(candidates: Sequence[Candidate]) -> Version | None:
    """The newest version that may be chosen; a pre-release only if there is nothing else."""
    usable = [candidate.version for candidate in candidates if not candidate.exclusions]
    return max(usable, key=lambda version: (not version.is_prerelease, version), default=None)


def _instead_of_yanked(name: str, candidates: Sequence[Candidate], is_direct: bool) -> str:
    """What to do about a version that its publisher withdrew. ``is_direct``: whether the project itself asks for the item."""
    newest = _newest_usable(candidates)
    if newest is None:
        return (
            f"No other version of {name} can be installed: ask its publisher for one. "
            "A project whose rye.lock has the yanked version keeps it with `rye install`."
        )
    kept = "A yanked version is only used if rye.lock already has it."
    if is_direct:
        return f"{kept} The newest version that can be installed: `rye add {name}@^{newest}`"
    return f"{kept} The newest version of {name} that can be installed is {newest}."


def _hint(fact: External, words: _Words, direct: Container[int]) -> str | None:
    """``direct``: the packages that the project or one of its parts asks for."""
    name = words.names[fact.package]
    if isinstance(fact, NoVersion):
        candidates = words.releases(fact.package).candidates
        if not candidates:
            return f"{name} has no releases yet."
        near = [c.version for c in candidates if _nears(c.version, fact.range)]
        if near:
            return f"Only pre-releases of {name} are within {fact.range}; to accept one, write ^{near[-1]}."
        newest = max((c.version for c in candidates), key=lambda version: (not version.is_prerelease, version))
        return f"The newest version of {name} is {newest}."
    if isinstance(fact, LacksFeature):
        return (
            f'If the environment has {fact.feature}, add "{fact.feature}" to provides under [environment] in rye.toml.'
        )
    if isinstance(fact, Absent):
        if fact.absence is Absence.NOT_FOUND:
            return f"Check the spelling of {name}: rye search {name.rpartition('/')[2]}"
        if fact.absence is Absence.NOT_IN_SOURCE:
            return f"{name} was removed from its repository or folder. Run `rye remove {name}`, or set another rev in [sources]."
        return "Each namespace has one registry, under [registries] in rye.toml; there is no fallback to another."
    if isinstance(fact, Excluded):
        return {
            Exclusion.TAKEN_DOWN: _other_version(name, words.releases(fact.package).candidates),
            Exclusion.REVOKED: f"Ask the publisher of {name} for a release signed with a valid key.",
            Exclusion.OTHER_SIGNER: "required-signers and required-reviewers under [policy] say whose releases may be installed.",
            Exclusion.SOURCE: "sources and namespaces of a policy say what is allowed: [policy] of rye.toml, your policy.toml, "
            "or your organization's (`rye org show`). One `rye remove` that names all of it takes out what is not.",
            Exclusion.TOO_NEW: f"Wait until {name} is old enough, or lower minimum-release-age under [policy].",
            Exclusion.HELD: f"Ask the operator of your registry about {name}, or choose another version.",
            Exclusion.YANKED: _instead_of_yanked(name, words.releases(fact.package).candidates, fact.package in direct),
        }[fact.reason]
    return None
