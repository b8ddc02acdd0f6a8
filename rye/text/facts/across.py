"""What one file of an item fetches or decodes and another file runs, whichever comes first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from rye.limits import FACTS
from rye.text.facts import calls
from rye.text.facts.flow.functions import extents_in, functions_in
from rye.text.facts.flow.kept import KeptContent
from rye.text.facts.flow.passes import Flow
from rye.text.facts.source import Origin, RuleMatch, Source, Sources

_TAKES = re.compile(r"^[ \t]*(?:\.|source)[ \t][^\n;|&]{0,200}", re.MULTILINE)
"""How a script takes the functions of another one."""
Words = Callable[[Source], frozenset[bytes]]
"""The words of a source's lines that can bring something in."""


def across(
    sources: Sequence[Source], fact: str, words: Words, find_source: Sources
) -> Iterator[tuple[Source, RuleMatch]]:
    """Yield where one file runs what another one saved, by commands or by a program's calls, and what functions of another file
    bring in or run. The sources were read before."""
    foreign = dict(_foreign(sources, fact))
    functions_of = cache(functions_in)  # hashed by identity: a library is read once, however many scripts take it
    for source in sources:
        files = foreign.get(source, {})
        functions = {
            name: function._replace(first=-1, last=-1)
            for other in (sources if not source.markdown and _TAKES.search(source.text) else ())
            if other is not source and _sources(source, other.path.rpartition("/")[2])
            for name, function in functions_of(other, find_source).items()
        }
        if not (files or functions):
            continue
        kept = KeptContent(files, extents_in(source).values())
        commands = Flow(source, fact, words(source) if functions else frozenset(), find_source, kept, functions).run()
        lines = {found.line for found in commands}
        for found in (*commands, *(call for call in calls.starts(source, fact, files) if call.line not in lines)):
            yield source, found


def _sources(source: Source, name: str) -> bool:
    """Whether a script takes the functions of another one: ``. lib.sh``."""
    return _names(source, name) and any(name in match[0] for match in _TAKES.finditer(source.text))


def _names(source: Source, name: str) -> bool:
    return name.lower().encode("utf-8", "replace") in source.lowered


#: A file's name that is no everyday word, which another file may mean differently (``biome``, ``addresses``).
_DISTINCTIVE = re.compile(r"[._$%-]|\d")


def _foreign(sources: Sequence[Source], fact: str) -> Iterator[tuple[Source, dict[str, Origin]]]:
    """Each source that names files which other files of the item save (``Source.saved``), with those files."""
    every: dict[str, Origin] = {}
    for source in sources:
        for name, origin in source.saved.get(fact, {}).items():
            if len(every) < FACTS.saved_files:
                weak = not source.is_code(origin.line) or _DISTINCTIVE.search(name) is None
                every.setdefault(name, origin._replace(elsewhere=True, weak=weak))
    for source in sources if every else ():
        own = source.saved.get(fact, {})
        named = {name: origin for name, origin in every.items() if name not in own and _names(source, name)}
        if named:
            yield source, named
