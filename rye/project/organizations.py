"""The organizations whose policies apply on this machine: joined by its administrators for everybody, or by this user.

``/etc/rye/org.toml`` and ``org.toml`` in the user's configuration folder have the same form::

    [[registry]]
    address = "https://registry.example"
    fingerprint = "<64 hex digits>"

Rules:

* What administrators joined, no user leaves: their file wins, and no variable names another. It belongs to root, nobody else can
  change it or its folder, and it is not a link. A file that breaks this stops everything (``bad-org``); it is never ignored.
* The policy itself is in the trusted state of the pinned registry, where the client put it after all checks
  (:mod:`rye.registry.trust.policies`). Nothing is fetched here. A variable names the folder of that state, so where
  administrators joined, its signatures are verified again from the fingerprint in their file (``policy-signer``).
* A policy is in force until it expires (``policy-expired``). Until then no network is needed. The time is the machine's clock,
  but never earlier than the newest head that this machine has seen. A joined registry without a policy here
  (``policy-missing``), and one whose words this version does not know (``policy-unreadable``), stop as well.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.limits import PROJECT
from rye.storage import home as homes
from rye.storage.home import Home
from rye.storage.private_files import Exposed, make_folder, read_trusted_if_any, write
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    from rye.permissions import policy_table
    from rye.registry.protocol import statements
    from rye.registry.protocol.statements import policy as policy_statement
    from rye.registry.store import state as states
    from rye.registry.trust import policies
    from rye.registry.trust.trusted import TrustedState
else:  # only for who joined an organization
    policy_table = lazy_module("rye.permissions.policy_table")
    statements = lazy_module("rye.registry.protocol.statements")
    policy_statement = lazy_module("rye.registry.protocol.statements.policy")
    states = lazy_module("rye.registry.store.state")
    policies = lazy_module("rye.registry.trust.policies")

OWNER = 0
"""Whom the administrators' file belongs to: root."""
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")
_MOST = 16


class Joined(Struct, frozen=True):
    """A registry whose owners' policy applies."""

    address: str
    fingerprint: str
    """Of its first root."""
    is_managed: bool
    """Whether the machine's administrators joined it."""


class PolicyInForce(Struct, frozen=True, kw_only=True):
    """A policy that applies now."""

    address: str
    origin: str
    is_managed: bool
    number: int
    sha256: str
    """Of the statement's text."""
    expires: datetime
    contact: str | None
    table: policy_table.PolicyTable

    def as_json(self) -> dict[str, object]:
        """The policy in the JSON of ``rye ci``, ``rye install`` and ``rye org show``."""
        return {
            "registry": self.origin,
            "number": self.number,
            "sha256": self.sha256,
            "expires": f"{self.expires:%Y-%m-%dT%H:%M:%SZ}",
        }


def read_joined(home: Home) -> tuple[Joined, ...]:
    """Return what administrators and user joined, each address once; a command opens both files. Raises RyeError ``bad-org``."""
    joined: dict[str, Joined] = {}
    for row in (*_rows(_managed(), managed_file(), managed=True), *_rows(_own(home), home.organizations_file)):
        joined.setdefault(row.address, row)
    return tuple(joined.values())


def managed_file() -> Path:
    """The administrators' file."""
    return homes.MANAGED_ORGANIZATIONS


def write_own(home: Home, rows: Iterable[Joined]) -> None:
    """Write what the user joined. Raises OSError."""
    path = home.organizations_file
    text = "".join(f'[[registry]]\naddress = "{row.address}"\nfingerprint = "{row.fingerprint}"\n\n' for row in rows)
    make_folder(path.parent)
    write(path, f"# `rye org join` and `rye org leave` write this file.\n\n{text}")


def policies_in_force(home: Home, now: datetime) -> tuple[PolicyInForce, ...]:
    """Return the policy of each joined registry. Raises RyeError ``bad-org``, ``policy-missing``, ``policy-expired``,
    ``policy-unreadable``, ``policy-signer``, and StateError."""
    return tuple(policy_of_joined(home, row, now) for row in read_joined(home))


def stored_policy(home: Home, row: Joined) -> tuple[TrustedState, statements.OrganizationPolicy]:
    """Return the trusted state and the newest policy of a joined registry, expired or not. Raises RyeError ``policy-missing``,
    ``policy-signer``, and StateError."""
    store = states.StateStore(home.registries)
    origin = store.origin_at(row.address)
    state = store.load(origin) if origin is not None else None
    if state is None or state.policy is None or state.fingerprint != row.fingerprint:
        message = f"This machine joined the organization at {row.address}, and does not have its policy."
        raise RyeError("policy-missing", message, _ask(None, row.address))
    if row.is_managed:
        try:
            policies.check_stored_policy(state)
        except RyeError as error:
            path = store.path(state.origin)
            message = f"{error.message} It was changed on this machine, in {path}."
            hint = "Unset RYE_DATA_DIR, or delete that file: the next command asks the registry."
            raise RyeError("policy-signer", message, hint) from error
    return state, policies.read_organization_policy(state.policy)[1]


