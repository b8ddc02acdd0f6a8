"""Two versions of an item side by side: text, rights (exact containment), relations, hooks and attached files. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from msgspec import Struct

from rye.items.reading import HookAction, Metadata
from rye.permissions.containment import Change, diff
from rye.permissions.risk import tier

MOST_DIFF_LINES = 20_000
"""Lines a side for which a line-by-line difference is made: its cost is quadratic in the worst case."""


class Version(Struct, frozen=True):
    """One side of a comparison."""

    label: str
    text: str
    metadata: Metadata
    signer: str | None = None
    attached: Mapping[str, tuple[str, bool]] | None = None
    """Path → (SHA-256, executable)."""


class Comparison(Struct, frozen=True):
    """What the new side has beyond the old, and the other way round."""

    text: tuple[str, ...]
    """A unified diff, without line ends."""
    widened: tuple[Change, ...]
    narrowed: tuple[Change, ...]
    relations_added: tuple[str, ...]
    relations_removed: tuple[str, ...]
    hooks_added: tuple[HookAction, ...]
    hooks_removed: tuple[HookAction, ...]
    tools_added: tuple[str, ...]
    tools_removed: tuple[str, ...]
    attached: tuple[str, ...]
    """``+ path``, ``- path`` or ``~ path`` each, ``(executable)`` behind it."""
    signer_changed: bool

    @property
    def equal(self) -> bool:
        changed = (self.text, self.widened, self.narrowed, self.relations_added, self.relations_removed)
        others = (self.hooks_added, self.hooks_removed, self.tools_added, self.tools_removed, self.attached)
        return not any((*changed, *others, self.signer_changed))

    def as_json(self) -> dict[str, object]:
        return {
            "text": "\n".join(self.text),
            "capabilities": {
                "widened": [_right(change) for change in self.widened],
                "narrowed": [_right(change) for change in self.narrowed],
            },
            "dependencies": {"added": list(self.relations_added), "removed": list(self.relations_removed)},
            "hooks": {"added": [_hook(h) for h in self.hooks_added], "removed": [_hook(h) for h in self.hooks_removed]},
            "agent_tools": {"added": list(self.tools_added), "removed": list(self.tools_removed)},
            "attached": list(self.attached),
            "signer_changed": self.signer_changed,
            "equal": self.equal,
        }


def compare(old: Version, new: Version) -> Comparison:
    """Everything in which ``new`` differs from ``old``."""
    rights = diff(old.metadata.capabilities, new.metadata.capabilities)
    before, after = set(_relations(old.metadata)), set(_relations(new.metadata))
    hooks_before, hooks_after = old.metadata.hooks, new.metadata.hooks
    tools_before, tools_after = old.metadata.agent_tools, new.metadata.agent_tools
    return Comparison(
        text=unified(old.text, new.text, old.label, new.label),
        widened=tuple(rights.widened),
        narrowed=tuple(rights.narrowed),
        relations_added=tuple(sorted(after - before)),
        relations_removed=tuple(sorted(before - after)),
        hooks_added=tuple(hook for hook in hooks_after if hook not in hooks_before),
        hooks_removed=tuple(hook for hook in hooks_before if hook not in hooks_after),
        tools_added=tuple(tool for tool in tools_after if tool not in tools_before),
        tools_removed=tuple(tool for tool in tools_before if tool not in tools_after),
        attached=tuple(_files(old.attached or {}, new.attached or {})),
        signer_changed=old.signer != new.signer,
    )


def unified(old: str, new: str, old_label: str, new_label: str) -> tuple[str, ...]:
    """A unified diff of two texts, as lines without line ends; what is too long is only said to differ."""
    if old == new:
        return ()
    before, after = old.split("\n"), new.split("\n")
    if max(len(before), len(after)) > MOST_DIFF_LINES:
        return (f"--- {old_label}", f"+++ {new_label}", f"(more than {MOST_DIFF_LINES} lines: they differ)")
    return tuple(difflib.unified_diff(before, after, old_label, new_label, lineterm=""))


def _relations(metadata: Metadata) -> Iterable[str]:
    for entry in metadata.dependencies:
        yield f"{entry.relation} {entry.reference}{'@' + entry.range if entry.range else ''}"


def _files(before: Mapping[str, tuple[str, bool]], after: Mapping[str, tuple[str, bool]]) -> Iterable[str]:
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) == after.get(path):
            continue
        sign = "+" if path not in before else "-" if path not in after else "~"
        executable = (after.get(path) or before[path])[1]
        yield f"{sign} {path}{' (executable)' if executable else ''}"


def _right(change: Change) -> dict[str, object]:
    return {"capability": change.pattern, "tier": str(tier(change.pattern)), "example": change.witness}


def _hook(hook: HookAction) -> dict[str, object]:
    return {"when": hook.when, "item_type": hook.item_type, "item_id": hook.item_id, "inputs": dict(hook.inputs)}
