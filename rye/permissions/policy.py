"""What an organization, a person or a project allows items to ask for: the values behind ``[policy]`` in ``rye.toml``.

Comparisons are exact: a capability is *allowed* if the allowed patterns together grant every string that it grants, and
*forbidden* if it shares one string with a forbidden pattern. Anything too complex to compare is refused.

Policies come from several places, and a stranger may have written the one that comes with a project. So
:func:`combined` only ever tightens: every set of allowed patterns and of signers must be met, forbidden patterns add
up, the lower tier and the greater age count, and of all risk tables the one with the highest tier. A policy with a
maximum tier and no risk table means the built-in table: no other policy's table lowers what it counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeVar

from msgspec import Struct

from rye.items.agent_tools import AgentTools
from rye.permissions.containment import Granted, TooComplex, find_readable
from rye.permissions.risk import RiskRow, Tier, highest, tier, tiers, tools_tier
from rye.permissions.source_scale import SOURCE_SCALE, Allowed

_T = TypeVar("_T")
BUILT_IN: tuple[tuple[RiskRow, ...], ...] = ((),)
"""The risk tables of a policy that counts tiers without rows of its own."""


class Policy(Struct, frozen=True, kw_only=True):
    """The rules of a policy. The empty policy allows everything."""

    allowed: tuple[tuple[str, ...], ...] = ()
    """Sets of capability patterns; a capability must be contained in each of the sets."""
    forbidden: tuple[str, ...] = ()
    """Patterns that no capability may overlap."""
    maximum_tier: Tier = Tier.UNRESTRICTED
    signers: tuple[frozenset[str], ...] = ()
    """Sets of key fingerprints; an item must be signed by a key of each of the sets."""
    minimum_release_age: int = 0
    """Seconds that a release must have been public."""
    facts: frozenset[str] = frozenset()
    """Facts that no item may mention (:mod:`rye.text.facts`)."""
    tables: tuple[tuple[RiskRow, ...], ...] = ()
    """Risk tables in the order of :func:`rye.permissions.risk.rows`, each taking precedence over the built-in one, which is
    the empty table."""
    sources: Allowed = "path"
    """Where items can come from, besides registries."""
    namespaces: tuple[frozenset[str], ...] = ()
    """Sets of places (``NAMESPACE``, ``NAMESPACE@ORIGIN``, ``*@ORIGIN``); an item must come from one of each of the sets."""
    forbidden_targets: frozenset[str] = frozenset()
    """Agent programs that nothing is deployed to."""
    reviewers: int = 0
    """How many keys must have signed a release."""

    @property
    def counting_tables(self) -> tuple[tuple[RiskRow, ...], ...]:
        """The tables that must count for this policy to hold: with a maximum tier, at least the built-in one."""
        return self.tables or (BUILT_IN if self.maximum_tier < Tier.UNRESTRICTED else ())

    def tier(self, capability: str) -> Tier:
        """Return the tier of ``capability`` under the risk tables."""
        return max(tier(capability, table) for table in self.tables or BUILT_IN)

    def tiers(self, capabilities: Iterable[str]) -> dict[str, Tier]:
        """Return the tier of each of a set under the risk tables; as in :func:`rye.permissions.risk.tiers`, they
        share one bound.
        """
        granted = tuple(capabilities)
        told = [tiers(granted, table) for table in self.tables or BUILT_IN]
        return {capability: max(levels[capability] for levels in told) for capability in granted}

    def highest(self, capabilities: Iterable[str]) -> Tier:
        """Return the tier of a set of capabilities under the risk tables."""
        granted = tuple(capabilities)
        return max(highest(granted, table) for table in self.tables or BUILT_IN)

    def accepts_signer(self, fingerprints: Iterable[str]) -> bool:
        """Whether signatures by keys with these fingerprints satisfy the policy."""
        present = frozenset(fingerprints)
        return all(not signers.isdisjoint(present) for signers in self.signers)

    def place_refusal(self, namespace: str, origin: str, *, is_source: bool) -> str | None:
        """Return why an item of this namespace of a registry or source cannot be used; None if it can. A name without ``@`` means
        a namespace of any registry, and no source."""
        places = {f"{namespace}@{origin}", f"*@{origin}", *([] if is_source else [namespace])}
        if all(not allowed.isdisjoint(places) for allowed in self.namespaces):
            return None
        return f"the policy's namespaces do not list {namespace}@{origin}"

    def signers_refusal(self, count: int) -> str | None:
        """Return why a release that ``count`` keys signed cannot be used; None if it can."""
        if count >= self.reviewers:
            return None
        keys = "1 key" if count == 1 else f"{count} keys"
        return f"{keys} signed it, and the policy has required-reviewers = {self.reviewers}"


class Violation(Struct, frozen=True):
    """One reason why a capability is refused."""

    rule: Literal["allowed", "forbidden", "maximum-tier", "fact"]
    capability: str
    """The capability; for a fact ``FACT VALUE``, for agent tools their names."""
    message: str
    witness: str | None = None
    """An action that the capability grants against the rule; None if no single action shows it."""


def combined(policies: Iterable[Policy]) -> Policy:
    """Combine policies; the result is at least as strict as each of them."""
    given = tuple(policies)
    tables = _distinct(table for policy in given for table in policy.counting_tables)
    return Policy(
        allowed=_distinct(allowed for policy in given for allowed in policy.allowed),
        forbidden=_distinct(pattern for policy in given for pattern in policy.forbidden),
        maximum_tier=min((policy.maximum_tier for policy in given), default=Tier.UNRESTRICTED),
        signers=_distinct(signers for policy in given for signers in policy.signers),
        minimum_release_age=max((policy.minimum_release_age for policy in given), default=0),
        facts=frozenset(fact for policy in given for fact in policy.facts),
        tables=tables if tables != BUILT_IN else (),
        sources=strictest(tuple(policy.sources for policy in given)),
        namespaces=_distinct(places for policy in given for places in policy.namespaces),
        forbidden_targets=frozenset(target for policy in given for target in policy.forbidden_targets),
        reviewers=max((policy.reviewers for policy in given), default=0),
    )


def violations(policy: Policy, capabilities: Iterable[str]) -> tuple[Violation, ...]:
    """Return every way in which an item that asks for ``capabilities`` breaks ``policy``, in the order of the
    capabilities.
    """
    granted = sorted(set(capabilities))
    levels = policy.tiers(granted)
    broken: list[Violation] = []
    for capability in granted:
        broken += _not_allowed(policy, capability)
        broken += _forbidden(policy, capability)
        own = levels[capability]
        if own > policy.maximum_tier:
            message = f"{capability} is {own}; the policy allows at most {policy.maximum_tier}"
            broken.append(Violation("maximum-tier", capability, message))
    together = policy.highest(granted)
    if together > policy.maximum_tier and not any(violation.rule == "maximum-tier" for violation in broken):
        message = f"together the capabilities are {together}; the policy allows at most {policy.maximum_tier}"
        broken.append(Violation("maximum-tier", ", ".join(granted), message))
    return tuple(broken)


def tool_violations(policy: Policy, tools: AgentTools | None) -> tuple[Violation, ...]:
    """Return how tools of the agent program break ``policy``."""
    found = tools_tier(tools)
    if tools is None or found is None or found <= policy.maximum_tier:
        return ()
    names = ", ".join(tools.names)
    message = f"the agent tools {names} are {found}; the policy allows at most {policy.maximum_tier}"
    return (Violation("maximum-tier", names, message),)


def fact_violations(policy: Policy, mentioned: Iterable[tuple[str, str]]) -> tuple[Violation, ...]:
    """Return the forbidden facts among those mentioned, given as fact and value."""
    return tuple(
        Violation("fact", f"{fact} {value}", f"it mentions {fact}, which the policy forbids: {value}")
        for fact, value in mentioned
        if fact in policy.facts
    )


def _not_allowed(policy: Policy, capability: str) -> Iterable[Violation]:
    for allowed in policy.allowed:
        try:
            witness = find_readable([capability], Granted(allowed))
        except TooComplex:
            yield Violation(
                "allowed", capability, f"{capability} is too complex to compare with what the policy allows"
            )
        else:
            if witness is not None:
                message = f"{capability} grants {witness}, which the policy does not allow"
                yield Violation("allowed", capability, message, witness)


def _forbidden(policy: Policy, capability: str) -> Iterable[Violation]:
    for pattern in policy.forbidden:
        try:
            witness = find_readable([capability, pattern], Granted(()))
        except TooComplex:
            yield Violation("forbidden", capability, f"{capability} is too complex to compare with {pattern}")
        else:
            if witness is not None:
                message = f"{capability} grants {witness}, which the policy forbids ({pattern})"
                yield Violation("forbidden", capability, message, witness)


def _distinct(values: Iterable[_T]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(values))


def source_refusal(allowed: Allowed, *, is_git: bool, signed: bool) -> str | None:
    """Return why an item of a source cannot be used; None if it can."""
    if allowed == "none":
        return 'the policy allows no sources besides registries (sources = "none")'
    if allowed == "signed" and not signed:
        return 'the policy allows only sources = "signed", and no key that you trust signed it'
    if allowed == "git" and not is_git and not signed:
        return 'the policy allows only sources = "git", and this source is a folder'
    return None


def strictest(given: tuple[Allowed, ...]) -> Allowed:
    """Return what all of these allow; with none given, everything is allowed."""
    return min(given, key=SOURCE_SCALE.index, default="path")
