"""Signs one of the project's own items for a run: exactly the bytes that a person approved. The key stays in this process."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from itertools import groupby

from rye.errors import RyeError
from rye.items.identity import Reference
from rye.items.reading import ReadOptions
from rye.limits import RUNTIME
from rye.permissions.comparing import unified, unified_lines
from rye.project.checking import check_files
from rye.project.context import FileToRead, load_manifest
from rye.project.layout import Project
from rye.project.spaces import Entry, find
from rye.runtime.effects import OwnFile
from rye.runtime.results import SignResult
from rye.signing.last_signed import LastSigned
from rye.signing.sign_item import sign_bytes, unsigned_text
from rye.signing.signature_line import layout_of
from rye.storage.atomic import Replacement, replace_files
from rye.text.facts import NOTE, find_facts
from rye.text.facts.fact import severity
from rye.workspace.context import Context
from rye.workspace.trusting.own_keys import OwnKeys


def shown_change(text: str, kind: str, file_name: str, path: str, texts: LastSigned) -> tuple[str, ...]:
    """What a person is shown before a text gets their signature: the lines that changed since it was signed last, at most
    ``RUNTIME.shown_lines`` of them, and below them its cautions and alarms, so that these stand above the question.

    ``path``: the file as it is shown; ``texts``: what was signed on this machine.
    """
    layout = layout_of(kind, file_name)
    before = texts.before(text, kind, file_name)
    old = before if before is not None else ""
    lines = unified(
        old, unsigned_text(text, layout), "signed last" if before is not None else "nothing signed here", path
    )
    lines = (*lines[:2], *_in_parts(lines[2:]))
    rest = len(lines) - RUNTIME.shown_lines
    listed = [*lines[: RUNTIME.shown_lines], *([f"… and {rest} more lines: read {path}"] if rest > 0 else [])]
    had = {fact.key for fact in find_facts({path: old})}
    facts = [fact for fact in find_facts({path: text}) if fact.level != NOTE]
    facts.sort(key=lambda fact: (severity(fact.level), fact.line))
    listed += [
        f"{fact.level}{'' if fact.key in had else ', new'}: {fact.fact} {fact.value} ({path}:{fact.line})"
        for fact in facts[-RUNTIME.shown_lines :]
    ]
    return tuple(listed) or ("nothing changed since it was signed last",)


_MOST = RUNTIME.shown_characters - 10
"""Characters of one part of a long line; the rest is for its sign and its dots."""


def _in_parts(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a diff, with no changed line among them that is long: the sentences of those are compared, so that what
    changed at the end of one is shown and not cut off."""
    for is_changed, group in groupby(lines, lambda line: line[0] in "-+"):
        block = list(group)
        if not is_changed or all(len(line) <= _MOST for line in block):
            yield from block
            continue
        old, new = ([part for line in block if line[0] == sign for part in _parts(line[1:])] for sign in "-+")
        for line in unified_lines(old, new, "", "")[2:]:
            yield " …" if line.startswith("@@") else line


def _parts(line: str) -> Iterator[str]:
    """A line, or its sentences if it is long; those that are long themselves are cut into pieces. All but the first begin with
    dots."""
    if len(line) <= _MOST:
        yield line
        return
    dots = ""
    for sentence in re.findall(r"[^.!?]*[.!?]*\s*", line):
        for start in range(0, len(sentence), _MOST):
            yield f"{dots}{sentence[start : start + _MOST]}"
            dots = "… "


class OwnSigner:
    """:class:`rye.runtime.effects.Signer` with the user's default key."""

    def __init__(self, context: Context, project: Project, passphrase: Callable[[str], str]):
        self.context = context
        self.project = project
        self._passphrase = passphrase
        self._texts = LastSigned(context.home.signed_texts)

    def find(self, kind: str, item_id: str) -> OwnFile:
        """Return the file of an own item. Raises RyeError ``installed-item``, ``invalid-item``."""
        entry = self._entry(kind, item_id)
        data, _ = self._valid(entry)
        path = os.path.relpath(entry.path, self.project.root)
        shown = shown_change(data.decode("utf-8"), kind, entry.path.name, path, self._texts)
        return OwnFile(kind, entry.id, path, sha256(data).hexdigest(), shown)

    def sign(self, file: OwnFile) -> SignResult:
        """Sign the file in place. Raises RyeError ``modified-item`` if its bytes changed since it was found, and
        ``changed-meanwhile`` if they change while it is signed, which an agent may take long for."""
        entry = self._entry(file.kind, file.id)
        data, kind = self._valid(entry)
        if sha256(data).hexdigest() != file.sha256:
            raise RyeError(
                "modified-item", f"{file.path} was changed while waiting for approval.", "Make the call again."
            )
        signing_key = OwnKeys(self.context, self._passphrase).signing_key()
        signed = sign_bytes(data, kind, entry.path.name, signing_key, self.context.now())
        replace_files([Replacement(entry.path.resolve(), file.path, data, signed)])
        self._texts.remember(signed, kind, entry.path.name)
        return SignResult(file.path, sha256(signed).hexdigest(), signing_key.public.fingerprint)

    def _entry(self, kind: str, item_id: str) -> Entry:
        entry = find(self.context.home, Reference(item_id, kind), self.project, load_manifest(self.project).namespace)
        inside = entry.path.resolve().is_relative_to(self.project.root.resolve())
        if entry.space != "project" or not inside:
            message = f"{kind}:{item_id} is not one of this project's own items; its author's signature stays."
            raise RyeError("installed-item", message, "Only items in the project's .ai folder can be signed.")
        return entry

    def _valid(self, entry: Entry) -> tuple[bytes, str]:
        """Return the bytes and the kind of an item that has no errors. Raises RyeError ``invalid-item``."""
        shown = os.path.relpath(entry.path, self.project.root)
        options = ReadOptions(tools=load_manifest(self.project).tools)
        (checked,) = check_files([FileToRead(entry.path, shown)], entry.location.kind, options)
        errors = [finding for finding in checked.diagnostics if finding.severity == "error"]
        if errors or checked.item is None:
            first = errors[0].message if errors else "it cannot be read"
            raise RyeError(
                "invalid-item", f"{shown} is not valid: {first}", f"`rye validate {shown}` shows all findings."
            )
        return checked.item.data, entry.location.kind
