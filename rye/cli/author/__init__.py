"""``rye --help``, section Author."""
