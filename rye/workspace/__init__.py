"""The use cases: what a person or a program asks Rye to do, free of any face.

A use case takes a :class:`~rye.workspace.context.Context` and values, and returns a value or raises an
:class:`~rye.errors.RyeError`. It prints nothing and knows no command line. The faces (``rye.cli``, and others)
turn words into values, show what comes back, and ask the questions that a use case puts.
"""
