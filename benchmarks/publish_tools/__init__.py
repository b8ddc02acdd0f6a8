"""What ``publish.py`` measures with: the load, and the two registries that take it."""
