"""Who may upload, how much one token may use of shared resources, and the registry's own keys."""
