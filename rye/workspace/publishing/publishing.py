"""Publishing: find a project's new items, check them, and send them to the log as one signed batch.

What cannot be published is left out with the reason, and what needs it as well; the others are published. A batch that was
interrupted goes on where it ended: what is published already is unchanged.

Every check runs before anything is uploaded, so a dry run fails wherever a publish would: the keyset and the user's key,
git, signatures, references, look-alike names, and the acceptance check that the server and every client use
(:mod:`rye.registry.trust.file_acceptance`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from rye.describing.words import some
from rye.errors import RyeError, UsageError
from rye.items.identity import Identity, fold, lookup_key
from rye.items.named import ItemNames
from rye.items.placeholder_text import placeholder_text
from rye.items.reading import ReadOptions
from rye.limits import PUBLISHING, REGISTRY
from rye.project.context import arguments_or_own_items, load_manifest, read_options
from rye.project.layout import find_project
from rye.publishing.collect import Collected, RefusedItem, collect
from rye.publishing.look_alikes import NameIndex
from rye.publishing.release import Publishable, check_signature, dependencies_first, refuse_secrets, release_note
from rye.publishing.working_tree import uncommitted
from rye.registry.protocol import notes
from rye.registry.protocol.derivation import candidates
from rye.registry.protocol.statements import Keyset, Release
from rye.registry.transport.api import ApiError, RegistryApi
from rye.registry.trust.file_acceptance import Refusal, judge_release_file
from rye.registry.trust.records import ReleaseRecord
from rye.resolution.versions import Version
from rye.signing.keys import PublicKey
from rye.signing.sign_item import unsigned_text
from rye.signing.signature_line import layout_of, text_of
from rye.storage.atomic import Replacement, replace_files
from rye.workspace.items.absences import present_items
from rye.workspace.publishing.owner_statements import (
    keyset_in_force,
    owner_key,
    owner_signer,
    require_owner,
    statement_time,
)
from rye.workspace.registries.item_info import page_address
from rye.workspace.registries.registry_access import (
    configured,
    namespace_of,
    open_api,
    open_registry,
    project_manifest,
)
from rye.workspace.registries.trusted_publishing import publishing_token

if TYPE_CHECKING:
    from rye.project.declared_sources import Source
    from rye.project.registries import Registries
    from rye.registry.client import RegistryClient
    from rye.signing.signing_key import SigningKey
    from rye.text.facts import Fact
    from rye.workspace.context import Context
    from rye.workspace.trusting.own_keys import OwnKeys


class PublishRequest(Struct, frozen=True, kw_only=True):
    """What to publish. Without ``paths``: every item of the project with a new version."""

    paths: tuple[str, ...] = ()
    namespace: str | None = None
    version: str | None = None
    """For items whose format has no version."""
    key: str | None = None
    dry_run: bool = False
    allow_uncommitted: bool = False
    stage: bool = False
    """Upload for a maintainer to sign, instead of signing and publishing now."""
    trusted: bool = False
    """Use the build server's identity instead of a stored token."""
    restore: bool = False
    """First take back the registry's bytes of files of which only the signature differs."""


class Batch(Struct, frozen=True, kw_only=True):
    """What would be published, dependencies first."""

    origin: str
    releases: tuple[Release, ...]
    items: tuple[Publishable, ...]
    """The item of each release, in the same order."""
    alarms: tuple[tuple[Fact, ...], ...]
    """Of the texts of each release, in the same order."""
    unchanged: tuple[Publishable, ...]
    """Already published with the same bytes."""
    refused: tuple[RefusedItem, ...] = ()
    """Left out."""
    restored: tuple[str, ...] = ()
    """The files that have the published signature again, as a person sees their paths."""
    registry: str = ""
    """The registry's address."""

    def page_of(self, release: Release) -> str | None:
        """The address of a release's page; None for a registry without pages."""
        return page_address(self.registry, release.identity, release.version)


