"""``rye new``: a file that conforms, with only what its format demands. Never over a file that is there."""

from __future__ import annotations

import os
from pathlib import Path

import click

from rye.cli.kind_choice import KindChoice
from rye.cli.options import Session, command
from rye.errors import RyeError, UsageError
from rye.items.identity import is_id
from rye.items.kinds import KINDS, Kind
from rye.items.reading import ReadOptions, Source
from rye.project.context import load_manifest
from rye.project.layout import Project, find_project
from rye.text.diagnostics import strict


def _help() -> str:
    rows = [(f"{kind.name} {'CATEGORY/NAME' if kind.nested else 'NAME'}", kind.summary) for kind in KINDS.values()]
    width = max(len(form) for form, _ in rows)
    listed = "\n".join(f"  {form:{width}}  {summary}" for form, summary in rows)
    return f"Write a new item below .ai/ that passes `rye validate --strict`.\n\n\b\nKIND and ID:\n{listed}"


@command("new", help=_help())
@click.argument("kind", type=KindChoice(), metavar="KIND")
@click.argument("identifier", metavar="ID")
@click.pass_obj
def new(session: Session, kind: str, identifier: str) -> None:
    project = find_project(session.cwd) or Project(session.cwd.absolute())
    category, name = _split(KINDS[kind], identifier)
    path = _path(project, KINDS[kind], category, name)
    text = _text(KINDS[kind], category, name, project)
    _check(KINDS[kind], category, name, path, text)
    _create(path, text)
    shown = os.path.relpath(path, session.cwd)
    if session.json:
        session.console.document({"kind": kind, "id": identifier, "path": shown})
        return
    session.console.data(f"created {shown}")
    session.console.say(f"Fill it in; `rye validate {shown}` checks it, `rye sign {shown}` signs it.", "hint")


def _split(kind: Kind, identifier: str) -> tuple[str, str]:
    if not is_id(identifier):
        raise UsageError(
            "bad-id",
            f"{identifier!r} is not an id: ids are lower-case segments of a-z, 0-9, - and _ joined by '/'.",
            f"Write it as {'category/name' if kind.nested else 'name'}.",
        )
    category, _, name = identifier.rpartition("/")
    if kind.nested and not category:
        raise UsageError(
            "bad-id",
            f"The id of a {kind.name} has a category.",
            f"E.g. `rye new {kind.name} workflows/{name}`.",
        )
    if not kind.nested and category:
        raise UsageError(
            "bad-id",
            f"The id of a {kind.name} is its bare name: they stand directly in .ai/{kind.folder}.",
            f"E.g. `rye new {kind.name} {name}`.",
        )
    return category, name


def _path(project: Project, kind: Kind, category: str, name: str) -> Path:
    folder = project.ai / kind.folder / category
    if kind.main_file is not None:
        return folder / name / kind.main_file
    return folder / f"{name}{kind.suffixes[0]}"


def _text(kind: Kind, category: str, name: str, project: Project) -> str:
    """What the kind's own template gives."""
    return kind.load().template(name, category, load_manifest(project).namespace)


def _check(kind: Kind, category: str, name: str, path: Path, text: str) -> None:
    """A name that the kind's rules refuse is refused here, so that what is written always conforms."""
    attached = () if kind.main_file is not None else None
    reading = kind.load().read(Source(text, str(path), name, category, attached), ReadOptions())
    errors = [finding for finding in strict(reading.diagnostics) if finding.severity == "error"]
    if errors:
        raise UsageError(
            "bad-name", f"{name!r} cannot be the name of this {kind.name}: {errors[0].message}", errors[0].hint
        )


def _create(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except FileExistsError:
        raise RyeError(
            "file-exists", f"{str(path)!r} exists and was left alone.", "Choose another id, or edit that file."
        ) from None
