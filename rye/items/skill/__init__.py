"""Skills: a folder around SKILL.md (DECISIONS Skills)."""
