"""``pipe-to-shell`` in sentences: an archive is fetched, opened with a password that stands beside it, and what it holds is run.

``Download [tool.zip](https://…) (extract using pass: `1234`) and run the executable``, also as the steps of a list. A password
that everybody can read protects nothing. It keeps a scanner from looking into the archive. The same holds for a page that
anybody can write (a paste), from which the reader is to copy a command.

Without the password, or elsewhere than on such a page, the order is ``remote-instructions``.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from rye.text.facts import addresses
from rye.text.facts.fact import PIPE_TO_SHELL
from rye.text.facts.source import RuleMatch, Source
from rye.text.facts.tables import triggers, word_set

_PASSWORD_WORDS: Final = triggers("password pass passwd pwd passcode passphrase extract unzip unpack")
_RUN_WORDS: Final = triggers("run execute launch open start double install paste enter")
_FETCH_WORDS: Final = triggers("download get fetch grab visit go open")
#: An archive or a program, by the end of its address or by the name of its link.
_ARCHIVE = re.compile(r"\.(?:zip|rar|7z|exe|msi|dmg|pkg|iso|img|scr|cab|tgz|tar(?:\.\w{2,3})?)\b", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://[^\s\"'`<>|\\)\]}]{3,300}")
#: A password with its value, or what an archive is opened with.
_PASSWORD = re.compile(
    r"\bpass(?:word|code|phrase|wd)?\b[*_`\"')]{0,4}\s{0,3}(?:is\b|[:=])\s{0,3}[*_`\"'(]{0,4}[\w@#!$.-]{1,40}|\bpwd\s{0,3}[:=]\s{0,3}\S|"
    r"\b(?:extract|unzip|unpack|decrypt|unlock|open)\w{0,3}\b[^\n.]{0,30}\b(?:using|with)(?:\s+(?:the\s+)?(?:archive\s+)?pass\w{0,6})?"
    r"[*_]{0,2}\s{0,3}[:=]?\s{0,3}(?:[*_`\"']{1,4}[\w@#!$.-]{1,40}[*_`\"']|(?<=:\s)\w{3,20}\))",
    re.IGNORECASE,
)
#: An order to run what was in it.
_RUNS = re.compile(
    r"\b(?:run|execute|launch|start|open|double-click|install)\b[*_]{0,2}[^\n.;]{0,20}?"
    r"(?:[\w-]{1,40}\.(?:exe|msi|app|pkg|dmg|bat|cmd|scr|command|sh)\b|"
    r"\b(?:the|it)\b(?:\s+\w+){0,2}?\s*(?:executable|installer|binary|program|tool|utility|setup|app|application)?\b)",
    re.IGNORECASE,
)
_RUNS_PROGRAM = re.compile(
    r"\.(?:exe|msi|app|pkg|dmg|bat|cmd|scr|command|sh)\b|\b(?:executable|installer|binary|program|tool|utility|setup|app|application)\b|"
    r"\b(?:run|execute|launch)\s+it\b",
    re.IGNORECASE,
)
_COPIES_COMMAND = re.compile(
    r"\b(?:run|execute|paste|copy|enter)\s+(?:\w+\s+){0,4}?(?:commands?|scripts?|one-liner|snippet|code)\b",
    re.IGNORECASE,
)
#: Services on which anybody leaves a text under an address that says nothing about its author.
_PASTES: Final = word_set(
    "glot.io pastebin.com rentry.co rentry.org hastebin.com paste.ee dpaste.com dpaste.org ghostbin.com controlc.com "
    "justpaste.it telegra.ph paste.rs ix.io 0x0.st termbin.com pastes.dev codepad.org ideone.com write.as txt.fyi"
)
_STEPS: Final = 700
"""How many characters the steps take together, on each side of the address."""
_SENTENCE: Final = 200


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield the addresses of archives and pastes that the reader is told to fetch and to run."""
    if not source.has(_RUN_WORDS) or not source.has(_FETCH_WORDS) or "://" not in source.text or not source.markdown:
        return
    text = source.text
    locked = source.has(_PASSWORD_WORDS)
    passwords = [match.start() for match in _PASSWORD.finditer(text)] if locked else []
    seen: set[int] = set()
    for address in source.addresses:
        line = source.line_at(address.start)
        match = _ADDRESS.match(text, address.start)
        if match is None or line in seen or source.is_code(line):
            continue
        value = match[0].rstrip(".,;:!?*_")
        if (passwords and _is_run_with(source, address, value, passwords)) or _is_copied(text, address):
            seen.add(line)
            yield RuleMatch(PIPE_TO_SHELL, value, line, address.start - source.text_starts[line])


def _is_run_with(source: Source, address: addresses.Address, value: str, passwords: list[int]) -> bool:
    """Whether an archive's address has a password and an order to run what it holds close to it."""
    text = source.text
    line = source.lines[source.line_at(address.start)]
    if _ARCHIVE.search(value) is None and _ARCHIVE.search(line) is None:
        return False
    first, last = address.start - _SENTENCE, address.start + _STEPS
    at = bisect_left(passwords, first)
    if at == len(passwords) or passwords[at] > last:
        return False
    return any(_RUNS_PROGRAM.search(order[0]) for order in _RUNS.finditer(text, address.end, last))


def _is_copied(text: str, address: addresses.Address) -> bool:
    """Whether the sentence has the reader copy a command from a paste."""
    host = address.host.removeprefix("www.")
    return host in _PASTES and _COPIES_COMMAND.search(text, address.end, address.end + _SENTENCE) is not None
