"""Who is behind a namespace: what a domain or a repository must say, and asking it."""
