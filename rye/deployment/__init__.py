"""Deploying: what is installed, written where agent programs read it (docs/how-to/agents.md)."""
