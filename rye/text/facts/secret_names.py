"""``secret-name``: variables that are named like secrets. A note: most are honest configuration, but a reader wants the list."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rye.text.facts.fact import SECRET_NAME
from rye.text.facts.source import Found, Source

_SUFFIXES = (
    *("TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY"),
    *("CREDENTIAL", "MNEMONIC", "SEED_PHRASE", "AUTH_KEY", "SIGNING_KEY", "ENCRYPTION_KEY", "_PAT", "_PSK"),
)
_NAME = re.compile(
    r"(?<![A-Za-z0-9_])(?:[A-Z0-9]{1,40}_){0,8}(?:(?:[A-Z0-9]{1,30})?(?:TOKEN|SECRET|PASSWORD|PASSWD|"
    r"PASSPHRASE|APIKEY|CREDENTIALS?|MNEMONIC)|API_KEY|ACCESS_KEY|"
    r"PRIVATE_KEY|SECRET_KEY|SEED_PHRASE|AUTH_KEY|SIGNING_KEY|ENCRYPTION_KEY|PAT|PSK)(?:_(?:ID|KEY|KEYS|FILE|"
    r"PATH|VALUE|BASE64|JSON|[0-9]{1,3}|[A-Z]{2,12}))?(?![A-Za-z0-9_])"
)
_IN_ENVIRONMENT = re.compile(
    r"(?:process\.env\.|process\.env\[[\"']|environ\[[\"']|environ\.get\([\"']|getenv\([\"']|ENV\[[\"']|\$env:|\$\{?)"
    r"((?:[A-Za-z0-9]{1,30}_?){0,6}?(?:token|secret|password|passwd|api_?key|private_?key|access_?key|"
    r"credentials?|mnemonic))(?![A-Za-z0-9_])",
    re.IGNORECASE,
)
_MARKS = ("process.env", "environ", "getenv", "ENV[", "$env:", "$")
_LOWER = (b"token", b"secret", b"passw", b"key", b"credential", b"mnemonic", b"phrase", b"_pat", b"_psk")
_PLAIN_WORDS = frozenset(
    (
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "CREDENTIALS",
        "CREDENTIAL",
        "PAT",
        "PSK",
        "PASSPHRASE",
        "MNEMONIC",
        "APIKEY",
        "API_KEY",
        "PRIVATE_KEY",
        "SECRET_KEY",
    )
)


def find(source: Source) -> Iterator[Found]:
    """Names of secrets, each once for the file."""
    text = source.text
    seen: set[str] = set()
    joined = b" ".join(source.words)
    if not any(part in joined for part in _LOWER):
        return
    if any(part in joined for part in _PARTS):
        for match in _candidates(source):
            if match[0] not in seen and (match[0] not in _PLAIN_WORDS or _is_used(text, match)):
                seen.add(match[0])
                yield _found(source, match[0], match.start())
    if any(mark in text for mark in _MARKS):
        for match in _IN_ENVIRONMENT.finditer(text):
            if match[1] not in seen:
                seen.add(match[1])
                yield _found(source, match[1], match.start(1))


def _candidates(source: Source) -> Iterator[re.Match[str]]:
    """Where a word stands, in capitals, that ends like the name of a secret: looked for among the words, not in the text."""
    words = b" ".join(source.words)
    spelled: set[bytes] = set()
    for part in _PARTS:
        at = words.find(part)
        while at >= 0:
            start, end = words.rfind(b" ", 0, at) + 1, words.find(b" ", at)
            spelled.add(words[start : end if end >= 0 else None])
            at = words.find(part, end) if end >= 0 else -1
    for word in sorted(spelled):
        name = word.decode().upper()
        if len(name) > 100:
            continue
        at = source.text.find(name)
        while at >= 0:
            match = _NAME.match(source.text, at)
            if match is not None and match[0] == name:
                yield match
                break
            at = source.text.find(name, at + len(name))


_PARTS = tuple(suffix.lower().encode() for suffix in _SUFFIXES)


def _is_used(text: str, match: re.Match[str]) -> bool:
    """Whether a word that is also a heading or a shout is used as a variable."""
    before, after = text[max(0, match.start() - 2) : match.start()], text[match.end() : match.end() + 1]
    return before.endswith(("$", "{", '["', "['", ".")) or after == "="


def _found(source: Source, value: str, start: int) -> Found:
    line = source.line_at(start)
    return Found(SECRET_NAME, value, line, start - source.text_starts[line])
