"""Command lines that fetch code by name: which package, repository or image, and whether its bytes are fixed.

``unpinned(tool, words, files)`` is the whole interface. Each family of tools has a module with its own tables; a tool without
special rules is one row of ``managers.ROWS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from rye.text.facts.packages import addresses, containers, managers, node, python, repositories

Reader = Callable[[str, list[str], Mapping[str, str]], Iterator[str]]

_READERS: Final[dict[str, Reader]] = {
    **dict.fromkeys(node.TOOLS, node.unpinned),
    **dict.fromkeys(python.TOOLS, python.unpinned),
    **dict.fromkeys(containers.TOOLS, containers.unpinned),
    **dict.fromkeys(addresses.TOOLS, addresses.unpinned),
    **dict.fromkeys(repositories.TOOLS, repositories.unpinned),
    **dict.fromkeys(managers.TOOLS, managers.unpinned),
}

TOOLS: Final = frozenset(_READERS)
"""Every program whose command line can fetch code."""


def unpinned(tool: str, words: list[str], files: Mapping[str, str]) -> Iterator[str]:
    """Yield ``tool [verb] name`` for each thing that a command line fetches unpinned; ``words`` follow the tool.

    ``files``: the texts of the item by path. A lock file or a requirements file among them can pin.
    """
    reader = _READERS.get(tool)
    return reader(tool, words, files) if reader is not None else iter(())
