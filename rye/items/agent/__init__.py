"""Agents: YAML frontmatter with a system prompt (DECISIONS Agents)."""
