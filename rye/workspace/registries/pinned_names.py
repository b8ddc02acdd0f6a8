"""Whether a name could mean an item of a pinned registry. Then it means no repository and no folder of that name."""

from __future__ import annotations

import contextlib

from rye.errors import RyeError
from rye.registry.store.pins import read_addresses
from rye.text.json_reading import UNDECODABLE
from rye.workspace.context import Context
from rye.workspace.registries.project_registries import given_pins
from rye.workspace.registries.registry_access import open_registry
from rye.workspace.registries.source_book import pinned_namespaces


def pinned_registry_has(context: Context, namespace: str, shown: str) -> bool:
    """Whether a pinned registry has a namespace. One that this machine never saw is asked for.

    ``shown``: the name ``owner/repository``, for the error. Raises the RyeError of a registry that gives no verified answer.
    """
    if namespace in pinned_namespaces(context.home):
        return True
    return any(_has(context, addresses, namespace, shown) for addresses in _addresses(context))


def _addresses(context: Context) -> list[list[str]]:
    """The addresses of each pinned registry; a registry can have several."""
    by_origin: dict[str, list[str]] = {}
    with contextlib.suppress(OSError, *UNDECODABLE):  # opening that registry reports the error
        for address, origin in sorted(read_addresses(context.home.registries).items()):
            by_origin.setdefault(origin, []).append(address)
    known = {address for group in by_origin.values() for address in group}
    return [*by_origin.values(), *([address] for address in given_pins(context) if address not in known)]


def _has(context: Context, addresses: list[str], namespace: str, shown: str) -> bool:
    """Whether the registry has the namespace, by the first of its addresses that gives a verified answer."""
    failed: RyeError | None = None
    for address in addresses:
        try:
            with open_registry(context, address) as client:
                return bool(client.keysets([namespace])[namespace].links)
        except RyeError as error:
            message = (
                f"{shown} may be an item of {address}, which you pinned and which cannot be asked: {error.message}"
            )
            hint = f"If you mean the repository, write https://github.com/{shown}. {error.hint or ''}".rstrip()
            failed = RyeError(error.code, message, hint, details=error.details)
    assert failed is not None
    raise failed
