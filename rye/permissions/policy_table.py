"""The words of a ``[policy]`` table, wherever one is written: in ``rye.toml``, in a user's or a machine's file, and in the
statement of an organization (``rye.policy/v1``). :mod:`rye.permissions.policy` interprets them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar

from msgspec import Struct, field
from msgspec.structs import replace

from rye.limits import PERMISSIONS
from rye.permissions.source_scale import SOURCE_SCALE, Allowed
from rye.text.facts.fact import FACTS
from rye.text.lazy import lazy_pattern
from rye.text.tables import TableReader

TIERS = ("safe", "write", "elevated", "unrestricted")
TARGETS = ("claude", "codex", "copilot", "cursor", "gemini", "opencode")
"""What ``forbid-targets`` can name: the programs of :mod:`rye.project.agent_programs`, which a server does not have."""
APPROVALS = ("ask", "deny", "allow")
LIMITS = ("turns", "tokens", "spend", "duration", "depth", "spawns", "calls", "tool_seconds")
"""The limits of a run (:mod:`rye.runtime.limits`): integers, except ``spend``, which is in dollars."""

_AGE = lazy_pattern(r"(\d{1,5})\s*([hdw])")
_MOST = 10**15
MOST_REVIEWERS = 16
"""As many keys as a namespace can have."""
PLACE = r"(?:[a-z0-9][a-z0-9_-]{0,63}|\*(?=@))(?:@[!-~]{1,400})?"
"""One of ``namespaces``: a namespace, one of a registry or source, or ``*`` for all of it."""
_PLACE = lazy_pattern(PLACE)
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


class PolicyTable(Struct, frozen=True, kw_only=True):
    """``[policy]`` as written; :mod:`rye.permissions.policy` interprets it."""

    allow: tuple[str, ...] | None = None
    """None: everything that is not forbidden."""
    forbid: tuple[str, ...] = ()
    max_tier: str | None = None
    required_signers: tuple[str, ...] = ()
    minimum_release_age: timedelta | None = None
    allow_override_widening: bool = False
    risk: Mapping[str, str] = field(default_factory=dict)
    """Pattern → tier."""
    forbidden_facts: tuple[str, ...] = ()
    """``[policy.facts]``, sorted: facts that no item may contain (:mod:`rye.text.facts`)."""
    limits: Mapping[str, int | str] = field(default_factory=dict)
    """``[policy.limits]``: upper limits of a run, by the names in :data:`LIMITS`; dollars as decimal text."""
    approval: Mapping[str, str] = field(default_factory=dict)
    """``[policy.approval]``: pattern → one of :data:`APPROVALS`."""
    sources: Allowed | None = None
    """Which sources other than registries are allowed, one of :data:`SOURCE_SCALE`; None: all."""
    namespaces: tuple[str, ...] | None = None
    """Where items may come from: ``NAMESPACE``, ``NAMESPACE@ORIGIN`` or ``*@ORIGIN``; None: from everywhere."""
    forbidden_targets: tuple[str, ...] = ()
    """Agent programs that nothing is deployed to."""
    required_reviewers: int = 0
    """How many keys of its namespace must have signed a release."""
    required_witnesses: tuple[str, ...] = ()
    """Verifier keys of the witnesses who must have cosigned the log that the policy is in. Only an organization can write it."""


def parse_age(text: str) -> timedelta | None:
    """Parse an age such as ``36h``, ``3d`` or ``2w``; None if the text is not an age."""
    found = _AGE.fullmatch(text)
    return int(found[1]) * _UNITS[found[2]] if found else None


class PolicyReader(TableReader):
    """The words of a policy."""

    WORDS: ClassVar[frozenset[str]] = frozenset(
        (
            "allow",
            "forbid",
            "max-tier",
            "required-signers",
            "minimum-release-age",
            "allow-override-widening",
            "risk",
            "facts",
            "limits",
            "approval",
            "sources",
            "namespaces",
            "forbid-targets",
            "required-reviewers",
        )
    )

    def policy(self, table: Mapping[str, Any]) -> PolicyTable:
        """``[policy]``. Raises RyeError ``bad-manifest``."""
        where = "policy"
        self.known(table, where, set(self.WORDS))
        named_sources = self.text(table, where, "sources")
        allowed = next((one for one in SOURCE_SCALE if one == named_sources), None)
        if named_sources is not None and allowed is None:
            hint = f"Write one of {', '.join(SOURCE_SCALE)}."
            raise self.fail(f"[policy] sources = {named_sources!r} is not a known value.", hint)
        tier = self.text(table, where, "max-tier")
        risk = self.table(table, "risk")
        for named in (*risk.values(), *([tier] if tier is not None else [])):
            if named not in TIERS:
                raise self.fail(f"[policy] {named!r} is not a tier (max-tier, risk).", f"Tiers: {', '.join(TIERS)}.")
        age_text = self.text(table, where, "minimum-release-age")
        age = parse_age(age_text) if age_text is not None else None
        if age_text is not None and age is None:
            raise self.fail(f"[policy] minimum-release-age {age_text!r} is not an age.", "Write it like 36h, 3d or 2w.")
        return PolicyTable(
            allow=self.texts(table, where, "allow") if "allow" in table else None,
            forbid=self.texts(table, where, "forbid"),
            max_tier=tier,
            required_signers=self.texts(table, where, "required-signers"),
            minimum_release_age=age,
            allow_override_widening=self.flag(table, where, "allow-override-widening"),
            risk=risk,
            forbidden_facts=self.facts(self.table(table, "facts")),
            limits=self.limits(self.table(table, "limits")),
            approval=self.approval(self.table(table, "approval")),
            sources=allowed,
            namespaces=self.places(table, where) if "namespaces" in table else None,
            forbidden_targets=self.texts(table, where, "forbid-targets"),
            required_reviewers=self.reviewers(table),
            required_witnesses=self.texts(table, where, "required-witnesses"),
        )

    def places(self, table: Mapping[str, Any], where: str) -> tuple[str, ...]:
        """``namespaces``: places of items."""
        named = self.texts(table, where, "namespaces")
        for place in named:
            if _PLACE.fullmatch(place) is None:
                hint = 'Write "acme", "acme@registry.example" or "*@registry.example".'
                raise self.fail(f"[policy] namespaces {place[:80]!r} is not a namespace.", hint)
        return named

    def reviewers(self, table: Mapping[str, Any]) -> int:
        """``required-reviewers``: a number of keys."""
        value = table.get("required-reviewers", 0)
        if type(value) is not int or not 0 <= value <= MOST_REVIEWERS:
            hint = f"Write a whole number from 0 to {MOST_REVIEWERS}."
            raise self.fail(f"[policy] required-reviewers = {value!r} is not a number of keys.", hint)
        return value

    def limits(self, table: Mapping[str, Any]) -> dict[str, int | str]:
        """``[policy.limits]``: ``NAME = NUMBER``."""
        self.known(table, "policy.limits", set(LIMITS))
        bounds: dict[str, int | str] = {}
        for name, value in table.items():
            money = name == "spend"
            fits = type(value) is int or (money and type(value) is float)
            if not fits or not 0 <= value < _MOST:
                wanted = "a number of dollars" if money else "a whole number"
                raise self.fail(f"[policy.limits] {name} = {value!r} is not a limit.", f"Write {wanted}, at least 0.")
            bounds[name] = str(value) if money else int(value)
        return bounds

    def approval(self, table: Mapping[str, Any]) -> dict[str, str]:
        """``[policy.approval]``: ``"PATTERN" = "ask"``."""
        for pattern, value in table.items():
            if not pattern.startswith("rye.") or len(pattern) > PERMISSIONS.path_characters:
                hint = 'Write "rye.execute.tool.acme.shell.*" = "ask".'
                raise self.fail(f"[policy.approval] {pattern[:80]!r} is not a capability pattern.", hint)
            if value not in APPROVALS:
                hint = f"Write one of {', '.join(APPROVALS)}."
                raise self.fail(f"[policy.approval] {pattern} = {value!r} is not a known value.", hint)
        return dict(table)

    def facts(self, table: Mapping[str, Any]) -> tuple[str, ...]:
        """``[policy.facts]``: ``NAME = "forbid"``."""
        if not table:
            return ()

        self.known(table, "policy.facts", set(FACTS))
        for name, value in table.items():
            if value != "forbid":
                raise self.fail(f"[policy.facts] {name} = {value!r} is not a known value.", f'Write {name} = "forbid".')
        return tuple(sorted(table))


class OrganizationPolicyReader(PolicyReader):
    """The words of an organization's policy (``rye.policy/v1``)."""

    WORDS: ClassVar[frozenset[str]] = PolicyReader.WORDS | {"required-witnesses"}

    def organization_policy(self, table: Mapping[str, Any], origin: str) -> PolicyTable:
        """Return the table of a statement. A namespace without ``@`` is one of the registry that the statement is in.

        Raises RyeError ``bad-manifest``.
        """
        found = self.policy(table)
        if found.namespaces is None:
            return found
        return replace(found, namespaces=tuple(one if "@" in one else f"{one}@{origin}" for one in found.namespaces))
