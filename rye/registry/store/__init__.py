"""What is kept on disk: cache, packs, trusted states, pins."""
