"""Read an item for use: find, check, customize and render it."""
