"""Rules across a folder of roles, a closed set: known and mutual hand-offs, inputs with a source (DECISIONS Roles 2, 3, 5)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from rye.items.reading import Reading, ReadOptions
from rye.items.role.model import Role
from rye.items.role.sections import ALWAYS_KNOWN, EVERYONE, NEXUS, Mention
from rye.text.diagnostics import Diagnostic, in_order
from rye.text.spelling import near_miss

_WORD = re.compile(r"[A-Z][\w'-]*")
_DOCUMENTS_WORDS = (
    "adr adrs artifact artifacts baseline brief briefs codebase contract contracts definition document documents "
    "gate history instruction instructions list lists log logs manifest manifests note notes output outputs "
    "overview plan plans prototype record records register report reports request requests requirements review "
    "reviews spec specs specification summary summaries test tests trail"
)
_DOCUMENTS = frozenset(_DOCUMENTS_WORDS.split())
"""Last words of phrases that name the thing handed over, not the role that hands it over."""


def check_set(
    readings: Mapping[str, Reading[Role]], options: ReadOptions | None = None
) -> dict[str, tuple[Diagnostic, ...]]:
    """Return findings by path, in path order. A file that did not parse is not a role of the set."""
    roles = {path: value for path in sorted(readings) if (value := readings[path].value) is not None}
    by_name: dict[str, Role] = {}
    found: dict[str, list[Diagnostic]] = {path: [] for path in roles}
    paths: dict[str, str] = {}
    for path, role in roles.items():
        key = role.name.casefold()
        if key in by_name:
            message = f"The role {role.name!r} is defined in {paths[key]} and in {path}."
            for place in (paths[key], path):
                found[place].append(Diagnostic("error", "N34", message, 1))
        else:
            by_name[key], paths[key] = role, path
    for path, role in roles.items():
        for mention in role.hands_off_to:
            found[path] += _hand_off(role, mention, by_name)
        for mention in role.receives_from:
            found[path] += _receipt(role, mention, by_name)
        for mention in role.inputs:
            if _is_a_role(mention.name) and not _mentions_known(mention.name, by_name):
                message = f"An input has no source: no role of this set is named {mention.name!r}."
                found[path].append(Diagnostic("warning", "N33", message, mention.line))
    return {path: in_order(findings) for path, findings in found.items() if findings}


def _always_known(name: str) -> bool:
    return name.casefold() in ALWAYS_KNOWN


def _hand_off(role: Role, mention: Mention, by_name: Mapping[str, Role]) -> Iterable[Diagnostic]:
    if _always_known(mention.name):
        return
    other = by_name.get(mention.name.casefold())
    if other is None:
        meant = near_miss(mention.name, [known.name for known in by_name.values()])
        message = f"A hand-off names an unknown role: {mention.name!r}."
        hint = f"Did you mean {meant}?" if meant else "Add the role to this folder, or name an existing one."
        yield Diagnostic("error", "N31", message, mention.line, hint=hint)
    elif not _named(other.receives_from, role.name):
        message = f"{role.name} hands off to {other.name}, whose hand-off protocol does not mention {role.name}."
        yield Diagnostic("warning", "N32", message, mention.line)


def _receipt(role: Role, mention: Mention, by_name: Mapping[str, Role]) -> Iterable[Diagnostic]:
    if _always_known(mention.name):
        return
    other = by_name.get(mention.name.casefold())
    if other is None:
        yield Diagnostic(
            "warning", "N33", f"An input has no source: {mention.name!r} is not a role of this set.", mention.line
        )
    elif not _named(other.hands_off_to, role.name):
        message = f"{role.name} receives from {other.name}, whose hand-off protocol does not mention {role.name}."
        yield Diagnostic("warning", "N32", message, mention.line)


def _named(mentions: Iterable[Mention], name: str) -> bool:
    return any(m.name.casefold() == name.casefold() or m.name.casefold() in EVERYONE for m in mentions)


def _is_a_role(phrase: str) -> bool:
    """Whether a source in the input contract reads like a role's name: capitalized words, the last not a kind of document."""
    words = phrase.split()
    return all(_WORD.fullmatch(word) for word in words) and words[-1].casefold() not in _DOCUMENTS


def _mentions_known(phrase: str, by_name: Mapping[str, Role]) -> bool:
    folded = phrase.casefold()
    if _always_known(phrase) or NEXUS.casefold() in folded.split():
        return True
    return any(re.search(rf"(?<!\w){re.escape(name)}s?(?!\w)", folded) for name in by_name)
