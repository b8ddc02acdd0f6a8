"""Commands for the Model Context Protocol."""
