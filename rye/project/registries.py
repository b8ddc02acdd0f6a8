"""Which registry serves which namespace. There is no fallback to another registry: each namespace has exactly one.

Precedence (DESIGN §9): ``--registry`` or ``RYE_REGISTRY``; the project's ``[registries]`` for the namespace, then its
``[project] registry``; the user's ``registry`` setting. Where that registry serves a namespace of another registry, and the user
agreed to this, requests go to its door (:mod:`rye.registry.store.doors`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct, field

from rye.errors import RyeError, UsageError
from rye.project.manifest import Manifest
from rye.text.addresses import is_loopback, without_credentials


class Registries(Struct, frozen=True):
    """Addresses by namespace, and the one for all others."""

    default: str | None
    by_namespace: Mapping[str, str] = field(default_factory=dict)
    sources: frozenset[str] = frozenset()
    """Names in ``[sources]``, which are never requested from a registry."""
    doors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """For a registry that serves others' registries, the address that it serves each of their namespaces at."""

    def of(self, namespace: str) -> str:
        """Return the address of the registry for a namespace. Raises RyeError ``no-registry``, ``from-a-source``, and
        ``registry-unpinned`` for a namespace that a project reads through a door for which the user agreed to others only."""
        if namespace in self.sources:
            raise RyeError(
                "from-a-source",
                f"{namespace!r} is a source in this project's rye.toml, not a namespace of a registry.",
                "[sources] says where its items come from; `rye list` shows the installed ones.",
            )
        address = self.serving(namespace)
        if address is None:
            raise no_registry()
        door = next((registry for registry, routes in self.doors.items() if address in routes.values()), None)
        if door is not None and self.behind(namespace) is None:
            raise RyeError(
                "registry-unpinned",
                f"You did not agree to read the namespace {namespace!r} at {address}.",
                f"`rye registry add {door}` asks about what it serves. Otherwise take the namespace out of [registries].",
            )
        return address

    def serving(self, namespace: str) -> str | None:
        """Return the same, whatever sources there are; None if no registry serves the namespace."""
        named = self.by_namespace.get(namespace, self.default)
        return self.doors.get(named or "", {}).get(namespace, named)

    def behind(self, namespace: str) -> str | None:
        """Return the registry that serves the namespace of another one; None if the namespace is its own."""
        address = self.serving(namespace)
        return next((registry for registry, routes in self.doors.items() if routes.get(namespace) == address), None)

    def main(self) -> str:
        """Return the address for requests without a namespace. Raises RyeError ``no-registry``."""
        if self.default is None:
            raise no_registry()
        return self.default


def no_registry() -> RyeError:
    """The error for a command that needs a registry when none is configured."""
    return RyeError(
        "no-registry",
        "No registry is configured.",
        "`rye registry add ADDRESS --default` pins one, which needs no token; `rye login ADDRESS` also stores a token, "
        "to publish; `rye registry serve` starts one here.",
    )


def registries(
    given: str | None,
    manifest: Manifest | None,
    setting: str | None,
    base: Path,
    doors: Mapping[str, Mapping[str, str]] | None = None,
) -> Registries:
    """Combine the settings of the command, the project and the user. ``doors``: those that the user agreed to.

    Raises UsageError ``bad-argument``.
    """
    sources = frozenset(manifest.sources) if manifest is not None else frozenset[str]()
    if given is not None:
        return Registries(normal_address(given, base), sources=sources, doors=doors or {})
    project = manifest.registry if manifest is not None else None
    default = project or setting
    mapped = manifest.registries if manifest is not None else {}
    return Registries(
        normal_address(default, base) if default else None,
        {namespace: normal_address(address, base) for namespace, address in mapped.items()},
        sources,
        doors or {},
    )


def normal_address(address: str, base: Path) -> str:
    """Return an address without a trailing ``/``; a folder becomes a ``file://`` address. Raises UsageError ``bad-argument``."""
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018  raises for an invalid port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme in ("https", "http") and parts.hostname and not (parts.query or parts.fragment or parts.username):
        return address.rstrip("/")
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path:
        return address.rstrip("/")
    if not parts.scheme and (base / address).is_dir():
        return (base / address).resolve().as_uri()
    raise UsageError(
        "bad-argument",
        f"{without_credentials(address)!r} is not a registry address.",
        _with_scheme(address) or "Use https://…, file:///… or the path of a registry's folder.",
        what="registry",
    )


def _with_scheme(address: str) -> str | None:
    """The hint for a host without ``https://``."""
    found = re.fullmatch(r"(\[[0-9a-f:]+\]|[A-Za-z0-9][A-Za-z0-9.-]*)(?::[0-9]{1,5})?(?:/[!-~]*)?", address)
    host = found[1].strip("[]").lower() if found else ""
    if found is None or not ("." in host or ":" in host or host == "localhost"):
        return None
    return f"Write {'http' if is_loopback(host) else 'https'}://{address}"
