"""The tools that ``install.py`` measures, each with a registry of the same packages."""
