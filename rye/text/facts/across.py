"""What one file of an item fetches or decodes and another file runs, whichever comes first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rye.limits import FACTS
from rye.text.facts import calls
from rye.text.facts.flow import Flow
from rye.text.facts.source import Origin, RuleMatch, Source, Sources


def across(sources: Sequence[Source], fact: str, find_source: Sources) -> Iterator[tuple[Source, RuleMatch]]:
    """Yield where one file runs what another one saved, by commands or by a program's calls. The sources were read before."""
    for source, files in _foreign(sources, fact):
        commands = Flow(source, fact, frozenset(), find_source, files).run()
        lines = {found.line for found in commands}
        for found in (*commands, *(call for call in calls.starts(source, fact, files) if call.line not in lines)):
            yield source, found


def _foreign(sources: Sequence[Source], fact: str) -> Iterator[tuple[Source, dict[str, Origin]]]:
    """Each source that names files which other files of the item save (``Source.saved``), with those files."""
    every: dict[str, Origin] = {}
    for source in sources:
        for name, origin in source.saved.get(fact, {}).items():
            if len(every) < FACTS.saved_files:
                every.setdefault(name, origin._replace(elsewhere=True))
    for source in sources if every else ():
        own = source.saved.get(fact, {})
        named = {
            name: origin
            for name, origin in every.items()
            if name not in own and name.lower().encode("utf-8", "replace") in source.lowered
        }
        if named:
            yield source, named
