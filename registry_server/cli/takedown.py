"""``rye-registry takedown``: permanently remove published files, by a statement of the registry's owners."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from registry_server.accounts import audit_events
from registry_server.accounts.times import now_text, read_span
from registry_server.cli.drafts import owners_here, read_draft_file
from registry_server.cli.options import Output, data_option, draft_option, json_option, owner_keys_option, pass_output
from registry_server.cli.registry_access import reading, sequencer_of, settings_of
from registry_server.pages.analysis_store import remove_taken_down
from registry_server.sequencer.ledger import Ledger
from registry_server.storage import database
from registry_server.storage.store_factory import analysed_objects, staged_objects
from registry_server.upkeep import retention, takedown
from registry_server.upkeep.retention import RetentionRule
from registry_server.upkeep.takedown import TakedownPlan
from rye.errors import RyeError, UsageError
from rye.registry.protocol.statements import Takedown

_AT_ONCE = 500
"""Statements that are appended together."""


@click.command("takedown")
@click.argument("target", required=False)
@click.option("--reason", help="Why, in one line. Everyone who looks for the file can read it.")
@click.option(
    "--older-than",
    metavar="SPAN",
    help="Instead of TARGET: what retention need not keep, older than 365d, 52w, …",
)
@click.option(
    "--keep",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="With --older-than: newest releases of each item.",
)
@click.option("--namespace", help="With --older-than: only old releases of this namespace.")
@click.option("--dry-run", is_flag=True, help="With --older-than: show what would be removed, and change nothing.")
@owner_keys_option
@draft_option
@click.option(
    "--publish",
    "signed",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Publish this draft, signed by enough owners; repeatable.",
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@data_option
@json_option
@pass_output
def takedown_command(
    output: Output,
    target: str | None,
    reason: str | None,
    older_than: str | None,
    keep: int,
    namespace: str | None,
    dry_run: bool,
    key_files: tuple[Path, ...],
    draft: Path | None,
    signed: tuple[Path, ...],
    yes: bool,
    data: Path,
) -> None:
    """Permanently remove TARGET: KIND:ID@VERSION, or a file's SHA-256. The files leave the store; the log keeps the release.

    With --older-than, remove the files of old releases: none of the newest of an item (--keep), and nothing that a release which
    is kept may need. Asks first on a terminal.
    """
    ways = [target is not None, bool(signed), older_than is not None]
    if sum(ways) != 1 or (target is not None and not reason) or ((dry_run or namespace) and older_than is None):
        raise UsageError(
            "usage",
            "Give TARGET and --reason, or --older-than SPAN, or --publish FILE.",
            "`rye-registry takedown --help` shows how it is used.",
        )
    settings = settings_of(data, {})
    with sequencer_of(settings) as sequencer:
        shared: tuple[str, ...] = ()
        if signed:
            texts = [read_draft_file(path) for path in signed]
        else:
            with database.reader(sequencer.engine) as connection:
                planned = _planned(Ledger(connection), target, reason, older_than, keep, namespace)
            shared = planned.shared
            if dry_run or not planned.statements:
                _show(output, planned.statements)
                return
            if draft is not None:
                _write_drafts(output, draft, [statement.text() for statement in planned.statements])
                return
            texts = takedown.signed(planned.statements, owners_here(settings, key_files))
        asked = [statement for _, statement in takedown.read(texts)]
        if not yes and output.can_ask and not _agreed(asked):
            raise RyeError("declined", "Nothing was taken down.")
        with database.reader(sequencer.engine) as connection:
            retention.refuse_overtaken(Ledger(connection), asked)
            takedown.refuse_uncovered(Ledger(connection), asked)
        done: list[Takedown] = []
        for start in range(0, len(texts), _AT_ONCE):
            published = takedown.publish(sequencer, texts[start : start + _AT_ONCE])
            done += published
            with database.change(sequencer.engine) as connection:
                for receipt in published:
                    detail = {"files": list(receipt.files), "reason": receipt.reason}
                    audit_events.record(
                        connection, now_text(), "takedown", f"{receipt.identity}@{receipt.version}", detail=detail
                    )
        remove_taken_down(sequencer.engine, analysed_objects(settings))
    files = sorted({sha256 for statement in done for sha256 in statement.files})
    staged_objects(settings).delete_all(files)
    with reading(data) as connection:  # a server may have published between the look above and the statements
        takedown.refuse_uncovered(Ledger(connection), asked, is_done=True)
    releases = [f"{statement.identity}@{statement.version}" for statement in done]
    document: dict[str, object] = {"releases": releases, "files": files, "shared": list(shared)}
    output.result(document, f"Took down {len(files)} file{'' if len(files) == 1 else 's'} of {', '.join(releases)}.")
    for sha256 in shared:
        output.say(
            f"Other releases contain {sha256} as well, so it stays. To remove it from all of them, take it down by its hash."
        )
    output.say(
        "Mirrors remove the files at their next update. Purge your CDN yourself, and replace a leaked secret in any case."
    )


def _agreed(statements: Sequence[Takedown]) -> bool:
    """Ask whether these files are to go."""
    files = len({sha256 for statement in statements for sha256 in statement.files})
    first = f"{statements[0].identity} {statements[0].version}"
    more = f" and {len(statements) - 1:,} more" if len(statements) > 1 else ""
    what = f"{files:,} file{'' if files == 1 else 's'} of {first}{more}"
    return click.confirm(f"Delete {what} for good, for everybody?", err=True)


def _planned(
    ledger: Ledger, target: str | None, reason: str | None, older_than: str | None, keep: int, namespace: str | None
) -> TakedownPlan:
    if older_than is None:
        return takedown.plan(ledger, target or "", reason or "")
    seconds = read_span(older_than)
    if seconds is None:
        return TakedownPlan((), ())
    now = datetime.now(UTC).replace(microsecond=0)
    rule = RetentionRule(keep=keep, before=now - timedelta(seconds=seconds), namespace=namespace)
    why = reason or retention.REASON.format(span=older_than, keep=keep)
    return TakedownPlan(tuple(retention.plan(ledger, rule, why, now)), ())


def _show(output: Output, planned: Sequence[Takedown]) -> None:
    releases = [f"{statement.identity}@{statement.version}" for statement in planned]
    files = sorted({sha256 for statement in planned for sha256 in statement.files})
    document: dict[str, object] = {"releases": releases, "files": files, "shared": [], "done": False}
    output.result(document, "\n".join(releases) or "There is nothing to remove.")


def _write_drafts(output: Output, draft: Path, texts: list[str]) -> None:
    places = [draft, *(draft.with_name(f"{draft.name}.{number}") for number in range(2, len(texts) + 1))]
    for place, text in zip(places, texts, strict=True):
        try:
            with place.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except OSError as error:
            raise RyeError(
                "cannot-write", f"{place} cannot be written: {error.strerror}.", "Choose another file."
            ) from error
    listed = " ".join(map(str, places))
    output.result({"files": [str(place) for place in places], "texts": texts}, "\n".join(texts))
    output.say(f"Next, each owner signs {listed}: `rye-registry root sign FILE --key KEY`")
    output.say(f"Then: `rye-registry takedown {' '.join(f'--publish {place}' for place in places)}`")
