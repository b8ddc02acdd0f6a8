"""Which audit findings count: those at or above a level that rye.toml does not temporarily ignore. Pure.

Ignored findings are still listed, with their reason, because anyone who can commit can write rye.toml.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from rye.installation.audit.finding import RULES, Finding
from rye.project.manifest import Ignored
from rye.text.spelling import close_words
from rye.text.tables import ManifestError

Level = Literal["error", "warning", "info"]
LEVELS: tuple[Level, ...] = ("error", "warning", "info")
"""Most severe first."""


class SetAside(Struct, frozen=True):
    """A finding that rye.toml ignores, and the line that does so."""

    finding: Finding
    ignored: Ignored

    def as_json(self) -> dict[str, object]:
        """Return the finding's JSON with ``until`` and ``reason``."""
        return {**self.finding.as_json(), "until": self.ignored.until.isoformat(), "reason": self.ignored.reason}


def check_rules(ignored: Iterable[Ignored]) -> None:
    """Check that each ``RULE:KIND:ID`` names a rule of the audit. Raises ManifestError."""
    for line in ignored:
        rule, colon, _ = line.id.partition(":")
        if colon and rule not in RULES:
            near = close_words(rule, list(RULES))
            hint = f"Did you mean {near[0]!r}?" if near else f"Rules: {', '.join(RULES)}."
            raise ManifestError(f"[audit] ignore: unknown rule {rule!r}.", hint)


def set_aside(
    findings: Sequence[Finding], ignored: Sequence[Ignored], today: date
) -> tuple[list[Finding], list[SetAside]]:
    """Split findings into those that count and those set aside. An expired line has no effect, and the finding says so."""
    kept, aside = [], []
    for finding in findings:
        lines = [line for line in ignored if line.id in finding.names]
        valid = next((line for line in lines if today <= line.until), None)
        if valid is not None:
            aside.append(SetAside(finding, valid))
        elif lines:
            over = f"[audit] ignore covered it until {max(line.until for line in lines)}."
            kept.append(replace(finding, hint=f"{finding.hint} {over}" if finding.hint else over))
        else:
            kept.append(finding)
    return kept, aside


def fails(findings: Iterable[Finding], level: Level) -> bool:
    """Whether there is a finding at this level or above it."""
    return any(LEVELS.index(finding.severity) <= LEVELS.index(level) for finding in findings)
