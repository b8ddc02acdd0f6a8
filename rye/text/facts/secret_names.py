"""``secret-name``: variables that are named like secrets. A note: most are honest configuration, but a reader wants the list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rye.text.facts.fact import SECRET_NAME
from rye.text.facts.source import Found, Source
from rye.text.facts.tables import word_set

#: In capitals, wherever it stands.
_NAME = re.compile(
    r"(?<![A-Za-z0-9_])(?:[A-Z0-9]{1,40}_){0,8}(?:(?:[A-Z0-9]{1,30})?(?:TOKEN|SECRET|PASSWORD|PASSWD|"
    r"PASSPHRASE|APIKEY|CREDENTIALS?|MNEMONIC)|API_KEY|ACCESS_KEY|"
    r"PRIVATE_KEY|SECRET_KEY|SEED_PHRASE|AUTH_KEY|SIGNING_KEY|ENCRYPTION_KEY|PAT|PSK)(?:_(?:ID|KEY|KEYS|FILE|"
    r"PATH|VALUE|BASE64|JSON|[0-9]{1,3}|[A-Z]{2,12}))?(?![A-Za-z0-9_])"
)
#: In any case, where the environment is read.
_IN_ENVIRONMENT = re.compile(
    r"(?:process\.env\.|process\.env\[[\"']|environ\[[\"']|environ\.get\([\"']|getenv\([\"']|ENV\[[\"']|\$env:|\$\{?|%)"
    r"((?:[A-Za-z0-9]{1,30}_?){0,6}?(?:token|secret|password|passwd|api_?key|private_?key|access_?key|"
    r"credentials?|mnemonic))(?![A-Za-z0-9_])",
    re.IGNORECASE,
)
_PARTS: Final = tuple(
    part.encode()
    for part in (
        *("token", "secret", "password", "passwd", "passphrase", "apikey", "api_key", "accesskey", "access_key"),
        *("privatekey", "private_key", "credential", "mnemonic", "seed_phrase", "auth_key", "signing_key"),
        *("encryption_key", "_pat", "_psk"),
    )
)
"""What a word must hold to be looked at."""
_LONGEST: Final = 120
_PLAIN_WORDS: Final = word_set(
    "TOKEN SECRET PASSWORD CREDENTIALS CREDENTIAL PAT PSK PASSPHRASE MNEMONIC APIKEY API_KEY PRIVATE_KEY SECRET_KEY"
)
"""Words that are also headings and shouts: they count where they are used as variables."""


def find(source: Source) -> Iterator[Found]:
    """Names of secrets, each once for the file."""
    text, starts = source.text, source.text_starts
    seen: set[str] = set()
    for number in source.lines_with(_candidates(source)):
        for pattern in (_NAME, _IN_ENVIRONMENT):
            for match in pattern.finditer(text, starts[number], starts[number + 1]):
                name = match[match.lastindex or 0]
                if name in seen or (pattern is _NAME and name in _PLAIN_WORDS and not _is_used(text, match)):
                    continue
                seen.add(name)
                yield Found(SECRET_NAME, name, number, match.start(match.lastindex or 0) - starts[number])


def _candidates(source: Source) -> frozenset[bytes]:
    """The file's words in which the name of a secret stands."""
    joined = b" ".join(source.words)
    found = set()
    for part in _PARTS:
        at = joined.find(part)
        while at >= 0:
            end = joined.find(b" ", at)
            found.add(joined[joined.rfind(b" ", 0, at) + 1 : end if end >= 0 else None])
            at = joined.find(part, end) if end >= 0 else -1
    return frozenset(word for word in found if len(word) <= _LONGEST)


def _is_used(text: str, match: re.Match[str]) -> bool:
    """Whether a word that is also a heading or a shout is used as a variable."""
    before, after = text[max(0, match.start() - 2) : match.start()], text[match.end() : match.end() + 1]
    return before.endswith(("$", "{", '["', "['", ".")) or after == "="
