"""Publishing releases and owners' statements."""
