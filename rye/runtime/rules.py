"""What the operator's policies say about a run: what they forbid, what a person is asked about, what it may use."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from msgspec import Struct, field

from rye.permissions.policy import Policy
from rye.permissions.risk import Tier
from rye.runtime.approvals import Answer, answer
from rye.runtime.limits import Limits


class Rules(Struct, frozen=True):
    """The policies of project, user and organization together."""

    policy: Policy = field(default_factory=Policy)
    approval: tuple[Mapping[str, Answer], ...] = ()
    """The ``[policy.approval]`` tables."""
    limits: Limits = field(default_factory=Limits)
    """``[policy.limits]``."""

    def forbids(self, action: str) -> bool:
        """Whether the policy forbids one action. A search without an id is judged by what it finds."""
        policy = self.policy
        if any(fnmatchcase(action, pattern) for pattern in policy.forbidden):
            return True
        if action.count(".") == 2:
            return False
        if any(not any(fnmatchcase(action, pattern) for pattern in allowed) for allowed in policy.allowed):
            return True
        return policy.maximum_tier < Tier.UNRESTRICTED and self._tier(action) > policy.maximum_tier

    def answer(self, primary: str, action: str) -> Answer:
        """Whether a person must agree to one action. Signing always asks."""
        found = answer(action, self.approval, self._tier(action))
        return "ask" if primary == "sign" and found == "allow" else found

    def _tier(self, action: str) -> Tier:
        primary = action.split(".", 2)[1]
        return self.policy.tier(action) if primary in ("execute", "sign") else Tier.SAFE
