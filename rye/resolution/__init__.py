"""Choosing versions (DESIGN §6): ranges, the PubGrub solver, and proofs when there is no choice.

How the pieces meet::

    versions.py          Version and VersionSet: order, and plain set algebra
    ranges.py            Range: what a person wrote, and which pre-releases it asked for
    problem.py           what the caller says: Root, Provider, Candidate …
    outcome.py           what it gets: Solution, NeedsMore, Unsolvable
    universe.py          packages as numbers, sets of releases as bitmasks
    incompatibility.py   facts, and what follows from two of them
    partial_solution.py  choices so far, and how to take them back
    solver.py            the search
    explanation.py       the search's failure as a proof

Nothing here does I/O. The caller fetches in waves::

    resolution = Resolution(Root(requirements, locked=versions_of_the_lock), provider)
    while isinstance(outcome := resolution.resolve(), NeedsMore):
        fetch(outcome.packages)         # all at once; provider.candidates() raised Missing for each of these
    outcome.versions                    # package → version; Unsolvable was raised with the proof otherwise
"""
