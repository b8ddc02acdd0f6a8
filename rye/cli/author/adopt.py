"""``rye adopt``: show which skills became items of this project, and what to know about each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

import click

from rye.cli.alarms import show_alarms
from rye.cli.console import one_line
from rye.cli.options import Session, command
from rye.workspace.authoring.adopting import MAIN, AdoptedSkill, AdoptRequest, Status, adopt_skills
from rye.workspace.named_file import NamedFile


@command("adopt")
@click.argument("folder", metavar="FOLDER")
@click.option("--dry-run", is_flag=True, help="Report only; write nothing.")
@click.option("--in-place", is_flag=True, help="Fix the skills where they are instead of copying them.")
@click.option(
    "--version", metavar="X.Y.Z", default="0.1.0", show_default=True, help="The version of skills without one."
)
@click.option("--update", is_flag=True, help="Replace copies that nobody edited, where the skill has changed.")
@click.pass_obj
def adopt(session: Session, folder: str, dry_run: bool, in_place: bool, version: str, update: bool) -> int:
    """Make skills publishable. FOLDER is a skill, or contains skills at any depth.

    Each skill is checked and copied to .ai/skills, with a version and, from a git checkout, its address and commit. Those that
    are here already stay as they are; --update takes what changed since. Exits 1 if one of them cannot be adopted.
    """
    results = []
    request = AdoptRequest(NamedFile(session.path(folder), folder), dry_run, in_place, version, update)
    for done in adopt_skills(session, request):
        results.append(done)
        _print(session, done)
    if session.json:
        session.console.document({"skills": [_as_json(done) for done in results]})
        return _code(results)
    if newer := [done for done in results if done.status == "newer"]:
        message = (
            f"{len(newer)} of {len(results)} skills changed since they were adopted; the copies here are as they were."
        )
        session.console.say(f"{message} --update replaces them; then sign and publish them again.")
    if len(results) > 1:
        counts = Counter(_TOTALS[done.status] for done in results)
        total = ", ".join(f"{counts[word]:,} {word}" for word in dict.fromkeys(_TOTALS.values()) if counts[word])
        session.console.say(f"{len(results):,} skills: {total}")
    if refused := [done for done in results if done.status == "refused"]:
        session.console.say("Refused:", "warning")
        for done in refused:
            session.console.say(one_line(f"  {done.skill.shown}: {done.reason}"), "warning")
    if any(done.status in ("adopted", "updated") for done in results):
        session.console.next_step("`rye sign` signs them, `rye publish` publishes what is signed.")
    return _code(results)


_TOTALS: dict[Status, str] = {
    "adopted": "adopted",
    "would-adopt": "would be adopted",
    "updated": "updated",
    "would-update": "would be updated",
    "unchanged": "unchanged",
    "newer": "newer there",
    "refused": "refused",
}
"""What the total at the end says, in this order."""


def _code(results: Sequence[AdoptedSkill]) -> int:
    return 1 if any(done.status == "refused" for done in results) else 0


def _as_json(done: AdoptedSkill) -> dict[str, object]:
    skill = done.skill
    adoption = skill.adoption
    return {
        "path": skill.shown,
        "name": adoption.name,
        "version": adoption.metadata.version if adoption.metadata else None,
        "status": done.status,
        "reason": done.reason,
        "target": done.shown_target,
        "publishable": skill.publishable,
        "diagnostics": [finding.as_json() for finding in (*skill.problems, *adoption.diagnostics)],
        "hidden": [{"path": path, **finding.as_json()} for path, finding in adoption.hidden],
        "scripts": list(adoption.scripts),
        "dead_links": [{"path": p, "destination": to, "line": line} for p, to, line in adoption.dead_links],
        "files": [MAIN, *(file.path for file in skill.files)],
        "changes": list(adoption.changes),
        "alarms": [fact.as_json() for fact in skill.alarms],
    }


def _print(session: Session, done: AdoptedSkill) -> None:
    console, skill, adoption = session.console, done.skill, done.skill.adoption
    where = f" → {done.shown_target}" if done.moved else ""
    reason = f": {done.reason}" if done.reason else ""
    line = f"{done.status:<11} {skill.shown}{where}{reason}"
    console.data(console.style(one_line(line), "removed" if done.status == "refused" else "ok"))
    for change in adoption.changes if done.status not in ("unchanged", "newer") else ():
        console.say(f"  {MAIN}: {change}")
    if adoption.without_version:
        console.say(f"  {MAIN}: no version could be added; write metadata.version", "warning")
    console.diagnostics(os.path.join(skill.shown, MAIN), (*skill.problems, *adoption.diagnostics))
    for path, finding in adoption.hidden:
        console.diagnostics(os.path.join(skill.shown, path), [finding])
    for path in adoption.scripts:
        console.say(one_line(f"  executable: {path}"), "warning")
    for path, destination, number in adoption.dead_links:
        if path == MAIN:
            continue  # already reported as a finding
        console.say(one_line(f"  broken link: {path}:{number} → {destination}"), "warning")
    show_alarms(console, skill.alarms, "  ")
