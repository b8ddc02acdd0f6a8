"""Validating a person's items: each by the rules of its kind, and folders as closed sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rye.project.checking import Checked, check_files
from rye.project.context import arguments_or_own_items, read_options
from rye.text.diagnostics import in_order
from rye.text.diagnostics import strict as as_errors

if TYPE_CHECKING:
    from rye.workspace.context import Context


def validate_items(
    context: Context, paths: Sequence[str], kind: str | None = None, *, strict: bool = False
) -> tuple[Checked, ...]:
    """The findings of each file, sorted by line; no ``paths``: the project's own items. ``strict``: warnings are errors.

    Raises RyeError where nothing is found, and for a single file that cannot be read.
    """
    checked = check_files(arguments_or_own_items(context.cwd, paths), kind, read_options(context.cwd))
    if strict:
        checked = [replace(one, diagnostics=in_order(as_errors(one.diagnostics))) for one in checked]
    return tuple(checked)
