"""Rye against programs that this project did not write."""
