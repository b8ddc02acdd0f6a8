"""``rye role``: what operators add to the text of roles (DECISIONS Role directives and formula overlays 1, 8, 12)."""

from __future__ import annotations

import click

from rye.cli.console import printable
from rye.cli.customize.editing import edit_and_report
from rye.cli.customize.layouts import layout_options, places
from rye.cli.main import family
from rye.cli.options import Session, command
from rye.workspace.customizing.roles import all_role_directives, known_roles, role_directive_to_edit, role_directives


@command("show")
@click.argument("role", metavar="ROLE")
@layout_options
@click.pass_obj
def show(session: Session, role: str, layout: str, town: str | None, rig: str | None) -> None:
    """Print what operators add to a role: the header and the joined role directives, with their sources."""
    where = places(session, layout, town, rig)
    told = role_directives(session, where, role)
    if session.json:
        session.console.document(
            {
                "role": role,
                "header": told.header,
                "text": told.text,
                "sources": [
                    {"level": file.level, "path": file.path, "found": file.found, "effective": file.effective}
                    for file in told.sources
                ],
            }
        )
        return
    for file in told.sources:
        state = "" if file.effective else " (blank)" if file.found else " (not found)"
        session.console.say(f"# {file.level}: {file.path}{state}")
    if told.text:
        session.console.data(printable(told.render()))
    else:
        session.console.say(f"No role directives for {role}. `rye role edit {role}` creates one.")


@command("list")
@layout_options
@click.pass_obj
def list_roles(session: Session, layout: str, town: str | None, rig: str | None) -> None:
    """List the available roles and all role directive files."""
    where = places(session, layout, town, rig)
    roles = known_roles(session)
    files = all_role_directives(where)
    if session.json:
        names = sorted({*roles, *(file.role for file in files)})
        session.console.document(
            {
                "roles": [
                    {
                        "role": name,
                        "space": roles.get(name),
                        "directives": [{"level": f.level, "path": f.path} for f in files if f.role == name],
                    }
                    for name in names
                ]
            }
        )
        return
    rows = [[name, space, "role", ""] for name, space in roles.items()]
    rows += [[file.role, file.level, "directive", file.path] for file in files]
    if not rows:
        session.console.say("No roles and no role directives.")
    session.console.table(sorted(rows), ["ROLE", "SPACE", "WHAT", "FILE"])


@command("list")
@layout_options
@click.pass_obj
def list_directives(session: Session, layout: str, town: str | None, rig: str | None) -> None:
    """List all role directive files."""
    files = all_role_directives(places(session, layout, town, rig))
    if session.json:
        session.console.document({"directives": [{"role": f.role, "level": f.level, "path": f.path} for f in files]})
        return
    if not files:
        session.console.say("No role directives.")
    session.console.table([[file.role, file.level, file.path] for file in files], ["ROLE", "SPACE", "FILE"])


@command("edit")
@click.argument("role", metavar="ROLE")
@click.option("--user", is_flag=True, help="Edit the directive in your own space (gastown: the town's).")
@layout_options
@click.pass_obj
def edit(session: Session, role: str, user: bool, layout: str, town: str | None, rig: str | None) -> None:
    """Open a role's directive in your editor. A new one is empty; an empty one adds nothing."""
    edit_and_report(session, role_directive_to_edit(session, places(session, layout, town, rig), role, user))


directive = family(
    "directive",
    "What operators add to roles: plain Markdown, yours first, the project's last.",
    {
        "show": ("rye.cli.customize.role:show", "Show what is added to a role, with its sources."),
        "edit": ("rye.cli.customize.role:edit", "Open a role's directive in your editor."),
        "list": ("rye.cli.customize.role:list_directives", "List role directive files."),
    },
)

role = family(
    "role",
    "Add instructions to roles.",
    {
        "list": ("rye.cli.customize.role:list_roles", "List roles and role directives."),
        "show": ("rye.cli.customize.role:show", "Show what is added to a role, with its sources."),
        "edit": ("rye.cli.customize.role:edit", "Open a role's directive in your editor."),
        "directive": ("rye.cli.customize.role:directive", "The same commands, for directive files only."),
    },
)
