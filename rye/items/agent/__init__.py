"""Agents: YAML frontmatter and a system prompt (DECISIONS Agents)."""
