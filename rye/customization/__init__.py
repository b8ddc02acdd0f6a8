"""Local changes that survive updates: overrides, overlays and role directives (pure functions, and reading their files)."""
