"""What the installing commands have in common: options, the question before, the outcome after, with the deploy that follows
it (docs/how-to/agents.md), and their own text for messages that say what to run again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, cast

import click
from msgspec.structs import replace

from rye.cli.console import Choice, one_line
from rye.cli.options import Session
from rye.errors import UsageError
from rye.limits import CONSENT
from rye.project.context import load_manifest
from rye.project.layout import find_project
from rye.workspace.registries.not_asked import not_asked_document

if TYPE_CHECKING:
    from rye.deployment.comparing import Compared
    from rye.deployment.deploying import Deployed
    from rye.project.layout import Project
    from rye.workspace.context import Context
    from rye.workspace.installing.install_outcome import InstallOutcome, SetAside
    from rye.workspace.installing.install_request import Agree, Followed, Proposal
    from rye.workspace.registries.airgap_access import Airgap

_AS_OF = "rye.bundle-as-of"


def airgap_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: ``--bundle`` for a command that installs, and the one option that overrides its age limit."""
    return click.option("--bundle", metavar="FILE", help="Read everything from a bundle file, verified offline.")(
        click.option(
            "--bundle-as-of",
            metavar="DATE",
            expose_value=False,
            callback=_remember,
            help="Accept a bundle older than 7 days: measure its age as of this day.",
        )(function)
    )


def airgap_given(session: Session, file: str | None) -> Airgap | None:
    """The values of the two options. Raises UsageError ``missing-argument`` and ``bad-date``."""
    context = click.get_current_context(silent=True)
    as_of: str | None = context.meta.get(_AS_OF) if context is not None else None
    if file is None:
        if as_of is not None:
            raise UsageError(
                "missing-argument", "--bundle-as-of needs --bundle.", "Also give --bundle FILE.", what="bundle"
            )
        return None
    from rye.workspace.registries.airgap_access import Airgap

    return Airgap(session.path(file), file, _day(as_of) if as_of is not None else None)


