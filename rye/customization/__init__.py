"""Local changes that survive updates: overrides, overlays and role directives, as pure functions and files."""
