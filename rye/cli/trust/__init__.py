"""``rye --help``, section Trust."""
