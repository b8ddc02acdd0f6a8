"""Which items of a project are meant, and which of them have a version that is not published yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rye.errors import RyeError, UsageError
from rye.items.identity import Identity
from rye.project.context import arguments_or_own_items, read_options
from rye.publishing.collect import Collected, collect
from rye.publishing.release import Publishable
from rye.registry.protocol.statements import Release
from rye.signing.sign_item import unsigned_text
from rye.signing.signature_line import layout_of, text_of
from rye.storage.atomic import Replacement, replace_files
from rye.workspace.publishing.batch import PublishRequest, Records, Refusals
from rye.workspace.registries.registry_access import project_manifest

if TYPE_CHECKING:
    from rye.project.declared_sources import Source
    from rye.registry.client import RegistryClient
    from rye.workspace.context import Context


_NEEDING = frozenset({"depends_on", "requires", "conflicts_with"})


def choose(context: Context, request: PublishRequest, namespace: str) -> Collected:
    """Return the items, and those that cannot be published with the reason. Raises UsageError ``no-version``."""
    found = arguments_or_own_items(context.cwd, request.paths)
    collected = collect(
        ((entry.path, entry.shown) for entry in found),
        namespace,
        read_options(context.cwd, publishing=True),
        request.version,
        leave_out_unversioned=not request.paths,
    )
    left_out = collected.without_version
    if left_out:
        more = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        hint = f"Give one: `rye publish {left_out[0]} --version 1.0.0`."
        if not collected.items and not collected.refused:
            raise UsageError("no-version", f"{left_out[0]}{more} {'have' if more else 'has'} no version.", hint)
        context.warn(f"Skipped {left_out[0]}{more}: no version.", hint)
    manifest = project_manifest(context)
    if manifest is None or not manifest.sources:
        return collected
    refusals, left = Refusals(collected.refused), list[Publishable]()
    for item in collected.items:
        with refusals.of(item, left):
            _refuse_needs_of_sources(manifest.sources, item)
    return replace(collected, items=tuple(left), refused=tuple(refusals.refused))


def _refuse_needs_of_sources(sources: Mapping[str, Source], item: Publishable) -> None:
    """Refuse an item that needs an item from ``[sources]``, which no other project has. Raises RyeError ``needs-a-source``."""
    for dependency in item.metadata.dependencies:
        name, slash, _ = dependency.reference.rpartition(":")[2].partition("/")
        if dependency.relation in _NEEDING and slash and name in sources:
            raise RyeError(
                "needs-a-source",
                f"{item.shown} has {dependency.relation} {dependency.reference}, which comes from [sources] of rye.toml: "
                f"{sources[name].spec}. People who install it from a registry do not have that source.",
                "Publish that item as well and name the published one, or remove the relation.",
            )


def new_versions(
    client: RegistryClient,
    records: Records,
    items: Sequence[Publishable],
    refusals: Refusals,
    *,
    restore: bool,
) -> tuple[list[Publishable], list[Publishable], tuple[str, ...]]:
    """The items with a new version, those already published with the same bytes, and the files that were restored.

    A published version with other bytes is a refusal: ``signature-differs`` if only the signature is another, otherwise
    ``version-exists``. ``restore``: write the registry's bytes where only the signature is another.
    """
    published = {
        item.identity: known.release
        for item in items
        for known in records[item.identity]
        if known.version == item.version
    }
    differing = [item for item in items if item.identity in published and not _same(published[item.identity], item)]
    signed_otherwise = _signed_otherwise(client, published, differing)
    restored: list[Replacement] = []
    if restore:
        restored = [
            Replacement(item.path.resolve(), item.shown, item.data, signed_otherwise[item.identity])
            for item in differing
            if item.identity in signed_otherwise
        ]
        replace_files(restored)
        differing = [item for item in differing if item.identity not in signed_otherwise]
    refused = {item.identity for item in differing}
    fresh: list[Publishable] = []
    unchanged: list[Publishable] = []
    for item in items:
        with refusals.of(item, unchanged if item.identity in published else fresh):
            if item.identity in refused:
                raise _version_exists(item, only_signature=item.identity in signed_otherwise)
    return fresh, unchanged, tuple(change.shown for change in restored)


def _same(release: Release, item: Publishable) -> bool:
    return release.file.sha256 == sha256(item.data).hexdigest() and _same_attached(release, item)


def _same_attached(release: Release, item: Publishable) -> bool:
    there = {(entry.path, entry.sha256, entry.executable) for entry in release.attached}
    here = {(entry.path, sha256(entry.data).hexdigest(), entry.executable) for entry in item.attached}
    return there == here


def _signed_otherwise(
    client: RegistryClient, published: Mapping[Identity, Release], items: Sequence[Publishable]
) -> dict[Identity, bytes]:
    """The published file of each item of which only the signature line is another."""
    alike = [item for item in items if _same_attached(published[item.identity], item)]
    files = {item.identity: published[item.identity].file for item in alike}
    try:
        blobs = client.fetch_blobs((file.sha256, file.size) for file in files.values())
    except RyeError:
        return {}  # taken down, or not to be had now: then the version exists, and that is all that can be said
    files_by_identity: dict[Identity, bytes] = {}
    for item in alike:
        data = blobs[files[item.identity].sha256]
        layout = layout_of(item.identity.kind, item.path.name)
        if unsigned_text(text_of(data), layout) == unsigned_text(text_of(item.data), layout):
            files_by_identity[item.identity] = data
    return files_by_identity


def _version_exists(item: Publishable, *, only_signature: bool) -> RyeError:
    if only_signature:
        return RyeError(
            "signature-differs",
            f"{item.identity} {item.version} is already published with the same text and another signature.",
            f"`rye publish {item.shown} --restore` takes back the published signature. The version need not change.",
        )
    return RyeError(
        "version-exists",
        f"{item.identity} {item.version} is already published with different bytes. A version cannot be reused.",
        f"Raise it with `rye version bump patch {item.shown}`, then sign the item again, and publish."
        if item.metadata.version is not None
        else f"Give a higher version: `rye publish {item.shown} --version X.Y.Z`.",
    )
