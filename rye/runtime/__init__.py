"""What binds while an agent works: rights, limits, approvals and the log, decided outside the model; tools in their sandbox.

docs/explanation/runtime.md, docs/how-to/tools.md.
"""
