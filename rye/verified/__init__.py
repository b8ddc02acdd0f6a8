"""What this user's Rye verified on this machine, and whether it still matches (DESIGN 6.1, Verified here)."""
