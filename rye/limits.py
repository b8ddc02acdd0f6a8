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
    yaml_nodes: int = 20_000
    """Keys and values of one YAML document, every alias counted as what it stands for."""
    toml_depth: int = 32
    """Nesting of TOML tables and arrays, and parts of one dotted key."""
    ignore_file_bytes: int = 64 * KIB
    """A skill's ``.ryeignore``."""
    folder_entries: int = 10_000
    """Files and folders looked at below a skill's folder, ignored ones included."""
    formula_chain: int = 16
    """Formulas that extend one another in a row."""
    formula_steps: int = 2_000
    """Steps of a formula after ``extends`` and ``compose.expand``."""
    formula_characters: int = 4 * MIB
    """All text of a formula's steps after ``extends`` and ``compose.expand``, in characters."""
    xml_depth: int = 64
    """Nesting of elements in a directive's fence or process section."""
    expression_characters: int = 1024
    """A hook's ``<when>`` expression."""
    expression_depth: int = 32
    """Nesting of parentheses and operators in an expression."""


CONTENT = ContentLimits()


@dataclass(frozen=True, slots=True)
class KeyLimits:
    """What a file with keys may be, and what unsealing a private key may cost (DESIGN §4 Keys)."""

    file_bytes: int = 16 * KIB
    """One key file, public or private."""
    trust_file_bytes: int = 4 * MIB
    """The user's trust store."""
    seal_operations: int = 10
    """Most passes of Argon2id that a sealed key may ask for."""
    seal_memory: int = 1024 * MIB
    """Most memory of Argon2id that a sealed key may ask for."""


KEYS = KeyLimits()


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
    pattern_steps: int = 300
    """Added for each pattern of the set that is compared."""
    simulation_rounds: int = 64
    """Rounds in which one star's simulation may settle; a shortcut, so fewer cost only time."""


PERMISSIONS = PermissionLimits()
