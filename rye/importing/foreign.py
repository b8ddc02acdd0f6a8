"""The content of another tool's files, in one form. Pure.

Anyone who can commit can write these files. So each reader accepts only known forms, each text has a size limit, and
what rye.toml cannot express becomes a :class:`LeftOut` with its reason, never a guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NoReturn, TypeAlias

from msgspec import Struct
from msgspec.structs import force_setattr

from rye.errors import RyeError
from rye.limits import IMPORTS
from rye.project.declared_sources import BadSource, folder_path, inner_path
from rye.text.addresses import without_credentials
from rye.text.json_reading import JsonError, read_json
from rye.text.yaml_error import YamlError
from rye.text.yaml_reading import read_yaml

DigestSort = Literal["git-tree", "skills-folder", "apm-package", "toolhive-files"]
"""How a digest is computed (:mod:`rye.importing.digests`)."""


class Digest(Struct, frozen=True):
    """A digest of a folder in a foreign lock."""

    sort: DigestSort
    value: str
    """Lower-case hex, without a prefix."""


class GitPlace(Struct, frozen=True):
    """A folder of a repository."""

    url: str
    """As :func:`rye.project.declared_sources.git_address` accepts it."""
    ref: str | None = None
    """The requested branch or tag; None: the default branch."""
    commit: str | None = None
    """The commit in the foreign lock, if it has one."""
    folder: str = ""
    """With ``/``; empty: the root of the repository."""


class FolderPlace(Struct, frozen=True):
    """A folder on this machine, relative to the project."""

    folder: str


Place: TypeAlias = GitPlace | FolderPlace


class ForeignEntry(Struct, frozen=True, kw_only=True):
    """One entry of a foreign file that rye.toml can express."""

    file: str
    """The foreign file."""
    name: str
    """Its name in that file."""
    place: Place
    digests: tuple[Digest, ...] = ()
    group: str = "main"
    only: tuple[str, ...] = ()
    """Names of the requested items; empty: all items at the place."""
    is_one: bool = False
    """Whether the place is the folder of one skill."""
    is_plugin: bool = False
    """Whether the place is a plugin's folder, with agents in its folder ``agents``."""
    note: str | None = None
    """A note for the user, e.g. that its digest cannot be compared."""


class LeftOut(Struct, frozen=True, order=True):
    """An entry of a foreign file that rye.toml cannot express."""

    file: str
    what: str
    reason: str

    def __post_init__(self) -> None:
        """Take users and passwords out of addresses: this is printed, and written into rye.toml as a comment."""
        force_setattr(self, "what", without_credentials(self.what))
        force_setattr(self, "reason", without_credentials(self.reason))


