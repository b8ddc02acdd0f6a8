"""Tests that read the whole tree: the order of rooms, imports, citations, hints, layout, and the recipes for contributors."""
