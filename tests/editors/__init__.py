"""The extensions in ``editors/``."""
