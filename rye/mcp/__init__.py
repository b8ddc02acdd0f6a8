"""The protocol face: a server for agent programs over stdio and HTTP, tokens, and the entries of their settings."""
