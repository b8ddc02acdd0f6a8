"""The witness: what it signs, what it keeps, and what it answers."""
