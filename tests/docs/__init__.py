"""Tests that play the documentation: every page, every command on it, every table."""
