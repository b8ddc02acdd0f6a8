"""``rye --help``, section Registry."""