class Foreign(Struct, frozen=True):
    """The entries of one foreign file, or of a manifest with its lock."""

    entries: tuple[ForeignEntry, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    installed: frozenset[str] = frozenset()
    """Names of skills that the other tool copied into agents' folders. A skill of that name there is a copy."""


class Cannot(ValueError):
    """An entry cannot be imported. The message is the reason, as the end of a sentence."""


def bad_file(file: str, why: str) -> RyeError:
    """The error for a foreign file that is not in the expected format."""
    return RyeError(
        "bad-foreign-file",
        f"{file}: {why}.",
        f"Fix it with the tool that wrote it, or import without it: `rye import --without {file}`.",
    )


def json_object(file: str, data: bytes) -> dict[str, Any]:
    """Parse a JSON file that must contain an object. Raises RyeError ``bad-foreign-file``."""
    _check_size(file, data)
    try:
        found = read_json(data)
    except (JsonError, RecursionError) as error:
        _refuse_markers(file, data)
        raise bad_file(file, str(error)) from None
    if not isinstance(found, dict):
        raise bad_file(file, "it is not a JSON object")
    return found


def yaml_object(file: str, data: bytes) -> dict[str, Any]:
    """Parse a YAML file that must contain a mapping. Raises RyeError ``bad-foreign-file``."""
    _check_size(file, data)
    try:
        found = read_yaml(data.decode("utf-8-sig").replace("\r\n", "\n"), limits=IMPORTS.yaml).value
    except UnicodeDecodeError as error:
        raise bad_file(file, f"byte {error.start} is not UTF-8") from None
    except YamlError as error:
        _refuse_markers(file, data)
        raise bad_file(file, str(error).rstrip(".")) from None
    if not isinstance(found, dict):
        raise bad_file(file, "it is not a mapping")
    return found


def _check_size(file: str, data: bytes) -> None:
    if len(data) > IMPORTS.file_bytes:
        raise bad_file(file, f"it has more than {IMPORTS.file_bytes:,} bytes")


def _refuse_markers(file: str, data: bytes) -> None:
    if b"\n<<<<<<< " in b"\n" + data:
        raise bad_file(file, "it contains git conflict markers")


class ForeignRow:
    """Typed access to the fields of one entry. Errors are Cannot, with a reason that ends a sentence about the entry."""

    def __init__(self, value: object, known: Iterable[str]) -> None:
        if not isinstance(value, dict):
            raise Cannot("it is not a mapping")
        self._value: Mapping[str, Any] = value
        names = set(known)
        unknown = sorted(str(key) for key in value if key not in names)
        if unknown:
            raise Cannot(f"this version of Rye does not know its key {shown(unknown[0])!r}")

    def text(self, key: str) -> str | None:
        """The text of ``key``; None if missing or null. Raises Cannot if it is too long or not printable text."""
        value = self._value.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self.fail(f"its {key} is not text")
        if len(value) > IMPORTS.text_characters or not value.isprintable():
            self.fail(f"its {key} is too long or has control characters")
        return value

    def required(self, key: str) -> str:
        """The non-empty text of ``key``. Raises Cannot if it is missing."""
        value = self.text(key)
        if not value:
            self.fail(f"it has no {key}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """The list of texts of ``key``; empty if missing. Raises Cannot if it is anything else."""
        value = self._value.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or len(value) > IMPORTS.entries:
            self.fail(f"its {key} is not a list of texts, or is too long")
        for one in value:
            if not isinstance(one, str) or len(one) > IMPORTS.text_characters or not one.isprintable():
                self.fail(f"its {key} contains something other than plain text")
        return tuple(value)

    def flag(self, key: str) -> bool:
        """The boolean of ``key``; False if missing. Raises Cannot if it is anything else."""
        value = self._value.get(key, False)
        if not isinstance(value, bool):
            self.fail(f"its {key} is neither true nor false")
        return value

    def number(self, key: str) -> int | None:
        """The whole number of ``key``, or None. Raises Cannot if it is anything else."""
        value = self._value.get(key)
        if value is not None and type(value) is not int:
            self.fail(f"its {key} is not a whole number")
        return value

    def has(self, key: str) -> bool:
        """Whether ``key`` has a value other than null."""
        return self._value.get(key) is not None

    def fail(self, why: str) -> NoReturn:
        """Raise Cannot with the reason."""
        raise Cannot(why)


def shown(text: object, most: int = 120) -> str:
    """Foreign text for messages and comments: one line of printable characters, at most ``most`` before it is cut."""
    plain = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(text)[: most + 1])
    return plain if len(plain) <= most else f"{plain[:most]}…"


def folder_in(path: str) -> str:
    """The path of a folder in a repository. Raises Cannot if it is invalid."""
    try:
        return inner_path(path.removeprefix("./"))
    except BadSource as error:
        raise Cannot(f"its path {shown(path)!r}: {error}") from None


def skill_folder(path: str) -> str:
    """The folder of a skill, from the path of its SKILL.md or of the folder itself. Raises Cannot."""
    plain = path.replace("\\", "/").removeprefix("./")
    if plain == "SKILL.md":
        return ""
    return folder_in(plain.removesuffix("/SKILL.md"))


def folder_here(path: str) -> FolderPlace:
    """A folder on this machine. Raises Cannot if its path is absolute or it is the project itself."""
    if path.startswith(("/", "~")) or path[1:3] in (":\\", ":/"):
        raise Cannot("it is at an absolute path, which exists on one machine only")
    try:
        return FolderPlace(folder_path(path.removeprefix("./")))
    except BadSource as error:
        raise Cannot(f"its path {shown(path)!r}: {error}") from None
