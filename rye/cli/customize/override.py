"""``rye override``: changes of Markdown items that survive upgrades, one reviewed file beside each item."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct
from msgspec.structs import replace

from rye.cli.customize.merge import parse_date
from rye.cli.main import family
from rye.cli.options import Session, command
from rye.errors import RyeError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from rye.customization.effective_text import Applied, Effective
    from rye.customization.item_overrides import OverrideSource
    from rye.customization.overlay_health import Status
    from rye.customization.places import Folder
    from rye.project.layout import Project
    from rye.project.manifest import Manifest
    from rye.project.target import Target
    from rye.text.diagnostics import Diagnostic

_user = click.option("--user", is_flag=True, help="In your own space, for all of your projects.")


def _operations(function: Callable[..., Any]) -> Callable[..., Any]:
    lines = {
        "replace": "Replace the section; starts with its present text.",
        "append": "Add at the section's end.",
        "prepend": "Add at the section's beginning.",
        "insert-before": "Add a section before it.",
        "insert-after": "Add a section after it.",
    }
    for name in reversed(lines):
        function = click.option(f"--{name}", "operation", flag_value=name, help=lines[name])(function)
    return function


@command("new")
@click.argument("item", metavar="ID")
@click.argument("section", required=False, metavar='["## SECTION"]')
@_operations
@click.option("--frontmatter-set", metavar="KEY=VALUE", help="Set a frontmatter key to a YAML value.")
@click.option("--frontmatter-delete", metavar="KEY", help="Take a frontmatter key out.")
@click.option("--reason", default="Not said yet", show_default=True, help="Why the change is there.")
@click.option("--content", metavar="FILE", help="Take the content from FILE (- for standard input).")
@click.option("--today", metavar="DATE", callback=parse_date, help="The date of the review, if it is not today's.")
@_user
@click.pass_obj
def new(
    session: Session,
    item: str,
    section: str | None,
    operation: str | None,
    frontmatter_set: str | None,
    frontmatter_delete: str | None,
    reason: str,
    content: str | None,
    today: date | None,
    user: bool,
) -> None:
    """Write an override of a section: a directive that changes nothing until you change it.

    Without a section only the file is made. An existing file keeps what it has, and the directive is added at its end.
    """
    from rye.customization.override_writing import described, directive_text, new_file, section_of, with_directive

    target, project, manifest = _item(session, item)
    folder, path = _place(project, target, manifest, user)
    sources, current, base = _before(target, project, manifest, folder, path)
    given = _content(session, content)
    asked = [name for name in (section, frontmatter_set, frontmatter_delete) if name is not None]
    if len(asked) > 1:
        raise UsageError("usage", "Give a section or a frontmatter key, one at a time.", "Run the command twice.")
    if operation is not None and section is None:
        raise UsageError("usage", f"--{operation} needs a section.", 'Name it as in "## Rules".')
    if given is not None and section is None:
        raise UsageError("usage", "--content is the content for a section.", 'Name it as in "## Rules".')
    directive = None
    if section is not None:
        lines = section_of(base, section)
        operation = operation or "replace"
        directive = directive_text(
            operation, section.strip(), reason, given if given is not None else lines if operation == "replace" else []
        )
    elif frontmatter_set is not None:
        key, equals, value = frontmatter_set.partition("=")
        if not equals or not value.strip():
            raise UsageError("usage", f"{frontmatter_set!r} is not KEY=VALUE.", "Write e.g. model=large.")
        directive = directive_text("frontmatter-set", key, reason, value.split("\n"))
    elif frontmatter_delete is not None:
        directive = directive_text("frontmatter-delete", frontmatter_delete, reason)
    if current is None:
        agent, version = described(base, target.item.location.name, _version(target))
        text = new_file(agent, version, today or date.today())
    else:
        text = current
    if directive is not None:
        text = with_directive(text, directive)
    elif current is not None:
        raise RyeError("file-exists", f"{folder.shown(path)} is there already.", "Name a section to add a directive.")
    source = _source(folder, path, text)
    applied = _judge(target, (*sources, source), manifest, None).files[-1]
    session.console.diagnostics(source.shown, [f for f in applied.diagnostics if f.severity in ("error", "warning")])
    errors = [finding for finding in applied.diagnostics if finding.severity == "error"]
    if errors:
        raise RyeError(errors[0].code, f"Nothing was written: {errors[0].message}", errors[0].hint)
    from rye.storage.atomic import replace_file

    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, text.encode("utf-8"))
    done = "created" if current is None else "changed"
    if session.json:
        session.console.document({"path": source.shown, "id": target.id, "kind": target.item.kind.name, "text": text})
    else:
        session.console.data(f"{done} {source.shown}")
        session.console.say(f"`rye override edit {target.id}{' --user' if user else ''}` opens it.", "hint")


def _content(session: Session, file: str | None) -> list[str] | None:
    if file is None:
        return None
    import sys

    from rye.customization.places import decode
    from rye.limits import OVERRIDES
    from rye.project.item_file import read_bytes
    from rye.text.line_form import read_form, split_lines

    data = sys.stdin.buffer.read() if file == "-" else read_bytes(session.path(file), OVERRIDES.file_bytes)
    return split_lines(read_form(decode(data, repr(file)))[0])[0]


def _item(session: Session, argument: str) -> tuple[Target, Project | None, Manifest | None]:
    """The published item that an override is for."""
    from rye.cli.effective import effective_target, entry_of_file
    from rye.customization.item_overrides import OVERRIDABLE
    from rye.project.context import load_manifest

    kinds: list[str | None] = [None]
    if ":" not in argument and "." not in argument:
        kinds = _overridable_kinds(session, argument)
    target = effective_target(session, argument, kinds[0], base=True)
    manifest = load_manifest(target.project) if target.project is not None else None
    kind = target.item.kind.name
    if kind not in OVERRIDABLE:
        hint = {"formula": "`rye overlay edit` changes a formula's steps."}.get(
            kind, f"Overrides are for {', '.join(OVERRIDABLE)}."
        )
        raise UsageError("not-overridable", f"Items of kind {kind} take no overrides.", hint)
    if target.item.text is None:
        raise RyeError("does-not-parse", f"{target.item.shown} is no text.", f"`rye validate {argument}` says why.")
    entry = target.entry or entry_of_file(
        target.item.path, target.project, manifest.namespace if manifest is not None else None
    )
    if entry is None:
        raise UsageError(
            "not-in-a-space", f"{argument!r} stands in no space, so no override finds it.", "Move it below .ai/."
        )
    return replace(target, entry=entry), target.project, manifest


def _overridable_kinds(session: Session, argument: str) -> list[str | None]:
    """The one overridable kind that an id without a kind stands for, where other kinds share it."""
    from rye.customization.item_overrides import OVERRIDABLE

    found: list[str | None] = [kind for kind in OVERRIDABLE if _exists(session, f"{kind}:{argument}")]
    return found if len(found) == 1 else [None]


def _exists(session: Session, reference: str) -> bool:
    from rye.items.identity import parse_reference
    from rye.project.context import load_manifest
    from rye.project.layout import find_project
    from rye.project.spaces import find

    project = find_project(session.cwd)
    manifest = load_manifest(project) if project is not None else None
    try:
        find(parse_reference(reference), project, manifest.namespace if manifest else None)
    except RyeError as error:
        return error.code == "ambiguous"
    return True


def _place(project: Project | None, target: Target, manifest: Manifest | None, user: bool) -> tuple[Folder, Path]:
    """The overrides file of the item at the level asked for: the one that is there, else the one to make."""
    from rye.customization.item_overrides import file_for, ids_of, means, paths_for
    from rye.customization.places import rye_places
    from rye.items.identity import Reference, is_id
    from rye.project.spaces import find

    places = rye_places(project)
    folder = places.of(places.overrides, "user" if user else "project")
    if folder is None:
        raise RyeError("no-project", "There is no project here.", "--user puts the override into your own space.")
    entry = target.entry
    assert entry is not None
    namespace = manifest.namespace if manifest is not None else None
    kind = target.item.kind.name
    ids = [identifier for identifier in ids_of(entry) if is_id(identifier)]
    if not ids:
        raise UsageError("bad-name", f"{target.id!r} is no valid id.", f"`rye validate {target.item.shown}` says why.")
    present = paths_for(folder, kind, ids, lambda identifier: means(identifier, entry, project, namespace))
    if len(present) > 1:
        listed = " and ".join(folder.shown(path) for path in present)
        raise RyeError("ambiguous-overrides", f"{listed} are for the same item.", "Keep one of them.")
    if present:
        return folder, present[0]
    identifier = next(name for name in ids if means(name, entry, project, namespace))
    from rye.customization.item_overrides import OVERRIDABLE

    shared = False
    for other in OVERRIDABLE:
        try:
            shared = shared or (other != kind and bool(find(Reference(identifier, other), project, namespace)))
        except RyeError:
            continue
    return folder, file_for(folder, identifier, kind if shared else None)


def _before(
    target: Target, project: Project | None, manifest: Manifest | None, folder: Folder, path: Path
) -> tuple[tuple[OverrideSource, ...], str | None, str]:
    """The files that are applied before this one, its present text, and the text that it is merged into."""
    from rye.customization.item_overrides import entry_sources
    from rye.customization.places import rye_places

    entry = target.entry
    assert entry is not None
    namespace = manifest.namespace if manifest is not None else None
    found = entry_sources(rye_places(project), entry, project, namespace)
    earlier = tuple(source for source in found if source.level != folder.level and source.level == "user")
    base = _judge(target, earlier, manifest, None).text
    return earlier, folder.text(path), base


def _source(folder: Folder, path: Path, text: str) -> OverrideSource:
    from rye.customization.item_overrides import OverrideSource

    return OverrideSource(folder.level, path, folder.shown(path), text)


def _version(target: Target) -> str | None:
    from rye.cli.effective import version_of

    return version_of(target)


def _judge(
    target: Target, files: tuple[OverrideSource, ...], manifest: Manifest | None, today: date | None
) -> Effective:
    from rye.cli.effective import apply_to
    from rye.items.reading import ReadOptions

    options = ReadOptions(tools=manifest.tools if manifest is not None else frozenset())
    return apply_to(target, files, options, manifest, today)


@command("edit")
@click.argument("item", metavar="ID")
@_user
@click.pass_obj
def edit(session: Session, item: str, user: bool) -> None:
    """Open an item's overrides in your editor; what is not valid is not saved."""
    from rye.cli.customize.editing import edit_file, report_edit
    from rye.customization.override_writing import described, new_file
    from rye.text.diagnostics import Diagnostic

    target, project, manifest = _item(session, item)
    folder, path = _place(project, target, manifest, user)
    earlier, current, base = _before(target, project, manifest, folder, path)
    agent, version = described(base, target.item.location.name, _version(target))

    def check(data: bytes) -> list[Diagnostic]:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            return [Diagnostic("error", "not-utf8", f"The text is not UTF-8 (byte {error.start}).")]
        return list(_judge(target, (*earlier, _source(folder, path, text)), manifest, None).files[-1].diagnostics)

    before = None if current is None else current.encode("utf-8")
    template = new_file(agent, version, date.today())
    report_edit(session, edit_file(session, path, folder.shown(path), before, template, check))


