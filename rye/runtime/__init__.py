"""Enforces rights, limits and approvals and keeps the log while an agent works, outside the model. Tools run in a
sandbox.

docs/explanation/runtime.md, docs/how-to/tools.md.
"""
