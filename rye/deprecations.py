"""What is deprecated: one table, and which of its rows a run uses (docs/reference/versions.md). Pure.

Both programs look here before a command runs, and print each row that it uses as a warning. A test fails where a row is past
its removal, is removed sooner than the policy allows, or is missing in the changelog.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple


class Deprecation(NamedTuple):
    """One thing that goes away. Its behaviour does not change until then."""

    name: str
    """As people write it: ``rye old``, ``rye install --old``, ``rye --old`` (with every command), ``rye-registry token old``,
    ``RYE_OLD``, ``rye.toml: policy.old``, ``registry.toml: old``."""
    since: str
    """The version that first warns."""
    removed_in: str
    """The version that first refuses it."""
    instead: str
    """One sentence: what to use."""

    @property
    def message(self) -> str:
        """The warning; its hint is ``instead``."""
        return f"`{self.name}` is deprecated since {self.since} and will be removed in {self.removed_in}."


DEPRECATED: tuple[Deprecation, ...] = ()


def used(
    rows: Sequence[Deprecation],
    command: str,
    words: Sequence[str],
    environment: Mapping[str, str],
    keys: Callable[[str], Mapping[str, object]],
) -> Iterator[Deprecation]:
    """The rows that a run uses, in their order.

    ``command``: program and command, such as ``rye token list``; ``words``: those after the program's name; ``keys``: the
    table in a file, by the file's name, empty where there is no such file.
    """
    options = list(words)[: list(words).index("--")] if "--" in words else list(words)
    for row in rows:
        file, colon, key = row.name.partition(": ")
        path, _, option = row.name.partition(" --")
        if colon:
            found = _has(keys(file), key.split("."))
        elif row.name.isupper():
            found = row.name in environment
        else:
            found = f"{command} ".startswith(f"{path} ")
            if option:
                found = found and any(word.partition("=")[0] == f"--{option}" for word in options)
        if found:
            yield row


def _has(table: object, path: Sequence[str]) -> bool:
    for name in path:
        if not isinstance(table, Mapping) or name not in table:
            return False
        table = table[name]
    return True
