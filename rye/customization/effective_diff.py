"""The diff from an item's published text to its effective text (``rye diff ID --effective``, ``rye override show``)."""

from __future__ import annotations

from msgspec import Struct

from rye.customization.effective_files import files_diff
from rye.customization.effective_text import Effective
from rye.customization.merge import drift


class EffectiveDiff(Struct, frozen=True):
    """``diff``: a unified diff from the published text to the effective one, then from each published file to the effective one,
    with a final newline; empty if they are equal."""

    diff: str
    files: tuple[str, ...]
    """The overrides that were applied, in order."""
    refused: tuple[str, ...]
    """The overrides that were not applied because they are invalid."""

    def as_json(self) -> dict[str, object]:
        """The fields of the JSON document."""
        return {"diff": self.diff, "overrides": list(self.files), "refused": list(self.refused)}


def effective_diff(
    result: Effective, name: str, until_now: Effective | None = None, *, agreed: bool = False
) -> EffectiveDiff:
    """The changes that overrides make to the item ``name``. ``until_now``: the effect of those that are in force already, which
    the others may undo; None: compare with the item as published. ``agreed``: whether some of these are the project's."""
    base, tree, called = result.base, result.base_tree, "published"
    if until_now is not None:
        base, tree, called = (
            until_now.text,
            until_now.tree,
            "as you agreed to it" if agreed else "with your own overrides",
        )
    diff = drift(result.text, base, merged_name=f"{name} (effective)", actual_name=f"{name} ({called})")
    return EffectiveDiff(
        (diff or "") + files_diff(tree, result.tree, name, called),
        tuple(file.source.shown for file in result.files if not file.refused),
        tuple(file.source.shown for file in result.refused),
    )