class Checked(Struct, frozen=True):
    """One overrides file, the item that it is for, and its findings."""

    shown: str
    level: str
    named_for: str
    item: str | None
    """``kind:id``; None where no item is meant."""
    findings: tuple[Diagnostic, ...]
    applied: Applied | None = None

    @property
    def state(self) -> Status:
        severities = {finding.severity for finding in self.findings}
        return "error" if "error" in severities else "warning" if "warning" in severities else "ok"

    def as_json(self) -> dict[str, object]:
        return {
            "path": self.shown,
            "space": self.level,
            "id": self.named_for,
            "item": self.item,
            "state": self.state,
            "diagnostics": [finding.as_json() for finding in self.findings],
        }


def check_all(session: Session, today: date | None) -> Iterator[Checked]:
    """Every overrides file of the user's and the project's space, judged with those that are applied before it."""
    from rye.customization.item_overrides import SUFFIX, named_for
    from rye.customization.places import rye_places
    from rye.project.layout import find_project
    from rye.text.diagnostics import Diagnostic

    places = rye_places(find_project(session.cwd))
    for folder in places.overrides:
        for path in folder.files(SUFFIX, nested=True):
            shown = folder.shown(path)
            named = named_for(folder, path)
            if named is None:
                name = path.relative_to(folder.path).as_posix().removesuffix(SUFFIX)
                message = f"{name!r} is no item's id."
                yield Checked(shown, folder.level, name, None, (Diagnostic("error", "bad-name", message),))
                continue
            yield from _check_one(session, folder, path, named.id, named.kind, today)