class PublishOutcome(Struct, frozen=True):
    """The result of publishing or staging a batch."""

    batch: Batch
    positions: tuple[int, ...] | None
    """The log position of each release; None: nothing was published."""
    stages: tuple[str, ...] | None = None
    """The stage of each release; None: nothing was staged."""


def publish(
    context: Context, keys: OwnKeys, request: PublishRequest, agreed: Callable[[Batch], bool]
) -> PublishOutcome:
    """Publish items as one batch, without those that cannot be. ``agreed`` gets the batch before anything is sent.

    Raises RyeError, among them ``declined`` and ``uncommitted``; if nothing is left to publish, the first item's error, such as
    ``not-signed``, ``version-exists``, ``name-look-alike``.
    """
    owner = namespace_of(context, request.namespace)
    collected = _chosen(context, request, owner)
    where = configured(context)
    address = where.of(owner)
    token = publishing_token(context, address, demanded=request.trusted)
    with open_registry(context, address, token=None if token is None else (lambda: token), writes=True) as client:
        api = partial(_api, context, client, token)
        keyset = keyset_in_force(context, client, owner)
        refusals = _Refusals(collected.refused)
        records = client.releases([item.identity for item in collected.items])
        restore = request.restore and not request.dry_run
        fresh, unchanged, restored = _new_versions(client, records, collected.items, refusals, restore=restore)
        if not request.allow_uncommitted:
            _refuse_uncommitted(fresh)
        fresh = _with_free_names(context, client, fresh, refusals)
        batch = _batch(context, keys, where, client, keyset, fresh, unchanged, refusals)
        batch = replace(batch, restored=restored, registry=address)
        if not batch.releases and not unchanged:
            refusals.end(context)
        _warn_of_placeholders(context, batch.items)
        _warn_of_absent(context, batch.items)
        _warn_of_lower(context, records, batch.items)
        if batch.releases:
            if not request.stage:
                _require_single_signature(keyset)
                _require_key(keys, keyset, request.key, api)
            _check_token(api(), owner, stage=request.stage)
        if not agreed(batch):
            raise RyeError("declined", "Nothing was published.")
        if request.dry_run or not batch.releases:
            return PublishOutcome(batch, None)
        if request.stage:
            return PublishOutcome(batch, None, _stage(context, api(), batch))
        signing_key = owner_key(keys, keyset, request.key)
        batch, positions = _send(context, api(), batch, signing_key)
        _check_logged(client, batch.releases)
    return PublishOutcome(batch, positions)


class _Refusals:
    """The items that are left out of a batch."""

    def __init__(self, refused: Iterable[RefusedItem]) -> None:
        self.refused = list(refused)

    @contextmanager
    def of(self, item: Publishable, left: list[Publishable]) -> Iterator[None]:
        """Leave the item out on an error, or else put it among what is ``left``."""
        try:
            yield
        except ApiError:
            raise
        except RyeError as error:
            self.refused.append(RefusedItem(item.shown, error))
        else:
            left.append(item)

    def end(self, context: Context) -> None:
        """Raise the first error, where nothing is left to publish, and tell the others: those for the same reason by name."""
        if not self.refused:
            return
        first = self.refused[0].error
        alike = [other.shown for other in self.refused if other.error.code == first.code][1:]
        if alike:
            context.warn(f"{some(alike)} cannot be published either ({first.code}).")
        for other in self.refused:
            if other.error.code != first.code:
                said = other.error.message
                context.warn(said if said.startswith(other.shown) else f"{other.shown}: {said}", other.error.hint)
        raise first


_Records = Mapping[Identity, Sequence[ReleaseRecord]]
"""The published versions of each item."""
_NEEDING = frozenset({"depends_on", "requires", "conflicts_with"})


# -- what to publish ------------------------------------------------------------------------------------------------------


