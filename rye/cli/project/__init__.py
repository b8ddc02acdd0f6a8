"""``rye --help``, section Project."""
