"""What is asked to be published, the batch that it makes, and what is left out of that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.describing.words import some
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.publishing.collect import RefusedItem
from rye.publishing.release import Publishable
from rye.registry.protocol.statements import Release
from rye.registry.transport.api import ApiError
from rye.registry.trust.records import ReleaseRecord
from rye.workspace.registries.item_info import page_address

if TYPE_CHECKING:
    from rye.text.facts import Fact
    from rye.workspace.context import Context


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


class Refusals:
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


Records = Mapping[Identity, Sequence[ReleaseRecord]]
"""The published versions of each item."""
