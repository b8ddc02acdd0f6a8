"""Registries as static files, written from docs/reference alone: honest ones, and every dishonest one that a case wants.

:mod:`~conformance.simulator.keys` signs, :mod:`~conformance.simulator.tree` hashes, :mod:`~conformance.simulator.names` maps
names, :mod:`~conformance.simulator.registry` puts them together, :mod:`~conformance.simulator.server` serves them.
"""
