"""``rye stage``: review releases that wait, and sign or reject them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from rye.cli.alarms import fact_line, show_alarms
from rye.cli.console import Choice, counted, one_line
from rye.cli.main import family
from rye.cli.options import Session, command
from rye.cli.shown_texts import show_texts
from rye.cli.trust.own_keys import own_keys
from rye.describing.right_words import right_words
from rye.errors import RyeError
from rye.layout import Column
from rye.permissions.comparing import unified
from rye.permissions.risk import by_tier
from rye.text.facts.readable import readable_text
from rye.workspace.confirmation import confirm
from rye.workspace.installing.install_request import ProposedText
from rye.workspace.publishing import staging
from rye.workspace.publishing.staging import Staged, StagedFile, StageRow

if TYPE_CHECKING:
    from rye.text.facts import Fact

_STAGE = "STAGE"
_MOST_LINES = 20
"""How many lines a reason may take in a list."""
_ALL_LEVELS = ("alarm", "caution", "note")


@command("list")
@click.option("--namespace", metavar="NAME", help="Only this namespace, from its registry.")
@click.option("--all", "everything", is_flag=True, help="Include approved, rejected and expired releases.")
@click.pass_obj
def list_(session: Session, namespace: str | None, everything: bool) -> None:
    """List the releases that wait for a maintainer's signature and that your token may see."""
    rows = staging.list_stages(session, everything=everything, namespace=namespace)
    document = {"stages": [as_json(row) for row in rows]}
    if session.console.on_terminal and rows and not session.json:
        cells = [
            [row.id, f"{row.kind}:{row.name} {row.version}", _state(row), row.created, row.reason or ""] for row in rows
        ]
        session.console.table(
            cells, ["STAGE", "RELEASE", "STATE", "SINCE", Column("REASON", prose=True, lines=_MOST_LINES)]
        )
        return
    text = [
        f"{row.id}  {row.kind}:{row.name} {row.version}  {_state(row)}  since {row.created}"
        + (f"  {row.reason}" if row.reason else "")
        for row in rows
    ]
    session.console.answer(document, "\n".join(text) or "no releases wait")


@command("show")
@click.argument("stage", metavar=_STAGE)
@click.argument("file", required=False, metavar="[FILE]")
@click.pass_obj
def show(session: Session, stage: str, file: str | None) -> None:
    """Show a stage: its bytes, what it may do, what it mentions, and what differs from the last release.

    STAGE is an id of `rye stage list`, or KIND:ID@VERSION. With FILE, the path of an attached file: that file.
    """
    staged = staging.look_at(session, stage)
    shown = staged.file(file) if file is not None else None
    if session.json:
        session.console.document(_document(staged) if shown is None else _file_document(staged, shown))
        return
    for line in _described(staged) if shown is None else _file_described(staged, shown):
        session.console.line(line, hang=len(line) - len(line.lstrip(" ")) + 2, wide=True)
    session.console.data("")
    session.console.data(staged.text if shown is None else readable_text(shown.data))
    if shown is None:
        if staged.files:
            session.console.next_step(
                f"`rye stage show {staged.row.id} {staged.files[0].path}` shows an attached file."
            )
        session.console.next_step(f"`rye stage approve {staged.row.id} --draft {staged.draft}` signs exactly this.")


