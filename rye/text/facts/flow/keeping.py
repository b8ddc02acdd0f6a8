"""What a command keeps for later lines: it saves, assigns, unpacks, mounts or moves something foreign."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from rye.text.facts import fetchers
from rye.text.facts.file_names import file_name
from rye.text.facts.flow.blocks import CLOSES
from rye.text.facts.flow.kept import BODY, IN_BIN, OWN_FOLDERS, KeptContent, Unpacked
from rye.text.facts.flow.step import FlowStep
from rye.text.facts.shell import BREAK
from rye.text.facts.source import Origin
from rye.text.facts.tables import word_set

#: A line that does nothing but print one string, in which a redirection is a part of the text.
_ECHOES = re.compile(r"[ \t]*echo[ \t]+(?:-\w{1,3}[ \t]+)?\"[^\"\n]*\"[ \t]*")
#: Programs that write their input to the files that they are given.
_WRITERS: Final = word_set("tee save sponge dd out-file set-content add-content sc")
_ASSIGNS = re.compile(r"(?:\$(?:env:)?)?([A-Za-z_]\w{0,80})\+?=")
_MOVERS: Final = word_set("mv cp install ln move copy move-item copy-item")
#: A mode of ``chmod`` that lets nobody execute the file.
_NOT_EXECUTABLE = re.compile(r"0?[0246]{3}|[ugoa]*[+=][rw]+|[ugoa]*-[rwxst]+")
_MOUNTERS: Final = word_set("hdiutil mount")
#: Programs that make a folder or a drive of a share in the network, and where.
_SHARES: Final = word_set("net mount sshfs new-psdrive mount_webdav rclone s3fs curlftpfs")
_MOUNTED_AT = re.compile(r"[A-Za-z]:/?|/(?!/)[\w./-]{2,100}|[~$%]\w{0,40}%?(?:/[\w./-]{1,100})")
_UNPACKERS: Final = word_set("tar unzip 7z 7za unrar bsdtar expand-archive gunzip unxz")
_INTO_FOLDER: Final = word_set("-d --directory -destinationpath")
_INTO_SHORT = re.compile(r"-[a-z]{0,6}C")
_UNPACKED_INTO: Final = frozenset(("/tmp", "/opt", "/srv", "/var", "/home", "/mnt"))
_PROJECT_FOLDER = re.compile(r"(?:\./)?(?!\.)[\w.-]{1,80}(?:/(?!\.)[\w.-]{1,80}){0,8}/?")


def keep_output(step: FlowStep, brought: Origin, own: Origin | None) -> None:
    """Keep where the output of a command goes. ``own`` is what it brings in itself, ``brought`` whatever it puts out."""
    kept, command = step.kept, step.command
    if not command.writes or _ECHOES.fullmatch(step.raw) is None:
        _save_output(step, brought, own)
    if own is not None and not own.saves and not command.writes and step.line.code:
        kept.blocks = [*kept.blocks[-BODY:], (step.line.first, brought)]


def _save_output(step: FlowStep, brought: Origin, own: Origin | None) -> None:
    kept, command = step.kept, step.command
    for target in (*command.writes, *(own.saves if own else ())):
        kept.save(target, brought)
    for folder in fetchers.folders_of(command) if own is not None else ():
        if folder not in OWN_FOLDERS:
            kept.add_folder(folder, brought)
    words = command.texts()
    if words[0] == "exec" and command.reads and len(words) > 1:
        kept.add_file(f"&{words[-1].strip('{}')}", brought)
    if step.program in _WRITERS:
        for target in words[1:]:
            if not target.startswith("-"):
                kept.save(target.removeprefix("of="), brought)
    if words[0] in CLOSES:
        for variable in kept.loop_variables[-1:]:
            kept.values.setdefault(variable, brought)
    if "read" in words:
        for read in words[words.index("read") + 1 :]:
            if read.isidentifier():
                kept.values[read] = brought
    if len(words) > 2 and words[1] == "in" and words[0].startswith("$"):
        kept.values[words[0].lstrip("$")] = brought
    if words[0] == "for" and len(words) > 3 and words[2] == "in":
        kept.values[words[1]] = brought
        kept.add_file(f"${words[1]}", brought)
    if len(words) > 2 and words[1] == "=" and words[0].startswith("$"):
        variable = words[0].lstrip("$")
        kept.values[variable.partition(":")[2] or variable] = brought


def assign(step: FlowStep) -> None:
    """Keep variables that get a foreign value: ``x=$(curl …)``, ``y="$x"``."""
    kept = step.kept
    for word in step.command.words:
        match = _ASSIGNS.match(word.text)
        if match is not None and (word.children or "$" in word.text):
            origin = step.printed_in(word) or kept.value_in(word.text)
            if origin is not None:
                kept.values[match[1]] = origin


def write_by_call(step: FlowStep) -> None:
    """.NET's calls that write a file: ``[IO.File]::WriteAllBytes("a.exe", $bytes)``."""
    kept = step.kept
    for word in step.command.words if kept.values else ():
        if word.children and "writeall" in word.text.lower():
            given = [
                inner.text.strip(",") for child in word.children for part in child.commands for inner in part.words
            ]
            origin = next((known for text in given if (known := kept.value_in(text)) is not None), None)
            if origin is not None and given:
                kept.save(given[0], origin)


