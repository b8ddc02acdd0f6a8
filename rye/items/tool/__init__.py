"""Tools: code with metadata."""
