"""Roles: canonical Markdown sections (DECISIONS Roles)."""
