"""The load for ``publish.py``, and the two registries that it measures."""
