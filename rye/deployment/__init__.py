"""Deploying: writes installed items where agent programs read them (docs/how-to/agents.md)."""
