"""Choose versions (DESIGN §6): ranges, the PubGrub solver, and proofs for when there is no solution.

How the modules fit together::

    versions.py          Version and VersionSet: order, and plain set algebra
    ranges.py            Range: what a person wrote, and which pre-releases it asked for
    problem.py           the input: Root, Provider, Candidate …
    outcome.py           the output: Solution, NeedsMore, Unsolvable
    universe.py          packages as numbers, sets of releases as bitmasks
    incompatibility.py   facts, and what follows from two of them
    partial_solution.py  choices so far, and how to undo them
    solver.py            the search
    explanation.py       a failed search as a proof

Nothing here does I/O. The caller fetches in waves::

    resolution = Resolution(Root(requirements=wanted, locked=versions_of_the_lock), provider)
    while isinstance(outcome := resolution.resolve(), NeedsMore):
        fetch(outcome.packages)         # all at once; provider.candidates() raised Missing for each of these
    outcome.versions                    # package → version; without a solution, Unsolvable is raised with the proof
"""
