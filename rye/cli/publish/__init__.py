"""``rye --help``, section Publish."""
