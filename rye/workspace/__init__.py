"""The use cases: what a person or a program can ask Rye to do, independent of any face.

A use case takes a :class:`~rye.workspace.context.Context` and values, and returns a value or raises an
:class:`~rye.errors.RyeError`. It prints nothing and knows nothing about the command line. The faces (``rye.cli``, and
others) parse arguments, show results, and ask the person a use case's questions.
"""
