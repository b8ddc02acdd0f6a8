"""``rye --help``, section Use."""
