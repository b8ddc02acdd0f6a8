"""What this user demands of a registry's witnesses: given with the command, in the file of ``RYE_PINS``, or suggested by the
registry and taken on a terminal. Nobody else can demand less: a policy that this machine has is dropped only on a terminal.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rye.errors import RyeError, UsageError
from rye.limits import REGISTRY
from rye.permissions.policy_table import parse_age
from rye.project.layout import find_project, is_committed_place
from rye.project.user_config import read_settings
from rye.registry.protocol.witness_policy import MAX_POLICY_BYTES, Policy, PolicyError, read_policy
from rye.registry.store.pins import read_addresses
from rye.registry.store.witness_demands import read_demand, write_demand
from rye.registry.trust.cosigned import WitnessDemand
from rye.storage.safe_files import read_bytes
from rye.workspace.named_file import NamedFile

if TYPE_CHECKING:
    from rye.workspace.context import Context

SETTING = "max-witness-age"


def demand_in_file(context: Context, file: NamedFile, age: str | None) -> WitnessDemand:
    """What the policy in a file demands. ``age``: how old cosignatures may be; None: the user's setting, or the default.

    Raises RyeError ``policy-malformed``, ``bad-argument``, ``no-such-file``.
    """
    return WitnessDemand(read_policy(read_bytes(file.path, MAX_POLICY_BYTES)), witness_age(context, age))


def witness_age(context: Context, age: str | None) -> int:
    """How old cosignatures may be, in seconds. Raises UsageError ``bad-argument``."""
    text = age if age is not None else read_settings(context.home).get(SETTING)
    if text is None:
        return REGISTRY.witness_age_seconds
    found = parse_age(text)
    if found is None or not found:
        raise UsageError(
            "bad-argument", f"{text!r} is not a valid age.", "Write an age such as 36h, 3d or 2w.", what="age"
        )
    return int(found.total_seconds())


def demand_in_pins(context: Context, origin: str, policy: Path) -> WitnessDemand | None:
    """What a line of ``RYE_PINS`` demands of a registry; None if this machine demands the same already.

    Raises RyeError ``bad-pins``: the file is inside the project, cannot be read, is no policy, or is another one than this
    machine has.
    """
    project = find_project(context.cwd)
    if not policy.is_absolute() or (project is not None and is_committed_place(project.root, policy)):
        raise RyeError(
            "bad-pins",
            f"RYE_PINS: the policy {str(policy)!r} is not an absolute path outside of the project.",
            "Keep the policy outside the checkout, where only the build server writes.",
        )
    try:
        found = read_policy(read_bytes(policy, MAX_POLICY_BYTES))
    except PolicyError as error:
        raise RyeError("bad-pins", f"RYE_PINS: {str(policy)!r}: {error.message}", error.hint) from error
    known = read_demand(context.home.registries, origin)
    if known is None:
        return WitnessDemand(found, witness_age(context, None))
    if known.policy.text != found.text:
        raise RyeError(
            "bad-pins",
            f"RYE_PINS demands other witnesses of {origin} than this machine does.",
            "One of the two is wrong. `rye registry show` tells what this machine demands.",
        )
    return None


def suggested_demand(context: Context, origin: str, text: str | None) -> WitnessDemand | None:
    """Show a person the policy that a registry suggests, and return what they take; None without a terminal.

    Raises RyeError ``policy-malformed``.
    """
    if text is None or not context.interactive or read_demand(context.home.registries, origin) is not None:
        return None
    policy = read_policy(text.encode())
    context.tell(
        f"The registry {origin} suggests that you trust only what independent witnesses have cosigned.", "strong"
    )
    for line in described(policy):
        context.tell(f"  {line}")
    if not context.ask("Demand these witnesses from now on?"):
        return None
    return WitnessDemand(policy, witness_age(context, None))


def described(policy: Policy) -> list[str]:
    """A policy in lines for a person."""
    witnesses = [f"witness {witness.key.name} ({witness.key.algorithm_name})" for witness in policy.witnesses]
    return [*witnesses, f"quorum: {policy}"]


def drop_demand(context: Context, address: str) -> None:
    """Stop demanding witnesses of the registry at an address, after a question on a terminal.

    Raises RyeError ``not-pinned``, ``confirmation-needed``, ``declined``.
    """
    origin = read_addresses(context.home.registries).get(address)
    if origin is None:
        raise RyeError(
            "not-pinned", f"No registry is pinned at {address}.", "`rye registry list` lists the pinned registries."
        )
    known = read_demand(context.home.registries, origin)
    if known is None:
        return
    _confirm(context, f"Without its witnesses, {origin} alone decides what you see of its log. Stop demanding them?")
    write_demand(context.home.registries, origin, None)


def require_no_less(context: Context, origin: str, demand: WitnessDemand) -> None:
    """Ask a person before another policy takes the place of one that demands more: fewer witnesses, or older cosignatures.

    One that cannot be read may have demanded anything. Raises RyeError ``confirmation-needed``, ``declined``.
    """
    try:
        known = read_demand(context.home.registries, origin)
    except RyeError as error:
        context.tell(error.message)
        _confirm(context, f"The new policy takes its place: {demand.policy}. Take it?")
        return
    if known is None or not known.policy.demands:
        return
    if demand.policy.demands_less_than(known.policy) or demand.max_age_seconds > known.max_age_seconds:
        context.tell(f"This machine demands of {origin}: {known.policy}.")
        _confirm(context, f"The new policy demands less: {demand.policy}. Take it?")


def _confirm(context: Context, question: str) -> None:
    if not context.interactive:
        raise RyeError(
            "confirmation-needed", "Confirmation required; the policy is kept.", f"{question} Answer on a terminal."
        )
    if not context.ask(question):
        raise RyeError("declined", "The policy is kept.")
