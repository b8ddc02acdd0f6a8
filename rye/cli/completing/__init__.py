"""What a shell may complete: commands from a stored table, names from the disk. No network, no click."""
