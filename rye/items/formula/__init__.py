"""Formulas: TOML steps with needs (DECISIONS Role directives and formula overlays)."""
