"""Publishing releases and the statements of owners."""
