"""Compares two versions of an item: text, rights (exact containment), relations, hooks and attached files. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from rye.items.agent_tools import widened
from rye.items.consented import HookAction, Run
from rye.items.reading import Metadata
from rye.permissions.containment import Change, diff
from rye.permissions.risk import tiers
from rye.text.matching_lines import hunks, matches

_CONTEXT = 3
"""The number of unchanged lines shown on each side of a change."""


class Version(Struct, frozen=True):
    """One side of a comparison."""

    label: str
    text: str
    metadata: Metadata
    signer: str | None = None
    attached: Mapping[str, tuple[str, bool]] | None = None
    """Path → (SHA-256, executable)."""


class Comparison(Struct, frozen=True, kw_only=True):
    """What the new version has beyond the old one, and vice versa."""

    text: tuple[str, ...]
    """A unified diff, without line ends."""
    widened: tuple[Change, ...]
    narrowed: tuple[Change, ...]
    relations_added: tuple[str, ...]
    relations_removed: tuple[str, ...]
    hooks_added: tuple[HookAction, ...]
    hooks_removed: tuple[HookAction, ...]
    tools_added: tuple[str, ...]
    """Added agent tools, and removed restrictions, in words."""
    tools_removed: tuple[str, ...]
    runs_added: tuple[Run, ...]
    """Code in the item's main file that can run; attached files are in ``attached``."""
    runs_removed: tuple[Run, ...]
    attached: tuple[str, ...]
    """``+ path``, ``- path`` or ``~ path`` each, followed by ``(executable)`` if it is."""
    signer_changed: bool

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        changed = (self.text, self.widened, self.narrowed, self.relations_added, self.relations_removed)
        others = (self.hooks_added, self.hooks_removed, self.tools_added, self.tools_removed, self.attached)
        return not any((*changed, *others, self.runs_added, self.runs_removed, self.signer_changed))

    def as_json(self) -> dict[str, object]:
        """Return the comparison as ``rye diff --json`` prints it."""
        return {
            "text": "\n".join(self.text),
            "capabilities": {
                "widened": _rights(self.widened),
                "narrowed": _rights(self.narrowed),
            },
            "dependencies": {"added": list(self.relations_added), "removed": list(self.relations_removed)},
            "hooks": {"added": [_hook(h) for h in self.hooks_added], "removed": [_hook(h) for h in self.hooks_removed]},
            "agent_tools": {"added": list(self.tools_added), "removed": list(self.tools_removed)},
            "runs": {"added": [_run(r) for r in self.runs_added], "removed": [_run(r) for r in self.runs_removed]},
            "attached": list(self.attached),
            "signer_changed": self.signer_changed,
            "equal": self.equal,
        }


def compare(old: Version, new: Version) -> Comparison:
    """Return all differences between ``old`` and ``new``."""
    rights = diff(old.metadata.capabilities, new.metadata.capabilities)
    before, after = set(_relations(old.metadata)), set(_relations(new.metadata))
    hooks_before, hooks_after = old.metadata.hooks, new.metadata.hooks
    tools_before, tools_after = old.metadata.agent_tools, new.metadata.agent_tools
    runs_before, runs_after = set(old.metadata.runs), set(new.metadata.runs)
    return Comparison(
        text=unified(*_without_signatures(old.text, new.text), old.label, new.label),
        widened=tuple(rights.widened),
        narrowed=tuple(rights.narrowed),
        relations_added=tuple(sorted(after - before)),
        relations_removed=tuple(sorted(before - after)),
        hooks_added=tuple(hook for hook in hooks_after if hook not in hooks_before),
        hooks_removed=tuple(hook for hook in hooks_before if hook not in hooks_after),
        tools_added=widened(tools_before, tools_after),
        tools_removed=widened(tools_after, tools_before),
        runs_added=tuple(sorted(runs_after - runs_before)),
        runs_removed=tuple(sorted(runs_before - runs_after)),
        attached=tuple(_files(old.attached or {}, new.attached or {})),
        signer_changed=old.signer != new.signer,
    )


_SIGNATURE = re.compile(r"(\brye(?:os)?:signed:)[^\s]+")


def _without_signatures(old: str, new: str) -> tuple[str, str]:
    """The texts with their signatures cut short, since every release has another one; as they are if nothing else differs."""
    shortened = _SIGNATURE.sub(r"\1…", old, count=1), _SIGNATURE.sub(r"\1…", new, count=1)
    return shortened if shortened[0] != shortened[1] else (old, new)


def unified(old: str, new: str, old_label: str, new_label: str) -> tuple[str, ...]:
    """Return a unified diff of two texts, as lines without line breaks. Its cost is bounded: for texts that are hard to
    compare, the diff may be longer than necessary."""
    return () if old == new else unified_lines(old.split("\n"), new.split("\n"), old_label, new_label)


def unified_lines(before: Sequence[str], after: Sequence[str], old_label: str, new_label: str) -> tuple[str, ...]:
    """The same for lines that may have their line breaks, which then stay. The first two lines name both sides, also if nothing
    differs."""
    found = [f"--- {old_label}", f"+++ {new_label}"]
    for hunk in hunks(matches(before, after), len(before), len(after), _CONTEXT):
        found.append(f"@@ -{_span(hunk.old)} +{_span(hunk.new)} @@")
        for block in hunk.blocks:
            found += (f" {line}" for line in before[block.old.start - block.lead : block.old.start])
            found += (f"-{before[at]}" for at in block.old)
            found += (f"+{after[at]}" for at in block.new)
        found += (f" {line}" for line in before[hunk.blocks[-1].old.stop : hunk.old.stop])
    return tuple(found)


def _span(lines: range) -> str:
    """Return the position of a hunk on one side, as diff(1) writes it: an empty one has the number of the line before it."""
    if len(lines) == 1:
        return str(lines.start + 1)
    return f"{lines.start + 1 if lines else lines.start},{len(lines)}"


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


def _rights(changes: Sequence[Change]) -> list[dict[str, object]]:
    levels = tiers(change.pattern for change in changes)
    return [
        {"capability": change.pattern, "tier": str(levels[change.pattern]), "example": change.witness}
        for change in changes
    ]


def _run(run: Run) -> dict[str, object]:
    return {"what": run.what, "where": run.where, "action": run.action, "sha256": run.sha256}


def _hook(hook: HookAction) -> dict[str, object]:
    return {"when": hook.when, "item_type": hook.item_type, "item_id": hook.item_id, "inputs": dict(hook.inputs)}
