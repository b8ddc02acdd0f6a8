"""Registry data on disk: cache, packs, trusted states, pins."""