def _remember(context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    context.meta[_AS_OF] = value


def _day(text: str) -> date:
    try:
        found = date.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or f"{found:%Y-%m-%d}" != text:
        raise UsageError("bad-date", f"{text!r} is not a date.", "Write YYYY-MM-DD.")
    return found


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

_OPTIONS: dict[str, Decorator] = {
    "approve": click.option(
        "--approve",
        "approved",
        multiple=True,
        metavar="ID@VERSION",
        help="Approve this item's rights, hooks and signer.",
    ),
    "dry_run": click.option("--dry-run", is_flag=True, help="Show what would change; write nothing."),
    "group": click.option("--group", default="main", show_default=True, help="Use this group of dependencies."),
    "without": click.option("--without", multiple=True, metavar="GROUP", help="Leave out a group of dependencies."),
    "discard": click.option(
        "--discard-local-edits", is_flag=True, help="Restore files that were edited in .ai/packages."
    ),
    "airgap": airgap_options,
    "member": click.option(
        "-p",
        "--package",
        "member",
        metavar="MEMBER",
        help="Work on this member of the workspace: its folder or name, or `.` for the root.",
    ),
}


def install_options(*names: str) -> Decorator:
    """Decorator that adds the named options, in this order."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            function = _OPTIONS[name](function)
        return function

    return decorate


def command_text(
    verb: str,
    items: Sequence[str] = (),
    group: str = "main",
    without: Sequence[str] = (),
    member: str | None = None,
) -> str:
    """The command as given, without the options that agree to something."""
    chosen = [] if group == "main" else ["--group", group]
    chosen += [] if member is None else ["-p", member]
    given = [*items, *chosen, *(word for name in without for word in ("--without", name))]
    if not given:
        return f"rye {verb}"
    import shlex  # not needed for a command without words

    return f"rye {verb} {shlex.join(given)}"


def nothing_yet(session: Session, what: str) -> str:
    """That there is nothing, and the next command: to install what rye.toml lists, or to add an item."""
    project = find_project(session.cwd)
    if project is not None and load_manifest(project).dependencies:
        return f"{what}: `rye install` installs what rye.toml lists."
    return f"{what}: `rye add [KIND:]ID` adds an item."


IN_ORDER = "everything is installed"


class ProposedDeploy:
    """What the question proposes besides installing. ``names``: the agent programs that are used here; none if it proposes
    nothing."""

    def __init__(self, names: tuple[str, ...] = ()) -> None:
        self.names = names
        self.agreed = False
        """Whether a person said yes to deploying."""


def agreement(session: Session, proposed: ProposedDeploy | None = None) -> Agree:
    """A callback that shows what an installation is about to do and, on a terminal, asks if something needs a yes. ``proposed``:
    the deploy that the same question is about."""

    def agree(proposal: Proposal) -> bool:
        programs = _programs(proposed)
        plan = proposal.plan
        if not (proposal.unseen or proposal.notes or programs or (plan is not None and plan.effective)):
            return False
        from rye.cli.project import consent  # a run with nothing to show needs no screen

        console = session.console
        needs_yes = bool(proposal.waiting or proposal.unseen)
        asks = bool(needs_yes or programs) and session.interactive
        consent.show_proposal(console, proposal, asks=asks, is_agreed=session.assume_yes and not needs_yes)
        if not asks:
            return False
        more = {"d": Choice(_whole(proposal), lambda: consent.show_whole(console, proposal))}
        if any(text.path for text in proposal.texts):
            more["f"] = Choice("show the files", lambda: consent.show_files(console, proposal))
        question = consent.question(proposal)
        if needs_yes and session.assume_yes:
            console.say("`--yes` does not answer this; a person does, or `--approve ITEM@VERSION`.", "dim")
        if proposed is None or not programs:
            return console.confirm(question, more)
        if not needs_yes:  # it is installed in any case
            proposed.agreed = console.confirm(
                f"It is installed with either answer. Deploy it to {programs} as well?", more
            )
            return False
        proposed.agreed = True

        def only_install() -> bool:
            proposed.agreed = False
            return True

        more["o"] = Choice("only install", only_install)
        return console.confirm(f"{question.removesuffix('?')}, and deploy it to {programs}?", more)

    return agree


def _whole(proposal: Proposal) -> str:
    """What the answer ``d`` does."""
    if not any(not text.path for text in proposal.texts):
        return "show all of it"
    return "show what changes" if any(text.before is not None for text in proposal.texts) else "show the texts"


def _programs(proposed: ProposedDeploy | None) -> str:
    """The agent programs that are proposed, as people write them; empty if none is."""
    if proposed is None or not proposed.names:
        return ""
    from rye.cli.project.proposed_deploy import titles

    return titles(proposed.names)


def show_outcome(
    session: Session,
    outcome: InstallOutcome,
    *,
    dry_run: bool = False,
    brief: bool = False,
    command: str = "",
    requires_deployed: bool = False,
    in_order: str = IN_ORDER,
) -> int:
    """Print one line or the one document, and return the exit code. ``dry_run``: report that nothing was written; ``brief``:
    leave out the deployed files; ``command``: as given, to be repeated with approvals for what was set aside.
    ``requires_deployed``: whether :func:`require_deployed` follows, so that differences are not said here. ``in_order``: what to
    say if nothing changed."""
    said = said_of(outcome, in_order)
    deployed, compared = deployed_by(outcome), compared_by(outcome)
    if said == IN_ORDER and compared is not None and compared.differences:
        said = "installed files are as rye.lock says"
    code = 1 if (deployed is not None and deployed.failed) or outcome.set_aside else 0
    if not session.json:
        session.console.data(said)
        for line in outcome.stays:
            session.console.say(one_line(line), "warning")
        told = {one.identity for one in outcome.yanked}
        for held in outcome.held_back:
            if held.identity in told:
                continue  # the warning about the yank says what holds it
            session.console.say(one_line(held.message), "warning")
        for one in outcome.outdated_sources:
            session.console.say(
                one_line(f"{one.name} stays at {one.current}; for {one.latest}: {one.next_step}"), "hint"
            )
        _show_set_aside(session, outcome, command)
        if deployed is not None and (deployed.changed or len(deployed.refused) > len(deployed.known)):
            from rye.cli.deploy.shown import show_deployed  # most installations deploy nothing
            from rye.deployment.deploying import summary

            show_deployed(session, replace(deployed, changes=()) if brief else deployed)
            session.console.data(summary(deployed))
        elif compared is not None and not (compared.differences and requires_deployed):
            from rye.cli.deploy.shown import show_compared  # the same

            show_compared(session, compared)
        return code
    changes: list[dict[str, object]] = []
    if outcome.changes:
        from rye.workspace.installing.consent import change_documents  # not loaded by a run with nothing to do

        changes = change_documents(outcome.changes)
    session.console.document(
        {
            "changes": changes,
            "message": said,
            "warnings": [*outcome.warnings, *outcome.stays],
            "dry_run": dry_run,
            **({"policies": [one.as_json() for one in outcome.policies]} if outcome.policies else {}),
            **({"set_aside": _set_aside(outcome, command)} if outcome.set_aside else {}),
            **({"held_back": [held.as_json() for held in outcome.held_back]} if outcome.held_back else {}),
            **({"yanked": [one.as_json() for one in outcome.yanked]} if outcome.yanked else {}),
            **not_asked_document(outcome.not_asked),
            **({"sources": [one.as_json() for one in outcome.outdated_sources]} if outcome.outdated_sources else {}),
            **({"deploy": deployed.as_json()} if deployed is not None else {}),
            **({"deployed": compared.as_json()} if compared is not None else {}),
        }
    )
    return code


def _show_set_aside(session: Session, outcome: InstallOutcome, command: str) -> None:
    """List what was left out for a person to read, and the one command that lets it in."""
    if outcome.set_aside:
        count = len(outcome.set_aside)
        session.console.say(f"{count} item{'s' * (count != 1)} left out, for you to read first:", "warning")
        if count > CONSENT.whole_items and not session.console.verbose:
            _sum_up_set_aside(session, outcome)
            return
        for one in outcome.set_aside:
            session.console.say(one_line(f"  {one.change.label} {one.why}"), "warning")
        session.console.say(
            f"Once you have read what {'it says' if count == 1 else 'they say'}, this installs "
            f"{'it' if count == 1 else 'them'}: {_approving(outcome, command)}",
            "warning",
        )


def _sum_up_set_aside(session: Session, outcome: InstallOutcome) -> None:
    """Say why so many were left out, with an example of each sort of reason, and what shows them all with the command that lets
    them in."""
    by_reason: dict[str, list[SetAside]] = {}
    for one in outcome.set_aside:
        alarms = sorted({mention.fact for mention in one.change.mentions if mention.is_alarm})
        sorts = sorted({ask.sort for ask in one.change.asks}) if one.change.stops else []
        by_reason.setdefault(f"mention {', '.join(alarms)}" if alarms else " ".join(sorts), []).append(one)
    rows = sorted(by_reason.items(), key=lambda row: len(row[1]), reverse=True)
    for reason, some in rows[: CONSENT.reasons]:
        count = f"{len(some):,} {reason}: " if reason.startswith("mention ") else ""
        more = "" if len(some) == 1 else ", for example" if count else f", and {len(some) - 1:,} more are like it"
        session.console.say(one_line(f"  {count}{some[0].change.label} {some[0].why}{more}"), "warning")
    if len(rows) > CONSENT.reasons:
        rest = sum(len(some) for _, some in rows[CONSENT.reasons :])
        session.console.say(f"  and {rest:,} more for other reasons", "warning")
    session.console.say("-v lists all of them, with the command that installs them once you have read them.", "warning")


def _approving(outcome: InstallOutcome, command: str) -> str:
    approvals = (f"--approve {one.change.label}" for one in outcome.set_aside if one.change.stops)
    return " ".join([command, "--yes", *approvals])


def _set_aside(outcome: InstallOutcome, command: str) -> dict[str, object]:
    from rye.workspace.installing.consent import change_documents  # not loaded by a run with nothing to do

    rows = change_documents([one.change for one in outcome.set_aside])
    items = [{**row, "why": one.why} for row, one in zip(rows, outcome.set_aside, strict=True)]
    return {"items": items, "command": _approving(outcome, command)}


def deployed_by(outcome: InstallOutcome) -> Deployed | None:
    """The result of the deploy that followed, or None."""
    return None if compared_by(outcome) is not None else cast("Deployed | None", outcome.followed)


def compared_by(outcome: InstallOutcome) -> Compared | None:
    """What is deployed, compared with what was installed, if that was done in place of a deploy."""
    if outcome.followed is None:
        return None
    from rye.deployment.comparing import Compared  # loaded already, by what made the report

    return outcome.followed if isinstance(outcome.followed, Compared) else None


def require_deployed(outcome: InstallOutcome) -> None:
    """Raise RyeError ``not-as-deployed`` if what is deployed is not what is installed."""
    compared = compared_by(outcome)
    if compared is None or not compared.differences:
        return
    from rye.deployment.comparing import not_as_deployed
    from rye.workspace.installing.consent import change_documents

    raise not_as_deployed(compared, more={"changes": change_documents(outcome.changes)})


def said_of(outcome: InstallOutcome, in_order: str = IN_ORDER) -> str:
    """The one line about an installation. ``in_order``: if nothing changed."""
    if outcome.result == "nothing-wanted" or outcome.is_empty:
        return "rye.toml lists no items; `rye add [KIND:]ID` adds one"
    if outcome.result == "in-order":
        return in_order
    if outcome.result == "proposed":
        return "nothing was changed (--dry-run)"
    from rye.cli.project.consent import changed_counts

    written = outcome.files_written
    counts = changed_counts(outcome.changes)
    if outcome.stays and not counts:
        return "rye.toml was changed; nothing was removed"
    return counts or in_order + (f"; {written} file{'s' * (written != 1)} written" if written else "")


def deploy_after(context: Context, project: Project) -> Followed | None:
    """A :data:`rye.workspace.installing.install_request.Follow` of commands that change what is installed: they deploy, or
    compare if rye.toml says so. Where nothing is to be deployed, nothing is loaded for it."""
    if not load_manifest(project).deploy.after_install:
        return compare_after(context, project)
    if _is_as_deployed(context, project):
        return None
    from rye.deployment.deploying import following  # loads adapters and every kind's reader, needed only with targets

    return following(context, project)


def compare_after(context: Context, project: Project) -> Followed | None:
    """The same of commands that install what is agreed already: they write nothing where agent programs read."""
    if _is_as_deployed(context, project):
        return None
    from rye.deployment.comparing import following  # loads adapters, as above

    return following(context, project)


def _is_as_deployed(context: Context, project: Project) -> bool:
    """Whether nothing is to be deployed, or nothing changed since a deploy that left nothing to do."""
    if not load_manifest(project).deploy.targets and not project.has_deployed:
        return True
    from rye.deployment.recall import recall  # not needed without targets
    from rye.deployment.request import DeployRequest, words_of
    from rye.workspace.trusting.acceptance import trusts_lock

    words = words_of(DeployRequest(), trusts_lock=trusts_lock(context))
    return words is not None and recall(context.home, project, project.root, words) is not None
