"""A project on disk: its manifest and lock, the four spaces that items are looked up in, and reading item files."""
