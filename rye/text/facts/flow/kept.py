"""What is foreign so far in one file: values of variables, files, folders, and what loops and blocks pass on."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from rye.limits import FACTS
from rye.text.facts.file_names import file_name
from rye.text.facts.source import Origin

_VARIABLE = re.compile(r"\$(?:\{?(?:env:)?)([A-Za-z_]\w{0,80})")
_TOKENS = re.compile(r"\.?[A-Za-z_0-9][\w.-]*")
_DESCRIPTOR = re.compile(r"(?:&|/dev/fd/|/proc/self/fd/)\$?\{?(\w{1,40})\}?")
_POSITIONAL = re.compile(r"\$\{?[0-9@*]\}?")
IN_BIN: Final = re.compile(r"(?:^|/)s?bin/[^/]*$")
"""A path in a folder whose files can be started by name."""
_CLOSES_BLOCK = re.compile(r"[ \t]*(?:[})]|done\b|fi\b|esac\b)[ \t]*(?:\||>|\d>|&>)")
_IGNORED_FILES: Final = frozenset(("-", "null", "stdin", "stdout", "stderr", "", ".git", ".svn", ".hg"))
OWN_FOLDERS: Final = frozenset(("", ".", "..", "~", "/", "/dev", "$HOME", "$1", "$2"))
"""Folders that hold many other things than what was fetched into them."""
BODY: Final = 32
"""How many commands of a group, or lines of a loop or a block, belong to what it brings in."""
UNPACKED_LINES: Final = 10
"""A relative path that runs within this many lines of an unpacked archive counts as coming out of it."""
MOST_TARGETS: Final = 8
"""How many places are kept that files of one name were saved in."""


class Unpacked(NamedTuple):
    """The last archive that was unpacked, the line (from 0) at whose end the command ends, and the folder of the project that it
    names, if it names one."""

    origin: Origin
    line: int
    folder: str


class KeptContent:
    """What is foreign in one file. ``files`` are foreign files of the item's other files, ``functions`` the lines of this file's
    functions: the first one, and the line after the last one."""

    def __init__(self, files: Mapping[str, Origin] | None = None, functions: Collection[tuple[int, int]] = ()) -> None:
        self.files: dict[str, Origin] = {}
        """Foreign files by their names; ``$x`` is what a variable names, ``&3`` a descriptor. :meth:`add_file` adds one."""
        self.saved_at: dict[str, set[str]] = {}
        """Where files were saved, as the commands write it, by their names."""
        self.values: dict[str, Origin] = {}
        """Foreign values of variables."""
        self.executable: set[str] = set()
        """Names of foreign files that can be started by name."""
        self.folders: dict[str, Origin] = {}
        """Folders that something foreign was unpacked into, as the commands write them."""
        self.filled_folders: dict[str, Origin] = {}
        """Folders that a foreign file was saved in. What runs each file of such a folder runs it."""
        self.unpacked: Unpacked | None = None
        self.loop_variables: list[str] = []
        """Variables that ``read`` gets from a loop's input, which stands behind the loop."""
        self.looped: tuple[Origin, int] | None = None
        """What a loop of cmd goes through, and its line: its variables stand for parts of it."""
        self.blocks: list[tuple[int, Origin]] = []
        """What commands print that nothing takes, by line: it may go to what follows the end of their block."""
        self.at = 0
        """The line (from 0) that is read."""
        self._functions = functions
        self._named_by_variables: list[str] = []
        self._has_descriptors = False
        for name, origin in (files or {}).items():
            self.add_file(name, origin)

    def value_in(self, text: str) -> Origin | None:
        """The first foreign value of a variable that a text uses."""
        if "$" not in text or not self.values:
            return None
        for name in _VARIABLE.findall(text):
            if name in self.values:
                return self.values[name]
        return None

    def saved(self, text: str) -> Origin | None:
        """The foreign file, or the input of the descriptor, that a word names."""
        if not self.files:
            return None
        descriptor = _DESCRIPTOR.fullmatch(text)
        if descriptor is not None:
            return self.files.get(f"&{descriptor[1]}")
        name = file_name(text)
        origin = self.files.get(name)
        if origin is not None and _POSITIONAL.fullmatch(name) and not self._in_same_function(origin):
            return None  # ``$1`` is another one in each function
        return origin

    def _in_same_function(self, origin: Origin) -> bool:
        here, there = (
            next((extent for extent in self._functions if extent[0] <= line < extent[1]), None)
            for line in (self.at, origin.line)
        )
        return here == there and not origin.elsewhere

    def in_folder(self, text: str) -> Origin | None:
        """What was unpacked into a folder that a path leads into."""
        return next((origin for folder, origin in self.folders.items() if text.startswith(f"{folder}/")), None)

    def add_file(self, name: str, origin: Origin) -> None:
        """Keep a foreign file by its name, unless one of this name is kept."""
        if name not in self.files:
            self.files[name] = origin
            if "$" in name:
                self._named_by_variables.append(name)
            self._has_descriptors |= name.startswith("&")

    def add_folder(self, folder: str, origin: Origin) -> None:
        """Keep a folder that something foreign is in, up to ``FACTS.saved_files``."""
        if len(self.folders) < FACTS.saved_files:
            self.folders.setdefault(folder, origin)

    def save(self, target: str, origin: Origin) -> None:
        """Keep a file that something foreign was written to, with where it is."""
        key = file_name(target)
        if key in _IGNORED_FILES or key.isdigit() or not any(map(str.isalnum, key)):
            return
        self.add_file(key, origin)
        written = target.strip("\"'")
        targets = self.saved_at.setdefault(key, set())
        if len(targets) < MOST_TARGETS:
            targets.add(written)
        folder = written.rpartition("/")[0]
        if folder not in OWN_FOLDERS and len(self.filled_folders) < FACTS.saved_files:
            self.filled_folders.setdefault(folder, origin)
        if IN_BIN.search(target):
            self.executable.add(key)

    def is_used_in(self, raw: str, number: int, values: Mapping[str, str]) -> bool:
        """Whether a line names something foreign, or might start something unpacked right before. ``values``: the literal values
        of the file's variables."""
        if self.looped is not None and "%" in raw and number - self.looped[1] <= BODY:
            return True
        if self.blocks and _CLOSES_BLOCK.match(raw) is not None:
            return True
        if not (self.files or self.values or self.unpacked or self.folders):
            return False
        if any(folder in raw for folder in self.folders) or any(folder in raw for folder in self.filled_folders):
            return True
        if self.unpacked is not None and number - self.unpacked.line <= UNPACKED_LINES and ("/" in raw or "." in raw):
            return True
        if self._has_descriptors and "<" in raw and "&" in raw:
            return True
        files, names = self.files, self.values
        for word in _TOKENS.findall(raw.replace('"', "").replace("'", "")):
            if word in files or f"${word}" in files or word.rstrip(".") in files or word.partition(".")[0] in names:
                return True
            if word in values and (file_name(values[word]) in files or f"%{word}%" in files):
                return True
        if "$" in raw and any(name in raw for name in self._named_by_variables):
            return True
        return any(word.startswith("/dev/fd/") for word in raw.split())