def _check_one(
    session: Session, folder: Folder, path: Path, identifier: str, kind: str | None, today: date | None
) -> Iterator[Checked]:
    from rye.customization.item_overrides import OVERRIDABLE
    from rye.text.diagnostics import Diagnostic

    shown = folder.shown(path)
    targets = []
    for each in (kind,) if kind is not None else OVERRIDABLE:
        if _exists(session, f"{each}:{identifier}"):
            targets.append(f"{each}:{identifier}")
    if not targets:
        hint = "Remove it, or rename it to the id of its item; `rye list` shows what is here."
        finding = Diagnostic("warning", "no-item", f"There is no item {identifier!r} that it could change.", hint=hint)
        yield Checked(shown, folder.level, identifier, None, (finding,))
    for reference in targets:
        try:
            target, project, manifest = _item(session, reference)
            name = f"{target.item.kind.name}:{target.id}"
            files = _files(target, project, manifest)
            if path not in [source.path for source in files]:
                if len(targets) == 1:
                    message = f"It is not used: another overrides file is for {name}."
                    yield Checked(shown, folder.level, identifier, name, (Diagnostic("warning", "not-used", message),))
                continue
            result = _judge(target, files, manifest, today)
        except RyeError as error:
            finding = Diagnostic("error", error.code, error.message, hint=error.hint)
            yield Checked(shown, folder.level, identifier, reference, (finding,))
            continue
        applied = next(file for file in result.files if file.source.path == path)
        yield Checked(shown, folder.level, identifier, name, applied.diagnostics, applied)


