"""Clients under test, each with its file of expected failures."""
