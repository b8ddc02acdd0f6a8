"""The front door: what other programs may import of Rye. ``docs/reference/api.md`` has an example of each name.

``docs/reference/versions.md`` promises the names in ``__all__``, their parameters, and the attributes that the page lists. Every
other module of ``rye`` and ``registry_server`` is private and changes at any time.

Each name is loaded on first use (PEP 562), so importing this module costs nothing. Functions raise :class:`RyeError`, print
nothing and ask no one: what a person would be asked is refused.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from rye.errors import RyeError
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

    from rye.installation import resolving, sources
    from rye.items import identity
    from rye.items.directive.model import Directive
    from rye.items.identity import Identity
    from rye.project import item_file, lock, lock_file, manifest
    from rye.project import registries as project_registries
    from rye.project.item_file import ItemFile as Item
    from rye.project.layout import Project
    from rye.project.lock import Lock, LockedItem
    from rye.registry.client import RegistryClient
    from rye.registry.store import state
    from rye.registry.trust import records
    from rye.registry.trust.records import ReleaseRecord as Release
    from rye.signing import keys as signing_keys
    from rye.signing import verification
    from rye.signing.keys import PublicKey
    from rye.signing.verification import Verification
    from rye.storage import home as homes
    from rye.storage import verdicts as remembered
    from rye.storage.home import Home
    from rye.verified import release as release_checks
    from rye.verified.release import VerifiedItem
    from rye.workspace import context as contexts
    from rye.workspace.context import LibraryContext
    from rye.workspace.items import agreement, rendering
    from rye.workspace.items import effective_item as effective_items
    from rye.workspace.items.effective_item import EffectiveItem
    from rye.workspace.items.rendered import Rendered
    from rye.workspace.registries import log_audit, pinning, published_items, registry_access
    from rye.workspace.registries.log_audit import ReleaseProof
else:
    agreement = lazy_module("rye.workspace.items.agreement")
    contexts = lazy_module("rye.workspace.context")
    effective_items = lazy_module("rye.workspace.items.effective_item")
    homes = lazy_module("rye.storage.home")
    identity = lazy_module("rye.items.identity")
    item_file = lazy_module("rye.project.item_file")
    lock = lazy_module("rye.project.lock")
    lock_file = lazy_module("rye.project.lock_file")
    log_audit = lazy_module("rye.workspace.registries.log_audit")
    manifest = lazy_module("rye.project.manifest")
    pinning = lazy_module("rye.workspace.registries.pinning")
    project_registries = lazy_module("rye.project.registries")
    published_items = lazy_module("rye.workspace.registries.published_items")
    records = lazy_module("rye.registry.trust.records")
    registry_access = lazy_module("rye.workspace.registries.registry_access")
    release_checks = lazy_module("rye.verified.release")
    remembered = lazy_module("rye.storage.verdicts")
    rendering = lazy_module("rye.workspace.items.rendering")
    resolving = lazy_module("rye.installation.resolving")
    signing_keys = lazy_module("rye.signing.keys")
    sources = lazy_module("rye.installation.sources")
    state = lazy_module("rye.registry.store.state")
    verification = lazy_module("rye.signing.verification")

    _DEFINED_ELSEWHERE = {
        "Directive": ("rye.items.directive.model", "Directive"),
        "EffectiveItem": ("rye.workspace.items.effective_item", "EffectiveItem"),
        "Home": ("rye.storage.home", "Home"),
        "Item": ("rye.project.item_file", "ItemFile"),
        "Lock": ("rye.project.lock", "Lock"),
        "LockedItem": ("rye.project.lock", "LockedItem"),
        "Project": ("rye.project.layout", "Project"),
        "PublicKey": ("rye.signing.keys", "PublicKey"),
        "Release": ("rye.registry.trust.records", "ReleaseRecord"),
        "ReleaseProof": ("rye.workspace.registries.log_audit", "ReleaseProof"),
        "Rendered": ("rye.workspace.items.rendered", "Rendered"),
        "Verification": ("rye.signing.verification", "Verification"),
        "VerifiedItem": ("rye.verified.release", "VerifiedItem"),
    }

    def __getattr__(name):
        if name not in _DEFINED_ELSEWHERE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, attribute = _DEFINED_ELSEWHERE[name]
        globals()[name] = value = getattr(import_module(module), attribute)
        return value

    def __dir__():
        return sorted(__all__)


__all__ = [
    "Directive",
    "EffectiveItem",
    "Home",
    "Item",
    "Lock",
    "LockedItem",
    "Project",
    "PublicKey",
    "Registry",
    "Release",
    "ReleaseProof",
    "Rendered",
    "RyeError",
    "Verification",
    "VerifiedItem",
    "effective_item",
    "parse_item",
    "read_lock",
    "render",
    "resolve",
    "verify_file",
]


def read_lock(path: str | os.PathLike[str]) -> Lock:
    """The content of a ``rye.lock``. Raises RyeError if it is missing, too large or damaged."""
    return lock_file.read_lock_at(Path(path))


def parse_item(data: bytes, path: str | os.PathLike[str], kind: str | None = None) -> Item:
    """Parse an item's file. ``path``: where it is or would be, which tells its kind; ``kind``: read it as this kind instead.

    Only files that belong to it, such as a skill's, are read from disk. A file that breaks a rule raises nothing: look at
    ``reading.ok`` and ``reading.diagnostics``. Raises RyeError ``unknown-kind-of-file``.
    """
    return item_file.item_of(Path(path), data, str(path), kind=kind)


def verify_file(data: bytes, keys: Iterable[PublicKey | str], path: str | os.PathLike[str] = "item.md") -> Verification:
    """Check the signature in an item's file. ``keys``: whose signatures count, as keys or PEM texts. ``path``: its path or
    name, which tells the place of the signature line.

    The result's ``ok`` is true only if one of the keys signed exactly these bytes; ``verdict`` and ``detail`` say why not.
    Broken content raises nothing. Raises RyeError ``bad-key`` for a text that is no key, and ``unknown-kind-of-file`` if
    neither the path nor the content tells the kind.
    """
    trusted = [signing_keys.read_pem(key) if isinstance(key, str) else key for key in keys]
    item = parse_item(data, path)
    return verification.verify(data, item.kind.name, item.path.name, trusted)


class Registry:
    """A registry that this user pinned, at a verified head. A context manager: at the end of the block it stores what it came
    to trust, so that the registry can never show an older state or another history. Create it with :meth:`open`."""

    def __init__(self, context: LibraryContext, client: RegistryClient, opened: ExitStack) -> None:
        self._context = context
        self._client = client
        self._opened = opened

    @classmethod
    def open(cls, address: str, home: Home, *, fingerprint: str | None = None, offline: bool = False) -> Registry:
        """Open the registry at an address. It must be pinned in ``home``, or its root must have ``fingerprint``, which pins it:
        get the fingerprint from its operator, not from the registry. ``offline``: use only what ``home`` has.

        Raises RyeError ``registry-unpinned``, ``root-fingerprint`` for another registry, and what the network or a registry
        that breaks a rule leads to.
        """
        context = contexts.LibraryContext(cwd=Path.cwd(), home=home, offline=offline)
        where = project_registries.normal_address(address, context.cwd)
        pinning.require_fingerprint(fingerprint)
        if fingerprint is None and state.StateStore(home.registries).origin_at(where) is None:
            raise RyeError(
                "registry-unpinned",
                f"The registry {where} is not pinned, so it was not contacted.",
                "Pass the fingerprint that its operator publishes, or run `rye registry add` first.",
                details={"address": where},
            )
        opened = ExitStack()
        client = opened.enter_context(
            registry_access.open_registry(context, where, fingerprint=fingerprint, named=True)
        )
        return cls(context, client, opened)

    def __enter__(self) -> Registry:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.__exit__(kind, error, trace)

    def close(self) -> None:
        """Store what the registry came to be trusted with, and close its connections."""
        self._opened.close()

    @property
    def origin(self) -> str:
        """The registry's name, which is in everything that it signs."""
        return self._client.origin

    def releases(self, id: str) -> tuple[Release, ...]:
        """The releases of ``[kind:]id``, in the order of the log, withdrawn ones included (``is_withdrawn``). The signatures
        of their notes were verified against the keys of their namespace; :meth:`fetch` also proves that they are in the log.

        Raises RyeError ``no-such-item``, ``ambiguous``.
        """
        named, _ = published_items.published(self._client, id)
        return self._client.releases([named])[named]

    def fetch(self, release: Release) -> VerifiedItem:
        """The files of a release, after every check of an installation: the note's signature, its place in the log, the hash
        of each file, the signature in its own file, and its format. A revoked or taken-down release is refused.

        Raises RyeError.
        """
        [files] = sources.fetch_logged(self._client, [self._own(release.identity, release.version)])
        return release_checks.verify_files(files, (), ())

    def prove(self, release: Release) -> ReleaseProof:
        """The proof that a release is in the log, which anyone can check without the registry: ``text`` is a C2SP tlog-proof.

        Raises RyeError.
        """
        return log_audit.proof_of(self._client, self._own(release.identity, release.version))

    def _own(self, item: Identity, version: str) -> Release:
        """The release as this registry states it, whoever made the value that the caller has."""
        return published_items.published_release(self._client, f"{item}@{version}")


