"""Deploying: what is installed, written where agent programs read it (docs/agents.md)."""
