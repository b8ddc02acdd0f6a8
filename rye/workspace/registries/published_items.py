"""Find the published item that a reference names, and its registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rye.errors import RyeError, UsageError
from rye.installation.completeness import similar
from rye.items.identity import Identity, parse_reference
from rye.registry.client import RegistryClient
from rye.registry.trust.records import ReleaseRecord
from rye.workspace.registries.registry_access import configured, serving_registry

if TYPE_CHECKING:
    from rye.workspace.context import Context


def registry_of(context: Context, text: str) -> str:
    """The address of the registry for ``[kind:]id[@version]``."""
    return serving_registry(context, configured(context), parse_reference(text).id.split("/", 1)[0])


def published(client: RegistryClient, text: str) -> tuple[Identity, str | None]:
    """The published item that ``[kind:]id[@version]`` names, and the version.

    Raises RyeError ``no-such-item`` and UsageError ``ambiguous``.
    """
    reference = parse_reference(text)
    kinds = client.kinds_of([reference.id])[reference.id]
    if reference.kind is not None:
        kinds = tuple(kind for kind in kinds if kind == reference.kind)
    if not kinds:
        near = similar(reference.id, (name.id for name in client.names(suggests=True) or ()))
        hint = f"`rye search {reference.id.rpartition('/')[2]}` searches for published items."
        raise RyeError(
            "no-such-item",
            f"{reference.id!r} is not published in {client.origin}{client.as_last_seen}.",
            f"Did you mean {', '.join(near)}? {hint}" if near else hint,
        )
    if len(kinds) > 1:
        listed = ", ".join(f"{kind}:{reference.id}" for kind in kinds)
        raise UsageError(
            "ambiguous",
            f"{reference.id!r} is ambiguous: {listed}.",
            f"Name one, for example {kinds[0]}:{reference.id}.",
        )
    return Identity(kinds[0], reference.id), reference.range


def published_release(client: RegistryClient, text: str) -> ReleaseRecord:
    """The release that ``[kind:]id@version`` names.

    Raises RyeError ``no-such-item`` and ``no-such-version``, UsageError ``ambiguous`` and ``no-version``.
    """
    identity, version = published(client, text)
    if version is None:
        newest = client.releases([identity])[identity][-1:]
        example = f", for example {identity}@{newest[0].version}" if newest else ""
        hint = f"Write it after the item{example}. `rye info {identity}` lists its versions."
        raise UsageError("no-version", "No version was given.", hint)
    record = next((r for r in client.releases([identity])[identity] if r.version == version), None)
    if record is None:
        raise RyeError(
            "no-such-version", f"{identity} has no version {version}.", f"`rye info {identity}` lists its versions."
        )
    return record
