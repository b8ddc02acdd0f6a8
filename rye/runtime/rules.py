"""The policies that apply to a run: what they forbid, what needs a person's approval, and how much the run may use."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from msgspec import Struct, field

from rye.permissions.policy import Policy
from rye.permissions.risk import Tier
from rye.runtime.approvals import Answer, answer
from rye.runtime.limits import Limits


class Rules(Struct, frozen=True):
    """The combined policies of project, user and organization."""

    policy: Policy = field(default_factory=Policy)
    approval: tuple[Mapping[str, Answer], ...] = ()
    """The ``[policy.approval]`` tables."""
    limits: Limits = field(default_factory=Limits)
    """``[policy.limits]``."""

    def forbids(self, action: str) -> bool:
        """Whether the policy forbids an action. For a search without an id, each result is checked instead."""
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
        return "ask" if primary == "sign" and found == "allow" else found

    def _tier(self, action: str) -> Tier:
        primary = action.split(".", 2)[1]
        return self.policy.tier(action) if primary in ("execute", "sign") else Tier.SAFE
