"""What releases are checked against besides the registry: the features that a project provides, the policy and the
time."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.permissions.policy import Policy, fact_violations, tool_violations, violations
from rye.permissions.source_scale import source_refusal
from rye.resolution.problem import Exclusion
from rye.signing.keys import PublicKey
from rye.sources.record import SourceRecord

if TYPE_CHECKING:
    from rye.installation.sources import Record
    from rye.items.signed_release import Mention
    from rye.project.lock import LockedItem


class Environment(Struct, frozen=True):
    """What a release is checked against besides the registry."""

    provides: frozenset[str]
    policy: Policy
    now: datetime

    def require(self, items: Iterable[tuple[LockedItem, Iterable[Mention]]]) -> None:
        """Require that all items, and what they mention, comply with the policy; consent cannot replace that. Raises RyeError
        ``policy-violation``."""
        found = [
            (item, violation)
            for item, mentioned in items
            for violation in (
                *violations(self.policy, item.capabilities),
                *tool_violations(self.policy, item.tools),
                *fact_violations(self.policy, ((mention.fact, mention.value) for mention in mentioned)),
            )
        ]
        if found:
            listed = "\n".join(f"  {item.identity}@{item.version}: {v.message}" for item, v in found)
            raise RyeError(
                "policy-violation",
                f"The policy forbids what these items ask for or mention:\n{listed}",
                "Choose another item or version, or ask the maintainer of the policy to change it.",
                details={
                    "violations": [
                        {
                            "item": str(item.identity),
                            "version": item.version,
                            "rule": v.rule,
                            "capability": v.capability,
                        }
                        for item, v in found
                    ]
                },
            )

    def exclusions(self, record: Record) -> dict[Exclusion, str]:
        """Return the reasons why this release must not be chosen."""
        if isinstance(record, SourceRecord):
            return self._source_exclusions(record)
        policy, found = self.policy, {}
        if record.revoked:
            found[Exclusion.REVOKED] = "every key that signed it was revoked"
        elif not policy.accepts_signer(signers := [PublicKey(key).fingerprint for key in record.signers]):
            found[Exclusion.OTHER_SIGNER] = f"required-signers does not list {' or '.join(signers)}"
        if record.takedown is not None:
            found[Exclusion.TAKEN_DOWN] = record.takedown.reason
        if record.yank is not None:
            found[Exclusion.YANKED] = record.yank.reason
        age = self.now - record.release.time
        if policy.minimum_release_age and age < timedelta(seconds=policy.minimum_release_age):
            found[Exclusion.TOO_NEW] = f"released {record.release.time:%Y-%m-%d %H:%M} UTC"
        return found

    def _source_exclusions(self, record: SourceRecord) -> dict[Exclusion, str]:
        """Return the same for an item of a source. A commit can claim any time, so its age is not checked."""
        why = source_refusal(
            self.policy.sources, is_git=record.source.git is not None, signed=record.signer is not None
        )
        found = {} if why is None else {Exclusion.SOURCE: why}
        if not self.policy.accepts_signer([record.signer] if record.signer is not None else []):
            found[Exclusion.OTHER_SIGNER] = f"required-signers does not list {record.signer or record.source.unsigned}"
        return found
