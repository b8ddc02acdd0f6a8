"""The tables ``[[upstream]]`` of registry.toml: other registries that this one serves, and what it holds back of them.

::

    [[upstream]]
    address = "https://registry.example.org"
    fingerprint = "…"                              # SHA-256 of its first root, as its operator publishes it
    namespaces = ["acme", "tools"]                 # only these are served
    block = ["skill:acme/old", "directive:acme/deploy@1.2.0"]
    minimum-release-age = "3d"
    facts = ["pipe-to-shell"]                      # a release whose texts show one of these is held back

Unknown words are errors, and so is a namespace in two tables: each namespace comes from one registry.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.registry.protocol.lines import read_identity, read_namespace, read_version
from rye.registry.transport.factory import open_transport
from rye.text.facts import FACTS

MOST_UPSTREAMS = 20
MOST_NAMESPACES = 500
MOST_BLOCKED = 5_000
_HOURS = {"h": 1, "d": 24, "w": 24 * 7}
_WORDS = frozenset({"address", "fingerprint", "namespaces", "block", "minimum-release-age", "facts"})


class Upstream(Struct, frozen=True, kw_only=True):
    """Another registry that this one serves."""

    address: str
    fingerprint: str
    namespaces: tuple[str, ...]
    block: tuple[str, ...] = ()
    """``KIND:NAMESPACE/NAME``, for all its releases, or with ``@VERSION``, for one."""
    minimum_release_age: int = 0
    """Seconds."""
    facts: tuple[str, ...] = ()
    """Names of facts (:data:`rye.text.facts.FACTS`)."""

    def blocks(self, identity: str, version: str) -> bool:
        """Whether the operator keeps out this release."""
        return identity in self.block or f"{identity}@{version}" in self.block


def read_upstreams(written: object, where: str) -> tuple[Upstream, ...]:
    """Read the tables. ``where``: the file, for messages. Raises UsageError ``bad-setting``, ``unknown-name``."""
    if not isinstance(written, list) or not all(isinstance(table, dict) for table in written):
        raise _bad(where, "upstream is not a list of tables", "Write [[upstream]], with two brackets.")
    found = tuple(_read(table, where) for table in written)
    if len(found) > MOST_UPSTREAMS:
        raise _bad(where, f"there are {len(found)} upstreams", f"At most {MOST_UPSTREAMS} are possible.")
    names = [name for upstream in found for name in upstream.namespaces]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise _bad(where, f"the namespace {twice!r} is listed twice", "Each namespace comes from one registry.")
    if len({upstream.fingerprint for upstream in found}) < len(found):
        raise _bad(where, "two upstreams have the same fingerprint", "Write one table for each registry.")
    return found


def _read(table: dict[str, Any], where: str) -> Upstream:
    strange = sorted(set(table) - _WORDS)
    if strange:
        hint = f"Words of [[upstream]]: {', '.join(sorted(_WORDS))}."
        raise UsageError(
            "unknown-name", f"{strange[0]} in [[upstream]] of {where} is not a setting.", hint, what="setting"
        )
    address, fingerprint = _text(table, "address", where), _text(table, "fingerprint", where)
    try:
        open_transport(address).close()
    except UsageError as error:
        raise _bad(where, error.message, error.hint) from error
    if re.fullmatch("[0-9a-f]{64}", fingerprint) is None:
        raise _bad(where, f"fingerprint is {fingerprint[:80]!r}", "It has 64 digits, 0-9 and a-f.")
    namespaces = _texts(table, "namespaces", where, MOST_NAMESPACES)
    if not namespaces:
        raise _bad(where, "namespaces is missing or empty", "List each namespace that is served.")
    block = _texts(table, "block", where, MOST_BLOCKED)
    try:
        for namespace in namespaces:
            read_namespace(namespace)
        for blocked in block:
            identity, at, version = blocked.partition("@")
            read_identity(identity)
            if at:
                read_version(version)
    except RyeError as error:
        raise _bad(where, error.message, "Write items as KIND:NAMESPACE/NAME, or with @VERSION.") from error
    facts = _texts(table, "facts", where, len(FACTS))
    unknown = next((name for name in facts if name not in FACTS), None)
    if unknown is not None:
        raise _bad(where, f"facts lists {unknown!r}", f"Facts: {', '.join(FACTS)}.")
    return Upstream(
        address=address.rstrip("/"),
        fingerprint=fingerprint,
        namespaces=namespaces,
        block=block,
        minimum_release_age=_age(table, where),
        facts=facts,
    )


def _age(table: dict[str, Any], where: str) -> int:
    text = table.get("minimum-release-age", "0h")
    found = re.fullmatch(r"(\d{1,5})([hdw])", text) if isinstance(text, str) else None
    if found is None:
        raise _bad(where, f"minimum-release-age is {text!r}", "Write it like 36h, 3d or 2w.")
    return int(found[1]) * _HOURS[found[2]] * 3600


def _text(table: dict[str, Any], name: str, where: str) -> str:
    value = table.get(name)
    if not isinstance(value, str):
        raise _bad(where, f"{name} is missing or not a text", None)
    return value


def _texts(table: dict[str, Any], name: str, where: str, most: int) -> tuple[str, ...]:
    value = table.get(name, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise _bad(where, f"{name} is not a list of texts", None)
    if len(value) > most or len(set(value)) < len(value):
        raise _bad(where, f"{name} lists something twice, or more than {most}", None)
    return tuple(value)


def _bad(where: str, what: str, hint: str | None) -> UsageError:
    return UsageError("bad-setting", f"[[upstream]] in {where}: {what.rstrip('.')}.", hint)
