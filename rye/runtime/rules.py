"""The policies that apply to a run: what they forbid, what needs a person's approval, and how much the run may use."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from msgspec import Struct, field
from msgspec.structs import replace

from rye.permissions.policy import Policy
from rye.permissions.risk import Tier
from rye.runtime.approvals import ANSWERS, Answer, answer
from rye.runtime.limits import Limits, minimum


class Rules(Struct, frozen=True):
    """The combined policies of project, user and organization."""

    policy: Policy = field(default_factory=Policy)
    approval: tuple[Mapping[str, Answer], ...] = ()
    """The ``[policy.approval]`` tables."""
    limits: Limits = field(default_factory=Limits)
    """``[policy.limits]``."""
    start: Rules | None = None
    """Rules that count beside these: those that the run started with."""

    def beside(self, start: Rules) -> Rules:
        """Return rules that are as strict as both: a policy that changes during a run tightens it, and never widens it."""
        return replace(self, limits=minimum((start.limits, self.limits)), start=start)

    def forbids(self, action: str) -> bool:
        """Whether the policy forbids an action. For a search without an id, each result is checked instead."""
        if self.start is not None and self.start.forbids(action):
            return True
        policy = self.policy
        if any(fnmatchcase(action, pattern) for pattern in policy.forbidden):
            return True
        if action.count(".") == 2:
            return False
        if any(not any(fnmatchcase(action, pattern) for pattern in allowed) for allowed in policy.allowed):
            return True
        return policy.maximum_tier < Tier.UNRESTRICTED and self._tier(action) > policy.maximum_tier

    def answer(self, primary: str, action: str) -> Answer:
        """Return whether a person must approve an action. Signing always asks."""
        found = answer(action, self.approval, self._tier(action))
        found = "ask" if primary == "sign" and found == "allow" else found
        before = found if self.start is None else self.start.answer(primary, action)
        return max(found, before, key=ANSWERS.index)

    def _tier(self, action: str) -> Tier:
        primary = action.split(".", 2)[1]
        return self.policy.tier(action) if primary in ("execute", "sign") else Tier.SAFE
