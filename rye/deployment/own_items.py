"""The project's own items that are deployed like installed ones, forks and adopted ones among them.

A deploy puts a text where an agent program acts on it, so the rules are those for running own items: the item's file has a valid
signature by a key that this user trusts, and lies where it was signed for. No signature covers attached files, so this user has
agreed to their bytes (:mod:`rye.workspace.trusting.own_attached`), and to what changes the item, which policies allow as well.
An own item that is not like that is left out, with a note: it may be a draft, and it may have come with a commit.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from rye.consent.agreement import Agreement
from rye.customization.places import Places
from rye.deployment.items import DeployableItem, DeployedSource, deployable
from rye.deployment.selection import matches
from rye.errors import RyeError
from rye.items.identity import Identity, is_id
from rye.items.kinds import KINDS, NoPrompt
from rye.project.layout import Project
from rye.project.lock import Lock
from rye.project.manifest import Manifest
from rye.project.spaces import Entry, Spaces
from rye.project.user_config import read_other_policies
from rye.workspace.context import Context
from rye.workspace.items.agreement import require_agreed
from rye.workspace.items.effective_item import EffectiveItem, customized
from rye.workspace.items.item_tree import effective_tree
from rye.workspace.items.organization_rules import organizations_refusal
from rye.workspace.items.own_signatures import not_agreed_files, own_item, signer_of
from rye.workspace.trusting.project_keys import not_agreed_keys
from rye.workspace.trusting.trusted_keys import trusted_keys


class OwnItems(Struct, frozen=True):
    """The own items of a project that a deploy writes, and those that it leaves out."""

    items: tuple[DeployableItem, ...]
    left_out: tuple[tuple[Identity, str], ...]
    """Each with the reason, in words that follow its name."""
    broken: tuple[tuple[Identity, RyeError], ...]
    """Those that cannot be read, for example because of an invalid override."""

    @property
    def identities(self) -> tuple[Identity, ...]:
        """All of them."""
        others = (*(identity for identity, _ in self.left_out), *(identity for identity, _ in self.broken))
        return (*(item.identity for item in self.items), *others)


def own_entries(manifest: Manifest, lock: Lock, spaces: Spaces) -> Iterator[tuple[Identity, Entry]]:
    """The project's own items that rye.toml deploys: all, or those that ``include`` names. An installed item's id means the
    installed item (DESIGN 6.1)."""
    installed = {row.identity for row in lock.items}
    patterns = manifest.deploy.include
    for entry in spaces.entries_of("project"):
        identity = Identity(entry.location.kind, entry.id)
        if identity in installed or not is_id(entry.id) or isinstance(KINDS[identity.kind].prompt, NoPrompt):
            continue
        if patterns is None or matches(identity, patterns):
            yield identity, entry


def own_items(
    context: Context,
    project: Project,
    manifest: Manifest,
    lock: Lock,
    places: Places,
    spaces: Spaces,
    agreed: Agreement,
) -> OwnItems:
    """Read and check them. ``places``: the folders of the customizations to apply. ``agreed``: what this user agreed to in the
    project."""
    items: list[DeployableItem] = []
    left_out: list[tuple[Identity, str]] = []
    broken: list[tuple[Identity, RyeError]] = []
    others = read_other_policies(context.home, context.now())
    judge = _Judge(context, project, manifest, agreed)
    for identity, entry in own_entries(manifest, lock, spaces):
        try:
            published = own_item(context, entry, project, manifest)
            why = judge.refusal(published)
            if why is not None:
                left_out.append((identity, why))
                continue
            found = customized(context, published, manifest=manifest, places=places, spaces=spaces)
            why = organizations_refusal(context, others, found)
            if why is not None:
                left_out.append((identity, f"is not deployed, because your organization's policy refuses it: {why}"))
                continue
            require_agreed(context, found, manifest=manifest, agreed=agreed, others=others)
            source = DeployedSource(
                identity=identity,
                version=found.version() or "0.0.0",
                found=found,
                data=published.item.data,
                attached=effective_tree(context, found),
            )
            items.append(deployable(context, source, places, agreed, asked=True))
        except RyeError as error:
            broken.append((identity, error))
    return OwnItems(tuple(items), tuple(left_out), tuple(broken))


class _Judge:
    """Which own items may be deployed. Whom this user trusts is read once."""

    def __init__(self, context: Context, project: Project, manifest: Manifest, agreed: Agreement) -> None:
        self._context, self._project, self._manifest = context, project, manifest
        self._keys = trusted_keys(context.home, (), project)
        self._agreed = agreed
        self._asks_keys: bool | None = None

    def refusal(self, found: EffectiveItem) -> str | None:
        """Why an item is not deployed; None if it may be."""
        try:
            signer_of(self._context, found, runs=True, keys=self._keys)
        except RyeError as error:
            why = f"is not deployed, because {error.message.rstrip('.')}."
            if error.code != "untrusted":
                return f"{why} `rye sign {found.item.shown}` signs it"
            if self._is_asked_for_keys():
                return f"{why} `rye trust project` shows its signer's key and asks"
            return f"{why} `rye sign {found.item.shown}` signs it, and `rye trust add FILE` trusts who signed it"
        if not_agreed_files(self._context, found, self._agreed):
            return "is not deployed, because you have not agreed to its attached files. `rye trust project` shows them and asks"
        return None

    def _is_asked_for_keys(self) -> bool:
        """Whether the project proposes keys that sign its items and that this user did not agree to."""
        if self._asks_keys is None:
            self._asks_keys = bool(not_agreed_keys(self._context.home, self._project, self._manifest))
        return self._asks_keys
