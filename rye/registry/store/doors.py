"""The registries of others that this user reads through another registry: agreed to together with that registry's pin.

``doors.json`` in the folder of the trusted states maps a registry's address to the upstreams that it serves. It only says where
requests for a namespace go. What is trusted of an upstream is its own pin, at the door's address, like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from rye.errors import RyeError
from rye.registry.protocol.doors import Upstream, door_address
from rye.storage.private_files import Exposed, make_folder, read_trusted, write
from rye.storage.safe_files import file_lock
from rye.text.json_reading import UNDECODABLE

_NAME = "doors.json"
_LOCK_SECONDS = 60.0


def read_doors(folder: Path) -> dict[str, list[Upstream]]:
    """Return the upstreams by the address of the registry that serves them.

    Raises RyeError ``state-damaged``, ``state-exposed``.
    """
    path = folder / _NAME
    try:
        return msgspec.json.decode(read_trusted(path), type=dict[str, list[Upstream]])
    except FileNotFoundError:
        return {}
    except Exposed as error:
        hint = f"Run `{error.fix}`, then look at what it says."
        raise RyeError("state-exposed", f"{error}, so nothing in it can be trusted.", hint) from error
    except (OSError, *UNDECODABLE) as error:
        raise RyeError(
            "state-damaged",
            f"{path} cannot be read: {str(error)[:300]}.",
            "Delete it, then agree again to what your registry serves of others: `rye registry add ADDRESS`.",
        ) from error


def write_doors(folder: Path, registry: str, upstreams: Sequence[Upstream]) -> None:
    """Replace the upstreams of one registry; none: it has no doors any more. Raises OSError and RyeError."""
    make_folder(folder)
    with file_lock(folder / f"{_NAME}.lock", _LOCK_SECONDS):
        doors = read_doors(folder)
        if doors.get(registry, []) == list(upstreams):
            return
        doors.pop(registry, None)
        if upstreams:
            doors[registry] = list(upstreams)
        write(folder / _NAME, msgspec.json.format(msgspec.json.encode(doors, order="sorted"), indent=1).decode() + "\n")


def routes_of(doors: dict[str, list[Upstream]]) -> dict[str, dict[str, str]]:
    """Return, for each registry with doors, the address for each namespace that it serves of an upstream."""
    return {
        registry: {
            namespace: door_address(registry, upstream.origin)
            for upstream in upstreams
            for namespace in upstream.namespaces
        }
        for registry, upstreams in doors.items()
    }


def door_at(doors: dict[str, list[Upstream]], address: str) -> tuple[str, Upstream] | None:
    """Return the door at this address: the registry that serves it, and the upstream; None if the user agreed to none there."""
    for registry, upstreams in doors.items():
        for upstream in upstreams:
            if door_address(registry, upstream.origin) == address:
                return registry, upstream
    return None
