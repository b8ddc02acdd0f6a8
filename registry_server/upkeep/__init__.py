"""Founding, checking, copying and bringing back a registry: what its operator does."""
