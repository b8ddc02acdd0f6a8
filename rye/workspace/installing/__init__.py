"""Changing a project: requests, consent and writing."""
