"""Deploying: writing installed items where agent programs read them (docs/how-to/agents.md)."""
