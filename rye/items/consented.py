"""What a person consents to, besides rights and agent tools: the hooks that an item triggers, and its parts that can run."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class HookAction(Struct, frozen=True, forbid_unknown_fields=True):
    """A hook as consent sees it: when it fires and exactly what it executes."""

    when: str
    item_type: str
    item_id: str
    inputs: tuple[tuple[str, str], ...] = ()


RunKind = Literal["attached-file", "frontmatter-hook", "mcp-server", "inline-command", "tool-code", "tool-needs"]


class Run(Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """One part of an item that can run (:mod:`rye.items.runs`). A change of bytes, place or way to run makes it another run."""

    what: RunKind
    where: str
    """The attached file's path, the key (``hooks.PreToolUse``, ``mcpServers.db``, ``network``), or the item's own file."""
    action: str
    """The exact command or setting; for a file, what makes it run (``executable``, the shebang, ``script``); for a tool, its
    language. A long one is cut, but the hash covers all of it."""
    sha256: str
    """The hash of the file's bytes, or of the whole action as UTF-8."""

    @property
    def is_counted_later(self) -> bool:
        """Whether older versions of Rye did not count it: a lock of theirs lacks it and does not contradict its release."""
        return self.what == "attached-file" and self.action.startswith((READ_BY, PASSED_TO, PACKAGE))


READ_BY, PASSED_TO, PACKAGE = "read by ", "passed to ", "package"
"""How the actions begin of attached files that a program obeys without being asked, that a text passes to an interpreter, and
that install something. The whole action of a package is that word."""