@command("approve")
@click.argument("stage", metavar=_STAGE)
@click.option("--key", metavar="NAME", help="Sign with this key instead of the default one.")
@click.option("--draft", metavar="SHA256", help="Sign only this draft: the SHA-256 that `rye stage show` printed.")
@click.pass_obj
def approve(session: Session, stage: str, key: str | None, draft: str | None) -> None:
    """Sign the release note of a stage with your key. The last required signature publishes the release permanently.

    Shows what `rye stage show` shows first, the whole text included, and asks; an `f` shows the attached files. Without that
    question it needs --yes and --draft.
    """
    if session.yes and draft is None:
        raise RyeError(
            "confirmation-needed",
            "--yes signs what nobody was shown here; nothing was signed.",
            f"Look first: `rye stage show {stage}` prints the SHA-256 of what it shows. Then "
            f"`rye stage approve {stage} --draft SHA256 --yes` signs exactly that.",
        )

    def agreed(staged: Staged) -> bool:
        asks = session.interactive and not session.yes  # nobody is asked about a text that --quiet hid
        for line in _described(staged):
            session.console.tell(line, always=asks)
        session.console.say("", always=asks)
        for line in staged.text.removesuffix("\n").split(
            "\n"
        ):  # indented, so that the text cannot imitate a line of ours
            session.console.tell(f"    {one_line(line)}".rstrip(), hang=4, wide=True, always=asks)
        session.console.say("", always=asks)
        release = staged.release
        _tell_unshown(session, staged, always=asks)
        alarms = [fact for fact in staged.facts if fact.level == _ALL_LEVELS[0]]
        show_alarms(session.console, alarms, more="the list above has all", always=asks)
        question = f"Sign {release.identity} {release.version}?"
        if asks and staged.files:
            return session.console.confirm(
                question, {"f": Choice("show the attached files", lambda: _show_files(session, staged, alarms))}
            )
        confirm(session, question, "nothing was signed.")
        return True

    row = staging.approve(session, own_keys(session), stage, key, agreed, draft)
    if row.log is not None:
        text = f"published {row.kind}:{row.name} {row.version}  log {row.log}"
    else:
        text = f"signed {row.kind}:{row.name} {row.version}: {row.signatures} of {row.needed} signatures"
    session.console.answer(as_json(row), text)


@command("reject")
@click.argument("stage", metavar=_STAGE)
@click.option("--reason", required=True, help="Why, in one line.")
@click.pass_obj
def reject(session: Session, stage: str, reason: str) -> None:
    """Reject a stage: it will not be published. Its version stays free."""
    row = staging.reject(session, stage, reason)
    session.console.answer(as_json(row), f"rejected {row.kind}:{row.name} {row.version}")


def _tell_unshown(session: Session, staged: Staged, *, always: bool) -> None:
    """Say which bytes are signed as well and were not shown: only the maintainer's signature covers attached files."""
    unshown = [file for file in staged.files if file.data != file.before]
    if unshown:
        files = counted(len(unshown), "attached file")
        since = f" and differ from {staged.before}" if staged.before is not None else ""
        where = f"`rye stage show {staged.row.id} PATH` shows one"
        session.console.tell(f"Not shown, and signed with it{since}: {files}. {where}.", hang=4, always=always)


def _show_files(session: Session, staged: Staged, alarms: Sequence[Fact]) -> None:
    """Print the attached files, of those that replace published ones what changes, and then the alarms again."""
    name = f"{staged.release.identity} {staged.release.version}"
    texts = [ProposedText(name, file.path, file.data, file.before) for file in staged.files]
    show_texts(session.console, texts, str(staged.before), always=True)
    session.console.say("", always=True)
    show_alarms(session.console, alarms, more="the list above has all", always=True)


def as_json(row: StageRow) -> dict[str, object]:
    """The JSON document of a stage: ``stage`` is its id, ``id`` the item's."""
    document = {name: getattr(row, name) for name in row.__struct_fields__}
    return {**document, "stage": row.id, "id": row.name}


def _state(row: StageRow) -> str:
    return f"{row.signatures} of {row.needed} signatures" if row.state == "staged" else row.state


def _document(staged: Staged) -> dict[str, object]:
    metadata = staged.metadata
    comparison = staged.comparison
    return {
        **as_json(staged.row),
        "draft": staged.draft,
        "signer": staged.signer.fingerprint,
        "files": [
            {"path": None, "sha256": staged.release.file.sha256, "size": staged.release.file.size},
            *(
                {"path": a.path, "sha256": a.sha256, "size": a.size, "executable": a.executable}
                for a in staged.release.attached
            ),
        ],
        "capabilities": list(metadata.capabilities),
        "agent_tools": list(metadata.agent_tools.names) if metadata.agent_tools is not None else [],
        "hooks": [
            {"when": hook.when, "item_type": hook.item_type, "item_id": hook.item_id, "inputs": dict(hook.inputs)}
            for hook in metadata.hooks
        ],
        "runs": [{"what": run.what, "where": run.where, "action": run.action} for run in staged.runs],
        "facts": [fact.as_json() for fact in staged.facts],
        "before": staged.before,
        "diff": comparison.as_json() if comparison is not None else None,
        "text": staged.text,
    }