def policy_of_joined(home: Home, row: Joined, now: datetime) -> PolicyInForce:
    """Return the policy of one of them. Raises the same but ``bad-org``."""
    state, policy = stored_policy(home, row)
    if max(now, *_seen(state, policy)) >= policy.expires:
        until = f"{policy.expires:%Y-%m-%d %H:%M} UTC"
        message = (
            f"Policy {policy.number} of {policy.origin} at {row.address} expired at {until}, and no newer one is here."
        )
        raise RyeError("policy-expired", message, _ask(policy.contact, row.address))
    reader = policy_table.OrganizationPolicyReader(f"policy {policy.number} of {policy.origin}")
    try:
        table = reader.organization_policy(policy_statement.table_of(policy.rules), policy.origin)
    except RyeError as error:
        hint = f"Install the newest Rye. If it is the newest, tell {_whom(policy.contact, row.address)}."
        raise RyeError("policy-unreadable", f"{error.message} This version of Rye cannot follow it.", hint) from error
    return PolicyInForce(
        address=row.address,
        origin=policy.origin,
        is_managed=row.is_managed,
        number=policy.number,
        sha256=policy.sha256(),
        expires=policy.expires,
        contact=policy.contact,
        table=table,
    )


def _seen(state: TrustedState, policy: statements.OrganizationPolicy) -> tuple[datetime, ...]:
    """Times that have passed for certain: that of the policy itself, and of the newest head."""
    head = state.head_time
    return (policy.time, head) if head is not None else (policy.time,)


def _ask(contact: str | None, address: str) -> str:
    return f"`rye org update` asks the registry. If that does not help, ask {_whom(contact, address)}."


def _whom(contact: str | None, address: str) -> str:
    return contact.removeprefix("mailto:") if contact is not None else f"the administrators of {address}"


def _own(home: Home) -> bytes | None:
    path = home.organizations_file
    try:
        return read_trusted_if_any(path)
    except Exposed as error:
        raise _bad(path, str(error), f"Run `{error.fix}`, then check it: `rye org show`.") from error
    except OSError as error:
        raise _bad(path, str(error)) from error


def _managed() -> bytes | None:
    """The content of the administrators' file, decided about and read through one descriptor; None if there is none."""
    path = managed_file()
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _bad(path, "it is a link" if os.path.islink(path) else str(error), _MEND) from error
    try:
        status, folder = os.fstat(descriptor), os.lstat(path.parent)
        if not stat.S_ISREG(status.st_mode):
            raise _bad(path, "it is not a regular file", _MEND)
        for place, one in ((path, status), (path.parent, folder)):
            if one.st_uid != OWNER or stat.S_IMODE(one.st_mode) & 0o022 or stat.S_ISLNK(one.st_mode):
                raise _bad(path, f"others than root can change {place}", _MEND)
    except BaseException:
        os.close(descriptor)
        raise
    with os.fdopen(descriptor, "rb") as stream:
        data = stream.read(PROJECT.manifest_bytes + 1)
    if len(data) > PROJECT.manifest_bytes:  # what is beyond could be a registry
        raise _bad(path, f"it is larger than {PROJECT.manifest_bytes} bytes", _MEND)
    return data


_MEND = "An administrator mends it: `chown root` and `chmod 644`, a folder that only root writes to, and no link."


def _rows(data: bytes | None, path: Path, *, managed: bool = False) -> list[Joined]:
    if data is None:
        return []
    if not data.strip():  # a full disk leaves such a file; who joined nothing has a comment in it, or none
        again = "Restore it, or delete it and join again: `rye org join ADDRESS FINGERPRINT`."
        raise _bad(path, "it is empty", "An administrator restores it, or deletes it." if managed else again)
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _bad(path, f"it is not valid TOML: {error}") from None
    rows = document.get("registry", [])
    if set(document) - {"registry"} or not isinstance(rows, list) or len(rows) > _MOST:
        raise _bad(path, f"it does not consist of at most {_MOST} [[registry]] tables")
    return [_row(row, path, managed) for row in rows]


def _row(row: object, path: Path, managed: bool) -> Joined:
    if not isinstance(row, dict) or set(row) != {"address", "fingerprint"}:
        raise _bad(path, "a [[registry]] has other keys than address and fingerprint")
    address, fingerprint = row["address"], row["fingerprint"]
    if not isinstance(address, str) or re.fullmatch(r"(?:https?|file)://[!-~]+", address) is None or '"' in address:
        raise _bad(path, f"{str(address)[:80]!r} is not the address of a registry")
    if not isinstance(fingerprint, str) or _FINGERPRINT.fullmatch(fingerprint) is None:
        raise _bad(path, f"{str(fingerprint)[:80]!r} is not a fingerprint of 64 hex digits")
    return Joined(address.rstrip("/"), fingerprint, managed)


def _bad(path: Path, reason: str, hint: str | None = None) -> RyeError:
    message = f"{path}, which says whose policy applies here, cannot be used: {reason}."
    return RyeError("bad-org", message, hint or "Correct it, or restore it; `rye org show` checks it.")
