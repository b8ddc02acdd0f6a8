"""The policy of the organization that owns a registry: what everybody who joined it may use."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar

import msgspec

from rye.registry.protocol import lines
from rye.registry.protocol.lines import Lines, malformed
from rye.registry.protocol.statements.grammar import Statement, keep_sorted
from rye.registry.protocol.statements.owners import read_contact
from rye.registry.protocol.statements.ownership import check_previous, read_previous
from rye.text.json_reading import JsonError, read_json
from rye.text.lazy import lazy_pattern

MAX_RULES = 500

_KEY = lazy_pattern(r"[a-z][a-z-]{0,39}(?:\.[!-~]{1,200})?")
_VALUES = (str, bool, int, float)
_NUMBER = lazy_pattern(r"(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,4})?")
"""A number has one spelling in all languages: those with exponents, and longer ones, are written differently."""


class OrganizationPolicy(Statement, frozen=True, kw_only=True):
    """``rye.policy/v1``: the rules of a ``[policy]`` table, until a date. Words that a reader does not know are kept: what they
    mean is decided by who follows the policy."""

    TITLE: ClassVar[str] = "rye.policy/v1"
    number: int
    previous: str | None
    """SHA-256 of the text of policy ``number - 1``."""
    time: datetime
    expires: datetime
    contact: str | None = None
    """Whom to ask: an https address or ``mailto:``."""
    rules: tuple[str, ...] = ()
    """``KEY JSON``: a key of the table, or of a table in it after a dot, and its value. A list has one rule for each member."""

    def __post_init__(self) -> None:
        keep_sorted(self, "rules", str)

    def lines(self) -> list[str]:
        """The lines in the order of the grammar; rules are sorted."""
        return [
            f"origin {self.origin}",
            f"number {self.number}",
            f"previous {self.previous or '-'}",
            f"time {lines.write_time(self.time)}",
            f"expires {lines.write_time(self.expires)}",
            *([f"contact {self.contact}"] if self.contact is not None else []),
            *(f"rule {rule}" for rule in self.rules),
        ]

    @classmethod
    def read(cls, source: Lines) -> OrganizationPolicy:
        """Read the lines; the rules must be those of one table."""
        policy = cls(
            origin=source.one("origin", lines.read_origin),
            number=source.one("number", lines.read_positive),
            previous=read_previous(source),
            time=source.one("time", lines.read_time),
            expires=source.one("expires", lines.read_time),
            contact=source.maybe("contact", read_contact),
            rules=source.many("rule", str),
        )
        check_previous(policy.number, policy.previous)
        if policy.expires <= policy.time:
            raise malformed("it expires before it begins")
        if len(policy.rules) > MAX_RULES:
            raise malformed(f"it has {len(policy.rules)} rules instead of at most {MAX_RULES}")
        if rules_of(table_of(policy.rules)) != policy.rules:
            raise malformed("its rules are not those of one table")
        return policy


def rules_of(table: Mapping[str, object]) -> tuple[str, ...]:
    """Return a table's rules, sorted. Raises StatementError for a value that no rule can hold."""
    rules: list[str] = []
    for key, value in table.items():
        rows = {f"{key}.{name}": one for name, one in value.items()} if isinstance(value, Mapping) else {key: value}
        for path, one in rows.items():
            if isinstance(one, list | tuple):
                rules += [_rule(path, [member]) for member in one] or [f"{path} []"]
            else:
                rules.append(_rule(path, one))
    return lines.in_line_order(dict.fromkeys(rules), str)


def table_of(rules: tuple[str, ...]) -> dict[str, object]:
    """Return the table that rules describe. Raises StatementError."""
    table: dict[str, object] = {}
    for rule in rules:
        path, _, text = rule.partition(" ")
        if _KEY.fullmatch(path) is None:
            raise malformed(f"{rule[:80]!r} does not begin with the key of a rule")
        try:
            value = read_json(text.encode())
        except JsonError as error:
            raise malformed(f"the value of the rule {path!r} is not JSON") from error
        key, dot, name = path.partition(".")
        inner = table.setdefault(key, {}) if dot else table
        place = name if dot else key
        if not isinstance(inner, dict):
            raise malformed(f"the rule {key!r} is a value and a table")
        members = inner.get(place)
        if isinstance(value, list) and isinstance(members, list):
            members += value
        elif place in inner:
            raise malformed(f"there are two values of the rule {path!r}")
        else:
            inner[place] = value
    return table


def _rule(path: str, value: object) -> str:
    members = value if isinstance(value, list) else [value]
    if _KEY.fullmatch(path) is None or not all(type(member) in _VALUES for member in members):
        raise malformed(f"the rule {path[:80]!r} has no value that a policy can have")
    if not all(_has_one_spelling(member) for member in members):
        numbers = f"from 0 to {lines.MAX_NUMBER} with at most 4 digits after the point"
        raise malformed(f"a number of the rule {path[:80]!r} is not one {numbers}")
    try:
        return f"{path} {msgspec.json.encode(value).decode()}"
    except UnicodeError as error:  # half of a surrogate pair
        raise malformed(f"the value of the rule {path[:80]!r} cannot be written") from error


def _has_one_spelling(value: object) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return 0 <= value <= lines.MAX_NUMBER and _NUMBER.fullmatch(msgspec.json.encode(value).decode()) is not None
    return True
