"""Real agent programs with the files that ``rye deploy`` writes: ``make test-clients``. They need no login."""
