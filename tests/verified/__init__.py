"""The room of what was verified on this machine: what is remembered, what forgets it, and what still matches."""
