"""``rye --help``, section Customize."""
