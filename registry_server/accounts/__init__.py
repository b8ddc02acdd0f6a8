"""Who may upload, what one token may take of what all share, and the registry's own keys."""
