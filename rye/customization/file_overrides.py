"""Overrides of a skill's attached files: which are replaced, added or left out, as whole files (DECISIONS Overrides 21–24).

``overrides/<id>.files.toml`` says what is done, and ``overrides/<id>.files/PATH`` has the content of what is replaced or added::

    [[file]]
    path = "scripts/fill.py"
    do = "replace"
    base = "9f86d081884c7d65…"
    executable = true
    reason = "Our forms have other fields"

``base`` is the SHA-256 of the author's file that was there when the entry was written; ``add`` has none, since there was no file.
Everything that is not known is an error, and a file with an error changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from msgspec import Struct

from rye.items.attached import is_safe_path
from rye.items.autorun import obeyed
from rye.limits import CONTENT
from rye.text.diagnostics import Diagnostic, has_errors
from rye.text.display import visible
from rye.text.hidden_text import hidden_text
from rye.text.toml_reading import TomlDocument, TomlError, read_toml
from rye.text.toml_writing import quoted

Action = Literal["replace", "add", "leave-out"]
ACTIONS: tuple[Action, ...] = ("replace", "add", "leave-out")
ENTRIES = "file"

_KEYS = ("path", "do", "base", "executable", "reason")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_HEAD = "# Attached files of this skill that are replaced, added or left out. `rye override new ID --file PATH` writes entries.\n"


class FileOverride(Struct, frozen=True, kw_only=True):
    """One entry. ``line``: of its header, if known."""

    path: str
    """Relative to the skill's folder, with ``/``."""
    do: Action
    base: str | None = None
    """The SHA-256 of the author's file; None for ``add``."""
    executable: bool = False
    """Whether its owner may execute the file that is replaced or added."""
    reason: str
    line: int = 1

    @property
    def has_content(self) -> bool:
        """Whether a file of its own belongs to it."""
        return self.do != "leave-out"


class FileOverridesReading(Struct, frozen=True):
    """The entries of one file; None with at least one error if it is malformed."""

    entries: tuple[FileOverride, ...] | None
    diagnostics: tuple[Diagnostic, ...] = ()


def path_problem(path: str, main_file: str) -> str | None:
    """Why an override can have no file with this path; None if it can. The rules are those for attached files, and more: what the
    override writes lies in the repository as well, where programs look for the names that they obey."""
    if not is_safe_path(path):
        return f"{visible(path)!r} is not a path that works on every system"
    parts = path.split("/")
    if any(part.startswith(".") for part in parts):
        return f"{visible(path)!r} is hidden"
    if path.lower() == main_file.lower():
        return f"{main_file} is the skill's text, which is changed by its sections"
    if parts[-1].lower() == main_file.lower():
        return f"{visible(path)!r} would be another skill"
    for index, part in enumerate(parts):
        row = obeyed(part, at_root=index == 0)
        if row is not None:
            return f"{visible(part)!r} is a name that counts without being asked for: it is read by {row.obeyed_by}"
    return None


