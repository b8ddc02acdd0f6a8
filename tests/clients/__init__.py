"""The real agent programs against what ``rye deploy`` writes: ``make test-clients``. They are npm packages and need no login."""
