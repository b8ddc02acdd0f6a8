"""Locks and manifests of other tools, read into one form: bytes in, values out. Nothing here asks a network or a disk."""
