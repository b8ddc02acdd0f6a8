"""``rye info``: show everything about a published item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from rye.cli.console import TIER_STYLE
from rye.cli.options import Session, command
from rye.cli.project.consent_screen import run_line
from rye.cli.use.indented import indented_lines
from rye.consent.sorts import run_document
from rye.describing import words
from rye.describing.description import COUNTED, counted_document
from rye.describing.right_words import right_words, tool_words
from rye.items.agent_tools import AgentTools
from rye.permissions.risk import tiers
from rye.registry.protocol.lines import write_time
from rye.signing.keys import PublicKey
from rye.workspace.installing.consent import mention_document
from rye.workspace.registries.item_info import (
    ItemContent,
    SourceInfo,
    item_info,
    item_page,
    page_address,
    source_info,
    whole_reference,
)
from rye.workspace.registries.owner_words import owner_document, owner_lines
from rye.workspace.registries.published_items import registry_of


def _content(content: ItemContent | None) -> dict[str, Any]:
    """The fields from the item's own files; null where the files are not available."""
    if content is None:
        return {"agent_tools": None, "agent_limits": None, "runs": None, "facts": None}
    tools = content.agent_tools
    return {
        "agent_tools": list(tools.names) if tools else [],
        "agent_limits": list(tools.limits) if tools else [],
        "runs": [run_document(run) for run in content.runs],
        "facts": [mention_document(mention) for mention in content.mentions],
    }


def _open_page(session: Session, item: str) -> None:
    """Open the page in a browser, if this is a terminal and one starts; otherwise print its address."""
    page = item_page(session, item)
    opened = False
    if session.interactive:
        from rye.cli.use import browser  # its imports would slow down every other `rye info`

        opened = browser.open_page(page.address, session.environment)
    session.console.answer(
        {"kind": page.identity.kind, "id": page.identity.id, "page": page.address, "opened": opened},
        f"opened {page.address}" if opened else page.address,
    )


def _show_source(session: Session, found: SourceInfo) -> None:
    """Show an item of ``[sources]``: the fields of published items that apply, and its source."""
    row, signed = found.row, found.words
    source = row.source.as_json() if row.source is not None else {}
    document: dict[str, Any] = {
        "kind": row.kind,
        "id": row.id,
        "version": row.version,
        "registry": None,
        "source": source,
        "signers": [] if row.is_unsigned else [row.signer],
        "signer": row.signed_by,
        "size": row.size,
        "sha256": row.sha256,
        "attached": [{"path": a.path, "size": a.size, "executable": a.executable} for a in row.attached],
        "depends_on": [f"{r.identity}@{r.range}" for r in signed.depends_on],
        "requires": [f"{r.identity or r.reference}@{r.range}" for r in signed.requires],
        "conflicts_with": [f"{r.identity}@{r.range}" for r in signed.conflicts_with],
        "capabilities": _with_tiers(row.capabilities),
        "hooks": [f"{hook.item_type} {hook.item_id}" for hook in row.hooks],
        "agent_tools": list(row.agent_tools),
        "agent_limits": list(row.agent_limits),
        "runs": [run_document(run) for run in signed.runs],
        "facts": [mention_document(mention) for mention in signed.mentions or ()],
    }
    said = words.said(found.description, session.now()) if found.description is not None else ()
    document |= {**counted_document(found.description), "said": words.said_document(said)}
    if session.json:
        session.console.document(document)
        return
    flat = {
        **_for_people(document, said),
        "source": [f"{key}: {value}" for key, value in source.items() if value],
        "capabilities": _rights_lines(row.capabilities),
        "agent_tools": _tools_lines(row.tools),
        "runs": [run_line(run) for run in signed.runs],
        "facts": words.warned_lines(signed.mentions or ()),
    }
    _show(session, flat, ("signer",) if row.is_unsigned else (), said)


