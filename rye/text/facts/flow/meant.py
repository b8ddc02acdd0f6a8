"""Which foreign file a path means where it is run: the one of its name, one out of an archive, or each one of a folder."""

from __future__ import annotations

import re
from typing import Final

from rye.text.facts.file_names import SCRIPT_SUFFIXES, file_name, is_data
from rye.text.facts.flow.kept import MOST_TARGETS, UNPACKED_LINES, Unpacked
from rye.text.facts.flow.step import FlowStep
from rye.text.facts.shell import BREAK, shown
from rye.text.facts.source import Origin

_ABSOLUTE = re.compile(r"/[\w./-]{1,200}")
_FOLDER_LINES: Final = 8
"""Above a line that saves a file, where a command may have changed the folder."""
_LEAVES_FOLDER = re.compile(
    r"\b(?:cd|chdir|pushd|sl|set-location|push-location|mv|cp|ln|install|rsync|move|copy|xcopy|robocopy|mklink|(?:move|copy)-item)\b|"
    r"path=|--(?:absolute-names|transform|xform|chdir)\b|(?:\btar\s+|\s-)(?-i:[a-z]*P)",
    re.IGNORECASE,
)
"""How a file of the folder that an archive was unpacked into runs by another path: a command goes there or moves it."""


def saved_file(step: FlowStep, text: str) -> Origin | None:
    """The foreign file that a path means; weak where it probably means another one of the same name."""
    origin = step.kept.saved(text)
    if origin is None:
        return None
    if origin.elsewhere and file_name(text) == file_name(step.source.path):
        return None  # how this file is used, in its own words
    if origin.line == step.line.first and origin.text == shown(step.text):
        return None
    return origin._replace(weak=True) if _is_another(step, text, origin) else origin


def started_file(step: FlowStep, text: str) -> Origin | None:
    """The same for a file that is started by its own path. A file of data is only named or opened."""
    return None if is_data(file_name(text)) else saved_file(step, text)


def _is_another(step: FlowStep, text: str, origin: Origin) -> bool:
    """Whether a path probably means another file of the same name: one that the item has, unless its folder is named where
    the file was saved (``cd scripts``, ``-P scripts``), or, on a page, one in another folder than the file was saved in
    (``/tmp/a.js`` and ``/static/a.js``)."""
    source = step.source
    path = text.removeprefix("./")
    if "/" in path and path in source.files and not any(saved.endswith(path) for saved in origin.saves):
        folder = rf"(?<![\w.-]){re.escape(path.rpartition('/')[0].rpartition('/')[2])}(?![\w.-])"
        above = source.lines[max(0, origin.line - _FOLDER_LINES) : origin.line + 1]
        return origin.elsewhere or not any(re.search(folder, raw) for raw in above)
    if not source.markdown or not text.startswith("/"):
        return False
    targets = step.kept.saved_at.get(file_name(text), set())
    return 0 < len(targets) < MOST_TARGETS and text not in targets and all(map(_ABSOLUTE.fullmatch, (text, *targets)))


def unpacked_file(step: FlowStep, text: str) -> Origin | None:
    """The archive that a path leads into: into the folder where it was unpacked, or from the project right behind it."""
    inside = step.kept.in_folder(text)
    if inside is not None:
        return inside
    unpacked = step.kept.unpacked
    if unpacked is None or not step.line.code or not 0 <= step.line.first - unpacked.line <= UNPACKED_LINES:
        return None
    relative = "/" in text and not text.startswith(("/", "~", "http", "-"))
    if not (text.startswith("./") or (relative and text.endswith(SCRIPT_SUFFIXES))):
        return None
    if text.removeprefix("./") in step.source.files:
        return None  # the item itself has this file
    return None if _is_beside(step, text, unpacked) else unpacked.origin


def _is_beside(step: FlowStep, text: str, unpacked: Unpacked) -> bool:
    """Whether a path of the project lies outside the folder that the archive was unpacked into, and the command gets only
    data from there: ``tar xz -C data`` and then ``python scripts/plot.py data/births.csv``."""
    if not unpacked.folder or ".." in text or "$" in text or "*" in text:
        return False
    for word in step.command.texts():
        inside = word.removeprefix("./").startswith(f"{unpacked.folder}/")
        if inside and (word == text or not is_data(file_name(word))):
            return False
    begin, end = max(0, unpacked.line - 1), step.line.first + step.line.text.count(BREAK) + 1
    return _LEAVES_FOLDER.search("\n".join(step.source.lines[begin:end])) is None


def files_of_folder(step: FlowStep) -> Origin | None:
    """What is in a folder each of whose files a command runs: ``find d -exec sh {} \\;``, ``ls d/* | xargs -I{} sh {}``."""
    kept, command, line = step.kept, step.command, step.line
    for word in (*command.words, *(command.before.words if command.before is not None else ())):
        text = word.text.rstrip("/*")
        origin = kept.filled_folders.get(text) or kept.filled_folders.get(text.rpartition("/")[0] or text)
        if origin is not None and not (
            origin.line == line.first and origin.text in line.text[command.start : command.end]
        ):
            return origin
        for folder, unpacked in kept.folders.items():
            if word.text.rstrip("/") == folder or word.text.startswith(f"{folder}/"):
                return unpacked
    return None