def _file_document(staged: Staged, file: StagedFile) -> dict[str, object]:
    return {
        "stage": staged.row.id,
        "draft": staged.draft,
        "path": file.path,
        "sha256": file.sha256,
        "size": len(file.data),
        "executable": file.executable,
        "runs": [run.action for run in staged.runs if run.where == file.path],
        "facts": [fact.as_json() for fact in staged.facts if fact.path == file.path],
        "before": staged.before if file.before is not None else None,
        "diff": "\n".join(_changes(staged, file)) if file.before is not None else None,
        "text": readable_text(file.data),
    }


def _file_described(staged: Staged, file: StagedFile) -> list[str]:
    lines = [
        f"{staged.release.identity} {staged.release.version}, {file.path}  {len(file.data):,} bytes",
        f"  sha256  {file.sha256}",
        *(f"  runs  {run.action}" for run in staged.runs if run.where == file.path),
    ]
    for level in _ALL_LEVELS[:2]:
        shown = [fact for fact in staged.facts if fact.path == file.path and fact.level == level]
        lines += [f"  {level}  {fact_line(fact, f'line {fact.line}')}" for fact in shown]
    if not _is_whole(file.data):
        lines.append("  not all of it is text; what can be read of it is below")
    if file.before is None:
        return [
            *lines,
            "  no published release has it yet" if staged.before is None else f"  new since {staged.before}",
        ]
    changes = _changes(staged, file)
    if not changes and file.data != file.before:
        return [*lines, f"  compared with {staged.before}: other bytes, and nothing that can be read differs"]
    return [*lines, f"  compared with {staged.before}:{'' if changes else ' the same'}", *(f"    {c}" for c in changes)]


def _changes(staged: Staged, file: StagedFile) -> Sequence[str]:
    old, new = readable_text(file.before or b""), readable_text(file.data)
    return unified(old, new, f"{staged.before}/{file.path}", f"{staged.release.version}/{file.path}")


def _is_whole(data: bytes) -> bool:
    """Whether :func:`readable_text` leaves nothing out: of a text with many control characters, it leaves out other languages."""
    try:
        return data.decode("utf-8").removeprefix("\ufeff") == readable_text(data)
    except UnicodeDecodeError:
        return False


def _described(staged: Staged) -> list[str]:
    row, release, metadata = staged.row, staged.release, staged.metadata
    lines = [
        f"{release.identity} {release.version}  {row.size:,} bytes  staged {row.created} by token {row.by}",
        f"  signed by  {staged.signer.fingerprint}",
        f"  {_state(row)}; it expires {row.expires}",
        f"  draft  {staged.draft}",
    ]
    for tier, capabilities in by_tier(metadata.capabilities).items():
        lines += [f"  {tier}  {capability}: {right_words(capability)}" for capability in capabilities]
    if metadata.agent_tools is not None:
        lines.append(f"  agent tools  {', '.join(metadata.agent_tools.names) or 'every tool'}")
    lines += [f"  hook  {hook.when} executes {hook.item_type} {hook.item_id}" for hook in metadata.hooks]
    lines += [f"  runs  {run.where}: {run.action}" for run in staged.runs]
    lines += [f"  attached  {file.path}  {len(file.data):,} bytes{_since(staged, file)}" for file in staged.files]
    for level in _ALL_LEVELS[:2]:
        lines += [
            f"  {level}  {fact_line(fact, f'line {fact.line}' if fact.path == release.file.suffix else None)}"
            for fact in staged.facts
            if fact.level == level
        ]
    comparison = staged.comparison
    if comparison is None:
        return [*lines, "  the item has no published release yet"]
    lines.append(f"  compared with {staged.before}:")
    lines += [f"    wider   {change.pattern}" for change in comparison.widened]
    lines += [f"    narrower {change.pattern}" for change in comparison.narrowed]
    lines += [
        f"    new     {what}" for what in (*comparison.tools_added, *comparison.relations_added, *comparison.attached)
    ]
    lines += [f"    {line}" for line in comparison.text]
    return lines


def _since(staged: Staged, file: StagedFile) -> str:
    if staged.before is None:
        return ""
    how = "new since" if file.before is None else "changed since" if file.before != file.data else "as in"
    return f", {how} {staged.before}"


stage = family(
    "stage",
    "Review releases that wait for a maintainer's signature.",
    {
        "list": ("rye.cli.publish.stage:list_", "List the releases that wait."),
        "show": ("rye.cli.publish.stage:show", "Show one: bytes, rights, facts, differences."),
        "approve": ("rye.cli.publish.stage:approve", "Sign a release note."),
        "reject": ("rye.cli.publish.stage:reject", "Reject a release."),
    },
)
