"""What binds while an agent works: rights, limits, approvals and the log, decided outside the model; tools in their sandbox.

docs/runtime.md, docs/tools.md.
"""
