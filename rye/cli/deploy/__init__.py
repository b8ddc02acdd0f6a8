"""Commands that bring installed items to agent programs."""
