"""The wire format and the log: notes, Merkle tree, tiles, statements, name map."""