def resolve(requirements: Mapping[str, str], registry: Registry) -> dict[str, Release]:
    """Choose one release for each required item and for all that they depend on, by ``kind:id``. ``requirements``: ranges by
    ``[kind:]id``, as in ``[dependencies]`` of rye.toml.

    The policies of the registry's home count, and those of the organization. Raises RyeError ``unsolvable`` with the reasons,
    ``no-such-item``, ``bad-range``.
    """
    references = [(identity.parse_reference(key), text) for key, text in requirements.items()]
    wanted = tuple(manifest.Requested(reference.id, reference.kind, text) for reference, text in references)
    project = manifest.Manifest(dependencies=wanted)
    client, context = registry._client, registry._context
    source = sources.Sources(
        project_registries.Registries(client.address), lambda address: client, remembered.Verdicts(None)
    )
    environment = registry_access.judging_environment(context, project)
    chosen = resolving.resolve(project, lock.Lock(), source, environment, lock_file.Unlock.everything())
    return {
        str(item): choice.record
        for item, choice in sorted(chosen.items())
        if isinstance(choice.record, records.ReleaseRecord)
    }


def effective_item(project: Project, id: str, *, home: Home | None = None) -> EffectiveItem:
    """An item of a project as it is used: if it was installed, verified and agreed to; with overrides applied. ``id``:
    ``[kind:]id`` or a file's path below the project. ``home``: the user whose trust and overrides count; None: the one who runs
    the process.

    Raises RyeError if there is none, if it must not be used, or if consent is missing.
    """
    context = _context(project, home)
    item = effective_items.effective_item(context, id)
    agreement.require_agreed(context, item)
    return item


def render(
    project: Project, id: str, inputs: Mapping[str, object] | None = None, *, home: Home | None = None
) -> Rendered:
    """The prompt that an agent gets from an item of a project, with its inputs filled in. ``id`` and ``home`` are as for
    :func:`effective_item`; ``inputs``: JSON values by name.

    Raises RyeError as ``rye render`` does: for an item that must not be used, invalid inputs, missing consent.
    """
    return rendering.render(_context(project, home), rendering.RenderRequest(id, values=inputs or {}))


def _context(project: Project, home: Home | None) -> LibraryContext:
    return contexts.LibraryContext(cwd=project.root, home=home or homes.Home.from_environment(os.environ))
