"""``secret-name``: variables named like secrets. A note: most are honest configuration, but a reviewer wants the list.
``allowed-secret``: a line that looks like a secret and declares that it is none (``rye:allow-secret REASON``).

The registry lets such a line pass, so whoever installs the item sees the publisher's reason. A declaration where nothing looks
like a secret says nothing, and is not listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rye.text.facts.fact import ALLOWED_SECRET, SECRET_NAME
from rye.text.facts.source import RuleMatch, Source
from rye.text.facts.tables import word_set
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    from rye.text import secrets
else:
    secrets = lazy_module("rye.text.secrets")  # few texts declare one: the others need not read its patterns

ALLOWED = b"rye:allow-secret"
"""Without it, a text declares nothing."""

#: In capitals, anywhere.
_NAME = re.compile(
    r"(?<![A-Za-z0-9_])(?:[A-Z0-9]{1,40}_){0,8}(?:(?:[A-Z0-9]{1,30})?(?:TOKEN|SECRET|PASSWORD|PASSWD|"
    r"PASSPHRASE|APIKEY|CREDENTIALS?|MNEMONIC)|API_KEY|ACCESS_KEY|"
    r"PRIVATE_KEY|SECRET_KEY|SEED_PHRASE|AUTH_KEY|SIGNING_KEY|ENCRYPTION_KEY|PAT|PSK)(?!_(?:LIMIT|COUNT|BUDGET|SIZE|LENGTH|USAGE|WINDOW|COST|RATE|MAX|MIN|TYPE|URL|ENDPOINT|EXPIRY|TTL)\b)(?:_(?:ID|KEY|KEYS|FILE|"
    r"PATH|VALUE|BASE64|JSON|[0-9]{1,3}|[A-Z]{2,12}))?(?![A-Za-z0-9_])"
)
#: In any case, where the environment is read.
_IN_ENVIRONMENT = re.compile(
    r"(?:process\.env\.|process\.env\[[\"']|environ\[[\"']|environ\.get\([\"']|getenv\([\"']|ENV\[[\"']|\$env:|\$\{?|%)"
    r"((?:[A-Za-z0-9_]{0,120}?)(?:token|secret|password|passwd|api_?key|private_?key|access_?key|"
    r"credentials?|mnemonic))(?![A-Za-z0-9_])",
    re.IGNORECASE,
)
_PARTS: Final = tuple(
    part.encode()
    for part in (
        *("token", "secret", "password", "passwd", "passphrase", "apikey", "api_key", "accesskey", "access_key"),
        *("privatekey", "private_key", "credential", "mnemonic", "seed_phrase", "auth_key", "signing_key"),
        "encryption_key",
    )
)
"""A line is only examined if it contains one of these, in any case."""
_SHORT: Final = re.compile(r"(?<=[A-Z0-9])_(?:PAT|PSK)(?![A-Z])")
"""Short endings, in capitals: ``GITHUB_PAT``, but not ``_path``."""
_PLAIN_WORDS: Final = word_set(
    "TOKEN SECRET PASSWORD CREDENTIALS CREDENTIAL PAT PSK PASSPHRASE MNEMONIC APIKEY API_KEY PRIVATE_KEY SECRET_KEY"
)
"""Words that are also headings or shouts: they count only where they are used as variables."""


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield the names of secrets, each once per file."""
    text, starts = source.text, source.text_starts
    seen: set[str] = set()
    parts = [part for part in _PARTS if part in source.vocabulary]
    numbers = {number for part in parts for number in source.lines_of_bytes(part)}
    if "_PAT" in text or "_PSK" in text:
        numbers.update(source.line_at(match.start()) for match in _SHORT.finditer(text))
    for number in sorted(numbers):
        for pattern in (_NAME, _IN_ENVIRONMENT):
            for match in pattern.finditer(text, starts[number], starts[number + 1]):
                name = match[match.lastindex or 0]
                if name in seen or (pattern is _NAME and name in _PLAIN_WORDS and not _is_used(text, match)):
                    continue
                seen.add(name)
                yield RuleMatch(SECRET_NAME, name, number, match.start(match.lastindex or 0) - starts[number])


def _is_used(text: str, match: re.Match[str]) -> bool:
    """Whether a word that is also a heading or a shout is used as a variable."""
    before, after = text[max(0, match.start() - 2) : match.start()], text[match.end() : match.end() + 1]
    return before.endswith(("$", "{", '["', "['", ".")) or after == "="


def find_allowed(source: Source) -> Iterator[RuleMatch]:
    """Yield each declaration: what the line looks like, and the reason given."""
    for line, what, reason in secrets.declared_secrets(source.text):
        yield RuleMatch(ALLOWED_SECRET, f"{what}: {reason}", line - 1, 0)
