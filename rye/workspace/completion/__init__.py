"""Names that a person may be offered while they type, in a shell or an editor."""
