"""The conformance suite: Rye passes it, and the suite is what it says."""
