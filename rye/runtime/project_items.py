"""The items of a project as a run uses them: each is read once and checked, and exactly those bytes are used (DESIGN 6.1;
docs/explanation/runtime.md).

An installed item must match rye.lock and its release, this user must have agreed to the rights and hooks it comes with, and
it must not have an advisory above low severity. An own item must have a valid signature by a trusted key to be executed. To
be read it may be unsigned, and then has no signer, but it must not have been changed after it was signed.
Advisories are those that this machine has seen, from whichever command and project (:mod:`rye.registry.store.seen_advisories`).
They are looked up in each call, and nothing is fetched.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from rye.consent.agreement import not_accepted
from rye.errors import RyeError
from rye.items.consented import HookAction
from rye.items.directive.model import Directive
from rye.items.identity import Reference, lookup_key
from rye.items.kinds import KINDS
from rye.items.needs import NOTHING
from rye.items.search_words import search_words
from rye.items.tool.reader import Tool
from rye.project.context import load_manifest
from rye.project.layout import Project
from rye.project.lock import LockedItem
from rye.project.lock_file import Locks
from rye.project.manifest import Manifest
from rye.project.spaces import Entry, Spaces, entries, find
from rye.registry.store.seen_advisories import SeenAdvisories
from rye.registry.trust.records import advisory_hint, advisory_words, concerns
from rye.rendering.inputs import resolve
from rye.rendering.prompt import first_uses, render, source_of
from rye.runtime.chain import Level
from rye.runtime.effects import SearchRow, UsableItem
from rye.runtime.limits import Limits, of_directive
from rye.text.ranking.answering import answers, findable
from rye.text.ranking.scoring import Searched, of_kind
from rye.workspace.context import Context
from rye.workspace.installing.hook_approval import agreed_hooks
from rye.workspace.items.agreement import require_agreed
from rye.workspace.items.effective_item import EffectiveItem, effective_entry
from rye.workspace.items.item_tree import effective_tree
from rye.workspace.items.own_signatures import not_agreed_files, signer_of
from rye.workspace.items.rights import capabilities_here
from rye.workspace.trusting.project_changes import own_publisher, published_by
from rye.workspace.trusting.verified_items import require_verified

_LIMIT_CODES = frozenset({"D013", "D020", "D021", "R07"})
"""Findings that leave a directive's limits unknown."""
_MANY = 2
"""From so many rows on that were not verified here, all are verified at once: one reader is cheaper than one for each."""


