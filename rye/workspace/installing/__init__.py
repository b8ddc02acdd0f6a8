"""Changing a project: what is asked for, agreed to and written."""
