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


@dataclass(frozen=True, slots=True)
class ResolutionLimits:
    """What a version, a range and one run of the solver may be (DESIGN §6)."""

    version_characters: int = 256
    """One version, build metadata included."""
    range_characters: int = 1024
    """One range as written."""
    conflicts: int = 100_000
    """Conflicts that the solver learns from before it gives up: finding a solution is NP-complete, and authors may be hostile."""


RESOLUTION = ResolutionLimits()


@dataclass(frozen=True, slots=True)
class PermissionLimits:
    """What comparing capability patterns may cost (DESIGN §7). Beyond these an answer is the careful one: widened, elevated."""

    path_characters: int = 2048
    """One capability path; no id is longer (16 segments of 64 characters)."""
    containment_steps: int = 300_000
    """Transitions of the automata in one comparison of two sets: about half a second. Real sets need some hundreds."""
    simulation_rounds: int = 64
    """Rounds in which one star's simulation may settle; a shortcut, so fewer cost only time."""


PERMISSIONS = PermissionLimits()