def move(step: FlowStep, brought: Origin | None) -> None:
    """Keep foreign files that are mounted, unpacked, made executable or moved."""
    kept, command = step.kept, step.command
    if step.program in _MOUNTERS and kept.files:
        mounted = next((found for word in command.words if (found := kept.saved(word.text)) is not None), None)
        if mounted is not None:
            for folder in ("/Volumes", command.words[-1].text):
                kept.folders.setdefault(folder.rstrip("/"), mounted)
    if step.program in _SHARES and brought is not None:
        for word in command.words:
            if _MOUNTED_AT.fullmatch(word.text) is not None:
                kept.add_folder(word.text.rstrip("/"), brought)
    if step.program in _UNPACKERS:
        _unpack(step, brought)
    if not (kept.files or kept.folders) or (step.program != "chmod" and step.program not in _MOVERS):
        return
    arguments = [word.text for word in command.words[step.first + 1 :] if not word.text.startswith("-")]
    if step.program == "chmod":
        executable = bool(arguments) and _NOT_EXECUTABLE.fullmatch(arguments[0]) is None
        kept.executable.update(key for key in map(file_name, arguments[1:]) if executable and key in kept.files)
    elif len(arguments) >= 2:
        _move(kept, arguments[:-1], arguments[-1])


def _move(kept: KeptContent, moved: list[str], target: str) -> None:
    for path in moved:
        origin = kept.saved(path) or kept.in_folder(path)
        if origin is not None:
            name = file_name(path)
            if name.endswith(".app"):
                target = f"{target.rstrip('/')}/{name}"
            kept.save(target, origin)
            if IN_BIN.search(target) or name in kept.executable:
                kept.executable.update((file_name(target), name))


def _unpack(step: FlowStep, brought: Origin | None) -> None:
    arguments = step.command.texts()[step.first + 1 :]
    origin = brought or next((found for text in arguments if (found := step.kept.saved(text)) is not None), None)
    if origin is not None:
        into = unpacked_into(arguments)
        project = into.removeprefix("./").rstrip("/") if _PROJECT_FOLDER.fullmatch(into) else ""
        step.kept.unpacked = Unpacked(origin, step.line.first + step.line.text.count(BREAK), project)
        folder = into.rstrip("/")
        if "/" in folder.lstrip("/") or folder.startswith(("$", "%", "~")) or folder in _UNPACKED_INTO:
            step.kept.add_folder(folder, origin)  # what a folder of the project holds beside cannot be told apart


def unpacked_into(arguments: list[str]) -> str:
    """Where an archive is unpacked: the word after ``-d``, ``-C`` or ``-DestinationPath``, or the end of ``-o…``; empty if there
    is none."""
    folder = ""
    for option, after in pairwise([*arguments, ""]):
        if option.lower() in _INTO_FOLDER or _INTO_SHORT.fullmatch(option):
            folder = after
        elif option.startswith("-o") and len(option) > len("-o"):
            folder = option[len("-o") :]
    return folder
