"""Join the organization that owns a registry, follow its policy, and leave it."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from rye.errors import RyeError
from rye.project.organizations import (
    Joined,
    PolicyInForce,
    managed_file,
    policy_of_joined,
    read_joined,
    stored_policy,
    write_own,
)
from rye.project.registries import normal_address
from rye.registry.store.state import StateStore
from rye.workspace.context import Context
from rye.workspace.registries.pinning import require_fingerprint
from rye.workspace.registries.registry_access import open_registry

_WAITS = frozenset(("policy-missing", "policy-expired"))
"""What a newer policy may end."""


class ShownOrganization(Struct, frozen=True, kw_only=True):
    """A joined organization, for people: its policy, whether or not it is in force."""

    address: str
    is_managed: bool
    origin: str | None = None
    number: int | None = None
    sha256: str | None = None
    expires: datetime | None = None
    contact: str | None = None
    rules: tuple[str, ...] = ()
    problem: RyeError | None = None
    """Why it is not in force."""


def join(context: Context, address: str, fingerprint: str) -> PolicyInForce:
    """Pin a registry, and follow the policy of its owners from now on. Raises RyeError ``no-such-entry`` if there is none."""
    where = normal_address(address, context.cwd)
    require_fingerprint(fingerprint)
    with open_registry(context, where, fingerprint=fingerprint, named=True, joins=True):
        pass
    rows = read_joined(context.home)
    row = next((one for one in rows if one.address == where), None)
    if row is None:
        row = Joined(where, fingerprint, False)
        write_own(context.home, (*(one for one in rows if not one.is_managed), row))
    return policy_of_joined(context.home, row, context.now())


def leave(context: Context, address: str) -> str:
    """Follow the policy no longer; return the address. The registry stays pinned. Raises RyeError ``not-joined``, ``managed``."""
    where = normal_address(address, context.cwd)
    rows = read_joined(context.home)
    row = next((one for one in rows if one.address == where), None)
    if row is None:
        raise RyeError("not-joined", f"You did not join {where}.", "`rye org show` lists what you joined.")
    if row.is_managed:
        message = f"The administrators of this machine joined {where} for everybody, in {managed_file()}."
        raise RyeError("managed", message, "Ask them; a user cannot leave it.")
    write_own(context.home, (one for one in rows if not one.is_managed and one != row))
    store = StateStore(context.home.registries)
    origin = store.origin_at(where)
    others = {store.origin_at(one.address) for one in rows if one != row}
    if origin is not None and origin not in others:
        store.forget_policy(origin)
    return where


def update(context: Context) -> tuple[PolicyInForce, ...]:
    """Ask each joined registry for its newest policy, and return what is in force. Raises RyeError."""
    return tuple(_updated(context, row) for row in read_joined(context.home))


def _updated(context: Context, row: Joined) -> PolicyInForce:
    with open_registry(context, row.address, fingerprint=row.fingerprint, named=True, joins=True):
        pass
    return policy_of_joined(context.home, row, context.now())


def show(context: Context) -> tuple[ShownOrganization, ...]:
    """Return what was joined, with its policy. Nothing is fetched."""
    return tuple(_shown(context, row) for row in read_joined(context.home))


def _shown(context: Context, row: Joined) -> ShownOrganization:
    try:
        _, policy = stored_policy(context.home, row)
    except RyeError as error:
        return ShownOrganization(address=row.address, is_managed=row.is_managed, problem=error)
    problem = None
    try:
        policy_of_joined(context.home, row, context.now())
    except RyeError as error:
        problem = error
    return ShownOrganization(
        address=row.address,
        is_managed=row.is_managed,
        origin=policy.origin,
        number=policy.number,
        sha256=policy.sha256(),
        expires=policy.expires,
        contact=policy.contact,
        rules=policy.rules,
        problem=problem,
    )


def require_policies(context: Context) -> tuple[PolicyInForce, ...]:
    """Require that the policy of each joined organization is in force, and return them. One that expired, or was never seen, is
    asked for first, unless the network is forbidden.

    Raises RyeError ``policy-expired``, ``policy-missing``, ``policy-unreadable``, ``bad-org``.
    """
    return tuple(_required(context, row) for row in read_joined(context.home))


def _required(context: Context, row: Joined) -> PolicyInForce:
    try:
        return policy_of_joined(context.home, row, context.now())
    except RyeError as error:
        if error.code not in _WAITS or context.offline:
            raise
        try:
            return _updated(context, row)
        except RyeError as why:
            if why.code in _WAITS:
                raise
            message = f"{error.message} Its registry could not be asked: {why.message}"
            raise RyeError(error.code, message, error.hint) from why
