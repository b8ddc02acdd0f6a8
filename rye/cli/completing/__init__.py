"""Shell completion: commands come from a stored table, names from the disk. No network, no click."""
