"""Full-text search of items."""
