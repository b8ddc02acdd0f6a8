"""Every limit of the client, with what it bounds. Sizes in bytes, times in seconds. The server's are in its settings."""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class ContentLimits:
    """What one item may be (DESIGN §5 Content; DECISIONS Skills 1)."""

    item_bytes: int = 256 * KIB
    """The signed file itself."""
    attached_files: int = 200
    """Files attached to a skill."""
    attached_bytes: int = 8 * MIB
    """All attached files together."""
    attached_path_characters: int = 200
    """One attached file's relative path."""
    yaml_depth: int = 32
    """Nesting of YAML collections."""
    yaml_aliases: int = 64
    """Aliases in one YAML document."""
    xml_depth: int = 64
    """Nesting of elements in a directive's fence or process section."""
    expression_characters: int = 1024
    """A hook's ``<when>`` expression."""
    expression_depth: int = 32
    """Nesting of parentheses and operators in an expression."""


CONTENT = ContentLimits()
