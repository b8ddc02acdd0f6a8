"""What the operator of a registry set: who is responsible (links in the foot of every page, ``security.txt``, reports), and which
programs other than rye can install from it (docs/how-to/integrations.md), each with what is then not checked. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from urllib.parse import quote

from msgspec import Struct

from registry_server.settings import Settings
from rye.registry.marketplaces import marketplace_name
from rye.registry.protocol.lines import write_time

SECURITY_PATH = "/.well-known/security.txt"
_BY_GIT = "Not checked: author, log, revocation, hashes. git accepts what the server sends."
_BY_INDEX = "Not checked: author, log, revocation, hashes."
_BY_HASH = "Not checked: author, log, revocation. Its hash is compared with the one that the same server gave."
_VALID = timedelta(days=180)
"""How long a ``security.txt`` may be believed; RFC 9116 recommends less than a year."""


class Operator(Struct, frozen=True, kw_only=True):
    """The settings of the same names. The first six are addresses with ``https:`` or ``mailto:``; empty: not set."""

    about: str = ""
    contact: str = ""
    terms: str = ""
    report: str = ""
    docs: str = ""
    security: str = ""
    offers: tuple[str, ...] = ()
    """What other programs can read: the setting ``interoperate``."""
    is_private: bool = False
    """Whether the registry is only for members."""

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """Words and address of each link in the foot."""
        named = (
            ("About this registry", self.about),
            ("Contact", self.contact),
            ("Terms", self.terms),
            ("Documentation", self.docs),
            ("Security", SECURITY_PATH if self.security or self.contact else ""),
        )
        return tuple((words, address) for words, address in named if address)

    def report_of(self, item: str, page: str) -> str:
        """The address at which an item can be reported, with the item filled in; empty: nowhere."""
        where = self.report or self.contact
        if where.startswith("mailto:"):
            mark = "&" if "?" in where else "?"
            return f"{where}{mark}subject={quote(f'Report: {item}')}&body={quote(page)}"
        return f"{where}{'&' if '?' in where else '?'}item={quote(item, safe='')}" if where else ""


def operator_of(settings: Settings) -> Operator:
    """Return what the settings say."""
    return Operator(
        about=settings.about,
        contact=settings.contact,
        terms=settings.terms,
        report=settings.report,
        docs=settings.docs,
        security=settings.security,
        offers=settings.interoperate,
        is_private=settings.read != "public",
    )


def security_text(operator: Operator, address: str, hour: datetime) -> str | None:
    """The text of ``security.txt`` (RFC 9116); None: nobody is named. ``address``: the registry's."""
    contacts = [each for each in dict.fromkeys((operator.security, operator.contact)) if each]
    if not contacts:
        return None
    rows = [f"Contact: {contact}" for contact in contacts]
    rows += [f"Expires: {write_time(hour + _VALID)}", "Preferred-Languages: en"]
    rows += [f"Canonical: {address}{SECURITY_PATH}"] if address.startswith("https:") else []
    rows += [f"Policy: {operator.terms}"] if operator.terms.startswith("https:") else []
    return "\n".join([*rows, ""])


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
    programs: list[Way] = []
    if "git" in offers:
        plugin = f"{namespace}@{marketplace_name(namespace, origin)}"
        repository = f"{address}/git/{namespace}.git"
        for program, word, verb in (
            ("Claude Code", "claude", "install"),
            ("Codex", "codex", "add"),
            ("Copilot", "copilot", "install"),
        ):
            lines = f"{word} plugin marketplace add {repository}\n{word} plugin {verb} {plugin}"
            programs.append(Way(program, "", lines, _BY_GIT))
    if "skills" in offers:
        urls = f'{{ "skills": {{ "urls": ["{address}/{namespace}/.well-known/agent-skills/"] }} }}'
        programs.append(Way("OpenCode", "opencode.json", urls, _BY_INDEX))
        programs.append(Way("npx skills", "", f"npx skills add {address}/{namespace} --skill {name} --yes", _BY_HASH))
    if "apm" in offers:
        source = f"registries:\n  rye:\n    url: {address}/apm\n  default: rye\n"
        lines = f"{source}dependencies:\n  apm:\n    - {identifier}#^{version}"
        programs.append(Way("apm", "apm.yml", lines, _BY_HASH))
    return tuple(programs)
