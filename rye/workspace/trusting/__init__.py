"""What this machine verified, which keys the user trusts, and what the user agreed to."""
