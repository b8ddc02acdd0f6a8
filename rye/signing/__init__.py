"""Signing and verifying items with Ed25519 keys, the user's own keys, and whose keys the user trusts."""
