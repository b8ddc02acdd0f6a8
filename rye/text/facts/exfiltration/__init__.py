"""``secret-path`` as an alarm: what is kept in a place of secrets is read and sent.

A place that is only named is a caution (:mod:`rye.text.facts.secret_paths`), and so is a whole environment that a program writes
out (:mod:`rye.text.facts.environment`). On command lines the content is followed through pipes, files and names
(:mod:`rye.text.facts.flow`) until a command sends it: as data, as a file, or within an address. In a program, the place leads to
the call that reads it, and that to the call that sends. A sentence is read by itself: it names a place, sending, and where to.

What a service is made to be given is none: a header, a user, a certificate, a key that a connection uses, one setting out of a
file of them, a public key.
"""

from __future__ import annotations

from collections.abc import Iterator

from rye.text.facts.exfiltration import commands, programs, sentences
from rye.text.facts.secret_paths import SETTINGS, STORE, lines_of
from rye.text.facts.source import RuleMatch, Source


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield every place where secrets, or the whole environment, are sent. :func:`rye.text.facts.secret_paths.find` has read the
    file before."""
    stores, settings = lines_of(source, STORE), lines_of(source, SETTINGS)
    places = stores | settings
    yield from commands.find(source, places)
    if b"dotenv_values" in source.words:
        settings = settings | set(source.lines_with(frozenset((b"dotenv_values",))))
    stores = stores | programs.reads_store(source)
    if stores or settings:
        yield from programs.find(source, stores, settings)
    if b"tojson" in source.words:
        yield from programs.find_in_workflows(source)
    yield from sentences.find(source, places)
