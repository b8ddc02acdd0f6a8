"""The load, the observer and the server with a wrong clock for ``faults.py``."""
