"""Text before it is an item: content rules, Markdown, frontmatter, YAML, TOML, spelling, secrets, facts."""
