"""What the organizations that were joined say about an item that is about to be used: installed, changed here, or an own one.

Installing asks the same policy before it writes. It is asked again at each use, because the policy may be newer than what is
here, and because an own item was never installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rye.errors import RyeError
from rye.project.user_config import OtherPolicies, read_other_policies
from rye.text.lazy import lazy_module
from rye.workspace.context import Context

if TYPE_CHECKING:
    from rye.installation import environment
    from rye.permissions import policy as policies
    from rye.permissions.policy import Policy
    from rye.text import facts
    from rye.text.facts import readable
    from rye.workspace.items import item_tree
    from rye.workspace.items.effective_item import EffectiveItem
else:  # only for who joined an organization
    environment = lazy_module("rye.installation.environment")
    policies = lazy_module("rye.permissions.policy")
    facts, readable = lazy_module("rye.text.facts"), lazy_module("rye.text.facts.readable")
    item_tree = lazy_module("rye.workspace.items.item_tree")


def require_organizations_allow(
    context: Context, found: EffectiveItem, others: OtherPolicies | None = None
) -> OtherPolicies:
    """Require that each joined organization's policy is in force and allows the item; return the policies besides the project's.

    ``others``: these, if already read.
    Raises RyeError ``policy-violation``, ``policy-expired`` and others of :mod:`rye.project.organizations`.
    """
    others = others or read_other_policies(context.home, context.now())
    why = organizations_refusal(context, others, found)
    if why is not None:
        name = found.installed.row.identity if found.installed is not None else found.item.shown
        raise refused(str(name), why, others)
    return others


def organizations_refusal(context: Context, others: OtherPolicies, found: EffectiveItem) -> str | None:
    """Return why an organization's policy refuses the item; None if it does not, or if none was joined."""
    policy = environment.organizations_policy(others) if others.organizations else None
    if policy is None:
        return None
    if found.installed is not None:
        row, release = found.installed.row, found.installed.release
        why = environment.installed_refusal(policy, row.with_signer(release.signed_by), release, context.now())
        if why is not None:
            return why
    return _text_refusal(context, policy, found)


def refused(name: str, why: str, others: OtherPolicies) -> RyeError:
    """The error for an item that an organization's policy refuses."""
    whose = ", ".join(one.origin for one in others.organizations)
    return RyeError(
        "policy-violation",
        f"The policy of {whose} refuses {name}: {why}.",
        "`rye org show` shows the policy, and whom to ask.",
    )


def _text_refusal(context: Context, policy: Policy, found: EffectiveItem) -> str | None:
    """What the item says as it is used, with its attached files and what changes it."""
    metadata = found.item.reading.metadata
    broken: list[policies.Violation] = []
    if metadata is not None:
        broken += policies.violations(policy, metadata.capabilities)
        broken += policies.tool_violations(policy, metadata.agent_tools)
    if policy.facts:
        texts = {found.item.shown: found.item.text or ""}
        for path, file in item_tree.effective_tree(context, found).items():
            if file.data is not None:
                texts[path] = readable.readable_text(file.data)
        mentioned = ((fact.fact, fact.value) for fact in facts.find_facts(texts))
        broken += policies.fact_violations(policy, mentioned)
    return broken[0].message if broken else None
