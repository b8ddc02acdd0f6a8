"""Completing names while a person types, in a shell or an editor."""