def _files(target: Target, project: Project | None, manifest: Manifest | None) -> tuple[OverrideSource, ...]:
    from rye.customization.item_overrides import entry_sources
    from rye.customization.places import rye_places

    assert target.entry is not None
    return entry_sources(
        rye_places(project), target.entry, project, manifest.namespace if manifest is not None else None
    )


@command("list")
@click.pass_obj
def list_overrides(session: Session) -> None:
    """List the overrides of your space and of the project, and whether they fit their items."""
    found = list(check_all(session, None))
    if session.json:
        session.console.document({"overrides": [one.as_json() for one in found]})
        return
    if not found:
        session.console.say('No overrides. `rye override new ID "## Section"` writes one.')
    session.console.table(
        [[one.item or one.named_for, one.state, one.level, one.shown] for one in found],
        ["ITEM", "STATE", "SPACE", "FILE"],
    )


@command("show")
@click.argument("item", metavar="ID")
@click.pass_obj
def show(session: Session, item: str) -> int:
    """Show what the overrides of an item do: each directive, and the item as published against the item as used."""
    from rye.cli.console import printable
    from rye.customization.effective_diff import effective_diff

    target, project, manifest = _item(session, item)
    files = _files(target, project, manifest)
    result = _judge(target, files, manifest, None)
    difference = effective_diff(result, target.id)
    if session.json:
        overrides = [
            {
                "path": file.source.shown,
                "space": file.source.level,
                "refused": file.refused,
                "steps": [step.as_json() for step in file.result.steps],
                "diagnostics": [finding.as_json() for finding in file.diagnostics],
            }
            for file in result.files
        ]
        session.console.document(
            {"id": target.id, "kind": target.item.kind.name, "files": overrides, **difference.as_json()}
        )
        return 1 if result.refused else 0
    if not files:
        session.console.say(f"{target.id} has no overrides.")
    for file in result.files:
        session.console.data(f"{file.source.shown} ({file.source.level})" + (" is in error" if file.refused else ""))
        for step in file.result.steps:
            session.console.data(printable(f"  line {step.line}: {step.operation} {step.target}: {step.detail}"))
            session.console.data(printable(f"    {step.reason}"))
        session.console.diagnostics(
            file.source.shown, [f for f in file.diagnostics if f.severity in ("error", "warning")]
        )
    for line in difference.diff.splitlines():
        style = {"+": "added", "-": "removed", "@": "hint"}.get(line[:1])
        text = printable(line)
        session.console.data(session.console.style(text, style) if style else text)
    return 1 if result.refused else 0


@command("check")
@click.argument("items", nargs=-1, metavar="[ID]…")
@click.option("--today", metavar="DATE", callback=parse_date, help="Judge the age of reviews on this date.")
@click.option("--strict", is_flag=True, help="Warnings are errors.")
@click.pass_obj
def check(session: Session, items: tuple[str, ...], today: date | None, strict: bool) -> int:
    """Check overrides against their items: orphaned targets, other versions, old reviews, wider rights.

    Without IDs all of them. Exit 1 on errors.
    """
    from rye.text.diagnostics import has_errors
    from rye.text.diagnostics import strict as as_errors

    found = list(check_all(session, today or date.today()))
    if items:
        wanted = {f"{t.item.kind.name}:{t.id}" for t, _, _ in (_item(session, item) for item in items)}
        found = [one for one in found if one.item in wanted]
    if strict:
        found = [replace(one, findings=as_errors(one.findings)) for one in found]
    failed = any(has_errors(one.findings) for one in found)
    if session.json:
        session.console.document({"overrides": [one.as_json() for one in found], "ok": not failed})
        return 1 if failed else 0
    for one in found:
        session.console.diagnostics(one.shown, one.findings)
        session.console.data(f"{one.state}  {one.item or one.named_for}  {one.shown}")
    if not found:
        session.console.say("No overrides.")
    return 1 if failed else 0


override = family(
    "override",
    "Changes to items that survive their upgrades.",
    {
        "new": ("rye.cli.customize.override:new", "Write an override of a section."),
        "list": ("rye.cli.customize.override:list_overrides", "List overrides and whether they fit."),
        "show": ("rye.cli.customize.override:show", "What the overrides of an item do."),
        "edit": ("rye.cli.customize.override:edit", "Open an item's overrides in your editor."),
        "check": ("rye.cli.customize.override:check", "Check overrides against their items."),
    },
)
