"""What is enforced while an agent works: rights, limits, approvals and the log, outside the model; tools run in a
sandbox.

docs/explanation/runtime.md, docs/how-to/tools.md.
"""
