"""The second client, ``clients/js``: its own tests run in Node, and it is tried on real registries and in a browser."""