def _chosen(context: Context, request: PublishRequest, namespace: str) -> Collected:
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
    refusals, left = _Refusals(collected.refused), list[Publishable]()
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


def _warn_of_placeholders(context: Context, items: Iterable[Publishable]) -> None:
    """Warn of text that a template left behind: a published version is permanent."""
    for item in items:
        for found in placeholder_text(item.data.decode("utf-8", "replace")):
            context.warn(f"{item.shown}:{found.line}: {found.message}", found.hint)


def _warn_of_absent(context: Context, items: Sequence[Publishable]) -> None:
    """Warn of what the texts name and do not depend on: it is not there for whoever adds the item, even if it is here."""
    project = find_project(context.cwd)
    if project is None:
        return
    manifest, here = load_manifest(project), present_items(context, project)
    for item in items:
        own = item.identity
        meant = [one for each in item.metadata.dependencies for one in candidates(own, each.reference)]
        declared = [f"{one.kind}:{name}" for one in meant for name in (one.id, one.id.rpartition("/")[2])]
        brought = ItemNames([(own.kind, own.id, own.local_id)], (*declared, *manifest.provides))
        for absent in (one.within(own.namespace) for one in brought.lacks(item.metadata.names)):
            place = item.shown if absent.line is None else f"{item.shown}:{absent.line}"
            if here.lacks([absent]):
                context.warn(f"{place}: This item {absent.message}", absent.hint)
            else:
                context.warn(
                    f"{place}: This item {absent.verb} {absent.name} and does not depend on it, so others lack it.",
                    f"Declare the relation `depends_on` {absent.name} in the item, or publish a bundle of both.",
                )


def _warn_of_lower(context: Context, records: _Records, items: Sequence[Publishable]) -> None:
    """Warn of versions that nobody gets who asks for the newest."""
    for item in items:
        newest = max((Version.parse(known.version) for known in records[item.identity]), default=None)
        if newest is not None and Version.parse(item.version) < newest:
            context.warn(
                f"{item.identity}: {item.version} is lower than {newest}, which is published already.",
                "Only those who ask for it get it. If you meant a newer one: `rye version bump patch`.",
            )


