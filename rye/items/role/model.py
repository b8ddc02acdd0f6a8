"""A role as a value (DEC-0010; DECISIONS Roles)."""

from __future__ import annotations

from msgspec import Struct

from rye.items.role.sections import Mention, RoleSection


class Role(Struct, frozen=True, kw_only=True):
    """One role. Mentions have the file's line numbers, so that findings about the set can point at them."""

    name: str
    """As in the title, e.g. ``Release Manager``."""
    slug: str
    tagline: str | None
    sections: tuple[RoleSection, ...]
    tier: int | None
    tier_name: str | None
    receives_from: tuple[Mention, ...]
    hands_off_to: tuple[Mention, ...]
    inputs: tuple[Mention, ...]

    def section(self, name: str) -> RoleSection | None:
        """Return the section of that name, or None."""
        return next((section for section in self.sections if section.name == name), None)
