"""Roles by name: the known ones, and the error for an unknown one."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from rye.consent.agreement import Agreement
from rye.customization.places import Places, check_name
from rye.customization.role_directives import RoleDirectiveFile, RoleDirectives
from rye.customization.role_files import all_files, directives_of
from rye.errors import RyeError
from rye.text.diagnostics import Diagnostic
from rye.text.hidden_text import hidden_text
from rye.workspace.context import Context
from rye.workspace.customizing.editing import Editable
from rye.workspace.items.agreement import require_text_allowed, require_used
from rye.workspace.items.effective_item import EffectiveItem
from rye.workspace.items.present_items import names_of


def known_roles(context: Context) -> dict[str, str]:
    """The names of the roles in the spaces, sorted, each with the first space that has it."""
    return names_of(context, "role")


def role_directives(context: Context, where: Places, role: str) -> RoleDirectives:
    """The directives that operators add to a role. Raises RyeError ``no-such-entry``."""
    require_role(context, where, role)
    return directives_of(where, role)


def require_directives(
    context: Context, found: EffectiveItem, told: RoleDirectives, agreed: Agreement | None = None
) -> None:
    """Require that this user agreed to the directives that are about to be added to a role, or to their absence, as far as they
    are the project's, and that no policy forbids what they mention. ``agreed``: as for :func:`require_used`. Raises RyeError
    ``project-not-accepted``, ``policy-violation``."""
    for file in told.sources:
        if file.effective:
            require_text_allowed(context, f"role:{found.id}", found.project, file.path, file.text or "")
        if file.level == "project":
            data = file.text.encode() if file.text is not None else None
            require_used(context, found, "role-directives", file.path, data, agreed)


def all_role_directives(where: Places) -> list[RoleDirectiveFile]:
    """The role directive files of all levels."""
    return all_files(where)


def require_role(context: Context, where: Places, role: str) -> None:
    """Raise RyeError ``no-such-entry``, with similar names, if the role is not an item and has no directives."""
    check_name(role, "role")
    names = [*known_roles(context), *(file.role for file in all_files(where))]
    if role not in names:
        raise unknown_role(role, names)


def unknown_role(role: str, names: Sequence[str]) -> RyeError:
    """The error for an unknown role."""
    near = get_close_matches(role, sorted(set(names)), 3, 0.5)
    if near:
        hint = f"Did you mean {' or '.join(near)}?"
    elif names:
        hint = f"Roles: {', '.join(sorted(set(names)))}."
    else:
        hint = f"There are no roles here. `rye new role {role}` makes one."
    return RyeError("no-such-entry", f"Unknown role {role!r}.", hint, what="role")


def role_directive_to_edit(context: Context, where: Places, role: str, user: bool) -> Editable:
    """A role's directive at the requested level. Raises RyeError ``no-such-entry``, ``no-project``."""
    if where.layout == "rye":
        require_role(context, where, role)
    else:
        check_name(role, "role")
    folder = where.of(where.role_directives, "user" if user else "project")
    if folder is None:
        what = "rig" if where.layout == "gastown" else "project"
        raise RyeError("no-project", f"This folder has no {what}.", "--user edits the directive in your own space.")
    path = folder.file(role, ".md")
    return Editable(folder, path, folder.shown(path), folder.read(path), "", check_role_directive)


def check_role_directive(data: bytes) -> list[Diagnostic]:
    """The findings about a role directive's text: any Markdown is valid as long as a reader sees all of it."""
    try:
        return list(hidden_text(data.decode("utf-8")))
    except UnicodeDecodeError as error:
        return [Diagnostic("error", "unreadable", f"The text is not UTF-8 (byte {error.start}).")]
