"""Registry data kept on disk: cache, packs, trusted states, pins."""
