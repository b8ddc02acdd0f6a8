"""Git repositories that rye.toml keeps at a tag or a commit, and that have a newer one."""

from __future__ import annotations

import shlex
from collections.abc import Container, Iterator

from msgspec import Struct
from msgspec.structs import replace

from rye.installation.sources import Sources
from rye.items.identity import Identity
from rye.project.declared_sources import GitSource, is_commit
from rye.project.lock import Lock
from rye.project.manifest import Manifest

_DIGITS = 12
"""So many digits of a commit are shown."""


class OutdatedSource(Struct, frozen=True, kw_only=True):
    """A source of git that names a tag or a commit, and could name a newer one."""

    name: str
    address: str
    current: str
    latest: str
    command: str | None
    """What moves it there; None if rye.toml itself lists none of its items."""

    def as_json(self) -> dict[str, object]:
        """Return it as ``--json`` prints it."""
        return {
            "name": self.name,
            "git": self.address,
            "current": self.current,
            "latest": self.latest,
            "command": self.command,
        }

    @property
    def next_step(self) -> str:
        """What a person does to move it there, as the end of a sentence."""
        return f"`{self.command}`" if self.command else f'write rev = "{self.latest}" for it, then run `rye install`'


def outdated_sources(
    manifest: Manifest, lock: Lock, sources: Sources, needed: Container[Identity]
) -> Iterator[OutdatedSource]:
    """Those with a locked item among ``needed``, by name, of repositories that answer. Raises SourceError for a wrong answer."""
    locked = {
        item.identity.namespace: item.source
        for item in lock.items
        if item.source is not None and item.source.git is not None and item.identity in needed
    }
    pinned = {
        name: source
        for name, state in sorted(locked.items())
        if isinstance(source := manifest.sources.get(name), GitSource)
        and source.rev is not None
        and source.url == state.git
    }
    if sources.book is None:
        return
    sources.book.ask_together(pinned, newer=True)
    for name, source in pinned.items():
        state, rev = locked[name], source.rev
        assert rev is not None
        latest = sources.book.newer(name, state)
        if latest is not None:
            yield OutdatedSource(
                name=name,
                address=source.url,
                current=rev,
                latest=latest,
                command=_command(manifest, replace(source, rev=latest)),
            )


def _command(manifest: Manifest, source: GitSource) -> str | None:
    """The command that asks for this state of a source; None if rye.toml lists none of its items."""
    listed = [line for line in manifest.dependencies if line.id.startswith(f"{source.name}/")]
    if not listed:
        return None
    line = listed[0]
    where = ["-p", line.member] if line.member else []
    return shlex.join(["rye", "add", source.spec, line.id.partition("/")[2], *where])


def short_rev(rev: str) -> str:
    """A commit by its first digits, anything else whole."""
    return rev[:_DIGITS] if is_commit(rev) else rev
