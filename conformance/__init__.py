"""A conformance suite for clients of the registry protocol. README.md says how to run it, CONTRACT.md what a client must speak.

It knows nothing of Rye's source: it imports neither ``rye`` nor ``registry_server`` (only ``clients/rye_client.py`` does, which
is a client under test), and its simulator writes registries from the documents alone.
"""