def _new_versions(
    client: RegistryClient,
    records: _Records,
    items: Sequence[Publishable],
    refusals: _Refusals,
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


# -- whether it may be published ------------------------------------------------------------------------------------------


def _batch(
    context: Context,
    keys: OwnKeys,
    where: Registries,
    client: RegistryClient,
    keyset: Keyset,
    fresh: Sequence[Publishable],
    unchanged: Sequence[Publishable],
    refusals: _Refusals,
) -> Batch:
    owners = keyset.accepted_keys()
    own = {stored.public: stored.name for stored in keys.list()}
    now = statement_time(context)
    checked: set[Identity] = set()
    with context.progress("checking", len(fresh)) as advance:
        while True:  # until what is left needs nothing that was left out
            resolve = _resolver(context, where, client, fresh)
            notes_by_identity: dict[Identity, Release] = {}
            left: list[Publishable] = []
            for item in fresh:
                with refusals.of(item, left):
                    if item.identity not in checked:
                        check_signature(item, owners, own)
                    note = release_note(item, client.origin, keyset.number, now, resolve)
                    if item.identity not in checked:
                        _judge(note, item, owners)
                        refuse_secrets(item)
                        checked.add(item.identity)
                        advance()
                    notes_by_identity[item.identity] = note
            if len(left) == len(fresh):
                break
            fresh = left
    releases = dependencies_first(list(notes_by_identity.values()))
    by_identity = {item.identity: item for item in fresh}
    items = tuple(by_identity[release.identity] for release in releases)
    return Batch(
        origin=client.origin,
        releases=tuple(releases),
        items=items,
        alarms=tuple(item.alarms for item in items),
        unchanged=tuple(unchanged),
        refused=tuple(refusals.refused),
    )


def _judge(release: Release, item: Publishable, owners: Sequence[PublicKey]) -> None:
    """Refuse, before the upload, what the server and every client would refuse. Raises RyeError ``invalid-item``."""
    found = judge_release_file(release, item.data, owners, ReadOptions(publishing=True))
    if isinstance(found, Refusal):
        reason = found.reason.rstrip(".")
        hint = found.finding.hint if found.finding is not None else None
        raise RyeError(
            "invalid-item", f"{item.shown} cannot be published: {reason}.", hint or f"Run `rye validate {item.shown}`."
        )


def _api(context: Context, client: RegistryClient, token: str | None) -> RegistryApi:
    """The API with the build server's token, if there is one; otherwise with the user's."""
    return open_api(context, client) if token is None else RegistryApi(client.address, client.api, token)


def _require_key(keys: OwnKeys, keyset: Keyset, name: str | None, api: Callable[[], RegistryApi]) -> None:
    """Require a key of the namespace. Who has no key at all, but a token that may stage, is told to stage.

    Raises RyeError ``no-key`` and ``not-an-owner``.
    """
    try:
        require_owner(keys, keyset, name)
    except RyeError as error:
        if error.code != "no-key" or keys.list():
            raise
        try:
            scopes = api().whoami().scopes
        except RyeError:  # what is missing first is the key
            raise error from None
        if "stage" not in scopes:
            raise
        stage = "`rye publish --stage` uploads it for a maintainer to sign."
        hint = f"{error.hint} Without one, {stage}" if "publish" in scopes else f"Your token can stage: {stage}"
        raise RyeError(error.code, error.message, hint) from None


def _check_token(api: RegistryApi, namespace: str, *, stage: bool) -> None:
    """Check that the token may publish here. Raises RyeError ``insufficient-scope`` and ``wrong-namespace``."""
    account = api.whoami()
    if account.scopes and not stage and "publish" not in account.scopes:
        hint = "Stage it for a maintainer to sign: `rye publish --stage`." if "stage" in account.scopes else None
        message = f"Your token {account.name} cannot publish: its scopes are {', '.join(account.scopes)}."
        raise RyeError(
            "insufficient-scope", message, hint or "Ask the registry's operator for a token with the scope publish."
        )
    if account.namespaces and namespace not in account.namespaces:
        raise RyeError(
            "wrong-namespace",
            f"Your token {account.name} is for {', '.join(account.namespaces)}, not for {namespace}.",
            f"Ask the registry's operator for a token: `rye-registry token create NAME --namespace {namespace}`.",
        )


def _refuse_uncommitted(items: Sequence[Publishable]) -> None:
    by_folder: dict[Path, list[Path]] = {}
    for item in items:
        by_folder.setdefault(_checkout(item.path), []).extend(item.paths)
    changed = [name for folder, paths in by_folder.items() for name in uncommitted(paths, folder)]
    if changed:
        raise RyeError(
            "uncommitted",
            f"{changed[0]} is not committed{_nor(len(changed) - 1)}.",
            "Commit it, so that the release can be traced to a commit, or pass --allow-uncommitted.",
        )


def _nor(more: int) -> str:
    return "" if not more else ", nor is 1 more file" if more == 1 else f", nor are {more} more files"


def _checkout(path: Path) -> Path:
    """The folder to run git in: the nearest parent with a ``.git``, so that one call covers a whole project."""
    for folder in path.absolute().parents:
        if (folder / ".git").exists():
            return folder
    return path.absolute().parent


def _with_free_names(
    context: Context, client: RegistryClient, items: Sequence[Publishable], refusals: _Refusals
) -> list[Publishable]:
    """Compare names that are new in the registry with the names there, and return the items whose names are free.

    A name that folds to a taken one is refused, as the server would refuse it (DESIGN 5 Names): ``name-look-alike``. A similar
    name gives a warning.
    """
    records = client.releases([item.identity for item in items])
    left = [item for item in items if records[item.identity]]
    new = [item for item in items if not records[item.identity]]
    if not new:
        return left
    names = client.names() or ()  # with too many names to list, only the server refuses look-alikes
    taken = {(name.kind, fold(name.id)): name for name in names}
    index = NameIndex(names)
    for item in new:
        identity = item.identity
        with refusals.of(item, left):
            other = taken.setdefault((identity.kind, fold(identity.id)), identity)
            if other != identity:
                raise RyeError(
                    "name-look-alike",
                    f"{identity} looks like {other}, which is taken. Names are compared without `._-`; `l`, `i` read as 1, `o` "
                    "as 0.",
                    "Choose a name that people cannot confuse with it.",
                )
        near = index.near(identity)
        if near:
            context.warn(
                f"{identity} is similar to {', '.join(map(str, near[:3]))}: people may confuse them.",
                "Choose another name unless you mean this one: a published name is permanent.",
            )
    return left


# -- resolving references --------------------------------------------------------------------------------------------


def _resolver(
    context: Context, where: Registries, client: RegistryClient, items: Sequence[Publishable]
) -> Callable[[tuple[Identity, ...]], Identity | None]:
    """A function that resolves references: in the batch, then in each namespace's registry, with one request per namespace."""
    batch = {(item.identity.kind, lookup_key(item.identity.id)): item.identity for item in items}
    wanted: dict[str, set[str]] = {}
    for item in items:
        for dependency in item.metadata.dependencies:
            for candidate in candidates(item.identity, dependency.reference):
                spellings = {candidate.id, candidate.id.replace("-", "_"), candidate.id.replace("_", "-")}
                wanted.setdefault(candidate.namespace, set()).update(spellings)
    identities: dict[tuple[str, str], Identity] = {}
    for namespace, ids in wanted.items():
        identities.update(_known(context, where, client, namespace, sorted(ids)))

    def resolve(options: tuple[Identity, ...]) -> Identity | None:
        for option in options:
            key = (option.kind, lookup_key(option.id))
            if key in batch or key in identities:
                return batch.get(key) or identities[key]
        return None

    return resolve


def _known(
    context: Context, where: Registries, client: RegistryClient, namespace: str, ids: list[str]
) -> dict[tuple[str, str], Identity]:
    address = where.by_namespace.get(namespace, where.default)
    if address is None:
        return {}
    if address == client.address:
        kinds = client.kinds_of(ids)
    else:
        with open_registry(context, address, writes=True) as other:
            kinds = other.kinds_of(ids)
    return {(kind, lookup_key(one)): Identity(kind, one) for one, found in kinds.items() for kind in found}


def _require_single_signature(keyset: Keyset) -> None:
    """Require that one signature is enough for a release. Raises RyeError ``more-signatures-needed``."""
    if keyset.release_threshold > 1:
        raise RyeError(
            "more-signatures-needed",
            f"A release of {keyset.namespace!r} needs the signatures of {keyset.release_threshold} maintainers.",
            "Stage it with `rye publish --stage`. Each maintainer then runs `rye stage approve`.",
        )


def _stage(context: Context, api: RegistryApi, batch: Batch) -> tuple[str, ...]:
    """Upload the bytes and the notes for maintainers to sign. Return the stage of each release."""
    _upload(context, api, batch.items)
    drafts = [release.text() for release in batch.releases]
    addresses: list[str] = []
    for start in range(0, len(drafts), PUBLISHING.request_statements):
        addresses += [row.id for row in api.post_stages(drafts[start : start + PUBLISHING.request_statements]).stages]
    return tuple(addresses)


# -- into the log ---------------------------------------------------------------------------------------------------------


def _send(context: Context, api: RegistryApi, batch: Batch, signing_key: SigningKey) -> tuple[Batch, tuple[int, ...]]:
    """Log the releases, in requests no larger than the server accepts. Small files are sent in the same requests. Return the
    batch that was logged, and the position of each of its releases.

    Dependencies come first, so every request is complete by itself. If one fails, the earlier ones stay logged, and
    publishing again continues from there. A request that the server refuses for what it says is sent in halves, until the item
    that it refuses stands alone and is left out.
    """
    signed = [
        notes.sign(release.text(), [owner_signer(release.origin, release.identity.namespace, signing_key)]).encode()
        for release in batch.releases
    ]
    small = [item if item.size <= PUBLISHING.inline_item_bytes else None for item in batch.items]
    _upload(context, api, [item for item, inline in zip(batch.items, small, strict=True) if inline is None])
    positions: list[int | None] = []
    refused: list[RefusedItem] = []
    at_once = PUBLISHING.request_statements
    with context.progress("publishing", len(signed)) as advance:
        while (first := len(positions)) < len(signed):
            along = _fitting(small[first : first + at_once])
            part = signed[first : first + len(along)]
            files = {sha256: data for item in along if item is not None for sha256, data in item.blobs.items()}
            try:
                answer = api.post_statements(part, list(files.values()))
            except ApiError as error:
                if error.status in _ABOUT_THE_ITEMS:
                    if len(signed) == 1:
                        raise
                    if len(part) == 1:
                        refused.append(RefusedItem(batch.items[first].shown, error))
                        positions.append(None)
                    at_once = max(1, len(part) // 2)
                    continue
                if error.code != "request-too-large" or (len(part) == 1 and not files):
                    raise
                if files:
                    _upload(context, api, [item for item in small[first:] if item is not None])
                    small = [None] * len(signed)
                else:
                    at_once = (len(part) + 1) // 2
                continue
            positions.extend(result.log for result in answer.results)
            advance(len(part))
            if refused:
                at_once = min(2 * at_once, PUBLISHING.request_statements)
    if len(refused) == len(signed):
        raise refused[0].error
    logged = [index for index, position in enumerate(positions) if position is not None]
    sent = replace(
        batch,
        releases=tuple(batch.releases[index] for index in logged),
        items=tuple(batch.items[index] for index in logged),
        alarms=tuple(batch.alarms[index] for index in logged),
        refused=(*batch.refused, *refused),
    )
    return sent, tuple(position for position in positions if position is not None)


_ABOUT_THE_ITEMS = frozenset((400, 409, 422))
"""Status of answers that refuse what was sent, rather than who sent it, when, or how much."""


def _fitting(items: Sequence[Publishable | None]) -> Sequence[Publishable | None]:
    """The leading items whose files fit into one request. None is an item whose files were uploaded separately."""
    total = 0
    for count, item in enumerate(items):
        total += item.size if item is not None else 0
        if total > PUBLISHING.inline_bytes:
            return items[:count]
    return items


def _upload(context: Context, api: RegistryApi, items: Iterable[Publishable]) -> None:
    blobs = {sha256: data for item in items for sha256, data in item.blobs.items()}
    if not blobs:
        return
    with context.progress("uploading", len(blobs)) as advance, ThreadPoolExecutor(REGISTRY.concurrency) as pool:

        def put(entry: tuple[str, bytes]) -> None:
            api.put_blob(*entry)
            advance()

        try:
            list(pool.map(put, blobs.items()))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _check_logged(client: RegistryClient, releases: Sequence[Release]) -> None:
    """Read the releases back, with proofs that they are in the log. Raises RyeError ``not-in-log``."""
    client.refresh()
    records = client.releases([release.identity for release in releases])
    logged = [
        record
        for release in releases
        for record in records[release.identity]
        if record.version == release.version and record.release.file == release.file
    ]
    if len(logged) != len(releases):
        raise RyeError(
            "not-in-log",
            "The registry accepted the releases, but they are not in the registry's log.",
            "Do not rely on them. `rye log verify` checks the registry.",
        )
    client.check_logged(logged)
