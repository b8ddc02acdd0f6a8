"""Mutation tests for the modules that decide about trust: a change to one comparison, constant or statement must fail a test.

``python -m tests.mutation [WORD…]`` (``make mutate ONLY=WORD``) takes the modules of :file:`modules.toml` whose path
contains a word, makes each mutant of :mod:`tests.mutation.operators`, and runs the tests that reach the changed line
(:mod:`tests.mutation.running`). Survivors that no test can kill are listed with the reason in :file:`accepted.toml`.

The existing tools write a changed copy of the tree, skip decorated functions (half of this program's context managers,
properties and class methods) and everything that runs at import (its tables and limits), or start pytest once per mutant.
Here a mutant costs a fork and the tests that run its line.
"""
