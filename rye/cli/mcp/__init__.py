"""Commands of the protocol face."""
