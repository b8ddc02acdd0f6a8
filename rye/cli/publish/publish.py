"""``rye publish``: publish signed releases, without those that cannot be published."""

from __future__ import annotations

import click

from rye.cli.alarms import show_alarms
from rye.cli.console import one_line
from rye.cli.options import Session, command
from rye.cli.trust.own_keys import own_keys
from rye.workspace.publishing import publishing
from rye.workspace.publishing.batch import Batch, PublishOutcome, PublishRequest


@command("publish")
@click.argument("paths", nargs=-1, metavar="PATH…")
@click.option("--namespace", metavar="NAME", help="Publish under this namespace instead of the project's.")
@click.option("--version", metavar="X.Y.Z", help="The version of an item whose format has none.")
@click.option("--key", metavar="NAME", help="Sign the release notes with this key instead of the default one.")
@click.option(
    "--dry-run", is_flag=True, help="Show what would be published; publish nothing. Fails wherever publishing would."
)
@click.option(
    "--restore", is_flag=True, help="First take back the published signature of files of which nothing else differs."
)
@click.option("--allow-uncommitted", is_flag=True, help="Publish files even with uncommitted changes.")
@click.option("--stage", is_flag=True, help="Upload for a maintainer to sign; not public until then.")
@click.option(
    "--trusted",
    is_flag=True,
    help="In CI: use the build's identity, even if a token is stored. See docs/how-to/ci.md.",
)
@click.pass_obj
def publish(
    session: Session,
    paths: tuple[str, ...],
    namespace: str | None,
    version: str | None,
    key: str | None,
    dry_run: bool,
    restore: bool,
    allow_uncommitted: bool,
    stage: bool,
    trusted: bool,
) -> int:
    """Publish the named items, or all of the project's items with a new version.

    An item that cannot be published is left out and listed at the end (exit 1). After an interruption, the same command
    publishes the rest.

    Published items are public forever: on a terminal you are asked first, in a script you are not. They must be valid and
    signed by a key of the namespace. With --stage, releases wait until maintainers sign their release notes with
    `rye stage approve`.
    """

    def agreed(batch: Batch) -> bool:
        asks = bool(batch.releases) and not dry_run and not stage and session.interactive and not session.yes
        _list(session, batch, stage)
        show_alarms(session.console, [alarm for alarms in batch.alarms for alarm in alarms], always=asks)
        return not asks or session.console.confirm("Publish this?")

    request = PublishRequest(
        paths=paths,
        namespace=namespace,
        version=version,
        key=key,
        dry_run=dry_run,
        restore=restore,
        allow_uncommitted=allow_uncommitted,
        stage=stage,
        trusted=trusted,
    )
    outcome = publishing.publish(session, own_keys(session), request, agreed)
    _report(session, outcome, dry_run)
    refused = outcome.batch.refused
    if refused and not session.json:
        session.console.say(f"{len(refused)} item{'s' if len(refused) > 1 else ''} not published:", "warning")
        for one in refused:
            message = one.error.message
            session.console.say(
                one_line(f"  {message if one.shown in message else f'{one.shown}: {message}'}"), "warning"
            )
            if one.error.hint:
                session.console.say(one_line(f"    {one.error.hint}"), "dim")
    return 1 if refused else 0


def _list(session: Session, batch: Batch, stage: bool) -> None:
    if batch.releases and stage:
        wait, them = ("These wait", "them") if len(batch.releases) > 1 else ("This waits", "it")
        session.console.say(f"{wait} in {batch.origin} until maintainers sign {them}:", "strong")
    elif batch.releases:
        become = "These become" if len(batch.releases) > 1 else "This becomes"
        session.console.say(f"{become} public in {batch.origin}, permanently:", "strong")
    for release, item in zip(batch.releases, batch.items, strict=True):
        named = f"  {release.identity} {release.version}"
        session.console.tell(named, (f"  {item.size:,} bytes  {item.shown}", "dim"), hang=6, wide=True)
        actions = {run.where: run.action for run in item.attached_runs}
        for entry in item.attached:
            action = "executable" if entry.executable else actions.get(entry.path)
            mark = (f"  {action}", "warning") if action is not None else ""
            session.console.tell(f"    {entry.path}", (f"  {len(entry.data):,} bytes", "dim"), mark, hang=8, wide=True)
    for shown in batch.restored:
        session.console.say(f"  {one_line(shown)} has the published signature again")
    if batch.unchanged:
        session.console.say(f"  {len(batch.unchanged)} already published and unchanged")
    if batch.refused:
        count = len(batch.refused)
        left = "item is left out; the reason is" if count == 1 else "items are left out; the reasons are"
        session.console.say(f"  {count:,} {left} below", "warning")


def _report(session: Session, outcome: PublishOutcome, dry_run: bool) -> None:
    batch = outcome.batch
    if outcome.stages is not None:
        _report_stages(session, batch, outcome.stages)
        return
    positions = outcome.positions or (None,) * len(batch.releases)
    rows = [
        {
            "kind": release.identity.kind,
            "id": release.identity.id,
            "version": release.version,
            "sha256": release.file.sha256,
            "log": position,
            "page": None if dry_run else batch.page_of(release),
            "alarms": [alarm.as_json() for alarm in alarms],
        }
        for release, position, alarms in zip(batch.releases, positions, batch.alarms, strict=True)
    ]
    if session.json:
        skipped = [{"kind": i.identity.kind, "id": i.identity.id, "version": i.version} for i in batch.unchanged]
        session.console.document(
            {"published": rows, "unchanged": skipped, "refused": _refused(batch), "dry_run": dry_run}
        )
        return
    for row in rows:
        place = f"  log {row['log']}" if row["log"] is not None else ""
        session.console.data(
            f"{'would publish' if dry_run else 'published'} {row['kind']}:{row['id']} {row['version']}{place}"
        )
    if len(rows) == 1 and rows[0]["page"] is not None:
        session.console.say(f"Its page: {rows[0]['page']}")
    if not rows:
        session.console.data("nothing new to publish")


def _refused(batch: Batch) -> list[dict[str, object]]:
    return [{"path": one.shown, "code": one.error.code, "message": one.error.message} for one in batch.refused]


def _report_stages(session: Session, batch: Batch, stages: tuple[str, ...]) -> None:
    rows = [
        {
            "kind": release.identity.kind,
            "id": release.identity.id,
            "version": release.version,
            "sha256": release.file.sha256,
            "stage": stage,
            "alarms": [alarm.as_json() for alarm in alarms],
        }
        for release, stage, alarms in zip(batch.releases, stages, batch.alarms, strict=True)
    ]
    if session.json:
        skipped = [{"kind": i.identity.kind, "id": i.identity.id, "version": i.version} for i in batch.unchanged]
        session.console.document(
            {"published": [], "staged": rows, "unchanged": skipped, "refused": _refused(batch), "dry_run": False}
        )
        return
    for row in rows:
        session.console.data(f"staged {row['kind']}:{row['id']} {row['version']}  {row['stage']}")
    session.console.say("Next: a maintainer reviews with `rye stage show` and signs with `rye stage approve`.")
