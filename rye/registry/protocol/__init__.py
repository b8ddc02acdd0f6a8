"""What is on the wire and in the log: notes, Merkle tree, tiles, statements, lines."""