class ProjectItems:
    """:class:`rye.runtime.effects.Items` for a project on disk. Thread-safe."""

    def __init__(self, context: Context, project: Project):
        self.context = context
        self.project = project
        self._lock = threading.RLock()
        self._stamp: object = None
        self._entries: dict[tuple[str, str], list[Entry]] = {}
        self._manifest = Manifest()
        self._locks = Locks()
        self._unverified = 0
        self._advisories = SeenAdvisories(context.home.registries)

    # -- looking up ----------------------------------------------------------------------------------------------------

    def resolve(self, kind: str, item_id: str) -> str:
        """Return the full id that an id resolves to. Raises RyeError ``no-such-item`` and ``ambiguous``."""
        return self._entry(kind, item_id).id

    def listed(self, kind: str) -> list[Entry]:
        """Return the items of a kind, each id once, sorted. Their files are not read."""
        with self._lock:
            self._refresh(force=True)
            return [found[0] for (each, _), found in sorted(self._entries.items()) if each == kind]

    def _entry(self, kind: str, item_id: str) -> Entry:
        """Return the entry of an id. A full id is looked up in memory first; any other, or an unknown one, on disk."""
        with self._lock:
            for force in (False, True):
                self._refresh(force=force)
                found = self._entries.get((kind, lookup_key(item_id)), [])
                if len(found) == 1:
                    return found[0]
            return find(self.context.home, Reference(item_id, kind), self.project, self._manifest.namespace)

    def _refresh(self, *, force: bool) -> None:
        """List the project's items again if rye.toml or rye.lock changed, or if forced."""
        stamp = tuple(_stamp(path) for path in (self.project.manifest_path, self.project.lock_path))
        if stamp == self._stamp and not force:
            return
        self._manifest = load_manifest(self.project)
        self._entries = {}
        taken: set[tuple[str, str]] = set()
        for _, present in entries(self.context.home, self.project, self._manifest.namespace):
            here: dict[tuple[str, str], list[Entry]] = {}
            for entry in present:
                here.setdefault((entry.location.kind, lookup_key(entry.id)), []).append(entry)
            for key, found in here.items():
                if key not in taken:
                    taken.add(key)
                    self._entries[key] = found
        if stamp != self._stamp:
            self._locks = Locks()
            self._unverified = 0
        self._stamp = stamp

    # -- reading -------------------------------------------------------------------------------------------------------

    def read(self, kind: str, item_id: str, version: str | None = None, *, runs: bool) -> UsableItem:
        """Read and check an item; with ``runs``, one that will be executed. Raises RyeError."""
        return self._read(self._entry(kind, item_id), version, runs=runs)

    def _read(
        self, entry: Entry, version: str | None = None, *, runs: bool, spaces: Spaces | None = None
    ) -> UsableItem:
        kind = entry.location.kind
        found = self._checked(entry, spaces)
        require_agreed(self.context, found, manifest=self._manifest)
        signer, log, registry, publisher = None, None, None, ""
        if found.installed is not None:
            row = found.installed.row
            signer, registry, publisher = (
                row.signed_by,
                row.registry,
                published_by(row.with_signer(found.installed.release.signed_by)),
            )
            log = row.log if row.source is None else None
            self._refuse_advised(row)
        else:
            signer = signer_of(self.context, found, runs=runs)
            publisher = own_publisher(entry.space, signer) if signer is not None else ""
        text = found.item.text
        if text is None:
            raise RyeError("does-not-parse", f"{found.item.shown} is not text.")
        metadata, own = found.item.reading.metadata, found.version()
        if version is not None and own != version:
            message = f"{kind}:{entry.id} is installed in version {own or 'unknown'}, not {version}."
            raise RyeError("other-version", message, "`rye list` shows what is installed.")
        value = found.item.reading.value
        directive = value if isinstance(value, Directive) else None
        digest = sha256(text.encode()).hexdigest()
        level = self._level(found, entry.id, own, digest, directive) if directive is not None else None
        if runs:
            found.parsed()
        return UsableItem(
            kind=kind,
            id=entry.id,
            version=own,
            sha256=digest,
            signer=signer,
            text=text,
            overridden=bool(found.overrides),
            suffix=found.item.suffix,
            description=metadata.description if metadata is not None else "",
            keywords=metadata.keywords if metadata is not None else "",
            directive=directive,
            level=level,
            log=log,
            registry=registry,
            publisher=publisher,
            needs=value.needs if isinstance(value, Tool) else NOTHING,
        )

    def _checked(self, entry: Entry, spaces: Spaces | None = None) -> EffectiveItem:
        """Return the item with its overrides, checked against the current rye.lock. A row that this user's Rye never
        verified is verified now, unless offline; where a second one is met, all are, together."""
        try:
            return effective_entry(self.context, entry, self.project, self._manifest, self._locks, spaces=spaces)
        except RyeError as error:
            if error.code != "unverified-item" or self.context.offline:
                raise
        with self._lock:
            self._unverified += 1
            rows = tuple(self._locks.rows(self.project).values()) if self._unverified == _MANY else ()
        if rows:
            with suppress(RyeError):  # which of them cannot be verified is said where it is read
                require_verified(self.context, self.project, rows)
        return effective_entry(self.context, entry, self.project, self._manifest, spaces=spaces)

    def attached(self, kind: str, item_id: str, text_sha256: str | None = None) -> dict[str, bytes]:
        """Return the files attached to an item as it is used, by their path in its folder: each checked against its release, or
        agreed to with the own item, and with the overrides that this user agreed to. ``text_sha256``: of the text that they must
        belong to. Raises RyeError."""
        found = self._checked(self._entry(kind, item_id))
        if text_sha256 not in (None, sha256((found.item.text or "").encode()).hexdigest()):
            raise RyeError("modified-item", f"{kind}:{item_id} was replaced while it was read.", "Read it again.")
        require_agreed(self.context, found, manifest=self._manifest)
        waiting = not_agreed_files(self.context, found)
        if waiting:
            raise not_accepted(waiting)
        return {path: file.data or b"" for path, file in effective_tree(self.context, found).items()}

    def manifest(self) -> Manifest:
        """Return the current rye.toml. Raises RyeError."""
        with self._lock:
            self._refresh(force=False)
            return self._manifest

    def level(self, item_id: str, version: str | None = None) -> tuple[UsableItem, Level]:
        """Read a directive and its level, as the root of a chain. Raises RyeError."""
        item = self.read("directive", item_id, version, runs=True)
        if item.level is None:
            raise RyeError("does-not-parse", f"{item.label} has no valid directive.", "Run `rye validate`.")
        return item, item.level

    def _level(
        self, found: EffectiveItem, item_id: str, version: str | None, digest: str, directive: Directive
    ) -> Level:
        rights = capabilities_here(self.context, found, directive.capabilities)
        approved = agreed_hooks(self.context, found)
        hooks = tuple(HookAction(hook.when, hook.item_type, hook.item_id, hook.inputs) for hook in directive.hooks)
        if approved is not None:
            hooks = tuple(hook for hook in hooks if hook in approved)
        return Level(
            id=item_id,
            kind="directive",
            version=version,
            sha256=digest,
            rights=rights,
            hooks=hooks,
            limits=self._limits(found, directive),
        )

    @staticmethod
    def _limits(found: EffectiveItem, directive: Directive) -> Limits:
        """Return its limits. A directive whose limits are invalid is refused, because they could not be enforced."""
        for finding in found.item.reading.diagnostics:
            if finding.severity == "error" and finding.code in _LIMIT_CODES:
                hint = f"`rye validate {found.item.shown}` shows all findings."
                raise RyeError("does-not-parse", f"{found.item.shown}: {finding.message}", hint)
        return of_directive(directive)

    def _refuse_advised(self, row: LockedItem) -> None:
        """Raise RyeError ``advisory`` if this machine has seen an advisory above low severity about the row's version, and
        ``state-damaged`` or ``state-exposed`` if it cannot be read what it has seen."""
        if row.source is not None:  # no registry has advisories for sources
            return
        with self._lock:
            seen = self._advisories.about(row.registry, row.identity)
        said = next((each for each in seen if each.severity != "low" and concerns(each, row.version)), None)
        if said is not None:
            message = f"{row.identity} has an advisory, so no run uses it: {advisory_words(said)}."
            raise RyeError("advisory", message, advisory_hint(row.identity))

    # -- using ---------------------------------------------------------------------------------------------------------

    def search(self, kind: str, query: str, reads: Callable[[str], bool] = lambda item_id: True) -> Sequence[SearchRow]:
        """Return the usable items of a kind that match the query, best match first; an empty query matches all. ``reads``: whose
        texts count, besides name, description and keywords. A question finds the beginnings of words, so a text that counts
        could be read letter by letter."""
        usable = []
        listed = self.listed(kind)
        spaces = Spaces(self.context.home, self.project, self._manifest.namespace)
        for entry in listed:
            try:
                item = self._read(entry, runs=False, spaces=spaces)
            except RyeError:  # do not offer items that cannot be used
                continue
            usable.append(item)
        query, _ = of_kind(query, kind, KINDS)
        if query.strip():
            found = answers(query, [findable(_searched(item, reads(item.id)), item) for item in usable])
        else:
            found = [(1.0, item) for item in sorted(usable, key=lambda item: item.id)]
        return [SearchRow(item.id, kind, item.version, item.description, points) for points, item in found]

    def render(self, item: UsableItem, inputs: Mapping[str, object]) -> str:
        """Render the prompt of a directive. Raises RyeError for invalid inputs."""
        assert item.directive is not None
        source = source_of(item.directive)
        return render(source, resolve(item.directive.inputs, None, inputs, uses=first_uses(source)))


def _searched(item: UsableItem, with_text: bool) -> Searched:
    words = search_words(item.keywords, item.text, item.suffix) if with_text else item.keywords
    return Searched(item.kind, item.id, item.description, words)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
