"""``rye org``: follow the policy of the organization that owns a registry."""

from __future__ import annotations

import json

import click

from rye.cli.main import family
from rye.cli.options import Session, command
from rye.errors import RyeError, UsageError
from rye.workspace.registries import joining
from rye.workspace.registries.program_settings import claude_settings


@command("join")
@click.argument("address")
@click.argument("fingerprint")
@click.pass_obj
def join(session: Session, address: str, fingerprint: str) -> None:
    """Pin the registry at ADDRESS, and follow the policy of its owners in all of your projects.

    The policy only tightens what your own policies and those of projects allow. When it expires and no newer one can be had, what
    installs, renders, deploys or runs stops.
    """
    done = joining.join(session, address, fingerprint)
    session.console.answer(
        {"address": done.address, **done.as_json()},
        f"joined {done.origin}: policy {done.number}, until {done.expires:%Y-%m-%d %H:%M} UTC",
    )


@command("leave")
@click.argument("address")
@click.pass_obj
def leave(session: Session, address: str) -> None:
    """Follow the policy no longer. The registry stays pinned. What a machine's administrators joined cannot be left."""
    where = joining.leave(session, address)
    session.console.answer({"address": where}, f"left {where}; `rye registry remove {where}` also unpins it")


@command("update")
@click.pass_obj
def update(session: Session) -> None:
    """Ask each joined registry for its newest policy."""
    found = joining.update(session)
    document = {"policies": [{"address": one.address, **one.as_json()} for one in found]}
    lines = [f"{one.origin}: policy {one.number}, until {one.expires:%Y-%m-%d %H:%M} UTC" for one in found]
    session.console.answer(document, "\n".join(lines) or "You joined no organization.")


@command("show")
@click.pass_obj
def show(session: Session) -> int:
    """Show whose policies apply here, what they say, until when, and who joined them; exit 1 if one is not in force."""
    found = joining.show(session)
    code = 1 if any(one.problem is not None for one in found) else 0
    if session.json:
        session.console.document({"organizations": [_document(one) for one in found]})
        return code
    if not found:
        session.console.say("You joined no organization. `rye org join ADDRESS FINGERPRINT` joins one.")
    for one in found:
        by = "this machine's administrators" if one.is_managed else "you"
        session.console.line(f"{one.origin or '?'} at {one.address}, joined by {by}")
        if one.number is not None and one.expires is not None:
            session.console.line(f"  policy {one.number} until {one.expires:%Y-%m-%d %H:%M} UTC, sha256 {one.sha256}")
        if one.contact is not None:
            session.console.line(f"  questions: {one.contact.removeprefix('mailto:')}")
        for rule in one.rules:
            session.console.line(f"  {rule}")
        if one.problem is not None:
            session.console.warn(one.problem.message, one.problem.hint)
    return code


@command("export")
@click.option("--claude", is_flag=True, help="Managed settings of Claude Code (managed-settings.json).")
@click.pass_obj
def export(session: Session, claude: bool) -> None:
    """Print the settings of an agent program that match the policies in force, and say what they do not cover.

    Only keys that the program documents are written. Merge them into what you have.
    """
    if not claude:
        raise UsageError("missing-argument", "Name the program.", "rye org export --claude", what="target")
    policies = joining.require_policies(session)
    if not policies:
        raise RyeError("not-joined", "You joined no organization.", "`rye org join ADDRESS FINGERPRINT` joins one.")
    found = claude_settings(policies)
    if session.json:
        session.console.document({"settings": found.settings, "not_covered": list(found.not_covered)})
        return
    session.console.data(json.dumps(found.settings, indent=2))
    for line in found.not_covered:
        session.console.say(f"not covered: {line}")


def _document(one: joining.ShownOrganization) -> dict[str, object]:
    return {
        "address": one.address,
        "managed": one.is_managed,
        "registry": one.origin,
        "number": one.number,
        "sha256": one.sha256,
        "expires": None if one.expires is None else f"{one.expires:%Y-%m-%dT%H:%M:%SZ}",
        "contact": one.contact,
        "rules": list(one.rules),
        "problem": None if one.problem is None else one.problem.code,
    }


org = family(
    "org",
    "Follow the policy of your organization.",
    {
        "join": ("rye.cli.registry.org:join", "Pin a registry, and follow its owners' policy."),
        "leave": ("rye.cli.registry.org:leave", "Follow a policy no longer."),
        "show": ("rye.cli.registry.org:show", "Show whose policies apply, and what they say."),
        "update": ("rye.cli.registry.org:update", "Ask for the newest policies."),
        "export": ("rye.cli.registry.org:export", "Write the matching settings of an agent program."),
    },
)
