"""Text before it becomes an item: content rules, Markdown, frontmatter, YAML, TOML, spelling, secrets, facts."""
