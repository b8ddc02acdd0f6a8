"""What was verified here, whose keys count, and what this user agreed to."""
