"""Who is responsible for a registry, from its settings: links in the foot of every page, ``security.txt``, and reports."""

from __future__ import annotations

from datetime import datetime, timedelta
from urllib.parse import quote

from msgspec import Struct

from rye.registry.protocol.lines import write_time

SECURITY_PATH = "/.well-known/security.txt"
_VALID = timedelta(days=180)
"""How long a ``security.txt`` may be believed; RFC 9116 recommends less than a year."""


class Operator(Struct, frozen=True, kw_only=True):
    """The settings of the same names: addresses with ``https:`` or ``mailto:``; empty: not set."""

    about: str = ""
    contact: str = ""
    terms: str = ""
    report: str = ""
    docs: str = ""
    security: str = ""

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