@command("info")
@click.argument("item", metavar="[KIND:]ID[@VERSION]")
@click.option("--web", is_flag=True, help="Open the item's page in a browser, or print its address.")
@click.option("--check-owner", is_flag=True, help="Ask the domains and repositories of its owners, from this machine.")
@click.pass_obj
def info(session: Session, item: str, web: bool, check_owner: bool) -> None:
    """Show a published item: its versions, signer, rights, dependencies, and whether it was yanked or deprecated."""
    item = whole_reference(session, item)
    if web:
        _open_page(session, item)
        return
    given = source_info(session, item)
    if given is not None:
        _show_source(session, given)
        return
    found = item_info(session, item, checks_owner=check_owner)
    identity, record, history, pending = found.identity, found.record, found.history, found.pending
    release = record.release
    document: dict[str, Any] = {
        "kind": identity.kind,
        "id": identity.id,
        "version": release.version,
        "description": release.description,
        "registry": found.origin,
        "page": page_address(registry_of(session, item), identity, release.version),
        "time": write_time(release.time),
        "log": record.line.log,
        **({"cosigned_by": list(found.cosigned_by)} if found.cosigned_by else {}),
        "keyset": release.keyset,
        "signers": [PublicKey(key).fingerprint for key in record.signers],
        "owner": owner_document(found.owners, session.now(), found.checks),
        "pending_recovery": write_time(pending.keyset.recovery) if pending and pending.keyset.recovery else None,
        "pending_keys": [PublicKey(key).fingerprint for key in pending.keyset.keys] if pending else [],
        "size": release.file.size,
        "sha256": release.file.sha256,
        "attached": [{"path": a.path, "size": a.size, "executable": a.executable} for a in release.attached],
        "depends_on": [f"{r.identity}@{r.range}" for r in release.depends_on],
        "requires": [f"{r.identity or r.reference}@{r.range}" for r in release.requires],
        "conflicts_with": [f"{r.identity}@{r.range}" for r in release.conflicts_with],
        "capabilities": _with_tiers(release.capabilities),
        "hooks": [f"{hook.item_type} {hook.item_id}" for hook in release.hooks],
        **_content(found.content),
        "yanked": record.yank.reason if record.yank else None,
        "revoked": record.revoked,
        "taken_down": record.takedown.reason if record.takedown is not None else None,
        "deprecated": history.deprecation.reason if history.deprecation else None,
        "replacement": str(history.deprecation.replacement)
        if history.deprecation and history.deprecation.replacement
        else None,
        "advisories": [
            {"number": a.number, "severity": a.severity, "range": a.range, "title": a.title} for a in record.advisories
        ],
        "versions": [
            {
                "version": r.version,
                "time": write_time(r.release.time),
                "yanked": r.yank is not None,
                "yank_reason": r.yank.reason if r.yank is not None else None,
                "revoked": r.revoked,
                "taken_down": r.takedown is not None,
                "takedown_reason": r.takedown.reason if r.takedown is not None else None,
            }
            for r in history.records
        ],
    }
    description = found.description
    said = words.said(description, session.now(), advisories=len(record.advisories)) if description is not None else ()
    counted = counted_document(found.content.description if found.content is not None else None)
    document |= {**counted, "said": words.said_document(said)}
    if session.json:
        session.console.document(document)
        return
    versions = [_version_line(each) for each in document["versions"]]
    runs = [run_line(run) for run in found.content.runs] if found.content else []
    flat = {
        **_for_people(document, said),
        "owner": owner_lines(found.owners, session.now(), found.checks),
        "versions": versions,
        "capabilities": _rights_lines(release.capabilities),
        "agent_tools": _tools_lines(found.content.agent_tools) if found.content else [],
        "runs": runs,
        "facts": words.warned_lines(found.content.mentions) if found.content else [],
        "revoked": "yes" if record.revoked else None,
    }
    _show(session, flat, _BAD, said)


def _version_line(row: Mapping[str, Any]) -> str:
    """A version, and why it is withdrawn."""
    why = [f"taken down: {row['takedown_reason']}"] if row["taken_down"] else []
    why += [f"yanked: {row['yank_reason']}"] if row["yanked"] else []
    return f"{row['version']} ({'; '.join(why)})" if why else str(row["version"])


def _for_people(document: Mapping[str, Any], said: Sequence[words.Said]) -> dict[str, Any]:
    """The document with what everybody is told first, without the same as numbers."""
    rest = {key: entry for key, entry in document.items() if key not in (*COUNTED, "said", "size")}
    first: dict[str, Any] = {key: rest.pop(key) for key in ("kind", "id", "version", "description") if key in rest}
    told: dict[str, str] = {row.subject: row.words for row in said}
    if told.get("warnings") == words.NO_WARNINGS and (rest["depends_on"] or rest["requires"]):
        told["warnings"] += f" of its own; `rye add {first['kind']}:{first['id']} --dry-run` shows what it brings"
    return {**first, **told, **rest}


_BAD = ("taken_down", "yanked", "revoked", "advisories", "pending_recovery", "pending_keys")
"""Fields that warn about a release. A terminal shows them first."""
_WARNED = ("deprecated", "replacement")
_LEVELS = {**TIER_STYLE, "caution": "warning", "alarm": "error"}


def _show(session: Session, flat: Mapping[str, Any], bad: Sequence[str], said: Sequence[words.Said]) -> None:
    """Print the document for people: on a terminal with warnings first, and in colour."""
    if session.console.on_terminal:
        first = [key for key in (*bad, *_WARNED) if flat.get(key)]
        flat = {**{key: flat[key] for key in first}, **flat}
    styles: dict[str, str | None] = {row.subject: _LEVELS.get(row.level) for row in said}
    for key, entry in flat.items():
        style = "removed" if key in bad else "warning" if key in _WARNED else None
        for line in indented_lines({key: entry}):
            word = line.removeprefix("  - ").partition(" ")[0]
            own = style or styles.get(key) or (_LEVELS.get(word) if key in ("capabilities", "facts") else None)
            session.console.line((line, own), hang=len(line) - len(line.lstrip(" ")) + 4)


def _with_tiers(capabilities: Sequence[str]) -> list[dict[str, str]]:
    levels = tiers(capabilities)
    return [
        {"capability": capability, "tier": str(levels[capability]), "words": right_words(capability)}
        for capability in capabilities
    ]


def _rights_lines(capabilities: Sequence[str]) -> list[str]:
    """The tier and the text of each right, and what it allows."""
    return [f"{c['tier']}  {c['capability']}: {c['words']}" for c in _with_tiers(capabilities)]


def _tools_lines(tools: AgentTools | None) -> list[str]:
    """Each tool of the agent program, and what it allows."""
    return [f"{name}: {tool_words(name, tools)}" for name in tools.names] if tools is not None else []
