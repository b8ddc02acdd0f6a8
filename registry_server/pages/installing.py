"""How an item is installed from here: with rye, from nothing; and with the programs that this server serves without it
(docs/how-to/integrations.md), each with what is then not checked. Pure.
"""

from __future__ import annotations

from msgspec import Struct

from rye.registry.marketplaces import marketplace_name

_BY_GIT = "Not checked: author, log, revocation, hashes. git accepts what the server sends."
_BY_INDEX = "Not checked: author, log, revocation, hashes."
_BY_HASH = "Not checked: author, log, revocation. Its hash is compared with the one that the same server gave."


class Way(Struct, frozen=True):
    """One program that can install the item."""

    program: str
    before: str
    """Where the text goes; empty: it is typed."""
    text: str
    """Commands or a piece of a file."""
    unchecked: str
    """What this program does not check."""


def ways(
    address: str, origin: str, offers: tuple[str, ...], kind: str, identifier: str, version: str
) -> tuple[Way, ...]:
    """Return the programs that can install this item from the server; only skills mean something to them.

    ``offers``: the setting ``interoperate``. ``address``: the registry's, without a trailing slash.
    """
    if kind != "skill":
        return ()
    namespace, _, name = identifier.partition("/")
    found: list[Way] = []
    if "git" in offers:
        plugin = f"{namespace}@{marketplace_name(namespace, origin)}"
        repository = f"{address}/git/{namespace}.git"
        for program, word, verb in (
            ("Claude Code", "claude", "install"),
            ("Codex", "codex", "add"),
            ("Copilot", "copilot", "install"),
        ):
            lines = f"{word} plugin marketplace add {repository}\n{word} plugin {verb} {plugin}"
            found.append(Way(program, "", lines, _BY_GIT))
    if "skills" in offers:
        urls = f'{{ "skills": {{ "urls": ["{address}/{namespace}/.well-known/agent-skills/"] }} }}'
        found.append(Way("OpenCode", "opencode.json", urls, _BY_INDEX))
        found.append(Way("npx skills", "", f"npx skills add {address}/{namespace} --skill {name} --yes", _BY_HASH))
    if "apm" in offers:
        source = f"registries:\n  rye:\n    url: {address}/apm\n  default: rye\n"
        lines = f"{source}dependencies:\n  apm:\n    - {identifier}#^{version}"
        found.append(Way("apm", "apm.yml", lines, _BY_HASH))
    return tuple(found)