def read_file_overrides(text: str, main_file: str) -> FileOverridesReading:
    """Read a ``.files.toml``. ``main_file``: the name of the item's own file. Never raises for invalid content."""
    if hidden := hidden_text(text):
        return FileOverridesReading(None, hidden)
    try:
        read = read_toml(text.replace("\r\n", "\n"))
    except TomlError as error:
        message = f"The file is not TOML: {visible(error.message)}."
        return FileOverridesReading(None, (Diagnostic("error", "malformed-toml", message, error.line, error.column),))
    diagnostics: list[Diagnostic] = []
    for key in read.value:
        if key != ENTRIES:
            message = f"{visible(key)!r} is not a key of such a file."
            diagnostics.append(
                Diagnostic("error", "unknown-key", message, read.line(key), hint=f"It holds only [[{ENTRIES}]] tables.")
            )
    entries = read.value.get(ENTRIES, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        message = f"{ENTRIES!r} is not an array of tables."
        diagnostics.append(Diagnostic("error", "bad-entry", message, read.line(ENTRIES), hint=f"Write [[{ENTRIES}]]."))
        return FileOverridesReading(None, tuple(diagnostics))
    if len(entries) > CONTENT.attached_files:
        message = f"There are more than {CONTENT.attached_files} entries."
        return FileOverridesReading(None, (*diagnostics, Diagnostic("error", "too-many-files", message)))
    listed = [_entry(entry, index, read, main_file, diagnostics) for index, entry in enumerate(entries)]
    _check_names([entry for entry in listed if entry is not None], diagnostics)
    if has_errors(diagnostics):
        return FileOverridesReading(None, tuple(diagnostics))
    return FileOverridesReading(tuple(entry for entry in listed if entry is not None), tuple(diagnostics))


def _entry(
    entry: Mapping[str, Any], index: int, read: TomlDocument, main_file: str, found: list[Diagnostic]
) -> FileOverride | None:
    before, line = len(found), read.line(ENTRIES, index) or 1

    def error(code: str, message: str, key: str | None = None, hint: str | None = None) -> None:
        place = (read.line(ENTRIES, index, key) if key is not None else None) or line
        found.append(Diagnostic("error", code, message, place, hint=hint))

    for key, value in entry.items():
        wanted = bool if key == "executable" else str
        if key not in _KEYS:
            error("unknown-key", f"{visible(key)!r} is not a key of a file's entry.", key, f"Keys: {', '.join(_KEYS)}.")
        elif type(value) is not wanted:
            error("bad-entry", f"{key!r} is not {'true or false' if wanted is bool else 'a string'}.", key)
    if len(found) > before:
        return None
    for key in ("path", "do", "reason"):
        if not str(entry.get(key, "")).strip():
            error("missing-key", f"A file's entry has no {key!r}.")
    if len(found) > before:
        return None
    do, base, path = entry["do"], entry.get("base"), entry["path"]
    if do not in ACTIONS:
        error("bad-entry", f"{visible(do)!r} is not something to do with a file.", "do", f"Write {', '.join(ACTIONS)}.")
    elif (base is None) != (do == "add"):
        said = "has a 'base', but there was no file to add to" if do == "add" else f"with {do!r} has no 'base'"
        error("bad-entry", f"An entry {said}.", "base", "`rye override new ID --file PATH` writes entries.")
    elif do == "leave-out" and "executable" in entry:
        error("bad-entry", "A file that is left out is not executable.", "executable")
    if base is not None and not _SHA256.fullmatch(base):
        error("bad-entry", "'base' is not a SHA-256 of 64 small hexadecimal digits.", "base")
    problem = path_problem(path, main_file)
    if problem is not None and not (do == "leave-out" and is_safe_path(path) and path.lower() != main_file.lower()):
        error("bad-entry", f"{problem}.", "path", "Choose another path; it is relative to the skill's folder.")
    if not entry["reason"].isprintable():
        error("bad-entry", "'reason' is not one line of printable text.", "reason")
    if len(found) > before:
        return None
    return FileOverride(
        path=path,
        do=cast(Action, do),
        base=base,
        executable=entry.get("executable", False),
        reason=entry["reason"],
        line=line,
    )


def _check_names(entries: Sequence[FileOverride], found: list[Diagnostic]) -> None:
    """Report two entries for one name, and a name that another one needs for a folder, as any file system reads them."""
    seen: dict[str, str] = {}
    for entry in entries:
        key = entry.path.lower()
        if key in seen:
            message = f"{visible(entry.path)!r} and {visible(seen[key])!r} are the same file."
            found.append(Diagnostic("error", "bad-entry", message, entry.line, hint="Keep one of the entries."))
        seen.setdefault(key, entry.path)
    for entry in entries:
        if entry.has_content and any(folder in seen for folder in _folders(entry.path.lower())):
            message = f"{visible(entry.path)!r} is below another file."
            found.append(Diagnostic("error", "bad-entry", message, entry.line, hint="Choose another path."))


def _folders(path: str) -> Iterable[str]:
    while path := path.rpartition("/")[0]:
        yield path


# -- writing -----------------------------------------------------------------------------------------------------------


def written(entries: Iterable[FileOverride]) -> str:
    """The text of a ``.files.toml``, sorted by path. It reads back as the same entries."""
    tables = []
    for entry in sorted(entries, key=lambda entry: entry.path):
        rows = [("path", quoted(entry.path)), ("do", quoted(entry.do))]
        rows += [("base", quoted(entry.base))] if entry.base is not None else []
        rows += [("executable", "true")] if entry.executable else []
        rows.append(("reason", quoted(entry.reason)))
        tables.append("\n".join([f"[[{ENTRIES}]]", *(f"{key} = {value}" for key, value in rows)]) + "\n")
    return "\n".join([_HEAD, *tables])
